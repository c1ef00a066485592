// finds: async_order 34
// says: a thread writes to its D before the wait
// D is multiplied while the products run: what it is then stays a NaN.
#include "hopper_small.h"

enum { S = 2, TILES = 6 };

__global__ void __launch_bounds__(160, 1)
    ring(float* out, const __grid_constant__ CUtensorMap a_map,
         const __grid_constant__ CUtensorMap b_map) {
    __shared__ __align__(1024) char A[S][TILE], B[S][TILE];
    __shared__ mbarrier full[S], empty[S];
    if (threadIdx.x == 0) {
        for (int s = 0; s < S; s++) mbarrier_init(&full[s], 1);
        for (int s = 0; s < S; s++) mbarrier_init(&empty[s], 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        for (int i = 0; threadIdx.x == 128 && i < TILES; i++) {
            mbarrier_wait(&empty[i % S], i / S % 2 ^ 1);
            mbarrier_arrive_expect(&full[i % S], 2 * TILE);
            tma_load_2d(A[i % S], &a_map, &full[i % S], L2_EVICT_NORMAL, 64 * i, 0);
            tma_load_2d(B[i % S], &b_map, &full[i % S], L2_EVICT_NORMAL, 64 * i, 0);
        }
        return;
    }
    float d[32];
    for (int i = 0; i < TILES; i++) {
        mbarrier_wait(&full[i % S], i / S % 2);
        unsigned a = wgmma_descriptor(A[i % S], 0), b = wgmma_descriptor(B[i % S], 0);
        wgmma_fence();
        for (int k = 0; k < 4; k++)
            wgmma_bf16<64, K_MAJOR, K_MAJOR>(d, a + 2 * k, b + 2 * k, i + k > 0);
        wgmma_commit();
        d[3] *= 0.5f;
        wgmma_wait<0>();
        if (threadIdx.x == 0) mbarrier_arrive(&empty[i % S]);
    }
    for (int j = 0; j < 32; j++) out[j * 128 + threadIdx.x] = d[j];
}

int main(void) {
    ring<<<1, 160>>>(empty(64 * 64), matrix(64, 64 * TILES), matrix(64, 64 * TILES));
    return 0;
}
