// backward_mistakes.c: the mistakes that any kernel for the gradients can make.
#include "attention/backward_mistakes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/forward_mistakes.h"
#include "attention/places.h"

struct suspect backward_suspect(struct check* c, const struct tensor* t, struct budget budget) {
    const struct problem* p = problem_of_case(c);
    bool rounded = p->contract->rounded_weights;
    return (struct suspect){.tensor = t,
                            .budget = budget,
                            .slack = {.of_largest = rounded ? 0x1p-8 : 0x1p-14,
                                      .of_element = rounded ? 0x1p-7 : 0x1p-9,
                                      .nan_proves_nothing = true},
                            .problem = p};
}

// Looked at first, since it is quick: the first few wrong rows are not what the guess says. With a
// suspect that is not finite the guess is rounded, and nothing is said.
static bool is_ruled_out(const struct suspect* s, const struct backward* w) {
    enum { ROWS = 3 };
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    double row[MAX_HEAD], reach = hypothesis_reach(s);
    enum which a = ARRAY_dQ;
    int rows = 0;
    while (p->array[a].tensor != t) a++;
    if (w->absolute || backward_count_nonfinite(t) > 0) return false;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t n = 0; n < rows_of(p, a) && rows < ROWS; n++) {
                int64_t first = place_in(p, a, b, h, n);
                bool wrong = false;
                for (int64_t e = first; e < first + p->d; e++)
                    wrong |= !(fabs(t->got[e] - t->want[e]) <= s->budget.max);
                if (!wrong || is_unknown(w->blocks, b, h, n, a != ARRAY_dQ)) continue;
                rows++;
                if (!backward_row(p, w, a, b, h, n, row)) return false;
                for (int64_t x = 0; x < p->d; x++)
                    if (hypothesis_refuted_within(s, first + x, row[x], reach)) return true;
            }
    return false;
}

bool backward_guess(const struct suspect* s, const struct backward* w, double* guess) {
    const struct problem* p = s->problem;
    if (is_ruled_out(s, w)) return false;
    double* gradient[GRADIENTS] = {NULL};
    for (int a = 0; a < GRADIENTS; a++)
        if (s->tensor == p->array[ARRAY_dQ + a].tensor) gradient[a] = guess;
    backward(p, w, backward_count_nonfinite(s->tensor) > 0, gradient);
    return backward_has_rows_of_size(s, w, guess);
}

int64_t backward_count_nonfinite(const struct tensor* t) {
    int64_t bad = 0;
    for (int64_t e = 0; e < t->count; e++) bad += !t->untouched[e] && !isfinite(t->got[e]);
    return bad;
}

bool backward_is_zero(const struct tensor* t) {
    bool zeros = true;
    for (int64_t e = 0; e < t->count; e++) zeros &= t->untouched[e] || t->got[e] == 0;
    return zeros;
}

// ---- the equations -------------------------------------------------------------------------

bool backward_flawed(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct problem* p = s->problem;
    struct backward w = backward_right(p);
    w.flaw = *(const struct backward_flaw*)h->like;
    // 128, 64, ... columns, or as many whole pieces of 128, 64, ... as there are
    int64_t piece = (MAX_HEAD / 2) >> variant / 2;
    int64_t columns = variant % 2 ? p->d / piece * piece : piece;
    if (w.flaw.columns) w.flaw.columns = columns;
    if (w.flaw.delta_columns) w.flaw.delta_columns = columns;
    bool of_columns = w.flaw.columns || w.flaw.delta_columns;
    if ((h->variants > 0 && columns == 0) || (of_columns && columns >= p->d)) return false;
    return backward_guess(s, &w, guess);
}

