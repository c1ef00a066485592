// finds: nothing
// Flags of other blocks: who looks too early looks again, or does something else.
#include <cudev.h>
#include "hopper_small.h"

// In turns; the fence of the proxies is on one side alone.
__global__ void in_turn(float* sum, int* turn) {
    __shared__ __align__(16) float s[4];
    s[threadIdx.x] = blockIdx.x;
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        while (load_acquire(turn) != blockIdx.x) continue;
        fence_proxy_async_global();
        bulk_reduce_add(sum, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
        add_release(turn, 1);
    }
}

// All threads of a block look, each for itself; the block adds what it has cleared.
__global__ void cleared(float* x, int* count) {
    __shared__ __align__(16) float s[4];
    s[threadIdx.x] = 1.0f;
    fence_proxy_async();
    __syncthreads();
    if (blockIdx.x < 2) {
        x[blockIdx.x * 4 + threadIdx.x] = 0.0f;
        __syncthreads();
        if (threadIdx.x == 0) add_release(count, 4);
        return;
    }
    while (load_acquire(count) < 8) continue;
    if (threadIdx.x % 2 == 0) {
        fence_proxy_async_global();
        bulk_reduce_add(x + threadIdx.x * 2, s, 16, L2_EVICT_LAST);
        bulk_commit();
        bulk_wait<0>();
    }
}

// The flag itself says which block is last: behind its own addition a block sees all before it. A
// value that comes by way of another flag is known to be there, and so is what the launch before
// has left. A block that finds nothing stores beyond the array.
__global__ void last_one(int* x, int* count, int* other) {
    x[blockIdx.x] = (int)blockIdx.x;
    add_release(count, 1);
    if (load_acquire(count) == (int)gridDim.x)
        for (unsigned b = 0; b < gridDim.x; b++) x[b] += 1;
    else if (blockIdx.x == gridDim.x - 1)
        x[1 << 20] = 1;
    if (blockIdx.x == 0) {
        add_release(other, 1);
        add_release(other + 1, 1);
        return;
    }
    while (!load_acquire(other + 1)) continue;
    if (!load_acquire(other)) x[1 << 20] = 1;
}
__global__ void reads(int* x, int* count) {
    if (load_acquire(count) != 3) x[1 << 20] = 1;
}

int main(void) {
    int* count = (int*)empty(5);
    cudaMemset(count, 0, 5 * sizeof *count);
    float* sum = filled(24);
    cudev_run_few(CUDEV_CROWDED_BLOCKS, 0);
    in_turn<<<3, 4>>>(sum, count);
    cleared<<<3, 4>>>(sum + 4, count + 1);
    last_one<<<3, 1>>>((int*)sum + 16, count + 2, count + 3);
    reads<<<3, 1>>>((int*)sum + 16, count + 2);
    return 0;
}
