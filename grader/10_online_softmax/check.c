// check.c: what lesson 10, online_softmax, is graded on.
//
// Each item sets one trap. What is no item's trap has at least 128 columns and no more than 1024, a
// multiple of 128; rows in multiples of 4; a positive score in every row; and no gaps.
#include "check/check.h"
#include "online_softmax.h"
#include "wall/arena.h"

#include <math.h>

enum { ROWS = 8, COLS = 1024 };

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

static struct batch begin(struct check* c, const char* what, int calls, int64_t rows, int64_t cols,
                          int64_t stride) {
    check_case(c, "%s: rows = %lld, cols = %lld, stride_row = %lld", what, (long long)rows,
               (long long)cols, (long long)stride);
    check_rounds(c, calls);
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

static struct batch compared;  // the last one, for explain()

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
    compared = b;
    check_compare(c, b.m, budget_exact());
    check_compare(c, b.l, (struct budget){b.relative * largest, b.relative * largest});
}

static void run(struct check* c, struct batch b) {
    check_run(c);
    compare(c, b);
}

static void run_random(struct check* c, int64_t rows) {
    struct batch b = begin(c, "random", 1, rows, COLS, COLS);
    fill_rows(c, b, -9.0, 1.0);
    run(c, b);
}

// ---- items

// Fewer elements than a warp has lanes: most threads have none.
static void narrow(struct check* c) {
    int64_t cols[] = {31, check_pick(c, 17, 30), check_pick(c, 2, 15), 1};
    for (int i = 0; i < 4; i++) {
        struct batch b = begin(c, "narrow", 1, ROWS, cols[i], cols[i]);
        fill_rows(c, b, 0.5, 10.5);
        run(c, b);
    }
}

// More elements than any block takes in one sweep, and a last sweep that is partly filled. The
// largest elements come last. 50257 is the vocabulary of GPT-2.
static void wide(struct check* c) {
    int64_t cols[] = {4321, 2 * check_pick(c, 1030, 3000) + 1, 50257};
    for (int i = 0; i < 3; i++) {
        struct batch b = begin(c, "wide", 1, 4, cols[i], cols[i]);
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
    struct batch b = begin(c, "gaps between the rows", 1, ROWS, COLS, COLS + check_pick(c, 1, 40));
    fill_uniform(c, b.x, 100.0, 200.0);
    fill_rows(c, b, -9.0, 1.0);
    run(c, b);
}

static void negative(struct check* c) {
    struct batch b = begin(c, "all below -2", 1, ROWS, COLS, COLS);
    fill_rows(c, b, -12.0, -2.0);
    run(c, b);
    b = begin(c, "all below -20000", 1, ROWS, COLS, COLS);
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
    struct batch b = begin(c, "with -inf", 1, ROWS, COLS, COLS);
    fill_rows(c, b, 0.5, 10.5);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t j = 0; j < COLS; j++)
            if (hidden(c, row, j)) row_of(&b, row)[j] = -INFINITY;
    run(c, b);
}

static void rising_equal_large(struct check* c) {
    // several sweeps of any block, so that every thread has to rescale
    struct batch b = begin(c, "rising", 1, 4, 8 * COLS, 8 * COLS);
    fill_rising(c, b);
    run(c, b);

    b = begin(c, "all equal", 1, ROWS, COLS, COLS);
    fill_rows(c, b, 1.0, 9.0);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t j = 1; j < COLS; j++) row_of(&b, row)[j] = row_of(&b, row)[0];
    run(c, b);

    b = begin(c, "normal, times 30", 1, ROWS, COLS, COLS);
    fill_normal(c, b.x, 0.0, 30.0);
    run(c, b);

    b = begin(c, "one outlier", 1, ROWS, COLS, COLS);
    fill_rows(c, b, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++)
        row_of(&b, row)[check_pick(c, 1, COLS - 1)] = uniform(c, 120.0, 200.0);
    run(c, b);
}

