// mistakes.h: which known mistake gives the R that a kernel gave. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "20_pooled_scores/pooling.h"

static bool is_slip(const struct suspect* s, const struct slip* w) {
    const struct problem* p = s->problem;
    double* R = check_allocate(p->check, s->tensor->count, sizeof *R);
    pool_all(p, w, false, R);
    bool yes = is_guess(s, R);
    free(R);
    return yes;
}

// Does R depend on the sizes of tiles, with this flaw?
static bool is_of_tiles(const struct pool_flaw* flaw) {
    return flaw->all_rest || flaw->weight == OF_RUNNING_MAX || flaw->divisor == ROWS_OF_BLOCK ||
           flaw->last_part || flaw->tail_keys || flaw->tail_rows || flaw->place != ITS_OWN ||
           flaw->row_of_pair || (flaw->mask != BY_QUERY && flaw->mask != PAIRS);
}

static bool is_flaw(const struct suspect* s, const struct pool_flaw* flaw) {
    enum { LARGEST = 128 };
    const int64_t smallest = is_of_tiles(flaw) ? 16 : LARGEST;
    for (int64_t tile_q = LARGEST; tile_q >= smallest; tile_q /= 2)
        for (int64_t tile_k = LARGEST; tile_k >= smallest; tile_k /= 2) {
            struct slip w = no_slip(s->problem);
            w.flaw = *flaw;
            w.tile_q = tile_q;
            w.tile_k = tile_k;
            if (is_slip(s, &w)) return true;
        }
    return false;
}

// Mistakes that a struct pool_flaw says.
static enum cause explain_slips(const struct suspect* s) {
    static const struct {
        enum cause cause;
        struct pool_flaw flaw;
    } known[] = {
        {CAUSE_not_normalised, {.weight = OF_MAX}},
        {CAUSE_not_normalised, {.weight = OF_RUNNING_MAX}},
        {CAUSE_not_normalised, {.weight = OF_SCORE}},
        {CAUSE_overflow, {.weight = OF_QUOTIENT}},
        {CAUSE_pool_order, {.weight = OF_LOGARITHM}},
        {CAUSE_lse_base2, {.weight = OF_LSE_BASE2}},
        {CAUSE_lse_base2, {.weight = OF_NATURAL_LSE}},
        {CAUSE_exp2_base, {.weight = OF_POWER_OF_2}},
        {CAUSE_pool_sum, {.divisor = NOTHING}},
        {CAUSE_pool_sum, {.divisor = ROWS}},
        {CAUSE_pool_sum, {.divisor = COLUMNS}},
        {CAUSE_pool_sum, {.divisor = ROWS_OF_BLOCK}},
        {CAUSE_pool_largest, {.kind = MAXIMUM}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_POOL}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_ROWS}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_COLUMNS}},
        {CAUSE_pool_hidden, {.divisor = WHAT_IS_SEEN}},
        {CAUSE_transposed, {.transposed = true}},
        {CAUSE_inner_tail, {.tail_keys = true}},
        {CAUSE_inner_tail, {.tail_rows = true}},
        {CAUSE_inner_tail, {.tail_keys = true, .tail_rows = true}},
        {CAUSE_pool_rows, {.place = BY_TILE}},
        {CAUSE_pool_rows, {.place = BY_TILE_NUMBER}},
        {CAUSE_pool_end, {.all_rest = true}},
        {CAUSE_place_in_tile, {.mask = TILES_FROM_ZERO}},
        {CAUSE_place_in_tile, {.mask = POOL_FROM_ZERO}},
        {CAUSE_merge_lost, {.last_part = true}},
        {CAUSE_fragment_order, {.mask = PAIRS}},
        {CAUSE_fragment_order, {.row_of_pair = true}},
        {CAUSE_low_precision, {.rounded = true}},
    };
    // Rounding is everywhere.
    const struct tensor* t = s->tensor;
    int64_t wrong = 0;
    for (int64_t e = 0; e < t->count; e++)
        wrong += !(fabs(t->got[e] - t->want[e]) <= s->budget.max);
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        if (known[n].flaw.rounded && wrong < t->count / 16) continue;
        if (!is_flaw(s, &known[n].flaw)) continue;
        // in a pool or two, no mask at all may look like a mask in the wrong place
        struct slip w = no_slip(s->problem);
        w.causal = !w.causal;
        return known[n].cause == CAUSE_place_in_tile && is_slip(s, &w) ? CAUSE_causal_ignored
                                                                       : known[n].cause;
    }
    return CAUSE_NONE;
}

// The second pass has another scale than the first.
static enum cause explain_second_scale(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct {
        enum cause cause;
        double scale;
    } scales[] = {
        // Where it is not the given one, a missing scale may look the same: that is ignored, too.
        {CAUSE_scale_ignored, (double)(float)(1 / sqrt((double)p->d))},
        {CAUSE_scale_missing, 1},
        {CAUSE_scale_squared, p->scale * p->scale},
        {CAUSE_exp2_base, p->scale * log(2)},
        {CAUSE_exp2_base, p->scale / log(2)},
    };
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        struct slip w = no_slip(p);
        w.scale = scales[n].scale;
        if (w.scale != p->scale && is_slip(s, &w)) return scales[n].cause;
    }
    return CAUSE_NONE;
}

