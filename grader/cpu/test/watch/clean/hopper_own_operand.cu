// finds: nothing
// The threads write one operand themselves.
#include "hopper_small.h"

// B comes by TMA; A the threads write themselves.
__global__ void __launch_bounds__(128, 1)
    own(float* out, const __grid_constant__ CUtensorMap b_map) {
    __shared__ __align__(1024) unsigned A[TILE / 4];
    __shared__ __align__(1024) char B[TILE];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, TILE);
        tma_load_2d(B, &b_map, &full, L2_EVICT_NORMAL, 0, 0);
    }
    for (int j = threadIdx.x; j < TILE / 4; j += blockDim.x) A[j] = 0x3f803f80;
    fence_proxy_async();
    __syncthreads();
    mbarrier_wait(&full, 0);
    float d[32];
    unsigned a = wgmma_descriptor(A, 0), b = wgmma_descriptor(B, 0);
    wgmma_fence();
    wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(d, a, b);
    for (int k = 1; k < 4; k++) wgmma_bf16<64, K_MAJOR, K_MAJOR>(d, a + 2 * k, b + 2 * k, 1);
    wgmma_commit();
    wgmma_wait<0>();
    for (int j = 0; j < 32; j++) out[j * 128 + threadIdx.x] = d[j];
}

int main(void) {
    own<<<1, 128>>>(empty(64 * 64), matrix(64, 64));
    return 0;
}
