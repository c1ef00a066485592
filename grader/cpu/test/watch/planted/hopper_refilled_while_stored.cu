// finds: async_order 14 16
// says: it is not awaited
// TMA loads a tile over one that it still stores.
#include "hopper_small.h"

__global__ void copy(const __grid_constant__ CUtensorMap from,
                     const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(1024) char s[TILE];
    __shared__ mbarrier full;
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    for (int i = 0; i < 3; i++) {
        mbarrier_arrive_expect(&full, TILE);
        tma_load_2d(s, &from, &full, L2_EVICT_FIRST, 64 * i, 0);
        mbarrier_wait(&full, i % 2);
        tma_store_2d(&to, s, 64 * i, 0);
        bulk_commit();
        bulk_wait_read<1>();
    }
    bulk_wait<0>();
}

int main(void) {
    copy<<<1, 1>>>(matrix(64, 192), matrix(64, 192));
    return 0;
}
