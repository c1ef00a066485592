// mistakes.h: what the known mistakes of lesson 03 leave in sum and max. For check.c. Reads past
// the end of x, and races, are left to the instrumented build, which knows the line.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "base/dtype.h"
#include "rows/mistakes.h"

// sum and max of n numbers.
static struct pair reduce(const double* x, int64_t n) {
    struct pair p = {{0, row_max(x, n)}};
    for (int64_t j = 0; j < n; j++) p.number[0] += x[j];
    return p;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// The stride is ignored.
static struct pair rows_packed(const struct batch* b, int64_t row, int variant) {
    (void)variant;
    return reduce(b->x->value + b->first + row * b->cols, b->cols);
}

static struct pair threads_lost(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    struct pair p = reduce(x, 0);
    for (int64_t j = 0; j < b->cols; j++) {
        if (!reaches(variant, j)) continue;
        p.number[0] += x[j];
        p.number[1] = fmax(p.number[1], x[j]);
    }
    return p;
}

// The elements that do not fill a sweep of 1 << variant elements.
static struct pair rest_dropped(const struct batch* b, int64_t row, int variant) {
    int64_t sweep = (int64_t)1 << variant;
    if (sweep > 1024 && sweep > b->cols) return pair_wanted(b, row);
    return reduce(batch_row(b, row), b->cols - b->cols % sweep);
}

// The same in rows narrower than the first ones of narrow(): who loses lanes has lost them there.
static struct pair rest_of_few_dropped(const struct batch* b, int64_t row, int variant) {
    enum { FIRST = 31 };
    return b->cols < FIRST ? rest_dropped(b, row, variant) : pair_wanted(b, row);
}

// The numbers before the first whole float4 are taken one by one, also where a row has fewer: those
// of the next row. Past the end of x lies a guard band.
static struct pair head_from_next(const struct batch* b, int64_t row, int variant) {
    const int64_t begin = b->first + row * b->stride, head = (4 - begin % 4) % 4;
    (void)variant;
    if (head <= b->cols) return pair_wanted(b, row);
    if (begin + head > b->x->count) return (struct pair){{ANYTHING, ANYTHING}};
    return reduce(batch_row(b, row), head);
}

// Threads past the end add the row's last element times 0.
static struct pair rest_times_zero(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    (void)variant;
    p.number[0] += 0 * batch_row(b, row)[b->cols - 1];
    return p;
}

// The last sweep is filled up with the row's last element.
static struct pair rest_repeated(const struct batch* b, int64_t row, int variant) {
    int64_t sweep = (int64_t)1 << variant, pad = (sweep - b->cols % sweep) % sweep;
    struct pair p = pair_wanted(b, row);
    if (pad) p.number[0] += (double)pad * batch_row(b, row)[b->cols - 1];
    return p;
}

// Threads go on by fewer elements than there are threads.
static struct pair counted_again(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    struct pair p = pair_wanted(b, row);
    for (int64_t j = 0; j < b->cols; j++)
        if (counted_times(variant, j) > 1)
            p.number[0] += (double)(counted_times(variant, j) - 1) * x[j];
    return p;
}

static struct pair first_only(const struct batch* b, int64_t row, int variant) {
    return reduce(batch_row(b, row), smaller((int64_t)1 << variant, b->cols));
}

// In the last stage lanes beyond the last warp bring what they have, the sum of the first warp, in
// place of nothing: T = 32 << variant threads are 1 << variant warps.
static struct pair first_warp_again(const struct batch* b, int64_t row, int variant) {
    const double* x = batch_row(b, row);
    const int64_t warps = (int64_t)1 << variant, threads = 32 * warps;
    struct pair p = pair_wanted(b, row);
    for (int64_t j = 0; j < b->cols; j++)
        if (j % threads < 32) p.number[0] += (double)(32 - warps) * x[j];
    return p;
}

// The sum is added up several times: in a round too many, or each warp in several lanes.
static struct pair times(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    p.number[0] *= (double)((int64_t)1 << variant);
    return p;
}

// A number that people write down: one digit and zeros, the least positive float, or one of the
// powers of 2 that end a float's range or an int's.
static bool is_written(double x) {
    const double size = fabs(x);
    int power;
    if (size == 0 || size == 0x1p-126 || size == 0x1.fffffep127) return true;
    for (double ten = 1e-10; ten < 1e39; ten *= 10)
        for (int digit = 1; digit < 10; digit++)
            if ((float)size == (float)(digit * ten)) return true;
    return frexp(size, &power) == 0.5 && power >= 15;
}

// The maximum starts at a finite number: what the first wrong one shows. A single one shows it only
// if it is a number to start with: any maximum that is too large would do.
static struct pair max_started(const struct batch* b, int64_t row, int variant) {
    const struct tensor* max = b->out[1];
    struct pair p = pair_wanted(b, row);
    int64_t i = 0, same = 0;
    (void)variant;
    while (i < b->rows - 1 && max->got[i] == max->want[i]) i++;
    for (int64_t r = i; r < b->rows; r++)
        same += max->got[r] == max->got[i] && max->got[r] != max->want[r];
    if (same > 1 || is_written(max->got[i])) p.number[1] = fmax(p.number[1], max->got[i]);
    return p;
}

// The largest bits, as integers with sign or without; the maximum starts at -infinity, or there is
// no start.
static struct pair bits_compared(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    const double* x = batch_row(b, row);
    double max = variant / 2 ? -INFINITY : x[0];
    bool any_nan = false;
    for (int64_t j = 0; j < b->cols; j++) {
        max = larger_bits(max, x[j], variant % 2);
        any_nan |= isnan(x[j]);
    }
    p.number[1] = any_nan ? ANYTHING : max;  // a NaN has other ways to get there
    return p;
}

// Bits are put in the order of floats, but those of -0, the least of all integers, below all.
static struct pair zero_least(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    const double* x = batch_row(b, row);
    double max = -INFINITY;
    (void)variant;
    for (int64_t j = 0; j < b->cols; j++)
        if (x[j] != 0 || !signbit(x[j])) max = fmax(max, x[j]);
    if (max > -INFINITY) p.number[1] = max;
    return p;
}

// No element arrives.
static struct pair nothing(const struct batch* b, int64_t row, int variant) {
    struct pair p = reduce(NULL, 0);
    (void)variant;
    if (b->out[1]->got[row] == 0) p.number[1] = 0;
    return p;
}

// Subnormal numbers are taken for 0: in both outputs, or in one.
static struct pair subnormals_lost(const struct batch* b, int64_t row, int variant) {
    const double least = 0x1p-126;
    struct pair p = pair_wanted(b, row);
    for (int i = 0; i < 2; i++)
        if (fabs(p.number[i]) < least && (variant == 0 || variant == i + 1)) p.number[i] = 0;
    return p;
}

// The numbers are put together in another way: their squares, sizes or products by the others' sum,
// the smallest, the mean, the largest size.
enum { OPERATIONS = 6 };
static struct pair other_operation(const struct batch* b, int64_t row, int variant) {
    struct pair p = pair_wanted(b, row);
    const double* x = batch_row(b, row);
    double squares = 0, sizes = 0, least = INFINITY, largest = -INFINITY;
    for (int64_t j = 0; j < b->cols; j++) {
        squares += x[j] * x[j];
        sizes += fabs(x[j]);
        least = fmin(least, x[j]);
        largest = fmax(largest, fabs(x[j]));
    }
    const double sum = p.number[0], max = p.number[1];
    const struct pair other[OPERATIONS] = {
        {{squares, max}}, {{sizes, max}},   {{sizes, largest}},
        {{sum, least}},   {{sum, largest}}, {{dtype_round(F32, sum / (double)b->cols), max}}};
    return other[variant];
}

// The two are exchanged; or both are the sum, or the maximum. Of one element both are that element.
static struct pair exchanged(const struct batch* b, int64_t row, int variant) {
    const struct pair p = pair_wanted(b, row);
    if (b->cols == 1) return p;
    return (struct pair){{p.number[variant != 1], p.number[variant == 2]}};
}

// In this order: of 31 columns, 16 lanes take the same elements as one sweep of 16.
static const struct hypothesis mistakes[] = {
    PAIR_OR_ONE(stride_ignored, 1, rows_packed),
    PAIR(subnormal, 3, subnormals_lost),
    PAIR_OR_ONE(bits_compared, 4, bits_compared),
    PAIR_OR_ONE(bits_compared, 1, zero_least),
    PAIR_OR_ONE(inner_tail, 14, rest_of_few_dropped),
    PAIR_OR_ONE(merge_lost, LOSSES, threads_lost),
    PAIR(counted_again, COUNTED_AGAIN, counted_again),
    PAIR_OR_ONE(inner_tail, 14, rest_dropped),
    PAIR_OR_ONE(inner_tail, 14, rest_repeated),
    PAIR_OR_ONE(inner_tail, 1, head_from_next),
    PAIR_OR_ONE(nan_leak, 1, rest_times_zero),
    PAIR_OR_ONE(merge_lost, 17, first_only),
    PAIR(merged_twice, 5, first_warp_again),
    PAIR_OR_ONE(merged_twice, 11, times),
    PAIR(wrong_array, 3, exchanged),
    PAIR(other_operation, OPERATIONS, other_operation),
    PAIR_OR_ONE(max_init, 1, max_started),
    PAIR_OR_ONE(merge_lost, 1, nothing),
    {0},
};

static bool same(double want, double got, double tolerance) {
    return want == got || (isnan(want) && isnan(got)) || fabs(got - want) <= tolerance;
}

// A NaN or infinity that came from elsewhere, or a maximum that a NaN in its row spoilt. Where a
// sum is to be infinite, a NaN is made of what belongs to it.
static bool leaked(const struct batch* b) {
    const struct tensor *sum = b->out[0], *max = b->out[1];
    bool any = false, elsewhere = false;
    for (int64_t row = 0; row < b->rows; row++) {
        bool has_nan = false;
        for (int64_t j = 0; j < b->cols; j++) has_nan |= isnan(batch_row(b, row)[j]);
        if (!same(sum->want[row], sum->got[row], b->tolerance[0])) {
            if (!isnan(sum->got[row])) return false;
            any = true;
            elsewhere |= !isinf(sum->want[row]);
        }
        if (!same(max->want[row], max->got[row], 0)) {
            if (!has_nan && !isnan(max->got[row])) return false;
            any = elsewhere = true;
        }
    }
    for (int64_t i = 0; i < b->x->count; i++)
        if (any && elsewhere && !isfinite(b->x->value[i])) return true;
    return false;
}

// Of several NaN and nothing else the maximum is NaN, and all else is right: it began with what
// fmaxf() skips.
static bool begins_with_nan(const struct batch* b) {
    const struct tensor *sum = b->out[0], *max = b->out[1];
    bool any = false;
    for (int64_t row = 0; row < b->rows && b->cols > 1; row++) {
        bool number = false;
        for (int64_t j = 0; j < b->cols; j++) number |= !isnan(batch_row(b, row)[j]);
        if (!same(sum->want[row], sum->got[row], b->tolerance[0])) return false;
        if (same(max->want[row], max->got[row], 0)) continue;
        if (number || !isnan(max->got[row])) return false;
        any = true;
    }
    return any;
}

// In every row the first so many elements alone reach the results: as many as row 0 says.
static bool is_prefix(const struct batch* b) {
    enum { MOST = 64 };  // of the numbers that row 0 allows
    const struct tensor *sum = b->out[0], *max = b->out[1];
    struct pair first = reduce(NULL, 0);
    int tried = 0;
    for (int64_t n = 1; n < b->cols && tried < MOST; n++) {
        const double x = batch_row(b, 0)[n - 1];
        first.number[0] += x;
        first.number[1] = fmax(first.number[1], x);
        if (!same(first.number[0], sum->got[0], b->tolerance[0]) ||
            !same(first.number[1], max->got[0], 0))
            continue;
        bool all = true;
        tried++;
        for (int64_t row = 1; row < b->rows && all; row++) {
            struct pair p = reduce(batch_row(b, row), n);
            all = same(p.number[0], sum->got[row], b->tolerance[0]) &&
                  same(p.number[1], max->got[row], 0);
        }
        if (all) return true;
    }
    return false;
}

// Every sum is -infinity, also those of rows that hold numbers alone: they began so.
static bool begins_low(const struct batch* b) {
    const struct tensor* sum = b->out[0];
    bool of_numbers = false;
    for (int64_t row = 0; row < b->rows; row++) {
        if (sum->got[row] != -INFINITY && !isnan(sum->want[row])) return false;
        of_numbers |= isfinite(sum->want[row]);
    }
    return of_numbers;
}

// The sums are right, and the maximum of some row is larger than any number there is, and not just
// the sum.
static bool is_max_of_others(const struct batch* b) {
    const struct tensor *sum = b->out[0], *max = b->out[1];
    double largest = -INFINITY;
    bool beyond = false;
    if (check_values_of(b->x, 0) != b->x->value) return false;  // it may be of the call before
    for (int64_t e = 0; e < b->x->count; e++)
        if (isfinite(b->x->value[e])) largest = fmax(largest, b->x->value[e]);
    for (int64_t row = 0; row < b->rows; row++) {
        if (!same(sum->want[row], sum->got[row], b->tolerance[0])) return false;
        if (same(max->want[row], max->got[row], 0)) continue;
        if (isnan(max->got[row])) return false;
        beyond |=
            isfinite(max->got[row]) && max->got[row] > largest && max->got[row] != sum->got[row];
    }
    return beyond;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)t, (void)budget;
    const struct batch* b = check_description(c);
    if (batch_keeps_rows(b, 1)) return CAUSE_row_before;
    if (begins_low(b)) return CAUSE_sum_init;
    if (begins_with_nan(b)) return CAUSE_max_init;
    if (is_max_of_others(b)) return CAUSE_max_of_others;
    return leaked(b) ? CAUSE_nan_leak : is_prefix(b) ? CAUSE_merge_lost : CAUSE_NONE;
}

#endif
