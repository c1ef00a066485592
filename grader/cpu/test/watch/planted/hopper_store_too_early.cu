// finds: async_order 9 12, uninitialised 9
// says: line 9 reads by TMA, line 12 writes
// TMA is asked for the tile first, and then the threads write it. That nobody has written what it reads is told, too.
#include "hopper_small.h"

__global__ void __launch_bounds__(128, 1) early(const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) unsigned C[TILE / 4];
    if (threadIdx.x == 0) {
        tma_store_2d(&map, C, 0, 0), bulk_commit(), bulk_wait_read<0>();
    }
    if (threadIdx.x > 0)
        for (int j = threadIdx.x; j < TILE / 4; j += blockDim.x) C[j] = j;
    __syncthreads();
    if (threadIdx.x == 0) bulk_wait<0>();
}

int main(void) {
    early<<<1, 128>>>(matrix(64, 128));
    return 0;
}
