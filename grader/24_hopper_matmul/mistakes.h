// mistakes.h: what the known mistakes of lesson 24 make of C. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include <math.h>

#include "matmul/mistakes.h"

enum { A_PANEL = 64 };  // elements in a swizzled row, and terms of a tile

// ---- terms

// Row r of a panel has its pieces of 8 elements in the order that its map says, and is read in
// another: as a matrix whose k runs fastest, or whose m or n does.
static double A_pieces(const struct product* p, struct term at) {
    return p->transpose_A
               ? in_tile(&p->A, at.i ^ (at.k & 7) * 8, at.k) * in_tile(&p->B, at.k, at.j)
               : in_tile(&p->A, at.i, at.k ^ (at.i & 7) * 8) * in_tile(&p->B, at.k, at.j);
}

static double B_pieces(const struct product* p, struct term at) {
    return p->transpose_B
               ? in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k ^ (at.j & 7) * 8, at.j)
               : in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, at.j ^ (at.k & 7) * 8);
}

// In each step of a tile the first 16 of k come again, of A or of B.
static double A_first_step(const struct product* p, struct term at) {
    int64_t k = at.k - at.k % A_PANEL + at.k % 16;
    return in_tile(&p->A, at.i, k) * in_tile(&p->B, at.k, at.j);
}

static double B_first_step(const struct product* p, struct term at) {
    int64_t k = at.k - at.k % A_PANEL + at.k % 16;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, k, at.j);
}

// A step of A begins 8 of k behind the one before, not 16.
static double A_half_steps(const struct product* p, struct term at) {
    int64_t k = at.k - at.k % A_PANEL + at.k % A_PANEL / 16 * 8 + at.k % 16;
    return in_tile(&p->A, at.i, k) * in_tile(&p->B, at.k, at.j);
}

// Where m or n runs fastest, a step begins 32 bytes behind the one before, not 16 rows: the same 16
// of k again, of columns that are 16 further, and behind a row's end of the next row.
static double A_step_in_row(const struct product* p, struct term at) {
    if (!p->transpose_A) return right_term(p, at);
    const int64_t k = at.k % A_PANEL, to = at.i % A_PANEL + k / 16 * 16;
    return in_tile(&p->A, at.i - at.i % A_PANEL + to % A_PANEL, at.k - k + k % 16 + to / A_PANEL) *
           in_tile(&p->B, at.k, at.j);
}

static double B_step_in_row(const struct product* p, struct term at) {
    if (p->transpose_B) return right_term(p, at);
    const int64_t k = at.k % A_PANEL, to = at.j % A_PANEL + k / 16 * 16;
    return in_tile(&p->A, at.i, at.k) *
           in_tile(&p->B, at.k - k + k % 16 + to / A_PANEL, at.j - at.j % A_PANEL + to % A_PANEL);
}

// Where k runs fastest, a step of A begins 16 rows behind the one before, not 32 bytes: the first
// 16 of k again, of rows that are 16 further, and behind the last one of the tile of B.
static double A_step_of_rows(const struct product* p, struct term at) {
    enum { ROWS = 2 * A_PANEL };
    if (p->transpose_A) return right_term(p, at);
    const int64_t step = at.k % A_PANEL / 16, first = at.k - at.k % A_PANEL, k = at.k % 16;
    const int64_t row = at.i % ROWS + 16 * step, behind = row - ROWS;
    const int64_t col = at.j - at.j % at.size;
    const double a = behind < 0       ? in_tile(&p->A, at.i - at.i % ROWS + row, first + k)
                     : p->transpose_B ? in_tile(&p->B, first + k, col + behind)
                                      : in_tile(&p->B, first + behind, col + k);
    return a * in_tile(&p->B, at.k, at.j);
}

// All rows of A, or columns of B, of a tile are those of its first 64.
static double A_first_rows(const struct product* p, struct term at) {
    int64_t row = at.i - at.i % (2 * A_PANEL) + at.i % A_PANEL;
    return in_tile(&p->A, row, at.k) * in_tile(&p->B, at.k, at.j);
}

static double B_first_columns(const struct product* p, struct term at) {
    int64_t col = at.j - at.j % at.size + at.j % A_PANEL;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, col);
}

