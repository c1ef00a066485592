// gqa.h: the contract of lesson 17: a forward and a backward pass.
#ifndef GQA_H
#define GQA_H

#include "course.h"

COURSE_BEGIN_C

// Attention as in lessons 14 and 16, where several query heads share one head of keys and values.
// There are H_q heads of queries and H_k heads of keys; H_q is a multiple of H_k. A group of
// neighbouring query heads, group = H_q / H_k in number, shares a key head:
//
//     query head h uses key head h / group                    (H_q = 6, H_k = 2: 0 0 0 1 1 1)
//
// group == 1 is lesson 14's attention; H_k == 1 is multi-query attention. A group may have any
// size, 3 as well. For every batch and query head h, with g = h / group:
//
//     S = scale * Q_h K_g^T,   P = softmax(S) by rows,   O_h = P V_g,   LSE_i = ln sum_j exp(S_ij)
//
// causal == 0: every query sees all keys. Otherwise query i sees the keys j <= i + N_k - N_q:
// aligned at the bottom right. A query that sees no key (i < N_q - N_k, or N_k = 0) gets O = 0 and
// LSE = -infinity. Ainslie and others, GQA, 2023; Shazeer, Fast transformer decoding, 2019;
// FlashAttention-2 (Dao 2023).
//
// Repeatable: the same inputs give the same bits in every output.
//
// Precision: bf16 in; S, m, l, dP, dS, delta and all sums, over queries and heads too, in fp32. P
// and dS are rounded to bf16 for the products that they are in; O, dQ, dK and dV once, at the end.
// Rounding is to nearest. LSE is the natural logarithm, in fp32. Inputs are finite, except for the
// LSE of queries that see no key. Every dot product of two rows is finite, and so is S, also times
// log2(e).
//
// All arrays except LSE have strides of their own (struct strides, course.h), of any size that
// fits; .h is from one head to the next, of H_q or H_k heads. Elements that the strides jump over
// may lie outside the arrays or hold anything, NaN as well; they are neither read nor written. Rows
// of an input may lie in the same place (a head stride of 0 lets all heads share one); rows of an
// output do not. Outputs do not overlap each other, the inputs or the workspace.
//
// Alignment: every row of the bf16 arrays begins at a multiple of 16 bytes. That is: their pointers
// are multiples of 16 bytes, their strides multiples of 8 elements. LSE is aligned to 4 bytes, the
// workspace to 16.
//
// Memory: all arrays belong to the caller and are in device memory. Nothing is allocated, and
// nothing of the size of K or V is written for every query head. The kernels run in the default
// stream; the launchers do not wait for them.
//
// Both functions return, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1; H_q is no multiple of H_k (only 0 is a multiple
//                          of 0)
//     COURSE_UNSUPPORTED   d neither 64 nor 128; B * H_q > 65535 or B * H_k > 65535 (the grid's
//                          second axis); in the forward pass a scale not above 0
//     COURSE_OK            nothing to do: B or H_q is 0 (backward: B or H_k), in the forward pass
//                          also N_q; in the backward pass the strides are checked before. Pointers
//                          may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer to an array that has elements; a negative stride; a row
//                          stride below d
//     COURSE_UNSUPPORTED   a row that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int gqa_forward(bf16* O_gpu,        // (B, N_q, H_q, d)  out
                float* LSE_gpu,     // (B, H_q, N_q)     out, packed: a head's rows side by side
                const bf16* Q_gpu,  // (B, N_q, H_q, d)
                const bf16* K_gpu,  // (B, N_k, H_k, d)
                const bf16* V_gpu,  // (B, N_k, H_k, d)
                int B,              // batches, from 0
                int N_q,            // queries, any number from 0
                int N_k,            // keys, any number from 0
                int H_q,            // heads of Q and O, from 0: a multiple of H_k
                int H_k,            // heads of K and V, from 0
                int d,              // head dimension, 64 or 128
                struct strides stride_o,  // in elements, .n at least d; each array has its own
                struct strides stride_q, struct strides stride_k, struct strides stride_v,
                float scale,  // of Q K^T, > 0; usually 1 / sqrt(d)
                int causal);  // 0: every query sees every key

// The gradients of gqa_forward(). O and LSE are its outputs; dO is the gradient of some number with
// respect to O. For every batch and query head h, with g = h / group and the sums over the heads of
// the group:
//
//     P_ij = exp(S_ij - LSE_i)  if query i sees key j, else 0
//     dP = dO_h V_g^T,    delta_i = sum_x dO_ix O_ix,    dS = P * (dP - delta)
//     dQ_h = scale * dS K_g
//     dV_g = sum_h P^T dO_h,    dK_g = scale * sum_h dS^T Q_h
//
// A query that sees no key (its LSE is -infinity) gets dQ = 0 and adds nothing to dK and dV. A key
// that no query sees gets dK = dV = 0; so do all keys if N_q or H_q is 0.
//
// The workspace has gqa_backward_workspace_bytes() bytes that hold anything, NaN as well, and may
// hold anything afterwards.
int gqa_backward(bf16* dQ_gpu,          // (B, N_q, H_q, d)  out
                 bf16* dK_gpu,          // (B, N_k, H_k, d)  out
                 bf16* dV_gpu,          // (B, N_k, H_k, d)  out
                 const bf16* Q_gpu,     // (B, N_q, H_q, d)
                 const bf16* K_gpu,     // (B, N_k, H_k, d)
                 const bf16* V_gpu,     // (B, N_k, H_k, d)
                 const bf16* O_gpu,     // (B, N_q, H_q, d)
                 const float* LSE_gpu,  // (B, H_q, N_q)  packed
                 const bf16* dO_gpu,    // (B, N_q, H_q, d)
                 int B,                 // sizes as in gqa_forward()
                 int N_q, int N_k, int H_q, int H_k, int d,
                 struct strides stride_dq,  // in elements, .n at least d; each array has its own
                 struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                 struct strides stride_k, struct strides stride_v, struct strides stride_o,
                 struct strides stride_do,
                 float scale,           // the forward pass's; may have any sign
                 int causal,            // the forward pass's
                 void* workspace_gpu);  // gqa_backward_workspace_bytes(B, N_q, H_q) bytes

// Room for delta, one float for each query of each head; none for dK or dV. No size is negative.
static inline size_t gqa_backward_workspace_bytes(int B, int N_q, int H_q) {
    return (size_t)B * (size_t)N_q * (size_t)H_q * sizeof(float);
}

COURSE_END_C

#endif
