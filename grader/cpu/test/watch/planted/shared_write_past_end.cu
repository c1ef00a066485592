// finds: out_of_bounds 10
// says: of s[33]
// Every thread writes one element too far.
#include "small.h"

__global__ void shift(float* out, const float* in) {
    __shared__ float s[33];
    int t = threadIdx.x;
    float* p = s + 2;
    p[t] = in[t];
    if (t < 2) s[t] = 0.0f;
    __syncthreads();
    out[t] = s[t];
}

int main(void) {
    shift<<<1, 32>>>(empty(32), filled(32));
    return 0;
}
