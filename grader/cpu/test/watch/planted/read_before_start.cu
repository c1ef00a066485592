// finds: out_of_bounds 8
// says: of a[-1]
// The left neighbour of the first element.
#include "small.h"

__global__ void difference(float* out, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] - a[i - 1];
}

int main(void) {
    difference<<<4, 32>>>(empty(128), filled(128), 128);
    return 0;
}
