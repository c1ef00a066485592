// product.h: the product of lesson 06 as it should be, and as mistakes would make it. For check.c.
#ifndef PRODUCT_H
#define PRODUCT_H

#include <math.h>
#include <stdlib.h>

#include "check/check.h"

// Columns first .. first + cols of an array with `stride` columns.
struct matrix {
    struct tensor* t;  // (rows, stride)
    int64_t rows, cols, stride, first;
};

struct product {
    struct matrix C, A, B;  // (M, N), (M, K), (K, N)
};

static int64_t place(struct matrix m, int64_t row, int64_t col) {
    return row * m.stride + m.first + col;
}

// C = A B in double                        (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j]; and what stands around C is not to be touched
static void product(struct product p) {
    for (int64_t i = 0; i < p.C.t->count; i++) {
        int64_t col = i % p.C.stride - p.C.first;
        p.C.t->untouched[i] = col < 0 || col >= p.C.cols;
    }
    for (int64_t i = 0; i < p.C.rows; i++) {
        double* C = p.C.t->want + place(p.C, i, 0);
        for (int64_t j = 0; j < p.C.cols; j++) C[j] = 0;
        for (int64_t k = 0; k < p.A.cols; k++) {
            double a = p.A.t->value[place(p.A, i, k)];
            const double* B = p.B.t->value + place(p.B, k, 0);
            for (int64_t j = 0; j < p.C.cols; j++) C[j] += a * B[j];
        }
    }
}

// ---- diagnosis: compute what a mistake would give, and compare

struct evidence {
    struct product p;
    const double* first_B;  // of the first round
    struct budget budget;
    double* guess;  // like C
};

// The k-th term of C[i][j]; `size` is what a mistaken kernel takes for its tile or a row length.
struct at {
    int64_t size, i, k, j;
};
typedef double term(const struct evidence* e, struct at at);

// Is C the sum of these terms, k < limit?
static bool is_sum(const struct evidence* e, term* mistaken, int64_t size, int64_t limit) {
    struct matrix C = e->p.C;
    for (int64_t i = 0; i < C.rows; i++) {
        for (int64_t j = 0; j < C.cols; j++) {
            double sum = 0, got = C.t->got[place(C, i, j)];
            for (int64_t k = 0; k < limit; k++) sum += mistaken(e, (struct at){size, i, k, j});
            if (fabs(sum - got) > e->budget.max || isnan(sum) != isnan(got)) return false;
            e->guess[place(C, i, j)] = sum;
        }
    }
    return check_matches(C.t, e->guess, e->budget);
}

// An element by row and column; a tile holds 0 outside its matrix.
static double tile(struct matrix m, int64_t row, int64_t col) {
    return row < m.rows && col < m.cols ? m.t->value[place(m, row, col)] : 0;
}

// An element by its distance from the matrix's first, in memory; around every array lies a guard band of NaN.
static double flat(struct matrix m, int64_t distance) {
    int64_t at = m.first + distance;
    return at < m.t->count ? m.t->value[at] : NAN;
}

static double right(const struct evidence* e, struct at at) {
    return tile(e->p.A, at.i, at.k) * tile(e->p.B, at.k, at.j);
}

static double later(const struct evidence* e, struct at at) {
    return at.k < at.size ? 0 : right(e, at);
}

// Beyond K, the last tile still holds the one that was there before, at.size <= K elements back.
static double stale_tail(const struct evidence* e, struct at at) {
    if (at.k < e->p.A.cols) return right(e, at);
    return tile(e->p.A, at.i, at.k - at.size) * tile(e->p.B, at.k - at.size, at.j);
}

// The same, but the last four elements that begin below K are whole: with zeros.
static double stale_fours(const struct evidence* e, struct at at) {
    return at.k < (e->p.A.cols + 3) / 4 * 4 ? right(e, at) : stale_tail(e, at);
}

static double A_row_length(const struct evidence* e, struct at at) {
    return flat(e->p.A, at.i * at.size + at.k) * tile(e->p.B, at.k, at.j);
}

static double B_row_length(const struct evidence* e, struct at at) {
    return tile(e->p.A, at.i, at.k) * flat(e->p.B, at.k * at.size + at.j);
}

// The tile of A, 128 rows of `size` elements, is stored in the order it is read in and taken for its transpose.
static double A_not_turned(const struct evidence* e, struct at at) {
    enum { ROWS = 128 };
    int64_t n = at.k % at.size * ROWS + at.i % ROWS;
    int64_t row = at.i - at.i % ROWS + n / at.size, k = at.k - at.k % at.size + n % at.size;
    return tile(e->p.A, row, k) * tile(e->p.B, at.k, at.j);
}

static double stale_B(const struct evidence* e, struct at at) {
    return tile(e->p.A, at.i, at.k) * e->first_B[place(e->p.B, at.k, at.j)];
}

