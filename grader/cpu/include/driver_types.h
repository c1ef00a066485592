// CUDA's driver_types.h: all of it is in cuda_runtime.h.
#ifndef CUDEV_DRIVER_TYPES_H
#define CUDEV_DRIVER_TYPES_H

#include "cuda_runtime.h"

#endif
