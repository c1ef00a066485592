// finds: out_of_bounds 7
// One element behind a row that lies far from the others.
// (Not on a GPU: cudev_spread().)
#include "far.h"

__global__ void sum(float* out, const float* x, long long step) {
    for (int r = 0; r < ROWS; r++) out[threadIdx.x] += x[r * step + threadIdx.x + 1];
}

int main(void) {
    float *x = far_rows(), *out = filled(COLS);
    sum<<<1, COLS>>>(out, x, FAR_STEP);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
