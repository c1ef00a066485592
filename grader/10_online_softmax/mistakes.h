// mistakes.h: what the known mistakes of lesson 10 leave in m and l. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include <float.h>

#include "base/dtype.h"
#include "maxima.h"

static int64_t sweep_of(int variant) {
    return (int64_t)1 << variant;
}

// How many elements the last sweep lacks.
static int64_t missing(const struct batch* b, int variant) {
    int64_t sweep = sweep_of(variant);
    return (sweep - b->cols % sweep) % sweep;
}

// The stride is ignored.
static struct pair rows_packed(const struct batch* b, int64_t row, int variant) {
    (void)variant;
    return written_of(b->x->value + b->first + row * b->cols, b->cols);
}

// The maximum is not subtracted before exp.
static struct pair max_kept(const struct batch* b, int64_t row, int variant) {
    (void)variant;
    return written(b->out[0]->want[row], row_sum_exp(batch_row(b, row), b->cols, 0));
}

// The maximum starts at a finite number: what the first wrong m shows.
static struct pair max_started(const struct batch* b, int64_t row, int variant) {
    const struct tensor* m = b->out[0];
    int64_t i = 0;
    (void)variant;
    while (i < b->rows - 1 && m->got[i] == m->want[i]) i++;
    double start = fmax(m->want[row], m->got[i]);
    return written(start, row_sum_exp(batch_row(b, row), b->cols, start));
}

// Powers of 2 in place of powers of e.
static struct pair base_two(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    double m = b->out[0]->want[row], l = 0;
    (void)variant;
    if (m == -INFINITY) return pair_wanted(b, row);
    for (int64_t j = 0; j < b->cols; j++) l += exp2(x[j] - m);
    return written(m, l);
}

// The state is put together in another way: logarithms, or the inverse.
enum { OPERATIONS = 6 };
static struct pair other_operation(const struct batch* b, int64_t row, int variant) {
    const struct pair p = pair_wanted(b, row);
    const double m = p.number[0], l = p.number[1], LSE = m + log(l);
    const double other[OPERATIONS][2] = {{m, log(l)},   {m, LSE},   {LSE, l},
                                         {LSE, log(l)}, {m, 1 / l}, {m, l - 1}};
    return written(dtype_round(F32, other[variant][0]), other[variant][1]);
}

// The sum starts at 1 in some threads; it shows where nothing follows.
static struct pair sum_started(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    if (p.number[0] == -INFINITY) p.number[1] = (double)sweep_of(variant);
    return p;
}

// The elements at the end of the row that do not fill a sweep.
static struct pair rest_dropped(const struct batch* b, int64_t row, int variant) {
    int64_t sweep = sweep_of(variant);
    if (sweep > 4 && sweep > b->cols) return pair_wanted(b, row);
    return written_of(batch_row(b, row), b->cols - b->cols % sweep);
}

// How many numbers stand before the first one at a multiple of 16 bytes.
static int64_t head_of(const struct batch* b, int64_t row) {
    enum { FOUR = 4 };
    return (FOUR - (b->first + row * b->stride) % FOUR) % FOUR;
}

// The last sweep reads on into the next row; or, in the last variant, what comes before the first
// whole float4 is more than the row has. Past the end of x lies a guard band: NaN, and a maximum
// may take it in or not.
enum { SWEEPS = 15 };
static struct pair rest_from_next(const struct batch* b, int64_t row, int variant) {
    const int64_t head = head_of(b, row), cols = b->cols;
    int64_t end = variant < SWEEPS ? cols + missing(b, variant) : head > cols ? head : cols;
    if (b->first + row * b->stride + end > b->x->count) return (struct pair){{ANYTHING, ANYTHING}};
    return written_of(batch_row(b, row), end);
}

// The last sweep is filled up with zeros.
static struct pair rest_zero(const struct batch* b, int64_t row, int variant) {
    int64_t pad = missing(b, variant);
    double m = b->out[0]->want[row];
    if (pad) m = fmax(m, 0);
    return written(m, row_sum_exp(batch_row(b, row), b->cols, m) + (double)pad * exp(-m));
}

// Past the end, the last sweep still holds elements of the sweep before it.
static struct pair rest_from_before(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    int64_t sweep = sweep_of(variant);
    const double* x = batch_row(b, row);
    if (sweep <= b->cols)
        p.number[1] += row_sum_exp(x + b->cols - sweep, missing(b, variant), p.number[0]);
    return written(p.number[0], p.number[1]);
}

