// maxima.h: the state of a row, and mistakes in which m is not the largest score, but l fits it.
// For mistakes.h.
#ifndef MAXIMA_H
#define MAXIMA_H

#include <math.h>

#include "base/dtype.h"
#include "rows/mistakes.h"

// m = max_j x_j,  l = sum_j exp(x_j - m)                                  (README eq. 1, 2)
static struct pair state_of(const double* x, int64_t n) {
    double m = row_max(x, n);
    return (struct pair){{m, m > -INFINITY ? row_sum_exp(x, n, m) : 0}};
}

// What a kernel writes: l overflows where a float does. A NaN stands for an unknown value.
static struct pair written(double m, double l) {
    return (struct pair){{m, isnan(l) ? ANYTHING : dtype_round(F32, l)}};
}

// The same of the first n numbers.
static struct pair written_of(const double* x, int64_t n) {
    struct pair p = state_of(x, n);
    return written(p.number[0], p.number[1]);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static double largest_of(const double* x, int64_t begin, int64_t end, int64_t step) {
    double m = -INFINITY;
    for (int64_t j = begin; j < end; j += step) m = fmax(m, x[j]);
    return m;
}

// m is another one, and l fits it: no score is lost.
static struct pair other_maximum(const struct batch* b, int64_t row, double m) {
    if (m != b->out[0]->got[row]) return (struct pair){{m, ANYTHING}};
    return written(m, row_sum_exp(batch_row(b, row), b->cols, m));
}

// The bits of negative floats compare, as integers, the other way round, and those of -0 are the
// least: m is the smallest of what threads have kept, 32 to 16384 of them, or all of them; or
// blocks, of so many scores in a row.
enum { OF_THREADS = 10, OF_BLOCK = 256, BLOCK_SIZES = 260, PARTS = OF_THREADS + 1 + BLOCK_SIZES };
static struct pair bits_compared(const struct batch* b, int64_t row, int variant) {
    const int64_t n = b->cols, block = OF_BLOCK * (int64_t)(variant - OF_THREADS);
    const int64_t threads = variant < OF_THREADS ? (int64_t)32 << variant : n;
    const double want = b->out[0]->want[row], got = b->out[0]->got[row], *x = batch_row(b, row);
    double m = INFINITY;
    if (!signbit(want) || !isfinite(got) || block >= n) return pair_wanted(b, row);
    for (int64_t t = 0; block <= 0 && t < smaller(threads, n); t++) {
        const double kept = largest_of(x, t, n, threads);
        if (kept != 0) m = fmin(m, kept);
    }
    for (int64_t j = 0; block > 0 && j < n; j += block) {
        const double kept = largest_of(x, j, smaller(j + block, n), 1);
        if (kept != 0) m = fmin(m, kept);
    }
    return other_maximum(b, row, m);
}

// Bits are put in the order of floats, but those of -0, the least of all integers, below all.
static struct pair zero_least(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    double m = -INFINITY;
    (void)variant;
    for (int64_t j = 0; j < b->cols; j++)
        if (x[j] != 0 || !signbit(x[j])) m = fmax(m, x[j]);
    return m > -INFINITY ? other_maximum(b, row, m) : pair_wanted(b, row);
}

// m is one of the scores, but not the largest one, and l fits this m: no score is lost.
static struct pair max_stale(const struct batch* b, int64_t row, int variant) {
    double got = b->out[0]->got[row];
    int64_t j = 0;
    (void)variant;
    while (j < b->cols && batch_row(b, row)[j] != got) j++;
    if (!(got < b->out[0]->want[row]) || j == b->cols) return pair_wanted(b, row);
    return written(got, row_sum_exp(batch_row(b, row), b->cols, got));
}

#endif
