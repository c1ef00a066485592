// fragments.c: mistakes that only a kernel with tensor cores can make: explain() of the lessons
// that have one. The mistakes of all kernels are in forward_mistakes.c.
#include <stdlib.h>
#include <string.h>

#include "attention/forward_mistakes.h"
#include "attention/taken.h"

// ---- an operand whose elements are taken from the wrong places --------------------------------

static enum cause explain_taken(const struct suspect* s) {
    const struct problem* p = s->problem;
    for (int a = ARRAY_Q; a <= ARRAY_V && p->N_k > 0; a++)
        for (int how = OTHER_PIECE; how < WAYS_TO_TAKE; how++) {
            struct forward_mistake w = forward_right(p);
            double* value = take(p, (enum taken)how, (enum which)a, w.view[a].value);
            w.view[a].value = value;
            bool yes = is_forward(s, &w);
            free(value);
            if (yes) return causes_of_taken[how];
        }
    for (int how = OTHER_PIECE; how < WAYS_TO_TAKE && is_O(s); how++) {
        double* O = take(p, (enum taken)how, ARRAY_O, s->tensor->want);
        bool yes = is_guess(s, O);
        free(O);
        if (yes) return causes_of_taken[how];
    }
    return CAUSE_NONE;
}

// ---- a warp that walks over tiles ------------------------------------------------------------

// 16 rows of a warp, each shared by 4 lanes t, which hold the columns 2t and 2t + 1 of every 8.
struct walk {
    int64_t block_q, block_k;
    bool backwards;  // from the last tile to the first
    enum {
        MAX_OF_OTHERS,     // the maximum is over other lanes than those of the row
        SUM_OF_OTHERS,     // so is the sum that divides
        P_MATRICES,        // the fragment of P has its second and third register swapped
        P_PAIRS,           // the two numbers of each register are swapped
        P_ROWS,            // rows g and g + 8 of it are
        MASKED,            // the mask asks about other pairs
        L_KEPT,            // l is not rescaled
        L_REPEATED,        // l is rescaled for every 8 columns of O
        O_KEPT,            // O is not rescaled
        BOTH_KEPT,         // neither is: m becomes the new one before alpha is made
        MAX_FROM_ZERO,     // m starts at 0
        MAX_SCALED_AGAIN,  // m, which is scaled, is scaled once more in each tile
        SUM_TWICE,      // each lane has the whole l already, and 4 of them are added up in the end
        SUM_BEFORE,     // the lanes' l are added up before each tile, too, in all four of them
        SUM_BEHIND,     // the same behind each tile
        UNGUARDED,      // (-inf) - (-inf), while a row has seen nothing
        BASE_ZERO,      // exp is relative to 0 in every tile that may be masked
        MASKED_TO_END,  // it asks about keys far from the one in the register
        FLAWS
    } flaw;
    const struct lanes* lanes;  // of ..._OF_OTHERS
    enum asked asked;           // of MASKED and MASKED_TO_END
};

// Which lanes of the 16 rows and 4 columns exchange a number: those whose row, or column, differs
// in some of these bits. The right ones are {0, 3}, by shuffles over 1 and 2.
struct lanes {
    int row, column;
};

static const struct lanes right_lanes = {0, 3};
static const struct lanes other_lanes[] = {
    {0, 0},  // none
    {0, 1},  // over 1 alone
    {0, 2},  // over 2 alone
    {3, 0},  // over 4 and 8
    {1, 1},  // over 1 and 4
};
enum { OTHER_LANES = sizeof other_lanes / sizeof other_lanes[0] };

// The maximum or the sum over such lanes, for the one of row r and columns t.
static double over_lanes(const struct lanes* of, bool sum, double number[16][4], int r, int t) {
    double all = sum ? 0 : -INFINITY;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            if (a & ~of->row || b & ~of->column) continue;
            const double one = number[r ^ a][t ^ b];
            all = sum ? all + one : fmax(all, one);
        }
    return all;
}

