// finds: uninitialised 11
// says: of s[48]
// The last 16 threads never write their element; all read it.
#include "small.h"

__global__ void sum(float* out, const float* in) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 48) s[t] = in[t];
    __syncthreads();
    out[t] = s[t];
}

int main(void) {
    sum<<<1, 64>>>(empty(64), filled(64));
    return 0;
}
