// cuda.h: the driver API is not supported; the types of the runtime API are.
#ifndef CUDEV_CUDA_H
#define CUDEV_CUDA_H

#include "cuda_runtime.h"

#endif