const struct hypothesis backward_mistakes_in_equations[] = {
    {CAUSE_scale_missing, FLAW(.scores = ONE)},
    {CAUSE_scale_missing, FLAW(.scores = ONE, .gradients = ONE)},
    {CAUSE_scale_squared, FLAW(.scores = SQUARE)},
    {CAUSE_scale_squared, FLAW(.scores = USUAL_SQUARE)},
    {CAUSE_scale_ignored, FLAW(.scores = USUAL, .gradients = USUAL)},
    {CAUSE_scale_ignored, FLAW(.scores = USUAL)},
    {CAUSE_scale_ignored, FLAW(.gradients = USUAL)},
    {CAUSE_scale_ignored, FLAW(.scores = POSITIVE, .gradients = POSITIVE)},
    {CAUSE_scale_ignored, FLAW(.scores = POSITIVE)},
    {CAUSE_scale_ignored, FLAW(.gradients = POSITIVE)},
    {CAUSE_low_precision, FLAW(.scores = OF_BF16)},
    {CAUSE_gradient_scale, FLAW(.gradients = ONE)},
    {CAUSE_gradient_scale, FLAW(.gradients = SQUARE)},
    {CAUSE_gradient_scale, FLAW(.gradients = SCALE_LOG2_E)},
    {CAUSE_gradient_scale, FLAW(.dV = OF_SCALED_P)},
    {CAUSE_delta, FLAW(.delta = NO_DELTA)},
    {CAUSE_delta, FLAW(.delta = TIMES_SCALE)},
    {CAUSE_delta, FLAW(.delta = ADDED)},
    {CAUSE_delta, FLAW(.delta = OVER_SCALE)},
    {CAUSE_delta, FLAW(.delta = UNWEIGHTED)},
    {CAUSE_delta, FLAW(.dS_unweighted = true)},
    {CAUSE_delta, FLAW(.delta_rows = 64)},
    {CAUSE_place_in_tile, FLAW(.query = FIRST_HALF, .query_of = 1)},
    {CAUSE_place_in_tile, FLAW(.query = FIRST_HALF, .query_of = 3)},
    {CAUSE_low_precision, FLAW(.delta_kept = DELTA_ROUNDED)},
    {CAUSE_low_precision, FLAW(.delta_kept = PRODUCTS_ROUNDED)},
    {CAUSE_not_normalised, FLAW(.exponent = NO_LSE)},
    {CAUSE_lse_base2, FLAW(.exponent = LSE_OF_BASE_2)},
    {CAUSE_exp2_base, FLAW(.exponent = POWER_OF_2)},
    {CAUSE_exp2_base, FLAW(.scores = SCALE_LN_2)},
    {CAUSE_not_weighted, FLAW(.dV = OF_dS)},
    {CAUSE_not_weighted, FLAW(.dV = OF_dS, .dS_unweighted = true)},
    {CAUSE_wrong_array, FLAW(.dS_is_P = true)},
    {CAUSE_columns_short, FLAW(.columns = 1), .variants = 16},
    {CAUSE_delta, FLAW(.delta_columns = 1), .variants = 16},
    {0},
};

// Of each group the first 1, 2, 4, ... heads count.
static bool first_heads(const struct suspect* s, const struct hypothesis* h, int variant,
                        double* guess) {
    const struct problem* p = s->problem;
    struct backward w = backward_right(p);
    (void)h;
    w.flaw.summed = FIRST_HEADS;
    w.flaw.first_heads = (int64_t)1 << variant;
    return w.flaw.first_heads < p->group && backward_guess(s, &w, guess);
}

// Heads that share keys.
static const struct hypothesis in_groups[] = {
    {CAUSE_head_mapping, FLAW(.interleaved = true)},
    {CAUSE_head_mapping, FLAW(.by_key_heads = true)},
    {CAUSE_head_mapping, FLAW(.summed = FROM_KEY_HEAD)},
    {CAUSE_group_not_summed, FLAW(.summed = LAST_HEAD)},
    {CAUSE_group_not_summed, first_heads, .variants = 6},
    {CAUSE_group_not_summed, FLAW(.summed = MEAN_OF_HEADS)},
    {CAUSE_head_ignored, FLAW(.first_delta = true)},
    {CAUSE_head_ignored, FLAW(.first_LSE = true)},
    {CAUSE_head_ignored, FLAW(.first_delta = true, .first_LSE = true)},
    {0},
};

// Where all share one head of keys there is no other to take: what is lost was not summed. Comes
// first, since a head that takes keys behind the last ones is lost, too.
static const struct hypothesis in_one_group[] = {
    {CAUSE_group_not_summed, FLAW(.summed = LAST_HEAD)},
    {CAUSE_group_not_summed, first_heads, .variants = 6},
    {0},
};

