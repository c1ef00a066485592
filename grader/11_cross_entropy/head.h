// head.h: a case of lesson 11: its arguments and data, what is wanted, and how exact it must be.
// For check.c.
//
//     struct head h = head_of(c, 8, 1024);
//     h.smoothing = 0.1;
//     head_begin(&h, "smoothed");
//     head_fill(&h, -9, 1);
//     head_run(&h);
#ifndef HEAD_H
#define HEAD_H

#include "check/arguments.h"
#include "check/check.h"
#include "check/hypothesis.h"
#include "check/reach.h"
#include "cross_entropy.h"
#include "rows/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// A running case. Set what differs from head_of() before head_begin().
struct head {
    struct check* check;
    int64_t rows, V, stride;
    int64_t first;  // elements of the logits' array before the first row
    int64_t ignore_index;
    double smoothing;
    int64_t narrower, step;  // calls for rows of fewer logits, too: call.c
    bool far;                // rows 2^32 elements apart, where the launcher finds them
    int calls;               // in the same arrays: rounds of the case
    double more;             // LSE and loss may be off by this share of l besides
    struct tensor *loss, *LSE, *logits, *labels;  // NULL if the case passes NULL
};

static struct head head_of(struct check* c, int64_t rows, int64_t V) {
    return (struct head){
        .check = c, .rows = rows, .V = V, .stride = V, .ignore_index = -100, .step = 1, .calls = 1};
}

// Where logit j of a row is in its array.
static int64_t place_of(const struct head* h, int64_t row, int64_t j) {
    return h->first + row * h->stride + j;
}

static double* logits_of(const struct head* h, int64_t row) {
    return h->logits->value + place_of(h, row, 0);
}

static int64_t label_of(const struct head* h, int64_t row) {
    return (int64_t)h->labels->value[row];
}

static void set_label(const struct head* h, int64_t row, int64_t label) {
    h->labels->value[row] = (double)label;
}

static bool counts(const struct head* h, int64_t row) {
    return label_of(h, row) != h->ignore_index;
}

static bool is_token(const struct head* h, int64_t label) {
    return 0 <= label && label < h->V;
}

// What lies before the first row and between the rows must stay as it is.
static void guard_gaps(const struct head* h) {
    for (int call = 0; call < h->calls; call++) {
        check_round(h->check, call);
        for (int64_t e = 0; e < h->logits->count; e++)
            h->logits->untouched[e] = e < h->first || (e - h->first) % h->stride >= h->V;
    }
    check_round(h->check, 0);
}

// shown: of how many rows, the last ones, the case has the logits; 0: of all.
static void declare_shown(struct check* c, struct head* h, int64_t shown) {
    int64_t stride = h->stride;
    check_describe(c, h);
    check_int(c, "rows", h->rows);
    check_int(c, "V", h->V);
    check_int(c, "narrower", h->narrower);
    check_int(c, "step", h->step);
    check_int(c, "first", h->first);
    check_int(c, "ignore_index", h->ignore_index);
    check_real(c, "smoothing", h->smoothing);
    h->loss = check_output(c, "loss", F32, SHAPE(1));
    h->LSE = check_output(c, "LSE", F32, SHAPE(h->rows));
    struct shape all = SHAPE(shown ? shown : h->rows, h->stride);
    if (h->first > 0) all = SHAPE(h->first + h->rows * h->stride);
    h->logits = check_in_place(c, "logits", BF16, all);
    h->labels = check_input(c, "labels", I64, SHAPE(h->rows));
    check_workspace(c, "workspace", (int64_t)cross_entropy_workspace_bytes(h->rows));
    if (h->far && h->logits) {
        const int64_t count[] = {h->rows, 1, 1};
        int64_t step[3];
        check_far(c, h->logits, count, step);
        stride = step[0];
    }
    check_int(c, "stride", stride);
    if (shown) check_ends(c, h->logits, 1, h->rows * h->stride);
    if (h->logits) guard_gaps(h);
}

static void declare(struct check* c, void* head) {
    declare_shown(c, head, 0);
}

