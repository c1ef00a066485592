// finds: uninitialised 12
// says: of s[1]
// Every second half is written, all are read: 2-byte elements are told apart.
#include <cuda_fp16.h>
#include "small.h"

__global__ void halves(float* out) {
    __shared__ half s[64];
    int t = threadIdx.x;
    s[2 * t] = __float2half(1.0f);
    __syncthreads();
    out[t] = __half2float(s[t]);
}

int main(void) {
    halves<<<1, 32>>>(empty(32));
    return 0;
}
