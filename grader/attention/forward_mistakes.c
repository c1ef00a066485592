// forward_mistakes.c: mistakes about which keys a query sees, and where rows are: explain() of the
// lessons whose queries see some keys only.
#include "attention/forward_mistakes.h"

#include <stdlib.h>

// Has a row a sum of weights that sees no key of these blocks? Then other keys gave it.
static bool has_sum_without_keys(const struct problem* p, struct block_mask blocks) {
    enum { SMALLEST_TILE = 16 };
    const double least = 0.5;
    FOR_EACH_QUERY(p, b, h, i) {
        const double LSE = p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)];
        bool sees = is_unknown(blocks, b, h, i, false);
        for (int64_t j = 0; j < p->N_k; j += SMALLEST_TILE) sees |= is_active(blocks, b, h, i, j);
        if (!sees && LSE > least && isfinite(LSE)) return true;
    }
    return false;
}

enum cause explain_forward_blocks(const struct suspect* s) {
    enum cause cause = CAUSE_NONE;
    bool found = false;
    struct forward_mistake w = forward_right(s->problem);
    for (int n = 0; !found && mistake_mask(s->problem, n, &w.blocks, &cause); n++) {
        found = is_forward(s, &w) && !has_sum_without_keys(s->problem, w.blocks);
        free_mask(w.blocks);
    }
    return found ? cause : CAUSE_NONE;
}

// Is all right but the last packed rows of each key head, from the begin of a tile on, which nobody
// has written? Then a block is missing.
static bool is_last_tile_unwritten(const struct suspect* s) {
    enum { SMALLEST_TILE = 16 };
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    int64_t begin = p->N_q * p->group;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = i * p->group + h % p->group;
        if (!check_was_written(t, place_in(p, a, b, h, i)) && row < begin) begin = row;
    }
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, a, b, h, i), row = i * p->group + h % p->group;
        for (int64_t e = first; e < first + width_of(p, a); e++) {
            const bool written = check_was_written(t, e);
            if (row >= begin ? written : !(fabs(t->got[e] - t->want[e]) <= s->budget.max))
                return false;
        }
    }
    return begin % SMALLEST_TILE == 0;
}

// Which heads share keys, and which row of a tile is which query (lesson 17).
static enum cause explain_group(const struct suspect* s) {
    static const struct {
        enum cause cause;
        int grouping;
    } known[] = {
        {CAUSE_head_mapping, INTERLEAVED},    {CAUSE_head_mapping, POWERS_OF_TWO},
        {CAUSE_packed_row, ROW_FOR_A_QUERY},  {CAUSE_packed_row, HEADS_FIRST},
        {CAUSE_packed_row, QUERIES_FIRST},    {CAUSE_packed_row, ROWS_UP_TO_N_Q},
        {CAUSE_head_mapping, HEADS_FROM_KEY}, {CAUSE_head_mapping, HEADS_SHIFTED},
    };
    const struct problem* p = s->problem;
    for (size_t n = 0; n < sizeof known / sizeof known[0] && p->group > 1; n++) {
        struct forward_mistake w = forward_right(p);
        w.grouping = known[n].grouping;
        if (is_forward(s, &w)) return known[n].cause;
    }
    struct forward_mistake w = forward_right(p);
    w.grouping = FIRST_BY_HEADS;
    for (w.block_q = 16; w.block_q <= 128; w.block_q *= 2)
        if (p->group > 1 && !is_last_tile_unwritten(s) && is_forward(s, &w))
            return CAUSE_packed_row;
    return CAUSE_NONE;
}

