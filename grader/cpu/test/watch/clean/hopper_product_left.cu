// finds: nothing
// says: NOTE: async_order: nobody has waited for wgmma m64n64k16 at hopper_product_left.cu:25, and its threads have returned
// says: by warpgroup 0 of block (0,0,0); what it gets is undefined, and NaN here
// Two products are asked for, and the second one's sums are not wanted: nobody waits for it.
#include "hopper_small.h"

__global__ void __launch_bounds__(128, 1)
    multiply(float* out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) char A[TILE];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, TILE);
        tma_load_2d(A, &map, &full, L2_EVICT_NORMAL, 0, 0);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    float d[32], unwanted[32];
    unsigned a = wgmma_descriptor(A, 0);
    wgmma_fence();
    wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(d, a, a);
    wgmma_commit();
    wgmma_fence();
    wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(unwanted, a, a);
    wgmma_commit();
    wgmma_wait<1>();
    for (int j = 0; j < 32; j++) out[j * 128 + threadIdx.x] = d[j];
}

int main(void) {
    multiply<<<1, 128>>>(empty(64 * 64), matrix(64, 64));
    return 0;
}
