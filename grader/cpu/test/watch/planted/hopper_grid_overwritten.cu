// finds: async_order 7 11
// says: x[0]: line 7 reads in a launch before, line 11 writes: no griddep_wait() between
// A kernel overwrites what the launch before may still read, and waits too late.
#include "overlap_small.h"

__global__ void before(float* y, const float* x) {
    y[threadIdx.x] = x[threadIdx.x];
}
__global__ void after(float* z, float* x, const float* y) {
    __syncthreads();
    x[threadIdx.x] = 2;
    griddep_wait();
    z[threadIdx.x] = y[threadIdx.x];
}

int main(void) {
    float *x = filled(128), *y = filled(128), *z = filled(128);
    cudaLaunchConfig_t config = overlapping(1);
    before<<<1, 128>>>(y, x);
    return cudaLaunchKernelEx(&config, after, z, x, y) != cudaSuccess;
}
