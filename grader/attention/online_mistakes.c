// online_mistakes.c: mistakes in the online softmax: explain() of the lesson that teaches it.
#include <stdlib.h>

#include "attention/forward_mistakes.h"

// A kernel for queries that see all keys.
static struct forward_mistake online_right(const struct problem* p) {
    struct forward_mistake w = forward_right(p);
    w.online.unguarded = true;
    return w;
}

static bool is_online(const struct suspect* s, struct forward_mistake w, int64_t tile,
                      struct online flaw) {
    flaw.unguarded = w.online.unguarded;
    w.tile = tile;
    w.online = flaw;
    w.needs_LSE = flaw.half_products;
    w.needs_O =
        flaw.tiles == FIRST_AGAIN || flaw.tiles == LAST_AGAIN || flaw.l_more > 0 || flaw.alpha_raw;
    return is_forward(s, &w);
}

enum cause explain_scale(const struct suspect* s, struct forward_mistake w) {
    const struct problem* p = s->problem;
    double usual = (double)(float)(1 / sqrt((double)p->d));
    const struct {
        enum cause cause;
        double scale;
    } scales[] = {
        {CAUSE_exp2_base, p->scale * log(2)},
        {CAUSE_scale_missing, 1},
        {CAUSE_scale_squared, p->scale * p->scale},
        {CAUSE_scale_squared, 1.0 / (double)p->d},
        {CAUSE_scale_ignored, usual},
        {CAUSE_scale_ignored, fabs(p->scale)},
        {CAUSE_exp2_base, p->scale / log(2)},
        {CAUSE_scale_squared, sqrt(p->scale)},
    };
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        w.scale = scales[n].scale;
        if (!isnan(w.scale) && w.scale != p->scale && is_forward(s, &w)) return scales[n].cause;
    }
    return CAUSE_NONE;
}

enum cause explain_scaled_Q(const struct suspect* s, struct forward_mistake w) {
    const struct problem* p = s->problem;
    const struct tensor* Q = p->array[ARRAY_Q].tensor;
    const double factors[] = {1, 1 / log(2)};
    double* scaled = check_allocate(p->check, Q->count, sizeof *scaled);
    bool found = false;
    for (int n = 0; n < 2 && !found; n++) {
        for (int64_t e = 0; e < Q->count; e++)
            scaled[e] = dtype_round(Q->dtype, Q->value[e] * p->scale * factors[n]);
        w.view[ARRAY_Q].value = scaled;
        w.scale = 1 / factors[n];
        found = is_forward(s, &w);
    }
    free(scaled);
    return found ? CAUSE_low_precision : CAUSE_NONE;
}

// True if the running maximum begins at m. An m that is too low gives NaN in some rows.
static bool begins_at(const struct suspect* s, struct forward_mistake w, double m, bool constant) {
    w.m = m;
    w.online.subtracted = constant ? CONSTANT : LARGEST;
    w.needs_LSE = m < 0 || w.needs_all_of_LSE;
    return is_forward(s, &w);
}

// True if LSE is wrong by as much as rounding l to few bits makes it, in some row, and not by more
// in any: O alone could then look as if it was divided by an l of earlier.
static bool is_l_inexact(const struct problem* p) {
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    double worst = 0;
    FOR_EACH_QUERY(p, b, h, i) {
        int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        double off = fabs(LSE->got[e] - LSE->want[e]);
        if (!(off < 0x1p-6)) return false;
        worst = fmax(worst, off);
    }
    return worst > 0x1p-13;
}

// Where O has no number, too many mistakes fit.
static bool has_numbers(const struct tensor* t) {
    int64_t numbers = 0;
    for (int64_t e = 0; e < t->count; e++) numbers += !t->untouched[e] && isfinite(t->got[e]);
    return 8 * numbers > t->count;
}

// Tiles of any size, walked either way.
static bool is_walked(const struct suspect* s, struct forward_mistake w) {
    const struct problem* p = s->problem;
    for (w.tile = 128; w.tile >= 8; w.tile /= 2) {
        if (w.tile >= p->N_k) continue;
        // a last tile of which a row sees nothing leaves it an m of -infinity
        w.flaw = MASKED_COUNT, w.masked = -INFINITY, w.block_k = w.tile;
        for (w.block_q = 16; w.causal && w.block_q <= 128; w.block_q *= 2)
            if (is_forward(s, &w)) return true;
        w.flaw = NO_FLAW;
        for (int n = 0; n < 4; n++) {
            w.online.tiles = n % 2 ? BACKWARDS : ONCE_EACH;
            w.online.unguarded = n < 2;  // 1 / l of an l that is NaN is NaN, or it is not asked for
            if (is_forward(s, &w)) return true;
        }
        w.online.tiles = ONCE_EACH;
    }
    return false;
}