// Who sees what, whatever the tiles are.
static enum cause explain_mask(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct forward_mistake w = forward_right(p);
    w.causal = !p->causal;
    if (is_forward(s, &w)) return CAUSE_causal_ignored;
    if (!p->causal) return CAUSE_NONE;
    int64_t right = p->N_k - p->N_q;
    const struct {
        enum cause cause;
        int64_t offset;
    } offsets[] = {
        {CAUSE_mask_off_by_one, right - 1},
        {CAUSE_mask_off_by_one, right + 1},
        {CAUSE_mask_corner, 0},
        {CAUSE_mask_corner, -right},
    };
    w = forward_right(p);
    for (size_t n = 0; n < sizeof offsets / sizeof offsets[0]; n++) {
        w.offset = offsets[n].offset;
        if (w.offset != right && is_forward(s, &w)) return offsets[n].cause;
    }
    return CAUSE_NONE;
}

// The sweep of a block ends with what its first row sees, or one tile behind what all rows see. It
// comes before what else leaves keys out, which may leave out the same ones: the cause is true of
// that, too.
static bool is_end_of_first_row(const struct suspect* s, int64_t block_q, int64_t block_k) {
    struct forward_mistake w = forward_right(s->problem);
    w.block_q = block_q;
    w.block_k = block_k;
    w.flaw = END_OF_FIRST_ROW;
    if (!w.causal) return false;
    if (is_forward(s, &w)) return true;
    w.flaw = ONE_TILE_IN_PART_2;
    return is_forward(s, &w);
}

// Packed tiles of which all is taken for seen that a query of the first row's number would see. It
// comes before what takes a key's number in its tile for the key, which may leave the same numbers:
// the cause is true of that, too.
static bool is_whole_by_packed_row(const struct suspect* s, int64_t block_q, int64_t block_k) {
    const struct problem* p = s->problem;
    struct forward_mistake w = forward_right(p);
    w.block_q = block_q;
    w.block_k = block_k;
    w.flaw = WHOLE_BY_PACKED_ROW;
    return p->group > 1 && w.causal && is_forward(s, &w);
}

// Mistakes that look different for every tile size. The student's tile size is not known.
static enum cause explain_tiles(const struct suspect* s, int64_t block_q, int64_t block_k) {
    static const struct {
        enum cause cause;
        int flaw;
        double masked;
    } known[] = {
        {CAUSE_place_in_tile, MASK_BY_COLUMN, -INFINITY},
        {CAUSE_mask_value, TAIL_COUNTS, 0},
        {CAUSE_inner_tail, LAST_TILE_DROPPED, 0},
        {CAUSE_diagonal_unmasked, DIAGONAL_UNMASKED, 0},
        {CAUSE_diagonal_unmasked, LAST_TILES_MASKED, 2},
        {CAUSE_diagonal_unmasked, LAST_TILES_MASKED, 1},
        {CAUSE_diagonal_unmasked, END_UNMASKED, 0},
        {CAUSE_merge_lost, PART_1_LOST, 0},
        {CAUSE_mask_late, MASKED_IN_MAXIMUM, 0},
        {CAUSE_mask_value, MASKED_COUNT, 0},
        {CAUSE_mask_value, MASKED_COUNT_TO_N_K, 0},
        {CAUSE_mask_value, MASKED_COUNT, -1e4},
        {CAUSE_mask_value, MASKED_COUNT, -1e5},
        {CAUSE_mask_value, MASKED_COUNT, -1e6},
        {CAUSE_mask_value, MASKED_COUNT_TO_N_K, -1e4},
        {CAUSE_mask_value, MASKED_COUNT_TO_N_K, -1e6},
        {CAUSE_mask_value, MASKED_COUNT, -1e30},
        {CAUSE_mask_value, MASKED_COUNT_TO_N_K, -1e30},
        {CAUSE_place_in_tile, MASK_BY_ROW, -INFINITY},
        {CAUSE_place_in_tile, MASK_OF_WARP_16, -INFINITY},
        {CAUSE_place_in_tile, MASK_OF_WARP_32, -INFINITY},
        {CAUSE_mask_off_by_one, ONE_KEY_MORE, 0},
        {CAUSE_tile_twice, PARTS_OVERLAP, 0},
        {CAUSE_packed_row, SEEN_BY_PACKED_ROW, 0},
    };
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        struct forward_mistake w = forward_right(s->problem);
        // where all see all keys, it is no more than keys of zeros that count
        if (known[n].cause == CAUSE_place_in_tile && !w.causal) continue;
        w.block_q = block_q;
        w.block_k = block_k;
        w.flaw = known[n].flaw;
        w.masked = known[n].masked;
        if (is_forward(s, &w)) return known[n].cause;
    }
    return CAUSE_NONE;
}

