// finds: race 8 9
// One thread writes a pair, another thread one of its halves.
#include <cuda_fp16.h>
#include "small.h"

__global__ void halves(half2* out) {
    __shared__ half2 s[32];
    s[threadIdx.x] = __float2half2_rn(1.0f);
    ((half*)s)[2 * (31 - threadIdx.x) + 1] = __float2half(2.0f);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

int main(void) {
    halves<<<1, 32>>>((half2*)empty(32));
    return 0;
}
