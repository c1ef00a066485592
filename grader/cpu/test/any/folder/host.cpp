// Host code in a file of its own, compiled as C++: the runtime without kernels.
#include <cuda_runtime.h>
#include "factor.h"

unsigned umin(unsigned a, unsigned b) {  // CUDA's device functions are not in its way
    return a < b ? a : b;
}

int host_factor(int* devices) {
    return cudaGetDeviceCount(devices) == cudaSuccess ? FACTOR : 0;
}