// A mask that knows of whole pools alone. Sets the offset, and how many queries see the same keys;
// false if there is no n-th such mask.
static bool mask_of_pools(const struct problem* p, int n, int64_t* offset, int64_t* as_one) {
    enum { OFFSETS = 5 };
    const int64_t pool = pooling_of(p)->pool, right = p->N_k - p->N_q, down = right / pool * pool;
    const int64_t offsets[OFFSETS] = {right, right - pool, right + pool, down, down + pool};
    const int64_t of_rows[] = {0, 0,
                               1 - pool};  // each query its own; the last of a pool; the first
    if (n >= 3 * OFFSETS || !p->causal) return false;
    *as_one = n / OFFSETS ? pool : 0;
    *offset = offsets[n % OFFSETS] + of_rows[n / OFFSETS];
    return true;
}

// The first pass, which makes O and LSE, has such a mask.
static enum cause explain_mask_of_pools(const struct suspect* s) {
    struct forward_mistake w = forward_right(s->problem);
    w.causal = false;
    if (is_forward(s, &w)) return CAUSE_NONE;
    w = forward_right(s->problem);
    for (int n = 0; mask_of_pools(s->problem, n, &w.offset, &w.as_one); n++)
        if (n > 0 && is_forward(s, &w)) return CAUSE_mask_corner;
    return CAUSE_NONE;
}

// The second pass hides other keys than the first.
static enum cause explain_second_mask(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct slip w = no_slip(p);
    w.columns = 64;
    if (p->d > 64 && is_slip(s, &w)) return CAUSE_columns_short;
    w = no_slip(p);
    w.causal = !p->causal;
    if (is_slip(s, &w)) return CAUSE_causal_ignored;
    static const struct pool_flaw to_first = {.mask = TO_FIRST_ROW},
                                  to_own = {.mask = TO_OWN_NUMBER},
                                  from_zero = {.mask = ROUNDS_FROM_ZERO},
                                  one_more = {.mask = ONE_MORE},
                                  to_last[] = {{.mask = TO_LAST_ROW, .tail_rows = true},
                                               {.mask = TO_LAST_ROW}};
    if (p->causal && is_flaw(s, &to_first)) return CAUSE_tile_skipped;
    if (p->causal && is_flaw(s, &from_zero)) return CAUSE_place_in_tile;
    if (p->causal && is_flaw(s, &to_own)) return CAUSE_mask_corner;
    for (int n = 0; n < 2 && p->causal; n++)
        if (is_flaw(s, &to_last[n])) return CAUSE_diagonal_unmasked;
    if (is_flaw(s, &one_more)) return CAUSE_mask_off_by_one;
    for (int off = -1; off <= 1 && p->causal; off++) {
        w = no_slip(p);
        w.offset = off ? w.offset + off : 0;
        if (is_slip(s, &w)) return off ? CAUSE_mask_off_by_one : CAUSE_mask_corner;
    }
    w = no_slip(p);
    for (int n = 0; mask_of_pools(p, n, &w.offset, &w.as_one); n++)
        if (n > 0 && is_slip(s, &w)) return CAUSE_mask_corner;
    return CAUSE_NONE;
}

// The second pass finds Q, K or LSE elsewhere than the first.
static enum cause explain_second_places(const struct suspect* s) {
    static const unsigned sets[] = {1 << ARRAY_Q, 1 << ARRAY_K, 1 << ARRAY_Q | 1 << ARRAY_K,
                                    1 << ARRAY_LSE, 0};
    for (struct places at = {.problem = s->problem, .sets = sets}; next_places(&at);) {
        struct slip w = no_slip(s->problem);
        w.Q.stride = at.stride[ARRAY_Q];
        w.K.stride = at.stride[ARRAY_K];
        w.LSE = at.stride[ARRAY_LSE];
        if (is_slip(s, &w)) return at.cause;
    }
    return CAUSE_NONE;
}

// A row of R has as many pools as N_k holds whole: the last one of a row stands where the next row
// begins, and one of the two stays.
static bool are_rows_short(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* R = s->tensor;
    const int64_t n_J = pools_of(p, p->N_k), length = p->N_k / pooling_of(p)->pool;
    if (length == n_J || R->count < 2) return false;
    double* guess = check_allocate(p->check, R->count, sizeof *guess);
    for (int64_t e = 0; e < R->count; e++) guess[e] = NOT_WRITTEN;
    for (int64_t e = 0; e < R->count; e++) {
        double* to = &guess[e / n_J * length + e % n_J];
        // who stores zeros alone may know of fewer pools
        *to = *to == NOT_WRITTEN && R->want[e] != 0 ? R->want[e] : ANYTHING;
    }
    const bool yes = is_guess(s, guess);
    free(guess);
    return yes;
}

