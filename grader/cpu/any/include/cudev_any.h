// Included in front of every file that the command cudev compiles: what a file that is not graded
// may use beyond cuda_runtime.h. A graded file gets neither these headers nor the library behind
// them.
#ifndef CUDEV_ANY_H
#define CUDEV_ANY_H

// nvcc's own front part includes these as well.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <limits.h>
#ifdef __cplusplus
#include <new>
#include <utility>
#endif

#include "cuda_runtime.h"

// Which nvcc a source may think it has.
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0

#define CUDART_CB
#define CUDARTAPI

// The rewriter writes this for __managed__: a section of its own, which host and kernels share.
#define CUDEV_MANAGED __attribute__((section("cudev_managed")))

#include "cudev/any_api.h"
#ifdef __cplusplus
#include "cudev/channels.h"
#ifndef CUDEV_HOST
#include "cudev/textures.h"
#endif
#endif
#endif
