// check.c: what lesson 09, softmax, is graded on.
//
// Each item sets one trap. What is no item's trap has 128, 1024 or 4096 columns, rows in multiples of 8, a
// positive score in every row, and no gaps. A shift of all scores of a row changes nothing in y, so a wrong
// maximum shows only where exp leaves the range of a float.
#include "check/check.h"
#include "softmax.h"
#include "wall/arena.h"

#include <math.h>

enum { ROWS = 8, COLS = 1024, WIDE = 4096, VOCABULARY = 50257 };

// ---- cases

struct batch {
    struct tensor *y, *x;
    int64_t rows, cols, stride_y, stride_x;
    double relative;   // the budget, as a share of an element
    double tolerance;  // the same of the largest one
};

static double* row_of(const struct batch* b, int64_t row) {
    return b->x->value + row * b->stride_x;
}

static struct batch begin_strided(struct check* c, const char* what, int calls, int64_t rows,
                                  int64_t cols, int64_t stride_y, int64_t stride_x) {
    check_case(c, "%s: rows = %lld, cols = %lld, stride_y = %lld, stride_x = %lld", what,
               (long long)rows, (long long)cols, (long long)stride_y, (long long)stride_x);
    check_rounds(c, calls);
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
    check_int(c, "stride_y", stride_y);
    check_int(c, "stride_x", stride_x);
    struct batch b = {
        .y = check_output(c, "y", F32, SHAPE(rows, stride_y)),
        .x = check_input(c, "x", F32, SHAPE((rows - 1) * stride_x + cols)),
        .rows = rows,
        .cols = cols,
        .stride_y = stride_y,
        .stride_x = stride_x,
    };
    for (int64_t row = 0; row < rows; row++)
        for (int64_t j = cols; j < stride_y; j++) b.y->untouched[row * stride_y + j] = true;
    return b;
}

static struct batch begin(struct check* c, const char* what, int64_t rows, int64_t cols) {
    return begin_strided(c, what, 1, rows, cols, cols, cols);
}

static double uniform(struct check* c, double low, double high) {
    return low + (high - low) * ldexp((double)(check_random(c) >> 11), -53);
}

static void fill_row(struct check* c, struct batch b, int64_t row, double low, double high) {
    for (int64_t j = 0; j < b.cols; j++) row_of(&b, row)[j] = uniform(c, low, high);
}

static void fill_rows(struct check* c, struct batch b, double low, double high) {
    for (int64_t row = 0; row < b.rows; row++) fill_row(c, b, row, low, high);
}

// From -9 at the left end to between 1 and 2 at the right: what is lost there is not small.
static void fill_rising(struct check* c, struct batch b) {
    fill_rows(c, b, -9.0, -8.0);
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            row_of(&b, row)[j] += 10.0 * (double)(j + 1) / (double)b.cols;
}

static double max_of(const double* x, int64_t n) {
    double m = -INFINITY;
    for (int64_t j = 0; j < n; j++) m = fmax(m, x[j]);
    return m;
}

// sum_j exp(x_j - shift)
static double sum_exp(const double* x, int64_t n, double shift) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp(x[j] - shift);
    return sum;
}

// m = max_j x_j,  l = sum_j exp(x_j - m),  y_j = exp(x_j - m) / l         (README eq. 1 to 3)
static void softmax_of(double* y, const double* x, int64_t n) {
    double m = max_of(x, n), l = sum_exp(x, n, m);
    for (int64_t j = 0; j < n; j++) y[j] = m > -INFINITY ? exp(x[j] - m) / l : 0;
}

