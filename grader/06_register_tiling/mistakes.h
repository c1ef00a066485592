// mistakes.h: what the known mistakes of lesson 06 make of C. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include <math.h>
#include <stdlib.h>

#include "matmul/mistakes.h"

// ---- terms

// Beyond K the last tile still holds the numbers of an earlier tile. Only the group of four that
// begins below K was filled up with zeros.
static double stale_fours(const struct product* p, struct term at) {
    return at.k < CEIL_DIV(p->K, 4) * 4 ? right_term(p, at) : stale_tail(p, at);
}

// A's row is read in fours: what stands behind its end, times 0, is NaN where that is.
static double fours_past_K(const struct product* p, struct term at) {
    if (at.k < p->K) return right_term(p, at);
    return 0 * in_memory(&p->A, at.i * p->A.stride + at.k);
}

// The tile of A, 128 rows of `size` elements, is stored in the order it is read in and taken for
// its transpose.
static double A_not_turned(const struct product* p, struct term at) {
    enum { ROWS = 128 };
    int64_t n = at.k % at.size * ROWS + at.i % ROWS;
    int64_t row = at.i - at.i % ROWS + n / at.size, k = at.k - at.k % at.size + n % at.size;
    return in_tile(&p->A, row, k) * in_tile(&p->B, at.k, at.j);
}

// From one tile of B to the next it goes by N elements a row: within a tile rows are apart.
static double B_tiles_packed(const struct product* p, struct term at) {
    const int64_t row = at.k % at.size;
    return in_tile(&p->A, at.i, at.k) *
           in_memory(&p->B, (at.k - row) * p->N + row * p->B.stride + at.j);
}

// The same from the second tile on.
static double B_later_tiles_packed(const struct product* p, struct term at) {
    const int64_t row = at.k % at.size, second = at.k < at.size ? 0 : at.size;
    return in_tile(&p->A, at.i, at.k) *
           in_memory(&p->B, second * p->B.stride + (at.k - row - second) * p->N +
                                row * p->B.stride + at.j);
}

// From one block's rows of A to the next block's it goes by K elements a row.
static double A_tiles_packed(const struct product* p, struct term at) {
    const int64_t row = at.i % at.size;
    return in_memory(&p->A, (at.i - row) * p->K + row * p->A.stride + at.k) *
           in_tile(&p->B, at.k, at.j);
}

// ---- extents

static bool last_step(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e) {
    (void)sum;
    e->terms = p->K - (1 << variant);
    return e->terms > 0;
}

// Rows that begin, but do not end, at multiples of 4.
static bool whole_fours(const struct product* p, const struct sum* sum, int variant,
                        struct extent* e) {
    (void)sum, (void)variant;
    e->terms = CEIL_DIV(p->K, 4) * 4;
    return e->terms > p->K && e->terms <= p->A.stride && p->A.stride % 4 == 0;
}

// Rows as long as the matrix is wide, where they are longer.
static bool packed_A(const struct product* p, const struct sum* sum, int variant,
                     struct extent* e) {
    (void)sum, (void)variant;
    e->size = p->K;
    return p->K != p->A.stride;
}

static bool packed_B(const struct product* p, const struct sum* sum, int variant,
                     struct extent* e) {
    (void)sum, (void)variant;
    e->size = p->N;
    return p->N != p->B.stride;
}

static bool tiles_of_B(const struct product* p, const struct sum* sum, int variant,
                       struct extent* e) {
    (void)sum;
    e->size = p->of->smallest_tile << variant;
    return p->N != p->B.stride && e->size < p->K;
}

// 32 to 256 rows.
enum { BLOCKS = 4 };
static bool blocks_of_A(const struct product* p, const struct sum* sum, int variant,
                        struct extent* e) {
    (void)sum;
    e->size = 32 << variant;
    return p->K != p->A.stride && e->size < p->M;
}

// ---- C stored with rows of another length

// If several sums are stored at one place, nobody knows which stays.
static bool store_rows(const struct product* p, int64_t row_length, double* guess) {
    const struct matrix* C = &p->C;
    if (row_length == C->stride || (C->rows - 1) * row_length + C->cols > C->t->count - C->first)
        return false;
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->cols; j++) {
            double* to = &guess[C->first + i * row_length + j];
            *to = isnan(*to) ? C->t->want[place_in(C, i, j)] : ANYTHING;
        }
    return true;
}

static bool packed_C(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct product* p = s->problem;
    (void)h, (void)variant;
    return store_rows(p, p->N, guess);
}

static bool C_like_A(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct product* p = s->problem;
    (void)h;
    return store_rows(p, variant == 0 ? p->A.stride : p->K, guess);
}

// ---- all of them

