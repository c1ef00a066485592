// check.c: what lesson 03, reduction, is graded on.
//
// Nearly everywhere the elements are small whole numbers: every partial sum is exact in a float,
// whatever the order, so the budget is exact equality. None is 0, so no element can be lost
// unseen. Only the item on precision adds real numbers.
//
// Each item sets one trap. What is no item's trap has 512 or 1024 columns, rows in multiples of 8, a
// positive element in every row, and no gaps. Sums stay below 2048 in size, so that even 16-bit
// floats hold them: that is the trap of the item on precision alone.
#include "check/check.h"
#include "wall/arena.h"
#include "reduction.h"

#include <math.h>

enum { ROWS = 8, COLS = 1024 };

// ---- cases

struct batch {
    struct tensor *sum, *max, *x;
    int64_t rows, cols, stride;
    double tolerance;  // of sum
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
        .sum = check_output(c, "sum", F32, SHAPE(rows)),
        .max = check_output(c, "max", F32, SHAPE(rows)),
        .x = check_input(c, "x", F32, SHAPE((rows - 1) * stride + cols)),
        .rows = rows,
        .cols = cols,
        .stride = stride,
    };
}

// One of -4..4, but not 0.
static double digit(struct check* c) {
    int64_t d = check_pick(c, 1, 8);
    return (double)(d <= 4 ? d : 4 - d);
}

// Digits, and one larger number in each row, anywhere: its maximum. In the last row it comes last.
static void fill_rows(struct check* c, struct batch b) {
    for (int64_t row = 0; row < b.rows; row++) {
        for (int64_t j = 0; j < b.cols; j++) row_of(&b, row)[j] = digit(c);
        int64_t peak = row == b.rows - 1 ? b.cols - 1 : check_pick(c, 0, b.cols - 1);
        row_of(&b, row)[peak] = (double)check_pick(c, 5, 9);
    }
}

struct partial {
    double sum, max;
};

// sum = sum_j x_j,  max = max_j x_j                                       (README eq. 1)
static struct partial reduce(const double* x, int64_t n) {
    struct partial p = {0.0, -INFINITY};
    for (int64_t j = 0; j < n; j++) {
        p.sum += x[j];
        p.max = fmax(p.max, x[j]);  // skips NaN
    }
    return p;
}

static struct batch compared;  // the last one, for explain()

static void want_all(struct batch b) {
    for (int64_t row = 0; row < b.rows; row++) {
        struct partial p = reduce(row_of(&b, row), b.cols);
        b.sum->want[row] = p.sum;
        b.max->want[row] = p.max;
    }
}

static void compare(struct check* c, struct batch b, struct budget of_sum) {
    b.tolerance = of_sum.max;
    compared = b;
    check_compare(c, b.sum, of_sum);
    check_compare(c, b.max, budget_exact());
}

static void run(struct check* c, struct batch b) {
    check_run(c);
    want_all(b);
    compare(c, b, budget_exact());
}

static void run_digits(struct check* c, const char* what, int64_t rows, int64_t cols) {
    struct batch b = begin(c, what, 1, rows, cols, cols);
    fill_rows(c, b);
    run(c, b);
}

// ---- items

// Fewer elements than a block has threads, or a warp has lanes: most have none.
static void narrow(struct check* c) {
    run_digits(c, "narrow", ROWS, 31);
    run_digits(c, "narrow", ROWS, 33);
    run_digits(c, "narrow", ROWS, check_pick(c, 2, 30));
    run_digits(c, "narrow", ROWS, 1);
}

// More elements than any block takes in one sweep, and a last sweep that is partly filled.
static void wide(struct check* c) {
    run_digits(c, "wide", ROWS, 4321);
    run_digits(c, "wide", ROWS, 2 * check_pick(c, 1030, 3000) + 1);
    run_digits(c, "wide", ROWS, 1000);
}

static void any_rows(struct check* c) {
    run_digits(c, "many rows", 8 * check_pick(c, 4, 6) + check_pick(c, 1, 7), COLS);
    run_digits(c, "one row", 1, COLS);
}

