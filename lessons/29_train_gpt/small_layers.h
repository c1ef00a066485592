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
    LAYER_THREADS = 128,     // of a block
    LAYER_PIECE = 8,         // neighbours in a row that a lane takes at once: 16 bytes of bf16
    LAYER_CHUNK_ROWS = 128,  // whose columns a warp adds up
    LAYER_GROUP = 64,        // columns of a warp that adds up rows: a piece for each of 8 lanes
};

// An error of the launch is taken from cudaGetLastError(), which forgets it.
#define LAYER_LAUNCH(kernel, grid, block, ...)                            \
    do {                                                                  \
        void* arguments[] = {__VA_ARGS__};                                \
        (void)cudaLaunchKernel(kernel, (grid), (block), arguments, 0, 0); \
        COURSE_TRY(cudaGetLastError());                                   \
    } while (0)

// ---- pieces

static __device__ __forceinline__ void layer_load_bf16(float x[LAYER_PIECE], const bf16* from) {
    __align__(16) bf16 piece[LAYER_PIECE];
    *(uint4*)piece = *(const uint4*)from;
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) x[k] = __bfloat162float(piece[k]);
}

static __device__ __forceinline__ void layer_store_bf16(bf16* to, const float x[LAYER_PIECE]) {
    __align__(16) bf16 piece[LAYER_PIECE];
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) piece[k] = __float2bfloat16(x[k]);
    *(uint4*)to = *(const uint4*)piece;
}

static __device__ __forceinline__ void layer_load_float(float x[LAYER_PIECE], const float* from) {
    __align__(16) float piece[LAYER_PIECE];
    ((float4*)piece)[0] = ((const float4*)from)[0];
    ((float4*)piece)[1] = ((const float4*)from)[1];
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) x[k] = piece[k];
}

static __device__ __forceinline__ void layer_store_float(float* to, const float x[LAYER_PIECE]) {
    ((float4*)to)[0] = make_float4(x[0], x[1], x[2], x[3]);
    ((float4*)to)[1] = make_float4(x[4], x[5], x[6], x[7]);
}

// ---- element by element: a piece for each thread

static __global__ void layer_round_kernel(bf16* y, const float* x, int64_t n) {
    int64_t i = ((int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x) * LAYER_PIECE;
    if (i >= n) return;
    float piece[LAYER_PIECE];
    layer_load_float(piece, x + i);
    layer_store_bf16(y + i, piece);
}

static __global__ void layer_gelu_kernel(bf16* Y, const bf16* Z, int64_t n) {
    int64_t i = ((int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x) * LAYER_PIECE;
    if (i >= n) return;
    float z[LAYER_PIECE];
    layer_load_bf16(z, Z + i);
    // GELU(z) = z / 2 (1 + erf(z / sqrt(2)))
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) z[k] = 0.5f * z[k] * (1.0f + erff(0.707106781f * z[k]));
    layer_store_bf16(Y + i, z);
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
    for (int j = threadIdx.x % 32 * LAYER_PIECE; j < C; j += 32 * LAYER_PIECE) {
        float x[LAYER_PIECE], w[LAYER_PIECE], b[LAYER_PIECE];
        layer_load_float(x, X + row * C + j);
        layer_load_bf16(w, weight + j), layer_load_bf16(b, bias + j);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) x[k] = (x[k] - mean) * rstd * w[k] + b[k];
        layer_store_bf16(Y + row * C + j, x);
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
    float g[LAYER_PIECE], x[LAYER_PIECE], w[LAYER_PIECE];
    float sum = 0.0f, dot = 0.0f;
    for (int j = threadIdx.x % 32 * LAYER_PIECE; j < C; j += 32 * LAYER_PIECE) {
        layer_load_bf16(g, dY + row * C + j), layer_load_bf16(w, weight + j);
        layer_load_float(x, X + row * C + j);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) {
            sum += w[k] * g[k];
            dot += w[k] * g[k] * (x[k] - mean) * rstd;
        }
    }
    sum = layer_warp_sum(sum) / C;
    dot = layer_warp_sum(dot) / C;
    // The same again, from the cache.
    for (int j = threadIdx.x % 32 * LAYER_PIECE; j < C; j += 32 * LAYER_PIECE) {
        layer_load_bf16(g, dY + row * C + j), layer_load_bf16(w, weight + j);
        layer_load_float(x, X + row * C + j);
        float y[LAYER_PIECE] = {};
        if (around) layer_load_float(y, around + row * C + j);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++)
            y[k] += rstd * (w[k] * g[k] - sum - (x[k] - mean) * rstd * dot);
        layer_store_float(dX + row * C + j, y);
    }
}

// ---- sums of columns: chunks of rows beside each other, then the chunks

// x[k] becomes the sum over the four lanes that have the same columns of a group.
static __device__ __forceinline__ void layer_group_sum(float x[LAYER_PIECE]) {
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) {
        x[k] += __shfl_xor_sync(0xffffffff, x[k], 8);
        x[k] += __shfl_xor_sync(0xffffffff, x[k], 16);
    }
}

