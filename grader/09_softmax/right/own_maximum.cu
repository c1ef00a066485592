// Every thread subtracts the maximum of its own columns, so that it need not wait for the others',
// and the difference goes into the factor: y_j = exp(x_j - m_t) * (exp(m_t - m) / l). One barrier a
// row. In base 2, where exp(x - m) is one multiplication of the difference and one exp2. A warp per
// row up to 2048 columns, else 8 warps.

#include "softmax.h"

#include <math.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define VALUES 65
#define LINE 32
#define LOG2_E 1.44269504088896340736f

// exp(x - m)
__device__ float exp_difference(float x, float m) {
    return exp2f((x - m) * LOG2_E);
}

// The team's maximum and its sum, of each thread's; `warps` is how many work on a row.
__device__ void merge(float* m, float* l, int warps, float* m_warp, float* l_warp) {
    float m_all = *m;
    for (int distance = 16; distance > 0; distance /= 2)
        m_all = fmaxf(m_all, __shfl_xor_sync(0xffffffffu, m_all, distance));
    float l_all = *m > -INFINITY ? *l * exp_difference(*m, m_all) : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        l_all += __shfl_xor_sync(0xffffffffu, l_all, distance);
    if (warps > 1) {
        if (threadIdx.x % 32 == 0) {
            m_warp[threadIdx.x / 32] = m_all;
            l_warp[threadIdx.x / 32] = l_all;
        }
        __syncthreads();  // every warp has written its m and l before any thread reads them
        m_all = -INFINITY;
        l_all = 0.0f;
        for (int w = 0; w < WARPS; w++) m_all = fmaxf(m_all, m_warp[w]);
        for (int w = 0; w < WARPS; w++)
            if (l_warp[w] > 0.0f) l_all += l_warp[w] * exp_difference(m_warp[w], m_all);
    }
    *m = m_all;
    *l = l_all;
}

__global__ void own_maximum_kernel(float* y, const float* x, int64_t rows, int64_t cols,
                                   int64_t stride_y, int64_t stride_x, int warps, bool kept) {
    extern __shared__ float e_smem[];
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int team = 32 * warps, t = threadIdx.x % team;
    int64_t row = (int64_t)blockIdx.x * (THREADS / team) + threadIdx.x / team;
    if (row >= rows) return;  // whole warps, which meet no barrier: else a block has one row
    x += row * stride_x;
    y += row * stride_y;
    int64_t shift = (int64_t)((size_t)y / sizeof(float) % LINE);
    int64_t rest = (int64_t)team * VALUES - shift;

    float e[VALUES], m = -INFINITY, l = 0.0f;
    for (int i = 0; i < VALUES; i++) {
        int64_t j = t + (int64_t)i * team - shift;
        e[i] = j >= 0 && j < cols ? x[j] : -INFINITY;
        m = fmaxf(m, e[i]);
    }
    for (int64_t j = rest + t; j < cols; j += team) {
        float e_j = x[j];
        if (kept) e_smem[j - rest] = e_j;
        m = fmaxf(m, e_j);
    }
    if (m > -INFINITY) {
        for (int i = 0; i < VALUES; i++) l += e[i] = exp_difference(e[i], m);
        for (int64_t j = rest + t; j < cols; j += team)
            l += exp_difference(kept ? e_smem[j - rest] : x[j], m);
    }
    float m_all = m, l_all = l;
    merge(&m_all, &l_all, warps, m_warp, l_warp);
    float factor = m > -INFINITY ? exp_difference(m, m_all) / l_all : 0.0f;
    for (int i = 0; i < VALUES; i++) {
        int64_t j = t + (int64_t)i * team - shift;
        if (j >= 0 && j < cols) y[j] = factor > 0.0f ? e[i] * factor : 0.0f;
    }
    for (int64_t j = rest + t; j < cols; j += team)
        y[j] = factor > 0.0f ? exp_difference(kept ? e_smem[j - rest] : x[j], m) * factor : 0.0f;
}

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    int most, warps = cols <= 2048 ? 1 : WARPS;
    int device;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    int64_t bytes = (cols + LINE - THREADS * VALUES) * (int64_t)sizeof(float);
    bool kept = bytes > 0 && bytes <= most - 1024;
    if (!kept) bytes = 0;
    COURSE_TRY(cudaFuncSetAttribute(own_maximum_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes));
    unsigned blocks = (unsigned)(warps == 1 ? CEIL_DIV(rows, WARPS) : rows);
    own_maximum_kernel<<<blocks, THREADS, (size_t)bytes>>>(y_gpu, x_gpu, rows, cols, stride_y,
                                                           stride_x, warps, kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