// The flag is not looked at, or taken for its opposite.
static double A_not_turned(const struct product* p, struct term at) {
    int64_t distance = p->transpose_A ? at.i * p->A.stride + at.k : at.k * p->A.stride + at.i;
    return in_memory(&p->A, distance) * in_tile(&p->B, at.k, at.j);
}

static double B_not_turned(const struct product* p, struct term at) {
    int64_t distance = p->transpose_B ? at.k * p->B.stride + at.j : at.j * p->B.stride + at.k;
    return in_tile(&p->A, at.i, at.k) * in_memory(&p->B, distance);
}

// The coordinates of a box are swapped: its rows begin where its columns should. Of A a box has 64
// of m, or all 128 rows of a tile; of B 64 of n, or all columns of a tile.
static double A_box_turned(const struct product* p, struct term at) {
    int64_t rows = p->transpose_A ? A_PANEL : 2 * A_PANEL, first = at.i - at.i % rows;
    int64_t row = at.k - at.k % A_PANEL + at.i - first, k = first + at.k % A_PANEL;
    return in_tile(&p->A, row, k) * in_tile(&p->B, at.k, at.j);
}

static double B_box_turned(const struct product* p, struct term at) {
    int64_t columns = p->transpose_B ? at.size : A_PANEL, first = at.j - at.j % columns;
    int64_t col = at.k - at.k % A_PANEL + at.j - first, k = first + at.k % A_PANEL;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, k, col);
}

// The rows of A go on behind its last column.
static double A_past_K(const struct product* p, struct term at) {
    return in_memory(&p->A, at.i * p->A.stride + at.k) * in_tile(&p->B, at.k, at.j);
}

// What lies between rows is loaded, too: a map's rows are as long as the stride. Only where k runs
// fastest does it count.
static double A_to_the_stride(const struct product* p, struct term at) {
    if (p->transpose_A) return in_tile(&p->A, at.i, at.k);
    return at.k < p->A.stride ? in_memory(&p->A, at.i * p->A.stride + at.k) : 0;
}

static double B_to_the_stride(const struct product* p, struct term at) {
    if (!p->transpose_B) return in_tile(&p->B, at.k, at.j);
    return at.k < p->B.stride ? in_memory(&p->B, at.j * p->B.stride + at.k) : 0;
}

static double A_with_gaps(const struct product* p, struct term at) {
    return A_to_the_stride(p, at) * in_tile(&p->B, at.k, at.j);
}

static double B_with_gaps(const struct product* p, struct term at) {
    return in_tile(&p->A, at.i, at.k) * B_to_the_stride(p, at);
}

static double with_gaps(const struct product* p, struct term at) {
    return A_to_the_stride(p, at) * B_to_the_stride(p, at);
}

// ---- extents

// size = 128, 192, 256: columns of a tile.
static bool of_wide_tiles(const struct product* p, const struct sum* sum, int variant,
                          struct extent* e) {
    (void)p, (void)sum;
    e->size = 128 + 64 * variant;
    return true;
}

static bool of_strides(const struct product* p, const struct sum* sum, int variant,
                       struct extent* e) {
    (void)sum;
    const int64_t strides[] = {p->C.stride, p->A.stride, p->B.stride};
    e->size = strides[variant];
    return true;
}

static bool of_panels(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e) {
    (void)sum, (void)variant;
    e->terms = CEIL_DIV(p->K, A_PANEL) * A_PANEL;
    return true;
}

static bool of_wide_panels(const struct product* p, const struct sum* sum, int variant,
                           struct extent* e) {
    return of_panels(p, sum, variant, e) && of_wide_tiles(p, sum, variant, e);
}

// ---- C

// The pieces of a row of C are stored where those of another row belong; or only the columns behind
// the last whole piece are.
static bool C_pieces(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct product* p = s->problem;
    (void)h;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            int64_t from = variant == 0 || j >= p->N / 8 * 8 ? j ^ (i & 7) * 8 : j;
            guess[place_in(&p->C, i, j)] = from < p->N ? p->C.t->want[place_in(&p->C, i, from)] : 0;
        }
    return true;
}

// A sum is rounded to fp16 first: beyond 65504 it is infinite, below 6e-8 it is 0.
static bool C_in_half(const struct suspect* s, const struct hypothesis* h, int variant,
                      double* guess) {
    const struct product* p = s->problem;
    (void)h, (void)variant;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            const int64_t e = place_in(&p->C, i, j);
            guess[e] = dtype_round(BF16, dtype_round(F16, p->C.t->want[e]));
        }
    return true;
}

