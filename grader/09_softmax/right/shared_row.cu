// A block of 256 threads per row, and the row in shared memory if there is room. Warp 0 alone
// brings the results of the warps together and leaves the row's for all to read: two barriers each
// for m and for l.

#include "softmax.h"

#include <math.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define LINE 32

__device__ float brought_together(float v, bool largest, float* v_warp, float* v_row) {
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, v, distance);
        v = largest ? fmaxf(v, other) : v + other;
    }
    if (threadIdx.x % 32 == 0) v_warp[threadIdx.x / 32] = v;
    __syncthreads();  // every warp has written v_warp before thread 0 reads it
    if (threadIdx.x == 0) {
        v = v_warp[0];
        for (int w = 1; w < WARPS; w++) v = largest ? fmaxf(v, v_warp[w]) : v + v_warp[w];
        *v_row = v;
    }
    __syncthreads();  // thread 0 has written v_row before all read it, and read v_warp
    return *v_row;
}

__global__ void shared_row_kernel(float* y, const float* x, int64_t cols, int64_t stride_y,
                                  int64_t stride_x, bool kept) {
    extern __shared__ float row_smem[];
    __shared__ float v_warp[WARPS], m_row, l_row;
    x += blockIdx.x * stride_x;
    y += blockIdx.x * stride_y;
    int64_t begin = (int64_t)threadIdx.x - (int64_t)((size_t)y / sizeof(float) % LINE);
    if (begin < 0) begin += THREADS;
    const float* row = kept ? row_smem : x;

    float m = -INFINITY;
    for (int64_t j = begin; j < cols; j += THREADS) {
        float x_j = x[j];
        if (kept) row_smem[j] = x_j;
        m = fmaxf(m, x_j);
    }
    m = brought_together(m, true, v_warp, &m_row);
    if (m == -INFINITY) {  // nothing but -inf
        for (int64_t j = begin; j < cols; j += THREADS) y[j] = 0.0f;
        return;  // the whole block
    }
    float l = 0.0f;
    for (int64_t j = begin; j < cols; j += THREADS) l += expf(row[j] - m);
    l = brought_together(l, false, v_warp, &l_row);
    for (int64_t j = begin; j < cols; j += THREADS) y[j] = expf(row[j] - m) / l;
}

int softmax(float* y_gpu, const float* x_gpu, int64_t rows, int64_t cols, int64_t stride_y,
            int64_t stride_x) {
    if (rows < 0 || cols < 1 || stride_y < cols || stride_x < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (y_gpu == NULL || x_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;

    int device, most;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    bool kept = cols <= (most - 1024) / 4;
    size_t bytes = kept ? (size_t)cols * 4 : 0;
    COURSE_TRY(cudaFuncSetAttribute(shared_row_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes));
    shared_row_kernel<<<(unsigned)rows, THREADS, bytes>>>(y_gpu, x_gpu, cols, stride_y, stride_x,
                                                          kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
