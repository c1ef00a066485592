// hopper_flash.h: the contract of lesson 25.
#ifndef HOPPER_FLASH_H
#define HOPPER_FLASH_H

#include "course.h"

COURSE_BEGIN_C

enum { LIST_BLOCK = 128 };  // queries that share a list; keys of a block that it names

// The attention of lesson 14 for Hopper GPUs (sm_90), with heads that share keys (lesson 17), with
// a window and documents (lesson 18), or with lists of blocks (lesson 19). For every batch and head
// h of Q, which reads head h / (H_q / H_k) of K and V:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
// where the maximum and the sums of row i run over the keys that query i sees. With q = i + N_k -
// N_q, which is aligned at the bottom right, query i sees key j < N_k if
//
//     causal == 0:              always
//     causal, window == 0:      j <= q
//     causal, window > 0:       j <= q and q - j < window
//
// and if, with documents, both lie in one: cu_seqlens[b][n] <= q, j < cu_seqlens[b][n + 1] for some
// n. The first number of a batch is 0, none is smaller than the one before it, the last one is at
// most N_k. Documents may be empty. A q below 0 or behind the last document is in none.
//
// With lists neither a causal mask nor documents are given, and query i of head h sees key j if
// block j / 128 is in list i / 128 of its head: lists[b][h][i / 128] is how many blocks it names,
// 0 to T_k = ceil(N_k / 128), and then their numbers, in ascending order; what follows is not read.
// The last block may be short.
//
// A query that sees no key gets O = 0 and LSE = -infinity. FlashAttention-3 (Shah and others 2024),
// section 3.
//
// A tile of queries reads no block of K and V in which none of them sees a key.
//
// Precision: bf16 in; S, l and the accumulator of O in fp32. exp(S - m) is rounded to bf16 for the
// product with V. m need not be the row's maximum, since it cancels in O / l: any number will do
// for which nothing overflows, and no weight that counts is lost. LSE is the natural logarithm, in
// fp32. Inputs are finite, no element of V is larger than 2^80, and the dot products of rows of Q
// and K are finite, and so is S, also times log2(e).
//
// Q, K, V and O have strides of their own (struct strides, course.h), of any size that fits.
// Elements that the strides jump over may lie outside the arrays or hold anything, NaN as well;
// they are neither read nor written. Rows of Q, K and V may lie in the same place (a stride of 0).
// Rows of O do not overlap, and O and LSE do not overlap the inputs.
//
// Alignment: every row of Q, K, V and O begins at a multiple of 16 bytes. That is: these four
// pointers are multiples of 16 bytes, their strides multiples of 8 elements. LSE, cu_seqlens and
// lists are aligned to 4 bytes.
//
// Memory: all arrays belong to the caller and are in device memory. The tickets are 0 before the
// first call, and each call leaves them so; calls that may run at the same time have tickets of
// their own. Nothing is allocated, and each element of O and LSE is stored once. The kernel runs in
// the default stream; the launcher does not wait for it.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size, window or number of documents; d < 1; H_q no multiple
//                          of H_k, or H_k = 0 and H_q > 0
//     COURSE_UNSUPPORTED   d neither 64 nor 128; more than 2^31 - 1 tiles of 64 queries, B * H_q *
//                          ceil(N_q / 64); a scale not above 0; a window without causal; lists
//                          with causal or with documents
//     COURSE_OK            B, N_q or H_q is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with N_k = 0, K_gpu and V_gpu may be NULL; without
//                          documents, cu_seqlens_gpu); a negative stride; a row stride below d
//     COURSE_UNSUPPORTED   a row of Q, K, V or O that does not begin at a multiple of 16 bytes; a
//                          stride of 2^39 elements or more, which TMA cannot take
//     COURSE_UNSUPPORTED   the device is no Hopper GPU
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int hopper_flash(bf16* O_gpu,              // (B, N_q, H_q, d)  out
                 float* LSE_gpu,           // (B, H_q, N_q)     out, packed
                 const bf16* Q_gpu,        // (B, N_q, H_q, d)
                 const bf16* K_gpu,        // (B, N_k, H_k, d)
                 const bf16* V_gpu,        // (B, N_k, H_k, d)
                 int B,                    // batches, from 0
                 int N_q,                  // queries, any number from 0
                 int N_k,                  // keys, any number from 0
                 int H_q,                  // heads of Q and O, from 0: a multiple of H_k
                 int H_k,                  // heads of K and V, from 0
                 int d,                    // head dimension, 64 or 128
                 struct strides stride_o,  // in elements, .n at least d; each array has its own
                 struct strides stride_q, struct strides stride_k, struct strides stride_v,
                 float scale,    // what Q K^T is multiplied by, > 0; usually 1 / sqrt(d)
                 int causal,     // 0: every query sees every key
                 int window,     // 0: none
                 int documents,  // 0: one, of all keys
                 const int* cu_seqlens_gpu,  // (B, documents + 1)
                 const int* lists_gpu,       // (B, H_q, ceil(N_q / 128), 1 + T_k); NULL: none
                 int* tickets_gpu);          // (2)  zeros; zeros again after the call

COURSE_END_C

#endif
