// row.h: the numbers of a row, in double.
#ifndef ROWS_ROW_H
#define ROWS_ROW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// max_j x_j; -infinity of nothing; a NaN does not count.
static inline double row_max(const double* x, int64_t n) {
    double m = -INFINITY;
    for (int64_t j = 0; j < n; j++) m = fmax(m, x[j]);
    return m;
}

// The larger of a and b if the bits of floats are compared as integers, with sign or without.
static inline double larger_bits(double a, double b, bool without_sign) {
    const float f[2] = {(float)a, (float)b};
    int32_t bits[2];
    memcpy(bits, f, sizeof bits);
    bool second = without_sign ? (uint32_t)bits[1] > (uint32_t)bits[0] : bits[1] > bits[0];
    return second ? b : a;
}

// Threads that share a row go on by fewer elements than there are threads, `step`: how often is
// element j counted? By all threads that get to it, `most` in all. And the variants of a hypothesis
// for it.
enum { COUNTED_STEPS = 12, COUNTED_AGAIN = 10 * COUNTED_STEPS };
static inline int64_t counted_times(int variant, int64_t j) {
    const int64_t step = (int64_t)1 << variant % COUNTED_STEPS;
    const int64_t most = (int64_t)2 << variant / COUNTED_STEPS;
    return j / step + 1 < most ? j / step + 1 : most;
}

// sum_j exp(x_j - shift)
static inline double row_sum_exp(const double* x, int64_t n, double shift) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp(x[j] - shift);
    return sum;
}

#endif
