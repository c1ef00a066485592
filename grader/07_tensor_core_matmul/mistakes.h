// mistakes.h: what the known mistakes of lesson 07 make of C. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "base/dtype.h"
#include "matmul/mistakes.h"

// ---- terms

// In each 16 x 16 of A, or of B, the 8 x 8 at the upper right and at the lower left have changed
// places.
static double A_exchanged(const struct product* p, struct term at) {
    int64_t other = (at.i & 8) != (at.k & 8) ? 8 : 0;
    return in_tile(&p->A, at.i ^ other, at.k ^ other) * in_tile(&p->B, at.k, at.j);
}

static double B_exchanged(const struct product* p, struct term at) {
    int64_t other = (at.k & 8) != (at.j & 8) ? 8 : 0;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k ^ other, at.j ^ other);
}

// Row r is stored with its pieces of 8 exchanged and read as if it were not, or the other way
// round; a tile has `size` columns.
static double A_pieces(const struct product* p, struct term at) {
    int64_t wide = at.size < 64 ? at.size / 8 - 1 : 7;
    return in_tile(&p->A, at.i, at.k ^ (at.i & wide) * 8) * in_tile(&p->B, at.k, at.j);
}

static double B_pieces(const struct product* p, struct term at) {
    int64_t wide = at.size < 64 ? at.size / 8 - 1 : 7;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, at.k, at.j ^ (at.k & wide) * 8);
}

static double in_half(const struct product* p, struct term at) {
    return dtype_round(F16, in_tile(&p->A, at.i, at.k)) *
           dtype_round(F16, in_tile(&p->B, at.k, at.j));
}

// In place of the fourth tile and the later ones the third comes again.
static double third_again(const struct product* p, struct term at) {
    if (at.k >= 3 * at.size) at.k = 2 * at.size + at.k % at.size;
    return right_term(p, at);
}

// In each step of a tile the first 16 columns of A, or rows of B, come again.
static double A_first_step(const struct product* p, struct term at) {
    int64_t k = at.k - at.k % at.size + at.k % 16;
    return in_tile(&p->A, at.i, k) * in_tile(&p->B, at.k, at.j);
}

static double B_first_step(const struct product* p, struct term at) {
    int64_t k = at.k - at.k % at.size + at.k % 16;
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, k, at.j);
}

// The share of the right one of two blocks of B begins in the middle of that of the left one.
static double B_overlapping(const struct product* p, struct term at) {
    struct term from = at;
    if (at.j & 8) {
        from.j = at.k & 8 ? at.j : at.j - 8;
        from.k = at.k ^ 8;
    }
    return in_tile(&p->A, at.i, at.k) * in_tile(&p->B, from.k, from.j);
}

// Of each piece of 8 elements the first `size` come, of A and of B.
static double cut_term(const struct product* p, struct term at) {
    return at.k % 8 < at.size && at.j % 8 < at.size ? right_term(p, at) : 0;
}

// ---- extents

static bool beyond_a_step_of_mma(const struct product* p, const struct sum* sum, int variant,
                                 struct extent* e) {
    return beyond_a_tile(p, sum, variant, e) || (e->size > 16 && p->K > 16);
}

// size = 1, 2, 4.
static bool cut_pieces(const struct product* p, const struct sum* sum, int variant,
                       struct extent* e) {
    (void)p, (void)sum;
    e->size = 1 << variant;
    return true;
}

static bool pieces(const struct product* p, const struct sum* sum, int variant, struct extent* e) {
    return all_tiles(p, sum, variant, e) && e->size > 8;
}

static bool whole_mma(const struct product* p, const struct sum* sum, int variant,
                      struct extent* e) {
    (void)sum, (void)variant;
    e->terms = CEIL_DIV(p->K, 16) * 16;
    return true;
}

// ---- C

// What stands at (i, j) is the element of C at (row, col).
static void move(const struct product* p, int64_t i, int64_t j, int64_t row, int64_t col,
                 double* guess) {
    int64_t at = row * p->N + col;
    guess[i * p->N + j] = at < p->C.t->count ? p->C.t->want[at] : 0;
}

