// small_layers.h: the layers of layers.h that are no lesson's: norm, GELU, rounding, sums of
// columns. They move bytes and hardly compute. The same kernels run in a grade and in `make train`.
//
// A launch here is a call of cudaLaunchKernel(), which is what <<< >>> becomes: the CPU device
// rewrites a .cu file alone.
#ifndef TRAIN_GPT_SMALL_LAYERS_H
#define TRAIN_GPT_SMALL_LAYERS_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "layers.h"

enum {
    LAYER_THREADS = 128,  // of a block
    LAYER_CHUNKS = 64,    // parts of the rows whose columns are summed beside each other
};

// An error of the launch is taken from cudaGetLastError(), which forgets it.
#define LAYER_LAUNCH(kernel, grid, block, ...)                            \
    do {                                                                  \
        void* arguments[] = {__VA_ARGS__};                                \
        (void)cudaLaunchKernel(kernel, (grid), (block), arguments, 0, 0); \
        COURSE_TRY(cudaGetLastError());                                   \
    } while (0)

// ---- element by element

static __global__ void layer_round_kernel(bf16* y, const float* x, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (i < n) y[i] = __float2bfloat16(x[i]);
}

static __global__ void layer_gelu_kernel(bf16* Y, const bf16* Z, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (i >= n) return;
    // GELU(z) = z / 2 (1 + erf(z / sqrt(2)))
    float z = __bfloat162float(Z[i]);
    Y[i] = __float2bfloat16(0.5f * z * (1.0f + erff(0.707106781f * z)));
}

// ---- norm: a warp for each row

