// finds: nothing
// Whole warps return before the others synchronise among themselves, and half a warp that has stored
// nothing; and a warp with 8 lanes.
#include "small.h"

__global__ void first_warp(float* out, const float* in) {
    __shared__ float s[32];
    if (threadIdx.x >= 32) return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[31 - threadIdx.x];
}

__global__ void half_a_warp(float* out, const float* in) {
    __shared__ float s[16];
    if (threadIdx.x >= 16) return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[15 - threadIdx.x];
}

__global__ void short_warp(float* out) {
    __shared__ float s[40];
    s[threadIdx.x] = 1.0f;
    __syncwarp(threadIdx.x < 32 ? 0xffffffff : 0xff);
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

int main(void) {
    first_warp<<<1, 96>>>(empty(32), filled(32));
    half_a_warp<<<1, 32>>>(empty(16), filled(16));
    short_warp<<<1, 40>>>(empty(40));
    return 0;
}
