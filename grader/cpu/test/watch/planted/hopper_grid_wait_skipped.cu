// finds: async_order 8 15
// says: x[0]: line 8 writes in a launch before, line 15 reads: no griddep_wait() in the launch between
// says: it may end before the one before it
// The third launch waits for the second one, which needs nothing of the first and does not wait.
#include "overlap_small.h"

__global__ void first(float* x) {
    x[threadIdx.x] = 1;
}
__global__ void second(float* y) {
    y[threadIdx.x] = 2;
}
__global__ void third(float* z, const float* x, const float* y) {
    griddep_wait();
    z[threadIdx.x] = x[threadIdx.x];
    z[threadIdx.x] += y[threadIdx.x];
}

int main(void) {
    float *x = filled(128), *y = filled(128), *z = filled(128);
    cudaLaunchConfig_t config = overlapping(1);
    first<<<1, 128>>>(x);
    cudaLaunchKernelEx(&config, second, y);
    return cudaLaunchKernelEx(&config, third, z, x, y) != cudaSuccess;
}
