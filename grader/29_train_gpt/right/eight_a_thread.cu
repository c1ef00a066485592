// train_gpt.cu, another way: AdamW with eight parameters a thread, the last n % 8 in a launch of
// their own.
#include "train_gpt.h"

#include <cuda_bf16.h>
#include <math.h>

#include "layers.h"

enum {
    THREADS = 128,  // of a block of AdamW
    PIECE = 8,      // parameters of a thread: two loads of 16 bytes of float, one of bf16
};

// Leaves the launcher with the status of a layer that is not COURSE_OK.
#define TRY(call)                               \
    do {                                        \
        int status = (call);                    \
        if (status != COURSE_OK) return status; \
    } while (0)

// ---- the backward pass of a block

static bool has_null(const struct train_gpt_block* b) {
    return !b->W_qkv || !b->W_proj || !b->W_fc || !b->W_out || !b->b_qkv || !b->b_proj ||
           !b->b_fc || !b->b_out || !b->norm1 || !b->norm1_bias || !b->norm2 || !b->norm2_bias;
}

static bool lacks(const struct train_gpt_kept* k) {
    return !k->X || !k->stats1 || !k->QKV || !k->O || !k->LSE || !k->X_mid || !k->stats2 || !k->Z;
}

// The second half of the block, which is the first half of the way back. narrow: (rows, C), wide
// and wide2: (rows, 4 C), room for whatever is on its way; layers: what the layers ask for.
static int backward_mlp(float* dX_gpu, const struct train_gpt_block& dW,
                        const struct train_gpt_block& W, const struct train_gpt_kept& kept,
                        int rows, int C, bf16* narrow, bf16* wide, bf16* wide2, void* layers) {
    // forward was: Y = X' + GELU(Z) W_out^T + b_out,  Z = norm(X') W_fc^T + b_fc
    // so now: dX' = dY + what comes back through W_out, GELU, W_fc and norm2   (README eq. 4, 5)
    TRY(layer_round(narrow, dX_gpu, (int64_t)rows * C));
    TRY(layer_gelu(wide, kept.Z, (int64_t)rows * 4 * C));
    TRY(layer_weight_gradient(dW.W_out, narrow, wide, rows, C, 4 * C, layers));
    TRY(layer_bias_gradient(dW.b_out, narrow, rows, C, layers));
    TRY(layer_input_gradient(wide, narrow, W.W_out, rows, C, 4 * C));  // GELU(Z) is done with
    TRY(layer_gelu_backward(wide2, wide, kept.Z, rows, 4 * C));
    TRY(layer_norm(narrow, kept.X_mid, kept.stats2, W.norm2, W.norm2_bias, rows, C));
    TRY(layer_weight_gradient(dW.W_fc, wide2, narrow, rows, 4 * C, C, layers));
    TRY(layer_bias_gradient(dW.b_fc, wide2, rows, 4 * C, layers));
    TRY(layer_input_gradient(narrow, wide2, W.W_fc, rows, 4 * C, C));
    TRY(layer_norm_backward(dX_gpu, dX_gpu, dW.norm2, dW.norm2_bias, narrow, kept.X_mid,
                            kept.stats2, W.norm2, rows, C, layers));
    return COURSE_OK;
}

static int backward_attention(float* dX_gpu, const struct train_gpt_block& dW,
                              const struct train_gpt_block& W, const struct train_gpt_kept& kept,
                              int B, int N, int C, int H, int rows, bf16* narrow, bf16* wide,
                              bf16* wide2, void* layers) {
    // forward was: X' = X + attention(norm(X) W_qkv^T + b_qkv) W_proj^T + b_proj
    // so now: dX = dX' + what comes back through W_proj, attention, W_qkv and norm1   (eq. 6, 7)
    TRY(layer_round(narrow, dX_gpu, (int64_t)rows * C));
    TRY(layer_weight_gradient(dW.W_proj, narrow, kept.O, rows, C, C, layers));
    TRY(layer_bias_gradient(dW.b_proj, narrow, rows, C, layers));
    TRY(layer_input_gradient(wide, narrow, W.W_proj, rows, C, C));
    TRY(layer_attention_backward(wide2, kept.QKV, kept.O, kept.LSE, wide, B, N, C, H, layers));
    TRY(layer_norm(narrow, kept.X, kept.stats1, W.norm1, W.norm1_bias, rows, C));
    TRY(layer_weight_gradient(dW.W_qkv, wide2, narrow, rows, 3 * C, C, layers));
    TRY(layer_bias_gradient(dW.b_qkv, wide2, rows, 3 * C, layers));
    TRY(layer_input_gradient(narrow, wide2, W.W_qkv, rows, 3 * C, C));
    TRY(layer_norm_backward(dX_gpu, dX_gpu, dW.norm1, dW.norm1_bias, narrow, kept.X, kept.stats1,
                            W.norm1, rows, C, layers));
    return COURSE_OK;
}

