// finds: race 11 17
// says: line 17 reads by __ldg()
// says: load it without __ldg()
// The last block adds up what all have written: a fence and a ticket order that, but not the cache
// by whose way __ldg() reads.
#include "small.h"

__global__ void add_parts(float* out, float* parts, int* ticket) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1.0f;
        __threadfence();
        is_last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last) out[threadIdx.x] = __ldg(&parts[threadIdx.x % gridDim.x]);
}

int main(void) {
    int* ticket = (int*)empty(1);
    cudaMemset(ticket, 0, sizeof *ticket);
    add_parts<<<4, 32>>>(empty(32), empty(4), ticket);
    return 0;
}
