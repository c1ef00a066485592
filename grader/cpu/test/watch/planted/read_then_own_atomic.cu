// finds: race 10 11
// says: does an atomic
// Thread 0 reads the count that others go on with, and then counts itself.
#include "small.h"

__global__ void count(int* out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    if (threadIdx.x == 0) out[0] = n;
    atomicAdd(&n, 1);
    __syncthreads();
    out[1 + threadIdx.x] = n;
}

int main(void) {
    count<<<1, 64>>>((int*)empty(65));
    return 0;
}
