// finds: out_of_bounds 7
// says: a NULL pointer
// A pointer nobody has set.
#include "small.h"

__global__ void fill(float* out) {
    out[threadIdx.x] = 1.0f;
}

int main(void) {
    fill<<<1, 32>>>(NULL);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
