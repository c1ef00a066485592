// finds: out_of_bounds 12
// says: of s[64]
// The right neighbour of the last element of a tile.
#include "small.h"

__global__ void stencil(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    const float* right = s + 1;
    out[t] = s[t] + right[t];
}

int main(void) {
    stencil<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
