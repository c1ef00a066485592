// row.h: the numbers of a row, in double.
#ifndef ROWS_ROW_H
#define ROWS_ROW_H

#include <math.h>
#include <stdint.h>

// max_j x_j; -infinity of nothing; a NaN does not count.
static inline double row_max(const double* x, int64_t n) {
    double m = -INFINITY;
    for (int64_t j = 0; j < n; j++) m = fmax(m, x[j]);
    return m;
}

// sum_j exp(x_j - shift)
static inline double row_sum_exp(const double* x, int64_t n, double shift) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp(x[j] - shift);
    return sum;
}

#endif