// The scores shrink from call to call: what is left of an earlier maximum shows.
static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    struct batch b = begin(c, "three calls", CALLS, ROWS, COLS, COLS);
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
    check_case(c, "rows = %lld, cols = %lld, stride_row = %lld, NULL: %s", (long long)rows,
               (long long)cols, (long long)stride, missing ? missing : "none");
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
    compared.rows = 0;  // nothing to explain
    for (int i = 0; i < 2; i++)
        if (output[i]) check_compare(c, output[i], budget_exact());
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

// A tile, a block or a vector load that is larger than what there is reads or writes past the end: so
// narrow rows, odd ones, rows apart and a number of rows that no block size divides are watched. What
// comes out there is the business of the items above; here it has to be right where all is even, and
// after that only the accesses count.
static void safe(struct check* c) {
    const int64_t odd_rows = 4 * check_pick(c, 1, 3) + check_pick(c, 1, 3);
    const int64_t narrow_cols = check_pick(c, 2, 31), wide_cols = 2 * check_pick(c, 600, 1500) + 1;
    const int64_t shapes[][3] = {{odd_rows, 1, 1},
                                 {ROWS, narrow_cols, narrow_cols},
                                 {odd_rows, wide_cols, wide_cols + check_pick(c, 1, 40)}};
    check_watch(c, WATCH_CHECK);
    run_random(c, ROWS);
    for (int i = 0; i < 3; i++) {
        struct batch b = begin(c, "accesses", 1, shapes[i][0], shapes[i][1], shapes[i][2]);
        fill_rows(c, b, -9.0, 1.0);
        check_run(c);
    }
}

// One pass: every score is loaded once (README, cost budget), by lanes that read side by side. On top of
// that each of the up to 32 warps of a block may look at one score more, the first of the row as a first
// maximum, say. A sector is 32 bytes, so lanes side by side move what they load; rows that begin
// anywhere, as they may, add a sector to the four of a warp.
static void cheap(struct check* c) {
    enum { MOST_WARPS = 32 };
    check_watch(c, WATCH_PROFILE);
    run_random(c, ROWS);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "times that each score is loaded",
                  (double)t->global_load_bytes / (4.0 * ROWS * COLS),
                  1.0 + (double)MOST_WARPS / COLS);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.25);
}

static const struct item items[] = {
    {12, "narrow rows: 1 to 31 columns", narrow},
    {12, "wide rows, the last sweep partly filled", wide},
    {8, "any number of rows", any_rows},
    {8, "rows apart: stride_row > cols", strided},
    {8, "all scores negative", negative},
    {12, "-inf in rows, and rows of nothing else", masked},
    {12, "rising, equal and large scores", rising_equal_large},
    {4, "three calls, new data each time", three_calls},
    {4, "empty and bad arguments", arguments},
    {10, "no races, no stray accesses", safe},
    {10, "each score is loaded once", cheap},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there?

enum mistake {
    ROWS_PACKED,       // the stride is ignored
    MAX_KEPT,          // not subtracted before exp
    MAX_STARTED,       // at a finite number: what the first wrong m shows
    SUM_STARTED,       // at 1 in p threads; it shows where nothing follows
    REST_DROPPED,      // what does not fill p elements at the end of the row
    REST_FROM_NEXT,    // the last sweep of p elements reads on into the next row
    REST_ZERO,         // the last sweep is filled up with zeros
    REST_FROM_BEFORE,  // past the end, the last sweep still holds the one before it
    MISTAKES
};

static const struct {
    int64_t largest_p;  // p is a power of 2
    enum cause cause;
} mistakes[MISTAKES] = {
    {1, CAUSE_stride_ignored}, {1, CAUSE_overflow},       {1, CAUSE_max_init},
    {1024, CAUSE_sum_init},    {16384, CAUSE_inner_tail}, {16384, CAUSE_inner_tail},
    {16384, CAUSE_inner_tail}, {16384, CAUSE_inner_tail},
};

// sum_j exp(x_j - shift)
static double sum_exp(const double* x, int64_t n, double shift) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp(x[j] - shift);
    return sum;
}