static bool sees_nothing(const struct problem* p, int64_t b, int64_t h, int64_t i) {
    for (int64_t j = 0; j < keys_seen(p, i); j++)
        if (pair_times(p, blocks_of(p), b, h, i, j)) return false;
    return true;
}

// The LSE of a row that sees no key is the logarithm of so many keys of zeros as a tile may have.
static bool is_LSE_of_zeros(double LSE) {
    for (double keys = 8; keys <= 256; keys *= 2)
        if (fabs(LSE - log(keys)) < 1e-4) return true;
    return false;
}

enum cause explain_empty_rows(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    enum which a = is_O(s) ? ARRAY_O : ARRAY_LSE;
    bool inside = false, outside = false, all_NaN = true, of_zeros = true;
    bool unwritten = true, right = false, all_empty = true;  // of what is wrong; of some row; rows
    bool* empty = check_allocate(p->check, t->count, sizeof *empty);
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, a, b, h, i);
        const bool nothing = sees_nothing(p, b, h, i);
        all_empty &= nothing;
        for (int64_t e = first; e < first + width_of(p, a); e++) empty[e] = nothing;
    }
    for (int64_t e = 0; e < t->count; e++) {
        double got = t->got[e], want = t->want[e];
        if (t->untouched[e]) continue;
        if (got == want || fabs(got - want) <= s->budget.max) {
            right = true;
            continue;
        }
        unwritten &= !check_was_written(t, e);
        *(empty[e] ? &inside : &outside) = true;
        all_NaN &= isnan(got);
        of_zeros &= is_LSE_of_zeros(got);
    }
    free(empty);
    if (outside || !inside) return CAUSE_NONE;
    // Where all rows are alike in this, some were stored, and others lack for another reason.
    if (all_empty && unwritten && right) return CAUSE_NONE;
    if (!is_O(s) && of_zeros) return CAUSE_mask_value;
    // What nobody wrote reads as NaN, and no state made it.
    return !is_O(s) && all_NaN && !unwritten ? CAUSE_empty_state : CAUSE_masked_row;
}

bool is_lost_below(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        const double got = LSE->got[row], want = LSE->want[row];
        if (!check_was_written(LSE, row) || !check_was_written(O, first)) return false;
        if (!(want < -1000) || want == -INFINITY) {
            if (got != want && !(fabs(got - want) < 1e-3)) return false;
            continue;
        }
        // m is too large, and l is 0; or such an m is taken for that of a row that sees nothing.
        const bool right = fabs(got - want) <= 1e-6 * fabs(want), zero = O->got[first] == 0;
        if (isnan(got) || (isfinite(got) && !right)) return false;
        if (!zero && (right || !isnan(O->got[first]))) return false;
        any = true;
    }
    return any;
}

bool is_LSE_right_beside_NaN(const struct suspect* s, bool with_empty_rows) {
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        int64_t row = place_in(p, ARRAY_LSE, b, h, i);
        double got = LSE->got[row], want = LSE->want[row];
        int64_t first = place_in(p, ARRAY_O, b, h, i);
        if (!check_was_written(O, first)) return false;
        if (!isnan(O->got[first])) continue;
        if (!(with_empty_rows && got == want) && !(fabs(got - want) < 1e-3)) return false;
        any = true;
    }
    return any;
}

