// check.c: what lesson 10, online_softmax, is graded on.
//
// Each item sets one trap. What is no item's trap has at least 128 columns and no more than 1024, a
// multiple of 128; rows in multiples of 4; a positive score in every row; and no gaps.
#include "check/check.h"
#include "online_softmax.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROWS = 8,
    COLS = 1024,
};

// ---- cases

struct batch {
    struct tensor *m, *l, *x;
    int64_t rows, cols, stride;
    double relative;  // the budget of l, as a share of l
    double reach;     // from the smallest to the largest finite score
};

static double* row_of(const struct batch* b, int64_t row) {
    return b->x->value + row * b->stride;
}

static struct batch declare(struct check* c, int64_t rows, int64_t cols, int64_t stride) {
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
    check_int(c, "stride_row", stride);
    return (struct batch){
        .m = check_output(c, "m", F32, SHAPE(rows)),
        .l = check_output(c, "l", F32, SHAPE(rows)),
        .x = check_input(c, "x", F32, SHAPE((rows - 1) * stride + cols)),
        .rows = rows,
        .cols = cols,
        .stride = stride,
    };
}

static struct batch begin(struct check* c, const char* what, int64_t rows, int64_t cols,
                          int64_t stride) {
    check_case(c, "%s: rows = %lld, cols = %lld, stride_row = %lld", what, (long long)rows,
               (long long)cols, (long long)stride);
    return declare(c, rows, cols, stride);
}

static double uniform(struct check* c, double low, double high) {
    return low + (high - low) * ldexp((double)(check_random(c) >> 11), -53);
}

static void fill_rows(struct check* c, struct batch b, double low, double high) {
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++) row_of(&b, row)[j] = uniform(c, low, high);
}

// Every few elements raise the maximum, from -9 at the left end to between 1 and 2 at the right.
static void fill_rising(struct check* c, struct batch b) {
    fill_rows(c, b, -9.0, -8.0);
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            row_of(&b, row)[j] += 10.0 * (double)(j + 1) / (double)b.cols;
}

struct state {
    double m, l;
};

// m = max_j x_j,  l = sum_j exp(x_j - m)                                  (README eq. 1, 2)
static struct state state_of(const double* x, int64_t n) {
    struct state s = {-INFINITY, 0.0};
    for (int64_t j = 0; j < n; j++) s.m = fmax(s.m, x[j]);
    for (int64_t j = 0; j < n && s.m > -INFINITY; j++) s.l += exp(x[j] - s.m);
    return s;
}

// How exact l must be, relative to l. A plain fp32 kernel as the standard would not do: of a few rows
// it gets some exact by luck. But the error can be bounded. Every summand is positive, so nothing
// cancels, and in units of 2^-24, half an ulp of a float, a right kernel may be off by
//   4           the fastest exp the hardware has, 2 ulp
//   sqrt(n)/3   a sum of n floats one after another, the worst order, rounded up or down by chance
//   |x|         exp(x - m) as exp2(x * log2(e) - m * log2(e)), as fast kernels write it, rounds
//               numbers of the size of x, and exp passes an absolute error on as a relative one
// The budget is 2, 12 and 4 times that; right kernels have been seen to use up to a fifth of it.
// Sums of 11 bits are off by up to 8192 units, one average element of 4321 weighs 3900.
static void measure(struct batch* b) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t row = 0; row < b->rows; row++) {
        for (int64_t j = 0; j < b->cols; j++) {
            double x = row_of(b, row)[j];
            if (!isfinite(x)) continue;
            low = fmin(low, x);
            high = fmax(high, x);
        }
    }
    double largest = fmax(fabs(low), fabs(high));
    b->reach = high - low;
    b->relative = ldexp(8.0 + 4.0 * sqrt((double)b->cols) + 4.0 * largest, -24);
}

// The maximum is one of the scores, so it is exact.
static void compare(struct check* c, struct batch b) {
    double largest = 0;
    for (int64_t row = 0; row < b.rows; row++) {
        struct state s = state_of(row_of(&b, row), b.cols);
        b.m->want[row] = s.m;
        b.l->want[row] = s.l;
        largest = fmax(largest, s.l);
    }
    measure(&b);
    check_compare(c, b.m, budget_exact());
    check_compare(c, b.l, (struct budget){b.relative * largest, b.relative * largest});
}

