// finds: race 7 8
// A pair is written while a neighbour reads its second half.
#include "small.h"

__global__ void pairs(float* out) {
    __shared__ float2 s[64];
    s[threadIdx.x] = make_float2(1.0f, 2.0f);
    if (threadIdx.x >= 32) out[threadIdx.x] = s[63 - threadIdx.x].y;
}

int main(void) {
    pairs<<<1, 64>>>(empty(64));
    return 0;
}
