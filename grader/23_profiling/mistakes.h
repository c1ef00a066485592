// mistakes.h: what known mistakes leave in an output of lesson 23.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "cases.h"
#include "check/hypothesis.h"

// Tiles and segments that a student may have chosen.
static const int64_t lengths[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

// A mistake of one of the functions: what it leaves in output i. `length`: of a tile, say.
struct left {
    enum function function;
    double (*value)(const struct problem* p, int64_t i, int64_t length);
};

static bool leave(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    const struct problem* p = s->problem;
    const struct left* left = h->like;
    if (p->function != left->function) return false;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        guess[i] = left->value(p, i, lengths[variant]);
        if (hypothesis_refuted(s, i, guess[i])) return false;
    }
    return true;
}

// ---- scores: only some of the d terms arrive

static double sum_if(const struct problem* p, int64_t i, int64_t from, int64_t to, int64_t lanes) {
    double sum = 0, a, b;
    for (int64_t k = from; k < to && term(p, i, k, &a, &b); k++)
        if (k % 32 < lanes) sum += a * b;
    return sum;
}

static double whole_pieces(const struct problem* p, int64_t key, int64_t length) {
    return sum_if(p, key, 0, p->b / length * length, 32);
}

// The shuffles end, or begin, with too few lanes.
static double some_lanes(const struct problem* p, int64_t key, int64_t length) {
    return sum_if(p, key, 0, p->b, length);
}

static double first_lane(const struct problem* p, int64_t key, int64_t length) {
    (void)length;
    return sum_if(p, key, 0, p->b, 1);
}

// ---- decay

// The sum begins anew with each tile.
static double begun_anew(const struct problem* p, int64_t i, int64_t length) {
    double last = 0;
    for (int64_t t = i % p->b / length * length; t <= i % p->b; t++)
        last = p->decay * last + p->in->value[i / p->b * p->b + t];
    return last;
}

static double decayed_by(const struct problem* p, int64_t i, double of_last, double of_x) {
    double last = 0;
    for (int64_t t = 0; t <= i % p->b; t++)
        last = of_last * last + of_x * p->in->value[i / p->b * p->b + t];
    return last;
}

static double x_decays(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return decayed_by(p, i, 1, p->decay);
}

static double nothing_decays(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return decayed_by(p, i, 1, 1);
}

static double both_decay(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return decayed_by(p, i, p->decay, p->decay);
}

static double at_least_0(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return decayed_by(p, i, fmax(p->decay, 0), 1);
}

static double without_sign(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return decayed_by(p, i, fabs(p->decay), 1);
}

// What lies before the first step is taken for that step.
static double begun_with_x(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return p->out->want[i] + pow(p->decay, (double)(i % p->b + 1)) * p->in->value[i / p->b * p->b];
}

// The lanes walk down the columns of their tile of 32 x 32, not along its rows.
static double walked_across(const struct problem* p, int64_t i, int64_t length) {
    int64_t row = i / p->b, t = i % p->b, first = row / 32 * 32;
    double last = 0;
    (void)length;
    for (int64_t at = t % 32; at <= t; at += 32)
        for (int64_t r = first; r < first + 32 && (at < t || r <= row); r++)
            last = p->decay * last + (r < p->a ? p->in->value[r * p->b + at] : 0);
    return last;
}

// ---- filter

// sum_k w[weight(k)][c] * x[t - k - later][c] over the steps from `from` on.
static double filtered(const struct problem* p, int64_t i, int64_t from, bool turned, int later) {
    int64_t t = i / p->b, c = i % p->b;
    double sum = 0;
    for (int64_t k = 0; k < PROFILING_TAPS && t - k - later >= from; k++)
        if (t - k - later < p->a)
            sum += p->small->value[(turned ? PROFILING_TAPS - 1 - k : k) * p->b + c] *
                   p->in->value[(t - k - later) * p->b + c];
    return sum;
}

