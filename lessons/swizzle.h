// from lesson 08: swizzle.h: tiles in shared memory, as ldmatrix wants them.
//
// Lesson 07 taught the exchange of pieces and the fragments. Later lessons call this code.
#ifndef COURSE_SWIZZLE_H
#define COURSE_SWIZZLE_H

#include <cuda_bf16.h>

#include "course.h"
#include "ptx.h"

enum {
    PIECE = 8,  // elements in 16 bytes: what is copied together, and a row of ldmatrix
};

// Where element (n, x) of a tile with rows of `width` elements is; width is a multiple of 64. The
// pieces of 8 rows that ldmatrix reads together lie in different banks (lesson 07, eq. 3).
// The place is an xor of n and x. So the element 16 j columns and 8 i rows further is at
//     swizzled(n + 8 i, x + 16 j) = (swizzled(n, x) ^ 16 j) + 8 i width    if x < 16
// That is one instruction; a second swizzled() would take many, or a register for each j.
template <int width> __device__ __forceinline__ int swizzled(int n, int x) {
    int piece = x / PIECE ^ n % 8;
    return n * width + piece * PIECE + x % PIECE;
}

// The A fragment of the 16 x 16 elements of a tile that begin at row n and column x.
template <int width>
__device__ __forceinline__ void load_A(unsigned a[4], const bf16* tile, int n, int x) {
    int lane = threadIdx.x % 32;
    ldmatrix_x4(a, &tile[swizzled<width>(n + lane % 16, x + lane / 16 * 8)]);
}

#endif
