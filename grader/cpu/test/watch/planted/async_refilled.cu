// finds: race 11 15
// One buffer: the next tile is sent for while others still read this one.
#include "ptx.h"
#include "small.h"

__global__ void rounds(float* out, const float* in) {
    __shared__ __align__(16) float s[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        cp_async16(&s[4 * t], &in[256 * i + 4 * t]);
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        sum += s[255 - t];
    }
    out[t] = sum;
}

int main(void) {
    rounds<<<1, 64>>>(empty(64), filled(768));
    return 0;
}
