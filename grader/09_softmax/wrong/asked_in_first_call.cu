// cause: stale_state
// Shared memory above 48 KB is asked for once, for the rows of the first call that needs it.

#include "softmax.h"
#include <math.h>
#include <float.h>
#include <stdint.h>
#include <algorithm>
__device__ __forceinline__ float warp_max(float v) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}
template <bool MAX> __device__ float block_all(float v, float* s) {
    v = MAX ? warp_max(v) : warp_sum(v);
    __syncthreads();  // s may still be read
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    float w = threadIdx.x % 32 < blockDim.x / 32 ? s[threadIdx.x % 32] : (MAX ? -INFINITY : 0.0f);
    return MAX ? warp_max(w) : warp_sum(w);
}
// a warp a row, its scores in registers
template <int R>
__global__ void small(float* y, const float* x, int64_t rows, int cols, int64_t sy, int64_t sx) {
    int64_t row = (int64_t)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x % 32;
    const float* p = x + row * sx;
    float* q = y + row * sy;
    int first = lane - (int)((uintptr_t)q / 4 % 32);
    float e[R], m = -INFINITY, l = 0;
#pragma unroll
    for (int i = 0; i < R; i++) {
        int j = first + 32 * i;
        e[i] = j >= 0 && j < cols ? p[j] : -INFINITY;
        m = fmaxf(m, e[i]);
    }
    m = warp_max(m);
    if (m == -INFINITY) m = 0;
#pragma unroll
    for (int i = 0; i < R; i++) l += e[i] = expf(e[i] - m);
    l = warp_sum(l);
    float f = l > 0 ? 1 / l : 0;
#pragma unroll
    for (int i = 0; i < R; i++)
        if (first + 32 * i >= 0 && first + 32 * i < cols) q[first + 32 * i] = e[i] * f;
}
// a block a row, its scores in shared memory
__global__ void __launch_bounds__(512)
    kept(float* y, const float* x, int64_t rows, int cols, int64_t sy, int64_t sx) {
    extern __shared__ float e[];
    __shared__ float s[32];
    const float* p = x + blockIdx.x * sx;
    float* q = y + blockIdx.x * sy;
    int shift = (int)((uintptr_t)q / 4 % 32), first = (int)threadIdx.x - shift;
    if (first < 0) first += 512;
    float m = -INFINITY, l = 0;
    for (int j = first; j < cols; j += 512) m = fmaxf(m, e[j] = p[j]);
    m = block_all<true>(m, s);
    if (m == -INFINITY) m = 0;
    for (int j = first; j < cols; j += 512) l += e[j] = expf(e[j] - m);
    l = block_all<false>(l, s);
    float f = l > 0 ? 1 / l : 0;
    for (int j = first; j < cols; j += 512) q[j] = e[j] * f;
}
template <int R>
__global__ void __launch_bounds__(1024)
    held(float* y, const float* x, int64_t rows, int cols, int64_t sy, int64_t sx) {
    __shared__ float s[32];
    const float* p = x + blockIdx.x * sx;
    float* q = y + blockIdx.x * sy;
    int first = (int)threadIdx.x - (int)((uintptr_t)q / 4 % 32);
    float e[R], m = -INFINITY, l = 0;
#pragma unroll
    for (int i = 0; i < R; i++) {
        int j = first + i * 1024;
        e[i] = j >= 0 && j < cols ? p[j] : -INFINITY;
        m = fmaxf(m, e[i]);
    }
    m = block_all<true>(m, s);
    if (m == -INFINITY) m = 0;
#pragma unroll
    for (int i = 0; i < R; i++) l += e[i] = expf(e[i] - m);
    l = block_all<false>(l, s);
    float f = l > 0 ? 1 / l : 0;
#pragma unroll
    for (int i = 0; i < R; i++) {
        int j = first + i * 1024;
        if (j >= 0 && j < cols) q[j] = e[i] * f;
    }
}
// a block a row, read three times
__global__ void wide(float* y, const float* x, int64_t rows, int cols, int64_t sy, int64_t sx) {
    __shared__ float s[32];
    const float* p = x + blockIdx.x * sx;
    float* q = y + blockIdx.x * sy;
    float m = -INFINITY, l = 0;
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) m = fmaxf(m, p[j]);
    m = block_all<true>(m, s);
    if (m == -INFINITY) m = 0;
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) l += expf(p[j] - m);
    l = block_all<false>(l, s);
    float f = l > 0 ? 1 / l : 0;
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) q[j] = expf(p[j] - m) * f;
}
int softmax(float* y, const float* x, int64_t rows, int64_t cols, int64_t sy, int64_t sx) {
    if (rows < 0 || cols < 1 || sy < cols || sx < cols) return COURSE_BAD_ARGUMENT;
    if (rows == 0) return COURSE_OK;
    if (!y || !x) return COURSE_BAD_ARGUMENT;
    if (rows > INT32_MAX || cols > SOFTMAX_MAX_COLS) return COURSE_UNSUPPORTED;
    const int n = (int)cols;
    if (cols <= 1024) {
        unsigned blocks = (unsigned)CEIL_DIV(rows, 4);
        if (cols <= 128)
            small<5><<<blocks, 128>>>(y, x, rows, n, sy, sx);
        else if (cols <= 512)
            small<17><<<blocks, 128>>>(y, x, rows, n, sy, sx);
        else
            small<33><<<blocks, 128>>>(y, x, rows, n, sy, sx);
        COURSE_TRY(cudaGetLastError());
        return COURSE_OK;
    }
    const size_t bytes = (size_t)n * sizeof(float);
    if (bytes <= 96 * 1024) {
        static bool asked = false;
        if (bytes > 48 * 1024 - 256 && !asked) {
            COURSE_TRY(cudaFuncSetAttribute(kept, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)bytes));
            asked = true;
        }
        kept<<<(unsigned)rows, 512, bytes>>>(y, x, rows, n, sy, sx);
    } else if (cols + 31 <= 50 * 1024)
        held<50><<<(unsigned)rows, 1024>>>(y, x, rows, n, sy, sx);
    else
        wide<<<(unsigned)rows, 1024>>>(y, x, rows, n, sy, sx);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