// Sums 2 and 3 of a lane go to the row below sums 0 and 1, not 8 rows below.
static bool rows_interleaved(const struct suspect* s, const struct hypothesis* h, int variant,
                             double* guess) {
    const struct product* p = s->problem;
    (void)h, (void)variant;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++)
            move(p, i, j, i / 16 * 16 + i % 16 / 2 + i % 2 * 8, j, guess);
    return true;
}

// The halves of a register are exchanged.
static bool columns_exchanged(const struct suspect* s, const struct hypothesis* h, int variant,
                              double* guess) {
    const struct product* p = s->problem;
    (void)h, (void)variant;
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) move(p, i, j, i, j ^ 1, guess);
    return true;
}

// ---- all of them

static const struct hypothesis of_tiles[] = {
    SUM(inner_tail, TILES, right_term, whole_tiles),
    SUM(tile_skipped, TILES, later_term, beyond_a_tile),
    SUM(tile_skipped, TILES, third_again, beyond_a_tile),
    SUM(tile_skipped, TILES, last_tile_term, beyond_a_tile),
    SUM(tile_skipped, TILES, A_first_again, beyond_a_tile),
    SUM(tile_skipped, TILES, B_first_again, beyond_a_tile),
    SUM(tile_skipped, TILES, A_first_step, beyond_a_step_of_mma),
    SUM(tile_skipped, TILES, B_first_step, beyond_a_step_of_mma),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 1),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 2),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 3),
    SUM_BACK(inner_tail, TILES, stale_tail, tiles_back, 4),
    SUM_BACK(inner_tail, TILES, A_tail_stale, tiles_back, 1),
    SUM_BACK(inner_tail, TILES, B_tail_stale, tiles_back, 1),
    SUM_BACK(inner_tail, TILES, A_tail_stale, tiles_back, 2),
    SUM_BACK(inner_tail, TILES, B_tail_stale, tiles_back, 2),
    SUM_BACK(inner_tail, TILES, A_tail_stale, tiles_back, 3),
    SUM_BACK(inner_tail, TILES, B_tail_stale, tiles_back, 3),
    SUM(transposed, TILES, A_turned, all_tiles),
    SUM(transposed, TILES, B_turned, all_tiles),
    SUM(swizzle, TILES, A_pieces, pieces),
    SUM(swizzle, TILES, B_pieces, pieces),
    SUM(low_precision, TILES, right_term, rounded_on_the_way),
    {0},
};

static const struct hypothesis others[] = {
    SUM(fragment_order, 1, A_exchanged, whole_mma),
    SUM(fragment_order, 1, B_exchanged, whole_mma),
    SUM(fragment_order, 1, B_overlapping, whole_mma),
    SUM(piece_cut, 3, cut_term, cut_pieces),
    SUM(half_range, 1, in_half, all_terms),
    SUM(stale_state, 1, stale_B, all_terms),
    {CAUSE_fragment_order, rows_interleaved, 1, NULL},
    {CAUSE_fragment_order, columns_exchanged, 1, NULL},
    {CAUSE_low_precision, make_truncated, 3, NULL},
    {CAUSE_ties, make_ties, 2, NULL},
    {0},
};

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct product* p = check_description(c);
    // There is one way to round a sum to bf16: what a mistake gives is exact, whatever is allowed.
    const struct suspect s = {.tensor = t, .budget = budget_exact(), .problem = p};
    (void)budget;
    if (p->K == 0) return explain_no_terms(&s);
    if (p->M * p->N < 3) return CAUSE_NONE;  // a few sums are like many a mistake's by chance
    enum cause cause = hypothesis_search_variants(&s, of_tiles);
    if (!cause) cause = hypothesis_search(&s, others);
    if (!cause) cause = explain_counted(&s);
    return !cause && nan_leaked(p) ? CAUSE_nan_leak : cause;
}

#endif
