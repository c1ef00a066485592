// transpose.h: the contract of lesson 02.
//
// out = in^T                               (README eq. 1)
// out[c][r] = in[r][c],  0 <= r < rows, 0 <= c < cols
//
// Nothing is computed, so nothing hides how memory is used. Lesson 06 transposes a tile on its
// way to shared memory in this manner, and lesson 12 pads its tiles.
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include "course.h"

COURSE_BEGIN_C

// Transposes a matrix of floats on the default stream, by a kernel. out is complete when the stream
// has been waited for.
//
// Both matrices are device memory owned by the caller, row-major and packed: a row begins where the
// previous row ends, aligned to 4 bytes (one float) and no more. out does not overlap in. What out
// held before does not matter. Every element arrives as it is, NaN, infinity and the smallest
// numbers included. Nothing is allocated, and the launcher does not wait.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  rows or cols is negative
//   COURSE_OK            rows = 0 or cols = 0: there are no elements, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  out or in is NULL
//   COURSE_CUDA_ERROR    the launch failed
//   COURSE_OK            the launch is on its way
int transpose(float* out,       // (cols, rows)  out
              const float* in,  // (rows, cols)
              int rows,         // rows of in, columns of out; any size
              int cols);        // columns of in, rows of out; any size

COURSE_END_C

#endif