// The last sweep is filled up with a finite number, -1e30 say, that only shows below it: the first
// wrong m.
static struct pair rest_low(const struct batch* b, int64_t row, int variant) {
    const struct tensor* t = b->out[0];
    int64_t i = 0, pad = missing(b, variant);
    while (i < b->rows - 1 && t->got[i] == t->want[i]) i++;
    if (!pad || !isfinite(t->got[i])) return pair_wanted(b, row);
    double m = fmax(t->want[row], t->got[i]);
    return written(m,
                   row_sum_exp(batch_row(b, row), b->cols, m) + (double)pad * exp(t->got[i] - m));
}

// The same in rows narrower than the first ones of narrow(): who loses lanes has lost them there.
// And of one number more than a warp has lanes: that may be all that the second warp had.
static struct pair rest_of_few_dropped(const struct batch* b, int64_t row, int variant) {
    enum { FIRST = 31, WARP_AND_ONE = 33 };
    const bool few = b->cols < FIRST || b->cols == WARP_AND_ONE;
    return few ? rest_dropped(b, row, variant) : pair_wanted(b, row);
}

// What some lanes, or warps, have kept is lost.
static struct pair threads_lost(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    double m = -INFINITY, l = 0;
    for (int64_t j = 0; j < b->cols; j++)
        if (reaches(variant, j)) m = fmax(m, x[j]);
    for (int64_t j = 0; j < b->cols && m > -INFINITY; j++)
        if (reaches(variant, j)) l += exp(x[j] - m);
    return written(m, l);
}

// Threads go on by fewer elements than there are threads.
static struct pair counted_again(const struct batch* b, int64_t row, int variant) {
    const struct pair p = pair_wanted(b, row);
    double l = 0;
    if (p.number[0] == -INFINITY) return p;
    for (int64_t j = 0; j < b->cols; j++)
        l += (double)counted_times(variant, j) * exp(batch_row(b, row)[j] - p.number[0]);
    return written(p.number[0], l);
}

// States are merged that are in the sum already: by a lane more, or in all rounds of a tree whose
// distances are one less each time: 16 rounds in place of 5, 11 too many, once or twice.
enum { MERGED_TWICE = 22 };
static struct pair merged_twice(const struct batch* b, int64_t row, int variant) {
    const struct pair p = pair_wanted(b, row);
    return written(p.number[0], (double)(2 << variant) * p.number[1]);
}

// The first warp's state is merged into itself once more: by one thread that goes over all warps
// and begins with its own. Or by each lane that has no warp's state to take and keeps what it has.
enum { WARP_LANES = 32, BLOCKS_AGAIN = 5, FIRST_AGAIN = 2 * BLOCKS_AGAIN };
static struct pair first_warp_again(const struct batch* b, int64_t row, int variant) {
    const struct pair p = pair_wanted(b, row);
    const int64_t warps = 2 << variant % BLOCKS_AGAIN, threads = warps * WARP_LANES;
    const int64_t times = variant < BLOCKS_AGAIN ? 1 : WARP_LANES - warps;
    double l = p.number[1];
    if (p.number[0] == -INFINITY) return p;
    for (int64_t j = 0; j < b->cols; j++)
        if (j % threads < WARP_LANES) l += (double)times * exp(batch_row(b, row)[j] - p.number[0]);
    return written(p.number[0], l);
}

// How two states are merged wrongly: each l is multiplied with the other state's factor (of an
// empty state, whose m is -infinity, that makes 0); one of the two with none; one with the factor
// from its m to the other's, as if that were always the larger one; or both with the same.
enum merge {
    CROSSWISE,
    FIRST_KEPT,
    SECOND_KEPT,
    AS_IF_SECOND,
    AS_IF_FIRST,
    BY_FIRST,
    BY_SECOND,
    MERGES
};

