// finds: out_of_bounds 12
// The map is of a larger tensor than was allocated.
#include "hopper_small.h"

__global__ void __launch_bounds__(128, 1) twice(const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) unsigned C[TILE / 4];
    for (int i = 0; i < 2; i++) {
        for (int j = threadIdx.x; j < TILE / 4; j += blockDim.x) C[j] = j + i;
        fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            tma_store_2d(&map, C, 64 * i, 0);
            bulk_commit();
            bulk_wait_read<0>();
        }
        __syncthreads();
    }
}

int main(void) {
    twice<<<1, 128>>>(matrix(64, 128, 64, empty(32 * 64)));
    return 0;
}
