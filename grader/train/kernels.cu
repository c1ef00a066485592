// kernels.cu: the small kernels of `make train` that are no lesson's: embedding, and the norm of
// the forward pass with the sum before it. The others are lessons/29_train_gpt/small_layers.h.
#ifndef TRAIN_GPT_PROGRAM
#error "grader/make/train.sh compiles this file, with -DTRAIN_GPT_PROGRAM"
#endif
#include "train/forward.h"

#include "small_layers.h"

enum { MOST_C = 1024 };  // channels, a multiple of 32

// ---- GPU kernels

static __global__ void embed_kernel(float* X, const int64_t* tokens, const bf16* E, const bf16* P,
                                    int64_t n, int N, int C) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x, row = e / C, j = e % C;
    if (e >= n) return;
    X[e] = __bfloat162float(E[tokens[row] * C + j]) + __bfloat162float(P[row % N * C + j]);
}

// A warp for each token of the vocabulary: it looks for the token's rows, in their order.
static __global__ void embed_tokens_kernel(bf16* dE, const float* dX, const int64_t* tokens,
                                           int rows, int C, int V) {
    int token = blockIdx.x * (LAYER_THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (token >= V) return;  // whole warps leave
    float sum[MOST_C / 32] = {};
    bool any = false;
    for (int row = 0; row < rows; row += 32) {
        bool mine = row + lane < rows && tokens[row + lane] == token;
        for (unsigned found = __ballot_sync(0xffffffff, mine); found; found &= found - 1) {
            const float* from = dX + (int64_t)(row + __ffs(found) - 1) * C;
            any = true;
#pragma unroll
            for (int k = 0; k < MOST_C / 32; k++)
                if (k * 32 + lane < C) sum[k] += from[k * 32 + lane];
        }
    }
    if (!any) return;
#pragma unroll
    for (int k = 0; k < MOST_C / 32; k++) {
        int64_t at = (int64_t)token * C + k * 32 + lane;
        if (k * 32 + lane < C) dE[at] = __float2bfloat16(__bfloat162float(dE[at]) + sum[k]);
    }
}

static __global__ void embed_places_kernel(bf16* dP, const float* dX, int rows, int N, int C) {
    int64_t e = (int64_t)blockIdx.x * LAYER_THREADS + threadIdx.x;
    if (e >= (int64_t)N * C) return;
    float sum = 0.0f;
    for (int64_t r = e / C; r < rows; r += N) sum += dX[r * C + e % C];
    dP[e] = __float2bfloat16(sum);
}

// A warp for each row.
static __global__ void add_norm_kernel(float* X_out, float* stats, bf16* norm, const float* X,
                                       const bf16* Y, const bf16* bias, const bf16* weight,
                                       const bf16* shift, int rows, int C) {
    int64_t row = (int64_t)blockIdx.x * (LAYER_THREADS / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;  // whole warps leave
    // mean, then the mean of (x - mean)^2: two passes, the second one from the cache
    float sum = 0.0f, squares = 0.0f;
    for (int j = lane; j < C; j += 32) {
        float x = X[row * C + j];
        if (Y) {
            x += __bfloat162float(Y[row * C + j]) + __bfloat162float(bias[j]);
            X_out[row * C + j] = x;
        }
        sum += x;
    }
    const float* from = Y ? X_out : X;  // this lane's own stores
    float mean = layer_warp_sum(sum) / C;
    for (int j = lane; j < C; j += 32) {
        float x = from[row * C + j] - mean;
        squares += x * x;
    }
    float rstd = rsqrtf(layer_warp_sum(squares) / C + 1e-5f);
    if (lane == 0) stats[2 * row] = mean, stats[2 * row + 1] = rstd;
    for (int j = lane; j < C; j += 32) {
        float x = (from[row * C + j] - mean) * rstd;
        norm[row * C + j] =
            __float2bfloat16(x * __bfloat162float(weight[j]) + __bfloat162float(shift[j]));
    }
}

// ---- launchers

extern "C" int train_embed(float* X, const int64_t* tokens, const bf16* E, const bf16* P, int rows,
                           int N, int C) {
    int64_t n = (int64_t)rows * C;
    embed_kernel<<<layer_blocks(n), LAYER_THREADS>>>(X, tokens, E, P, n, N, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int train_embed_backward(bf16* dE, bf16* dP, const float* dX, const int64_t* tokens,
                                    int rows, int N, int C, int V) {
    if (C > MOST_C) return COURSE_UNSUPPORTED;
    embed_tokens_kernel<<<CEIL_DIV(V, LAYER_THREADS / 32), LAYER_THREADS>>>(dE, dX, tokens, rows, C,
                                                                            V);
    COURSE_TRY(cudaGetLastError());
    embed_places_kernel<<<layer_blocks((int64_t)N * C), LAYER_THREADS>>>(dP, dX, rows, N, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int train_add_norm(float* X_out, float* stats, bf16* norm, const float* X, const bf16* Y,
                              const bf16* bias, const bf16* weight, const bf16* shift, int rows,
                              int C) {
    add_norm_kernel<<<layer_blocks((int64_t)rows * 32), LAYER_THREADS>>>(
        X_out, stats, norm, X, Y, bias, weight, shift, rows, C);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
