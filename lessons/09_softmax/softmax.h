// softmax.h: the softmax of every row of x.
//
// For each row i of x:
//     m       = max_j x[i][j]                  (README eq. 1)
//     l       = sum_j exp(x[i][j] - m)
//     y[i][j] = exp(x[i][j] - m) / l
// Source: the textbook's softmax, shifted so that no exponential overflows; its error is bounded in
// Blanchard, Higham and Higham 2021, "Accurately computing the log-sum-exp and softmax functions".
#ifndef SOFTMAX_H
#define SOFTMAX_H

#include "course.h"

COURSE_BEGIN_C

// The widest row: columns can be counted in int.
#define SOFTMAX_MAX_COLS (1 << 30)

// Everything is fp32 in device memory and belongs to the caller; y and x do not overlap. Pointers
// are aligned to 4 bytes and no more: a row may start anywhere. The launcher uses the default
// stream and does not wait for the kernel; it allocates nothing.
//
// x may hold -inf (a masked score): there y is 0. A row of nothing but -inf gives a row of zeros.
// With a NaN or +inf in a row, that row of y is unspecified.
// The elements between the rows of x (stride_x > cols) may hold anything and do not count. The
// elements between the rows of y stay as they are.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  rows < 0, cols < 1 or a stride < cols
//   COURSE_OK            rows = 0: nothing is touched, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  a pointer is NULL
//   COURSE_UNSUPPORTED   rows > 2^31 - 1 or cols > SOFTMAX_MAX_COLS
//   COURSE_CUDA_ERROR    the launch was refused
//   COURSE_OK            the launch is on its way
int softmax(float* y,           // (rows, cols): each row adds up to 1
            const float* x,     // (rows, cols): the scores
            int64_t rows,       // >= 0
            int64_t cols,       // 1 .. SOFTMAX_MAX_COLS
            int64_t stride_y,   // elements from one row of y to the next, >= cols
            int64_t stride_x);  // elements from one row of x to the next, >= cols

COURSE_END_C

#endif
