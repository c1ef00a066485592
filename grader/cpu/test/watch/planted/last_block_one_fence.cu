// finds: race 8 16
// The block that finishes last adds up what all have written, without a fence behind its ticket: its
// reads may find older values in a cache.
#include "small.h"

__global__ void sum(float* out, float* part, unsigned* count, const float* in) {
    __shared__ bool last;
    if (threadIdx.x == 0) part[blockIdx.x] = in[blockIdx.x];
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned i = 0; i < gridDim.x; i++) total += part[i];
        out[0] = total;
    }
}

int main(void) {
    unsigned* count = (unsigned*)empty(1);
    cudaMemset(count, 0, sizeof *count);
    sum<<<8, 64>>>(empty(1), empty(8), count, filled(8));
    return 0;
}
