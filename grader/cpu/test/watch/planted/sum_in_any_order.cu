// finds: order_of_sum 10 10, order_of_sum 20 20
// says: who adds first is chance
// Blocks add floats where their order counts: by atomics, and by TMA in turns that are passed early.
#include <cudev.h>
#include "hopper_small.h"

__global__ void any(float* sum, int* count) {
    __threadfence();
    atomicAdd(count, 1);
    atomicAdd(sum, 0.1f * blockIdx.x);
}

__global__ void early(float* sum, int* turn) {
    __shared__ __align__(16) float s[4];
    s[threadIdx.x] = blockIdx.x;
    fence_proxy_async();
    while (threadIdx.x == 0 && load_acquire(turn) != blockIdx.x) continue;
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_reduce_add(sum, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait_read<0>();
        add_release(turn, 1);
        bulk_wait<0>();
    }
}

int main(void) {
    int* count = (int*)empty(2);
    cudaMemset(count, 0, 2 * sizeof *count);
    float* sum = filled(8);
    any<<<3, 1>>>(sum, count);  // no order was asked for
    cudev_run_few(CUDEV_CROWDED_BLOCKS, 0);
    any<<<3, 1>>>(sum, count);
    early<<<3, 4>>>(sum + 4, count + 1);
    return 0;
}
