// finds: out_of_bounds 8
// Rows behind the last one of an array, where another array would have rows if its indices were
// larger. (Not on a GPU: cudev_spread().)
#include "far.h"

__global__ void sum(float* out, const float* x, long long step) {
    for (int r = 0; r < 2 * ROWS; r++)
        if (r != ROWS) out[threadIdx.x] += x[r * step + threadIdx.x];
}

int main(void) {
    float *x = far_rows(), *y = far_rows_of("y", 3 * ROWS), *out = filled(COLS);
    if (!y) return 1;
    sum<<<1, COLS>>>(out, x, FAR_STEP);
    return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1;
}
