// finds: async_order 7 20, async_order 7 22
// says: x[0]: line 7 writes in a launch before, line 20 reads: no griddep_wait() between
// One thread waits, and another thread starts TMA and adds: no barrier is between.
#include "overlap_small.h"

__global__ void before(float* x) {
    x[threadIdx.x] = 1;
}
__global__ void after(float* x) {
    __shared__ __align__(128) float loaded[32];
    __shared__ __align__(8) mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) griddep_wait();
    if (threadIdx.x == 32) {
        mbarrier_arrive_expect(&full, sizeof loaded);
        bulk_load(loaded, x, sizeof loaded, &full);
    }
    if (threadIdx.x == 64) atomicAdd(&x[127], 1);
    mbarrier_wait(&full, 0);
}

int main(void) {
    float* x = filled(128);
    cudaLaunchConfig_t config = overlapping(1);
    before<<<1, 128>>>(x);
    return cudaLaunchKernelEx(&config, after, x) != cudaSuccess;
}