// How exact y must be. A plain fp32 kernel as the standard would not do: of rows of one element it gets all
// exact. But the error can be bounded. Every summand of l is positive, so nothing cancels, and relative to y,
// in units of 2^-24, half an ulp of a float, a right kernel may be off by
//   8           the fastest exp the hardware has, 2 ulp, in the numerator and in l; the division
//   sqrt(n)/3   a sum of n floats one after another, the worst order, rounded up or down by chance
//   2 |x|       exp(x - m) as exp2(x * log2(e) - m * log2(e)) rounds numbers of the size of x, and exp passes
//               an absolute error on as a relative one. (Beyond 10^5 all scores of a row are equal here, and
//               so is what they round to.)
// The budget is 2, 12 and 2 times that. An exp in 11 bits is off by 8192 units.
static void measure(struct batch* b) {
    double size = 0, largest = 0;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++) {
            double x = row_of(b, row)[j];
            if (fabs(x) < 1e5) size = fmax(size, fabs(x));
            largest = fmax(largest, b->y->want[row * b->stride_y + j]);
        }
    b->relative = ldexp(16.0 + 4.0 * sqrt((double)b->cols) + 4.0 * size, -24);
    b->tolerance = b->relative * largest;
}

static struct batch compared;  // the last one, for explain()

// Each element may be off by its share, so the mean by that share of the mean; the largest element's share is
// granted to every single one.
static void compare(struct check* c, struct batch b) {
    double mean = 0;
    for (int64_t row = 0; row < b.rows; row++) {
        double* want = b.y->want + row * b.stride_y;
        softmax_of(want, row_of(&b, row), b.cols);
        for (int64_t j = 0; j < b.cols; j++) mean += want[j] / (double)(b.rows * b.cols);
    }
    measure(&b);
    compared = b;
    check_compare(c, b.y, (struct budget){b.tolerance, b.relative * mean});
}

static void run(struct check* c, struct batch b) {
    check_run(c);
    compare(c, b);
}

static void run_random(struct check* c, int64_t rows, int64_t cols) {
    struct batch b = begin(c, "random", rows, cols);
    fill_rows(c, b, -9.0, 1.0);
    run(c, b);
}

// ---- items

// Fewer elements than a warp has lanes, and one more.
static void narrow(struct check* c) {
    int64_t cols[] = {31, check_pick(c, 17, 30), check_pick(c, 2, 15), 1, 33};
    for (int i = 0; i < 5; i++) {
        struct batch b = begin(c, "narrow", ROWS, cols[i]);
        fill_rows(c, b, 0.5, 5.5);
        run(c, b);
    }
}

// On both sides of 1024, which a warp or a block may just hold. 50257 is the vocabulary of GPT-2.
static void any_width(struct check* c) {
    int64_t cols[] = {2 * check_pick(c, 130, 500) + 1, check_pick(c, 1041, 1055), 4321,
                      2 * check_pick(c, 3000, 12000) + 1, VOCABULARY};
    for (int i = 0; i < 5; i++) {
        struct batch b = begin(c, "wide", ROWS, cols[i]);
        fill_rising(c, b);
        run(c, b);
    }
}

// More than the registers and the shared memory of any multiprocessor hold, 483 KB on an H200.
static void too_wide(struct check* c) {
    struct batch b = begin(c, "too wide to be kept", 2, 2 * check_pick(c, 64000, 68000) + 1);
    fill_rising(c, b);
    run(c, b);
}

static void any_rows(struct check* c) {
    run_random(c, 8 * check_pick(c, 4, 5) + check_pick(c, 1, 7), COLS);
    run_random(c, 1, COLS);
}

// What lies between the rows of x is large, then NaN.
static void strided(struct check* c) {
    for (int i = 0; i < 2; i++) {
        int64_t stride_x = COLS + check_pick(c, 1, 40), stride_y = COLS + check_pick(c, 41, 80);
        struct batch b = begin_strided(c, "gaps", 1, ROWS, COLS, stride_y, stride_x);
        for (int64_t k = 0; k < b.x->count; k++)
            b.x->value[k] = i == 0 ? uniform(c, 10.0, 20.0) : NAN;
        fill_rows(c, b, -9.0, 1.0);
        run(c, b);
    }
}

// Rows around 145, -65 and -20005. exp of these is infinite, small, and 0.
static void far_from_zero(struct check* c) {
    int64_t cols[] = {COLS, WIDE};
    for (int i = 0; i < 2; i++) {
        struct batch b = begin(c, "around 145, -65 and -20005", ROWS, cols[i]);
        for (int64_t row = 0; row < ROWS; row++) {
            double high = row % 3 == 0 ? 150.0 : row % 3 == 1 ? -60.0 : -20000.0;
            fill_row(c, b, row, high - 10.0, high);
        }
        run(c, b);
    }
}

