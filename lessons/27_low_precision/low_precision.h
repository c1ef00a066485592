// low_precision.h: the contract of lesson 27.
#ifndef LOW_PRECISION_H
#define LOW_PRECISION_H

#include "course.h"

COURSE_BEGIN_C

// A number of eight bits: a sign, 4 bits of exponent, 3 behind the point. Its value is 2^(e - 7)
// times 1.f, or 2^-6 times 0.f where e is 0: up to 448, down to 2^-9. 0x7F and 0xFF are NaN; there
// is no infinity.
typedef unsigned char e4m3;

enum { SCALE_BLOCK = 128 };  // rows of a head that share a scale
#define E4M3_LARGEST 448.0f
#define SMALLEST_AMAX 0x1p-60f  // what is smaller counts as this

// How many bytes a row of V^T has: N keys, up to a multiple of 16.
#define PADDED(N) (CEIL_DIV((int64_t)(N), 16) * 16)

// Attention in eight bits for Hopper GPUs (sm_90) is two calls: Q, K and V become numbers of eight
// bits and scales, then O is made of these. FlashAttention-3 (Shah and others 2024), section 3.3.
//
// The first, for each of the three arrays:
//
//     amax  = the largest finite |X|, at least 2^-60       of a block, or of the whole array
//     scale = amax / 448
//     to    = e4m3(X * (1 / scale))                        so X is about scale * to
//
// Each operation is rounded to nearest even in fp32, and so is the step to e4m3: what comes out is
// fixed to the bit. A number beyond 448 becomes 448 with its sign, infinity as well; NaN becomes
// 0x7F; -0 stays -0. Subnormal numbers of e4m3 are numbers like all others.
//
//     per_block    != 0: a scale for each block of 128 rows of a head, scales is (B, H, T) with
//                  T = ceil(N / 128). 0: one for all, scales is (1)
//     rotated      != 0: X is a row times a Hadamard matrix, and then times 1 / sqrt(d), rounded to
//                  fp32. The product is made in fp32 in place, for w = 1, 2, 4, ..., d / 2: each
//                  pair x, x + w, where x / w is even, becomes their sum and their difference.
//                  Q K^T is what it was if both are rotated
//     transposed   0: to is (B, H, N, d). != 0, for V: to is (B, H, d, PADDED(N)), and of 16 keys,
//                  from a multiple of 16 on, the bytes stand in this order:
//                  0 1 8 9, 2 3 10 11, 4 5 12 13, 6 7 14 15. Where there is no key, 0 is written
//
// X has strides (struct strides, course.h): elements that these jump over are not read. `to` and
// scales are packed; each element is stored once, but for a scale of a whole array. Every row of X
// begins at a multiple of 16 bytes, and so does `to`. Nothing is allocated; the kernels run in the
// default stream, and the launcher does not wait for them.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1
//     COURSE_UNSUPPORTED   d neither 64 nor 128; more than 2^31 - 1 blocks of 128 rows,
//                          B * H * ceil(N / 128)
//     COURSE_OK            B, N or H is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer; a negative stride; a row stride below d
//     COURSE_UNSUPPORTED   X or `to` at no multiple of 16 bytes, a stride of X that is no multiple
//                          of 8 elements; the device is no Hopper GPU
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int low_precision_quantise(e4m3* to_gpu,       // (B, H, N, d) or (B, H, d, PADDED(N))  out
                           float* scales_gpu,  // (B, H, T) or (1)                      out
                           const bf16* X_gpu,  // (B, N, H, d)
                           int B, int N, int H, int d, struct strides stride_x,  // in elements
                           int per_block, int rotated, int transposed);

// The second. With q, k, v for the numbers times their scales, for every batch and head h of Q,
// which reads head h / (H_q / H_k) of K and V:
//
//     S = scale * q k^T,    P = softmax(S) row by row,    O = P v,    LSE_i = ln sum_j exp(S_ij)
//
// With causal != 0 query i sees the keys j <= i + N_k - N_q. A query that sees no key gets O = 0
// and LSE = -infinity. A tile of queries reads no block of K and V in which none sees a key.
//
// Precision: products of e4m3 numbers, summed in fp32 (by wgmma, which keeps fewer digits:
// wgmma.h). exp(S - m) times a power of two is rounded to e4m3 for the product with V, as the
// tensor cores want it; m is such that 448 is never exceeded and that the row's largest weights are
// above 32. l sums what was not rounded. O is rounded to bf16 once; LSE is in fp32. All numbers are
// finite, scales are at least 2^-70 and at most 2^60, and the scores are finite, also times
// log2(e).
//
// Q, K, V^T and the scales are packed, as the first call writes them. O has strides of its own:
// elements that these jump over are not written. Q, K, V^T and every row of O begin at multiples of
// 16 bytes, scales, LSE and tickets at multiples of 4. Two inputs may be one array; outputs overlap
// nothing. The tickets are 0 before the first call, and each call leaves them so. Nothing is
// allocated, and each element of O and LSE is stored once. The kernel runs in the default stream;
// the launcher does not wait for it.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1; H_q no multiple of H_k, or H_k = 0 and H_q > 0
//     COURSE_UNSUPPORTED   d neither 64 nor 128; more than 2^31 - 1 tiles of 64 queries, B * H_q *
//                          ceil(N_q / 64); a scale not above 0
//     COURSE_OK            B, N_q or H_q is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with N_k = 0, those of K and V may be NULL, and their
//                          scales); a negative stride; a row stride below d
//     COURSE_UNSUPPORTED   an array at no multiple of 16 bytes, a stride of O that is no multiple
//                          of 8 elements or 2^39 and more, which TMA cannot take
//     COURSE_UNSUPPORTED   the device is no Hopper GPU
//     COURSE_CUDA_ERROR    the launch failed
//     COURSE_OK            launched
int low_precision(bf16* O_gpu,                // (B, N_q, H_q, d)          out
                  float* LSE_gpu,             // (B, H_q, N_q)             out
                  const e4m3* Q_gpu,          // (B, H_q, N_q, d)
                  const e4m3* K_gpu,          // (B, H_k, N_k, d)
                  const e4m3* Vt_gpu,         // (B, H_k, d, PADDED(N_k))  keys in the order above
                  const float* Q_scales_gpu,  // (B, H_q, T_q), or (1)
                  const float* K_scales_gpu,  // (B, H_k, T_k), or (1)
                  const float* V_scales_gpu,  // (B, H_k, T_k), or (1)
                  int B, int N_q, int N_k, int H_q, int H_k, int d,
                  struct strides stride_o,  // in elements, .n at least d
                  float scale,              // what q k^T is multiplied by, > 0
                  int causal,               // 0: every query sees every key
                  int per_block,            // whether the scales are of blocks; 0: each is (1)
                  int* tickets_gpu);        // (2)  zeros; zeros again after the call

COURSE_END_C

#endif
