// tensor_core_matmul.h: the contract of lesson 07.
//
// C = A B                                  (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j],  0 <= i < M, 0 <= j < N, 0 <= k < K
//
// Lesson 05's product in bfloat16: the two products of attention (lesson 14) are made of its parts.
#ifndef TENSOR_CORE_MATMUL_H
#define TENSOR_CORE_MATMUL_H

#include "course.h"

// No size may be larger: the grid counts the tiles of C, each of at least 32 x 32 elements, in one
// int.
enum { TENSOR_CORE_MATMUL_MAX_SIZE = 1000000 };

COURSE_BEGIN_C

// Multiplies two matrices of bfloat16 on the default stream. Products are summed in float, and the
// sum is rounded to bfloat16 once, at the end, to nearest (ties to even). bfloat16 has the range of
// float and 8 bits of precision.
//
// The matrices are device memory owned by the caller, row-major and packed: a row begins where the
// previous row ends, whatever its length. The matrices and their rows are aligned to 2 bytes and no
// more. Where they are aligned to 16, as cudaMalloc and rows of a multiple of 8 elements make them,
// the product is expected to be fast. C overlaps neither A nor B. What C held before does not
// matter. A NaN or an infinity in A shows in its row of C and nowhere else. A NaN or an infinity in
// B shows in its column of C and nowhere else. Nothing is allocated, and the launcher does not
// wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  M, N or K is negative
//   COURSE_UNSUPPORTED   M, N or K is above TENSOR_CORE_MATMUL_MAX_SIZE
//   COURSE_OK            M = 0 or N = 0: C has no elements, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  C is NULL; or K > 0 and A or B is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way. K = 0: C becomes 0, and A and B may be NULL
int tensor_core_matmul(bf16* C_gpu,        // (M, N)  out
                       const bf16* A_gpu,  // (M, K)
                       const bf16* B_gpu,  // (K, N)
                       int M,              // rows of A and C
                       int N,              // columns of B and C
                       int K);             // columns of A, rows of B

COURSE_END_C

#endif