// What the mistake leaves for a row; NaN is not known.
static struct state left_by(enum mistake mistake, int64_t p, const struct batch* b, int64_t row) {
    const double* x = row_of(b, row);
    struct state s = {b->m->want[row], b->l->want[row]};
    int64_t pad = (p - b->cols % p) % p, left = b->x->count - row * b->stride, i = 0;
    switch (mistake) {
    case ROWS_PACKED:
        return state_of(b->x->value + row * b->cols, b->cols);
    case MAX_KEPT:
        s.l = sum_exp(x, b->cols, 0.0);
        return s;
    case MAX_STARTED:
        while (i < b->rows - 1 && b->m->got[i] == b->m->want[i]) i++;
        s.m = fmax(s.m, b->m->got[i]);
        s.l = sum_exp(x, b->cols, s.m);
        return s;
    case SUM_STARTED:
        if (s.m == -INFINITY) s.l = (double)p;
        return s;
    case REST_DROPPED:
        return p > b->cols ? s : state_of(x, b->cols - b->cols % p);
    case REST_FROM_NEXT:
        if (b->cols + pad <= left) return state_of(x, b->cols + pad);
        // past the end of x lies a guard band: NaN, and a maximum may take it in or not
        return (struct state){NAN, NAN};
    case REST_ZERO:
        if (pad) s.m = fmax(s.m, 0.0);
        s.l = sum_exp(x, b->cols, s.m) + (double)pad * exp(-s.m);
        return s;
    default:  // REST_FROM_BEFORE
        if (p <= b->cols) s.l += sum_exp(x + b->cols - p, pad, s.m);
        return s;
    }
}

static bool near(double want, double got, double relative) {
    return want == got || (isfinite(want) && fabs(got - want) <= relative * fabs(want));
}

// Do m and l both look like the mistake, in every row, and does the mistake show at all? l is held
// to a budget per row: what mistakes leave differs by many orders of magnitude from row to row.
static bool fits(enum mistake mistake, int64_t p, const struct batch* b) {
    bool shows = false;
    for (int64_t row = 0; row < b->rows; row++) {
        struct state s = left_by(mistake, p, b, row);
        s.l = dtype_round(F32, s.l);  // overflows where a float would
        if (isnan(s.m)) continue;
        if (s.m != b->m->got[row]) return false;
        shows |= s.m != b->m->want[row];
        if (isnan(s.l)) continue;
        if (!near(s.l, b->l->got[row], b->relative)) return false;
        shows |= !near(b->l->want[row], s.l, b->relative);
    }
    return shows;
}

// m is right: which way is l off? No summand is larger than 1 and nothing makes one larger but an
// alpha above 1, so an l above cols has been rescaled the wrong way round.
static enum cause from_l(const struct batch* b, double budget) {
    int64_t wrong = 0, first = 0, nan = 0, not_finite = 0, small = 0, above = 0;
    double largest = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        double want = b->l->want[row], got = b->l->got[row];
        if (fabs(got - want) <= budget) continue;
        if (wrong++ == 0) first = row;
        nan += isnan(got);
        not_finite += !isfinite(got);
        small += fabs(got - want) <= 0.005 * want;
        above += got > want;
        largest = fmax(largest, got);
    }
    // the last rows, and only they: perhaps never reached
    if (nan == wrong && first > 0 && first + wrong == b->rows) return CAUSE_NONE;
    if (not_finite == wrong && b->reach > 80.0) return CAUSE_overflow;
    if (nan == wrong) return CAUSE_empty_state;
    if (small == wrong) return CAUSE_low_precision;
    if (largest > 1.001 * (double)b->cols) return CAUSE_rescale_reversed;
    if (above == wrong) return CAUSE_no_rescale;
    return above == 0 && nan == 0 ? CAUSE_merge_lost : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)c;
    struct batch b = compared;
    if (b.rows == 0) return CAUSE_NONE;
    for (int i = 0; i < MISTAKES; i++)
        for (int64_t p = 1; p <= mistakes[i].largest_p; p *= 2)
            if (fits((enum mistake)i, p, &b)) return mistakes[i].cause;
    if (t == b.l) return from_l(&b, budget.max);
    for (int64_t row = 0; row < b.rows; row++)
        if (!(b.m->got[row] <= b.m->want[row])) return CAUSE_NONE;
    return CAUSE_merge_lost;  // no m is too large: not all elements have been looked at
}

const struct lesson lesson = {.name = "10_online_softmax", .items = items, .explain = explain};