// The maximum is that of the tile alone: alpha may be above 1, and then it overflows.
static bool is_maximum_of_tile(const struct suspect* s, struct forward_mistake w) {
    if (is_O(s) && !has_numbers(s->tensor)) return false;
    w.online.subtracted = LARGEST_OF_TILE;
    return is_walked(s, w);
}

// m is scaled once more.
static bool is_scaled_again(const struct suspect* s, struct forward_mistake w) {
    const struct problem* p = s->problem;
    if (p->scale == 0 || (is_O(s) && !has_numbers(s->tensor))) return false;
    w.needs_LSE = w.needs_all_of_LSE = w.needs_O = true;
    if (is_maximum_of_tile(s, w)) return false;  // where numbers are few, either may fit
    for (int n = 0; n < 2; n++) {
        w.online.in_base_2 = n;
        w.online.m_again = SCALED_IN_EXP;
        if (is_forward(s, &w)) return true;
        w.online.m_again = SCALED_IN_P;
        if (is_walked(s, w)) return true;
        w.online.m_again = SCALED_IN_TILES;
        if (is_walked(s, w)) return true;
    }
    return false;
}

bool has_sum_beside_zeros(const struct problem* p) {
    const double least = 0.5;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = place_in(p, ARRAY_O, b, h, i);
        const struct tensor* O = p->array[ARRAY_O].tensor;
        const double LSE = p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)];
        bool zeros = true, right = true;
        for (int64_t e = first; e < first + p->d; e++)
            zeros &= O->got[e] == 0, right &= O->want[e] == 0;
        if (zeros && !right && LSE > least && isfinite(LSE)) return true;
    }
    return false;
}

enum cause explain_start(const struct suspect* s, struct forward_mistake right) {
    if (has_sum_beside_zeros(s->problem)) return CAUSE_NONE;
    for (double m = -1e5; m <= -1; m /= 10)
        if (begins_at(s, right, m, false)) return CAUSE_max_init;
    if (begins_at(s, right, 0, false)) return CAUSE_max_init;
    if (is_scaled_again(s, right)) return CAUSE_max_scaled_again;
    return is_online(s, right, MAX_N, (struct online){.subtracted = RAW}) ? CAUSE_max_unscaled
                                                                          : CAUSE_NONE;
}

static enum cause explain_arithmetic(const struct suspect* s, const struct forward_mistake right) {
    const struct problem* p = s->problem;
    static const struct {
        enum cause cause;
        struct online flaw;
    } known[] = {
        {CAUSE_low_precision, {.half_products = true}},
        {CAUSE_not_divided, {.divided = NEVER}},
        {CAUSE_overflow, {.subtracted = FIRST_SCORE}},
        {CAUSE_max_unscaled, {.subtracted = SMALLEST}},
    };
    // Without a maximum LSE is right where it is finite; with one that is scaled again it may be.
    struct forward_mistake none = right;
    none.needs_all_of_LSE = true;
    if (begins_at(s, none, 0, true)) return CAUSE_overflow;
    if (is_scaled_again(s, right)) return CAUSE_max_scaled_again;
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        // A scale above 0 makes no largest score the smallest.
        if (known[n].flaw.subtracted == SMALLEST && p->scale > 0) continue;
        if (!is_online(s, right, MAX_N, known[n].flaw)) continue;
        // An l of 1 is as if nobody divided; LSE tells them apart.
        return known[n].flaw.divided == NEVER && is_l_short(s) ? CAUSE_sum_short : known[n].cause;
    }
    if (begins_at(s, right, 0, true)) return CAUSE_overflow;
    enum cause cause = explain_start(s, right);
    if (cause) return cause;
    struct forward_mistake w = right;
    for (int64_t part = 128; part >= 8; part /= 2) {  // the first columns, or whole pieces of them
        w.columns = part;
        if (part < p->d && is_forward(s, &w)) return CAUSE_columns_short;
        w.columns = p->d / part * part;
        if (w.columns < p->d && w.columns > 0 && is_forward(s, &w)) return CAUSE_columns_short;
    }
    w = right;
    for (w.keys = 16384; w.keys >= 256; w.keys /= 2)  // as many as an array of the kernel has
        if (w.keys < p->N_k && is_forward(s, &w)) return CAUSE_inner_tail;
    w.keys = p->N_q;
    return p->N_q < p->N_k && is_forward(s, &w) ? CAUSE_swapped_sizes : CAUSE_NONE;
}