// No wrong element is a number. The wrong pools were never written, because no query sees a key of
// them; or they have a query that sees no key.
static enum cause explain_unseen(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    int64_t pool = pooling_of(p)->pool;
    int64_t n_I = pools_of(p, p->N_q), n_J = pools_of(p, p->N_k), offset = p->N_k - p->N_q;
    bool any = false, written = true, all_hidden = p->causal, all_empty = p->causal;
    for (int64_t e = 0; e < t->count; e++) {
        int64_t first = e / n_J % n_I * pool, end = first + pool, J = e % n_J;
        written &= check_was_written(t, e);
        if (fabs(t->got[e] - t->want[e]) <= s->budget.max) continue;
        if (isfinite(t->got[e])) return CAUSE_NONE;
        all_hidden &= J * pool >= (end < p->N_q ? end : p->N_q) + offset;
        all_empty &= first + offset < 0;
        any = true;
    }
    if (!any) return CAUSE_NONE;
    if (!written) return all_hidden ? CAUSE_never_written : CAUSE_NONE;
    return all_empty ? CAUSE_masked_row : CAUSE_NONE;
}

// The sums of the wrong pools are divided by less than their rows times columns, by a whole number;
// the mask hides a part of each of them.
static bool is_divided_by_less(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const int64_t pool = pooling_of(p)->pool, n_I = pools_of(p, p->N_q), n_J = pools_of(p, p->N_k);
    bool any = false;
    for (int64_t e = 0; e < t->count && p->causal; e++) {
        const int64_t i = e / n_J % n_I * pool, j = e % n_J * pool;
        const double rows = fmin((double)pool, (double)(p->N_q - i)),
                     columns = fmin((double)pool, (double)(p->N_k - j));
        const double divisor = t->want[e] * rows * columns / t->got[e];
        if (fabs(t->got[e] - t->want[e]) <= s->budget.max) continue;
        if (!(divisor > 0.5 && divisor < rows * columns - 0.5)) return false;
        // Of a large pool half of all numbers are as near to a whole one as 2^-10 of them.
        if (fabs(divisor - round(divisor)) > fmin(0x1p-10 * divisor, 0x1p-5)) return false;
        if (keys_seen(p, i) >= j + (int64_t)columns) return false;  // nothing is hidden
        any = true;
    }
    return any;
}

// Of some pools, and not of all, the mean is too small; of_last: of the last pools of keys alone.
static bool are_parts_lost(const struct suspect* s, bool of_last) {
    const struct tensor* t = s->tensor;
    const struct problem* p = s->problem;
    const int64_t n_J = pools_of(p, p->N_k);
    int64_t less = 0, right = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double off = t->want[e] - t->got[e];
        if (!(off >= -s->budget.max && t->got[e] >= 0)) return false;
        if (of_last && off > s->budget.max && e % n_J < n_J - 1) return false;
        *(off > s->budget.max ? &less : &right) += 1;
    }
    return less > 0 && right > 0;
}

// Weights in a pool that is not theirs move more than a rounding does.
static bool is_rounded(const struct tensor* t) {
    double off = 0, largest = 0;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        off = fmax(off, fabs(t->got[e] - t->want[e]));
        largest = fmax(largest, fabs(t->want[e]));
    }
    return off < 0x1p-7 * largest;
}

// The likely cause of a wrong output. O and LSE are explained as in lesson 14.
static enum cause explain_pooling(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect s = forward_suspect(c, t, budget);
    if (pooling_of(s.problem)->repeating) return CAUSE_not_repeatable;
    enum cause cause;
    if (t != pooling_of(s.problem)->R) {
        cause = explain_mask_of_pools(&s);
        return cause ? cause : fragment_explain(c, t, budget);
    }
    if (are_rows_short(&s)) return CAUSE_pool_ragged;
    cause = explain_unseen(&s);
    if (!cause) cause = explain_slips(&s);
    // A wrong scale may make all weights of large scores 0, as other mistakes do.
    // A wrong divisor shows with any scale, and so before.
    if (!cause || cause == CAUSE_pool_sum) {
        const enum cause scale = explain_second_scale(&s);
        if (scale) cause = scale;
    }
    if (!cause) cause = explain_second_mask(&s);
    if (!cause) cause = explain_second_places(&s);
    if (cause) return cause;
    // With 1, 3 and 5 to 7 it was right: what is right in halves of 8 is wrong where a pool begins.
    const int64_t pool = pooling_of(s.problem)->pool;
    for (int64_t e = 0; e < t->count; e++)
        if (!check_was_written(t, e)) return CAUSE_NONE;  // others are missing for other reasons
    if (is_divided_by_less(&s)) return CAUSE_pool_hidden;
    if (pool > 64)
        return are_parts_lost(&s, false) && !is_rounded(t) ? CAUSE_merge_lost : CAUSE_NONE;
    if (are_parts_lost(&s, true)) return CAUSE_inner_tail;
    return pool % 8 == 4 && !is_rounded(t) ? CAUSE_pool_rows : CAUSE_NONE;
}

#endif
