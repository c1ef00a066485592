// block_sparse.h: the contract of lesson 19.
#ifndef BLOCK_SPARSE_H
#define BLOCK_SPARSE_H

#include "course.h"

COURSE_BEGIN_C

// Rows and columns of S that one byte of the mask stands for.
enum { SPARSE_BLOCK = 128 };

// How many blocks cover n rows: T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k).
#define SPARSE_BLOCKS(n) CEIL_DIV((int64_t)(n), SPARSE_BLOCK)

// Attention where only some blocks of S exist. For every batch b and head h:
//
//     query i sees key j  if and only if  mask[b][h][i / 128][j / 128] is not 0
//
// and over the keys that are seen, as in lessons 14 and 16,
//
//     S  = scale * Q K^T,  P = softmax(S) row by row,  O = P V,  LSE_i = ln sum_j exp(S_ij)
//     dV = P^T dO,         dP = dO V^T,                delta_i = sum_x dO_ix O_ix
//     dS = P * (dP - delta),                           dQ = scale * dS K,  dK = scale * dS^T Q
//
// A query that sees no key gets O = 0, LSE = -infinity and dQ = 0. A key that no query sees gets dK
// = dV = 0. The last row and the last column of blocks may be short: N_q and N_k need not be
// multiples of 128.
//
// Work and memory traffic are proportional to the number of blocks that are not 0. If all blocks of
// a row are 0, the forward pass reads nothing of K and V for this row.
//
// Precision: bf16 in; S, m, l, dP, dS, delta and all sums in fp32. P and dS are rounded to bf16 for
// the products that they are in; O, dQ, dK and dV once, at the end. Rounding is to nearest. LSE is
// the natural logarithm, in fp32. All inputs are finite, except for the LSE of queries that see no
// key. Every dot product of two rows is finite, and so is S, also times log2(e).
//
// Arrays of (B, N, H, d) have strides of their own (struct strides, course.h), of any size that
// fits. Elements that the strides jump over may lie outside the arrays or hold anything, NaN as
// well; they are neither read nor written. Rows of an input may lie in the same place (a head
// stride of 0 lets all heads share one); rows of an output do not. Outputs overlap neither each
// other, nor inputs, nor the workspace.
//
// Alignment: every row of the bf16 arrays begins at a multiple of 16 bytes. That is: their pointers
// are multiples of 16 bytes, their strides multiples of 8 elements. LSE is aligned to 4 bytes, the
// mask to 1, the workspace to 16.
//
// Memory: all arrays belong to the caller and are in device memory. The workspace holds anything
// before a call, NaN as well, and may hold anything after it; nothing is kept from one call to the
// next. Nothing is allocated, and the forward pass stores each element of O and LSE once. The
// kernels run in the default stream; the launcher does not wait for them.
//
// Both functions return, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d neither 64 nor 128; B * H > 65535 (the grid's second axis); in the
//                          forward pass a scale not above 0
//     COURSE_OK            nothing to do: no output has elements; in the backward pass the strides
//                          are checked before. Pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer to an array that has elements; a negative stride; a row
//                          stride below d
//     COURSE_UNSUPPORTED   a row that does not begin at a multiple of 16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int block_sparse_forward(
    bf16* O_gpu,              // (B, N_q, H, d)      out
    float* LSE_gpu,           // (B, H, N_q)         out, packed
    const bf16* Q_gpu,        // (B, N_q, H, d)
    const bf16* K_gpu,        // (B, N_k, H, d)
    const bf16* V_gpu,        // (B, N_k, H, d)
    const uint8_t* mask_gpu,  // (B, H, T_q, T_k)    packed; 0: the block is left out
    int B,                    // batches, from 0
    int N_q,                  // queries, any number from 0
    int N_k,                  // keys, any number from 0
    int H,                    // heads, from 0
    int d,                    // head dimension, 64 or 128
    struct strides stride_o,  // in elements, .n at least d; each array has its own
    struct strides stride_q, struct strides stride_k, struct strides stride_v,
    float scale,           // what Q K^T is multiplied by, > 0; usually 1 / sqrt(d)
    void* workspace_gpu);  // block_sparse_forward_workspace_bytes() bytes

int block_sparse_backward(
    bf16* dQ_gpu,             // (B, N_q, H, d)    out
    bf16* dK_gpu,             // (B, N_k, H, d)    out
    bf16* dV_gpu,             // (B, N_k, H, d)    out
    const bf16* Q_gpu,        // (B, N_q, H, d)
    const bf16* K_gpu,        // (B, N_k, H, d)
    const bf16* V_gpu,        // (B, N_k, H, d)
    const bf16* O_gpu,        // (B, N_q, H, d)    what the forward pass returned
    const float* LSE_gpu,     // (B, H, N_q)       the same; packed
    const bf16* dO_gpu,       // (B, N_q, H, d)
    const uint8_t* mask_gpu,  // (B, H, T_q, T_k)  the forward pass's
    int B,                    // as in the forward pass
    int N_q, int N_k, int H, int d,
    struct strides stride_dq,  // in elements, .n at least d; each array has its own
    struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
    struct strides stride_k, struct strides stride_v, struct strides stride_o,
    struct strides stride_do,
    float scale,           // the forward pass's; may have any sign
    void* workspace_gpu);  // block_sparse_backward_workspace_bytes() bytes

// Room for one list of each row of blocks: an int for the list's length, an int for each block that
// the list may name, and one for the list's place in an order. The kernels divide the room as they
// like. No size is negative.
static inline size_t block_sparse_forward_workspace_bytes(int B, int N_q, int N_k, int H) {
    return (size_t)B * (size_t)H * (size_t)SPARSE_BLOCKS(N_q) * (size_t)(2 + SPARSE_BLOCKS(N_k)) *
           sizeof(int);
}

// Room for the same lists, for one list of each column of blocks, and for each query a delta and a
// row of dQ in fp32, where a kernel may sum dQ.
static inline size_t block_sparse_backward_workspace_bytes(int B, int N_q, int N_k, int H, int d) {
    return block_sparse_forward_workspace_bytes(B, N_q, N_k, H) +
           block_sparse_forward_workspace_bytes(B, N_k, N_q, H) +
           (size_t)B * (size_t)H * (size_t)N_q * ((size_t)d + 1) * sizeof(float);
}

COURSE_END_C

#endif