// Masked scores: whole rows, all but one, all but the last and the first few, most, half, none.
static bool hidden(struct check* c, int64_t row, int64_t j, int64_t cols) {
    int64_t percent = check_pick(c, 1, 100);
    const bool hide[ROWS] = {true,          j != 700, j < cols - 124, j >= 124,
                             percent <= 95, true,     percent <= 50,  false};
    return hide[row];
}

static void masked(struct check* c) {
    int64_t cols[] = {COLS, WIDE};
    for (int i = 0; i < 2; i++) {
        struct batch b = begin(c, "with -inf", ROWS, cols[i]);
        fill_rows(c, b, 0.5, 10.5);
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t j = 0; j < b.cols; j++)
                if (hidden(c, row, j, b.cols)) row_of(&b, row)[j] = -INFINITY;
        run(c, b);
    }
}

static void equal_large_outlier(struct check* c) {
    struct batch b = begin(c, "all equal", ROWS, COLS);
    for (int64_t row = 0; row < ROWS; row++) {
        double x = uniform(c, 1.0, 9.0) * (row % 2 == 0 ? 1.0 : 1e30);
        fill_row(c, b, row, x, x);
    }
    run(c, b);

    b = begin(c, "normal, times 30", ROWS, COLS);
    fill_normal(c, b.x, 0.0, 30.0);
    run(c, b);

    int64_t cols[] = {COLS, WIDE};
    for (int i = 0; i < 2; i++) {
        b = begin(c, "one outlier", ROWS, cols[i]);
        fill_rows(c, b, -9.0, 1.0);
        for (int64_t row = 0; row < ROWS; row++)
            row_of(&b, row)[check_pick(c, 1, b.cols - 1)] = uniform(c, 120.0, 200.0);
        run(c, b);
    }
}

static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    struct batch b = begin_strided(c, "three calls", CALLS, ROWS, COLS, COLS, COLS);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        fill_rows(c, b, -9.0, 1.0);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        compare(c, b);
    }
}

// A call that must write nothing. The arrays have 4 rows of 128 whatever the launcher is told;
// `missing` is NULL in place of one of them.
static void call_untouched(struct check* c, int64_t rows, int64_t cols, int64_t stride_y,
                           int64_t stride_x, const char* missing, int status,
                           enum cause otherwise) {
    check_case(c, "rows = %lld, cols = %lld, stride_y = %lld, stride_x = %lld, NULL: %s",
               (long long)rows, (long long)cols, (long long)stride_y, (long long)stride_x,
               missing ? missing : "none");
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
    check_int(c, "stride_y", stride_y);
    check_int(c, "stride_x", stride_x);
    struct tensor* y = NULL;
    if (missing && *missing == 'y') {
        check_null(c, "y");
    } else {
        y = check_output(c, "y", F32, SHAPE(4, 128));
        for (int i = 0; i < 4 * 128; i++) y->untouched[i] = true;
    }
    if (missing && *missing == 'x')
        check_null(c, "x");
    else
        fill_uniform(c, check_input(c, "x", F32, SHAPE(4, 128)), -9.0, 1.0);
    check_expect(c, status, otherwise);
    check_run(c);
    compared.rows = 0;  // nothing to explain
    if (y) check_compare(c, y, budget_exact());
}

static void refused(struct check* c, int64_t rows, int64_t cols, int64_t stride_y, int64_t stride_x,
                    const char* missing) {
    call_untouched(c, rows, cols, stride_y, stride_x, missing, COURSE_BAD_ARGUMENT,
                   CAUSE_argument_check);
}