// What lies between the rows shows in sum and max wherever it is taken in.
static void strided(struct check* c) {
    struct batch b = begin(c, "gaps between the rows", 1, ROWS, COLS, COLS + check_pick(c, 1, 40));
    fill_integers(c, b.x, 10, 20);
    fill_rows(c, b);
    run(c, b);
    b = begin(c, "NaN between the rows", 1, ROWS, COLS, COLS + check_pick(c, 1, 40));
    for (int64_t i = 0; i < b.x->count; i++) b.x->value[i] = NAN;
    fill_rows(c, b);
    run(c, b);
}

// Rows of -1 and -2, -2 and -3, -3 and -4; one of nothing but -inf, and one of it all but once.
static void negative(struct check* c) {
    struct batch b = begin(c, "negative", 1, ROWS, COLS / 2, COLS / 2);
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            row_of(&b, row)[j] = -(double)(1 + row % 3 + check_pick(c, 0, 1));
    int64_t shown = check_pick(c, 0, b.cols - 1);
    for (int64_t j = 0; j < b.cols; j++) {
        row_of(&b, 2)[j] = -INFINITY;
        if (j != shown) row_of(&b, 5)[j] = -INFINITY;
    }
    run(c, b);
}

// All other rows must not know of it. In row 6 the numbers come first, the largest among them.
static void not_finite(struct check* c) {
    struct batch b = begin(c, "infinities and NaN", 1, ROWS, COLS, COLS);
    fill_rows(c, b);
    row_of(&b, 1)[check_pick(c, 0, COLS - 2)] = INFINITY;
    row_of(&b, 2)[check_pick(c, 0, COLS - 2)] = -INFINITY;
    row_of(&b, 3)[check_pick(c, 0, COLS - 2)] = NAN;
    row_of(&b, 4)[check_pick(c, 0, COLS / 2)] = INFINITY;
    row_of(&b, 4)[check_pick(c, COLS / 2 + 1, COLS - 2)] = -INFINITY;
    row_of(&b, 5)[COLS - 1] = INFINITY;
    for (int64_t j = COLS / 2; j < COLS; j++) row_of(&b, 6)[j] = NAN;
    row_of(&b, 6)[check_pick(c, 0, COLS / 2 - 1)] = 10.0;
    run(c, b);
}

// sum_j x_j in float, halving: the error grows with log n.
static float pairwise(const double* x, int64_t n) {
    if (n == 1) return (float)x[0];
    return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

// The standard is pairwise summation in float. A plain loop over the columns is less exact, but with
// 512 of them, around 0, it stays below half of the budget; sums of 11 bits exceed it a hundred
// times.
static void precise(struct check* c) {
    enum { MANY = 16 };
    struct batch b = begin(c, "real numbers", 1, MANY, COLS / 2, COLS / 2);
    fill_normal(c, b.x, 0.0, 1.0);
    check_run(c);
    want_all(b);
    double standard[MANY];
    for (int64_t row = 0; row < MANY; row++) standard[row] = pairwise(row_of(&b, row), b.cols);
    compare(c, b, budget_from(b.sum, standard));
}

// The numbers shrink from call to call: what is left of an earlier maximum shows.
static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    struct batch b = begin(c, "three calls", CALLS, ROWS, COLS, COLS);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        fill_rows(c, b);
        for (int64_t i = 0; i < b.x->count; i++) b.x->value[i] = fmin(b.x->value[i], 9 - 3 * call);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        want_all(b);
        compare(c, b, budget_exact());
    }
}

