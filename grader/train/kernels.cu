// kernels.cu: the small kernels of `make train` that are no lesson's: embedding, and the norm of
// the forward pass with the sum before it. The others are lessons/29_train_gpt/small_layers.h.
#ifndef TRAIN_GPT_PROGRAM
#error "grader/make/train.sh compiles this file, with -DTRAIN_GPT_PROGRAM"
#endif
#include "train/forward.h"

#include "small_layers.h"

enum {
    MOST_C = 1024,  // channels
    MOST_PIECES = MOST_C / LAYER_PIECE / 32,
    TOKEN_WARPS = 8,  // that add up the rows of a token
};

// ---- GPU kernels

static __global__ void embed_kernel(float* X, const int64_t* tokens, const bf16* E, const bf16* P,
                                    int64_t n, int N, int C) {
    int64_t e = ((int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x) * LAYER_PIECE, row = e / C;
    if (e >= n) return;
    float x[LAYER_PIECE], p[LAYER_PIECE];
    layer_load_bf16(x, E + tokens[row] * C + e % C);
    layer_load_bf16(p, P + row % N * C + e % C);
#pragma unroll
    for (int k = 0; k < LAYER_PIECE; k++) x[k] += p[k];
    layer_store_float(X + e, x);
}

// A block for each token that occurs and each group of columns: its warps share the token's rows,
// always in the same way.
//     dE[token][j] += sum_r dX[r][j], r one of the token's rows
static __global__ void __launch_bounds__(TOKEN_WARPS * 32)
    embed_tokens_kernel(bf16* dE, const float* dX, const int64_t* tokens, const int* order,
                        const int* first, int C) {
    __shared__ float s_sum[TOKEN_WARPS][LAYER_GROUP];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int begin = first[blockIdx.x], end = first[blockIdx.x + 1];
    int col0 = blockIdx.y * LAYER_GROUP, piece = lane % 8 * LAYER_PIECE;
    float sum[LAYER_PIECE] = {};
#pragma unroll 4
    for (int i = begin + warp * 4 + lane / 8; i < end && col0 + piece < C; i += TOKEN_WARPS * 4) {
        float x[LAYER_PIECE];
        layer_load_float(x, dX + (int64_t)order[i] * C + col0 + piece);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) sum[k] += x[k];
    }
    layer_group_sum(sum);
    if (lane < 8)
        for (int k = 0; k < LAYER_PIECE; k++) s_sum[warp][piece + k] = sum[k];
    __syncthreads();  // the warps' sums are written -> read below
    int j = col0 + threadIdx.x;
    if (threadIdx.x >= LAYER_GROUP || j >= C) return;
    bf16* to = dE + tokens[order[begin]] * C + j;
    float all = __bfloat162float(*to);
    for (int w = 0; w < TOKEN_WARPS; w++) all += s_sum[w][threadIdx.x];
    *to = __float2bfloat16(all);
}

static __global__ void embed_places_kernel(bf16* dP, const float* dX, int rows, int N, int C) {
    int64_t e = ((int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x) * LAYER_PIECE;
    if (e >= (int64_t)N * C) return;
    float sum[LAYER_PIECE] = {};
#pragma unroll 4
    for (int64_t r = e / C; r < rows; r += N) {
        float x[LAYER_PIECE];
        layer_load_float(x, dX + r * C + e % C);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) sum[k] += x[k];
    }
    layer_store_bf16(dP + e, sum);
}

// A warp for each row, which stays in its registers.
static __global__ void add_norm_kernel(float* X_out, float* stats, bf16* norm, const float* X,
                                       const bf16* Y, const bf16* bias, const bf16* weight,
                                       const bf16* shift, int rows, int C) {
    int64_t row = (int64_t)blockIdx.x * (LAYER_THREADS / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;  // whole warps leave
    float x[MOST_PIECES][LAYER_PIECE], y[LAYER_PIECE], b[LAYER_PIECE];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < MOST_PIECES; i++) {
        int j = (i * 32 + lane) * LAYER_PIECE;
        if (j >= C) continue;
        layer_load_float(x[i], X + row * C + j);
        if (Y) {
            layer_load_bf16(y, Y + row * C + j), layer_load_bf16(b, bias + j);
#pragma unroll
            for (int k = 0; k < LAYER_PIECE; k++) x[i][k] += y[k] + b[k];
            layer_store_float(X_out + row * C + j, x[i]);
        }
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) sum += x[i][k];
    }
    // the mean, then the mean of (x - mean)^2
    float mean = layer_warp_sum(sum) / C;
#pragma unroll
    for (int i = 0; i < MOST_PIECES; i++)
        if ((i * 32 + lane) * LAYER_PIECE < C)
#pragma unroll
            for (int k = 0; k < LAYER_PIECE; k++) squares += (x[i][k] - mean) * (x[i][k] - mean);
    float rstd = rsqrtf(layer_warp_sum(squares) / C + 1e-5f);
    if (lane == 0) stats[2 * row] = mean, stats[2 * row + 1] = rstd;
#pragma unroll
    for (int i = 0; i < MOST_PIECES; i++) {
        int j = (i * 32 + lane) * LAYER_PIECE;
        if (j >= C) continue;
        layer_load_bf16(y, weight + j), layer_load_bf16(b, shift + j);
#pragma unroll
        for (int k = 0; k < LAYER_PIECE; k++) x[i][k] = (x[i][k] - mean) * rstd * y[k] + b[k];
        layer_store_bf16(norm + row * C + j, x[i]);
    }
}

// ---- launchers

extern "C" int train_embed(float* X, const int64_t* tokens, const bf16* E, const bf16* P, int rows,
                           int N, int C) {
    int64_t n = (int64_t)rows * C;
    embed_kernel<<<layer_piece_blocks(n), LAYER_THREADS>>>(X, tokens, E, P, n, N, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int train_embed_backward(bf16* dE, bf16* dP, const float* dX, const int64_t* tokens,
                                    const int* order, const int* first, int used, int rows, int N,
                                    int C) {
    dim3 grid((unsigned)used, (unsigned)CEIL_DIV(C, LAYER_GROUP));
    embed_tokens_kernel<<<grid, TOKEN_WARPS * 32>>>(dE, dX, tokens, order, first, C);
    COURSE_TRY(cudaGetLastError());
    embed_places_kernel<<<layer_piece_blocks((int64_t)N * C), LAYER_THREADS>>>(dP, dX, rows, N, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int train_add_norm(float* X_out, float* stats, bf16* norm, const float* X, const bf16* Y,
                              const bf16* bias, const bf16* weight, const bf16* shift, int rows,
                              int C) {
    if (C > MOST_C) return COURSE_UNSUPPORTED;
    add_norm_kernel<<<layer_blocks((int64_t)rows * 32), LAYER_THREADS>>>(
        X_out, stats, norm, X, Y, bias, weight, shift, rows, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