// K and V of the first head for all: where no heads share keys, h / (H / group) is 0.
static const struct hypothesis of_first_head[] = {
    {CAUSE_head_ignored, FLAW(.by_key_heads = true)},
    {CAUSE_head_ignored, FLAW(.delta_of_head_0 = true)},
    {0},
};

// delta of the first batch for all.
static const struct hypothesis of_first_batch[] = {
    {CAUSE_batch_ignored, FLAW(.delta_of_batch_0 = true)},
    {CAUSE_batch_ignored, FLAW(.delta_of_batch_0 = true, .delta_of_head_0 = true)},
    {0},
};

// The diagonal is elsewhere. Other shifts begin at .like.
static bool other_shift(const struct suspect* s, const struct hypothesis* h, int variant,
                        double* guess) {
    const struct problem* p = s->problem;
    int64_t right = p->N_k - p->N_q;
    const int64_t shifts[] = {0,
                              -right,
                              right > 0 ? 0 : right,
                              right < 0 ? 0 : right,
                              right / 16 * 16,  // in whole tiles
                              right / 32 * 32,
                              right / 64 * 64,
                              right - 1,
                              right + 1};
    struct backward w = backward_right(p);
    w.shift = shifts[*(const int*)h->like + variant];
    return p->causal && w.shift != right && backward_guess(s, &w, guess);
}

#define FROM(n) (&(const int){n})

const struct hypothesis backward_mistakes_in_mask[] = {
    {CAUSE_causal_ignored, FLAW(.mask = MASK)},
    {CAUSE_causal_ignored, FLAW(.mask = MASK_NOTHING)},
    {CAUSE_mask_corner, other_shift, .variants = 7, .like = FROM(0)},
    {CAUSE_mask_off_by_one, other_shift, .variants = 2, .like = FROM(7)},
    {0},
};

// ---- blocks of S ---------------------------------------------------------------------------

// Where it is not known what a mistake takes for active, it may leave anything.
static void forget_unknown(const struct suspect* s, struct block_mask blocks, double* guess) {
    const struct problem* p = s->problem;
    enum which a = ARRAY_dQ;
    while (p->array[a].tensor != s->tensor) a++;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t n = 0; n < rows_of(p, a); n++) {
                double* row = guess + place_in(p, a, b, h, n);
                if (!is_unknown(blocks, b, h, n, a != ARRAY_dQ)) continue;
                for (int64_t x = 0; x < p->d; x++) row[x] = ANYTHING;
            }
}

static bool other_blocks(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    struct backward w = backward_right(s->problem);
    (void)variant;
    w.blocks = *(const struct block_mask*)h->like;
    if (!backward_guess(s, &w, guess)) return false;
    forget_unknown(s, w.blocks, guess);
    return true;
}

static enum cause explain_blocks(const struct suspect* s) {
    enum cause cause = CAUSE_NONE, of_mask;
    struct block_mask mask;
    for (int n = 0; !cause && mistake_mask(s->problem, n, &mask, &of_mask); n++) {
        const struct hypothesis list[] = {{of_mask, other_blocks, .like = &mask}, {0}};
        cause = hypothesis_search(s, list);
        free_mask(mask);
    }
    return cause;
}

// ---- tiles ---------------------------------------------------------------------------------

// The mistakes that look different for every tile size. The student's tile size is not known.
static bool flawed_in_tiles(const struct suspect* s, const struct hypothesis* h, int variant,
                            double* guess) {
    static const int64_t tiles[] = {16, 32, 64, 128, 8};
    const struct problem* p = s->problem;
    struct backward w = backward_right(p);
    // A larger tile may be the only one. If all is 0, more is missing than it.
    if (variant > 0 && !p->contract->rounded_weights && backward_is_zero(s->tensor)) return false;
    w.flaw = *(const struct backward_flaw*)h->like;
    w.tile = w.keys_tile = tiles[variant];
    return backward_guess(s, &w, guess);
}

#define IN_TILES(...) flawed_in_tiles, 5, (&(const struct backward_flaw){__VA_ARGS__})