static __device__ __forceinline__ float layer_warp_sum(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

static __global__ void layer_norm_kernel(bf16* Y,             // (rows, C)  out
                                         const float* X,      // (rows, C)
                                         const float* stats,  // (rows, 2)
                                         const bf16* weight, const bf16* bias, int rows, int C) {
    int64_t row = (int64_t)blockIdx.x * (LAYER_THREADS / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float mean = stats[2 * row], rstd = stats[2 * row + 1];
    for (int j = threadIdx.x % 32; j < C; j += 32) {
        float x = (X[row * C + j] - mean) * rstd;
        Y[row * C + j] =
            __float2bfloat16(x * __bfloat162float(weight[j]) + __bfloat162float(bias[j]));
    }
}

static __global__ void layer_norm_backward_kernel(float* dX,            // (rows, C)  out
                                                  const float* around,  // (rows, C)  or NULL
                                                  const bf16* dY,       // (rows, C)
                                                  const float* X,       // (rows, C)
                                                  const float* stats,   // (rows, 2)
                                                  const bf16* weight, int rows, int C) {
    int64_t row = (int64_t)blockIdx.x * (LAYER_THREADS / 32) + threadIdx.x / 32;
    if (row >= rows) return;  // whole warps leave
    float mean = stats[2 * row], rstd = stats[2 * row + 1];
    // x^ = (x - mean) rstd, g = weight dY
    // dX[j] = rstd (g[j] - mean_k g[k] - x^[j] mean_k g[k] x^[k])
    float sum = 0.0f, dot = 0.0f;
    for (int j = threadIdx.x % 32; j < C; j += 32) {
        float g = __bfloat162float(weight[j]) * __bfloat162float(dY[row * C + j]);
        sum += g;
        dot += g * (X[row * C + j] - mean) * rstd;
    }
    sum = layer_warp_sum(sum) / C;
    dot = layer_warp_sum(dot) / C;
    for (int j = threadIdx.x % 32; j < C; j += 32) {
        float g = __bfloat162float(weight[j]) * __bfloat162float(dY[row * C + j]);
        float x = (X[row * C + j] - mean) * rstd;
        dX[row * C + j] = (around ? around[row * C + j] : 0.0f) + rstd * (g - sum - x * dot);
    }
}

// ---- sums of columns: chunks of rows beside each other, then their sums

// Chunk blockIdx.y of the rows: sums[chunk][j] = sum_r dY[r][j].
static __global__ void layer_columns_kernel(float* sums,     // (LAYER_CHUNKS, cols)  out
                                            const bf16* dY,  // (rows, cols)
                                            int rows, int cols) {
    int j = blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (j >= cols) return;
    int64_t first = (int64_t)rows * blockIdx.y / LAYER_CHUNKS;
    int64_t end = (int64_t)rows * (blockIdx.y + 1) / LAYER_CHUNKS;
    float sum = 0.0f;
    for (int64_t r = first; r < end; r++) sum += __bfloat162float(dY[r * cols + j]);
    sums[(int64_t)blockIdx.y * cols + j] = sum;
}

// The same of dY and of dY x^, side by side: the gradients by a norm's bias and weight.
static __global__ void layer_norm_columns_kernel(float* sums,         // (LAYER_CHUNKS, 2 C)  out
                                                 const bf16* dY,      // (rows, C)
                                                 const float* X,      // (rows, C)
                                                 const float* stats,  // (rows, 2)
                                                 int rows, int C) {
    int j = blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (j >= C) return;
    int64_t first = (int64_t)rows * blockIdx.y / LAYER_CHUNKS;
    int64_t end = (int64_t)rows * (blockIdx.y + 1) / LAYER_CHUNKS;
    float of_bias = 0.0f, of_weight = 0.0f;
    for (int64_t r = first; r < end; r++) {
        float g = __bfloat162float(dY[r * C + j]);
        of_bias += g;
        of_weight += g * (X[r * C + j] - stats[2 * r]) * stats[2 * r + 1];
    }
    sums[(int64_t)blockIdx.y * 2 * C + j] = of_bias;
    sums[(int64_t)blockIdx.y * 2 * C + C + j] = of_weight;
}

// y[j] = sum over the chunks of sums[chunk][first + j], 0 <= j < count.
static __global__ void layer_chunks_kernel(bf16* y, const float* sums, int cols, int first,
                                           int count) {
    int j = blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (j >= count) return;
    float sum = 0.0f;
    for (int chunk = 0; chunk < LAYER_CHUNKS; chunk++)
        sum += sums[(int64_t)chunk * cols + first + j];
    y[j] = __float2bfloat16(sum);
}

// ---- launchers

static inline unsigned layer_blocks(int64_t n) {
    return (unsigned)CEIL_DIV(n, LAYER_THREADS);
}

TRAIN_GPT_LAYER layer_round(bf16* y, const float* x, int64_t n) {
    LAYER_LAUNCH(layer_round_kernel, layer_blocks(n), LAYER_THREADS, &y, &x, &n);
    return COURSE_OK;
}

TRAIN_GPT_LAYER layer_gelu(bf16* Y, const bf16* Z, int64_t n) {
    LAYER_LAUNCH(layer_gelu_kernel, layer_blocks(n), LAYER_THREADS, &Y, &Z, &n);
    return COURSE_OK;
}

TRAIN_GPT_LAYER layer_norm(bf16* Y, const float* X, const float* stats, const bf16* weight,
                           const bf16* bias, int rows, int C) {
    LAYER_LAUNCH(layer_norm_kernel, layer_blocks((int64_t)rows * 32), LAYER_THREADS, &Y, &X, &stats,
                 &weight, &bias, &rows, &C);
    return COURSE_OK;
}

TRAIN_GPT_LAYER layer_norm_backward(float* dX, const float* around, bf16* dweight, bf16* dbias,
                                    const bf16* dY, const float* X, const float* stats,
                                    const bf16* weight, int rows, int C, void* workspace) {
    float* sums = (float*)workspace;
    int cols = 2 * C, first = 0, second = C;
    LAYER_LAUNCH(layer_norm_backward_kernel, layer_blocks((int64_t)rows * 32), LAYER_THREADS, &dX,
                 &around, &dY, &X, &stats, &weight, &rows, &C);
    LAYER_LAUNCH(layer_norm_columns_kernel, dim3(layer_blocks(C), LAYER_CHUNKS), LAYER_THREADS,
                 &sums, &dY, &X, &stats, &rows, &C);
    LAYER_LAUNCH(layer_chunks_kernel, layer_blocks(C), LAYER_THREADS, &dbias, &sums, &cols, &first,
                 &C);
    LAYER_LAUNCH(layer_chunks_kernel, layer_blocks(C), LAYER_THREADS, &dweight, &sums, &cols,
                 &second, &C);
    return COURSE_OK;
}

TRAIN_GPT_LAYER layer_bias_gradient(bf16* dbias, const bf16* dY, int rows, int outputs,
                                    void* workspace) {
    float* sums = (float*)workspace;
    int first = 0;
    LAYER_LAUNCH(layer_columns_kernel, dim3(layer_blocks(outputs), LAYER_CHUNKS), LAYER_THREADS,
                 &sums, &dY, &rows, &outputs);
    LAYER_LAUNCH(layer_chunks_kernel, layer_blocks(outputs), LAYER_THREADS, &dbias, &sums, &outputs,
                 &first, &outputs);
    return COURSE_OK;
}

#endif
