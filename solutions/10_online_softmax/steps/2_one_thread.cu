// Step 2: online softmax, still one thread per row.
//
// What was wrong with step 1: it read every element twice. Here the sum is rescaled whenever the
// maximum grows, so one pass is enough. The loads are as scattered as before, and each fold waits
// for the one before it.

#include "online_softmax.h"

#include <math.h>

#define THREADS 128  // threads of a block, one row each

// ---- GPU kernel --------------------------------------------------------------------------------

__global__ void one_thread_kernel(float* m,        // (rows)
                                  float* l,        // (rows)
                                  const float* x,  // (rows, cols), rows stride_row apart
                                  int64_t rows, int64_t cols, int64_t stride_row) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;  // no barrier below
    const float* x_row = x + row * stride_row;

    float m_row = -INFINITY;
    float l_row = 0.0f;
    for (int64_t j = 0; j < cols; j++) {
        float x_j = x_row[j];
        // m_new = max(m, x_j)                                             (README eq. 3)
        float m_new = fmaxf(m_row, x_j);
        if (m_new == -INFINITY) continue;  // (-inf) - (-inf) is NaN
        // l_new = l * exp(m - m_new) + exp(x_j - m_new)                   (README eq. 4)
        l_row = l_row * expf(m_row - m_new) + expf(x_j - m_new);
        m_row = m_new;
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
    one_thread_kernel<<<blocks, THREADS>>>(m_gpu, l_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
