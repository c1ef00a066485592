// mistakes.h: what the known mistakes of lesson 09 leave in y. For check.c.
#ifndef MISTAKES_H
#define MISTAKES_H

#include "rows/mistakes.h"

#include <float.h>
#include <stdlib.h>

// m = max_j x_j,  l = sum_j exp(x_j - m),  y_j = exp(x_j - m) / l         (README eq. 1 to 3)
static void softmax_of(double* y, const double* x, int64_t n) {
    double m = row_max(x, n), l = row_sum_exp(x, n, m);
    for (int64_t j = 0; j < n; j++) y[j] = m > -INFINITY ? exp(x[j] - m) / l : 0;
}

static const double* got_of(const struct batch* b, int64_t row) {
    return b->out[0]->got + b->first_out + row * b->stride_out;
}

static double* want_of(const struct batch* b, int64_t row) {
    return b->out[0]->want + b->first_out + row * b->stride_out;
}

// How exact an element must be, as a share of it.
static double relative_of(const struct batch* b) {
    return b->slack[0].of_element;
}

// Rows of x read, or rows of y written, with another stride than their own: as far as the array
// goes.
static bool other_strides(const struct suspect* s, const struct hypothesis* h, int variant,
                          double* guess) {
    const struct batch* b = s->problem;
    const int64_t strides[] = {b->cols, b->stride_out, b->stride};
    int64_t stride_y = strides[variant % 3], stride_x = strides[variant / 3];
    (void)h;
    if (stride_y == b->stride_out && stride_x == b->stride) return false;
    for (int64_t e = 0; e < s->tensor->count; e++) guess[e] = ANYTHING;
    for (int64_t row = 0; row < b->rows; row++) {
        int64_t x = b->first + row * stride_x, y = b->first_out + row * stride_y;
        if (x + b->cols > b->x->count || y + b->cols > s->tensor->count) break;
        softmax_of(guess + y, b->x->value + x, b->cols);
        for (int64_t j = 0; j < b->cols; j++)
            if (isnan(guess[y + j]) || hypothesis_refuted(s, y + j, guess[y + j])) return false;
    }
    return true;
}

// Powers of 2 in place of powers of e.
static bool base_two(const struct suspect* s, const struct hypothesis* h, int variant,
                     double* guess) {
    const struct batch* b = s->problem;
    (void)h, (void)variant;
    for (int64_t row = 0; row < b->rows; row++) {
        const double* x = batch_row(b, row);
        double m = row_max(x, b->cols), l = 0, *y = guess + (want_of(b, row) - b->out[0]->want);
        for (int64_t j = 0; j < b->cols; j++) l += exp2(x[j] - m);
        for (int64_t j = 0; j < b->cols; j++) y[j] = m > -INFINITY ? exp2(x[j] - m) / l : 0;
        if (hypothesis_refuted(s, y - guess, y[0])) return false;
    }
    return true;
}

// The logarithm of the softmax; the softmax of -x.
static bool other_operation(const struct suspect* s, const struct hypothesis* h, int variant,
                            double* guess) {
    const struct batch* b = s->problem;
    double* negative = check_allocate(b->check, b->cols, sizeof *negative);
    (void)h;
    for (int64_t row = 0; row < b->rows; row++) {
        double* y = guess + (want_of(b, row) - b->out[0]->want);
        for (int64_t j = 0; j < b->cols; j++) negative[j] = -batch_row(b, row)[j];
        if (variant == 1) softmax_of(y, negative, b->cols);
        for (int64_t j = 0; j < b->cols && variant == 0; j++) y[j] = log(want_of(b, row)[j]);
        bool empty = row_max(batch_row(b, row), b->cols) == -INFINITY;  // whose -x is infinite
        for (int64_t j = 0; j < b->cols && empty; j++) y[j] = ANYTHING;
    }
    free(negative);
    return true;
}

static const struct hypothesis mistakes[] = {{CAUSE_stride_ignored, other_strides, 9, NULL},
                                             {CAUSE_exp2_base, base_two, 1, NULL},
                                             {CAUSE_other_operation, other_operation, 2, NULL},
                                             {0}};

// Every element a NaN or 0: l is infinite, or 0, or NaN.
static bool row_lost(const struct batch* b, int64_t row) {
    for (int64_t j = 0; j < b->cols; j++)
        if (!isnan(got_of(b, row)[j]) && got_of(b, row)[j] != 0) return false;
    return true;
}

// What a wide row is lost of may be less, element by element, than another row's may be off by.
static bool row_right(const struct batch* b, int64_t row) {
    for (int64_t j = 0; j < b->cols; j++)
        if (!(fabs(got_of(b, row)[j] - want_of(b, row)[j]) <= b->tolerance[0])) return false;
    return row_max(batch_row(b, row), b->cols) == -INFINITY || !row_lost(b, row);
}