// What lies before the first step is taken for that step.
static double first_repeated(const struct problem* p, int64_t i, int64_t length) {
    double sum = p->out->want[i];
    (void)length;
    for (int64_t k = i / p->b + 1; k < PROFILING_TAPS; k++)
        sum += p->small->value[k * p->b + i % p->b] * p->in->value[i % p->b];
    return sum;
}

// What lies before a segment counts as 0.
static double without_halo(const struct problem* p, int64_t i, int64_t length) {
    return filtered(p, i, i / p->b / length * length, false, 0);
}

// The window of steps before a group moves by `moved` steps, not by as many as the group has. Each
// of its places goes back to a step that a group has read, or that lies before the segment.
static double window_moved(const struct problem* p, int64_t i, int64_t length, int64_t group,
                           int64_t moved) {
    const int64_t halo = PROFILING_TAPS - 1, t = i / p->b, c = i % p->b;
    const int64_t from = t / length * length, own = (t - from) / group;
    double sum = 0;
    for (int64_t k = 0; k < PROFILING_TAPS; k++) {
        int64_t g = own, place = halo + (t - from) % group - k;
        for (; place < halo && g > 0; g--) place += moved;
        const int64_t step = from + g * group + place - halo;
        if (step >= 0 && step < p->a)
            sum += p->small->value[k * p->b + c] * p->in->value[step * p->b + c];
    }
    return sum;
}

// Variants: by 1 step or none, for groups of 1 to 32 steps, and each length of a segment.
enum { GROUPS = 6, WINDOWS = 2 * GROUPS * LENGTHS };
static bool leave_window(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    const struct problem* p = s->problem;
    const int64_t length = lengths[variant / 2 / GROUPS], group = 1 << variant / 2 % GROUPS;
    const int64_t moved = variant % 2;
    (void)h;
    if (p->function != FILTER || group > length || moved == group) return false;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        guess[i] = window_moved(p, i, length, group, moved);
        if (hypothesis_refuted(s, i, guess[i])) return false;
    }
    return true;
}

static double turned(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return filtered(p, i, 0, true, 0);
}

static double one_late(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return filtered(p, i, 0, false, 1);
}

// One tap too few.
static double last_tap_lost(const struct problem* p, int64_t i, int64_t length) {
    int64_t t = i / p->b, last = PROFILING_TAPS - 1;
    (void)length;
    double lost =
        t < last ? 0 : p->small->value[last * p->b + i % p->b] * p->in->value[i - last * p->b];
    return filtered(p, i, 0, false, 0) - lost;
}

// ---- scores and filter

// A product with a weight of 0 is left out.
static double without_zeros(const struct problem* p, int64_t i, int64_t length) {
    double sum = 0, a, b;
    (void)length;
    for (int64_t k = 0; term(p, i, k, &a, &b); k++)
        if (a != 0) sum += a * b;
    return sum;
}

// What was before is left out if decay is 0.
static double without_before(const struct problem* p, int64_t i, int64_t length) {
    (void)length;
    return p->decay == 0 ? p->in->value[i] : p->out->want[i];
}

