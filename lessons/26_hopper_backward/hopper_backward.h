// hopper_backward.h: the contract of lesson 26.
#ifndef HOPPER_BACKWARD_H
#define HOPPER_BACKWARD_H

#include "course.h"

COURSE_BEGIN_C

// The gradients of lesson 25's attention, with its window and documents, for Hopper GPUs (sm_90). O
// and LSE are outputs of the forward pass, dO is the gradient of some number with respect to O.
// Query head h reads key head g = h / group, group = H_q / H_k. For every batch and query head:
//
//     S_h = scale * Q_h K_g^T,   P_ij = exp(S_ij - LSE_i)  if query i sees key j, else 0
//     dP = dO_h V_g^T,    delta_i = sum_x dO_ix O_ix,    dS = P * (dP - delta)
//     dQ_h = scale * dS K_g
//     dV_g = sum_h P^T dO_h,    dK_g = scale * sum_h dS^T Q_h      over the heads of the group
//
// No array of N_q x N_k elements is stored, and nothing of the size of K or V for every query head.
// With q = i + N_k - N_q, which is aligned at the bottom right, query i sees key j < N_k if
//
//     causal == 0:              always
//     causal, window == 0:      j <= q
//     causal, window > 0:       j <= q and q - j < window
//
// and if, with documents, both lie in one: cu_seqlens[b][n] <= q, j < cu_seqlens[b][n + 1] for some
// n. The first number of a batch is 0, none is smaller than the one before it, the last one is at
// most N_k. Documents may be empty. A q below 0 or behind the last document is in none.
//
// A query that sees no key (its LSE is -infinity) gets dQ = 0 and adds nothing to dK and dV; with
// N_k = 0 every query does. A key that no query sees gets dK = dV = 0; with N_q = 0 or H_q = 0
// every key does. No tile of queries is read for keys that none of them sees. FlashAttention-2 (Dao
// 2023), algorithm 2; FlashAttention-3 (Shah and others 2024), section 3 and appendix B.
//
// Repeatable: dK and dV always, dQ with deterministic != 0: the same inputs give the same bits in
// every call, and heads with the same inputs the same bits.
//
// Precision: bf16 in; S, P, dP, dS, delta and all sums, over queries, keys and heads, in fp32. P
// and dS are rounded to bf16 for the products that they are in; dQ, dK and dV once, at the end.
// Rounding is to nearest. LSE is the natural logarithm, in fp32. Inputs are finite, except for the
// -infinities in LSE. Every dot product of two rows is finite, and so is S, also times log2(e).
//
// All arrays except LSE have strides of their own (struct strides, course.h), of any size that
// fits. Elements that the strides jump over may lie outside the arrays or hold anything, NaN as
// well; they are neither read nor written. Rows of an input may lie in the same place (a stride of
// 0); rows of dQ, dK and dV do not. Outputs do not overlap each other, the inputs or the workspace.
//
// Alignment: every row of the eight bf16 arrays begins at a multiple of 16 bytes. That is: their
// pointers are multiples of 16 bytes, their strides multiples of 8 elements. LSE and cu_seqlens are
// aligned to 4 bytes, the workspace to 16.
//
// Memory: all arrays belong to the caller and are in device memory. The workspace has
// hopper_backward_workspace_bytes() bytes that hold anything, NaN as well, and may hold anything
// afterwards. Nothing is allocated. The kernels run in the default stream; the launcher does not
// wait.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size, window or number of documents; d < 1; H_q no multiple
//                          of H_k, or H_k = 0 and H_q > 0
//     COURSE_UNSUPPORTED   d neither 64 nor 128; N_q or N_k above 2^30; more than 2^31 - 1 tiles of
//                          64 rows, B * H_q * ceil(N_q / 64) or B * H_k * ceil(N_k / 64); a window
//                          without causal
//     COURSE_OK            B or H_k is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer to an array that has elements, or to the workspace where
//                          there are queries (without documents, cu_seqlens_gpu may be NULL); a
//                          negative stride; a row stride below d
//     COURSE_UNSUPPORTED   a row that does not begin at a multiple of 16 bytes; a stride of 2^39
//                          elements or more, which TMA cannot take
//     COURSE_UNSUPPORTED   the device is no Hopper GPU
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int hopper_backward(bf16* dQ_gpu,              // (B, N_q, H_q, d)  out
                    bf16* dK_gpu,              // (B, N_k, H_k, d)  out
                    bf16* dV_gpu,              // (B, N_k, H_k, d)  out
                    const bf16* Q_gpu,         // (B, N_q, H_q, d)
                    const bf16* K_gpu,         // (B, N_k, H_k, d)
                    const bf16* V_gpu,         // (B, N_k, H_k, d)
                    const bf16* O_gpu,         // (B, N_q, H_q, d)  of the forward pass
                    const float* LSE_gpu,      // (B, H_q, N_q)     the same; packed
                    const bf16* dO_gpu,        // (B, N_q, H_q, d)
                    int B,                     // batches, from 0
                    int N_q,                   // queries, from 0 to 2^30
                    int N_k,                   // keys, from 0 to 2^30
                    int H_q,                   // heads of Q, O, dO and dQ: a multiple of H_k
                    int H_k,                   // heads of K, V, dK and dV, from 0
                    int d,                     // head dimension, 64 or 128
                    struct strides stride_dq,  // in elements, .n at least d; each has its own
                    struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                    struct strides stride_k, struct strides stride_v, struct strides stride_o,
                    struct strides stride_do,
                    float scale,                // any finite number; usually 1 / sqrt(d)
                    int causal,                 // the forward pass's; 0: every query sees every key
                    int window,                 // the forward pass's; 0: none
                    int documents,              // the forward pass's; 0: one, of all keys
                    const int* cu_seqlens_gpu,  // (B, documents + 1)
                    int deterministic,     // 0: sums for dQ in any order; else always in the same
                    void* workspace_gpu);  // hopper_backward_workspace_bytes(B, N_q, H_q, d) bytes

// Room for dQ in fp32, LSE and delta of each query of each head, rows up to a multiple of 128; for
// two counters for each 64 of them, and one for each head. No size is negative.
static inline size_t hopper_backward_workspace_bytes(int B, int N_q, int H_q, int d) {
    size_t rows = (size_t)B * (size_t)H_q * CEIL_DIV((size_t)N_q, 128) * 128;
    return rows * ((size_t)d + 2) * sizeof(float) +
           (rows / 64 * 2 + (size_t)B * (size_t)H_q) * sizeof(int);
}

COURSE_END_C

#endif
