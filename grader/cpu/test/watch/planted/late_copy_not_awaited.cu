// finds: uninitialised 19
// says: of s[0]
// A copy that lands when it is waited for, as headers announce it; the kernel does not wait.
#include "small.h"

CUDEV_UNWATCHED static __device__ void land(float* to, const float* from) {
    *to = *from;
}

__device__ __forceinline__ void copy_later(float* to, const float* from) {
    cudev_announce(CUDEV_READ, from, sizeof *from);
    cudev_announce(CUDEV_WRITE, to, sizeof *to);
    cudev_make_uninitialised(to, sizeof *to);
}

__global__ void pipeline(float* out, const float* in) {
    __shared__ float s[32];
    copy_later(&s[threadIdx.x], &in[threadIdx.x]);
    out[threadIdx.x] = s[threadIdx.x];
    land(&s[threadIdx.x], &in[threadIdx.x]);
}

int main(void) {
    pipeline<<<1, 32>>>(empty(32), filled(32));
    return 0;
}