// Elements at the end of rows that hold NaN, so perhaps nothing was written; before these elements
// no NaN stands, and not only zeros of masked scores.
static enum cause from_unwritten(const struct batch* b) {
    int64_t most = 0, least = b->cols;
    for (int64_t row = 0; row < b->rows; row++) {
        int64_t n = 0;
        while (n < b->cols && isnan(got_of(b, row)[b->cols - 1 - n])) n++;
        bool all_masked = 0 < n && n < b->cols;
        for (int64_t j = 0; j < b->cols - n; j++) {
            if (isnan(got_of(b, row)[j])) return CAUSE_NONE;
            all_masked &= want_of(b, row)[j] == 0;
        }
        if (all_masked) return CAUSE_NONE;
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    if (most == 0 || most == b->cols) return CAUSE_NONE;
    if (most < 32) return CAUSE_inner_tail;
    for (int64_t p = 2; p <= 1024 && most == least; p *= 2)
        if (most == b->cols % p) return CAUSE_inner_tail;
    return CAUSE_never_written;
}

static bool has_nan(const struct batch* b, int64_t row) {
    for (int64_t j = 0; j < b->cols; j++)
        if (isnan(got_of(b, row)[j])) return true;
    return false;
}

// Every row that has a score is divided by an l of -infinity: each y is -0.
static bool is_divided_by_low(const struct batch* b) {
    int64_t divided = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        if (row_right(b, row)) continue;
        for (int64_t j = 0; j < b->cols; j++)
            if (got_of(b, row)[j] != 0 || !signbit(got_of(b, row)[j])) return false;
        divided++;
    }
    return divided > 0;
}

// Scores whose product with log2(e) is no float, where it is multiplied before it is subtracted.
static bool is_product_too_large(const struct batch* b) {
    bool right = false, lost = false;
    for (int64_t row = 0; row < b->rows; row++) {
        const double m = row_max(batch_row(b, row), b->cols);
        if (row_right(b, row)) {
            right |= m < -1e38;
            continue;
        }
        if (!row_lost(b, row) || !(fabs(m) * 1.4427 > FLT_MAX)) return false;
        lost |= m > -FLT_MAX;
    }
    return right && lost;
}

// Rows that are lost: where exp leaves its range. An infinite exp times 1 / l is NaN: where all is
// 0, it was l that was 0. Then all such rows are 0, or NaN where nothing guards against it, and so
// is a row of nothing but -infinity.
static enum cause from_lost(const struct batch* b) {
    bool large = false, low = true, right = false, nan = false, zero = false;
    for (int64_t row = 0; row < b->rows; row++) {
        double m = row_max(batch_row(b, row), b->cols);
        if (row_right(b, row)) {
            right |= m > -INFINITY;
            zero |= m == -INFINITY;
        } else if (!row_lost(b, row)) {
            return CAUSE_NONE;
        } else {
            *(has_nan(b, row) ? &nan : &zero) = true;
            large |= m > 80.0 && has_nan(b, row);
            low &= m < -80.0;
        }
    }
    if (large) return CAUSE_overflow;
    return low && right && !(nan && zero) ? CAUSE_max_init : CAUSE_NONE;
}

static bool near(double a, double b, double share) {
    return fabs(a - b) <= share * fabs(b);
}

// Does the excess of l come from some of the numbers that follow the row in memory?
static bool from_next(const struct batch* b, int64_t row, double m, double extra, double share) {
    const double* next = batch_row(b, row) + b->cols;
    double sum = 0;
    for (int64_t p = 0; p < 64 && next + p < b->x->value + b->x->count; p++) {
        sum += exp(next[p] - m);
        if (near(sum, extra, share)) return true;
    }
    return extra == 0;
}

// In l the elements from `first` on count more than once: threads go on by fewer elements than
// there are threads. Those before them are in registers. possible[]: with which variants, so far.
static bool is_counted_again(const struct batch* b, int64_t row, int64_t first, double l_got,
                             double share, bool possible[COUNTED_AGAIN]) {
    const double *x = batch_row(b, row), m = row_max(x, b->cols);
    bool any = false;
    for (int v = 0; v < COUNTED_AGAIN; v++) {
        double l = 0;
        for (int64_t j = 0; j < b->cols && possible[v]; j++)
            l += (double)(j < first ? 1 : counted_times(v, j - first)) * exp(x[j] - m);
        possible[v] = possible[v] && near(l, l_got, share);
        any |= possible[v];
    }
    return any;
}