static struct pair merge_wrongly(enum merge how, struct pair a, struct pair b) {
    const double m_a = a.number[0], m_b = b.number[0], l_a = a.number[1], l_b = b.number[1];
    const double m = fmax(m_a, m_b);
    if (m == -INFINITY) return a;
    const double of_a = exp(m_a - m), of_b = exp(m_b - m);
    const double l[MERGES] = {
        [CROSSWISE] = l_a * of_b + l_b * of_a,
        [FIRST_KEPT] = l_a + l_b * of_b,
        [SECOND_KEPT] = l_a * of_a + l_b,
        [AS_IF_SECOND] = l_a * dtype_round(F32, exp(m_a - m_b)) + l_b,
        [AS_IF_FIRST] = l_a + l_b * dtype_round(F32, exp(m_b - m_a)),
        [BY_FIRST] = (l_a + l_b) * of_a,
        [BY_SECOND] = (l_a + l_b) * of_b,
    };
    return (struct pair){{m, l[how]}};
}

static struct pair merge_tree(enum merge how, struct pair* s, int n) {
    for (int distance = n / 2; distance > 0; distance /= 2)
        for (int i = 0; i < distance; i++) s[i] = merge_wrongly(how, s[i], s[i + distance]);
    return s[0];
}

static struct pair merge_in_turn(enum merge how, struct pair* s, int n) {
    for (int i = 1; i < n; i++) s[0] = merge_wrongly(how, s[0], s[i]);
    return s[0];
}

// Of 32 to 1024 threads; warps are merged among themselves, with empty states up to 32, or one
// after the other.
enum { BLOCKS = 6, OF_WARPS = 3, MERGED_WRONGLY = MERGES * BLOCKS * OF_WARPS };
static struct pair merged_wrongly(const struct batch* b, int64_t row, int variant) {
    enum { WARP = 32 };
    const enum merge how = (enum merge)(variant / (BLOCKS * OF_WARPS));
    const int threads = WARP << variant / OF_WARPS % BLOCKS, warps = threads / WARP;
    const double* x = batch_row(b, row);
    struct pair warp[WARP];
    for (int w = 0; w < WARP; w++) {
        struct pair lane[WARP];
        for (int t = 0; t < WARP; t++) {
            struct pair* s = &lane[t];
            *s = (struct pair){{-INFINITY, 0}};
            for (int64_t j = w * WARP + t; j < b->cols && w < warps; j += threads)
                s->number[0] = fmax(s->number[0], x[j]);
            for (int64_t j = w * WARP + t; j < b->cols && w < warps; j += threads)
                if (x[j] > -INFINITY) s->number[1] += exp(x[j] - s->number[0]);
        }
        warp[w] = merge_tree(how, lane, WARP);
    }
    struct pair p = variant % OF_WARPS == 2   ? merge_in_turn(how, warp, warps)
                    : variant % OF_WARPS == 1 ? merge_tree(how, warp, WARP)
                                              : merge_tree(how, warp, warps);
    if (p.number[1] == 0) return pair_wanted(b, row);  // a sum of nothing has many reasons
    return written(p.number[0], p.number[1]);
}

// Of each tile of a thread, whose numbers are so many apart, the first or the last is not summed.
enum { APART = 7, OF_APART = 8, NARROW = 33 };
static const int64_t apart[APART] = {1, 32, 64, 128, 256, 512, 1024};

static struct pair sum_short(const struct batch* b, int64_t row, int variant) {
    const int64_t step = apart[variant / OF_APART], tile = 2 << variant / 2 % 4;
    const int64_t left_out = variant % 2 ? tile - 1 : 0;
    const double m = b->out[0]->want[row];
    double l = 0;
    // a row that is left out whole says little of why; of a wide one least
    if (m == -INFINITY || (b->cols <= step && b->cols > NARROW)) return pair_wanted(b, row);
    for (int64_t j = 0; j < b->cols; j++)
        if (j / step % tile != left_out) l += exp(batch_row(b, row)[j] - m);
    return written(m, l);
}

// The same of the maximum: the sum takes all of them, unless a tile seems to be empty.
static struct pair max_short(const struct batch* b, int64_t row, int variant) {
    const int64_t step = apart[variant / OF_APART], tile = 2 << variant / 2 % 4;
    const int64_t left_out = variant % 2 ? tile - 1 : 0;
    const double* x = batch_row(b, row);
    double m = -INFINITY, l = 0;
    for (int64_t t = 0; t < step && t < b->cols; t++) {
        double own = -INFINITY, sum = 0;
        for (int64_t first = t; first < b->cols; first += step * tile) {
            double largest = own;
            for (int64_t n = 0; n < tile && first + n * step < b->cols; n++)
                if (n != left_out) largest = fmax(largest, x[first + n * step]);
            if (largest == -INFINITY) continue;
            sum *= exp(own - largest);
            for (int64_t n = 0; n < tile && first + n * step < b->cols; n++)
                sum += exp(x[first + n * step] - largest);
            own = largest;
        }
        const double both = fmax(m, own);
        if (both > -INFINITY) l = l * exp(m - both) + sum * exp(own - both);
        m = both;
    }
    return written(m, l);
}