// exp as exp2_approx() gives it: what is below the smallest normal number is 0.
static double exp_flushed(double x) {
    double y = exp32(x);
    return y < 0x1p-126 ? 0 : y;
}

static int lane_of(int64_t column) {
    return (int)(column % 8 / 2);
}

struct rows {
    double m[16][4], l[16][4], O[16][MAX_HEAD];
};

enum { WIDEST = 128 };  // tile of keys

// All four lanes of a row have what they have together.
static void share_sum(double l[4]) {
    const double sum = l[0] + l[1] + l[2] + l[3];
    for (int t = 0; t < 4; t++) l[t] = sum;
}

// The scores of the tile from key j0 on, and the largest ones that each lane has.
static void score_tile(const struct problem* p, const struct walk* w, int64_t b, int64_t h,
                       int64_t i0, int64_t j0, double S[16][WIDEST], double own[16][4]) {
    for (int r = 0; r < 16; r++) {
        for (int t = 0; t < 4; t++) own[r][t] = -INFINITY;
        for (int64_t j = 0; j < w->block_k; j++) {
            int64_t row = i0 + r, key = j;
            asked_about(w->asked, &row, &key);
            key += j0;
            bool seen = key < keys_seen(p, row) && key < p->N_k && row < p->N_q &&
                        pair_times(p, blocks_of(p), b, h, row, key) != 0;
            S[r][j] = seen ? 0 : -INFINITY;
            if (!seen || i0 + r >= p->N_q) continue;
            const double* q = row_of(p, ARRAY_Q, b, h, i0 + r);
            const double* k = row_of(p, ARRAY_K, b, h, j0 + j);
            for (int64_t x = 0; x < p->d && j0 + j < p->N_k; x++) S[r][j] += q[x] * k[x];
            S[r][j] = index_capped(p, S[r][j] * p->scale);
            own[r][lane_of(j)] = fmax(own[r][lane_of(j)], S[r][j]);
        }
    }
}

static void walk_tile(const struct problem* p, const struct walk* w, int64_t b, int64_t h,
                      int64_t i0, int64_t j0, struct rows* s) {
    static const enum taken of_P[FLAWS] = {
        [P_MATRICES] = MATRICES, [P_PAIRS] = PAIRS, [P_ROWS] = ROWS};
    double S[16][WIDEST], P[16][WIDEST], own[16][4];
    score_tile(p, w, b, h, i0, j0, S, own);
    const bool masked = j0 / w->block_k >= keys_seen(p, i0 / w->block_q * w->block_q) / w->block_k;
    for (int r = 0; r < 16; r++) {
        double alpha[4], base[4];
        if (w->flaw == SUM_BEFORE) share_sum(s->l[r]);
        for (int t = 0; t < 4; t++) {
            const struct lanes* of = w->flaw == MAX_OF_OTHERS ? w->lanes : &right_lanes;
            const double again = w->flaw == MAX_SCALED_AGAIN ? p->scale / M_LN2 : 1;
            const double m = fmax(again * s->m[r][t], over_lanes(of, false, own, r, t));
            const bool at_0 = w->flaw == BASE_ZERO ? masked : m == -INFINITY;
            base[t] = at_0 && w->flaw != UNGUARDED ? 0 : m;
            alpha[t] = exp_flushed(s->m[r][t] - base[t]);
            s->m[r][t] = m;
            if (w->flaw == L_REPEATED) s->l[r][t] *= pow(alpha[t], (double)p->d / 8 - 1);
            if (w->flaw != L_KEPT && w->flaw != BOTH_KEPT) s->l[r][t] *= alpha[t];
        }
        for (int64_t j = 0; j < w->block_k; j++) {
            P[r][j] = exp_flushed(S[r][j] - base[lane_of(j)]);
            s->l[r][lane_of(j)] += P[r][j];
        }
        if (w->flaw == SUM_BEHIND) share_sum(s->l[r]);
        const bool kept = w->flaw == O_KEPT || w->flaw == BOTH_KEPT;
        for (int64_t x = 0; x < p->d && !kept; x++) s->O[r][x] *= alpha[lane_of(x)];
    }
    for (int r = 0; r < 16; r++)
        for (int64_t j = 0; j < w->block_k && j0 + j < p->N_k; j++) {
            int64_t row = r, key = j;
            taken_from(of_P[w->flaw], &row, &key);
            const double* v = row_of(p, ARRAY_V, b, h, j0 + j);
            for (int64_t x = 0; x < p->d; x++) s->O[r][x] += P[row][key] * v[x];
        }
}

