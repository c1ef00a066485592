// backward_mistakes.h: which known mistake gives exactly the gradients that a kernel gave.
#ifndef BACKWARD_MISTAKES_H
#define BACKWARD_MISTAKES_H

#include "attention/old_backward.h"

// The output that explain() is asked about.
static struct {
    const struct tensor* tensor;
    struct budget budget;
    bool overflows;  // it is not finite: hypotheses have to overflow as a kernel does
} suspect;

// True if the suspect is this hypothesis, which is counted like it. NaN in the hypothesis stands for NaN
// and for never written: both look the same in got, and prove nothing.
static bool is_hypothesis(const double* hypothesis) {
    const struct tensor* t = suspect.tensor;
    double largest = 0;
    bool differs = false;
    for (int64_t e = 0; e < t->count; e++)
        if (isfinite(hypothesis[e]) && hypothesis[e] != DISPUTED)
            largest = fmax(largest, fabs(hypothesis[e]));
    for (int64_t e = 0; e < t->count; e++) {
        double got = t->got[e], guess = hypothesis[e], want = t->untouched[e] ? NAN : t->want[e];
        if (guess == DISPUTED && isfinite(got)) continue;
        // A mistake may give far larger numbers than are wanted; their own rounding is no evidence.
        double slack = suspect.budget.max + largest * (ROUNDED_WEIGHTS ? 0x1p-8 : 0x1p-14);
        if (isfinite(guess)) slack += fabs(guess) * (ROUNDED_WEIGHTS ? 0x1p-7 : 0x1p-9);
        if (isnan(guess) ? !isnan(got) : !(got == guess || fabs(got - guess) <= slack))
            return false;
        differs |= !isnan(guess) && !(fabs(guess - want) <= slack);
    }
    return differs;
}

static bool is_it(const struct mistake* w) {
    double* gradient[3] = {NULL};
    bool yes = false;
    for (int a = 0; a < 3; a++)
        if (suspect.tensor == now.array[ARRAY_dQ + a].tensor)
            gradient[a] = must_allocate(suspect.tensor->count, sizeof(double));
    backward(w, suspect.overflows, gradient);
    for (int a = 0; a < 3; a++) {
        if (gradient[a]) yes = is_hypothesis(gradient[a]);
        free(gradient[a]);
    }
    return yes;
}

// ---- NaN and infinity ----------------------------------------------------------------------

static int64_t count_nonfinite(const struct tensor* t) {
    int64_t bad = 0;
    for (int64_t e = 0; e < t->count; e++) bad += !t->untouched[e] && !isfinite(t->got[e]);
    return bad;
}

// dQ is compared last: P and dS are right if only dQ is NaN.
static enum cause explain_sums(void) {
    const struct tensor* t = suspect.tensor;
    double highest = -INFINITY;  // LSE
    int64_t expected = now.B * now.H * now.N_q * now.d, bad = count_nonfinite(t);
    if (t != now.array[ARRAY_dQ].tensor || bad == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < now.LSE->count; e++) highest = fmax(highest, now.LSE->value[e]);
    if (highest < -88) return CAUSE_nan_leak;  // exp(0 - LSE) of a key that does not exist
    return bad == expected ? CAUSE_workspace_uncleared : CAUSE_NONE;
}

// What no hypothesis reproduces, since one NaN makes many.
static enum cause explain_nonfinite(void) {
    double lowest = INFINITY, highest = -INFINITY, largest = 0;  // of LSE; of |dP|
    if (count_nonfinite(suspect.tensor) == 0) return CAUSE_NONE;
    for (int64_t e = 0; e < now.LSE->count; e++) {
        if (isinf(now.LSE->value[e])) return CAUSE_masked_row;
        lowest = fmin(lowest, now.LSE->value[e]);
        highest = fmax(highest, now.LSE->value[e]);
    }
    for (int64_t i = 0; i < now.N_q; i++)
        for (int64_t j = 0; j < now.N_k; j++)
            largest = fmax(largest, fabs(dot(row_of(ARRAY_dO, 0, 0, i), row_of(ARRAY_V, 0, 0, j))));
    if (lowest < -88 || highest > 88) return CAUSE_overflow;
    return largest > 65504 ? CAUSE_low_precision : CAUSE_NONE;
}

// ---- arithmetic ----------------------------------------------------------------------------

