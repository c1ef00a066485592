// finds: out_of_bounds 7
// says: atomic at
// A histogram with a bin too few.
#include "small.h"

__global__ void histogram(float* bins, const float* in) {
    atomicAdd(&bins[(int)in[threadIdx.x] % 9], 1.0f);
}

int main(void) {
    histogram<<<1, 32>>>(filled(8), filled(32));
    return 0;
}