bool is_scale_lost(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    bool nan = false;
    if (p->contract->dtype != F16 || !(fabs(p->scale) > 65504)) return false;
    for (int64_t e = 0; e < LSE->count; e++) nan |= isnan(LSE->got[e]) && check_was_written(LSE, e);
    return nan || saw_nothing(p);
}

bool is_NaN_of_no_scale(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    for (int64_t e = 0; p->scale == 0 && e < LSE->count; e++)
        any |= !LSE->untouched[e] && check_was_written(LSE, e) && isnan(LSE->got[e]);
    return any;
}

bool is_O_infinite_beside_LSE(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    if (!is_O(s)) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        const double got = LSE->got[row], want = LSE->want[row];
        bool infinite = false;
        for (int64_t e = first; e < first + p->d; e++) infinite |= isinf(O->got[e]);
        if (infinite && !(fabs(got - want) <= 1e-3 + 1e-5 * fabs(want))) return false;
        any |= infinite;
    }
    return any;
}

// O is 0, although m and l are right.
static bool is_zero_beside_LSE(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    for (int64_t e = 0; e < O->count; e++) {
        if (O->untouched[e]) continue;
        if (!check_was_written(O, e) || O->got[e] != 0) return false;
        any |= O->want[e] != 0;
    }
    if (!any) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        if (isfinite(LSE->want[e]) && !(fabs(LSE->got[e] - LSE->want[e]) < 1e-3)) return false;
    }
    return is_O(s);
}

// With a scale below 0 the maximum of the scores before it is the smallest one afterwards: where
// the others are 89 above it, their weights are infinite, and LSE is; elsewhere it is right. Not
// all of these rows have a score that is so large by itself. If the maximum is scaled with the
// difference, it is infinite at the beginning, and no row has a number left.
bool is_smallest_subtracted(const struct suspect* s) {
    const double infinite = 89, finite = 80;
    const struct problem* p = s->problem;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    bool any = false, none = true;
    if (!(p->scale < 0)) return false;
    for (int64_t e = 0; e < LSE->count; e++) none &= LSE->untouched[e] || !isfinite(LSE->got[e]);
    if (none) return true;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), seen = keys_seen(p, i);
        double largest = -INFINITY, smallest = INFINITY;
        for (int64_t j = 0; j < seen; j++) {
            largest = fmax(largest, score(p, b, h, i, j));
            smallest = fmin(smallest, score(p, b, h, i, j));
        }
        if (largest - smallest > infinite) {
            if (isfinite(LSE->got[row])) return false;
            any |= largest < finite;
        } else if (largest - smallest < finite && seen > 0 &&
                   !(fabs(LSE->got[row] - LSE->want[row]) <= 1e-3 * (1 + fabs(LSE->want[row])))) {
            return false;
        }
    }
    return any;
}

// The same number, or 0 for one that is subnormal in fp16.
static double flushed(double x) {
    return fabs(x) < 0x1p-14 ? 0 : x;
}

// O with subnormal numbers lost: bit 0 in V, bit 1 in K, bit 2 in O.
static bool is_O_flushed(const struct suspect* s, int where) {
    const struct problem* p = s->problem;
    double o[MAX_HEAD], LSE;
    bool fits = true;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, ARRAY_O, b, h, i);
        forward_reference_row(p, false, b, h, i, o, &LSE);
        for (int64_t x = 0; x < p->d; x++) {
            const double guess = where & 4 ? flushed(o[x]) : o[x];
            fits &= fabs(s->tensor->got[first + x] - guess) <= s->budget.max;
        }
    }
    return fits;
}

