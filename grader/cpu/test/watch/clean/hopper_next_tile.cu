// finds: nothing
// A producer hands on which tile it loads, behind the same barrier.
#include "hopper_small.h"

enum { S = 2 };

__global__ void tiles(float* out, int* counter, const __grid_constant__ CUtensorMap map,
                      int count) {
    __shared__ __align__(1024) unsigned A[S][TILE / 4];
    __shared__ mbarrier full[S], empty[S];
    __shared__ int number[S];
    if (threadIdx.x == 0) {
        for (int s = 0; s < S; s++) mbarrier_init(&full[s], 1);
        for (int s = 0; s < S; s++) mbarrier_init(&empty[s], 64);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= 64) {
        for (int i = 0, tile = 0; threadIdx.x == 64 && tile < count; i++) {
            mbarrier_wait(&empty[i % S], i / S % 2 ^ 1);
            tile = atomicAdd(counter, 1);
            number[i % S] = tile;
            mbarrier_arrive_expect(&full[i % S], tile < count ? TILE : 0);
            if (tile < count)
                tma_load_2d(A[i % S], &map, &full[i % S], L2_EVICT_FIRST, 64 * tile, 0);
        }
        return;
    }
    for (int i = 0;; i++) {
        mbarrier_wait(&full[i % S], i / S % 2);
        int tile = number[i % S];
        if (tile >= count) break;
        unsigned sum = 0;
        for (int j = threadIdx.x; j < TILE / 4; j += 64) sum += A[i % S][j];
        out[64 * tile + threadIdx.x] = (float)sum;
        mbarrier_arrive(&empty[i % S]);
    }
}

int main(void) {
    int zero = 0, *counter;
    cudaMalloc(&counter, 4);
    cudaMemcpy(counter, &zero, 4, cudaMemcpyHostToDevice);
    tiles<<<3, 96>>>(empty(64 * 10), counter, matrix(64, 640), 10);
    return 0;
}
