// bfloat16 and pairs of it.
#ifndef CUDEV_CUDA_BF16_H
#define CUDEV_CUDA_BF16_H

#include "cudev/sixteen.h"

#define CUDEV_H __nv_bfloat16
#define CUDEV_H2 __nv_bfloat162
#define CUDEV_NAME bfloat16
#define CUDEV_BITS cudev::bfloat16_bits
#define CUDEV_VALUE cudev::bfloat16_value
#include "cudev/sixteen_type.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
