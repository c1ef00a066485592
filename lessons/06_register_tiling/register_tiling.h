// register_tiling.h: the contract of lesson 06.
//
// C = A B                                  (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j],  0 <= i < M, 0 <= j < N, 0 <= k < K
//
// Lesson 05's product, of matrices that may be parts of larger matrices, as fast as fp32 goes.
#ifndef REGISTER_TILING_H
#define REGISTER_TILING_H

#include "course.h"

// No size may be larger: the grid counts the tiles of C, each of at least 32 x 32 elements, in one
// int.
enum { REGISTER_TILING_MAX_SIZE = 1000000 };

COURSE_BEGIN_C

// Multiplies two matrices of floats on the default stream; sums are kept in float. C is complete
// when the stream has been waited for.
//
// The matrices are device memory owned by the caller, aligned to 4 bytes (one float) and no more.
// Each row is contiguous, and the next row begins `stride` elements after its beginning. The
// elements between the rows (stride > length) belong to somebody else: they may hold anything, and
// are neither used nor written. The product is expected to be fast if every matrix begins at a
// multiple of 16 bytes, every stride is a multiple of 16 bytes, and N and K are multiples of 4.
// cudaMalloc and usual sizes make them so. C overlaps neither A nor B. What C held before does not
// matter. A NaN or an infinity in A shows in its row of C and nowhere else. A NaN or an infinity in
// B shows in its column of C and nowhere else. Nothing is allocated, and the launcher does not
// wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  M, N or K is negative; stride_C < N, stride_A < K or stride_B < N
//   COURSE_UNSUPPORTED   M, N or K is above REGISTER_TILING_MAX_SIZE
//   COURSE_OK            M = 0 or N = 0: C has no elements, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  C is NULL; or K > 0 and A or B is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way. K = 0: C becomes 0, and A and B may be NULL
int register_tiling(float* C_gpu,        // (M, N)  out
                    const float* A_gpu,  // (M, K)
                    const float* B_gpu,  // (K, N)
                    int M,               // rows of A and C
                    int N,               // columns of B and C
                    int K,               // columns of A, rows of B
                    int64_t stride_C,    // elements from one row of C to the next, >= N
                    int64_t stride_A,    // of A, >= K
                    int64_t stride_B);   // of B, >= N

COURSE_END_C

#endif
