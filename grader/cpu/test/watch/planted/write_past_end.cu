// finds: out_of_bounds 8
// says: of out[100]
// i <= n instead of i < n, writing.
#include "small.h"

__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1.0f;
}

int main(void) {
    fill<<<4, 32>>>(empty(100), 100);
    return 0;
}