static const struct hypothesis in_tiles[] = {
    {CAUSE_not_normalised, IN_TILES(.exponent = TILE_MAXIMUM)},
    {CAUSE_delta, IN_TILES(.delta = UNWEIGHTED, .dS_where_hidden = true)},
    {CAUSE_delta, IN_TILES(.dS_unweighted = true, .dS_where_hidden = true)},
    {CAUSE_diagonal_unmasked, IN_TILES(.mask = MASK_TILES)},
    {CAUSE_not_weighted, IN_TILES(.mask = MASK_TILES, .dV = OF_ONE)},
    {CAUSE_not_weighted, IN_TILES(.dV = OF_dS, .dS_unweighted = true, .dS_where_hidden = true)},
    {CAUSE_inner_tail, IN_TILES(.last = SHORT_LAST_SKIPPED)},
    {CAUSE_tile_skipped, IN_TILES(.last = FULL_LAST_SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(.last = LAST_TILE_TWICE)},
    {CAUSE_tile_twice, IN_TILES(.last = TAIL_TWICE)},
    {CAUSE_inner_tail, IN_TILES(.short_keys_lost = true)},
    {CAUSE_tile_skipped, IN_TILES(.at_start = SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(.at_start = TWICE)},
    {CAUSE_tile_skipped, IN_TILES(.at_full_start = SKIPPED)},
    {CAUSE_tile_twice, IN_TILES(.at_full_start = TWICE)},
    {CAUSE_tile_twice, IN_TILES(.start_unaligned = true)},
    {CAUSE_tile_skipped, IN_TILES(.part_lacks_first = true)},
    {CAUSE_tile_skipped, IN_TILES(.late_start = BY_LAST_KEY)},
    {CAUSE_tile_skipped, IN_TILES(.late_start = PART_3_OF_SQUARE)},
    {CAUSE_tile_skipped, IN_TILES(.late_start = LOOP_OF_SQUARE)},
    {CAUSE_index_mixed, IN_TILES(.query = QUERY_BY_KEY, .query_of = 1)},
    {CAUSE_index_mixed, IN_TILES(.query = QUERY_BY_KEY, .query_of = 2)},
    {CAUSE_index_mixed, IN_TILES(.query = QUERY_BY_KEY, .query_of = 3)},
    {CAUSE_added_early, IN_TILES(.dQ_each_key = true)},
    {0},
};

// As many queries, or keys, as the kernel knows of.
static bool at_most(const struct suspect* s, const struct hypothesis* h, int variant,
                    double* guess) {
    const struct problem* p = s->problem;
    const int64_t most = (int64_t)128 << variant / 2;
    struct backward w = backward_right(p);
    (void)h;
    *(variant % 2 ? &w.flaw.queries : &w.flaw.keys) = most;
    return most < (variant % 2 ? p->N_q : p->N_k) && backward_guess(s, &w, guess);
}

static const struct hypothesis in_sizes[] = {{CAUSE_inner_tail, at_most, .variants = 12}, {0}};

// ---- places --------------------------------------------------------------------------------

static bool in_other_places(const struct suspect* s, const struct hypothesis* h, int variant,
                            double* guess) {
    const struct places* at = h->like;
    struct backward w = backward_right(s->problem);
    double* dO = variant ? rows_of_places(at, ARRAY_dO) : NULL;  // for delta alone
    if (dO) w.dO_of_delta = dO;
    if (!variant) memcpy(w.stride, at->stride, sizeof w.stride);
    const bool known = (dO || !variant) && backward_guess(s, &w, guess);
    free(dO);
    return known;
}

// All inputs, all gradients, or one array have other strides.
static enum cause explain_places(const struct suspect* s) {
    enum { INPUTS_HERE = (1 << ARRAY_dQ) - 1, GRADIENTS_HERE = (1 << ARRAY_LSE) - 1 - INPUTS_HERE };
    enum { OF_KEYS = 1 << ARRAY_K | 1 << ARRAY_V };
    static const unsigned sets[] = {INPUTS_HERE,
                                    GRADIENTS_HERE,
                                    1 << ARRAY_Q,
                                    1 << ARRAY_K,
                                    1 << ARRAY_V,
                                    1 << ARRAY_O,
                                    1 << ARRAY_dO,
                                    1 << ARRAY_dQ,
                                    1 << ARRAY_dK,
                                    1 << ARRAY_dV,
                                    1 << ARRAY_LSE,
                                    OF_KEYS,
                                    0};
    enum cause cause = CAUSE_NONE;
    for (struct places at = {.problem = s->problem, .sets = sets}; !cause && next_places(&at);) {
        const struct hypothesis list[] = {{at.cause, in_other_places, 2, &at}, {0}};
        cause = hypothesis_search(s, list);
    }
    return cause;
}

// ---- what no guess reproduces --------------------------------------------------------------

// dV is NaN or infinite all over, where exp overflows with the scale 1 / sqrt(d) and is far from it
// with the launcher's: P was made with a scale of the kernel's own, or with none. Which one, no
// number tells.
static bool is_without_given_scale(const struct suspect* s) {
    const double infinite = 89;
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    double largest = 0;  // |Q K^T|
    if (t != p->array[ARRAY_dV].tensor || backward_count_nonfinite(t) == 0) return false;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && isfinite(t->got[e])) return false;
    FOR_EACH_QUERY(p, b, h, i)
    for (int64_t j = 0; j < p->N_k; j++)
        largest =
            fmax(largest, fabs(dot(p, row_of(p, ARRAY_Q, b, h, i), row_of(p, ARRAY_K, b, h, j))));
    return largest / sqrt((double)p->d) > infinite && fabs(p->scale) * largest < infinite / 2;
}

// True if dQ of some heads is all NaN or infinite, and dQ of the others is not at all. What nobody
// wrote reads as NaN, too, but no sum made it.
static bool are_whole_heads_nonfinite(const struct problem* p) {
    const struct tensor* dQ = p->array[ARRAY_dQ].tensor;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++) {
            int64_t bad = 0;
            for (int64_t i = 0; i < p->N_q; i++)
                for (int64_t x = 0; x < p->d; x++) {
                    int64_t e = place_in(p, ARRAY_dQ, b, h, i) + x;
                    if (isfinite(dQ->got[e])) continue;
                    if (!check_was_written(dQ, e)) return false;
                    bad++;
                }
            if (bad > 0 && bad < p->N_q * p->d) return false;
        }
    return true;
}

