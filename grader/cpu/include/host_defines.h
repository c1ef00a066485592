// CUDA's host_defines.h: all of it is in cuda_runtime.h.
#ifndef CUDEV_HOST_DEFINES_H
#define CUDEV_HOST_DEFINES_H

#include "cuda_runtime.h"

#endif
