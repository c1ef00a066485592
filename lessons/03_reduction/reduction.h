// reduction.h: the sum and the maximum of every row of x.
//
// For each row i of x:
//     sum[i] = sum_j x[i][j]                  (README eq. 1)
//     max[i] = max_j x[i][j]
// Source: any parallel reduction; the shape of the tree is in Harris 2007, "Optimizing Parallel
// Reduction in CUDA", its error bound in Higham 1993, "The Accuracy of Floating Point Summation".
#ifndef REDUCTION_H
#define REDUCTION_H

#include "course.h"

COURSE_BEGIN_C

// Everything is fp32 in device memory and belongs to the caller; sum, max and x do not overlap.
// Pointers are aligned to 4 bytes and no more: a row may start anywhere. The launcher uses the
// default stream and does not wait for the kernel; it allocates nothing.
//
// max must be the exact maximum; of -0 and +0, which are equal, either. sum is added in fp32 or
// better, in any order.
// Any float may stand in x:
//     -inf, +inf, NaN  add as IEEE 754 says: a NaN, or both infinities, in a row make its sum NaN
//     NaN              is skipped by max, as fmaxf does; a row of nothing but NaN has max -inf
// The sum of a row whose partial sums do not fit into a float is unspecified.
// The elements between the rows (stride_row > cols) may hold anything and do not count.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  rows < 0, cols < 1 or stride_row < cols
//   COURSE_OK            rows = 0: nothing is touched, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  a pointer is NULL
//   COURSE_UNSUPPORTED   rows > 2^31 - 1
//   COURSE_CUDA_ERROR    the launch was refused
//   COURSE_OK            the launch is on its way
int reduction(float* sum,           // (rows): the sum of each row
              float* max,           // (rows): the maximum of each row
              const float* x,       // (rows, cols)
              int64_t rows,         // >= 0
              int64_t cols,         // >= 1
              int64_t stride_row);  // elements from one row of x to the next, >= cols

COURSE_END_C

#endif
