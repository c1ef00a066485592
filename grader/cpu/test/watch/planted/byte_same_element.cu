// finds: race 7 7
// Flags of one byte, one for two threads.
#include "small.h"

__global__ void flags(float* out) {
    __shared__ unsigned char set[32];
    set[threadIdx.x / 2] = threadIdx.x % 3 == 0;
    __syncthreads();
    out[threadIdx.x] = set[threadIdx.x / 2];
}

int main(void) {
    flags<<<1, 64>>>(empty(64));
    return 0;
}
