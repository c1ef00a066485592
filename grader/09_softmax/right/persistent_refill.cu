// A fixed grid whose blocks take row after row. The row lies in shared memory; each place in it is
// refilled by cp.async with a column of the next row as soon as this row's is stored, so that
// reading and writing go on together. Rows too wide for that are read where they are.

#include "softmax.h"

#include <math.h>

#include "ptx.h"

#define THREADS 1024
#define WARPS (THREADS / 32)
#define BLOCKS 6
#define LINE 32

// In every thread the maximum (or sum) over the block. One barrier; v_warp serves once a row.
__device__ float over_block(float v, bool largest, float* v_warp) {
    for (int twice = 0; twice < 2; twice++) {
        for (int distance = 16; distance > 0; distance /= 2) {
            float other = __shfl_xor_sync(0xffffffffu, v, distance);
            v = largest ? fmaxf(v, other) : v + other;
        }
        if (twice == 1) break;
        if (threadIdx.x % 32 == 0) v_warp[threadIdx.x / 32] = v;
        __syncthreads();  // every warp has written v_warp before any warp reads it
        v = v_warp[threadIdx.x % 32];
    }
    return v;
}

__global__ void refill_kernel(float* y, const float* x, int64_t rows, int64_t cols,
                              int64_t stride_y, int64_t stride_x, bool kept) {
    extern __shared__ float place[];  // (LINE + cols): column j lies at j + shift
    __shared__ float m_warp[WARPS], l_warp[WARPS];
    int64_t t = threadIdx.x;

    for (int64_t row = blockIdx.x; row < rows; row += BLOCKS) {
        const float* x_row = x + row * stride_x;
        float* y_row = y + row * stride_y;
        int64_t shift = (int64_t)((size_t)y_row / sizeof(float) % LINE);
        int64_t next_shift = (int64_t)((size_t)(y_row + BLOCKS * stride_y) / sizeof(float) % LINE);
        bool next = kept && row + BLOCKS < rows;
        if (kept && row == blockIdx.x)
            for (int64_t p = t; p < cols + shift; p += THREADS)
                if (p >= shift) cp_async4(&place[p], &x_row[p - shift]);
        cp_async_wait_all();  // a thread uses what it copied itself

        float m = -INFINITY;
        for (int64_t p = t; p < cols + shift; p += THREADS)
            if (p >= shift) m = fmaxf(m, kept ? place[p] : x_row[p - shift]);
        m = over_block(m, true, m_warp);
        float lowest = m == -INFINITY ? 0.0f : m;
        float l = 0.0f;
        for (int64_t p = t; p < cols + shift; p += THREADS)
            if (p >= shift) l += __expf((kept ? place[p] : x_row[p - shift]) - lowest);
        l = over_block(l, false, l_warp);

        int64_t most = cols + (shift > next_shift ? shift : next_shift);
        for (int64_t p = t; p < most; p += THREADS) {
            if (p >= shift && p < cols + shift) {
                float x_p = kept ? place[p] : x_row[p - shift];
                y_row[p - shift] = l > 0.0f ? __expf(x_p - lowest) / l : 0.0f;
            }
            if (next && p >= next_shift && p < cols + next_shift)
                cp_async4(&place[p], &x_row[BLOCKS * stride_x + p - next_shift]);
        }
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
    int64_t bytes = (cols + LINE) * (int64_t)sizeof(float);
    bool kept = bytes <= most - 1024;
    if (!kept) bytes = 0;
    COURSE_TRY(cudaFuncSetAttribute(refill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes));
    refill_kernel<<<BLOCKS, THREADS, (size_t)bytes>>>(y_gpu, x_gpu, rows, cols, stride_y, stride_x,
                                                      kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