bool saw_nothing(const struct problem* p) {
    const struct tensor* O = p->array[ARRAY_O].tensor;
    if (p->N_k == 0) return false;  // nobody sees a key
    for (int64_t e = 0; e < O->count; e++)
        if (!O->untouched[e] && !isnan(O->got[e]) && O->got[e] != 0) return false;
    const struct tensor* LSE = p->array[ARRAY_LSE].tensor;
    bool seen = false;  // by any query of the right kernel
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t e = place_in(p, ARRAY_LSE, b, h, i);
        if (LSE->got[e] != -INFINITY) return false;
        seen |= LSE->want[e] != -INFINITY;
    }
    return seen;
}

// Mistakes that look different for every tile size. The student's tile size is not known.
static enum cause explain_tile(const struct suspect* s, const struct forward_mistake right,
                               int64_t tile) {
    static const struct {
        enum cause cause;
        struct online flaw;
    } known[] = {
        {CAUSE_no_rescale, {.l_kept = true}},
        {CAUSE_no_rescale_O, {.O_kept = true}},
        {CAUSE_no_rescale, {.l_kept = true, .O_kept = true}},
        {CAUSE_rescale_reversed, {.reversed = true}},
        {CAUSE_rescale_reversed, {.reversed = true, .unscaled_first = true}},
        {CAUSE_max_unscaled, {.alpha_raw = true}},
        {CAUSE_rescale_repeated, {.O_each_key = true}},
        {CAUSE_rescale_repeated, {.l_each_key = true}},
        {CAUSE_rescale_repeated, {.l_each_key = true, .O_each_key = true}},
        {CAUSE_rescale_repeated, {.l_more = 15}},
        {CAUSE_rescale_repeated, {.l_more = 7}},
        {CAUSE_rescale_repeated, {.l_more = 3}},
        {CAUSE_rescale_repeated, {.l_more = 1}},
        {CAUSE_max_stale, {.m_kept = true}},
        {CAUSE_max_before, {.P_before = true}},
        {CAUSE_sum_init, {.l = 1, .unscaled_first = true}},
        {CAUSE_sum_init, {.l = 1, .l_kept = true}},
        {CAUSE_divided_early, {.divided = IN_LOOP}},
        {CAUSE_divided_early, {.divided = IN_LOOP_AND_AT_END}},
        {CAUSE_divided_early, {.divided = O_IN_LOOP}},
        {CAUSE_divided_early, {.divided = O_IN_LOOP_AND_AT_END}},
        {CAUSE_exp2_base, {.P_of_2 = true}},
        {CAUSE_exp2_base, {.alpha_of_2 = true}},
        {CAUSE_exp2_base, {.O_of_2 = true}},
        {CAUSE_tile_twice, {.tiles = FIRST_AGAIN}},
        {CAUSE_tile_twice, {.tiles = LAST_AGAIN}},
        {CAUSE_tile_skipped, {.tiles = FIRST_LOST}},
        {CAUSE_merge_lost, {.l_late = true}},
    };
    const struct problem* p = s->problem;
    struct forward_mistake w = right;
    const struct online without[] = {{.keys = WITHOUT_LAST}, {.keys = WITHOUT_FIRST}};
    for (int n = 0; n < 2 && tile > 1; n++)
        if (is_online(s, right, tile, without[n])) return CAUSE_tile_skipped;
    w.needs_O = true;
    w.keys = p->N_k / tile * tile;  // a last tile that is not full does not count
    if (w.keys > 0 && w.keys < p->N_k && is_forward(s, &w)) return CAUSE_inner_tail;
    w.keys = p->N_k - tile;  // the last tile does not count
    if (w.keys > 0 && is_forward(s, &w)) return CAUSE_inner_tail;
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        if (known[n].flaw.divided && is_l_inexact(p)) continue;
        // Where all that came before has a small weight, it may be lost in other ways.
        if ((known[n].flaw.alpha_raw || known[n].flaw.divided) && is_by_small_weights(s)) continue;
        if (is_online(s, right, tile, known[n].flaw)) return known[n].cause;
    }
    return CAUSE_NONE;
}