static void run(struct check* c, struct batch b) {
    check_run(c);
    compare(c, b);
}

static void run_random(struct check* c, int64_t rows) {
    struct batch b = begin(c, "random", rows, COLS, COLS);
    fill_rows(c, b, -9.0, 1.0);
    run(c, b);
}

// ---- items

// Fewer elements than a warp has lanes: most threads have none.
static void narrow(struct check* c) {
    int64_t cols[] = {31, check_pick(c, 17, 30), check_pick(c, 2, 15), 1};
    for (int i = 0; i < 4; i++) {
        struct batch b = begin(c, "narrow", ROWS, cols[i], cols[i]);
        fill_rows(c, b, 0.5, 10.5);
        run(c, b);
    }
}

// More elements than any block takes in one sweep, and a last sweep that is partly filled. The
// largest elements come last. 50257 is the vocabulary of GPT-2.
static void wide(struct check* c) {
    int64_t cols[] = {4321, 2 * check_pick(c, 1030, 3000) + 1, 50257};
    for (int i = 0; i < 3; i++) {
        struct batch b = begin(c, "wide", 4, cols[i], cols[i]);
        fill_rising(c, b);
        run(c, b);
    }
}

static void any_rows(struct check* c) {
    run_random(c, 4 * check_pick(c, 8, 10) + check_pick(c, 1, 3));
    run_random(c, 1);
}

// What lies between the rows is large and finite, so it shows in m wherever it is taken in.
static void strided(struct check* c) {
    struct batch b = begin(c, "gaps between the rows", ROWS, COLS, COLS + check_pick(c, 1, 40));
    fill_uniform(c, b.x, 100.0, 200.0);
    fill_rows(c, b, -9.0, 1.0);
    run(c, b);
}

static void negative(struct check* c) {
    struct batch b = begin(c, "all below -2", ROWS, COLS, COLS);
    fill_rows(c, b, -12.0, -2.0);
    run(c, b);
    b = begin(c, "all below -20000", ROWS, COLS, COLS);
    fill_rows(c, b, -20010.0, -20000.0);
    run(c, b);
}

// Masked scores: whole rows, all but one, the first 900, the last 900, most, half, none.
static bool hidden(struct check* c, int64_t row, int64_t j) {
    int64_t percent = check_pick(c, 1, 100);
    const bool hide[ROWS] = {true,          j != 700, j < 900,       j >= COLS - 900,
                             percent <= 95, true,     percent <= 50, false};
    return hide[row];
}

static void masked(struct check* c) {
    struct batch b = begin(c, "with -inf", ROWS, COLS, COLS);
    fill_rows(c, b, 0.5, 10.5);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t j = 0; j < COLS; j++)
            if (hidden(c, row, j)) row_of(&b, row)[j] = -INFINITY;
    run(c, b);
}

static void rising_equal_large(struct check* c) {
    // several sweeps of any block, so that every thread has to rescale
    struct batch b = begin(c, "rising", 4, 8 * COLS, 8 * COLS);
    fill_rising(c, b);
    run(c, b);

    b = begin(c, "all equal", ROWS, COLS, COLS);
    for (int64_t row = 0; row < ROWS; row++) {
        double value = uniform(c, 1.0, 9.0);
        for (int64_t j = 0; j < COLS; j++) row_of(&b, row)[j] = value;
    }
    run(c, b);

    b = begin(c, "normal, times 30", ROWS, COLS, COLS);
    fill_normal(c, b.x, 0.0, 30.0);
    run(c, b);

    b = begin(c, "one outlier", ROWS, COLS, COLS);
    fill_rows(c, b, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++) {
        row_of(&b, row)[check_pick(c, 1, COLS - 1)] = uniform(c, 120.0, 200.0);
    }
    run(c, b);
}

// The scores shrink from call to call: what is left of an earlier maximum shows.
static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    check_case(c, "three calls: rows = %d, cols = %d", ROWS, COLS);
    check_rounds(c, CALLS);
    struct batch b = declare(c, ROWS, COLS, COLS);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        fill_rows(c, b, -1.0, 9.0 - 3.0 * call);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        compare(c, b);
    }
}

