// finds: race 10 11
// says: does an atomic, line 11 reads
// All threads count, and each reads the count at once.
#include "small.h"

__global__ void count(int* out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);
    out[threadIdx.x] = n;
}

int main(void) {
    count<<<1, 64>>>((int*)empty(64));
    return 0;
}
