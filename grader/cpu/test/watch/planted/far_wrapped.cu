// finds: wrapped_index 8
// says: read at far_wrapped.cu:8 of row (1, 0, 0) of x, 1 times 2^32 elements too early
// The step from row to row is kept in 32 bits.
// (Not on a GPU: cudev_spread().)
#include "far.h"

__global__ void sum(float* out, const float* x, int step) {
    for (int r = 0; r < ROWS; r++) out[threadIdx.x] += x[r * step + threadIdx.x];
}

int main(void) {
    float *x = far_rows(), *out = filled(COLS);
    sum<<<1, COLS>>>(out, x, (int)FAR_STEP);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