// How a thread folds a tile wrongly, element by element: m is kept until the tile is done, and each
// element multiplies l with exp(m - the maximum so far); or with the alpha of the whole tile; or
// what this tile has added stays as it is when a larger element follows; or what it adds is
// relative to the m of before; or alpha is the wrong way round, and 0 where nothing was seen yet.
// The last two overflow as floats do.
enum fold { ALPHA_AGAIN, TILE_ALPHA_AGAIN, ALPHA_FIRST_ALONE, TO_OLD_M, ALPHA_REVERSED };

static double float_exp(double x) {
    return dtype_round(F32, exp(x));
}

static double fold_wrongly(enum fold how, double* m, double l, const double x[], int64_t tile) {
    double run = *m, largest = *m;
    for (int64_t i = 0; i < tile; i++) largest = fmax(largest, x[i]);
    if (largest == -INFINITY) return l;
    if (how == ALPHA_FIRST_ALONE) l *= exp(*m - largest);
    if (how == TO_OLD_M) l *= float_exp(*m - largest);
    if (how == ALPHA_REVERSED && *m > -INFINITY) l *= float_exp(largest - *m);
    const bool to_largest = how == TILE_ALPHA_AGAIN || how == ALPHA_REVERSED;
    for (int64_t i = 0; i < tile; i++) {
        run = fmax(run, x[i]);
        if (run == -INFINITY && how != TO_OLD_M) continue;
        if (how == ALPHA_AGAIN) l *= exp(*m - run);
        if (how == TILE_ALPHA_AGAIN) l *= exp(*m - largest);
        l += exp(x[i] - (to_largest ? largest : how == TO_OLD_M ? *m : run));
    }
    *m = largest;
    return how == TO_OLD_M || how == ALPHA_REVERSED ? dtype_round(F32, l) : l;
}

// Past the end of a row a tile has -infinity.
enum { MOST_OF_TILE = 32, FOLD_TILES = 5, LAYOUTS = APART * FOLD_TILES };
static struct pair folded(enum fold how, const struct batch* b, int64_t row, int variant) {
    const int64_t step = apart[variant / FOLD_TILES], tile = 2 << variant % FOLD_TILES;
    const double *x = batch_row(b, row), m = b->out[0]->want[row];
    double l = 0;
    if (m == -INFINITY) return pair_wanted(b, row);
    for (int64_t t = 0; t < step && t < b->cols; t++) {
        double own = -INFINITY, sum = 0;
        for (int64_t first = t; first < b->cols; first += step * tile) {
            double x_tile[MOST_OF_TILE];
            for (int64_t i = 0; i < tile; i++)
                x_tile[i] = first + i * step < b->cols ? x[first + i * step] : -INFINITY;
            sum = fold_wrongly(how, &own, sum, x_tile, tile);
        }
        if (own > -INFINITY) l += sum * (isinf(sum) ? float_exp(own - m) : exp(own - m));
    }
    return written(m, l);
}

static struct pair rescaled_each(const struct batch* b, int64_t row, int variant) {
    const struct pair p = folded((enum fold)(variant / LAYOUTS), b, row, variant % LAYOUTS);
    return p.number[1] == 0 ? pair_wanted(b, row) : p;  // a sum of nothing has many reasons
}

static struct pair rescaled_first(const struct batch* b, int64_t row, int variant) {
    return folded(ALPHA_FIRST_ALONE, b, row, variant);
}

static struct pair old_m_subtracted(const struct batch* b, int64_t row, int variant) {
    return folded(TO_OLD_M, b, row, variant);
}

static struct pair alpha_reversed(const struct batch* b, int64_t row, int variant) {
    return folded(ALPHA_REVERSED, b, row, variant);
}