// A call that must write nothing. The arrays have 4 rows of 128 whatever the launcher is told;
// `missing` is NULL in place of one of them.
static void call_untouched(struct check* c, int64_t rows, int64_t cols, int64_t stride,
                           const char* missing, int status, enum cause otherwise) {
    static const char* const names[] = {"m", "l", "x"};
    check_case(c, "rows = %lld, cols = %lld, stride_row = %lld%s%s", (long long)rows,
               (long long)cols, (long long)stride, missing ? ", NULL for " : "",
               missing ? missing : "");
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
    check_int(c, "stride_row", stride);
    struct tensor* output[2] = {NULL, NULL};
    for (int i = 0; i < 3; i++) {
        if (missing && *missing == *names[i]) {
            check_null(c, names[i]);
        } else if (i == 2) {
            fill_uniform(c, check_input(c, "x", F32, SHAPE(4, 128)), -9.0, 1.0);
        } else {
            output[i] = check_output(c, names[i], F32, SHAPE(4));
            for (int row = 0; row < 4; row++) output[i]->untouched[row] = true;
        }
    }
    check_expect(c, status, otherwise);
    check_run(c);
    for (int i = 0; i < 2; i++) {
        if (output[i]) check_compare(c, output[i], budget_exact());
    }
}

static void arguments(struct check* c) {
    run_random(c, 4);
    call_untouched(c, 0, 128, 128, NULL, COURSE_OK, CAUSE_empty_input);
    call_untouched(c, -1, 128, 128, NULL, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 4, 0, 128, NULL, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 4, 128, 127, NULL, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 4, 128, 128, "m", COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 4, 128, 128, "l", COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 4, 128, 128, "x", COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

static const struct item items[] = {
    {15, "narrow rows: 1 to 31 columns", narrow},
    {15, "wide rows, the last sweep partly filled", wide},
    {10, "any number of rows", any_rows},
    {10, "rows apart: stride_row > cols", strided},
    {10, "all scores negative", negative},
    {15, "-inf in rows, and rows of nothing else", masked},
    {15, "rising, equal and large scores", rising_equal_large},
    {5, "three calls, new data each time", three_calls},
    {5, "empty and bad arguments", arguments},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there?

// What a kernel with this mistake leaves for a row (an l of NaN: not known); p is a size it depends
// on, a block or a sweep.
typedef struct state mistake(const struct batch* b, int64_t row, int64_t p);

static bool near(double want, double got, double relative) {
    return want == got || fabs(got - want) <= relative * fabs(want);
}

// Do m and l both look like the mistake, in every row, and does the mistake show at all? l is held
// to a budget per row: what mistakes leave differs by many orders of magnitude from row to row.
static bool fits(const struct batch* b, mistake* guess, int64_t p) {
    bool shows = false;
    for (int64_t row = 0; row < b->rows; row++) {
        struct state s = guess(b, row, p);
        s.l = dtype_round(F32, s.l);  // overflows where a float would
        if (s.m != b->m->got[row]) return false;
        shows |= s.m != b->m->want[row];
        if (isnan(s.l)) continue;
        if (!near(s.l, b->l->got[row], b->relative)) return false;
        shows |= !near(b->l->want[row], s.l, b->relative);
    }
    return shows;
}

// sum_j exp(x_j - shift)
static double sum_exp(const struct batch* b, int64_t row, double shift) {
    double sum = 0;
    for (int64_t j = 0; j < b->cols; j++) sum += exp(row_of(b, row)[j] - shift);
    return sum;
}

static struct state right(const struct batch* b, int64_t row) {
    return (struct state){b->m->want[row], b->l->want[row]};
}

static struct state packed(const struct batch* b, int64_t row, int64_t p) {
    (void)p;
    return state_of(b->x->value + row * b->cols, b->cols);
}

static struct state without_max(const struct batch* b, int64_t row, int64_t p) {
    (void)p;
    return (struct state){b->m->want[row], sum_exp(b, row, 0.0)};
}

// The maximum started at the value that the first wrong m shows.
static struct state max_started(const struct batch* b, int64_t row, int64_t p) {
    (void)p;
    int64_t i = 0;
    while (i < b->rows - 1 && b->m->got[i] == b->m->want[i]) i++;
    double m = fmax(b->m->want[row], b->m->got[i]);
    return (struct state){m, sum_exp(b, row, m)};
}

// The sum started at 1; it shows where nothing follows.
static struct state sum_started(const struct batch* b, int64_t row, int64_t p) {
    struct state s = right(b, row);
    if (s.m == -INFINITY) s.l = (double)p;
    return s;
}

// The last sweep of p elements reads on past the end of the row, into the next one. What lies past
// the end of x is not known: a guard band of NaN, that no maximum takes in.
static struct state past_the_end(const struct batch* b, int64_t row, int64_t p) {
    int64_t n = CEIL_DIV(b->cols, p) * p, left = b->x->count - row * b->stride;
    struct state s = state_of(row_of(b, row), n < left ? n : left);
    if (n > left) s.l = NAN;
    return s;
}

static struct state whole_tiles(const struct batch* b, int64_t row, int64_t p) {
    return p > b->cols ? right(b, row) : state_of(row_of(b, row), b->cols / p * p);
}

static struct state padded_with_0(const struct batch* b, int64_t row, int64_t p) {
    int64_t pad = (p - b->cols % p) % p;
    if (pad == 0) return right(b, row);
    double m = fmax(b->m->want[row], 0.0);
    return (struct state){m, sum_exp(b, row, m) + (double)pad * exp(-m)};
}

// Past the end, the last sweep of p elements still holds the one before it.
static struct state padded_with_old(const struct batch* b, int64_t row, int64_t p) {
    struct state s = right(b, row);
    if (b->cols < p || b->cols % p == 0) return s;
    for (int64_t j = b->cols; j % p != 0; j++) s.l += exp(row_of(b, row)[j - p] - s.m);
    return s;
}

static const struct {
    mistake* guess;
    int64_t low, high;  // p is a power of 2 in this range
    enum cause cause;
} mistakes[] = {
    {packed, 1, 1, CAUSE_stride_ignored},        {without_max, 1, 1, CAUSE_overflow},
    {max_started, 1, 1, CAUSE_max_init},         {sum_started, 1, 1024, CAUSE_sum_init},
    {whole_tiles, 2, 16384, CAUSE_inner_tail},   {past_the_end, 4, 16384, CAUSE_inner_tail},
    {padded_with_0, 4, 16384, CAUSE_inner_tail}, {padded_with_old, 4, 16384, CAUSE_inner_tail},
};

// m is right: which way is l off? No summand is larger than 1 and nothing makes one larger but an
// alpha above 1, so an l above cols has been rescaled the wrong way round.
static enum cause from_l(const struct batch* b, double budget) {
    int64_t wrong = 0, first = 0, last = 0, nan = 0, not_finite = 0, small = 0, above = 0;
    double largest = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        double want = b->l->want[row], got = b->l->got[row];
        if (fabs(got - want) <= budget) continue;
        if (wrong++ == 0) first = row;
        last = row;
        nan += isnan(got);
        not_finite += !isfinite(got);
        small += fabs(got - want) <= 0.005 * want;
        above += got > want;
        largest = fmax(largest, got);
    }
    if (nan == wrong && first > 0 && last - first + 1 == wrong && last == b->rows - 1) {
        return CAUSE_NONE;  // the last rows were never reached
    }
    if (not_finite == wrong && b->reach > 80.0) return CAUSE_overflow;
    if (nan == wrong) return CAUSE_empty_state;
    if (small == wrong) return CAUSE_low_precision;
    if (largest > 1.001 * (double)b->cols) return CAUSE_rescale_reversed;
    if (above == wrong) return CAUSE_no_rescale;
    return above == 0 && nan == 0 ? CAUSE_merge_lost : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    struct batch b = {
        .m = check_tensor(c, "m"),
        .l = check_tensor(c, "l"),
        .x = check_tensor(c, "x"),
        .rows = check_int_of(c, "rows"),
        .cols = check_int_of(c, "cols"),
        .stride = check_int_of(c, "stride_row"),
    };
    if (b.rows < 1) return CAUSE_NONE;
    measure(&b);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        for (int64_t p = mistakes[i].low; p <= mistakes[i].high; p *= 2) {
            if (fits(&b, mistakes[i].guess, p)) return mistakes[i].cause;
        }
    }
    if (t == b.l) return from_l(&b, budget.max);
    for (int64_t row = 0; row < b.rows; row++)
        if (!(b.m->got[row] <= b.m->want[row])) return CAUSE_NONE;
    return CAUSE_merge_lost;  // no m is too large: not all elements have been looked at
}

const struct lesson lesson = {"10_online_softmax", items, explain};