bool is_subnormal_lost(const struct suspect* s) {
    const struct problem* p = s->problem;
    const enum which of_bit[] = {ARRAY_V, ARRAY_K};
    const struct tensor* V = p->array[ARRAY_V].tensor;
    int64_t small = 0;
    bool found = false;
    for (int64_t e = 0; V && e < V->count; e++) small += V->value[e] != flushed(V->value[e]);
    if (!is_O(s) || p->contract->dtype != F16 || !V || 2 * small < V->count) return false;
    for (int where = 1; where < 8 && !found; where++) {
        double* kept[2] = {0};
        for (int n = 0; n < 2; n++) {
            struct tensor* t = p->array[of_bit[n]].tensor;
            kept[n] = t->value;
            t->value = check_allocate(p->check, t->count, sizeof *t->value);
            for (int64_t e = 0; e < t->count; e++)
                t->value[e] = where >> n & 1 ? flushed(kept[n][e]) : kept[n][e];
        }
        found = is_O_flushed(s, where);
        for (int n = 0; n < 2; n++) {
            struct tensor* t = p->array[of_bit[n]].tensor;
            free(t->value);
            t->value = kept[n];
        }
    }
    return found;
}

// -infinity times a scale below 0 is infinity, and times 0 NaN: no row that lacks a key is finite,
// unless its tile ends with what it sees.
static bool is_mask_scaled(const struct suspect* s) {
    enum { SMALLEST_TILE = 8 };
    const struct problem* p = s->problem;
    bool any = false;
    if (!p->causal || !(p->scale <= 0)) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        const double got = p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)];
        const int64_t seen = keys_seen(p, i);
        if (seen == p->N_k && !isfinite(got)) return false;
        if (seen < p->N_k && seen % SMALLEST_TILE != 0 && isfinite(got)) return false;
        any |= seen > 0 && !isfinite(got);
    }
    return any;
}

// Every score is far below 0, and none was larger than the number that the maximum begins with.
static bool are_scores_below_the_first(const struct problem* p) {
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    double highest = -INFINITY;
    for (int64_t e = 0; e < LSE->count; e++)
        if (!LSE->untouched[e]) highest = fmax(highest, LSE->want[e]);
    return isfinite(highest) && highest < -1000 && saw_nothing(p);
}

static bool is_every_LSE_NaN(const struct problem* p) {
    FOR_EACH_QUERY(p, b, h, i)
    if (!isnan(p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)])) return false;
    return true;
}

static enum cause explain_rows(struct check* c, const struct tensor* t, struct budget budget) {
    static const int64_t tiles[] = {16, 32, 64, 128};
    const struct suspect s = forward_suspect(c, t, budget);
    const struct problem* p = s.problem;
    const struct forward_mistake right = forward_right(p);
    if (is_cut_off(&s)) return CAUSE_cut_off;
    if (is_lost_below(&s)) return CAUSE_max_init;
    enum cause cause = explain_maximum_of_rows(&s);
    if (cause) return cause;
    if (is_O_infinite_beside_LSE(&s)) return CAUSE_overflow;
    if (is_scale_lost(&s)) return CAUSE_half_range;
    if (is_subnormal_lost(&s)) return CAUSE_subnormal;
    if (is_mask_scaled(&s)) return CAUSE_mask_scaled;
    if (p->nan_gaps && is_every_LSE_NaN(p)) {  // from beside the rows, into every score
        const struct array* array = p->array;
        bool alike = array[ARRAY_Q].stride.n == array[ARRAY_K].stride.n;
        if (!alike) cause = explain_forward_places(&s);  // a row may be looked for there
        return cause ? cause : CAUSE_nan_leak;
    }
    cause = explain_LSE(&s);
    if (is_zero_beside_LSE(&s)) return CAUSE_all_zero;
    if (are_scores_below_the_first(p)) return CAUSE_max_init;
    if (!cause && is_smallest_subtracted(&s)) return CAUSE_max_unscaled;
    if (!cause) cause = explain_scale(&s, right);
    // Where all weights come out as 0, it looks like a tile that was dropped.
    if (!cause) cause = explain_start(&s, right);
    if (!cause) cause = explain_forward_blocks(&s);
    if (!cause) cause = explain_group(&s);
    if (!cause) cause = explain_mask(&s);
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4 && !cause; k++)
            if (is_end_of_first_row(&s, tiles[q], tiles[k])) cause = CAUSE_tile_skipped;
    for (int n = 0; n < 16 && !cause; n++)
        if (is_whole_by_packed_row(&s, tiles[n / 4], tiles[n % 4])) cause = CAUSE_diagonal_unmasked;
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4 && !cause; k++)
            if (q == 0 || tiles[q - 1] < p->N_q) cause = explain_tiles(&s, tiles[q], tiles[k]);
    if (!cause) cause = explain_empty_rows(&s);
    for (int k = 0; k < 4 && !cause; k++)  // in some rows of some blocks
        if (is_without_last_keys(&s, tiles[k])) cause = CAUSE_tile_skipped;
    if (!cause) cause = explain_forward_places(&s);
    if (!cause) cause = explain_online(&s, right);
    if (!cause) cause = explain_square(&s, right);
    if (!cause && is_row_before_kept(&s)) return CAUSE_row_before;
    if (!cause && is_l_short(&s)) return CAUSE_sum_short;
    if (!cause && is_by_small_weights(&s)) return CAUSE_small_weights;
    if (!cause && is_NaN_of_no_scale(&s)) return CAUSE_scale_zero;
    // Where O is known to the bit. Elsewhere a rounding is no larger than a part of O.
    if (!cause && budget.max == 0 && is_rounded_on_the_way(&s)) return CAUSE_low_precision;
    // The NaN came with V, and a weight of 0 did not remove it.
    return !cause && is_LSE_right_beside_NaN(&s, false) ? CAUSE_nan_leak : cause;
}

