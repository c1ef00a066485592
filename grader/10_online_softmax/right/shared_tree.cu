// No shuffles: 64 threads take every 64th element each, and the states are merged by a tree in
// shared memory.

#include "online_softmax.h"

#include <math.h>

#define THREADS 64

__global__ void shared_tree_kernel(float* m, float* l, const float* x, int64_t cols,
                                   int64_t stride_row) {
    __shared__ float m_thread[THREADS];
    __shared__ float l_thread[THREADS];
    int t = threadIdx.x;
    const float* x_row = x + (int64_t)blockIdx.x * stride_row;

    float m_piece = -INFINITY;
    float l_piece = 0.0f;
    for (int64_t j = t; j < cols; j += THREADS) {
        float x_j = x_row[j];
        if (x_j > m_piece) {
            l_piece = l_piece * __expf(m_piece - x_j) + 1.0f;
            m_piece = x_j;
        } else if (x_j > -INFINITY) {
            l_piece += __expf(x_j - m_piece);
        }
    }
    m_thread[t] = m_piece;
    l_thread[t] = l_piece;

    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the states of the last level are written before they are merged
        if (t < half && m_thread[t + half] > -INFINITY) {
            float m_new = fmaxf(m_thread[t], m_thread[t + half]);
            l_thread[t] = l_thread[t] * __expf(m_thread[t] - m_new) +
                          l_thread[t + half] * __expf(m_thread[t + half] - m_new);
            m_thread[t] = m_new;
        }
    }
    if (t == 0) {
        m[blockIdx.x] = m_thread[0];
        l[blockIdx.x] = l_thread[0];
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    shared_tree_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