enum { TILES_HERE = 4 };  // 4 to 32
static const struct hypothesis of_tiles[] = {
    SUM(inner_tail, TILES_HERE, right_term, whole_tiles),
    SUM_BACK(inner_tail, TILES_HERE, stale_tail, tiles_back, 1),
    SUM_BACK(inner_tail, TILES_HERE, stale_tail, tiles_back, 2),
    SUM_BACK(inner_tail, TILES_HERE, stale_tail, tiles_back, 3),
    SUM_BACK(inner_tail, TILES_HERE, stale_tail, tiles_back, 4),
    SUM_BACK(inner_tail, TILES_HERE, A_tail_stale, tiles_back, 1),
    SUM_BACK(inner_tail, TILES_HERE, B_tail_stale, tiles_back, 1),
    SUM_BACK(inner_tail, TILES_HERE, A_tail_stale, tiles_back, 2),
    SUM_BACK(inner_tail, TILES_HERE, B_tail_stale, tiles_back, 2),
    SUM_BACK(inner_tail, TILES_HERE, stale_fours, tiles_back, 1),
    SUM_BACK(inner_tail, TILES_HERE, stale_fours, tiles_back, 2),
    SUM_BACK(inner_tail, TILES_HERE, stale_fours, tiles_back, 3),
    SUM_BACK(inner_tail, TILES_HERE, stale_fours, tiles_back, 4),
    SUM(transposed, TILES_HERE, A_not_turned, all_tiles),
    {0},
};

static const struct hypothesis others[] = {
    SUM(tile_skipped, STEPS, later_term, beyond_a_step),
    SUM(tile_skipped, STEPS, right_term, last_step),
    SUM(tile_skipped, STEPS, last_tile_term, beyond_a_step),
    SUM(tile_skipped, STEPS, A_first_again, beyond_a_step),
    SUM(tile_skipped, STEPS, A_second_again, beyond_a_step),
    SUM(tile_skipped, STEPS, B_first_again, beyond_a_step),
    SUM(tile_skipped, STEPS, B_second_again, beyond_a_step),
    SUM(inner_tail, 1, fours_past_K, whole_fours),
    SUM(stride_ignored, 1, A_row_length, packed_A),
    SUM(stride_ignored, 1, B_row_length, packed_B),
    SUM(stride_ignored, TILES, B_tiles_packed, tiles_of_B),
    SUM(stride_ignored, TILES, B_later_tiles_packed, tiles_of_B),
    SUM(stride_ignored, BLOCKS, A_tiles_packed, blocks_of_A),
    SUM(stale_state, 1, stale_B, all_terms),
    SUM(zero_skipped, 1, nonzero_term, all_terms),
    {0},
};

static const struct hypothesis row_lengths[] = {
    SUM(swapped_sizes, SIZES, A_row_length, size_of_another),
    SUM(swapped_sizes, SIZES, B_row_length, size_of_another),
    SUM(swapped_sizes, SIZES, right_term, terms_of_another),
    {0},
};

static const struct hypothesis of_C[] = {
    {CAUSE_stride_ignored, packed_C, 1, NULL},
    {CAUSE_swapped_sizes, C_like_A, 2, NULL},
    {0},
};

static const struct hypothesis of_zeros[] = {
    {CAUSE_stride_ignored, packed_C, 1, NULL},
    {0},
};

// Is any sum a number? NaN throughout may come from anywhere.
static bool has_numbers(const struct matrix* C) {
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->cols; j++)
            if (!isnan(C->t->got[place_in(C, i, j)])) return true;
    return false;
}

// Is every sum a negative NaN? So is a register without a value on the CPU device, and what x86
// makes of it; NaN in the gaps of A and B is positive.
static bool has_unset(const struct matrix* C) {
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->cols; j++) {
            double got = C->t->got[place_in(C, i, j)];
            if (!isnan(got) || !signbit(got)) return false;
        }
    return true;
}

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// Are all sums there, each once, some of them at the places of others?
static bool is_moved(struct check* c, const struct matrix* C, struct budget budget) {
    int64_t n = C->rows * C->cols;
    double *got = check_allocate(c, 2 * n, sizeof *got), *want = got + n;
    bool same = true, wrong = false;
    for (int64_t e = 0; e < n; e++) {
        int64_t at = place_in(C, e / C->cols, e % C->cols);
        wrong |= !(fabs(C->t->got[at] - C->t->want[at]) <= budget.max);
        got[e] = isnan(C->t->got[at]) ? INFINITY : C->t->got[at];  // NaN has no place in an order
        want[e] = isnan(C->t->want[at]) ? INFINITY : C->t->want[at];
    }
    qsort(got, (size_t)n, sizeof *got, ascending);
    qsort(want, (size_t)n, sizeof *want, ascending);
    for (int64_t e = 0; same && e < n; e++)
        same = got[e] == want[e] || fabs(got[e] - want[e]) <= budget.max;
    free(got);
    return same && wrong;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct product* p = check_description(c);
    const struct suspect s = {.tensor = t, .budget = budget, .problem = p};
    if (p->K == 0) return hypothesis_search(&s, of_zeros);  // nothing was to be multiplied
    if (p->M * p->N < 3) return CAUSE_NONE;  // a few sums are like many a mistake's by chance
    if (has_unset(&p->C)) return CAUSE_uninitialised;
    enum cause cause = hypothesis_search_variants(&s, of_tiles);
    if (!cause) cause = hypothesis_search(&s, others);
    if (!cause && has_numbers(&p->C)) cause = hypothesis_search(&s, row_lengths);
    if (!cause) cause = hypothesis_search(&s, of_C);
    if (!cause && nan_leaked(p)) cause = CAUSE_nan_leak;
    if (!cause) cause = explain_counted(&s);
    return !cause && is_moved(c, &p->C, budget) ? CAUSE_sums_moved : cause;
}

#endif
