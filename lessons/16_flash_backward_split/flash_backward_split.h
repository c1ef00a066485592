// flash_backward_split.h: the contract of lesson 16.
#ifndef FLASH_BACKWARD_SPLIT_H
#define FLASH_BACKWARD_SPLIT_H

#include "course.h"

COURSE_BEGIN_C

// The gradients of the attention of lesson 14, which computed O and LSE from Q, K and V. dO is the
// gradient of some number L with respect to O. The launcher computes the gradients of L with
// respect to Q, K and V. For every batch and head:
//
//     S  = scale * Q K^T,      P_ij = exp(S_ij - LSE_i)  if query i sees key j, else 0
//     dV = P^T dO,             dP = dO V^T,    delta_i = sum_x dO_ix O_ix
//     dS = P * (dP - delta)    element by element; delta belongs to the row
//     dQ = scale * dS K,       dK = scale * dS^T Q
//
// No array of N_q x N_k elements is stored. Query i sees, as in lessons 13 to 15,
//
//     causal == 0:  all keys, j < N_k
//     otherwise:    j <= i + N_k - N_q: aligned at the bottom right
//
// A query that sees no key (its LSE is -infinity, its O is 0) gets dQ = 0 and adds nothing to dK
// and dV. A key that no query sees (N_q = 0) gets dK = dV = 0. FlashAttention-2 (Dao 2023),
// algorithm 2, with dQ in a kernel of its own.
//
// Repeatable: the same inputs give the same bits in dQ, dK and dV, in every call.
//
// Precision: bf16 in; S, P, dP, dS, delta and all sums in fp32. P and dS are rounded to bf16 for
// the products that they are in; dQ, dK and dV once, at the end. Rounding is to nearest. LSE is the
// natural logarithm, in fp32. Inputs are finite, except for the -infinities in LSE. Every dot
// product of two rows is finite, and so is S, also times log2(e).
//
// All arrays except LSE have strides of their own (struct strides, course.h), of any size that
// fits. Elements that the strides jump over may lie outside the arrays or hold anything, NaN as
// well; they are neither read nor written. Rows of an input may lie in the same place (a head
// stride of 0 lets all heads share one); rows of dQ, dK and dV do not. Outputs do not overlap each
// other, the inputs or the workspace.
//
// Alignment: every row of the eight bf16 arrays begins at a multiple of 16 bytes. That is: their
// pointers are multiples of 16 bytes, their strides multiples of 8 elements. LSE is aligned to 4
// bytes, the workspace to 16.
//
// Memory: all arrays belong to the caller and are in device memory. The workspace has
// flash_backward_split_workspace_bytes() bytes that hold anything, NaN as well, and may hold
// anything afterwards. Nothing is allocated. The kernels run in the default stream; the launcher
// does not wait.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d neither 64 nor 128; B * H > 65535 (the grid's second axis)
//     COURSE_BAD_ARGUMENT  a negative stride; a row stride below d
//     COURSE_OK            B or H is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer to an array that has elements
//     COURSE_UNSUPPORTED   a row that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int flash_backward_split(
    bf16* dQ_gpu,              // (B, N_q, H, d)  out
    bf16* dK_gpu,              // (B, N_k, H, d)  out
    bf16* dV_gpu,              // (B, N_k, H, d)  out
    const bf16* Q_gpu,         // (B, N_q, H, d)
    const bf16* K_gpu,         // (B, N_k, H, d)
    const bf16* V_gpu,         // (B, N_k, H, d)
    const bf16* O_gpu,         // (B, N_q, H, d)  what the forward pass returned
    const float* LSE_gpu,      // (B, H, N_q)     the same; packed
    const bf16* dO_gpu,        // (B, N_q, H, d)
    int B,                     // batches, from 0
    int N_q,                   // queries, any number from 0
    int N_k,                   // keys, any number from 0
    int H,                     // heads, from 0
    int d,                     // head dimension, 64 or 128
    struct strides stride_dq,  // in elements, .n at least d; each has its own
    struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
    struct strides stride_k, struct strides stride_v, struct strides stride_o,
    struct strides stride_do,
    float scale,           // any finite number, 0 or negative, too; usually 1 / sqrt(d)
    int causal,            // the forward pass's; 0: every query sees every key
    void* workspace_gpu);  // flash_backward_split_workspace_bytes(B, N_q, H) bytes

// Room for delta, one float for each query of each head. No size is negative.
static inline size_t flash_backward_split_workspace_bytes(int B, int N_q, int H) {
    return (size_t)B * (size_t)N_q * (size_t)H * sizeof(float);
}

COURSE_END_C

#endif