// The first query sees no key, and its dQ is NaN; the last one that sees none has its 0: a block of
// keys has come to its tile.
static bool is_tile_left_out(const struct problem* p) {
    const double* dQ = p->array[ARRAY_dQ].tensor->got;
    return p->causal && p->N_q > p->N_k && !isfinite(dQ[place_in(p, ARRAY_dQ, 0, 0, 0)]) &&
           dQ[place_in(p, ARRAY_dQ, 0, 0, p->N_q - p->N_k - 1)] == 0;
}

// Has the lesson's workspace room for sums of dQ? It has more than a delta for each query then.
static bool is_dQ_summed_in_workspace(const struct problem* p) {
    const int64_t queries = p->B * p->H * p->N_q;
    return p->contract->workspace_bytes && p->contract->workspace_bytes(p) / queries > 4;
}

// True if all of dQ is right but for numbers that are no numbers; and some of them are in a row
// that sees a key, or in a tile that nobody adds to.
static bool are_sums_nonfinite(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *dQ = s->tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool of_seen = p->N_k == 0 || is_tile_left_out(p);
    FOR_EACH_QUERY(p, b, h, i)
    for (int64_t x = 0; x < p->d; x++) {
        int64_t e = place_in(p, ARRAY_dQ, b, h, i) + x;
        if (!check_was_written(dQ, e)) return false;
        if (isfinite(dQ->got[e]) && !(fabs(dQ->got[e] - dQ->want[e]) <= s->budget.max))
            return false;
        of_seen |= !isfinite(dQ->got[e]) && isfinite(LSE->value[place_in(p, ARRAY_LSE, b, h, i)]);
    }
    return of_seen;
}

// True if some number of dK is NaN: dS was no number.
static bool is_dK_without_numbers(const struct problem* p) {
    const struct tensor* dK = p->array[ARRAY_dK].tensor;
    for (int64_t e = 0; e < dK->count; e++)
        if (!dK->untouched[e] && check_was_written(dK, e) && isnan(dK->got[e])) return true;
    return false;
}

