// online_softmax.h: the softmax state of every row of x, in one pass.
//
// For each row i of x:
//     m[i] = max_j x[i][j]
//     l[i] = sum_j exp(x[i][j] - m[i])
// These two numbers give softmax(x)[i][j] = exp(x[i][j] - m[i]) / l[i] and the logarithm of the
// row's sum of exponentials, LSE[i] = m[i] + ln l[i].
// Source: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
#ifndef ONLINE_SOFTMAX_H
#define ONLINE_SOFTMAX_H

#include "course.h"

COURSE_BEGIN_C

// Everything is fp32 in device memory and belongs to the caller; m, l and x do not overlap.
// Pointers are aligned to 4 bytes and no more: a row may start anywhere. m must be the exact
// maximum, l is the sum in fp32. The launcher uses the default stream and does not wait for the
// kernel; it allocates nothing.
//
// Scores may be of any size: a row of nothing but -1e30, which some take for a mask, is a row of
// equal scores, and its l is cols. x may hold -inf (a masked score): it adds nothing to l. A row of
// nothing but -inf gives m = -inf and l = 0. With a NaN or +inf in a row, the m and l of that row
// are unspecified. The elements between the rows (stride_row > cols) may hold anything and do not
// count.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  rows < 0, cols < 1 or stride_row < cols
//   COURSE_OK            rows = 0: nothing is touched, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  a pointer is NULL
//   COURSE_UNSUPPORTED   rows > 2^31 - 1
//   COURSE_CUDA_ERROR    the launch was refused
//   COURSE_OK            the launch is on its way
int online_softmax(float* m,             // (rows): the maximum of each row
                   float* l,             // (rows): the sum of exp(x - m) over each row
                   const float* x,       // (rows, cols): the scores
                   int64_t rows,         // >= 0
                   int64_t cols,         // >= 1
                   int64_t stride_row);  // elements from one row of x to the next, >= cols

COURSE_END_C

#endif