// A call that must write nothing. The arrays have 4 rows of 128 whatever the launcher is told;
// `missing` is NULL in place of one of them.
static void call_untouched(struct check* c, int64_t rows, int64_t cols, int64_t stride,
                           const char* missing, int status, enum cause otherwise) {
    static const char* const names[] = {"sum", "max", "x"};
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
            fill_integers(c, check_input(c, "x", F32, SHAPE(4, 128)), -4, 4);
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

static void refused(struct check* c, int64_t rows, int64_t cols, int64_t stride,
                    const char* missing) {
    call_untouched(c, rows, cols, stride, missing, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

static void arguments(struct check* c) {
    run_digits(c, "good arguments", ROWS, COLS);
    call_untouched(c, 0, 128, 128, NULL, COURSE_OK, CAUSE_empty_input);
    call_untouched(c, 0, 128, 128, "x", COURSE_OK, CAUSE_empty_input);
    refused(c, -1, 128, 128, NULL);
    refused(c, 4, 0, 128, NULL);
    refused(c, 4, 128, 127, NULL);
    refused(c, 4, 128, 128, "sum");
    refused(c, 4, 128, 128, "max");
    refused(c, 4, 128, 128, "x");
    call_untouched(c, (int64_t)1 << 31, 128, 128, NULL, COURSE_UNSUPPORTED, CAUSE_argument_check);
}

// Whole sweeps, so many rows that some designs take two in a block, and last sweeps that are partly
// filled. (Threads or blocks without anything to do have items of their own.)
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    run_digits(c, "many rows", 2 * ROWS, COLS);
    run_digits(c, "ragged", ROWS, 1000);
    run_digits(c, "ragged", ROWS, 2 * check_pick(c, 130, 250) + 1);
}

static const struct arena_traffic* moved(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    run_digits(c, "traffic", ROWS, 2 * COLS);
    return check_traffic(c);
}

// The minimum is 1, 1 and 2. A kernel may read a few numbers besides x: 1 %. The rows begin at whole
// sectors, so loads of neighbouring elements, of 4 bytes or of 16, move nothing in vain; the quarter
// is for designs that read a few pieces apart. One thread per row moves 8 times what it loads, and so
// do threads that each have a piece of the row.
static void reads_once(struct check* c) {
    const struct arena_traffic* t = moved(c);
    double bytes = 4.0 * ROWS * 2 * COLS;
    check_at_most(c, CAUSE_too_much_read, "times that each element of x is loaded",
                  (double)t->global_load_bytes / bytes, 1.01);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.25);
    check_at_most(c, CAUSE_too_much_written, "numbers stored for each row",
                  (double)t->global_store_bytes / (4.0 * ROWS), 2.0);
}

// One between the results of the warps and the last merge, and one more where a block takes several
// rows. A tree with a barrier per round has 6 with 32 threads and 9 with 256.
static void few_barriers(struct check* c) {
    const struct arena_traffic* t = moved(c);
    check_at_most(c, CAUSE_too_many_barriers, "barriers for each row", (double)t->barriers / ROWS,
                  2.0);
}

static const struct item items[] = {
    {10, "narrow rows: 1 to 33 columns", narrow},
    {14, "wide rows, the last sweep partly filled", wide},
    {7, "any number of rows", any_rows},
    {7, "rows apart: stride_row > cols", strided},
    {7, "all elements negative, down to -inf", negative},
    {6, "infinities and NaN", not_finite},
    {6, "real numbers, in full float precision", precise},
    {4, "three calls, new data each time", three_calls},
    {4, "empty and bad arguments", arguments},
    {15, "no races, no stray accesses", safe},
    {12, "each element is read once, by neighbours together", reads_once},
    {8, "at most two barriers per row", few_barriers},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there? Who reads past the end of x, or
// races, is left to the instrumented build, which knows the line.

// In this order: of 31 columns, 16 lanes take the same elements as one sweep of 16.
enum mistake {
    ROWS_PACKED,    // the stride is ignored
    THREADS_LOST,   // p tells which: see reaches()
    REST_DROPPED,   // what does not fill a sweep of p elements
    REST_REPEATED,  // the last sweep is filled up with the row's last element
    FIRST_ONLY,     // the first p elements
    TIMES_P,        // the sum is added up p times
    MAX_STARTED,    // at a finite number: what the first wrong maximum shows
    NOTHING,        // no element arrives
    MISTAKES
};

static const struct {
    int64_t largest_p;
    enum cause cause;
} mistakes[MISTAKES] = {
    {1, CAUSE_stride_ignored}, {144, CAUSE_merge_lost},  {8192, CAUSE_inner_tail},
    {8192, CAUSE_inner_tail},  {4096, CAUSE_merge_lost}, {1024, CAUSE_constant_ratio},
    {1, CAUSE_max_init},       {1, CAUSE_merge_lost},
};

// p is a power of 2, but where it tells which threads are lost it just counts.
static int64_t next_p(enum mistake mistake, int64_t p) {
    return mistake == THREADS_LOST ? p + 1 : p * 2;
}

// Does what thread j % T has reach the end? p = 1..144 stands for: T, 32 to 1024 threads; how many
// lanes of a warp are merged, 1 to 32; the first so many of them, or every 32nd, 16th, ...; and
// all warps, or only the first.
static bool reaches(int64_t p, int64_t j) {
    int64_t which = p - 1;
    int64_t threads = (int64_t)32 << which % 6, lanes = (int64_t)1 << which / 6 % 6;
    int64_t thread = j % threads, lane = thread % 32;
    if (which / 72 == 1 && thread >= 32) return false;
    return which / 36 % 2 == 1 ? lane % (32 / lanes) == 0 : lane < lanes;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// What the mistake leaves for a row.
static struct partial left_by(enum mistake mistake, int64_t p, const struct batch* b, int64_t row) {
    const double* x = row_of(b, row);
    struct partial r = {b->sum->want[row], b->max->want[row]};
    int64_t pad = (p - b->cols % p) % p, i = 0;
    switch (mistake) {
    case ROWS_PACKED:
        return reduce(b->x->value + row * b->cols, b->cols);
    case THREADS_LOST:
        r = reduce(x, 0);
        for (int64_t j = 0; j < b->cols; j++) {
            if (!reaches(p, j)) continue;
            r.sum += x[j];
            r.max = fmax(r.max, x[j]);
        }
        return r;
    case REST_DROPPED:
        return p > 1024 && p > b->cols ? r : reduce(x, b->cols - b->cols % p);
    case REST_REPEATED:
        if (pad) r.sum += (double)pad * x[b->cols - 1];
        return r;
    case FIRST_ONLY:
        return reduce(x, smaller(p, b->cols));
    case TIMES_P:
        r.sum *= (double)p;
        return r;
    case MAX_STARTED:
        while (i < b->rows - 1 && b->max->got[i] == b->max->want[i]) i++;
        r.max = fmax(r.max, b->max->got[i]);
        return r;
    default:  // NOTHING
        r = reduce(x, 0);
        if (b->max->got[row] == 0) r.max = 0;
        return r;
    }
}

static bool same(double want, double got, double tolerance) {
    return want == got || (isnan(want) && isnan(got)) || fabs(got - want) <= tolerance;
}

// Do sum and max look like the mistake in every row? One of the two may be right throughout: what
// is done to the one is sometimes forgotten for the other.
static bool fits(enum mistake mistake, int64_t p, const struct batch* b) {
    bool sum_right = true, sum_fits = true, max_right = true, max_fits = true;
    for (int64_t row = 0; row < b->rows; row++) {
        struct partial r = left_by(mistake, p, b, row);
        double sum = b->sum->got[row], max = b->max->got[row];
        sum_right &= same(b->sum->want[row], sum, b->tolerance);
        max_right &= same(b->max->want[row], max, 0.0);
        sum_fits &= same(r.sum, sum, b->tolerance);
        max_fits &= same(r.max, max, 0.0);
        if (!(sum_right || sum_fits) || !(max_right || max_fits)) return false;
    }
    return !(sum_right && max_right);
}

// A NaN or infinity that came from elsewhere, or a maximum that a NaN in its row spoilt.
static bool leaked(const struct batch* b) {
    bool any = false;
    for (int64_t row = 0; row < b->rows; row++) {
        bool has_nan = false;
        for (int64_t j = 0; j < b->cols; j++) has_nan |= isnan(row_of(b, row)[j]);
        if (!same(b->sum->want[row], b->sum->got[row], b->tolerance)) {
            if (!isnan(b->sum->got[row])) return false;
            any = true;
        }
        if (!same(b->max->want[row], b->max->got[row], 0.0)) {
            if (!has_nan && !isnan(b->max->got[row])) return false;
            any = true;
        }
    }
    for (int64_t i = 0; i < b->x->count; i++)
        if (any && !isfinite(b->x->value[i])) return true;
    return false;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)c;
    (void)t;
    (void)budget;
    struct batch b = compared;
    if (b.rows == 0) return CAUSE_NONE;
    for (enum mistake m = 0; m < MISTAKES; m++)
        for (int64_t p = 1; p <= mistakes[m].largest_p; p = next_p(m, p))
            if (fits(m, p, &b)) return mistakes[m].cause;
    return leaked(&b) ? CAUSE_nan_leak : CAUSE_NONE;
}

const struct lesson lesson = {.name = "03_reduction", .items = items, .explain = explain};