static enum cause explain_arithmetic(void) {
    const double usual = (double)(float)(1 / sqrt((double)now.d)), scale = now.scale;
    const struct {
        enum cause cause;
        double scores, dQ, dK;
    } scales[] = {
        {CAUSE_scale_missing, 1, scale, scale},
        {CAUSE_scale_missing, 1, 1, 1},
        {CAUSE_scale_squared, scale * scale, scale, scale},
        {CAUSE_scale_squared, 1.0 / (double)now.d, scale, scale},
        {CAUSE_scale_ignored, usual, usual, usual},
        {CAUSE_scale_ignored, usual, scale, scale},
        {CAUSE_scale_ignored, scale, usual, usual},
        {CAUSE_gradient_scale, scale, 1, 1},
        {CAUSE_gradient_scale, scale, scale * scale, scale * scale},
    };
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        struct mistake w = no_mistake();
        w.scale = scales[n].scores;
        w.scale_dQ = scales[n].dQ;
        w.scale_dK = scales[n].dK;
        if (is_it(&w)) return scales[n].cause;
    }
    const double deltas[] = {0, scale, -1, 1 / scale};
    for (size_t n = 0; n < sizeof deltas / sizeof deltas[0]; n++) {
        struct mistake w = no_mistake();
        w.delta = deltas[n];
        if (is_it(&w)) return CAUSE_delta;
    }
    struct mistake w = no_mistake();
    w.lse = 0;
    if (is_it(&w)) return CAUSE_not_normalised;
    w.lse = M_LN2;  // 2 to the power of S log2(e) - LSE
    if (is_it(&w)) return CAUSE_lse_base2;
    w = no_mistake();
    w.base = M_LN2;  // 2 to the power of S - LSE
    if (is_it(&w)) return CAUSE_lse_base2;
    w = no_mistake();
    w.dV = OF_dS;
    if (is_it(&w)) return CAUSE_not_weighted;
    w = no_mistake();
    for (w.columns = now.d - 1; w.columns > 0; w.columns--)
        if ((w.columns & (w.columns - 1)) == 0 && is_it(&w)) return CAUSE_inner_tail;
    return CAUSE_NONE;
}

// ---- masks and tiles -----------------------------------------------------------------------

// Mistakes about blocks of S (lesson 19): other masks than the right one.
static enum cause explain_blocks(void) {
    enum cause cause = CAUSE_NONE;
    struct mistake w = no_mistake();
    for (int n = 0; !cause && mistake_mask(n, now.B, now.N_q, now.N_k, &w.blocks); n++) {
        if (is_it(&w)) cause = mask_mistakes[n].cause;
        w.blocks = free_mask(w.blocks, block_mask());
    }
    return cause;
}

static enum cause explain_mask(void) {
    struct mistake w = no_mistake();
    if (!now.causal) {
        w.mask = MASK;
        return is_it(&w) ? CAUSE_causal_ignored : CAUSE_NONE;
    }
    w.mask = MASK_NOTHING;
    if (is_it(&w)) return CAUSE_causal_ignored;
    w = no_mistake();
    const int64_t offset = now.N_k - now.N_q;
    const int64_t aligned[] = {0, -offset, offset > 0 ? 0 : offset, offset < 0 ? 0 : offset};
    for (size_t n = 0; n < sizeof aligned / sizeof aligned[0]; n++) {
        w.shift = aligned[n];
        if (w.shift != offset && is_it(&w)) return CAUSE_mask_corner;
    }
    for (w.shift = offset - 1; w.shift <= offset + 1; w.shift++)
        if (w.shift != offset && is_it(&w)) return CAUSE_mask_off_by_one;
    return CAUSE_NONE;
}

// Mistakes that look different for every tile size: the student's is not known.
static enum cause explain_tile(int64_t tile) {
    struct mistake right = no_mistake();
    right.tile = right.keys_tile = tile;
    struct mistake w = right;
    w.of_maximum = true;
    if (is_it(&w)) return CAUSE_not_normalised;
    w = right;
    if (now.causal) w.mask = MASK_TILES;
    if (now.causal && is_it(&w)) return CAUSE_diagonal_unmasked;
    w.dV = OF_ONE;
    if (is_it(&w)) return CAUSE_not_weighted;
    w = right;
    w.from = (now.N_q - 1) / tile * tile;  // the last tile, full or not
    w.to = now.N_q;
    if (is_it(&w)) return now.N_q % tile ? CAUSE_inner_tail : CAUSE_tile_skipped;
    w.times = 2;
    if (is_it(&w)) return CAUSE_tile_twice;
    w = right;
    w.keys = now.N_k / tile * tile;
    if (is_it(&w)) return CAUSE_inner_tail;
    w = right;
    for (w.at_start = 0; w.at_start <= 2; w.at_start += 2)
        if (is_it(&w)) return w.at_start ? CAUSE_tile_twice : CAUSE_tile_skipped;
    w = right;
    for (w.at_full_start = 0; w.at_full_start <= 2; w.at_full_start += 2)
        if (is_it(&w)) return w.at_full_start ? CAUSE_tile_twice : CAUSE_tile_skipped;
    w = right;
    w.part_lacks_first = true;
    return is_it(&w) ? CAUSE_tile_skipped : CAUSE_NONE;
}

// ---- heads that share keys (lesson 17) ----------------------------------------------------

