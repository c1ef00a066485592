// Step 1: one thread per row, and one walk along the row for each equation.
//
// What was wrong before: nothing yet; this is the start. Neighbouring threads read addresses a
// whole row apart, so each 4-byte load moves 32 bytes, and each store too; there are only as many
// threads as rows; and the row is read three times. Next: a warp for each row.

#include "softmax.h"

#include <math.h>

#define THREADS 128  // threads of a block, one row each

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void thread_per_row_kernel(float* __restrict__ y,        // (rows, cols), stride_y apart
                                      const float* __restrict__ x,  // (rows, cols), stride_x apart
                                      int64_t rows, int64_t cols, int64_t stride_y,
                                      int64_t stride_x) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;  // no barrier below
    const float* x_row = x + row * stride_x;
    float* y_row = y + row * stride_y;

    // m = max_j x_j                                                       (README eq. 1)
    float m = -INFINITY;
    for (int64_t j = 0; j < cols; j++) m = fmaxf(m, x_row[j]);
    if (m == -INFINITY) m = 0.0f;  // (-inf) - (-inf) is NaN; exp((-inf) - 0) is 0

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l = 0.0f;
    for (int64_t j = 0; j < cols; j++) l += expf(x_row[j] - m);

    // y_j = exp(x_j - m) / l                                              (README eq. 3)
    float factor = l > 0.0f ? 1.0f / l : 0.0f;  // 0 * (1 / 0) is NaN
    for (int64_t j = 0; j < cols; j++) y_row[j] = expf(x_row[j] - m) * factor;
}

// ---- launcher ----------------------------------------------------------------------------------

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    unsigned blocks = (unsigned)CEIL_DIV(rows, THREADS);
    thread_per_row_kernel<<<blocks, THREADS>>>(y_gpu, x_gpu, rows, cols, stride_y, stride_x);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
