// matmul_coalesced.h: the contract of lesson 04.
//
// C = A B                                  (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j],  0 <= i < M, 0 <= j < N, 0 <= k < K
//
// Twice: with a thread for each element, and by a grid of a given size. And a function that says
// how a grid runs: how many of its blocks at once, and in how many waves.
#ifndef MATMUL_COALESCED_H
#define MATMUL_COALESCED_H

#include "course.h"

// No size may be larger: a grid has at most 65535 rows of blocks, each for at least 8 matrix rows.
enum { MATMUL_COALESCED_MAX_SIZE = 500000 };

// What a card has, as CUDA's tables state it. Memory is in bytes.
struct card {
    int multiprocessors;
    int threads, blocks, registers;  // that one multiprocessor holds at once
    size_t shared;                   // shared memory of one multiprocessor
    size_t shared_block;             // of which a single block may ask for so much
};

COURSE_BEGIN_C

// Multiplies two matrices of floats on the default stream, with one thread for each element of C;
// sums are kept in float. C is complete when the stream has been waited for.
//
// The matrices are device memory owned by the caller, row-major and packed: a row begins where the
// previous row ends, aligned to 4 bytes (one float) and no more. C overlaps neither A nor B. What C
// held before does not matter. A NaN or an infinity in A shows in its row of C and nowhere else. A
// NaN or an infinity in B shows in its column of C and nowhere else. Nothing is allocated, and the
// launcher does not wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  M, N or K is negative
//   COURSE_UNSUPPORTED   M, N or K is above MATMUL_COALESCED_MAX_SIZE
//   COURSE_OK            M = 0 or N = 0: C has no elements, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  C is NULL; or K > 0 and A or B is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way. K = 0: C becomes 0, and A and B may be NULL
int matmul_coalesced(float* C,        // (M, N)  out
                     const float* A,  // (M, K)
                     const float* B,  // (K, N)
                     int M,           // rows of A and C
                     int N,           // columns of B and C
                     int K);          // columns of A, rows of B

// The same by one launch of exactly `blocks` blocks, whatever the sizes of the matrices: they
// stride over the elements of C, and each element is computed and stored once. There may be far
// more threads than elements, and more than 2^32. Returns the same, and COURSE_BAD_ARGUMENT before
// all else if blocks < 1.
int matmul_coalesced_grid(float* C,        // (M, N)  out
                          const float* A,  // (M, K)
                          const float* B,  // (K, N)
                          int M, int N, int K,
                          int blocks);  // >= 1

// How many blocks of a kernel a multiprocessor of the card holds at once, and in how many waves
// its grid runs. It computes on the host, asks no device, and knows of the card only what `card`
// says. The rules (CUDA C++ Programming Guide, and cuda_occupancy.h of the CUDA Toolkit) are the
// same for all cards since 2020:
//
//   - A block has 1 to 1024 threads, each with at most 255 registers, and at most shared_block
//     bytes of shared memory. Any other fits on no multiprocessor.
//   - A multiprocessor holds at most `blocks` blocks, and threads / 32 warps. A block takes whole
//     warps: with 33 threads, two.
//   - Registers belong to the 4 partitions of a multiprocessor, a quarter to each. A warp stays in
//     one partition and gets the registers of its 32 threads there, rounded up to a multiple of
//     256. The warps of a block may be in different partitions.
//   - A block takes 1024 bytes of shared memory more than it asks for, and all of that is rounded
//     up to a multiple of 128.
//
// A wave is as many blocks as all multiprocessors hold at once. The last wave may be partly filled.
// Returns the number of waves: 0 for a grid of no blocks; -1, for every grid, if not one block
// fits.
int64_t matmul_coalesced_waves(const struct card* card,
                               int threads,               // of a block; any number
                               int registers,             // of a thread, >= 0; 0: unknown, no limit
                               size_t shared,             // bytes that a block asks for, any number
                               int64_t blocks,            // of the grid, 0 to (2^31 - 1) 65535^2
                               int* per_multiprocessor);  // out: blocks, 0 if not one fits

COURSE_END_C

#endif
