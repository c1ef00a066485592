// product.h: the product of lesson 07 as it should be, and as mistakes would make it. For check.c.
#ifndef PRODUCT_H
#define PRODUCT_H

#include <math.h>
#include <stdlib.h>

#include "check/check.h"
#include "base/dtype.h"

struct matrices {
    struct tensor *C, *A, *B;  // (M, N), (M, K), (K, N)
    int64_t M, N, K;
};

// C = A B in double, rounded to bf16 once                          (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j]
static void product(struct matrices m) {
    for (int64_t i = 0; i < m.M; i++) {
        double* C = m.C->want + i * m.N;
        for (int64_t j = 0; j < m.N; j++) C[j] = 0;
        for (int64_t k = 0; k < m.K; k++) {
            double a = m.A->value[i * m.K + k];
            for (int64_t j = 0; j < m.N; j++) C[j] += a * m.B->value[k * m.N + j];
        }
        for (int64_t j = 0; j < m.N; j++) C[j] = dtype_round(BF16, C[j]);
    }
}

// ---- diagnosis: compute what a mistake would give, and compare

struct evidence {
    struct matrices m;
    const double* first_B;  // of the first round
    struct budget budget;
    double* guess;  // (M, N)
};

// The k-th term of C[i][j]; `size` is what a mistaken kernel takes for its tile or a row length.
struct place {
    int64_t size, i, k, j;
};
typedef double term(const struct evidence* e, struct place p);

// Is C made of these sums over k < limit? `round_every`: terms after which they are rounded to bf16.
static bool is_sum_rounded(const struct evidence* e, term* mistaken, int64_t size, int64_t limit,
                           int64_t round_every) {
    for (int64_t i = 0; i < e->m.M; i++) {
        for (int64_t j = 0; j < e->m.N; j++) {
            double sum = 0, got = e->m.C->got[i * e->m.N + j];
            for (int64_t k = 0; k < limit; k++) {
                sum += mistaken(e, (struct place){size, i, k, j});
                if ((k + 1) % round_every == 0) sum = dtype_round(BF16, sum);
            }
            sum = dtype_round(BF16, sum);
            if (sum != got && !(isnan(sum) && isnan(got))) return false;
            e->guess[i * e->m.N + j] = sum;
        }
    }
    return check_matches(e->m.C, e->guess, e->budget);
}

static bool is_sum(const struct evidence* e, term* mistaken, int64_t size, int64_t limit) {
    return is_sum_rounded(e, mistaken, size, limit, INT64_MAX);
}

// An element by row and column; a tile holds 0 outside its matrix.
static double tile(const struct tensor* t, int64_t row, int64_t col) {
    int64_t rows = t->shape.dim[0], cols = t->shape.dim[1];
    return row < rows && col < cols ? t->value[row * cols + col] : 0;
}

static double right(const struct evidence* e, struct place p) {
    return tile(e->m.A, p.i, p.k) * tile(e->m.B, p.k, p.j);
}

static double later(const struct evidence* e, struct place p) {
    return p.k < p.size ? 0 : right(e, p);
}

// Each square of `size` rows and columns of A is transposed; next, of B.
static double A_turned(const struct evidence* e, struct place p) {
    int64_t y = p.i % p.size, x = p.k % p.size;
    return tile(e->m.A, p.i - y + x, p.k - x + y) * tile(e->m.B, p.k, p.j);
}

static double B_turned(const struct evidence* e, struct place p) {
    int64_t y = p.k % p.size, x = p.j % p.size;
    return tile(e->m.A, p.i, p.k) * tile(e->m.B, p.k - y + x, p.j - x + y);
}

// In each 16 x 16 of A, the 8 x 8 at the upper right and at the lower left have changed places.
static double A_exchanged(const struct evidence* e, struct place p) {
    int64_t other = (p.i & 8) != (p.k & 8) ? 8 : 0;
    return tile(e->m.A, p.i ^ other, p.k ^ other) * tile(e->m.B, p.k, p.j);
}

static double B_exchanged(const struct evidence* e, struct place p) {
    int64_t other = (p.k & 8) != (p.j & 8) ? 8 : 0;
    return tile(e->m.A, p.i, p.k) * tile(e->m.B, p.k ^ other, p.j ^ other);
}

// Row r is stored with its pieces of 8 exchanged and read as if it were not, or the other way round;
// a tile has `size` columns.
static double A_pieces(const struct evidence* e, struct place p) {
    int64_t wide = p.size < 64 ? p.size / 8 - 1 : 7;
    return tile(e->m.A, p.i, p.k ^ (p.i & wide) * 8) * tile(e->m.B, p.k, p.j);
}

static double B_pieces(const struct evidence* e, struct place p) {
    int64_t wide = p.size < 64 ? p.size / 8 - 1 : 7;
    return tile(e->m.A, p.i, p.k) * tile(e->m.B, p.k, p.j ^ (p.k & wide) * 8);
}

