// finds: nothing
// Headers announce these: a copy that lands when it is waited for, and a clock that warps pass on.
#include "small.h"

CUDEV_UNWATCHED __attribute__((noinline)) static __device__ void land(float* to,
                                                                      const float* from) {
    *to = *from;
}

__device__ __forceinline__ void copy_later(float* to, const float* from) {
    cudev_announce(CUDEV_READ, from, sizeof *from);
    cudev_announce(CUDEV_WRITE, to, sizeof *to);
    cudev_make_uninitialised(to, sizeof *to);
}

__device__ __forceinline__ void wait_for(float* to, const float* from) {
    cudev_announce(CUDEV_WRITE, to, sizeof *to);
    land(to, from);
}

__global__ void pipeline(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    copy_later(&s[t], &in[t]);
    wait_for(&s[t], &in[t]);
    __syncthreads();
    out[t] = s[63 - t];
}

__global__ void pass(float* out, struct cudev_clock* clock) {
    __shared__ float s[3];
    if (threadIdx.x == 0) {
        s[0] = 1.0f;
        cudev_release(&clock[0]);
    } else if (threadIdx.x == 32) {
        cudev_acquire(&clock[0]);
        s[1] = s[0];
        cudev_release(&clock[1]);
    } else if (threadIdx.x == 64) {
        cudev_acquire(&clock[1]);
        out[blockIdx.x] = s[0] + s[1];
    }
}

int main(void) {
    struct cudev_clock* clock = NULL;
    cudaMalloc(&clock, 2 * sizeof *clock);
    cudaMemset(clock, 0, 2 * sizeof *clock);
    pipeline<<<1, 64>>>(empty(64), filled(64));
    pass<<<3, 96>>>(empty(3), clock);
    return 0;
}
