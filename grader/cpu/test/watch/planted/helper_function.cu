// finds: race 7 9
// says: in block_max
// The mistake is in a __device__ function: its lines are the ones to name.
#include "small.h"

__device__ float block_max(float x, float* s) {
    s[threadIdx.x] = x;
    float m = x;
    for (int i = 0; i < 64; i++) m = fmaxf(m, s[i]);
    return m;
}

__global__ void maximum(float* out, const float* in) {
    __shared__ float s[64];
    float m = block_max(in[threadIdx.x], s);
    if (threadIdx.x == 0) out[0] = m;
}

int main(void) {
    maximum<<<1, 64>>>(empty(1), filled(64));
    return 0;
}
