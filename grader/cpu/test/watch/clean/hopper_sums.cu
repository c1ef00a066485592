// finds: nothing
// Blocks add to the same floats by TMA; the threads hand a part over by an mbarrier.
#include "hopper_small.h"

__global__ void add(float* sum, const float* in) {
    __shared__ __align__(16) float s[2][256];
    __shared__ mbarrier full, written[2];
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&written[0], 128);
        mbarrier_init(&written[1], 128);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, 1024);
        bulk_load(s[0], in, 1024, &full);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    for (int i = 0; i < 2; i++) {
        for (int j = threadIdx.x; j < 256; j += 128) s[1][j] = s[0][j] + i;
        fence_proxy_async();
        mbarrier_arrive(&written[i]);
        if (threadIdx.x == 64) {
            mbarrier_wait(&written[i], 0);
            bulk_reduce_add(sum, s[1], 1024, L2_EVICT_LAST);
            bulk_commit();
            bulk_wait_read<0>();
        }
        __syncthreads();
    }
}

int main(void) {
    add<<<3, 128>>>(filled(256), filled(256));
    return 0;
}
