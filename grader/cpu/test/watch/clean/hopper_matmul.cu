// finds: nothing
// A persistent, warp-specialised matrix product: the design of the fast one.
#include "hopper_small.h"

// C = A B^T, 128 x 128 a tile: a producer, two consumer warpgroups of 64 rows, three stages.
enum { S = 3, BM = 128, BN = 128, STAGE = (BM + BN) * 128, SMEM = S * STAGE + BM * BN * 2 };

__global__ void __launch_bounds__(384, 1)
    multiply(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
             const __grid_constant__ CUtensorMap c_map, int M, int N, int K) {
    extern __shared__ __align__(1024) char smem[];
    __shared__ mbarrier full[S], empty[S];
    if (threadIdx.x == 0) {
        tma_prefetch(&a_map);
        for (int s = 0; s < S; s++) mbarrier_init(&full[s], 1);
        for (int s = 0; s < S; s++) mbarrier_init(&empty[s], 2);
        fence_mbarrier_init();
    }
    __syncthreads();
    int across = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * across, steps = (K + 63) / 64;
    if (threadIdx.x < 128) {
        setmaxnreg_dec<40>();
        for (int t = blockIdx.x, i = 0; threadIdx.x == 0 && t < tiles; t += gridDim.x)
            for (int k = 0; k < steps; k++, i++) {
                char* stage = smem + i % S * STAGE;
                mbarrier_wait(&empty[i % S], i / S % 2 ^ 1);
                mbarrier_arrive_expect(&full[i % S], STAGE);
                tma_load_2d(stage, &a_map, &full[i % S], L2_EVICT_NORMAL, k * 64, t / across * BM);
                tma_load_2d(stage + BM * 128, &b_map, &full[i % S], L2_EVICT_NORMAL, k * 64,
                            t % across * BN);
            }
        return;
    }
    setmaxnreg_inc<232>();
    int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    char* staging = smem + S * STAGE + (group * 64 + warp * 16) * 128;
    unsigned a = wgmma_descriptor(smem + group * 64 * 128, 0);
    unsigned b = wgmma_descriptor(smem + BM * 128, 0);
    float d[BN / 2];
    for (int t = blockIdx.x, i = 0; t < tiles; t += gridDim.x) {
        for (int k = 0; k < steps; k++, i++) {
            mbarrier_wait(&full[i % S], i / S % 2);
            wgmma_fence();
            for (int j = 0; j < 4; j++)
                wgmma_bf16<BN, K_MAJOR, K_MAJOR>(d, a + i % S * (STAGE / 16) + 2 * j,
                                                 b + i % S * (STAGE / 16) + 2 * j, k + j > 0);
            wgmma_commit();
            wgmma_wait<1>();
            if (threadIdx.x % 128 == 0 && k > 0) mbarrier_arrive(&empty[(i - 1) % S]);
        }
        wgmma_wait<0>();
        if (threadIdx.x % 128 == 0) mbarrier_arrive(&empty[(i - 1) % S]);
        if (lane == 0) bulk_wait_read<0>();
        __syncwarp();
        for (int j = 0; j < BN / 16; j++) {
            const float* f = &d[8 * j];
            const unsigned r[4] = {pack_bf16(f[0], f[1]), pack_bf16(f[2], f[3]),
                                   pack_bf16(f[4], f[5]), pack_bf16(f[6], f[7])};
            stmatrix_x4(staging + j / 4 * (BM * 128) + lane % 16 * 128 +
                            ((2 * (j % 4) + lane / 16) ^ lane % 8) * 16,
                        r);
        }
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) {
            for (int p = 0; p < BN / 64; p++)
                tma_store_2d(&c_map, staging + p * (BM * 128), t % across * BN + p * 64,
                             t / across * BM + group * 64 + warp * 16);
            bulk_commit();
        }
    }
    if (lane == 0) bulk_wait<0>();
}

int main(void) {
    const int M = 200, N = 264, K = 328;
    cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
    multiply<<<2, 384, SMEM>>>(matrix(M, K, BM), matrix(N, K, BN), matrix(M, N, 16), M, N, K);
    return 0;
}