// m is what the threads' last tiles have, of those that are not empty; l fits it.
static struct pair max_of_tile(const struct batch* b, int64_t row, int variant) {
    const int64_t step = apart[variant / FOLD_TILES], tile = 2 << variant % FOLD_TILES;
    const double* x = batch_row(b, row);
    double m = -INFINITY;
    for (int64_t t = 0; t < step && t < b->cols; t++) {
        double own = -INFINITY;
        for (int64_t first = t; first < b->cols; first += step * tile) {
            double largest = -INFINITY;
            for (int64_t n = 0; n < tile && first + n * step < b->cols; n++)
                largest = fmax(largest, x[first + n * step]);
            if (largest > -INFINITY) own = largest;
        }
        m = fmax(m, own);
    }
    if (m == -INFINITY) return pair_wanted(b, row);
    return written(m, row_sum_exp(x, b->cols, m));
}

// What is 4 or more below the maximum is not in the sum, or 5, and so on.
enum { BELOW = 16 };
static struct pair far_below_dropped(const struct batch* b, int64_t row, int variant) {
    const double *x = batch_row(b, row), m = b->out[0]->want[row];
    double l = 0;
    if (m == -INFINITY) return pair_wanted(b, row);
    for (int64_t j = 0; j < b->cols; j++)
        if (x[j] > m - 4 - variant) l += exp(x[j] - m);
    return written(m, l);
}

static const struct hypothesis mistakes[] = {
    PAIR(stride_ignored, 1, rows_packed),
    PAIR(max_short, APART* OF_APART, max_short),
    PAIR(overflow, 1, max_kept),
    PAIR(exp2_base, 1, base_two),
    PAIR(max_of_tile, LAYOUTS, max_of_tile),
    PAIR(bits_compared, PARTS, bits_compared),
    PAIR(bits_compared, 1, zero_least),
    PAIR(max_stale, 1, max_stale),
    PAIR(other_operation, OPERATIONS, other_operation),
    PAIR(max_init, 1, max_started),
    PAIR(sum_init, 11, sum_started),
    PAIR(merged_twice, MERGED_TWICE, merged_twice),
    PAIR(merged_twice, FIRST_AGAIN, first_warp_again),
    PAIR(counted_again, COUNTED_AGAIN, counted_again),
    PAIR(inner_tail, SWEEPS, rest_of_few_dropped),
    PAIR(merge_lost, LOSSES, threads_lost),
    PAIR(inner_tail, SWEEPS, rest_dropped),
    PAIR(inner_tail, SWEEPS + 1, rest_from_next),
    PAIR(inner_tail, SWEEPS, rest_zero),
    PAIR(inner_tail, SWEEPS, rest_low),
    PAIR(inner_tail, SWEEPS, rest_from_before),
    PAIR(sum_short, APART* OF_APART, sum_short),
    PAIR(sum_short, BELOW, far_below_dropped),
    PAIR(rescale_repeated, ALPHA_FIRST_ALONE* LAYOUTS, rescaled_each),
    PAIR(no_rescale, LAYOUTS, rescaled_first),
    PAIR(max_before, LAYOUTS, old_m_subtracted),
    PAIR(rescale_reversed, LAYOUTS, alpha_reversed),
    PAIR(rescale_crossed, MERGED_WRONGLY, merged_wrongly),
    {0},
};

// From the smallest to the largest finite score.
static double reach(const struct batch* b) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++) {
            double x = batch_row(b, row)[j];
            if (!isfinite(x)) continue;
            low = fmin(low, x);
            high = fmax(high, x);
        }
    return high - low;
}

// Equal scores far from 0, of which x - m is 0: m c was rounded, and x c was not. The difference is
// so large that exp is 0, or infinite where m c was rounded down.
static bool is_product_rounded(const struct batch* b, double budget) {
    const double far = 1e5;
    const struct tensor* l = b->out[1];
    bool infinite = false;
    for (int64_t row = 0; row < b->rows; row++) {
        const double got = l->got[row];
        if (fabs(got - l->want[row]) <= budget) continue;
        if (!(fabs(b->out[0]->want[row]) > far && (got == 0 || !isfinite(got)))) return false;
        infinite |= !isfinite(got);
    }
    return infinite;
}

// Scores below it may be taken for none: where a maximum begins with -2e38, or with -1e30 or less.
#define LOW -2e38
#define FAR_BELOW -1e5