// What the warp of row i0 and the 15 behind it holds in the end.
static void walk_rows(const struct problem* p, const struct walk* w, int64_t b, int64_t h,
                      int64_t i0, struct rows* s) {
    memset(s, 0, sizeof *s);
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < 4; t++) s->m[r][t] = w->flaw == MAX_FROM_ZERO ? 0 : -INFINITY;
    int64_t last_row = i0 / w->block_q * w->block_q + w->block_q - 1;
    int64_t end = keys_seen(p, last_row < p->N_q ? last_row : p->N_q - 1);
    int64_t tiles = round_up(end, w->block_k) / w->block_k;
    for (int64_t n = 0; n < tiles; n++)
        walk_tile(p, w, b, h, i0, (w->backwards ? tiles - 1 - n : n) * w->block_k, s);
}

static void store_row(const struct problem* p, const struct walk* w, struct rows* s, int r,
                      double* o, double* LSE) {
    const struct lanes* of = w->flaw == SUM_OF_OTHERS ? w->lanes : &right_lanes;
    double l[4];
    if (w->flaw == SUM_TWICE) share_sum(s->l[r]);
    for (int t = 0; t < 4; t++) l[t] = over_lanes(of, true, s->l, r, t);
    for (int64_t x = 0; x < p->d; x++) {
        const double sum = l[lane_of(x)];
        o[x] = sum == 0 ? 0 : s->O[r][x] / sum;
    }
    *LSE = s->m[r][0] + log(l[0]);
}

static bool rows_of_walk(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i0,
                         double* O, double* LSE) {
    struct rows s;
    walk_rows(p, how, b, h, i0, &s);
    for (int r = 0; r < 16; r++) store_row(p, how, &s, r, O + r * p->d, LSE + r);
    return true;
}

// All that is wrong is 0: that tells nothing of an l that was summed too often.
static bool are_wrong_ones_zero(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && !(fabs(t->got[e] - t->want[e]) <= s->budget.max) && t->got[e] != 0)
            return false;
    return true;
}

static enum cause explain_walk(const struct suspect* s, int64_t block_q, int64_t block_k,
                               bool backwards, bool to_end) {
    static const enum cause causes[FLAWS] = {
        [MAX_OF_OTHERS] = CAUSE_merge_lost,  [SUM_OF_OTHERS] = CAUSE_merge_lost,
        [P_MATRICES] = CAUSE_fragment_order, [P_PAIRS] = CAUSE_fragment_order,
        [P_ROWS] = CAUSE_fragment_order,     [MASKED] = CAUSE_fragment_order,
        [L_KEPT] = CAUSE_no_rescale,         [L_REPEATED] = CAUSE_rescale_repeated,
        [BOTH_KEPT] = CAUSE_no_rescale,      [O_KEPT] = CAUSE_no_rescale_O,
        [MAX_FROM_ZERO] = CAUSE_max_init,    [MAX_SCALED_AGAIN] = CAUSE_max_scaled_again,
        [UNGUARDED] = CAUSE_empty_state,     [SUM_TWICE] = CAUSE_merged_twice,
        [SUM_BEFORE] = CAUSE_merged_twice,   [SUM_BEHIND] = CAUSE_merged_twice,
        [BASE_ZERO] = CAUSE_base_zero,       [MASKED_TO_END] = CAUSE_fragment_order,
    };
    // Keys that are none have all the weight.
    if (has_sum_beside_zeros(s->problem)) return CAUSE_NONE;
    // Only there does it matter which tiles a block leaves out.
    const int first = to_end ? MASKED_TO_END : block_q == 64 ? 0 : UNGUARDED;
    for (int flaw = first; flaw < (to_end ? FLAWS : MASKED_TO_END); flaw++) {
        if (causes[flaw] == CAUSE_merged_twice && are_wrong_ones_zero(s)) continue;
        const bool other = flaw == MAX_OF_OTHERS || flaw == SUM_OF_OTHERS;
        const int from = flaw == MASKED ? 1 : flaw == MASKED_TO_END ? OF_FIRST_8 : OWN_PAIR;
        const int end = flaw == MASKED ? OF_FIRST_8 : flaw == MASKED_TO_END ? WAYS_TO_ASK : 1;
        for (int n = from; n < (other ? OTHER_LANES : end); n++) {
            const struct walk w = {block_q,
                                   block_k,
                                   backwards,
                                   flaw,
                                   &other_lanes[other ? n : 0],
                                   (enum asked)(other ? OWN_PAIR : n)};
            if (forward_is_made_of_tiles(s, 16, rows_of_walk, &w)) return causes[flaw];
        }
    }
    return CAUSE_NONE;
}

