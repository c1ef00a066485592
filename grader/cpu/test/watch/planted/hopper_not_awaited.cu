// finds: async_order 22
// says: the block ends before it lands
// The last load is never waited for.
#include "hopper_small.h"

enum { S = 2, TILES = 6 };

// Threads add up what TMA brings; the first one asks for it.
__global__ void sums(float* out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) unsigned A[S][TILE / 4];
    __shared__ mbarrier full[S];
    if (threadIdx.x == 0) {
        for (int s = 0; s < S; s++) mbarrier_init(&full[s], 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    unsigned sum = 0;
    for (int i = -1; i < TILES; i++) {
        int next = i + 1;
        if (threadIdx.x == 0 && next <= TILES) {
            mbarrier_arrive_expect(&full[next % S], TILE);
            tma_load_2d(A[next % S], &map, &full[next % S], L2_EVICT_NORMAL, 64 * next, 0);
        }
        if (i < 0) continue;
        mbarrier_wait(&full[i % S], i / S % 2);
        for (int j = threadIdx.x; j < TILE / 4; j += blockDim.x) sum += A[i % S][j];
        __syncthreads();
    }
    out[threadIdx.x] = (float)sum;
}

int main(void) {
    sums<<<1, 64>>>(empty(64), matrix(64, 64 * TILES));
    return 0;
}
