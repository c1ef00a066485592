// finds: race 9 9
// says: on s[0]
// Two threads write the same half.
#include <cuda_fp16.h>
#include "small.h"

__global__ void halves(half* out) {
    __shared__ half s[32];
    s[threadIdx.x / 2] = __float2half((float)threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x / 2];
}

int main(void) {
    halves<<<1, 64>>>((half*)empty(32));
    return 0;
}