static void arguments(struct check* c) {
    run_random(c, ROWS, COLS);
    call_untouched(c, 0, 128, 128, 128, NULL, COURSE_OK, CAUSE_empty_input);
    call_untouched(c, 0, 128, 128, 128, "x", COURSE_OK, CAUSE_empty_input);
    refused(c, -1, 128, 128, 128, NULL);
    refused(c, 4, 0, 128, 128, NULL);
    refused(c, 4, 128, 127, 128, NULL);
    refused(c, 4, 128, 128, 127, NULL);
    refused(c, 4, 128, 128, 128, "y");
    refused(c, 4, 128, 128, 128, "x");
    const int64_t wide = SOFTMAX_MAX_COLS + 1;
    call_untouched(c, (int64_t)1 << 31, 128, 128, 128, NULL, COURSE_UNSUPPORTED,
                   CAUSE_argument_check);
    call_untouched(c, 4, wide, wide, wide, NULL, COURSE_UNSUPPORTED, CAUSE_argument_check);
}

// What comes out of narrow and odd rows, rows apart and too many of them for a block is the business of the
// items above; here it has to be right where all is even, and after that only the accesses count.
static void safe(struct check* c) {
    const int64_t odd_rows = 8 * check_pick(c, 1, 2) + check_pick(c, 1, 7);
    const int64_t narrow_cols = check_pick(c, 2, 31), odd_cols = 2 * check_pick(c, 600, 1500) + 1;
    const int64_t wide_cols = 2 * check_pick(c, 12000, 16000) + 1, gap = check_pick(c, 1, 40);
    const int64_t shapes[][4] = {
        {odd_rows, 1, 1, 1},
        {ROWS, narrow_cols, narrow_cols, narrow_cols},
        {odd_rows, odd_cols, odd_cols + gap, odd_cols + 4 * check_pick(c, 0, 9) + gap % 4 + 1},
        {2, wide_cols, wide_cols, wide_cols}};
    check_watch(c, WATCH_CHECK);
    run_random(c, ROWS, COLS);
    run_random(c, ROWS, WIDE);
    for (int i = 0; i < 4; i++) {
        struct batch b =
            begin_strided(c, "accesses", 1, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
        fill_rows(c, b, -9.0, 1.0);
        check_run(c);
    }
}

static const struct arena_traffic* moved(struct check* c, int64_t rows, int64_t cols) {
    check_watch(c, WATCH_PROFILE);
    run_random(c, rows, cols);
    return check_traffic(c);
}

// Read once and written once, by lanes side by side (README, cost budget). A look at the first score of the
// row by each of up to 32 warps is forgiven. A sector is 32 bytes: lanes side by side move what they
// load, and in rows that begin anywhere one sector more with the four of a warp.
static void moves_once(struct check* c, int64_t rows, int64_t cols) {
    enum { MOST_WARPS = 32 };
    const struct arena_traffic* t = moved(c, rows, cols);
    double bytes = 4.0 * (double)(rows * cols);
    check_at_most(c, CAUSE_too_much_written, "times that each element of y is stored",
                  (double)t->global_store_bytes / bytes, 1.0);
    check_at_most(c, CAUSE_too_much_read, "times that each score is loaded",
                  (double)t->global_load_bytes / bytes, 1.0 + (double)MOST_WARPS / (double)cols);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.27);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  32.0 * (double)t->global_store_sectors / (double)t->global_store_bytes, 1.27);
}

static void cheap(struct check* c) {
    moves_once(c, ROWS, COLS);
}

static void cheap_wide(struct check* c) {
    moves_once(c, 2, VOCABULARY);
}

// Of four rows of an odd width three begin inside of a sector. Stores of 32 lanes that follow the row from
// there move 1.19 times their bytes; the ends of rows alone, not 1.01 times.
static void whole_sectors(struct check* c) {
    const struct arena_traffic* t = moved(c, 4, 2 * check_pick(c, 3000, 5000) + 1);
    const double ratio = 32.0 * (double)t->global_store_sectors / (double)t->global_store_bytes;
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  ratio, 1.27);
    check_at_most(c, CAUSE_partial_sectors, "bytes moved in 32-byte sectors for each byte stored",
                  ratio, 1.05);
}

