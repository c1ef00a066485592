// finds: async_order 10 19, race 29 39
// says: no fence_proxy_async_global() between
// says: fence_proxy_async_global() before TMA reads them
// TMA and what blocks before have written: no fence of the proxies, and no fence behind the flag.
#include <cudev.h>
#include "hopper_small.h"

__global__ void unfenced(float* x, int* count, float* out) {
    __shared__ __align__(16) float s[4];
    if (blockIdx.x == 0) x[threadIdx.x] = 1.0f;
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) add_release(count, 1);
    s[threadIdx.x] = 1.0f;
    if (blockIdx.x == 0) return;
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        while (load_acquire(count) < 1) continue;
        bulk_reduce_add(x, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
        out[0] = 1.0f;
    }
}

// The flag is read by a volatile access, behind which an atomic may come, but not TMA.
__global__ void by_volatile(float* x, int* count) {
    __shared__ __align__(16) float s[4];
    if (blockIdx.x == 0) x[threadIdx.x] = 1.0f;
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) add_release(count, 1);
    s[threadIdx.x] = 1.0f;
    if (blockIdx.x == 0) return;
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        while (*(volatile int*)count < 1) continue;
        fence_proxy_async_global();
        bulk_reduce_add(x, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
    }
}

int main(void) {
    int* count = (int*)empty(4);
    cudaMemset(count, 0, 4 * sizeof *count);
    float* sum = filled(8);
    unfenced<<<2, 4>>>(sum, count, sum + 4);
    by_volatile<<<2, 4>>>(sum + 4, count + 1);
    return 0;
}