static double in_half(const struct evidence* e, struct place p) {
    return dtype_round(F16, tile(e->m.A, p.i, p.k)) * dtype_round(F16, tile(e->m.B, p.k, p.j));
}

// Beyond K, the last tile still holds the one that was in its buffer before, p.size <= K elements back.
static double stale_tail(const struct evidence* e, struct place p) {
    if (p.k < e->m.K) return right(e, p);
    return tile(e->m.A, p.i, p.k - p.size) * tile(e->m.B, p.k - p.size, p.j);
}

static double stale_B(const struct evidence* e, struct place p) {
    return tile(e->m.A, p.i, p.k) * e->first_B[p.k * e->m.N + p.j];
}

static enum cause explain_sum(const struct evidence* e) {
    int64_t K = e->m.K, padded = (K + 15) / 16 * 16;
    for (int64_t T = 8; T <= 128; T *= 2) {
        int64_t end = (K + T - 1) / T * T;
        if (is_sum(e, right, 0, K - K % T)) return CAUSE_inner_tail;
        if (K > T && is_sum(e, later, T, K)) return CAUSE_tile_skipped;
        for (int64_t back = T; back <= 4 * T && back <= K; back += T)
            if (is_sum(e, stale_tail, back, end)) return CAUSE_inner_tail;
        if (is_sum(e, A_turned, T, end) || is_sum(e, B_turned, T, end)) return CAUSE_transposed;
        if (T > 8 && (is_sum(e, A_pieces, T, end) || is_sum(e, B_pieces, T, end)))
            return CAUSE_swizzle;
        if (T >= 16 && is_sum_rounded(e, right, 0, K, T)) return CAUSE_low_precision;
    }
    if (is_sum(e, A_exchanged, 0, padded) || is_sum(e, B_exchanged, 0, padded))
        return CAUSE_fragment_order;
    if (is_sum(e, in_half, 0, K)) return CAUSE_half_range;
    if (is_sum(e, stale_B, 0, K)) return CAUSE_stale_state;
    return CAUSE_NONE;
}

// Is what stands at (i, j) the element of C at from(N, i, j)?
static bool is_moved(const struct evidence* e, int64_t (*from)(int64_t N, int64_t i, int64_t j)) {
    for (int64_t i = 0; i < e->m.M; i++)
        for (int64_t j = 0; j < e->m.N; j++) {
            int64_t at = from(e->m.N, i, j);
            e->guess[i * e->m.N + j] = at < e->m.C->count ? e->m.C->want[at] : 0;
        }
    return check_matches(e->m.C, e->guess, e->budget);
}

// Sums 2 and 3 of a lane go to the row below sums 0 and 1, not 8 rows below.
static int64_t rows_interleaved(int64_t N, int64_t i, int64_t j) {
    return (i / 16 * 16 + i % 16 / 2 + i % 2 * 8) * N + j;
}

// The halves of a register are exchanged.
static int64_t columns_exchanged(int64_t N, int64_t i, int64_t j) {
    return i * N + (j ^ 1);
}

// Is every sum truncated to bf16, instead of rounded to the nearest?
static bool is_truncated(const struct evidence* e) {
    for (int64_t i = 0; i < e->m.M; i++)
        for (int64_t j = 0; j < e->m.N; j++) {
            double sum = 0, *guess = &e->guess[i * e->m.N + j];
            for (int64_t k = 0; k < e->m.K; k++) sum += right(e, (struct place){0, i, k, j});
            *guess = dtype_round(BF16, sum);
            if (fabs(*guess) > fabs(sum)) *guess -= copysign(dtype_ulp(BF16, fabs(sum)), sum);
        }
    return check_matches(e->m.C, e->guess, e->budget);
}

// NaN where it does not belong, and else all is right. (If all is NaN, it comes from elsewhere: from
// shared memory that nothing was written to, which the instrumented build finds.)
static bool is_leak(const struct tensor* C) {
    int64_t wanted = 0, nan = 0;
    for (int64_t i = 0; i < C->count; i++) {
        if (!isnan(C->got[i]) && C->got[i] != C->want[i]) return false;
        wanted += isnan(C->want[i]);
        nan += isnan(C->got[i]);
    }
    return wanted > 0 && nan > wanted && nan < C->count;
}

// The cause if C, as it is, is what a known mistake gives.
static enum cause explain_product(struct matrices m, const double* first_B, struct budget budget) {
    struct evidence e = {.m = m, .first_B = first_B, .budget = budget};
    e.guess = calloc((size_t)m.C->count, sizeof(double));
    if (e.guess == NULL) return CAUSE_NONE;
    enum cause cause = explain_sum(&e);
    if (!cause && (is_moved(&e, rows_interleaved) || is_moved(&e, columns_exchanged)))
        cause = CAUSE_fragment_order;
    if (!cause && is_truncated(&e)) cause = CAUSE_low_precision;
    if (!cause && is_leak(m.C)) cause = CAUSE_nan_leak;
    free(e.guess);
    return cause;
}

#endif
