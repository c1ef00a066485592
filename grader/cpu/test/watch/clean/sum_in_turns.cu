// finds: nothing
// Blocks add floats in an order of their own, by atomics and by TMA. Whole numbers have none.
#include <cudev.h>
#include "hopper_small.h"

__global__ void by_atomics(float* sum, int* turn, int* count) {
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != blockIdx.x) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    atomicAdd(&sum[threadIdx.x], 0.1f * blockIdx.x);
    atomicAdd(count, 1);
    atomicMax(count + 1, (int)blockIdx.x);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(turn, 1);
    }
}

__global__ void by_tma(float* sum, int* turn) {
    __shared__ __align__(16) float s[4];
    s[threadIdx.x] = blockIdx.x;
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        while (load_acquire(turn) != blockIdx.x) continue;
        bulk_reduce_add(sum, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
        add_release(turn, 1);
    }
}

// Within a block two addends have no order either.
__global__ void of_two(float* sum) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0.0f;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&s, 0.1f * threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) sum[blockIdx.x] = s;
}

int main(void) {
    int* count = (int*)empty(4);
    cudaMemset(count, 0, 4 * sizeof *count);
    float* sum = filled(72);
    cudev_run_few(CUDEV_CROWDED_BLOCKS, 0);
    by_atomics<<<3, 64>>>(sum, count, count + 1);
    by_tma<<<3, 4>>>(sum + 64, count + 3);
    of_two<<<3, 64>>>(sum);
    return 0;
}
