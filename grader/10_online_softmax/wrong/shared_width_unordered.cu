// cause: race_of_writes
// All threads store the width in shared memory and use it at once. They store the same number, so
// the result is right; nobody promised the order.
#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32
#define ROWS 8  // rows, and warps, of a block

__global__ void one_warp_kernel(float* m, float* l, const float* x, int64_t rows, int64_t cols,
                                int64_t stride_row) {
    __shared__ int64_t cols_smem;
    cols_smem = cols;  // by every thread, and read without a barrier
    int lane = threadIdx.x % WARP_SIZE;
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / WARP_SIZE;
    if (row >= rows) return;  // whole warps leave, and there is no block barrier below
    const float* x_row = x + row * stride_row;

    float m_row = -INFINITY;
    float l_row = 0.0f;
    for (int64_t j = lane; j < cols_smem; j += WARP_SIZE) {
        float x_j = x_row[j];
        float high = fmaxf(m_row, x_j);
        float low = fminf(m_row, x_j);
        if (low > -INFINITY) {
            float e = expf(low - high);
            l_row = x_j > m_row ? l_row * e + 1.0f : l_row + e;
        } else if (x_j > -INFINITY) {
            l_row = 1.0f;
        }
        m_row = high;
    }

    for (int distance = 1; distance < WARP_SIZE; distance *= 2) {
        float m_other = __shfl_down_sync(0xffffffffu, m_row, distance);
        float l_other = __shfl_down_sync(0xffffffffu, l_row, distance);
        float high = fmaxf(m_row, m_other);
        float shift = high == -INFINITY ? 0.0f : high;  // exp(-inf - 0) is 0
        l_row = l_row * expf(m_row - shift) + l_other * expf(m_other - shift);
        m_row = high;
    }
    if (lane == 0) {
        m[row] = m_row;
        l[row] = l_row;
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    unsigned blocks = (unsigned)CEIL_DIV(rows, ROWS);
    one_warp_kernel<<<blocks, ROWS * WARP_SIZE>>>(m_gpu, l_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