extern "C" int train_gpt_block(float* dX_gpu, struct train_gpt_block dW, struct train_gpt_block W,
                               struct train_gpt_kept kept, int B, int N, int C, int H,
                               void* workspace_gpu) {
    if (B < 0 || N < 0 || C <= 0 || H <= 0 || C % H) return COURSE_BAD_ARGUMENT;
    if (C % 8 || C / H % 8 || (int64_t)B * N > TRAIN_GPT_MAX_ROWS) return COURSE_UNSUPPORTED;
    if (B == 0 || N == 0) return COURSE_OK;
    if (!dX_gpu || has_null(&dW) || has_null(&W) || lacks(&kept) || !workspace_gpu)
        return COURSE_BAD_ARGUMENT;
    int rows = B * N;
    bf16* narrow = (bf16*)workspace_gpu;
    bf16* wide = narrow + (size_t)rows * C;
    bf16* wide2 = wide + (size_t)rows * 4 * C;
    void* layers = wide2 + (size_t)rows * 4 * C;
    TRY(backward_mlp(dX_gpu, dW, W, kept, rows, C, narrow, wide, wide2, layers));
    return backward_attention(dX_gpu, dW, W, kept, B, N, C, H, rows, narrow, wide, wide2, layers);
}

// ---- AdamW

// What is the same for all parameters of a step.
struct adamw {
    float lr, beta1, beta2, eps, decay;
    float correct1, correct2;  // 1 / (1 - beta^step)
};

// One parameter.                                                         (README eq. 8, 9)
__device__ __forceinline__ void update(float* w, float* m, float* v, float g, float decay,
                                       const struct adamw& a) {
    *m = a.beta1 * *m + (1.0f - a.beta1) * g;
    *v = a.beta2 * *v + (1.0f - a.beta2) * g * g;
    *w -= a.lr * (*m * a.correct1 / (sqrtf(*v * a.correct2) + a.eps) + decay * *w);
}

__global__ void __launch_bounds__(THREADS)
    adamw_kernel(float* __restrict__ w, float* __restrict__ m, float* __restrict__ v,
                 bf16* __restrict__ w_bf16, const bf16* __restrict__ g, int64_t n,
                 int64_t n_decayed, struct adamw a) {
    const int64_t first = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * PIECE;
    if (first + PIECE <= n) {
        __align__(16) float w8[PIECE], m8[PIECE], v8[PIECE];
        __align__(16) bf16 g8[PIECE], out[PIECE];
#pragma unroll
        for (int k = 0; k < PIECE; k += 4) {
            *(float4*)&w8[k] = *(const float4*)&w[first + k];
            *(float4*)&m8[k] = *(const float4*)&m[first + k];
            *(float4*)&v8[k] = *(const float4*)&v[first + k];
        }
        *(uint4*)g8 = *(const uint4*)&g[first];
#pragma unroll
        for (int k = 0; k < PIECE; k++) {
            update(&w8[k], &m8[k], &v8[k], __bfloat162float(g8[k]),
                   first + k < n_decayed ? a.decay : 0.0f, a);
            out[k] = __float2bfloat16(w8[k]);
        }
#pragma unroll
        for (int k = 0; k < PIECE; k += 4) {
            *(float4*)&w[first + k] = *(const float4*)&w8[k];
            *(float4*)&m[first + k] = *(const float4*)&m8[k];
            *(float4*)&v[first + k] = *(const float4*)&v8[k];
        }
        *(uint4*)&w_bf16[first] = *(const uint4*)out;
    }
}

__global__ void adamw_tail_kernel(float* w, float* m, float* v, bf16* w_bf16, const bf16* g,
                                  int64_t first, int64_t n, int64_t n_decayed, struct adamw a) {
    int64_t i = first + threadIdx.x;
    if (i >= n) return;
    update(&w[i], &m[i], &v[i], __bfloat162float(g[i]), i < n_decayed ? a.decay : 0.0f, a);
    w_bf16[i] = __float2bfloat16(w[i]);
}

extern "C" int train_gpt_adamw(float* w_gpu, float* m_gpu, float* v_gpu, bf16* w_bf16_gpu,
                               const bf16* g_gpu, int64_t n, int64_t n_decayed, float lr,
                               float beta1, float beta2, float eps, float decay, int64_t step) {
    if (n < 0 || n_decayed < 0 || n_decayed > n || step < 1) return COURSE_BAD_ARGUMENT;
    if (!(beta1 >= 0.0f && beta1 < 1.0f) || !(beta2 >= 0.0f && beta2 < 1.0f) || !(eps > 0.0f) ||
        isnan(lr) || isnan(decay))
        return COURSE_BAD_ARGUMENT;
    if (n == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (!w_gpu || !m_gpu || !v_gpu || !w_bf16_gpu || !g_gpu) return COURSE_BAD_ARGUMENT;

    struct adamw a = {lr, beta1, beta2, eps, decay, 1.0f, 1.0f};
    // m^ = m / (1 - beta1^step),   v^ = v / (1 - beta2^step)                  (README eq. 8)
    a.correct1 = (float)(1.0 / (1.0 - pow((double)beta1, (double)step)));
    a.correct2 = (float)(1.0 / (1.0 - pow((double)beta2, (double)step)));
    int64_t whole = n / PIECE * PIECE;
    if (whole > 0) {
        adamw_kernel<<<(unsigned)CEIL_DIV(whole, THREADS * PIECE), THREADS>>>(
            w_gpu, m_gpu, v_gpu, w_bf16_gpu, g_gpu, whole, n_decayed, a);
        COURSE_TRY(cudaGetLastError());
    }
    if (whole < n)
        adamw_tail_kernel<<<1, 32>>>(w_gpu, m_gpu, v_gpu, w_bf16_gpu, g_gpu, whole, n, n_decayed,
                                     a);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
