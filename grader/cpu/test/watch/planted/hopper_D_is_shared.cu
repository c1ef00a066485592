// finds: nothing; ends with wgmma m64n64k16 at
// says: gets a D or an A that are no registers
// D of a product lies in shared memory.
#include "hopper_small.h"

__global__ void __launch_bounds__(128, 1) multiply(float* out) {
    __shared__ __align__(1024) unsigned A[TILE / 4];
    __shared__ float d[128][32];
    for (int j = threadIdx.x; j < TILE / 4; j += blockDim.x) A[j] = 0x3f803f80;
    fence_proxy_async();
    __syncthreads();
    unsigned a = wgmma_descriptor(A, 0);
    wgmma_fence();
    wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(d[threadIdx.x], a, a);
    wgmma_commit();
    wgmma_wait<0>();
    for (int j = 0; j < 32; j++) out[j * 128 + threadIdx.x] = d[threadIdx.x][j];
}

int main(void) {
    multiply<<<1, 128>>>(empty(64 * 64));
    return 0;
}
