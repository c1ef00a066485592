// finds: nothing
// Two blocks of a cluster share their loads: each asks for half of B and for its own A, and frees a
// stage at both. The threads that ask return when all is asked for: the last cluster_sync() waits
// for the others alone.
#include "hopper_small.h"

enum { S = 2, TILES = 6, HALF = TILE / 2 };

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160, 1)
    shared(float* out, const __grid_constant__ CUtensorMap a_map,
           const __grid_constant__ CUtensorMap b_map) {
    __shared__ __align__(1024) char A[S][TILE], B[S][TILE];
    __shared__ mbarrier full[S], empty[S];
    const int rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int s = 0; s < S; s++) mbarrier_init(&full[s], 1);
        for (int s = 0; s < S; s++) mbarrier_init(&empty[s], 2);
        fence_mbarrier_init();
    }
    cluster_sync();
    if (threadIdx.x >= 128) {
        if (threadIdx.x != 128) return;
        for (int i = 0; i < TILES; i++) {
            mbarrier* bar = &full[i % S];
            mbarrier_wait(&empty[i % S], i / S % 2 ^ 1);
            mbarrier_arrive_expect(bar, 2 * TILE);
            tma_load_2d(A[i % S], &a_map, bar, L2_EVICT_NORMAL, 64 * i, 64 * blockIdx.x);
            tma_load_2d_multicast(&B[i % S][rank * HALF], &b_map, bar, L2_EVICT_NORMAL, 3, 64 * i,
                                  32 * rank);
        }
    } else {
        float d[32];
        for (int i = 0; i < TILES; i++) {
            mbarrier_wait(&full[i % S], i / S % 2);
            unsigned a = wgmma_descriptor(A[i % S], 0), b = wgmma_descriptor(B[i % S], 0);
            wgmma_fence();
            for (int k = 0; k < 4; k++)
                wgmma_bf16<64, K_MAJOR, K_MAJOR>(d, a + 2 * k, b + 2 * k, i + k > 0);
            wgmma_commit();
            wgmma_wait<0>();
            if (threadIdx.x < 2) mbarrier_arrive_remote(&empty[i % S], threadIdx.x);
        }
        for (int j = 0; j < 32; j++) out[(32 * blockIdx.x + j) * 128 + threadIdx.x] = d[j];
        cluster_sync();
    }
}

int main(void) {
    shared<<<4, 160>>>(empty(4 * 64 * 64), matrix(256, 64 * TILES), matrix(64, 64 * TILES, 32));
    return 0;
}