// ---- all of it -----------------------------------------------------------------------------

// Scores that are wrong all over.
static enum cause explain_scores(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct forward_mistake w = forward_right(p);
    enum cause cause = explain_LSE(s);
    if (!cause) cause = explain_scale(s, w);
    if (!cause) cause = explain_scaled_Q(s, w);
    if (cause) return cause;
    w.columns = 64;
    return p->d > 64 && is_forward(s, &w) ? CAUSE_columns_short : CAUSE_NONE;
}

// No element of O is wrong by itself, but all together are too small, and LSE is too large: keys of
// zeros count. Which ones?
static enum cause explain_zeros(struct check* c, const struct suspect* s) {
    static const struct {
        enum cause cause;
        int flaw;
    } known[] = {{CAUSE_mask_off_by_one, ONE_KEY_MORE}, {CAUSE_mask_value, TAIL_COUNTS}};
    const struct problem* p = s->problem;
    const struct suspect of_LSE =
        forward_suspect(c, p->array[ARRAY_LSE].tensor, (struct budget){.max = 1e-4});
    for (size_t n = 0; n < 2 * sizeof known / sizeof known[0]; n++)
        for (int64_t block_k = 128; block_k >= 16; block_k /= 2) {
            struct forward_mistake w = forward_right(p);
            w.block_q = n % 2 ? 128 : 64;
            w.block_k = block_k;
            w.flaw = known[n / 2].flaw;
            if (is_forward(&of_LSE, &w)) return known[n / 2].cause;
        }
    return CAUSE_NONE;
}

// Is every number of a row the nearest one?
static bool is_row_exact(const struct suspect* s, int64_t b, int64_t h, int64_t i) {
    const struct tensor* t = s->tensor;
    const struct problem* p = s->problem;
    const int64_t first = place_in(p, ARRAY_O, b, h, i);
    for (int64_t e = first; e < first + p->d; e++)
        if (t->got[e] != dtype_round(t->dtype, t->want[e])) return false;
    return true;
}

// In three rows of eight, or more.
static bool are_rows_exact(const struct suspect* s) {
    const struct problem* p = s->problem;
    int64_t exact = 0, rows = 0;
    FOR_EACH_QUERY(p, b, h, i) {
        exact += is_row_exact(s, b, h, i);
        rows++;
    }
    return 8 * exact >= 3 * rows;
}

// O is 1 where all values are, and in some rows alone a little less: so it is if an alpha, or O
// before it is multiplied by one, was rounded. Weights that were cut off are so in all rows.
static bool are_some_ones_rounded(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && !(fabs(t->want[e] - 1) < 1e-9 && fabs(t->got[e] - 1) <= 0x1p-6))
            return false;
    return is_O(s) && are_rows_exact(s);
}