// A tile's sums begin with those of the tile before, of the same block: MULTIPROCESSORS tiles
// before, in a product of few rows.
static bool sums_go_on(const struct suspect* s, const struct hypothesis* h, int variant,
                       double* guess) {
    enum { MULTIPROCESSORS = 132 };
    const struct product* p = s->problem;
    const int64_t back = MULTIPROCESSORS * (192 + 64 * variant);
    (void)h;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = p->N - 1; j >= 0; j--) {
            int64_t e = place_in(&p->C, i, j);
            guess[e] =
                p->C.t->want[e] + (j < back ? 0 : p->C.t->want[place_in(&p->C, i, j - back)]);
        }
    return p->M <= A_PANEL && p->N > back;
}

// All of C is NaN: sums that were not awaited, numbers from outside of the arrays or from between
// their rows look alike.
static bool is_all_nan(const struct tensor* C) {
    for (int64_t e = 0; e < C->count; e++)
        if (!C->untouched[e] && !isnan(C->got[e])) return false;
    return true;
}

// ---- all of them

static const struct hypothesis of_tiles[] = {
    SUM(inner_tail, TILES, right_term, whole_tiles),
    SUM(tile_skipped, TILES, later_term, beyond_a_tile),
    SUM(tile_skipped, TILES, last_tile_term, beyond_a_tile),
    SUM(tile_skipped, TILES, A_first_again, beyond_a_tile),
    SUM(tile_skipped, TILES, B_first_again, beyond_a_tile),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 3),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 4),
    SUM(low_precision, TILES, right_term, rounded_on_the_way),
    {0},
};

static const struct hypothesis others[] = {
    SUM(transposed, 1, A_not_turned, all_terms),
    SUM(transposed, 1, B_not_turned, all_terms),
    SUM(transposed, 1, A_box_turned, of_panels),
    SUM(transposed, 3, B_box_turned, of_wide_tiles),
    SUM(swizzle, 1, A_pieces, of_panels),
    SUM(swizzle, 1, B_pieces, of_panels),
    SUM(tile_skipped, 1, A_first_step, of_panels),
    SUM(tile_skipped, 1, B_first_step, of_panels),
    SUM(tile_twice, 1, A_half_steps, of_panels),
    SUM(descriptor_step, 1, A_step_in_row, of_panels),
    SUM(descriptor_step, 1, B_step_in_row, of_panels),
    SUM(descriptor_step, 3, A_step_of_rows, of_wide_panels),
    SUM(fragment_order, 1, A_first_rows, all_terms),
    SUM(fragment_order, 3, B_first_columns, of_wide_tiles),
    SUM(stride_ignored, 3, A_row_length, of_strides),
    SUM(stride_ignored, 3, B_row_length, of_strides),
    SUM(nan_leak, 1, A_past_K, of_panels),
    SUM(nan_leak, 1, A_with_gaps, of_panels),
    SUM(nan_leak, 1, B_with_gaps, of_panels),
    SUM(nan_leak, 1, with_gaps, of_panels),
    SUM(stale_state, 1, stale_B, all_terms),
    {CAUSE_accumulates, sums_go_on, 2, NULL},
    {CAUSE_swizzle, C_pieces, 2, NULL},
    {CAUSE_low_precision, make_truncated, 3, NULL},
    {CAUSE_ties, make_ties, 2, NULL},
    {CAUSE_half_range, C_in_half, 1, NULL},
    {0},
};

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct product* p = check_description(c);
    // There is one way to round a sum to bf16: what a mistake gives is exact, whatever is allowed.
    const struct suspect s = {.tensor = t, .budget = budget_exact(), .problem = p};
    (void)budget;
    if (p->K == 0) return CAUSE_NONE;        // nothing was to be multiplied
    if (p->M * p->N < 3) return CAUSE_NONE;  // a few sums are like many a mistake's by chance
    if (is_all_nan(t)) return CAUSE_NONE;
    enum cause cause = hypothesis_search_variants(&s, of_tiles);
    if (!cause) cause = hypothesis_search(&s, others);
    if (!cause) cause = explain_counted(&s);
    return !cause && nan_leaked(p) ? CAUSE_nan_leak : cause;
}

#endif
