// finds: nothing
// Rows far apart, and indices of 64 bits: loads, stores, atomics, cp.async, and what the host may do.
#include "far.h"
#include "ptx.h"

__global__ void turn(float* x, long long step) {
    __shared__ __align__(16) float s[ROWS][COLS];
    int t = threadIdx.x;
    for (int r = 0; r < ROWS; r++)
        if (t < COLS / 4) cp_async16(&s[r][4 * t], &x[r * step + 4 * t]);
    cp_async_wait_all();
    __syncthreads();
    for (int r = 0; r < ROWS; r++) x[r * step + t] += s[r][COLS - 1 - t];
    atomicAdd(&x[2 * step + t], 1.0f);
}

int main(void) {
    float *x = far_rows(), row[2][COLS];
    struct cudaPointerAttributes a;
    if (!x) return 1;
    turn<<<1, COLS>>>(x, FAR_STEP);
    // two rows at once, and one that a fill has cleared
    cudaMemset(x, 0, COLS * sizeof *x);
    cudaMemcpy2D(row, sizeof row[0], x + FAR_STEP, FAR_STEP * sizeof *x, sizeof row[0], 2,
                 cudaMemcpyDeviceToHost);
    for (int t = 0; t < COLS; t++)
        if (row[0][t] != COLS + 1 || row[1][t] != COLS + 4) return 2;
    cudaMemcpy(row, x, sizeof row[0], cudaMemcpyDeviceToHost);
    if (row[0][5] != 0) return 3;
    // nothing lies between the rows
    if (cudaMemset(x, 0, 2 * COLS * sizeof *x) != cudaErrorInvalidValue) return 4;
    if (cudaPointerGetAttributes(&a, x + FAR_STEP) || a.type != cudaMemoryTypeDevice) return 5;
    return 0;
}
