// finds: out_of_bounds 9
// says: of a[100]
// says: a: 100 elements of 4 bytes, cudaMalloc at
// i <= n instead of i < n, reading.
#include "small.h"

__global__ void copy(float* out, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = a[i];
}

int main(void) {
    copy<<<4, 32>>>(empty(128), filled(100), 100);
    return 0;
}
