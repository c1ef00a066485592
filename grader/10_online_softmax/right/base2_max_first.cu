// In base 2: exp(x - m) = exp2((x - m) log2(e)). The merge takes the maximum of all threads first,
// then rescales once and adds.

#include "online_softmax.h"

#include <math.h>

#define WARP_SIZE 32
#define ALL_LANES 0xffffffffu
#define THREADS 512
#define WARPS (THREADS / WARP_SIZE)

// Constant memory is none of global memory: reading it costs nothing there.
__constant__ float LOG2_E = 1.44269504088896340736f;

__global__ void base2_kernel(float* m, float* l, const float* x, int64_t cols, int64_t stride_row) {
    __shared__ float m_warp[WARPS];
    __shared__ float l_warp[WARPS];
    int warp = threadIdx.x / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    const float* x_row = x + (int64_t)blockIdx.x * stride_row;

    float m_row = -INFINITY;
    float l_row = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        float x_j = x_row[j];
        if (x_j > m_row) {
            l_row *= exp2f((m_row - x_j) * LOG2_E);
            m_row = x_j;
        }
        if (x_j > -INFINITY) l_row += exp2f((x_j - m_row) * LOG2_E);
    }

    // m of the block, in every thread
    float m_all = m_row;
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        m_all = fmaxf(m_all, __shfl_xor_sync(ALL_LANES, m_all, distance));
    }
    if (lane == 0) m_warp[warp] = m_all;
    __syncthreads();  // m_warp is written by every warp before any thread reads it
    for (int i = 0; i < WARPS; i++) m_all = fmaxf(m_all, m_warp[i]);

    // l of the block: every thread's own, rescaled once
    float l_all = m_row > -INFINITY ? l_row * exp2f((m_row - m_all) * LOG2_E) : 0.0f;
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        l_all += __shfl_xor_sync(ALL_LANES, l_all, distance);
    }
    if (lane == 0) l_warp[warp] = l_all;
    __syncthreads();  // l_warp is written by every warp before thread 0 reads it
    if (threadIdx.x == 0) {
        l_all = 0.0f;
        for (int i = 0; i < WARPS; i++) l_all += l_warp[i];
        m[blockIdx.x] = m_all;
        l[blockIdx.x] = l_all;
    }
}

int online_softmax(float* m_gpu, float* l_gpu, const float* x_gpu, int64_t rows, int64_t cols,
                   int64_t stride_row) {
    if (rows < 0 || cols < 1 || stride_row < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (m_gpu == NULL || l_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX) return COURSE_UNSUPPORTED;

    base2_kernel<<<(unsigned)rows, THREADS>>>(m_gpu, l_gpu, x_gpu, cols, stride_row);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
