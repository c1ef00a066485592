// finds: race 7 8
// A warp stores float4; the next reads single floats of it without a barrier.
#include "small.h"

__global__ void quads(float* out) {
    __shared__ float s[128];
    if (threadIdx.x < 32) *(float4*)&s[4 * threadIdx.x] = make_float4(1, 2, 3, 4);
    if (threadIdx.x >= 32) out[threadIdx.x] = s[threadIdx.x];
}

int main(void) {
    quads<<<1, 64>>>(empty(64));
    return 0;
}