// A warp for each chunk of rows and group of columns; a lane has 8 columns of every fourth row.
//     sums[chunk][j] = sum_r dY[r][j]
// and if X is not NULL, behind all columns' sums: sum_r dY[r][j] x^[r][j], as
// the weight of a norm needs it.
static __global__ void layer_columns_kernel(float* sums,         // (chunks, cols or 2 cols)  out
                                            const bf16* dY,      // (rows, cols)
                                            const float* X,      // (rows, cols) or NULL
                                            const float* stats,  // (rows, 2)    or NULL
                                            int rows, int cols) {
    int lane = threadIdx.x % 32, warp = blockIdx.y * (LAYER_THREADS / 32) + threadIdx.x / 32;
    int j = warp * LAYER_GROUP + lane % 8 * LAYER_PIECE;
    int64_t first = (int64_t)blockIdx.x * LAYER_CHUNK_ROWS;
    int64_t end = first + LAYER_CHUNK_ROWS < rows ? first + LAYER_CHUNK_ROWS : rows;
    float sum[LAYER_PIECE] = {}, dot[LAYER_PIECE] = {};
#pragma unroll 4
    for (int64_t r = first + lane / 8; r < end && j < cols; r += 4) {
        float g[LAYER_PIECE], x[LAYER_PIECE];
        layer_load_bf16(g, dY + r * cols + j);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) sum[k] += g[k];
        if (!X) continue;
        layer_load_float(x, X + r * cols + j);
        float mean = stats[2 * r], rstd = stats[2 * r + 1];
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) dot[k] += g[k] * (x[k] - mean) * rstd;
    }
    layer_group_sum(sum);
    if (X) layer_group_sum(dot);
    if (lane >= 8 || j >= cols) return;
    float* to = sums + (int64_t)blockIdx.x * cols * (X ? 2 : 1) + j;
    layer_store_float(to, sum);
    if (X) layer_store_float(to + cols, dot);
}

// y[j] = sum over the chunks of sums[chunk][j], 0 <= j < cols; y2: of the cols columns behind them,
// if it is not NULL.
static __global__ void layer_chunks_kernel(bf16* y, bf16* y2, const float* sums, int chunks,
                                           int cols) {
    int j = blockIdx.x * LAYER_THREADS + threadIdx.x, all = y2 ? 2 * cols : cols;
    if (j >= all) return;
    float sum = 0.0f;
#pragma unroll 16
    for (int chunk = 0; chunk < chunks; chunk++) sum += sums[(int64_t)chunk * all + j];
    (j < cols ? y : y2 - cols)[j] = __float2bfloat16(sum);
}

// ---- launchers

// Blocks for n threads; for n elements in pieces; of a grid of chunks and groups.
static inline unsigned layer_blocks(int64_t n) {
    return (unsigned)CEIL_DIV(n, LAYER_THREADS);
}

static inline unsigned layer_piece_blocks(int64_t n) {
    return layer_blocks(CEIL_DIV(n, LAYER_PIECE));
}

static inline dim3 layer_chunk_blocks(int rows, int cols) {
    return dim3((unsigned)CEIL_DIV(rows, LAYER_CHUNK_ROWS),
                (unsigned)CEIL_DIV(cols, LAYER_GROUP * (LAYER_THREADS / 32)));
}

// Declared in layers.h: static and inline in a grade; in `make train` functions of the program.

int layer_round(bf16* y, const float* x, int64_t n) {
    LAYER_LAUNCH(layer_round_kernel, layer_piece_blocks(n), LAYER_THREADS, &y, &x, &n);
    return COURSE_OK;
}

int layer_gelu(bf16* Y, const bf16* Z, int64_t n) {
    if (Y == Z) return COURSE_BAD_ARGUMENT;
    LAYER_LAUNCH(layer_gelu_kernel, layer_piece_blocks(n), LAYER_THREADS, &Y, &Z, &n);
    return COURSE_OK;
}

int layer_norm(bf16* Y, const float* X, const float* stats, const bf16* weight, const bf16* bias,
               int rows, int C) {
    LAYER_LAUNCH(layer_norm_kernel, layer_blocks((int64_t)rows * 32), LAYER_THREADS, &Y, &X, &stats,
                 &weight, &bias, &rows, &C);
    return COURSE_OK;
}

int layer_norm_backward(float* dX, const float* around, bf16* dweight, bf16* dbias, const bf16* dY,
                        const float* X, const float* stats, const bf16* weight, int rows, int C,
                        void* workspace) {
    float* sums = (float*)workspace;
    int chunks = CEIL_DIV(rows, LAYER_CHUNK_ROWS);
    LAYER_LAUNCH(layer_columns_kernel, layer_chunk_blocks(rows, C), LAYER_THREADS, &sums, &dY, &X,
                 &stats, &rows, &C);
    LAYER_LAUNCH(layer_chunks_kernel, layer_blocks((int64_t)2 * C), LAYER_THREADS, &dbias, &dweight,
                 &sums, &chunks, &C);
    LAYER_LAUNCH(layer_norm_backward_kernel, layer_blocks((int64_t)rows * 32), LAYER_THREADS, &dX,
                 &around, &dY, &X, &stats, &weight, &rows, &C);
    return COURSE_OK;
}

int layer_bias_gradient(bf16* dbias, const bf16* dY, int rows, int outputs, void* workspace) {
    float* sums = (float*)workspace;
    const float *X = NULL, *stats = NULL;
    bf16* none = NULL;
    int chunks = CEIL_DIV(rows, LAYER_CHUNK_ROWS);
    LAYER_LAUNCH(layer_columns_kernel, layer_chunk_blocks(rows, outputs), LAYER_THREADS, &sums, &dY,
                 &X, &stats, &rows, &outputs);
    LAYER_LAUNCH(layer_chunks_kernel, layer_blocks(outputs), LAYER_THREADS, &dbias, &none, &sums,
                 &chunks, &outputs);
    return COURSE_OK;
}

#endif
