// finds: race 10 15
// Warps that pass a clock, as named barriers and mbarriers do; one write comes after the release.
#include "small.h"

__global__ void pass(float* out, struct cudev_clock* clock) {
    __shared__ float s[2];
    if (threadIdx.x == 0) {
        s[0] = 1.0f;
        cudev_release(clock);
        s[1] = 2.0f;
    }
    if (threadIdx.x == 32) {
        cudev_acquire(clock);
        out[0] = s[0];
        out[1] = s[1];
    }
}

int main(void) {
    struct cudev_clock* clock = NULL;
    cudaMalloc(&clock, sizeof *clock);
    cudaMemset(clock, 0, sizeof *clock);
    pass<<<1, 64>>>(empty(2), clock);
    return 0;
}
