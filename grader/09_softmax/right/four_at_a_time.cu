// Four columns at a time, as float4: 16 bytes a load, 16 a store. A row that does not begin at a
// multiple of 16 bytes has up to three columns before its first whole four, and up to three after
// the last one; they are filled up with -inf and stored one by one. 192 threads, the row in shared
// memory if there is room.

#include "softmax.h"

#include <math.h>

#define THREADS 192
#define WARPS (THREADS / 32)
#define LINE 32

__device__ float max_of_four(float4 v) {
    return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

__device__ float4 exp_of_four(float4 v, float m) {
    float4 e = {expf(v.x - m), expf(v.y - m), expf(v.z - m), expf(v.w - m)};
    return e;
}

// Columns j to j + 3 of a row, -inf where there is none.
__device__ float4 load_four(const float* x, int64_t j, int64_t cols) {
    if (j >= 0 && j + 4 <= cols && (size_t)(x + j) % sizeof(float4) == 0)
        return *(const float4*)(x + j);
    float v[4];
    for (int i = 0; i < 4; i++) v[i] = j + i >= 0 && j + i < cols ? x[j + i] : -INFINITY;
    float4 four = {v[0], v[1], v[2], v[3]};
    return four;
}

__device__ void store_four(float* y, int64_t j, int64_t cols, float4 four) {
    if (j >= 0 && j + 4 <= cols) {
        *(float4*)(y + j) = four;
        return;
    }
    const float v[4] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < 4; i++)
        if (j + i >= 0 && j + i < cols) y[j + i] = v[i];
}

__global__ void four_kernel(float* y, const float* x, int64_t cols, int64_t stride_y,
                            int64_t stride_x, bool kept) {
    extern __shared__ float4 row_smem[];
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    x += blockIdx.x * stride_x;
    y += blockIdx.x * stride_y;
    int64_t shift = (int64_t)((size_t)y / sizeof(float) % LINE);
    int64_t fours = CEIL_DIV(cols + shift, 4);

    float m = -INFINITY;
    for (int64_t q = threadIdx.x; q < fours; q += THREADS) {
        float4 v = load_four(x, 4 * q - shift, cols);
        if (kept) row_smem[q] = v;
        m = fmaxf(m, max_of_four(v));
    }
    for (int distance = 1; distance < 32; distance *= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, distance));
    if (threadIdx.x % 32 == 0) m_warp[threadIdx.x / 32] = m;
    __syncthreads();  // m_warp is written by every warp before any thread reads it
    for (int w = 0; w < WARPS; w++) m = fmaxf(m, m_warp[w]);
    if (m == -INFINITY) m = 0.0f;  // from which -inf can be subtracted

    float l = 0.0f;
    for (int64_t q = threadIdx.x; q < fours; q += THREADS) {
        float4 e = exp_of_four(kept ? row_smem[q] : load_four(x, 4 * q - shift, cols), m);
        if (kept) row_smem[q] = e;
        l += (e.x + e.y) + (e.z + e.w);
    }
    for (int distance = 1; distance < 32; distance *= 2)
        l += __shfl_xor_sync(0xffffffffu, l, distance);
    if (threadIdx.x % 32 == 0) l_warp[threadIdx.x / 32] = l;
    __syncthreads();  // l_warp is written by every warp before any thread reads it
    l = 0.0f;
    for (int w = 0; w < WARPS; w++) l += l_warp[w];

    float factor = 1.0f / fmaxf(l, 1e-30f);  // l is at least 1, or 0
    for (int64_t q = threadIdx.x; q < fours; q += THREADS) {
        float4 e = kept ? row_smem[q] : exp_of_four(load_four(x, 4 * q - shift, cols), m);
        float4 out = {e.x * factor, e.y * factor, e.z * factor, e.w * factor};
        store_four(y, 4 * q - shift, cols, out);
    }
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
    int64_t bytes = (cols + LINE + 3) / 4 * 16;
    bool kept = bytes <= most - 1024;
    if (!kept) bytes = 0;
    COURSE_TRY(
        cudaFuncSetAttribute(four_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    four_kernel<<<(unsigned)rows, THREADS, (size_t)bytes>>>(y_gpu, x_gpu, cols, stride_y, stride_x,
                                                            kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