// Is that so in all rows, which are off by one factor each? A row's first element in registers
// stands at a multiple of LINE elements in memory.
static bool are_counted_again(const struct batch* b) {
    enum { LINE = 32, WIDTH = 43 * 512 };
    bool any = false;
    for (int in_registers = 0; in_registers < 2 && !any; in_registers++) {
        bool possible[COUNTED_AGAIN];
        for (int v = 0; v < COUNTED_AGAIN; v++) possible[v] = true;
        any = true;
        for (int64_t row = 0; row < b->rows && any; row++) {
            const double* x = batch_row(b, row);
            const int64_t shift = (b->first_out + row * b->stride_out) % LINE;
            const double m = row_max(x, b->cols), l = row_sum_exp(x, b->cols, m);
            int64_t at = 0;
            while (x[at] != m) at++;
            const double l_got = l * want_of(b, row)[at] / got_of(b, row)[at];
            any = isfinite(l_got) && l_got > 1.001 * l &&
                  is_counted_again(b, row, in_registers ? WIDTH - shift : 0, l_got, 1e-3, possible);
        }
    }
    return any;
}

// Every row is off by one factor: l is wrong. By what? Lost rows say little, the last one may have
// met NaN.
static enum cause from_ratio(const struct batch* b) {
    bool small = true, same = true, less = true, zeros = true, undivided = true, next = true,
         lost = false, divided = false;
    int64_t measured = 0;
    double first = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        const double* x = batch_row(b, row);
        double m = row_max(x, b->cols), low = INFINITY, high = -INFINITY;
        if (m == -INFINITY || (row_lost(b, row) && (m < -80.0 || row == b->rows - 1))) {
            lost |= m > -INFINITY;
            continue;
        }
        for (int64_t j = 0; j < b->cols; j++) {
            double want = want_of(b, row)[j], got = got_of(b, row)[j];
            if (want < 1e-30) continue;
            if (!(got > 0)) return CAUSE_NONE;
            low = fmin(low, got / want);
            high = fmax(high, got / want);
        }
        if (!(high - low <= 4 * relative_of(b) * high)) return CAUSE_NONE;
        double l = row_sum_exp(x, b->cols, m);
        if (fabs(high - 1) <= relative_of(b)) {  // by luck nothing, or too little to tell
            divided |= l > 2;
            continue;
        }
        double extra = l / high - l, many = extra * exp(m);
        double share = fmin(0.1, 0.01 + 4 * relative_of(b) * l / fabs(extra));
        if (measured++ == 0) first = extra;
        same &= extra > 0 && extra < 0.05 && near(extra, first, 2 * share);
        small &= fabs(high - 1) < 0.005;
        less &= extra < 0;
        undivided &= near(high, l, 0.01);
        zeros &= many > 0.9 && many < 1e5 && (many > 10 || near(many, round(many), share));
        next &= row < b->rows - 1 && extra > 0 && from_next(b, row, m, extra, share);
    }
    if (measured == 0) return CAUSE_NONE;
    if (are_counted_again(b)) return CAUSE_counted_again;
    if (next || zeros) return CAUSE_inner_tail;
    if (lost) return CAUSE_NONE;
    if (same) return CAUSE_epsilon_added;
    if (small) return CAUSE_low_precision;
    // Right where scores are small: ln l is lost beside m.
    if (undivided) return divided ? CAUSE_low_precision : CAUSE_not_divided;
    return less ? CAUSE_merge_lost : CAUSE_NONE;
}

// A wide row is made in two parts, of which one is wrong: its elements up to some column are off by
// one factor, those behind it by another. Are they in all rows?
static bool in_parts(const struct batch* b, int64_t row, double* first, double* last) {
    const double *want = want_of(b, row), *got = got_of(b, row), slack = 4 * relative_of(b);
    int64_t j = 0, end = b->cols;
    while (j < end && want[j] < 1e-30) j++;
    while (end > j && want[end - 1] < 1e-30) end--;
    if (end - j < 2) return false;
    *first = got[j] / want[j];
    *last = got[end - 1] / want[end - 1];
    while (j < end && near(got[j], *first * want[j], slack)) j++;
    while (j < end && near(got[j], *last * want[j], slack)) j++;
    return j == end && *first > 0 && *last > 0 && !near(*first, *last, 0.01);
}