#define LEAVES(cause, of, variants, value) \
    { CAUSE_##cause, leave, variants, LIKE(left, of, value) }
static const struct hypothesis mistakes[] = {
    LEAVES(zero_skipped, SCORES, 1, without_zeros),
    LEAVES(zero_skipped, FILTER, 1, without_zeros),
    LEAVES(zero_skipped, DECAY, 1, without_before),
    LEAVES(inner_tail, SCORES, LENGTHS, whole_pieces),
    LEAVES(merge_lost, SCORES, 3, some_lanes),
    LEAVES(merge_lost, SCORES, 1, first_lane),
    LEAVES(carry_lost, DECAY, LENGTHS, begun_anew),
    LEAVES(decay_misplaced, DECAY, 1, x_decays),
    LEAVES(decay_misplaced, DECAY, 1, nothing_decays),
    LEAVES(decay_misplaced, DECAY, 1, both_decay),
    LEAVES(decay_sign, DECAY, 1, at_least_0),
    LEAVES(decay_sign, DECAY, 1, without_sign),
    LEAVES(transposed, DECAY, 1, walked_across),
    LEAVES(nothing_before, DECAY, 1, begun_with_x),
    LEAVES(nothing_before, FILTER, 1, first_repeated),
    LEAVES(halo_missing, FILTER, LENGTHS, without_halo),
    LEAVES(tap_order, FILTER, 1, turned),
    LEAVES(tap_order, FILTER, 1, one_late),
    LEAVES(tap_order, FILTER, 1, last_tap_lost),
    {CAUSE_window_stays, leave_window, WINDOWS, 0},
    {0},
};

// Is every wrong element in the rows, or in the columns, that whole tiles leave over? None of them
// may have been written.
static bool is_tail(const struct suspect* s, const struct problem* p, int64_t length) {
    const int64_t columns = p->function == SCORES ? 1 : p->b;
    const int64_t rows_done = p->a / length * length, columns_done = columns / length * length;
    bool down = true, across = p->function != SCORES;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        if (s->tensor->got[i] == s->tensor->want[i]) continue;
        if (check_was_written(s->tensor, i)) return false;
        down &= i / columns >= rows_done;
        across &= i % columns >= columns_done;
    }
    return down || across;
}

// Each step is made of the one before, but where a tile, or a block's part of the steps, begins. Of
// tiles of a single step nothing can be told.
static bool is_carry_lost(const struct suspect* s, const struct problem* p) {
    enum { SHORTEST = 32 };
    int64_t lost = 0;
    for (int64_t i = 0; i < s->tensor->count && p->function == DECAY; i++) {
        const double before = i % p->b ? s->tensor->got[i - 1] : 0;
        const double off = s->tensor->got[i] - (p->decay * before + p->in->value[i]);
        if (fabs(off) <= s->budget.max) continue;
        if (isnan(off) || i % p->b == 0 || i % p->b % SHORTEST) return false;
        lost += i % p->b < p->b - 1;
    }
    return lost > 0;
}

// Every wrong element is NaN, and the inputs hold NaN or infinity.
static bool nan_has_leaked(const struct suspect* s) {
    bool wanted = false;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        const double got = s->tensor->got[i], want = s->tensor->want[i];
        wanted |= !isfinite(want);
        if (!isnan(got) && got != want && !(fabs(got - want) <= s->budget.max)) return false;
    }
    return wanted;
}

// All that is wrong is NaN, of finite numbers and a decay that is not above 0: it has no logarithm.
static bool is_root_of_sign(const struct suspect* s, const struct problem* p) {
    bool finite = p->function == DECAY && p->decay <= 0;
    for (int64_t i = 0; finite && i < s->tensor->count; i++) {
        const double got = s->tensor->got[i], want = s->tensor->want[i];
        finite = isfinite(want) && (isnan(got) || fabs(got - want) <= s->budget.max) &&
                 check_was_written(s->tensor, i);
    }
    return finite;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct problem* p = check_description(c);
    if (!p) return CAUSE_NONE;
    const struct suspect s = {.tensor = t, .budget = budget, .problem = p};
    enum cause cause = hypothesis_search(&s, mistakes);
    for (int i = 0; !cause && i < LENGTHS && lengths[i] <= 32; i++)
        if (is_tail(&s, p, lengths[i])) cause = CAUSE_tail_dropped;
    if (!cause && is_carry_lost(&s, p)) cause = CAUSE_carry_lost;
    if (!cause && is_root_of_sign(&s, p)) cause = CAUSE_decay_sign;
    return cause ? cause : nan_has_leaked(&s) ? CAUSE_nan_leak : CAUSE_NONE;
}

#endif