// The first cause that a NaN can have. P and dS are right if only dQ is NaN.
static enum cause explain_sums(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *LSE = p->array[ARRAY_LSE].tensor;
    double highest = -INFINITY;
    int64_t bad = backward_count_nonfinite(t);
    if (p->scale == 0 && bad > 0) return CAUSE_scale_zero;
    if (t != p->array[ARRAY_dQ].tensor || bad == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < LSE->count; e++) highest = fmax(highest, LSE->value[e]);
    if (p->N_k > 0 && highest < -88)
        return CAUSE_nan_leak;  // exp(0 - LSE) of a key that does not exist
    if (p->nan_gaps || is_dK_without_numbers(p)) return CAUSE_NONE;
    // The score of a key that does not exist, or is hidden: -infinity times a scale below 0
    if (!is_dQ_summed_in_workspace(p))
        return p->scale < 0 && are_whole_heads_nonfinite(p) ? CAUSE_mask_scaled : CAUSE_NONE;
    if (are_whole_heads_nonfinite(p) || are_sums_nonfinite(s)) return CAUSE_workspace_uncleared;
    return CAUSE_NONE;
}

// True if all elements are right but for those that are no numbers.
static bool are_numbers_right(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && isfinite(t->got[e]) &&
            !(fabs(t->got[e] - t->want[e]) <= s->budget.max))
            return false;
    return true;
}

// The last causes: one NaN makes many.
static enum cause explain_nonfinite(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    double lowest = INFINITY, highest = -INFINITY, largest = 0;  // of LSE; of |dP|
    if (backward_count_nonfinite(s->tensor) == 0) return CAUSE_NONE;
    // An element that nobody wrote reads as NaN, but no number made it one.
    bool made = false;
    for (int64_t e = 0; e < s->tensor->count; e++)
        made |= !s->tensor->untouched[e] && !isfinite(s->tensor->got[e]) &&
                isfinite(s->tensor->want[e]) && check_was_written(s->tensor, e);
    if (!made && p->N_k == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < LSE->count; e++) {
        if (isinf(LSE->value[e])) return are_numbers_right(s) ? CAUSE_masked_row : CAUSE_NONE;
        lowest = fmin(lowest, LSE->value[e]);
        highest = fmax(highest, LSE->value[e]);
    }
    for (int64_t i = 0; i < p->N_q; i++)
        for (int64_t j = 0; j < p->N_k; j++)
            largest = fmax(largest,
                           fabs(dot(p, row_of(p, ARRAY_dO, 0, 0, i), row_of(p, ARRAY_V, 0, 0, j))));
    if (!made) return CAUSE_NONE;
    if (lowest < -88 || highest > 88) return CAUSE_overflow;
    return largest > 65504 ? CAUSE_low_precision : CAUSE_NONE;
}

// True if every error is small beside the sizes of the terms that were summed for its element:
// rounding is relative to the sums on the way, not to the result.
static bool is_rounding(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    struct backward sizes = backward_right(p);
    double* terms = check_allocate(p->check, t->count, sizeof *terms);
    bool yes = true;
    sizes.absolute = true;
    sizes.flaw.delta = ADDED;
    backward_guess(s, &sizes, terms);
    for (int64_t e = 0; e < t->count; e++) {
        const double error = fabs(t->got[e] - t->want[e]);  // of an infinite one: no rounding
        yes &= t->untouched[e] || (isfinite(error) && error <= 0x1p-8 * terms[e]);
    }
    free(terms);
    return yes;
}