static const struct item items[] = {
    {9, "narrow rows: 1 to 33 columns", narrow},
    {10, "any width up to 50257", any_width},
    {7, "rows wider than a multiprocessor can keep", too_wide},
    {7, "any number of rows", any_rows},
    {7, "rows apart: strides larger than cols", strided},
    {8, "scores far from 0", far_from_zero},
    {10, "-inf in rows, and rows of nothing else", masked},
    {8, "equal scores, large ones, an outlier", equal_large_outlier},
    {4, "three calls, new data each time", three_calls},
    {4, "empty and bad arguments", arguments},
    {10, "no races, no stray accesses", safe},
    {6, "1024 columns: read once, written once", cheap},
    {6, "50257 columns: read once, written once", cheap_wide},
    {4, "an odd width: sectors are stored whole", whole_sectors},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there?

static const double* got_of(const struct batch* b, int64_t row) {
    return b->y->got + row * b->stride_y;
}

static const double* want_of(const struct batch* b, int64_t row) {
    return b->y->want + row * b->stride_y;
}

static bool row_right(const struct batch* b, int64_t row) {
    for (int64_t j = 0; j < b->cols; j++)
        if (!(fabs(got_of(b, row)[j] - want_of(b, row)[j]) <= b->tolerance)) return false;
    return true;
}

// Every element a NaN or 0: l is infinite, or 0, or NaN.
static bool row_lost(const struct batch* b, int64_t row) {
    for (int64_t j = 0; j < b->cols; j++)
        if (!isnan(got_of(b, row)[j]) && got_of(b, row)[j] != 0) return false;
    return true;
}

// Rows of x read, or rows of y written, with another stride than their own: as far as there are numbers.
static bool other_strides(const struct batch* b, int64_t stride_y, int64_t stride_x) {
    for (int64_t row = 0; row < b->rows; row++) {
        if (row * stride_x + b->cols > b->x->count || row * stride_y + b->cols > b->y->count) break;
        const double* x = b->x->value + row * stride_x;
        double m = max_of(x, b->cols), l = sum_exp(x, b->cols, m);
        for (int64_t j = 0; j < b->cols; j++) {
            double y = exp(x[j] - m) / l;
            if (!(fabs(b->y->got[row * stride_y + j] - y) <= b->tolerance + b->relative * y))
                return false;
        }
    }
    return true;
}

// Elements at the end of rows that hold NaN, so perhaps nothing was written; before them there is none.
static enum cause from_unwritten(const struct batch* b) {
    int64_t most = 0, least = b->cols;
    for (int64_t row = 0; row < b->rows; row++) {
        int64_t n = 0;
        while (n < b->cols && isnan(got_of(b, row)[b->cols - 1 - n])) n++;
        for (int64_t j = 0; j < b->cols - n; j++)
            if (isnan(got_of(b, row)[j])) return CAUSE_NONE;
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    if (most == 0 || most == b->cols) return CAUSE_NONE;
    if (most < 32) return CAUSE_inner_tail;
    for (int64_t p = 2; p <= 1024 && most == least; p *= 2)
        if (most == b->cols % p) return CAUSE_inner_tail;
    return CAUSE_never_written;
}

// Rows that are lost: where exp leaves its range.
static enum cause from_lost(const struct batch* b) {
    bool large = false, low = true, right = false;
    for (int64_t row = 0; row < b->rows; row++) {
        double m = max_of(row_of(b, row), b->cols);
        if (row_right(b, row)) {
            right |= m > -INFINITY;
        } else if (!row_lost(b, row)) {
            return CAUSE_NONE;
        } else {
            large |= m > 80.0;
            low &= m < -80.0;
        }
    }
    return large ? CAUSE_overflow : low && right ? CAUSE_max_init : CAUSE_NONE;
}

static bool near(double a, double b, double share) {
    return fabs(a - b) <= share * fabs(b);
}

// Is what is too much in l that of some of the numbers that follow the row in memory?
static bool from_next(const struct batch* b, int64_t row, double m, double extra, double share) {
    const double* next = row_of(b, row) + b->cols;
    double sum = 0;
    for (int64_t p = 0; p < 64 && next + p < b->x->value + b->x->count; p++) {
        sum += exp(next[p] - m);
        if (near(sum, extra, share)) return true;
    }
    return extra == 0;
}

// Every row is off by one factor: l is wrong. By what? Lost rows say little, the last one may have met NaN.
static enum cause from_ratio(const struct batch* b) {
    bool small = true, less = true, zeros = true, undivided = true, next = true, lost = false;
    int64_t measured = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        const double* x = row_of(b, row);
        double m = max_of(x, b->cols), low = INFINITY, high = -INFINITY;
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
        if (!(high - low <= 4 * b->relative * high)) return CAUSE_NONE;
        if (fabs(high - 1) <= b->relative) continue;  // by luck nothing, or too little to tell
        measured++;
        double l = sum_exp(x, b->cols, m), extra = l / high - l, many = extra * exp(m);
        double share = fmin(0.1, 0.01 + 4 * b->relative * l / fabs(extra));
        small &= fabs(high - 1) < 0.005;
        less &= extra < 0;
        undivided &= near(high, l, 0.01);
        zeros &= many > 0.9 && many < 1e5 && (many > 10 || near(many, round(many), share));
        next &= row < b->rows - 1 && extra > 0 && from_next(b, row, m, extra, share);
    }
    if (measured == 0) return CAUSE_NONE;
    if (next || zeros) return CAUSE_inner_tail;
    if (lost) return CAUSE_NONE;
    if (small) return CAUSE_low_precision;
    if (undivided) return CAUSE_not_divided;
    return less ? CAUSE_merge_lost : CAUSE_NONE;
}

// Are all elements of a thread, or of a warp, off by one factor of their own? `threads` share a row, `group` of them
// know the same of it. They begin at the row's first column, or at a multiple of 32 elements.
static bool groups_differ(const struct batch* b, int64_t threads, int64_t group, bool shifted) {
    enum { MOST = 1024 };
    for (int64_t row = 0; row < b->rows; row++) {
        double low[MOST], high[MOST];
        int64_t shift = shifted ? row * b->stride_y % 32 : 0;
        for (int64_t g = 0; g < threads / group; g++) low[g] = INFINITY, high[g] = -INFINITY;
        for (int64_t j = 0; j < b->cols; j++) {
            int64_t g = (j + shift) % threads / group;
            double want = want_of(b, row)[j];
            double ratio = got_of(b, row)[j] / want;
            if (want < 1e-30) continue;
            if (!isfinite(ratio)) return false;
            low[g] = fmin(low[g], ratio);
            high[g] = fmax(high[g], ratio);
            if (!(high[g] - low[g] <= 4 * b->relative * high[g])) return false;
        }
    }
    return true;
}

// No element is too small: what should have been in l is not. Or groups of threads disagree about the row.
static enum cause from_groups(const struct batch* b) {
    bool none_less = true;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            none_less &= got_of(b, row)[j] >= want_of(b, row)[j] - b->tolerance &&
                         isfinite(got_of(b, row)[j]);
    if (none_less) return CAUSE_merge_lost;
    for (int64_t threads = 32; threads <= 1024; threads *= 2)
        for (int shifted = 0; shifted < 2; shifted++)
            if ((b->cols >= 3 * threads && groups_differ(b, threads, 1, shifted)) ||
                (b->cols >= 3 * 32 && threads > 32 && groups_differ(b, threads, 32, shifted)))
                return CAUSE_merge_lost;
    return CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)c;
    (void)t;
    (void)budget;
    const struct batch* b = &compared;
    if (b->rows == 0) return CAUSE_NONE;
    const int64_t strides[] = {b->cols, b->stride_y, b->stride_x};
    for (int i = 0; i < 9; i++) {
        int64_t stride_y = strides[i % 3], stride_x = strides[i / 3];
        if ((stride_y != b->stride_y || stride_x != b->stride_x) &&
            other_strides(b, stride_y, stride_x))
            return CAUSE_stride_ignored;
    }

    int64_t wrong = 0, wrong_empty = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        if (row_right(b, row)) continue;
        wrong++;
        wrong_empty += max_of(row_of(b, row), b->cols) == -INFINITY;
    }
    if (wrong == 0) return CAUSE_NONE;  // but for the mean
    if (wrong == wrong_empty) return CAUSE_empty_row;

    enum cause cause = from_unwritten(b);
    if (!cause) cause = from_lost(b);
    if (!cause) cause = from_ratio(b);
    return cause ? cause : from_groups(b);
}

const struct lesson lesson = {.name = "09_softmax", .items = items, .explain = explain};
