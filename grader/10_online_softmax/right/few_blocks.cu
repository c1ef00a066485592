// A fixed grid: each block of 1024 threads works through several rows, so the shared arrays are
// used again for every row. Thread 0 merges the states of the warps one after another.

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 1024
#define WARPS (THREADS / WARP_SIZE)
#define BLOCKS 16

// Merges the state (m_b, l_b) into (*m_a, *l_a).
__device__ void merge_into(float* m_a, float* l_a, float m_b, float l_b) {
    if (m_b == -INFINITY) return;  // nothing to add; below, m_new is finite
    float m_new = fmaxf(*m_a, m_b);
    *l_a = *l_a * expf(*m_a - m_new) + l_b * expf(m_b - m_new);
    *m_a = m_new;
}

__global__ void few_blocks_kernel(float* m, float* l, const float* x, int64_t rows, int64_t cols,
                                  int64_t stride_row) {
    __shared__ float m_warp[WARPS];
    __shared__ float l_warp[WARPS];
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;

    for (int64_t row = blockIdx.x; row < rows; row += BLOCKS) {
        const float* x_row = x + row * stride_row;
        float m_row = -INFINITY;
        float l_row = 0.0f;
        for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
            merge_into(&m_row, &l_row, x_row[j], 1.0f);  // one element x is the state (x, 1)
        }
        for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
            float m_other = __shfl_xor_sync(ALL_LANES, m_row, distance);
            float l_other = __shfl_xor_sync(ALL_LANES, l_row, distance);
            merge_into(&m_row, &l_row, m_other, l_other);
        }
        if (lane == 0) {
            m_warp[warp] = m_row;
            l_warp[warp] = l_row;
        }
        __syncthreads();  // every warp's state is written before thread 0 reads them
        if (threadIdx.x == 0) {
            for (int i = 1; i < WARPS; i++) merge_into(&m_row, &l_row, m_warp[i], l_warp[i]);
            m[row] = m_row;
            l[row] = l_row;
        }
        __syncthreads();  // thread 0 has read the states before those of the next row land there
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    few_blocks_kernel<<<BLOCKS, THREADS>>>(m_gpu, l_gpu, x_gpu, rows, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
