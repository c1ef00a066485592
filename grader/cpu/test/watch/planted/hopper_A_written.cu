// finds: async_order 44
// says: a thread writes to its A, in registers, before the wait
// A in registers is changed while the product runs.
#include "hopper_small.h"

// Two products: P = Q K in registers, then O += P V, as in attention.
__global__ void __launch_bounds__(128, 1)
    chain(float* out, const __grid_constant__ CUtensorMap q_map,
          const __grid_constant__ CUtensorMap k_map, const __grid_constant__ CUtensorMap v_map,
          int tiles) {
    __shared__ __align__(1024) char Q[TILE], K[TILE], V[TILE];
    __shared__ mbarrier full_q, full_k, full_v;
    if (threadIdx.x == 0) {
        mbarrier_init(&full_q, 1);
        mbarrier_init(&full_k, 1);
        mbarrier_init(&full_v, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full_q, TILE);
        tma_load_2d(Q, &q_map, &full_q, L2_EVICT_FIRST, 0, 0);
    }
    __syncthreads();
    float s[32], o[32];
    unsigned p[16];
    for (int j = 0; j < 32; j++) o[j] = 0.0f;
    mbarrier_wait(&full_q, 0);
    unsigned q = wgmma_descriptor(Q, 0), k = wgmma_descriptor(K, 0), v = wgmma_descriptor(V, TILE);
    for (int i = 0; i < tiles; i++) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(&full_k, TILE);
            tma_load_2d(K, &k_map, &full_k, L2_EVICT_LAST, 0, 64 * i);
            mbarrier_arrive_expect(&full_v, TILE);
            tma_load_2d(V, &v_map, &full_v, L2_EVICT_LAST, 0, 64 * i);
        }
        mbarrier_wait(&full_k, i % 2);
        wgmma_fence();
        wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(s, q, k);
        for (int j = 1; j < 4; j++) wgmma_bf16<64, K_MAJOR, K_MAJOR>(s, q + 2 * j, k + 2 * j, 1);
        wgmma_commit();
        wgmma_wait<0>();
        for (int j = 0; j < 16; j++) p[j] = pack_bf16(s[2 * j], s[2 * j + 1]);
        mbarrier_wait(&full_v, i % 2);
        wgmma_fence();
        for (int j = 0; j < 4; j++)
            wgmma_bf16_registers<64, MN_MAJOR>(o, p + 4 * j, v + 128 * j, 1);
        wgmma_commit();
        p[5] = 0;
        wgmma_wait<0>();
        __syncthreads();
    }
    for (int j = 0; j < 32; j++) out[j * 128 + threadIdx.x] = o[j];
}

int main(void) {
    chain<<<1, 128>>>(empty(64 * 64), matrix(64, 64), matrix(192, 64), matrix(192, 64), 3);
    return 0;
}