enum cause explain_online(const struct suspect* s, struct forward_mistake right) {
    static const int64_t tiles[] = {16, 32, 64, 128, 8, 1};
    const struct problem* p = s->problem;
    enum cause cause = explain_arithmetic(s, right);
    // A scale above 0 makes no largest score the smallest.
    if (cause == CAUSE_max_unscaled && p->scale > 0 && is_maximum_of_tile(s, right))
        return CAUSE_max_of_tile;
    for (size_t n = 0; n < sizeof tiles / sizeof tiles[0] && !cause; n++)
        if (tiles[n] <= p->N_k) cause = explain_tile(s, right, tiles[n]);
    return !cause && is_maximum_of_tile(s, right) ? CAUSE_max_of_tile : cause;
}

enum cause explain_square(const struct suspect* s, struct forward_mistake w) {
    for (w.square = 8; w.square <= 64; w.square *= 2)
        for (int n = 1; n < 4; n++) {
            w.query_of_key = n & 1;
            w.key_of_query = n & 2;
            if (is_forward(s, &w)) return n == 3 ? CAUSE_transposed : CAUSE_index_mixed;
        }
    w.query_of_key = w.key_of_query = false;
    for (w.square = 8; w.square <= 64; w.square *= 2)
        for (int of = VALUE_OF_COLUMN; of <= VALUE_OF_QUERY; of++) {
            w.value_of = of;
            if (is_forward(s, &w)) return CAUSE_index_mixed;
        }
    w.value_of = VALUE_OF_KEY;
    for (w.square = 8; w.square <= 64; w.square *= 2)
        for (enum which a = ARRAY_Q; a <= ARRAY_V; a++) {
            w.turned = 1u << a;
            if (is_forward(s, &w)) return CAUSE_transposed;
        }
    return CAUSE_NONE;
}

bool is_l_short(const struct suspect* s) {
    enum { FEWEST = 4 };  // rows in which it shows
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    int64_t shown = 0;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        if (LSE->want[row] == -INFINITY) continue;
        const double factor = exp(LSE->want[row] - LSE->got[row]);
        double largest = 0, off = 0;
        if (!(factor > 0.999) || !isfinite(factor) || !check_was_written(O, first)) return false;
        for (int64_t x = first; x < first + p->d; x++) {
            largest = fmax(largest, factor * fabs(O->want[x]));
            off = fmax(off, fabs(O->got[x] - factor * O->want[x]));
        }
        if (!(off <= largest / 64)) return false;
        shown += factor > 1.02;
    }
    return shown >= FEWEST;
}

bool is_rounded_on_the_way(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *V = p->array[ARRAY_V].tensor;
    double largest = 0, worst = 0;
    for (int64_t e = 0; e < V->count; e++) largest = fmax(largest, fabs(V->value[e]));
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        if (isnan(t->got[e])) return false;
        worst = fmax(worst, fabs(t->got[e] - t->want[e]));
    }
    return is_O(s) && largest > 32 && worst < 0.02 * largest;
}

bool is_by_small_weights(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *t = s->tensor, *V = p->array[ARRAY_V].tensor;
    double largest = 0, off = 0;
    for (int64_t e = 0; V && e < V->count; e++) largest = fmax(largest, fabs(V->value[e]));
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e]) off = fmax(off, fabs(t->got[e] - t->want[e]) / fabs(t->want[e]));
    if (!(off > 0.125)) return false;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] &&
            !(fabs(t->want[e]) < 0x1p-18 * largest && fabs(t->got[e]) < 0x1p-12 * largest))
            return false;
    return is_O(s) && V;
}

// A row of which each thread divides its columns by the sum of its own column of P alone: there are
// so many threads, and column x of O is of thread x % threads.
static bool row_of_own_sums(const struct problem* p, const void* how, int64_t b, int64_t h,
                            int64_t i, double* O, double* LSE) {
    enum { MOST = 64 };
    const int64_t threads = *(const int64_t*)how, seen = keys_seen(p, i);
    double l[MOST] = {0}, m = -INFINITY;
    for (int64_t x = 0; x < p->d; x++) O[x] = 0;
    for (int64_t j = 0; j < seen && j < p->N_k; j++) m = fmax(m, score(p, b, h, i, j));
    for (int64_t j = 0; j < seen && j < p->N_k; j++) {
        const double weight = exp(score(p, b, h, i, j) - m);
        l[j % threads] += weight;
        for (int64_t x = 0; x < p->d; x++) O[x] += weight * row_of(p, ARRAY_V, b, h, j)[x];
    }
    for (int64_t x = 0; x < p->d; x++) O[x] /= l[x % threads];
    *LSE = m + log(l[0]);
    return true;
}

