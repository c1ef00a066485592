// finds: async_order 8 13, async_order 8 14
// says: x[64]: line 8 writes in a launch before, line 13 reads: no griddep_wait() between
// says: this kernel may begin before the one before it has ended
// Two warps of four wait for the launch before; the others read what it writes, too.
#include "overlap_small.h"

__global__ void before(float* x) {
    x[threadIdx.x] = 1;
    griddep_launch();
}
__global__ void after(float* y, float* x) {
    if (threadIdx.x < 64) griddep_wait();
    y[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 127) x[127] = 0;
}

int main(void) {
    float *x = filled(128), *y = filled(128);
    cudaLaunchConfig_t config = overlapping(1);
    before<<<1, 128>>>(x);
    return cudaLaunchKernelEx(&config, after, y, x) != cudaSuccess;
}
