// layers.h: what the backward pass of lesson 29 calls: a function for each layer.
//
// In a grade these are small kernels, in the two headers that are included at the end: slow, easy
// to read, any sizes but heads of more than 4096 channels. In `make train` the same calls run the
// kernels of this course: the products of lesson 07 or 24, the GELU of 08, the attention of 16 or
// 26.
//
// Each launches its kernels in the default stream, does not wait, and allocates nothing. rows is B
// N. Sizes are multiples of 8, rows may be any; arrays are packed, aligned to 16 bytes, and do not
// overlap, unless it says otherwise: no output takes an input's place. `workspace` has
// train_gpt_layer_bytes() bytes and may be the same one for all calls: kernels run one after the
// other. Returns COURSE_OK; COURSE_CUDA_ERROR if a launch failed; COURSE_UNSUPPORTED if a kernel of
// the course cannot do these sizes; COURSE_BAD_ARGUMENT if a GELU is to work in place.
#ifndef TRAIN_GPT_LAYERS_H
#define TRAIN_GPT_LAYERS_H

#include "train_gpt.h"

// make train compiles kernels with -DTRAIN_GPT_PROGRAM: there, and in C, they are functions of the
// program.
#ifndef __cplusplus
#define TRAIN_GPT_LAYER int
#elif defined TRAIN_GPT_PROGRAM
#define TRAIN_GPT_LAYER extern "C" int
#else
#define TRAIN_GPT_LAYER static inline int
#endif

// y = x, rounded to bf16; n elements, a multiple of 8.
TRAIN_GPT_LAYER layer_round(bf16* y_gpu,         // (n)  out
                            const float* x_gpu,  // (n)
                            int64_t n);

// Y = (X - mean) / sigma * weight + bias, row by row; stats has mean and 1 / sigma of each row.
TRAIN_GPT_LAYER layer_norm(bf16* Y_gpu,             // (rows, C)  out
                           const float* X_gpu,      // (rows, C)
                           const float* stats_gpu,  // (rows, 2)
                           const bf16* weight_gpu,  // (C)
                           const bf16* bias_gpu,    // (C)
                           int rows, int C);

// Its gradients, of which that by X is added to another one:
//     dX = around + (gradient by X of the sum of dY * norm(X))
// around_gpu is what comes to X on a path around the norm. It may be dX_gpu; NULL stands for zeros.
TRAIN_GPT_LAYER layer_norm_backward(float* dX_gpu,            // (rows, C)  out
                                    const float* around_gpu,  // (rows, C)  or NULL
                                    bf16* dweight_gpu,        // (C)        out
                                    bf16* dbias_gpu,          // (C)        out
                                    const bf16* dY_gpu,       // (rows, C)
                                    const float* X_gpu,       // (rows, C)
                                    const float* stats_gpu,   // (rows, 2)
                                    const bf16* weight_gpu,   // (C)
                                    int rows, int C, void* workspace_gpu);

// Y = GELU(Z), z Phi(z); n elements, a multiple of 8.
TRAIN_GPT_LAYER layer_gelu(bf16* Y_gpu,        // (n)  out
                           const bf16* Z_gpu,  // (n)
                           int64_t n);

// dZ = GELU'(Z) * dY, element by element.                                   (lesson 08)
TRAIN_GPT_LAYER layer_gelu_backward(bf16* dZ_gpu,        // (rows, cols)  out
                                    const bf16* dY_gpu,  // (rows, cols)
                                    const bf16* Z_gpu,   // (rows, cols)
                                    int rows, int cols);

// The gradients of the linear layer Y = X W^T + bias.                       (lessons 07, 24)
//     dX = dY W       dW = dY^T X       dbias[o] = sum_r dY[r][o]
TRAIN_GPT_LAYER layer_input_gradient(bf16* dX_gpu,        // (rows, inputs)  out
                                     const bf16* dY_gpu,  // (rows, outputs)
                                     const bf16* W_gpu,   // (outputs, inputs)
                                     int rows, int outputs, int inputs);
TRAIN_GPT_LAYER layer_weight_gradient(bf16* dW_gpu,        // (outputs, inputs)  out
                                      const bf16* dY_gpu,  // (rows, outputs)
                                      const bf16* X_gpu,   // (rows, inputs)
                                      int rows, int outputs, int inputs, void* workspace_gpu);
TRAIN_GPT_LAYER layer_bias_gradient(bf16* dbias_gpu,     // (outputs)  out
                                    const bf16* dY_gpu,  // (rows, outputs)
                                    int rows, int outputs, void* workspace_gpu);

// The gradients of causal attention, H heads of d = C / H, scale 1 / sqrt(d), by Q, K and V, which
// stand side by side in a row of QKV.                                       (lessons 16, 26)
TRAIN_GPT_LAYER layer_attention_backward(bf16* dQKV_gpu,        // (B, N, 3, H, d)  out
                                         const bf16* QKV_gpu,   // (B, N, 3, H, d)
                                         const bf16* O_gpu,     // (B, N, H, d)
                                         const float* LSE_gpu,  // (B, H, N)
                                         const bf16* dO_gpu,    // (B, N, H, d)
                                         int B, int N, int C, int H, void* workspace_gpu);

#if defined __cplusplus && !defined TRAIN_GPT_PROGRAM
#include "plain_layers.h"
#include "small_layers.h"
#endif

#endif
