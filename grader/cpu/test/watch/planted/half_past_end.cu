// finds: out_of_bounds 10
// says: of a[33]
// says: a: 33 elements of 2 bytes
// An odd number of halves, read in pairs of one: the last neighbour is not there.
#include <cuda_fp16.h>
#include "small.h"

__global__ void neighbours(float* out, const half* a, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = __half2float(a[i]) + __half2float(a[i + 1]);
}

int main(void) {
    half* a = NULL;
    cudaMalloc(&a, 33 * sizeof *a);
    cudaMemset(a, 0, 33 * sizeof *a);
    neighbours<<<1, 64>>>(empty(64), a, 33);
    return 0;
}