// No element of O is wrong by itself, but all together are too small: weights were cut off, not
// rounded, before they were multiplied. That is so in all rows: an alpha that was rounded is one of
// some rows.
static bool is_too_small(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    double growth = 0, count = 0;
    if (!is_O(s) || are_rows_exact(s)) return false;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        if (!(fabs(t->got[e] - t->want[e]) <= s->budget.max)) return false;
        growth += copysign(1, t->want[e]) * (t->got[e] - t->want[e]);
        count++;
    }
    return s->budget.bias > 0 && growth < -s->budget.bias * count;
}

// A few rows have an LSE that is a little too large, and the others are right: so it is if l is not
// rescaled where the maximum grows by little. What rounds has all rows a little off.
static bool are_few_sums_large(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    int64_t wrong = 0, rows = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double off = t->got[e] - t->want[e];
        if (t->untouched[e] || !isfinite(t->want[e])) continue;
        rows++;
        if (fabs(off) <= s->budget.max) continue;
        if (!(off > 4 * s->budget.max && off < 0.02)) return false;
        wrong++;
    }
    return !is_O(s) && wrong > 0 && 4 * wrong < rows;
}

// Is LSE too large somewhere? Weights that are cut off do not make it larger: there are others.
static bool is_LSE_large(const struct suspect* s, double tolerance) {
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        if (isfinite(LSE->want[e]) && LSE->got[e] - LSE->want[e] > tolerance) return true;
    }
    return false;
}

static enum cause explain_walks(const struct suspect* s, bool to_end) {
    enum cause cause = CAUSE_NONE;
    for (int64_t block_k = 128; block_k >= 16 && !cause; block_k /= 2)
        for (int backwards = 1; backwards >= 0 && !cause; backwards--)
            for (int64_t block_q = 128; block_q >= 32 && !cause; block_q /= 2)
                cause = explain_walk(s, block_q, block_k, backwards, to_end);
    return cause;
}

static enum cause explain_fragment_rows(struct check* c, const struct tensor* t,
                                        struct budget budget) {
    const struct suspect s = forward_suspect(c, t, budget);
    const bool small = is_too_small(&s), of_others = small && is_LSE_large(&s, 1e-3);
    enum cause zeros = small ? explain_zeros(c, &s) : CAUSE_NONE;
    if (zeros) return zeros;
    if (of_others)  // few keys of zeros do not show in an element of O
        return explain_fragment_rows(c, problem_of_case(c)->array[ARRAY_LSE].tensor,
                                     (struct budget){.max = 1e-4});
    if (is_cut_off(&s) || small) return CAUSE_cut_off;
    if (are_some_ones_rounded(&s)) return CAUSE_low_precision;
    if (is_lost_below(&s)) return CAUSE_max_init;
    enum cause cause = explain_maximum_of_rows(&s);
    if (cause) return cause;
    // Who loses what came before, or after, has failed in an earlier case.
    if (is_by_small_weights(&s)) return CAUSE_small_weights;
    cause = explain_forward_blocks(&s);  // none where there is no mask of blocks
    if (!cause) cause = explain_scores(&s);
    if (!cause) cause = explain_taken(&s);
    // 0 / 0 in rows that see no key; or V, used before its copy arrived.
    if (!cause && is_O(&s) && is_LSE_right_beside_NaN(&s, true)) {
        cause = explain_empty_rows(&s);
        if (!cause && problem_of_case(c)->nan_gaps) cause = explain_forward_places(&s);
        return cause ? cause : CAUSE_uninitialised;
    }
    if (!cause) cause = explain_walks(&s, false);
    if (!cause) cause = forward_explain(c, t, budget);
    // A diagonal that is not masked looks alike.
    if (!cause) cause = explain_walks(&s, true);
    return !cause && are_few_sums_large(&s) ? CAUSE_no_rescale : cause;
}

enum cause fragment_explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain_behind_guard(c, t, budget, explain_fragment_rows);
}