// dQ of query i with another delta_i is off by a multiple of sum_j P_ij K_jx. Finds what has to be
// added to each delta, from dQ, its right numbers, and those with a delta that is 1 larger. False
// if the errors are no such multiples, or some are and are small: rounding gives these, too.
static bool find_added(const struct problem* p, const double* right, const double* larger,
                       double* added) {
    enum { FEWEST = 4 };  // queries in which it shows
    const struct tensor* dQ = p->array[ARRAY_dQ].tensor;
    const double *O = p->array[ARRAY_O].tensor->value, *dO = p->array[ARRAY_dO].tensor->value;
    int64_t shown = 0;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, ARRAY_dQ, b, h, i), to = place_in(p, ARRAY_LSE, b, h, i);
        const double *o = O + place_in(p, ARRAY_O, b, h, i),
                     *g = dO + place_in(p, ARRAY_dO, b, h, i);
        double both = 0, square = 0, error = 0, size = 0, terms = 0;
        for (int64_t x = 0; x < p->d; x++) {
            const double got = dQ->got[first + x], off = got - right[first + x];
            const double by_1 = larger[first + x] - right[first + x];
            both += off * by_1, square += by_1 * by_1, error += off * off;
            size += got * got + right[first + x] * right[first + x];
            terms += fabs(o[x] * g[x]);
        }
        added[to] = square > 0 ? both / square : 0;
        if (!(error > 0x1p-12 * size)) continue;
        if (!(error - added[to] * both <= error / 64)) return false;
        shown += fabs(added[to]) > terms / 32;
    }
    return shown >= FEWEST;
}

// delta is another number than the sum, in whatever way: it is found, and gives this gradient.
static bool is_other_delta(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *dQ = p->array[ARRAY_dQ].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    if (s->tensor == p->array[ARRAY_dV].tensor || backward_count_nonfinite(dQ) > 0) return false;
    const int64_t most = dQ->count > s->tensor->count ? dQ->count : s->tensor->count;
    double* added = check_allocate(p->check, LSE->count + 2 * most, sizeof *added);
    double *right = added + LSE->count, *larger = right + most;
    struct backward w = backward_right(p);
    backward(p, &w, false, (double* const[GRADIENTS]){right});
    for (int64_t e = 0; e < LSE->count; e++) added[e] = 1;
    w.added = added;
    backward(p, &w, false, (double* const[GRADIENTS]){larger});
    const bool found = find_added(p, right, larger, added) && backward_guess(s, &w, right) &&
                       hypothesis_fit(s->tensor, right, s->budget, s->slack) == FIT_SHOWN;
    free(added);
    return found;
}

enum cause backward_explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect s = backward_suspect(c, t, budget);
    const struct problem* p = s.problem;
    bool zeros = backward_is_zero(t), finite = backward_count_nonfinite(t) == 0;
    if (are_small_weights_lost(&s)) return CAUSE_small_weights;
    // Equal weights are weights.
    if (zeros && p->scale == 0 && t == p->array[ARRAY_dV].tensor) return CAUSE_all_zero;
    enum cause cause = explain_sums(&s);
    if (!cause && is_without_given_scale(&s)) return CAUSE_scale_ignored;
    if (!cause && !zeros) cause = hypothesis_search(&s, backward_mistakes_in_equations);
    if (!cause) cause = explain_blocks(&s);
    if (!cause && !zeros && p->group > 1 && p->group == p->H)
        cause = hypothesis_search(&s, in_one_group);
    if (!cause && !zeros && p->H > 1)
        cause = hypothesis_search(&s, p->group > 1 ? in_groups : of_first_head);
    if (!cause && !zeros && p->B > 1) cause = hypothesis_search(&s, of_first_batch);
    if (!cause && !zeros) cause = hypothesis_search(&s, backward_mistakes_in_mask);
    if (!cause && is_all_behind_diagonal(&s)) return CAUSE_mask_corner;
    if (!cause) cause = hypothesis_search_variants(&s, in_tiles);
    if (!cause && finite) cause = hypothesis_search(&s, in_sizes);
    if (!cause) cause = explain_places(&s);
    if (!cause && !zeros && finite) cause = backward_explain_operands(&s);
    if (!cause && !zeros && finite) cause = backward_explain_walks(&s);
    if (!cause && !zeros && finite && is_other_delta(&s)) return CAUSE_delta;
    if (!cause && is_gradient_of_row_before(&s)) return CAUSE_row_before;
    if (!cause && is_pair_behind_diagonal(&s)) return CAUSE_diagonal_unmasked;
    if (!cause) cause = explain_nonfinite(&s);
    if (!cause && (is_rounding(&s) || is_off_by_a_factor(&s))) return CAUSE_low_precision;
    return backward_of_one(&s, cause);
}