static void head_begin(struct head* h, const char* what) {
    char more[100] = "";
    int used = 0;
    if (h->first) used = snprintf(more, sizeof more, ", %lld logits later", (long long)h->first);
    if (h->smoothing > 0)
        snprintf(more + used, sizeof more - (size_t)used, ", smoothing %g", h->smoothing);
    check_case(h->check, "%s: rows = %lld, V = %lld, stride = %lld%s", what, (long long)h->rows,
               (long long)h->V, (long long)h->stride, more);
    check_rounds(h->check, h->calls);
    declare(h->check, h);
}

// Rows so far apart that an index of 32 bits does not reach from one to the next. False, and
// nothing has begun, if this machine has no addresses for that.
static bool head_begin_far(struct head* h) {
    if (!check_can_be_far(h->check)) return false;
    check_case(h->check,
               "rows = %lld, V = %lld, more than 2^32 logits from row to row, on the CPU device",
               (long long)h->rows, (long long)h->V);
    h->far = true;
    declare(h->check, h);
    return true;
}

// ---- data

static void fill_row(const struct head* h, int64_t row, double low, double high) {
    for (int64_t j = 0; j < h->V; j++) logits_of(h, row)[j] = check_uniform(h->check, low, high);
}

// Evenly between low and high; any tokens are labels.
static void head_fill(const struct head* h, double low, double high) {
    for (int64_t row = 0; row < h->rows; row++) {
        fill_row(h, row, low, high);
        set_label(h, row, check_pick(h->check, 0, h->V - 1));
    }
}

// The same, rising by 10 to the right: the maximum grows along the row, and logits lost at its end
// are not small.
static void head_fill_rising(const struct head* h) {
    head_fill(h, -9, -8);
    for (int64_t row = 0; row < h->rows; row++)
        for (int64_t j = 0; j < h->V; j++)
            logits_of(h, row)[j] += 10.0 * (double)(j + 1) / (double)h->V;
}

// ---- what is wanted

// A row's maximum, sum of exp(x - m) and sum of x.
struct sums {
    double m, l, sum;
};

static struct sums sums_of(const double* x, int64_t V) {
    struct sums s = {.m = row_max(x, V)};
    for (int64_t j = 0; j < V; j++) s.sum += x[j];
    s.l = row_sum_exp(x, V, s.m);
    return s;
}

// The weights of the target: `others` of every token, `hit` more of the label.
struct weights {
    double others, hit;
};

// others sum_j (LSE - x_j) + hit (LSE - x_label): README eq. 3 for one row.
static double row_loss(const struct head* h, int64_t row, struct sums s, struct weights t) {
    const double V = (double)h->V, ln_l = log(s.l);
    int64_t label = label_of(h, row);
    double loss = t.others > 0 ? t.others * (V * (s.m + ln_l) - s.sum) : 0;
    if (!is_token(h, label)) return NAN;
    return t.hit > 0 ? loss + t.hit * (s.m - logits_of(h, row)[label] + ln_l) : loss;
}

static int64_t rows_that_count(const struct head* h) {
    int64_t N = 0;
    for (int64_t row = 0; row < h->rows; row++) N += counts(h, row);
    return N;
}

// The loss is NaN, and no gradient is: so no label was taken for none, but something was added up
// that nobody stored. Rows that do not count have a loss, too.
static bool is_loss_alone(const struct head* h) {
    const struct tensor* x = h->logits;
    bool alone = isnan(h->loss->got[0]) && rows_that_count(h) < h->rows;
    for (int64_t e = 0; e < x->count && alone; e++) alone = x->untouched[e] || !isnan(x->got[e]);
    return alone;
}

// ---- how exact

