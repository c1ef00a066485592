// finds: nothing
// The barrier is made again for another use.
#include "hopper_small.h"

__global__ void again(float* out) {
    __shared__ mbarrier done;
    __shared__ float s[64];
    for (int round = 1; round <= 2; round++) {
        if (threadIdx.x == 0) {
            mbarrier_init(&done, 64 / round);
            fence_mbarrier_init();
        }
        __syncthreads();
        s[threadIdx.x] = (float)round;
        if (threadIdx.x < 64 / round) mbarrier_arrive(&done);
        mbarrier_wait(&done, 0);
        if (round == 1) out[threadIdx.x] = s[63 - threadIdx.x];
        if (round == 2) out[threadIdx.x] += s[threadIdx.x % 32];
        __syncthreads();
        if (threadIdx.x == 0) mbarrier_inval(&done);
        __syncthreads();
    }
}

int main(void) {
    again<<<1, 64>>>(empty(64));
    return 0;
}
