// finds: race 8 11
// The mask of __syncwarp() names the lower 16 lanes; the value comes from the upper ones.
#include "small.h"

__global__ void lower(float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 1.0f;
    if (t < 16) {
        __syncwarp(0xffff);
        out[t] = s[t] + s[t + 16];
    }
}

int main(void) {
    lower<<<1, 32>>>(empty(16));
    return 0;
}
