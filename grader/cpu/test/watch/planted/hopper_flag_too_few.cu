// finds: order_of_sum 16 16, race 27 32
// says: who adds first is chance
// A wait for one block too few: the first look at a flag comes before the newest addition.
#include <cudev.h>
#include "hopper_small.h"

// Each waits for all blocks before it but the last one.
__global__ void in_turn(float* sum, int* turn) {
    __shared__ __align__(16) float s[4];
    s[threadIdx.x] = blockIdx.x;
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        while (load_acquire(turn) < (int)blockIdx.x - 1) continue;
        fence_proxy_async_global();
        bulk_reduce_add(sum, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
        fence_proxy_async_global();
        add_release(turn, 1);
    }
}

// Two blocks clear, and the third waits for one.
__global__ void cleared(int* x, int* count) {
    if (blockIdx.x < 2) {
        x[blockIdx.x] = 0;
        add_release(count, 1);
    } else {
        while (load_acquire(count) < 1) continue;
        atomicAdd(&x[0], 1);
        atomicAdd(&x[1], 1);
    }
}

int main(void) {
    int* count = (int*)empty(4);
    cudaMemset(count, 0, 4 * sizeof *count);
    float* sum = filled(8);
    cudev_run_few(CUDEV_CROWDED_BLOCKS, 0);
    in_turn<<<3, 4>>>(sum, count);
    cleared<<<3, 1>>>((int*)sum + 4, count + 1);
    return 0;
}
