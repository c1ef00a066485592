// finds: race 11 13
// Two buffers and one barrier too few: the next round writes the buffer others still read.
#include "small.h"

__global__ void rounds(float* out, const float* in) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < 6; i++) {
        if (i % 3 == 0) __syncthreads();
        s[i % 2][t] = in[64 * i + t];
        if (i % 3 == 0) __syncthreads();
        sum += s[i % 2][(t + 32) % 64];
    }
    out[t] = sum;
}

int main(void) {
    rounds<<<1, 64>>>(empty(64), filled(384));
    return 0;
}
