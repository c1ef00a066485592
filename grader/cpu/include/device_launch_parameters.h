// CUDA's device_launch_parameters.h: all of it is in cuda_runtime.h.
#ifndef CUDEV_DEVICE_LAUNCH_PARAMETERS_H
#define CUDEV_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
