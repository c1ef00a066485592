// finds: race 7 13
// The last block adds up what all threads have written; they fenced, but nothing makes thread 0 wait.
#include "small.h"

__global__ void sum(float* out, float* part, unsigned* count) {
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = 1.0f;
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned i = 0; i < 64 * gridDim.x; i++) total += part[i];
        out[0] = total;
    }
}

int main(void) {
    unsigned* count = (unsigned*)empty(1);
    cudaMemset(count, 0, sizeof *count);
    sum<<<4, 64>>>(empty(1), empty(256), count);
    return 0;
}
