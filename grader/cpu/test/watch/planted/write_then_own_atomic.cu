// finds: race 8 9
// says: does an atomic
// Thread 0 sets the count and counts at once; nobody waits for that.
#include "small.h"

__global__ void count(int* out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    atomicAdd(&n, 1);
    __syncthreads();
    out[threadIdx.x] = n;
}

int main(void) {
    count<<<1, 64>>>((int*)empty(64));
    return 0;
}
