// flash_tensor_core.h: the contract of lesson 14.
#ifndef FLASH_TENSOR_CORE_H
#define FLASH_TENSOR_CORE_H

#include "course.h"

COURSE_BEGIN_C

// The attention of lesson 13 in bfloat16, for the head dimensions and the layouts that tensor cores
// like. For every batch and head:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
// where the maximum and the sums of row i run over the keys that query i sees, as in lesson 13:
//
//     causal == 0:  all of them, j < N_k
//     otherwise:    j <= i + N_k - N_q: aligned at the bottom right
//
// A query that sees no key (i < N_q - N_k, or N_k = 0) gets O = 0 and LSE = -infinity.
// FlashAttention-2 (Dao 2023), algorithm 1 and section 3.
//
// Precision: bf16 in; S, m, l and the accumulator of O in fp32. exp(S - m), which is between 0 and
// 1, is rounded to bf16 for the product with V; l sums the value before this rounding. At the end O
// is divided by l and then rounded to bf16. Rounding is to nearest. LSE is the natural logarithm,
// in fp32. Inputs are finite, and so are the dot products of rows of Q and K, S and scale, also
// times log2(e), and the sum of the absolute values of a column of V.
//
// Q, K, V and O have strides of their own (struct strides, course.h), of any size that fits.
// Elements that the strides jump over may lie outside the arrays or hold anything, NaN as well;
// they are neither read nor written. Rows of Q, K and V may lie in the same place: a head stride of
// 0 in stride_k and stride_v lets all heads share their rows. Rows of O do not overlap (the caller
// sees to that). O and LSE do not overlap the inputs.
//
// Alignment: every row of Q, K, V and O begins at a multiple of 16 bytes. That is: these four
// pointers are multiples of 16 bytes, their strides multiples of 8 elements. LSE is aligned to 4
// bytes.
//
// Memory: all five arrays belong to the caller and are in device memory. Nothing is allocated, and
// each element of O and LSE is stored once. The kernel runs in the default stream; the launcher
// does not wait for it.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d neither 64 nor 128; B * H > 65535 (the grid's second axis); a scale
//                          not above 0 (max of scale * x is scale times max of x only then)
//     COURSE_OK            B, N_q or H is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with N_k = 0, K_gpu and V_gpu may be NULL); a negative
//                          stride; a row stride below d
//     COURSE_UNSUPPORTED   a row of Q, K, V or O that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int flash_tensor_core(
    bf16* O_gpu,              // (B, N_q, H, d)  out
    float* LSE_gpu,           // (B, H, N_q)     out, packed: a head's rows side by side
    const bf16* Q_gpu,        // (B, N_q, H, d)
    const bf16* K_gpu,        // (B, N_k, H, d)
    const bf16* V_gpu,        // (B, N_k, H, d)
    int B,                    // batches, from 0
    int N_q,                  // queries, any number from 0
    int N_k,                  // keys, any number from 0
    int H,                    // heads, from 0
    int d,                    // head dimension, 64 or 128
    struct strides stride_o,  // in elements, .n at least d; each array has its own
    struct strides stride_q, struct strides stride_k, struct strides stride_v,
    float scale,  // what Q K^T is multiplied by, > 0; usually 1 / sqrt(d)
    int causal);  // 0: every query sees every key

COURSE_END_C

#endif
