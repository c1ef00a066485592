// finds: nothing; ends with tma_load_2d() at
// says: begins its box at element 60 of a row
// A box of bf16 begins at a column that is no multiple of 8.
#include "hopper_small.h"

__global__ void load(float* out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) float s[TILE / 4];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, TILE);
        tma_load_2d(s, &map, &full, L2_EVICT_FIRST, 60, 0);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    out[threadIdx.x] = s[threadIdx.x];
}

int main(void) {
    load<<<1, 32>>>(empty(32), matrix(64, 128));
    return 0;
}
