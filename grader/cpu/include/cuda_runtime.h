// Included in front of every .cu, as nvcc does: the runtime API and what kernels are written with.
// Of the C library it includes what nvcc includes, which <stdio.h> is not among, and no more: a
// source that nvcc refuses shall fail to compile here, too.
#ifndef CUDEV_CUDA_RUNTIME_H
#define CUDEV_CUDA_RUNTIME_H

#define __CUDACC__ 1
#define __CUDEV__ 1  // the CPU device; nvcc does not define it

#include "cuda_runtime_api.h"
#include "cudev/abi.h"
#include "cudev/watching.h"

#ifdef CUDEV_HOST  // a source that has no kernels, compiled as C++: cudev.sh
#undef __CUDACC__
#include "cudev/host.h"
#ifdef __cplusplus
#include "cudev/api.h"
#include "vector_functions.h"
#endif
#elif defined(__cplusplus)
#include "cudev/language.h"
#include "cudev/launch.h"
#include "cudev/api.h"
#include "cudev/sync.h"
#include "cudev/atomics.h"
#include "cudev/math.h"
#include "cudev/integers.h"
#include "cudev/rounding.h"
#include "vector_functions.h"
#endif
#endif