// Rows of finite scores so low that they were taken for hidden ones have an l of 0. Where no
// maximum is subtracted it is 0 as well, but in rows that are less low, too; and where rows far
// above 0 are right, it was subtracted.
static bool is_low_taken_for_hidden(const struct batch* b, double budget) {
    bool far_above = false, less_low = false;
    for (int64_t row = 0; row < b->rows; row++) {
        const double m = b->out[0]->want[row], l = b->out[1]->got[row];
        const bool right = fabs(l - b->out[1]->want[row]) <= budget;
        far_above |= right && m > -FAR_BELOW;
        if (right) continue;
        if (l != 0 || !(m < FAR_BELOW) || m == -INFINITY) return false;
        less_low |= m >= LOW;
    }
    return far_above || !less_low;
}

// A maximum whose product with log2(e) is no float: where it is multiplied before it is subtracted,
// l is infinite or NaN.
static bool is_product_too_large(const struct batch* b, double budget) {
    for (int64_t row = 0; row < b->rows; row++) {
        const double m = b->out[0]->want[row], l = b->out[1]->got[row];
        if (fabs(l - b->out[1]->want[row]) <= budget) continue;
        if (isfinite(l) || !(fabs(m) * 1.4427 > FLT_MAX)) return false;
    }
    return true;
}

// m is right: which way is l off? No summand is larger than 1 and nothing makes one larger but an
// alpha above 1, so an l above cols has been rescaled the wrong way round.
static enum cause from_l(const struct batch* b, double budget) {
    const struct tensor* l = b->out[1];
    int64_t wrong = 0, first = 0, nan = 0, not_finite = 0, small = 0, above = 0, zero = 0;
    double largest = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        double want = l->want[row], got = l->got[row];
        if (fabs(got - want) <= budget) continue;
        if (wrong++ == 0) first = row;
        nan += isnan(got);
        not_finite += !isfinite(got);
        small += fabs(got - want) <= 0.005 * want;
        above += got > want;
        zero += got == 0;
        largest = fmax(largest, got);
    }
    // the last rows, and only they: perhaps never reached
    if (nan == wrong && first > 0 && first + wrong == b->rows) return CAUSE_NONE;
    if (is_product_rounded(b, budget)) return CAUSE_low_precision;
    if (is_product_too_large(b, budget)) return CAUSE_overflow;
    if (not_finite == wrong && reach(b) > 80.0) return CAUSE_overflow;
    if (nan == wrong) return CAUSE_empty_state;
    if (above == wrong && b->cols == 1 && largest < 1.01) return CAUSE_epsilon_added;
    if (small == wrong) return CAUSE_low_precision;
    if (largest > 1.001 * (double)b->cols) return CAUSE_rescale_reversed;
    if (above == wrong) return CAUSE_no_rescale;
    if (above == 0 && nan == 0 && zero == wrong) return CAUSE_sum_short;
    return above == 0 && nan == 0 ? CAUSE_merge_lost : CAUSE_NONE;
}

// Every m is -infinity, and not every one should be.
static bool stays_empty(const struct batch* b) {
    const struct tensor* m = b->out[0];
    bool any = false;
    for (int64_t row = 0; row < b->rows; row++) {
        if (m->got[row] != -INFINITY) return false;
        any |= m->want[row] != -INFINITY;
    }
    return any;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct batch* b = check_description(c);
    const struct tensor* m = b->out[0];
    const struct suspect s = batch_suspect(b, t);
    if (stays_empty(b)) return CAUSE_stays_empty;
    if (t != m && is_low_taken_for_hidden(b, budget.max)) return CAUSE_max_init;
    enum cause cause = hypothesis_search(&s, mistakes);
    if (cause) return cause;
    if (t != m) return from_l(b, budget.max);
    if (batch_keeps_rows(b, 0)) return CAUSE_row_before;
    bool near = true, far_below = true;
    for (int64_t row = 0; row < b->rows; row++) {
        double got = m->got[row], want = m->want[row];
        far_below &= got == want || (got == -INFINITY && want < FAR_BELOW);
        near &=
            got == want || (isfinite(want) && fabs(got - want) <= 64 * dtype_ulp(F32, fabs(want)));
    }
    if (near) return CAUSE_low_precision;
    if (far_below) return CAUSE_max_init;  // low scores were taken for none
    for (int64_t row = 0; row < b->rows; row++)
        if (!(m->got[row] <= m->want[row])) return CAUSE_NONE;
    return CAUSE_merge_lost;  // no m is too large: not all elements have been looked at
}

#endif