// Is any sum a number? NaN throughout may come from anywhere.
static bool has_numbers(struct matrix C) {
    for (int64_t i = 0; i < C.rows; i++)
        for (int64_t j = 0; j < C.cols; j++)
            if (!isnan(C.t->got[place(C, i, j)])) return true;
    return false;
}

static enum cause explain_sum(const struct evidence* e) {
    int64_t N = e->p.C.cols, K = e->p.A.cols;
    for (int64_t T = 4; T <= 32; T *= 2) {
        int64_t end = (K + T - 1) / T * T;
        if (is_sum(e, right, 0, K - K % T)) return CAUSE_inner_tail;
        for (int64_t back = T; back <= 4 * T && back <= K; back += T)
            if (is_sum(e, stale_tail, back, end) || is_sum(e, stale_fours, back, end))
                return CAUSE_inner_tail;
        if (is_sum(e, A_not_turned, T, end)) return CAUSE_transposed;
    }
    for (int64_t T = 1; T <= 32 && T < K; T *= 2)
        if (is_sum(e, later, T, K) || is_sum(e, right, 0, K - T)) return CAUSE_tile_skipped;
    if (K != e->p.A.stride && is_sum(e, A_row_length, K, K)) return CAUSE_stride_ignored;
    if (N != e->p.B.stride && is_sum(e, B_row_length, N, K)) return CAUSE_stride_ignored;
    int64_t sizes[] = {e->p.C.rows, N, K, e->p.C.stride, e->p.A.stride, e->p.B.stride};
    for (int i = 0; i < 6 && has_numbers(e->p.C); i++) {
        if (is_sum(e, A_row_length, sizes[i], K)) return CAUSE_swapped_sizes;
        if (is_sum(e, B_row_length, sizes[i], K)) return CAUSE_swapped_sizes;
        if (is_sum(e, right, 0, sizes[i])) return CAUSE_swapped_sizes;
    }
    if (is_sum(e, stale_B, 0, K)) return CAUSE_stale_state;
    return CAUSE_NONE;
}

// Does C[i][j] stand i * row_length + j after C[0][0]?
static bool is_stored_by(struct matrix C, int64_t row_length) {
    if (row_length == C.stride || (C.rows - 1) * row_length + C.cols > C.t->count - C.first)
        return false;
    for (int64_t i = 0; i < C.rows; i++)
        for (int64_t j = 0; j < C.cols; j++)
            if (C.t->got[C.first + i * row_length + j] != C.t->want[place(C, i, j)]) return false;
    return true;
}

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// Are all sums there, each once, some of them at the places of others?
static bool is_moved(struct matrix C, struct budget budget) {
    size_t n = (size_t)(C.rows * C.cols);
    double* sums = calloc(2 * n, sizeof(double));
    bool same = sums != NULL;
    for (int64_t i = 0; same && i < C.rows; i++)
        for (int64_t j = 0; j < C.cols; j++) {
            double got = C.t->got[place(C, i, j)], want = C.t->want[place(C, i, j)];
            sums[i * C.cols + j] = isnan(got) ? INFINITY : got;  // NaN has no place in an order
            sums[(int64_t)n + i * C.cols + j] = isnan(want) ? INFINITY : want;
        }
    if (same) {
        qsort(sums, n, sizeof sums[0], ascending);
        qsort(sums + n, n, sizeof sums[0], ascending);
        for (size_t i = 0; same && i < n; i++)
            same = sums[i] == sums[n + i] || fabs(sums[i] - sums[n + i]) <= budget.max;
    }
    free(sums);
    return same;
}

// NaN where it does not belong, and else all is right. (If all is NaN, it comes from elsewhere: from
// shared memory that nothing was written to, which the instrumented build finds.)
static bool is_leak(struct matrix C) {
    int64_t wanted = 0, nan = 0;
    for (int64_t i = 0; i < C.t->count; i++) {
        if (C.t->untouched[i]) continue;
        if (!isnan(C.t->got[i]) && C.t->got[i] != C.t->want[i]) return false;
        wanted += isnan(C.t->want[i]);
        nan += isnan(C.t->got[i]);
    }
    return wanted > 0 && nan > wanted && nan < C.rows * C.cols;
}

// The cause if C, as it is, is what a known mistake gives.
static enum cause explain_product(struct product p, const double* first_B, struct budget budget) {
    struct evidence e = {.p = p, .first_B = first_B, .budget = budget};
    e.guess = calloc((size_t)p.C.t->count, sizeof(double));
    if (e.guess == NULL) return CAUSE_NONE;
    enum cause cause = explain_sum(&e);
    free(e.guess);
    if (cause) return cause;
    if (is_stored_by(p.C, p.C.cols)) return CAUSE_stride_ignored;
    if (is_stored_by(p.C, p.A.stride) || is_stored_by(p.C, p.A.cols)) return CAUSE_swapped_sizes;
    if (is_leak(p.C)) return CAUSE_nan_leak;
    return is_moved(p.C, budget) ? CAUSE_sums_moved : CAUSE_NONE;
}

#endif
