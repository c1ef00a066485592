// finds: race 7 7
// Each element takes the value of its right neighbour, in place.
#include "small.h"

__global__ void shift(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) a[i] = a[i + 1];
}

int main(void) {
    shift<<<2, 64>>>(filled(128), 128);
    return 0;
}
