// finds: nothing
// Launches that overlap and wait as they should: each thread; one, and then a barrier; one that
// starts TMA, and a thread that waits for what that brings; a launch that needs nothing waits all
// the same. A launch before a wait of the host needs none.
#include "overlap_small.h"

__global__ void first(float* x) {
    griddep_launch();
    griddep_wait();  // not launched to overlap: it does nothing
    x[threadIdx.x] = 1;
}
__global__ void second(float* y) {
    y[threadIdx.x] = 2;
    griddep_launch();
    if (threadIdx.x == 5) griddep_wait();
}
template <class A, class B> __global__ void third(A* z, const B* x, const float* y) {
    if (threadIdx.x == 32 && blockIdx.x == 0) griddep_wait();
    if (blockIdx.x > 0) griddep_wait();
    __syncthreads();
    if (blockIdx.x == 0) z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
}
__global__ void fourth(float* x, float* z) {
    __shared__ __align__(128) float loaded[128];
    __shared__ __align__(8) mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        griddep_wait();
        mbarrier_arrive_expect(&full, sizeof loaded);
        bulk_load(loaded, z, sizeof loaded, &full);
    }
    mbarrier_wait(&full, 0);
    atomicAdd(&x[threadIdx.x], loaded[threadIdx.x]);
    x[threadIdx.x] = 0;
}
__global__ void fifth(float* x) {
    x[threadIdx.x] += 1;
}

int main(void) {
    float *x = filled(128), *y = filled(128), *z = filled(128);
    cudaLaunchConfig_t config = overlapping(1), two = overlapping(2);
    for (int round = 0; round < 2; round++) {
        first<<<1, 128>>>(x);
        cudaLaunchKernelEx(&config, second, y);
        if (cudaLaunchKernelEx(&two, third<float, float>, z, x, y) != cudaSuccess) return 1;
        cudaLaunchKernelEx(&config, fourth, x, z);
    }
    cudaDeviceSynchronize();
    cudaLaunchKernelEx(&config, fifth, x);
    float host[128];
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    cudaLaunchKernelEx(&config, fifth, x);
    cudaMemset(x, 0, sizeof host);
    cudaLaunchKernelEx(&config, fifth, x);
    fifth<<<1, 128>>>(x);  // not one that overlaps
    return host[7] != 1;
}