static enum cause explain_group(void) {
    struct mistake w = no_mistake();
    if (now.group == 1) return CAUSE_NONE;
    w.interleaved = true;
    if (is_it(&w)) return CAUSE_head_mapping;
    w = no_mistake();
    w.only_last_head = true;
    if (is_it(&w)) return CAUSE_group_not_summed;
    w = no_mistake();
    w.first_delta = true;
    return is_it(&w) ? CAUSE_head_ignored : CAUSE_NONE;
}

// ---- places --------------------------------------------------------------------------------

// True if the rows of an array with these strides lie within the tensor.
static bool fits(enum which a, struct strides s) {
    int64_t N = rows_of(a);
    return N > 0 &&
           place(s, now.B - 1, now.H / sharing(a) - 1, N - 1) + now.d <= now.array[a].tensor->count;
}

static bool same(struct strides s, struct strides t) {
    return s.b == t.b && s.n == t.n && s.h == t.h;
}

// True if the mistake is to use these strides for array a alone, or for it and all after it up to `last`.
static bool is_with(const struct strides other[ARRAYS], int first, int last) {
    struct mistake w = no_mistake();
    bool differs = false;
    for (int a = first; a <= last; a++) {
        if (!fits((enum which)a, other[a])) return false;
        differs |= !same(other[a], w.stride[a]);
        w.stride[a] = other[a];
    }
    return differs && is_it(&w);
}

static enum cause explain_places(void) {
    enum { BATCH, HEAD, PACKED_ROWS, AS_ANOTHER, WAYS = AS_ANOTHER + ARRAYS };
    for (int way = 0; way < WAYS; way++) {
        struct strides other[ARRAYS];
        for (int a = 0; a < ARRAYS; a++) {
            other[a] = now.array[a].stride;
            if (way == BATCH) other[a].b = 0;
            if (way == HEAD) other[a].h = 0;
            if (way == PACKED_ROWS) other[a].n = now.d;
            if (way >= AS_ANOTHER) other[a] = now.array[way - AS_ANOTHER].stride;
        }
        bool yes = is_with(other, ARRAY_Q, ARRAY_dO) || is_with(other, ARRAY_dQ, ARRAY_dV);
        for (int a = 0; a < ARRAYS && !yes; a++) yes = is_with(other, a, a);
        if (yes)
            return way == BATCH  ? CAUSE_batch_ignored
                   : way == HEAD ? CAUSE_head_ignored
                                 : CAUSE_stride_ignored;
    }
    const int64_t steps[][2] = {{0, 1},     {now.H, 0}, {0, 0},
                                {1, now.B}, {now.B, 1}, {now.H / now.group, 1}};  // b, h
    for (size_t n = 0; n < sizeof steps / sizeof steps[0]; n++) {
        struct mistake w = no_mistake();
        w.lse_b = steps[n][0];
        w.lse_h = steps[n][1];
        bool inside = (now.B - 1) * w.lse_b + (now.H - 1) * w.lse_h < now.B * now.H;
        if (inside && is_it(&w)) return w.lse_h ? CAUSE_batch_ignored : CAUSE_head_ignored;
    }
    return CAUSE_NONE;
}

// True if every error is small beside the terms that were summed for its element: rounding is relative to the
// sums on the way, not to the result.
static bool is_rounding(void) {
    const struct tensor* t = suspect.tensor;
    struct mistake sizes = no_mistake();
    double* gradient[3];
    bool yes = true;
    sizes.absolute = true;
    sizes.delta = -1;  // dP + delta
    for (int a = 0; a < 3; a++)
        gradient[a] = must_allocate(now.array[ARRAY_dQ + a].tensor->count, sizeof(double));
    backward(&sizes, false, gradient);
    for (int a = 0; a < 3; a++)
        for (int64_t e = 0; t == now.array[ARRAY_dQ + a].tensor && e < t->count; e++)
            yes &= t->untouched[e] || fabs(t->got[e] - t->want[e]) <= 0x1p-8 * gradient[a][e];
    for (int a = 0; a < 3; a++) free(gradient[a]);
    return yes;
}

// What the student most likely did, for check_compare().
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    static const int64_t tiles[] = {16, 32, 64, 128, 8};
    (void)c;
    suspect.tensor = t;
    suspect.budget = budget;
    suspect.overflows = count_nonfinite(t) > 0;
    enum cause cause = explain_sums();
    bool zeros = true;  // nothing was summed: that proves nothing about what would have been summed
    for (int64_t e = 0; e < t->count; e++) zeros &= t->untouched[e] || t->got[e] == 0;
    if (!cause && !zeros) cause = explain_arithmetic();
    if (!cause) cause = explain_blocks();
    if (!cause && !zeros) cause = explain_group();
    if (!cause && !zeros) cause = explain_mask();
    for (size_t n = 0; n < sizeof tiles / sizeof tiles[0] && !cause; n++)
        cause = explain_tile(tiles[n]);
    if (!cause) cause = explain_places();
    if (!cause) cause = explain_nonfinite();
    return !cause && is_rounding() ? CAUSE_low_precision : cause;
}

#endif
