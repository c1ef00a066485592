// finds: race 12 12
// The old way: volatile instead of __syncwarp(). It was never promised to work, and does not any more.
#include "small.h"

__global__ void warp_sum(float* out, const float* in) {
    __shared__ float memory[64];
    volatile float* s = memory;
    int t = threadIdx.x;
    s[t] = in[t];
    s[t + 32] = 0.0f;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) s[t] += s[t + step];
    __syncwarp();
    if (t == 0) out[0] = s[0];
}

int main(void) {
    warp_sum<<<1, 32>>>(empty(1), filled(32));
    return 0;
}
