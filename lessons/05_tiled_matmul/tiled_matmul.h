// tiled_matmul.h: the contract of lesson 05.
//
// C = A B                                  (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j],  0 <= i < M, 0 <= j < N, 0 <= k < K
//
// The inner loop of attention is this product twice; lessons 06 and 07 make the product fast.
#ifndef TILED_MATMUL_H
#define TILED_MATMUL_H

#include "course.h"

// No size may be larger: a grid has at most 65535 rows of blocks, each for at least 8 matrix rows.
enum { TILED_MATMUL_MAX_SIZE = 500000 };

COURSE_BEGIN_C

// Multiplies two matrices of floats on the default stream; sums are kept in float. C is complete
// when the stream has been waited for.
//
// The matrices are device memory owned by the caller, row-major and packed: a row begins where the
// previous row ends, aligned to 4 bytes (one float) and no more. C overlaps neither A nor B. What C
// held before does not matter. A NaN or an infinity in A shows in its row of C and nowhere else. A
// NaN or an infinity in B shows in its column of C and nowhere else. Nothing is allocated, and the
// launcher does not wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  M, N or K is negative
//   COURSE_UNSUPPORTED   M, N or K is above TILED_MATMUL_MAX_SIZE
//   COURSE_OK            M = 0 or N = 0: C has no elements, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  C is NULL; or K > 0 and A or B is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way. K = 0: C becomes 0, and A and B may be NULL
int tiled_matmul(float* C,        // (M, N)  out
                 const float* A,  // (M, K)
                 const float* B,  // (K, N)
                 int M,           // rows of A and C
                 int N,           // columns of B and C
                 int K);          // columns of A, rows of B

COURSE_END_C

#endif
