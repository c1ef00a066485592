// finds: async_order 8 10
// says: makes the mbarrier, line 10 uses it: no barrier between
// Nothing lets the other thread see the barrier.
#include "hopper_small.h"

__global__ void two(float* out) {
    __shared__ mbarrier done;
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    if (threadIdx.x == 0) fence_mbarrier_init();
    if (threadIdx.x == 32) mbarrier_arrive(&done);
    __syncthreads();
    mbarrier_wait(&done, 0);
    out[threadIdx.x] = 1.0f;
}

int main(void) {
    two<<<1, 64>>>(empty(64));
    return 0;
}
