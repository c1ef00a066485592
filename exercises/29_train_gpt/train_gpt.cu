// train_gpt.cu: the gradients of one block of a language model, and the step that uses them.
//
//     QKV = norm(X) W_qkv^T + b_qkv,   O = attention(Q, K, V),   X' = X + O W_proj^T + b_proj
//     Z = norm(X') W_fc^T + b_fc,                                Y = X' + GELU(Z) W_out^T + b_out
//
// The backward pass walks through these lines from the end. Each layer takes the gradient by its
// output, and gives those by its input and its parameters; where the forward pass had a sum of two
// paths, both get the gradient, and where X went two ways, two gradients are added. What the
// forward pass did not keep, the outputs of the norms and of GELU, is computed again.
//
//     make grade LESSON=29        make train FROM=exercises
//
// AdamW: Loshchilov and Hutter 2019. Equation numbers are those of the README.
#include "train_gpt.h"

#include <cuda_bf16.h>
#include <math.h>

#include "layers.h"

enum {
    THREADS = 256,  // of a block of AdamW
    QUAD = 4,       // parameters of a thread: 16 bytes of float
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
    // your code goes here (about 11 lines): W_out, GELU, W_fc; norm2 adds to dX
    return COURSE_OK;
}

static int backward_attention(float* dX_gpu, const struct train_gpt_block& dW,
                              const struct train_gpt_block& W, const struct train_gpt_kept& kept,
                              int B, int N, int C, int H, int rows, bf16* narrow, bf16* wide,
                              bf16* wide2, void* layers) {
    // forward was: X' = X + attention(norm(X) W_qkv^T + b_qkv) W_proj^T + b_proj
    // so now: dX = dX' + what comes back through W_proj, attention, W_qkv and norm1   (eq. 6, 7)
    // your code goes here (about 11 lines): the same from W_proj to norm1
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
    // your code goes here (about 3 lines): m, v, then w from the corrected ones
}

__global__ void __launch_bounds__(THREADS)
    adamw_kernel(float* __restrict__ w, float* __restrict__ m, float* __restrict__ v,
                 bf16* __restrict__ w_bf16, const bf16* __restrict__ g, int64_t n,
                 int64_t n_decayed, struct adamw a) {
    // your code goes here (about 24 lines): four neighbours a thread, in pieces of 16 and 8 bytes
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
    // your code goes here (about 2 lines): correct1 and correct2, of a step that counts from 1
    adamw_kernel<<<(unsigned)CEIL_DIV(n, THREADS * QUAD), THREADS>>>(
        w_gpu, m_gpu, v_gpu, w_bf16_gpu, g_gpu, n, n_decayed, a);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
