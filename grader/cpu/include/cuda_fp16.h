// half and half2.
#ifndef CUDEV_CUDA_FP16_H
#define CUDEV_CUDA_FP16_H

#include "cudev/sixteen.h"

#define CUDEV_H __half
#define CUDEV_H2 __half2
#define CUDEV_NAME half
#define CUDEV_BITS cudev::half_bits
#define CUDEV_VALUE cudev::half_value
#include "cudev/sixteen_type.h"

typedef __half half;
typedef __half2 half2;

#endif