// Then one part is not divided by l; or the maximum is subtracted in one alone.
static enum cause from_parts(const struct batch* b) {
    bool undivided = true, unshifted = true;
    int64_t measured = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        const double* x = batch_row(b, row);
        const double m = row_max(x, b->cols);
        double first, last;
        if (m == -INFINITY || row_lost(b, row)) continue;
        if (!in_parts(b, row, &first, &last)) return CAUSE_NONE;
        const double l = row_sum_exp(x, b->cols, m), times = first / last;
        undivided &= (near(first, 1, 0.01) && near(last, l, 0.01)) ||
                     (near(last, 1, 0.01) && near(first, l, 0.01));
        unshifted &= near(times, exp(m), 0.01) || near(times, exp(-m), 0.01);
        measured++;
    }
    if (measured == 0 || undivided == unshifted) return CAUSE_NONE;
    return undivided ? CAUSE_not_divided : CAUSE_overflow;
}

// Are all elements of a thread, or of a warp, off by one factor of their own? `threads` share a
// row, `group` of them know the same of it. They begin at the row's first column, or at a multiple
// of 32 elements.
static bool groups_differ(const struct batch* b, int64_t threads, int64_t group, bool shifted) {
    enum { MOST = 1024 };
    for (int64_t row = 0; row < b->rows; row++) {
        double low[MOST], high[MOST], least = INFINITY, most = 0;
        int64_t shift = shifted ? (b->first_out + row * b->stride_out) % 32 : 0;
        for (int64_t g = 0; g < threads / group; g++) low[g] = INFINITY, high[g] = -INFINITY;
        for (int64_t j = 0; j < b->cols; j++) {
            int64_t g = (j + shift) % threads / group;
            double want = want_of(b, row)[j];
            double ratio = got_of(b, row)[j] / want;
            if (want < 1e-30) continue;
            if (!isfinite(ratio)) return false;
            low[g] = fmin(low[g], ratio);
            high[g] = fmax(high[g], ratio);
            if (!(high[g] - low[g] <= 4 * relative_of(b) * high[g])) return false;
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
        if (near(least, most, 4 * relative_of(b)) && !row_right(b, row))
            return false;  // they agree
    }
    return true;
}

// Rows of a lane for each element, of which one alone is right in each: it alone has the whole sum.
static bool one_lane_has_sum(const struct batch* b) {
    enum { FEW = 8, LANES = 32 };
    for (int64_t row = 0; row < b->rows; row++) {
        int right = 0;
        for (int64_t j = 0; j < b->cols; j++) {
            const double got = got_of(b, row)[j], want = want_of(b, row)[j];
            if (!isfinite(got) || got <= 0) return false;
            right += near(got, want, relative_of(b));
        }
        if (right != 1) return false;
    }
    return b->cols >= FEW && b->cols <= LANES;
}

// No element is too small: l lacks some terms. Or groups of threads disagree about the row.
static enum cause from_groups(const struct batch* b) {
    bool none_less = true;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            none_less &= got_of(b, row)[j] >= want_of(b, row)[j] - b->tolerance[0] &&
                         isfinite(got_of(b, row)[j]);
    if (none_less || one_lane_has_sum(b)) return CAUSE_merge_lost;
    for (int64_t threads = 32; threads <= 1024; threads *= 2)
        for (int shifted = 0; shifted < 2; shifted++)
            if ((b->cols >= 3 * threads && groups_differ(b, threads, 1, shifted)) ||
                (b->cols >= 3 * 32 && threads > 32 && groups_differ(b, threads, 32, shifted)))
                return CAUSE_merge_lost;
    return CAUSE_NONE;
}

// Is a row of scores far below 0 a row of zeros, and no other one?
static bool is_low_lost(const struct batch* b) {
    bool any = false;
    for (int64_t row = 0; row < b->rows; row++) {
        const double m = row_max(batch_row(b, row), b->cols);
        bool zero = m > -INFINITY;
        for (int64_t j = 0; j < b->cols && zero; j++) zero = got_of(b, row)[j] == 0;
        if (zero && m >= -80) return false;
        any |= zero;
    }
    return any;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct batch* b = check_description(c);
    int64_t wrong = 0, wrong_empty = 0;
    (void)t, (void)budget;
    for (int64_t row = 0; row < b->rows; row++) {
        if (row_right(b, row)) continue;
        wrong++;
        wrong_empty += row_max(batch_row(b, row), b->cols) == -INFINITY;
    }
    if (wrong == 0) return is_low_lost(b) ? CAUSE_max_init : CAUSE_NONE;  // only the mean is wrong
    if (wrong == wrong_empty) return CAUSE_empty_row;

    if (is_divided_by_low(b)) return CAUSE_sum_init;
    enum cause cause = from_unwritten(b);
    if (!cause && is_product_too_large(b)) cause = CAUSE_overflow;
    if (!cause) cause = from_lost(b);
    if (!cause) cause = from_ratio(b);
    if (!cause) cause = from_parts(b);
    return cause ? cause : from_groups(b);
}

#endif
