// cause: too_much_read
// The maximum first, then the sum: right, but every score is loaded twice.
#include "online_softmax.h"

#include <math.h>

#define THREADS 128  // threads of a block, one row each

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void two_pass_kernel(float* m,        // (rows)
                                float* l,        // (rows)
                                const float* x,  // (rows, cols), rows stride_row apart
                                int64_t rows, int64_t cols, int64_t stride_row) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;  // no barrier below
    const float* x_row = x + row * stride_row;

    // m = max_j x_j                                                       (README eq. 1)
    float m_row = -INFINITY;
    for (int64_t j = 0; j < cols; j++) m_row = fmaxf(m_row, x_row[j]);

    // l = sum_j exp(x_j - m)                                              (README eq. 2)
    float l_row = 0.0f;
    if (m_row > -INFINITY) {  // (-inf) - (-inf) is NaN
        for (int64_t j = 0; j < cols; j++) l_row += expf(x_row[j] - m_row);
    }

    m[row] = m_row;
    l[row] = l_row;
}

// ---- launcher ----------------------------------------------------------------------------------

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;  // a grid of 0 blocks would be an error
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    unsigned blocks = (unsigned)CEIL_DIV(rows, THREADS);
    two_pass_kernel<<<blocks, THREADS>>>(m_gpu, l_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
