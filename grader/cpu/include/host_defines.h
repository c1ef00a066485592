// CUDA's host_defines.h: all of it is in cuda_runtime.h.
#include "cuda_runtime.h"