// O is 0 in all rows whose LSE is NaN: a guard against an l of 0 has taken l, which is NaN, for 0.
static bool is_NaN_stored_as_0(const struct problem* p) {
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        if (!check_was_written(LSE, row) || !check_was_written(O, first)) return false;
        if (!isnan(LSE->got[row])) continue;
        for (int64_t e = first; e < first + p->d; e++)
            if (O->got[e] != 0) return false;
        any |= isfinite(LSE->want[row]);
    }
    return any;
}

// Puts a number into these rows of O.
static void fill_NaN_rows(const struct problem* p, double number) {
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, ARRAY_O, b, h, i);
        if (!isnan(p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)])) continue;
        for (int64_t e = first; e < first + p->d; e++) p->array[ARRAY_O].tensor->got[e] = number;
    }
}

enum cause explain_behind_guard(struct check* c, const struct tensor* t, struct budget budget,
                                enum cause (*explain)(struct check*, const struct tensor*,
                                                      struct budget)) {
    const struct problem* p = problem_of_case(c);
    if (!is_NaN_stored_as_0(p)) return explain(c, t, budget);
    fill_NaN_rows(p, NAN);
    enum cause cause = explain(c, p->array[ARRAY_LSE].tensor, (struct budget){.max = 1e-4});
    if (!cause) cause = explain(c, t, budget);
    fill_NaN_rows(p, 0);
    return cause ? cause : CAUSE_empty_state;
}

enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain_behind_guard(c, t, budget, explain_rows);
}

bool are_rows_scaled(const struct suspect* s) {
    const double rounding = 0.02, apart = 1.1;  // of a row: what bf16 leaves; of factors
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    double low = INFINITY, high = 0;
    int64_t wrong = 0;
    if (!is_O(s)) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        const double* got = t->got + place_in(p, ARRAY_O, b, h, i);
        const double* want = t->want + place_in(p, ARRAY_O, b, h, i);
        const double both = dot(p, got, want), factor = both / dot(p, want, want);
        double off = 0;
        for (int64_t x = 0; x < p->d; x++) off += pow(got[x] - factor * want[x], 2);
        if (!(off <= rounding * rounding * dot(p, got, got)) || factor <= 0) return false;
        if (factor > 1 / apart && factor < apart) continue;
        wrong++, low = fmin(low, factor), high = fmax(high, factor);
    }
    return wrong >= 4 && high > apart * low;
}