static bool is_l_of_own_column(const struct suspect* s) {
    for (int64_t threads = 64; threads >= 4; threads /= 2)
        if (forward_is_made_of_rows(s, row_of_own_sums, &threads)) return true;
    return false;
}

// LSE is too large by the same number in all rows, and O too small by that factor: l counts each
// weight several times.
static bool is_l_several_times(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = p->array[ARRAY_LSE].tensor;
    const int64_t one = place_in(p, ARRAY_LSE, 0, 0, 0);
    const double more = LSE->got[one] - LSE->want[one], times = exp(more);
    double largest = 0, off = 0;
    if (is_O(s) || !(more > 0.5)) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        if (!(fabs(LSE->got[row] - LSE->want[row] - more) < 0x1p-10)) return false;
        for (int64_t x = first; x < first + p->d; x++) {
            largest = fmax(largest, fabs(O->got[x]));
            off = fmax(off, fabs(times * O->got[x] - O->want[x]) / times);
        }
    }
    return off <= largest / 64;
}

// O is stored in rows of d elements; the first row of each block is where it belongs.
static bool has_packed_blocks(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct forward_mistake w = online_right(p);
    w.view[ARRAY_O].stride.n = p->d;
    for (w.rows = 8; w.rows <= 128; w.rows *= 2)
        if (is_forward(s, &w)) return true;
    return false;
}

// Rows of zeros behind the last key, which fill a larger tile, count as keys.
static bool are_zeros_keys(const struct suspect* s, struct forward_mistake w) {
    const struct problem* p = s->problem;
    w.flaw = TAIL_COUNTS;
    for (w.block_k = 32; w.block_k <= 256; w.block_k *= 2)
        if (p->N_k % w.block_k != 0 && is_forward(s, &w)) return true;
    return false;
}

static enum cause explain_online_rows(struct check* c, const struct tensor* t,
                                      struct budget budget) {
    const struct suspect s = forward_suspect(c, t, budget);
    const struct forward_mistake right = online_right(s.problem);
    if (is_cut_off(&s)) return CAUSE_cut_off;
    if (is_lost_below(&s)) return CAUSE_max_init;
    enum cause cause = explain_maximum_of_rows(&s);
    if (cause) return cause;
    if (is_O_infinite_beside_LSE(&s)) return CAUSE_overflow;
    if (is_scale_lost(&s)) return CAUSE_half_range;
    if (is_subnormal_lost(&s)) return CAUSE_subnormal;
    cause = explain_LSE(&s);
    // In rows that one key dominates another scale leaves as little as a rounding does.
    if (!cause) cause = explain_scaled_Q(&s, right);
    if (!cause) cause = explain_scale(&s, right);
    if (!cause && saw_nothing(s.problem)) cause = CAUSE_inner_tail;
    if (!cause && is_smallest_subtracted(&s)) return CAUSE_max_unscaled;
    if (!cause) cause = explain_online(&s, right);
    if (!cause && has_packed_blocks(&s)) cause = CAUSE_stride_ignored;
    if (!cause) cause = explain_forward_places(&s);
    if (!cause) cause = explain_square(&s, right);
    if (!cause && are_zeros_keys(&s, right)) return CAUSE_inner_tail;
    if (!cause && is_row_before_kept(&s)) return CAUSE_row_before;
    if (!cause && (is_l_of_own_column(&s) || is_l_short(&s))) return CAUSE_sum_short;
    if (!cause && is_l_several_times(&s)) return CAUSE_constant_ratio;
    if (!cause && is_by_small_weights(&s)) return CAUSE_small_weights;
    if (!cause && is_NaN_of_no_scale(&s)) return CAUSE_scale_zero;
    return !cause && is_rounded_on_the_way(&s) ? CAUSE_low_precision : cause;
}

enum cause online_explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain_behind_guard(c, t, budget, explain_online_rows);
}
