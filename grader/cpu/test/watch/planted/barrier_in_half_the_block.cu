// finds: race 7 9; ends with barrier divergence
// A barrier that half of the threads do not reach; they wait at another barrier.
#include "small.h"

__global__ void half_block(float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = 1.0f;
    if (threadIdx.x < 32) __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
    __syncthreads();
}

int main(void) {
    half_block<<<1, 64>>>(empty(64));
    return 0;
}
