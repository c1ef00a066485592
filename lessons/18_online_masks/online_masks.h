// online_masks.h: the contract of lesson 18.
#ifndef ONLINE_MASKS_H
#define ONLINE_MASKS_H

#include "course.h"

COURSE_BEGIN_C

// Which keys a query sees, and what becomes of a score. All zero: every key of the sequence, scores
// as they are.
//
// Key k stands at position k, query i at position q = i + N_k - N_q: the last query beside the last
// key, as in all causal lessons. A document is a range of positions [start, end). The query at q
// sees key k if all of this is true:
//
//     both are in one document:  start <= q < end and start <= k < end
//     k is not too late:         k <= q           if `causal`
//                                k <= q + window  if not, and window > 0
//                                or k < start + prefix
//     k is not too early:        q - k < window   if `causal` and window > 0
//                                q - k <= window  if not causal and window > 0
//                                or k < start + sinks
//
// So causal with a window W is a sliding window of W keys, the query's own among them; a window W
// without `causal` is symmetric, |q - k| <= W. A position below 0 (N_q > N_k), or behind the last
// document, is in no document: this query sees no key, and no query sees this key.
struct online_mask {
    int causal;     // any number but 0
    int window;     // 0: none
    int sinks;      // the first so many keys of a document are not hidden by the window
    int prefix;     // the first so many keys of a document are never too late
    int documents;  // 0: one document, [0, N_k)
    // (B, documents + 1), packed, in device memory: document n of batch b is the positions from
    // cu_seqlens[b][n] up to, not including, cu_seqlens[b][n + 1]. The first number is 0, none is
    // smaller than the one before it, the last one is at most N_k. Documents may be empty.
    const int* cu_seqlens_gpu;
    // 0: none; else a score s becomes softcap * tanh(s / softcap). scale / softcap is finite.
    float softcap;
};

// The attention of lessons 14 and 16 with such a mask, for every batch and head. With C(s) = s, or
// C(s) = softcap * tanh(s / softcap):
//
//     S  = C(scale * Q K^T),  P = softmax(S) over the keys that are seen,  O = P V
//     LSE_i = ln sum_j exp(S_ij)
//     dV = P^T dO,  dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dS = P * (dP - delta) * C'(scale * Q K^T),   C'(s) = 1, or 1 - tanh(s / softcap)^2
//     dQ = scale * dS K,  dK = scale * dS^T Q
//
// A query that sees no key gets O = 0, LSE = -infinity and dQ = 0. A key that no query sees gets dK
// = dV = 0.
//
// Work and memory traffic are proportional to the number of tiles of S in which some query sees
// some key. No mask of N_q x N_k elements is stored.
//
// Repeatable: the same inputs give the same bits in every output.
//
// Precision: bf16 in; S, m, l, dP, dS, delta and all sums in fp32. P and dS are rounded to bf16 for
// the products that they are in; O, dQ, dK and dV once, at the end. LSE is the natural logarithm,
// in fp32. tanh may be off by 2^-20, and a capped score so by softcap / 2^20. Inputs are finite,
// except for the LSE of queries that see no key. Every dot product of two rows is finite.
//
// All arrays of (B, N, H, d) have strides of their own (struct strides, course.h), of any size that
// fits. Elements that the strides jump over may lie outside the arrays or hold anything, NaN as
// well; they are neither read nor written. Rows of an input may lie in the same place (a head
// stride of 0 lets all heads share one); rows of an output do not. Outputs overlap neither each
// other, nor inputs, nor the workspace.
//
// Alignment: every row of the bf16 arrays begins at a multiple of 16 bytes. That is: their pointers
// are multiples of 16 bytes, their strides multiples of 8 elements. LSE and cu_seqlens are aligned
// to 4 bytes, the workspace to 16.
//
// Memory: all arrays belong to the caller and are in device memory. The workspace holds anything
// before a call, NaN as well, and may hold anything after it. Nothing is allocated. The kernels run
// in the default stream; the launcher does not wait for them.
//
// Both functions return, in this order
//     COURSE_BAD_ARGUMENT  a number of the mask is negative; softcap is infinite or NaN;
//                          cu_seqlens_gpu is NULL although there are documents, and B is not 0
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d neither 64 nor 128; B * H > 65535 (the grid's second axis); in the
//                          forward pass a scale not above 0
//     COURSE_OK            nothing to do: B or H is 0, in the forward pass also N_q; in the
//                          backward pass the strides are checked before. Pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer to an array that has elements; a negative stride; a row
//                          stride below d
//     COURSE_UNSUPPORTED   a row that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int online_masks_forward(
    bf16* O_gpu,              // (B, N_q, H, d)  out
    float* LSE_gpu,           // (B, H, N_q)     out, packed
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
    struct online_mask mask);

int online_masks_backward(
    bf16* dQ_gpu,          // (B, N_q, H, d)  out
    bf16* dK_gpu,          // (B, N_k, H, d)  out
    bf16* dV_gpu,          // (B, N_k, H, d)  out
    const bf16* Q_gpu,     // (B, N_q, H, d)
    const bf16* K_gpu,     // (B, N_k, H, d)
    const bf16* V_gpu,     // (B, N_k, H, d)
    const bf16* O_gpu,     // (B, N_q, H, d)  what the forward pass returned
    const float* LSE_gpu,  // (B, H, N_q)     the same; packed
    const bf16* dO_gpu,    // (B, N_q, H, d)
    int B,                 // as in the forward pass
    int N_q, int N_k, int H, int d,
    struct strides stride_dq,  // in elements, .n at least d; each array has its own
    struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
    struct strides stride_k, struct strides stride_v, struct strides stride_o,
    struct strides stride_do,
    float scale,              // the forward pass's; may have any sign
    struct online_mask mask,  // the forward pass's
    void* workspace_gpu);     // online_masks_workspace_bytes(B, N_q, H) bytes

// Room for delta, one float for each query of each head. No size is negative.
static inline size_t online_masks_workspace_bytes(int B, int N_q, int H) {
    return (size_t)B * (size_t)N_q * (size_t)H * sizeof(float);
}

COURSE_END_C

#endif
