// hopper_matmul.h: the contract of lesson 24.
//
// C = A B                                  (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j],  0 <= i < M, 0 <= j < N, 0 <= k < K
//
// Lesson 07's product for Hopper GPUs (sm_90), with strides, and with a flag each that says whether
// A and B are stored transposed: the weights of a linear layer are (N, K), and a gradient needs the
// transpose of what it is the gradient of.
#ifndef HOPPER_MATMUL_H
#define HOPPER_MATMUL_H

#include "course.h"

// No size may be larger: tiles of 64 x 64 or more elements of C are counted in one int.
enum { HOPPER_MATMUL_MAX_SIZE = 1000000 };

COURSE_BEGIN_C

// Multiplies two matrices of bfloat16 on the default stream. Products are summed in float, and the
// sum is rounded to bfloat16 once, at the end, to nearest (ties to even).
//
// The matrices are device memory owned by the caller, row-major. A stride is the distance in
// elements from the beginning of a row to that of the next one; what lies between two rows is
// neither read nor written, and may be NaN. C overlaps neither A nor B. What C held before does not
// matter. A NaN or an infinity in A shows in its row of C and nowhere else, one in B in its column.
// Nothing is allocated, and the launcher does not wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  M, N or K is negative; a flag is neither 0 nor 1
//   COURSE_UNSUPPORTED   M, N or K is above HOPPER_MATMUL_MAX_SIZE
//   COURSE_OK            M = 0 or N = 0: C has no elements, and pointers and strides may be
//                        anything
//   COURSE_BAD_ARGUMENT  C is NULL, or stride_C is smaller than N; or K > 0, and A or B is NULL, or
//                        their stride is smaller than their rows (K or M, N or K)
//   COURSE_UNSUPPORTED   what TMA cannot copy: a matrix that does not begin at a multiple of 16
//                        bytes, or a stride that is no multiple of 8 elements or is 2^39 or
//                        more. Of A and B only if K > 0
//   COURSE_UNSUPPORTED   the device is no Hopper GPU
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way. K = 0: C becomes 0
int hopper_matmul(bf16* C_gpu,        // (M, N)  out
                  const bf16* A_gpu,  // (M, K), or (K, M) if transpose_A is 1
                  const bf16* B_gpu,  // (K, N), or (N, K) if transpose_B is 1
                  int M,              // rows of C
                  int N,              // columns of C
                  int K,              // terms of a sum
                  int64_t stride_C, int64_t stride_A, int64_t stride_B, int transpose_A,
                  int transpose_B);

COURSE_END_C

#endif
