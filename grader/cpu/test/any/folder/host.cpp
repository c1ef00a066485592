// Host code in a file of its own, compiled as C++: the runtime without kernels.
#include <cuda_runtime.h>
#include "factor.h"

unsigned umin(unsigned a, unsigned b) {  // CUDA's device functions are not in its way
    return a < b ? a : b;
}

int host_factor(int* devices) {
    cudaChannelFormatDesc pair = cudaCreateChannelDesc<float2>();
    if (pair.x != 32 || pair.y != 32 || pair.z || pair.f != cudaChannelFormatKindFloat) return -1;
    return cudaGetDeviceCount(devices) == cudaSuccess ? FACTOR : 0;
}