// The errors that a right kernel may make, in units of 2^-24, half an ulp of a float. Relative to
// l, whose summands are all positive, and to softmax:
//   8           the fastest exp the hardware has, 2 ulp, in the numerator and in l; the division
//   8           the fastest logarithm near 1, 2^-21.4
//   sqrt(V)/3   a sum of V floats one after another, the worst order, rounded up or down by chance
//   2 |x|       exp(x - m) as exp2(x * log2(e) - m * log2(e)) rounds numbers of the size of x.
//               (Beyond 10^5 all logits of a row are equal here, and so is what they round to.)
// The budget is 2, 2, 12 and 2 times that: right kernels have been seen to use a fifth of it.
static double relative(const struct head* h, int64_t row) {
    double size = 0;
    for (int64_t j = 0; j < h->V; j++) {
        double x = fabs(logits_of(h, row)[j]);
        if (x < 1e5) size = fmax(size, x);
    }
    return ldexp(32.0 + 4.0 * sqrt((double)h->V) + 4.0 * size, -24) + h->more;
}

// An absolute error of LSE is the relative one of l, and of adding up m and ln l: 4 times that.
static double error_of_LSE(const struct sums* s, double relative) {
    return relative + ldexp(4.0 * (fabs(s->m) + fabs(log(s->l))), -24);
}

// Of a row's loss: of LSE, and of taking x away from it; with smoothing, the sum of V logits, which
// passes through partial sums of up to V times their size.
static double error_of_loss(const struct head* h, int64_t row, const struct sums* s,
                            double of_LSE) {
    int64_t label = label_of(h, row);
    double x = is_token(h, label) ? logits_of(h, row)[label] : 0, size = fabs(s->m);
    double error = of_LSE + ldexp(4.0 * (isfinite(x) ? fabs(x) : 0), -24);
    for (int64_t j = 0; j < h->V && h->smoothing > 0; j++) {
        double a = fabs(logits_of(h, row)[j]);
        if (isfinite(a)) size = fmax(size, a);
    }
    return error + h->smoothing * ldexp((8.0 + 4.0 * sqrt((double)h->V)) * size, -24);
}

// A gradient g = (p - t) / N is rounded once, to 8 bits: half an ulp, of the next larger numbers if
// the fp32 error moves g there. p and t have their own errors; where they cancel, these decide.
static double error_of_gradient(double g, double p, double t, double relative) {
    double before = p * relative + t * 0x1p-20;
    return before + 0.5 * dtype_ulp(BF16, fabs(g) + before) * (1 + 0x1p-10) + 0x1p-125;
}

// What is allowed, element by element of an output; the case's own. 0 where nothing is compared.
struct allowed {
    double loss, *LSE, *gradient;
};

// Sets what is wanted, in the selected call, and how exact.
static void want(const struct head* h, struct allowed* a) {
    const double V = (double)h->V, eps = (double)(float)h->smoothing;
    const double N = (double)rows_that_count(h);
    const struct weights t = {eps / V, 1 - eps};
    double loss = 0, error = 0;
    for (int64_t row = 0; row < h->rows; row++) {
        const double* x = logits_of(h, row);
        double* gradient = h->logits->want + place_of(h, row, 0);
        int64_t label = label_of(h, row);
        h->LSE->want[row] = 0;
        for (int64_t j = 0; j < h->V; j++) gradient[j] = 0;
        if (!counts(h, row)) continue;
        struct sums s = sums_of(x, h->V);
        double share = relative(h, row);
        h->LSE->want[row] = s.m + log(s.l);
        a->LSE[row] = error_of_LSE(&s, share);
        loss += row_loss(h, row, s, t);
        error += error_of_loss(h, row, &s, a->LSE[row]);
        for (int64_t j = 0; j < h->V; j++) {
            double p = exp(x[j] - s.m) / s.l / N, of_t = (t.others + (j == label ? t.hit : 0)) / N;
            gradient[j] = is_token(h, label) ? p - of_t : NAN;
            a->gradient[place_of(h, row, j)] = error_of_gradient(p - of_t, p, of_t, share);
        }
    }
    h->loss->want[0] = N > 0 ? loss / N : 0;
    if (N > 0)
        a->loss =
            error / N + ldexp(4.0 + 4.0 * sqrt(N), -24) * (isfinite(loss) ? fabs(loss) / N : 0);
}

#endif
