// forward.h: what the forward pass of `make train` calls on the device. The layers of the backward
// pass are declared in lessons/29_train_gpt/layers.h. Both are defined in course.cu and kernels.cu.
//
// As there: kernels run in the default stream, nothing is allocated or waited for but in
// train_layers_begin() and train_layers_end(), arrays are packed and aligned to 16 bytes, and rows
// is B N. Each returns an enum course_status.
#ifndef TRAIN_FORWARD_H
#define TRAIN_FORWARD_H

#include <stddef.h>
#include <stdint.h>

#include "course.h"

COURSE_BEGIN_C

// Finds out which of the course's kernels this device can run, and allocates what they share:
// zeros for biases of up to `outputs` elements. Call it first, and train_layers_end() last.
int train_layers_begin(int outputs);
void train_layers_end(void);

// Which kernels these are, in words; static storage.
const char* train_layers_names(void);

// X[r] = E[token r] + P[r % N]
int train_embed(float* X_gpu,               // (rows, C)  out
                const int64_t* tokens_gpu,  // (rows)
                const bf16* E_gpu,          // (V, C)
                const bf16* P_gpu,          // (N, C)
                int rows, int N, int C);

// The gradients of train_embed(): dP[i] is the sum of dX over the texts' token i; dE[t], which
// already holds the head's gradient by the same weights, gets the sum of the rows of token t.
// `order` has the rows sorted by their token; those of the i-th token that occurs are
// order[first[i]] to order[first[i + 1] - 1]. Repeatable: no atomics.
int train_embed_backward(bf16* dE_gpu,               // (V, C)  in and out
                         bf16* dP_gpu,               // (N, C)  out
                         const float* dX_gpu,        // (rows, C)
                         const int64_t* tokens_gpu,  // (rows)
                         const int* order_gpu,       // (rows)
                         const int* first_gpu,       // (used + 1)
                         int used, int rows, int N, int C);

// X_out = X + Y + bias, the end of a layer on the residual path (Y and bias NULL: X alone), and
// then the norm of it with its statistics: norm = (X_out - mean) / sigma * weight + shift. C is at
// most 1024, or COURSE_UNSUPPORTED is returned.
int train_add_norm(float* X_out_gpu,      // (rows, C)  out; X_gpu if Y is NULL: not written
                   float* stats_gpu,      // (rows, 2)  out: mean, 1 / sigma
                   bf16* norm_gpu,        // (rows, C)  out
                   const float* X_gpu,    // (rows, C)
                   const bf16* Y_gpu,     // (rows, C)  or NULL
                   const bf16* bias_gpu,  // (C)        or NULL
                   const bf16* weight_gpu, const bf16* shift_gpu, int rows, int C);

// Y = X W^T + bias; with gelu, Z = X W^T + bias and Y = GELU(Z).            (lesson 08)
int train_linear(bf16* Y_gpu, bf16* Z_gpu, const bf16* X_gpu, const bf16* W_gpu,
                 const bf16* bias_gpu, int rows, int outputs, int inputs, int gelu);

// Y = X W^T                                                                 (lessons 24, 08)
int train_product(bf16* Y_gpu, const bf16* X_gpu, const bf16* W_gpu, int rows, int outputs,
                  int inputs);

// O and LSE of causal attention over QKV, (B, N, 3, H, d).                  (lessons 14, 25)
int train_attention(bf16* O_gpu, float* LSE_gpu, const bf16* QKV_gpu, int B, int N, int C, int H);

COURSE_END_C

#endif
