// pooled_scores.h: the contract of lesson 20.
#ifndef POOLED_SCORES_H
#define POOLED_SCORES_H

#include "course.h"

COURSE_BEGIN_C

// The attention of lesson 14, with its pooled weights R as one more output. For every batch and
// head on its own:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
//     R_IJ = mean of P_ij over the queries i and keys j of a pool:
//            I pool <= i < (I + 1) pool,  i < N_q,      J pool <= j < (J + 1) pool,  j < N_k
//
// The maximum and the sums of row i run over the keys that query i sees, as in lesson 14:
//
//     causal == 0:  all of them, j < N_k
//     otherwise:    j <= i + N_k - N_q: aligned at the bottom right
//
// A key that query i does not see has P_ij = 0. It is an element like any other: it adds 0 to the
// sum of its pool and counts in the mean. Elements that do not exist do not count: a pool at the
// end of the queries or keys has fewer rows or columns, and its sum is divided by rows times
// columns. So R is 0 for a pool that no query sees. The sum of rows * columns * R over all pools is
// the number of queries that see a key.
//
// A query that sees no key (i < N_q - N_k, or N_k = 0) gets O = 0, LSE = -infinity and P = 0.
// FlashAttention-2 (Dao 2023), algorithm 1, and its algorithm 2 for P from S and LSE.
//
// Precision: as in lesson 14, bf16 in; S, m, l and the accumulator of O in fp32; exp(S - m) is
// rounded to bf16 for the product with V alone, and O once, at the end. P of R = mean of P is not
// rounded: P, the sums of the pools and R are fp32, and so is LSE. Rounding is to nearest. LSE is
// the natural logarithm. Inputs are finite, and so are the dot products of rows of Q and K, and S,
// also times log2(e).
//
// The same inputs give the same bits, call after call: every sum has a fixed order.
//
// Q, K, V and O have strides of their own (struct strides, course.h), of any size that fits.
// Elements that the strides jump over may lie outside the arrays or hold anything, NaN as well;
// they are neither read nor written. Rows of Q, K and V may lie in the same place (a head stride of
// 0); rows of O do not. LSE and R are packed. Outputs overlap no other array.
//
// Alignment: every row of Q, K, V and O begins at a multiple of 16 bytes: these four pointers are
// multiples of 16 bytes, their strides multiples of 8 elements. LSE and R are aligned to 4 bytes.
//
// Memory: all arrays belong to the caller and are in device memory. Outputs hold anything before
// the call, NaN as well. Nothing is allocated, and there is no workspace: the kernels store nothing
// except the outputs, each element once. They run in the default stream; the launcher does not wait
// for them.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1; pool < 1
//     COURSE_UNSUPPORTED   pool > 128; d neither 64 nor 128; B * H > 65535 (the grid's second
//                          axis); a scale not above 0
//     COURSE_OK            B, N_q or H is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with N_k = 0, K_gpu, V_gpu and R_gpu may be NULL); a
//                          negative stride; a row stride below d
//     COURSE_UNSUPPORTED   a row of Q, K, V or O that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int pooled_scores(bf16* O_gpu,              // (B, N_q, H, d)  out
                  float* LSE_gpu,           // (B, H, N_q)     out
                  float* R_gpu,             // (B, H, ceil(N_q / pool), ceil(N_k / pool))  out
                  const bf16* Q_gpu,        // (B, N_q, H, d)
                  const bf16* K_gpu,        // (B, N_k, H, d)
                  const bf16* V_gpu,        // (B, N_k, H, d)
                  int B,                    // batches, from 0
                  int N_q,                  // queries, any number from 0
                  int N_k,                  // keys, any number from 0
                  int H,                    // heads, from 0
                  int d,                    // head dimension, 64 or 128
                  int pool,                 // queries, and keys, of a pool: 1 to 128, any number
                  struct strides stride_o,  // in elements, .n at least d; each array has its own
                  struct strides stride_q, struct strides stride_k, struct strides stride_v,
                  float scale,  // what Q K^T is multiplied by, > 0; usually 1 / sqrt(d)
                  int causal);  // 0: every query sees every key

COURSE_END_C

#endif
