// train_gpt.h: the contract of lesson 29: the backward pass of one block of a language model, and
// AdamW.
//
// A block takes X, (rows, C) in float, one row for each of the rows = B N tokens, and returns Y:
//
//     QKV = norm(X; norm1) W_qkv^T + b_qkv                                  (README eq. 1)
//     O   = attention(Q, K, V), causal, with H heads of d = C / H
//     X'  = X + O W_proj^T + b_proj                                         (README eq. 2)
//     Z   = norm(X'; norm2) W_fc^T + b_fc
//     Y   = X' + GELU(Z) W_out^T + b_out                                    (README eq. 3)
//
// Most of the work is in layers that earlier lessons wrote: layers.h has them as functions. What is
// written here is which of them to call for the gradients, in which order, and into which memory.
#ifndef TRAIN_GPT_H
#define TRAIN_GPT_H

#include "course.h"

// B N may not be larger.
enum { TRAIN_GPT_MAX_ROWS = 1 << 24 };

COURSE_BEGIN_C

// The parameters of a block, or their gradients: 12 arrays of bf16. A matrix has a row for each
// output, as PyTorch's weight.
struct train_gpt_block {
    bf16* W_qkv;       // (3 C, C)  rows of Q, then of K, then of V
    bf16* W_proj;      // (C, C)
    bf16* W_fc;        // (4 C, C)
    bf16* W_out;       // (C, 4 C)
    bf16* b_qkv;       // (3 C)
    bf16* b_proj;      // (C)
    bf16* b_fc;        // (4 C)
    bf16* b_out;       // (C)
    bf16* norm1;       // (C)       the weights of the first norm
    bf16* norm1_bias;  // (C)
    bf16* norm2;       // (C)
    bf16* norm2_bias;  // (C)
};

// What the forward pass has kept for this block: neither the outputs of its norms nor those of GELU
// are there. In bytes of a token: 24 C + 4 H + 16, where all of them would be 36 C + 4 H + 16.
struct train_gpt_kept {
    const float* X;       // (rows, C)
    const float* stats1;  // (rows, 2)  mean and 1 / sqrt(variance + 1e-5) of the rows of X
    const bf16* QKV;      // (rows, 3 C)
    const bf16* O;        // (rows, C)
    const float* LSE;     // (B, H, N)
    const float* X_mid;   // (rows, C)  X' above
    const float* stats2;  // (rows, 2)  of the rows of X'
    const bf16* Z;        // (rows, 4 C)
};

// The gradients of a number L: by X, and by each of the block's parameters. dX_gpu holds the
// gradient by Y when the launcher is called, and the gradient by X when its kernels are done. The
// parameters' gradients are stored, not added: what dW held before does not matter.
//
// Precision: what goes into a product of matrices, and what comes out of one, is bf16, summed in
// float; so are the gradients by parameters. The gradient along the residual path, dX, is float
// from one end of the model to the other, and is rounded only where a product takes it.
//
// All memory is device memory of the caller; the arrays do not overlap, and inputs are not written.
// Every array is aligned to 16 bytes. The workspace has train_gpt_block_workspace_bytes() bytes,
// which hold anything, NaN as well, and may hold anything afterwards. Nothing is allocated. All
// kernels run in the default stream, and the launcher does not wait.
//
// Repeatable: the same inputs give the same bits.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; C or H is 0; C is no multiple of H
//     COURSE_UNSUPPORTED   C is no multiple of 8, or C / H is none; B N is above
//                          TRAIN_GPT_MAX_ROWS
//     COURSE_OK            B or N is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  dX_gpu, a pointer of the three structs or the workspace is NULL
//     what a layer returns if it is not COURSE_OK: the layers after it are not called
//     COURSE_OK            launched
int train_gpt_block(float* dX_gpu,               // (rows, C)  in: dL/dY, out: dL/dX
                    struct train_gpt_block dW,   // out
                    struct train_gpt_block W,    // in
                    struct train_gpt_kept kept,  // in
                    int B,                       // texts
                    int N,                       // tokens of each
                    int C,                       // channels
                    int H,                       // heads
                    void* workspace_gpu);

// One step of AdamW (Loshchilov and Hutter 2019, algorithm 2) for n parameters, each on its own:
//
//     m = beta1 m + (1 - beta1) g          m^ = m / (1 - beta1^step)        (README eq. 8)
//     v = beta2 v + (1 - beta2) g^2        v^ = v / (1 - beta2^step)
//     w = w - lr (m^ / (sqrt(v^) + eps) + decay w)                          (README eq. 9)
//
// The first n_decayed parameters decay; for the others `decay` is 0. step counts from 1. w, m and v
// are float; w_bf16 gets w, rounded to the nearest. On the first step m and v are 0.
//
// All arrays have n elements, are device memory of the caller, are aligned to 16 bytes and do not
// overlap. Each is read and written at most once. Nothing is allocated; the kernel runs in the
// default stream, and the launcher does not wait. Up to step = 2^53 1 - beta^step is exact to a
// float's precision, also where beta^step is near 1.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  n < 0; n_decayed not in 0 .. n; step < 1; beta1 or beta2 not in [0, 1);
//                          eps not above 0; lr or decay is NaN
//     COURSE_OK            n is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int train_gpt_adamw(float* w_gpu,       // in and out: the parameters
                    float* m_gpu,       // in and out: mean of the gradients
                    float* v_gpu,       // in and out: mean of their squares
                    bf16* w_bf16_gpu,   // out
                    const bf16* g_gpu,  // the gradients
                    int64_t n, int64_t n_decayed, float lr, float beta1, float beta2, float eps,
                    float decay, int64_t step);

// What layers.h asks for beside: delta and the sums of attention's backward pass, a matrix
// transposed, the partial sums of columns.
static inline size_t train_gpt_layer_bytes(int B, int N, int C, int H) {
    size_t rows = (size_t)B * (size_t)N, padded = CEIL_DIV((size_t)N, 128) * 128;
    size_t attention = (size_t)B * padded * ((size_t)C + 3 * (size_t)H) * sizeof(float);
    size_t transposed = rows * 4 * (size_t)C * 2;
    size_t columns = CEIL_DIV(rows, 128) * 4 * (size_t)C * sizeof(float);
    return attention + transposed + columns;
}

// Room for three arrays of bf16 beside what layers ask for: (rows, C) and twice (rows, 4 C). No
// size is negative; the first byte of each part is a multiple of 16 if they stand in this order.
static inline size_t train_gpt_block_workspace_bytes(int B, int N, int C, int H) {
    return (size_t)B * (size_t)N * 9 * (size_t)C * 2 + train_gpt_layer_bytes(B, N, C, H);
}

COURSE_END_C

#endif
