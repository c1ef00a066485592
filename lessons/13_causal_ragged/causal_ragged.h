// causal_ragged.h: the contract of lesson 13.
#ifndef CAUSAL_RAGGED_H
#define CAUSAL_RAGGED_H

#include "course.h"

COURSE_BEGIN_C

// Attention as in lesson 12, for every batch and head on its own, with keys hidden from some
// queries:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
// where the maximum and the sums of row i run over the keys that query i sees:
//
//     causal == 0:  all of them, j < N_k
//     otherwise:    j <= i + N_k - N_q. The last query sees all keys, the query before it one key
//                   less, and so on up: the mask is aligned at the bottom right.
//
// A query that sees no key (i < N_q - N_k, or N_k = 0) gets O = 0 and LSE = -infinity.
// FlashAttention-2 (Dao 2023), algorithm 1 and section 3.1.1.
//
// Precision: fp16 in, fp32 for everything in between (S, P, m, l and the accumulator of O), O
// rounded to fp16 once, at the end. Rounding is to nearest. LSE is the natural logarithm, in fp32.
// Inputs are finite, and so are S and each element of Q and K times scale, also times log2(e).
//
// Q, K, V and O have strides of their own (struct strides, course.h), of any size that fits.
// Elements that the strides jump over may lie outside the arrays or hold anything, NaN as well;
// they are neither read nor written. Rows of Q, K and V may lie in the same place: a head stride of
// 0 in stride_k and stride_v lets all heads share their rows. Rows of O do not overlap (the caller
// sees to that). Pointers are aligned to their element, 2 or 4 bytes, no more. O and LSE do not
// overlap the inputs.
//
// Memory: all five arrays belong to the caller and are in device memory. Nothing is allocated, and
// each element of O and LSE is stored once. The kernel runs in the default stream; the launcher
// does not wait for it.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d > 256; B * H > 65535 (the grid's second axis)
//     COURSE_OK            B, N_q or H is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with N_k = 0, K_gpu and V_gpu may be NULL); a negative
//                          stride; a row stride below d
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int causal_ragged(fp16* O_gpu,        // (B, N_q, H, d)  out
                  float* LSE_gpu,     // (B, H, N_q)     out, packed: a head's rows side by side
                  const fp16* Q_gpu,  // (B, N_q, H, d)
                  const fp16* K_gpu,  // (B, N_k, H, d)
                  const fp16* V_gpu,  // (B, N_k, H, d)
                  int B,              // batches, from 0
                  int N_q,            // queries, any number from 0
                  int N_k,            // keys, any number from 0
                  int H,              // heads, from 0
                  int d,              // head dimension, 1 to 256, any number
                  struct strides stride_o,  // in elements, .n at least d; each array has its own
                  struct strides stride_q, struct strides stride_k, struct strides stride_v,
                  float scale,  // of Q K^T: usually 1 / sqrt(d); 0 and negative, too
                  int causal);  // 0: every query sees every key

COURSE_END_C

#endif
