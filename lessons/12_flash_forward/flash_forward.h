// flash_forward.h: the contract of lesson 12.
#ifndef FLASH_FORWARD_H
#define FLASH_FORWARD_H

#include "course.h"

COURSE_BEGIN_C

// Exact attention that never stores a matrix of N_q x N_k elements. For every batch:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
// FlashAttention-2 (Dao 2023), algorithm 1. Heads count as batches: B is batch size x heads.
//
// Precision: fp16 in, fp32 for everything in between (S, P, m, l and the accumulator of O), O
// rounded to fp16 once, at the end. Rounding is to nearest. LSE is the natural logarithm, in fp32.
// Inputs are finite, and so are S and each element of Q and K times scale, also times log2(e).
//
// Element (b, n, x) of a tensor is at b * stride_b + n * stride_n + x. Strides are in elements, of
// any size that fits; the last axis is contiguous. Elements between the rows of O and LSE are not
// written, and batches of O and LSE do not overlap (the caller sees to that). Pointers are aligned
// to their element, 2 or 4 bytes, no more. O and LSE do not overlap the inputs.
//
// Memory: all five arrays belong to the caller and are in device memory. Nothing is allocated, and
// each element of O and LSE is stored once. The kernel runs in the default stream; the launcher
// does not wait for it.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  B < 0; N_q, N_k or d < 1
//     COURSE_UNSUPPORTED   N_q or N_k not a power of two from 16; d not in the list; B > 65535
//     COURSE_OK            B is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer; a negative stride; a row stride below d
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int flash_forward(fp16* O_gpu,        // (B, N_q, d)  out
                  float* LSE_gpu,     // (B, N_q)     out, rows packed
                  const fp16* Q_gpu,  // (B, N_q, d)
                  const fp16* K_gpu,  // (B, N_k, d)
                  const fp16* V_gpu,  // (B, N_k, d)
                  int B,              // batches, 0 to 65535 (the grid's second axis)
                  int N_q,            // queries: a power of two, at least 16
                  int N_k,            // keys: a power of two, at least 16
                  int d,              // head dimension: 16, 32, 64, 128 or 256
                  int64_t stride_ob,  // from one batch of O to the next
                  int64_t stride_on,  // from one row of O to the next, at least d
                  int64_t stride_lb,  // from one batch of LSE to the next
                  int64_t stride_qb, int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                  int64_t stride_vb, int64_t stride_vn,
                  float scale);  // of Q K^T: usually 1 / sqrt(d); 0 and negative, too

COURSE_END_C

#endif
