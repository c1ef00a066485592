// CUDA's builtin_types.h: all of it is in cuda_runtime.h.
#ifndef CUDEV_BUILTIN_TYPES_H
#define CUDEV_BUILTIN_TYPES_H

#include "cuda_runtime.h"

#endif
