// check.c: what lesson 09, softmax, is graded on.
//
// Each item sets one trap. Except for an item's trap, cases have 128, 1024 or 4096 columns, rows in
// multiples of 8, a positive score in every row, and no gaps. A shift of all scores of a row
// changes nothing in y, so a wrong maximum shows only where exp leaves the range of a float.
#include "check/check.h"
#include "mistakes.h"
#include "rows/batch.h"
#include "softmax.h"
#include "wall/arena.h"

#include <float.h>
#include <math.h>

enum { ROWS = 8, COLS = 1024, WIDE = 4096, VOCABULARY = 50257 };

// Columns that the given launcher keeps in registers, wherever the row begins: of rows up to MOST
// all; of a wider one these.
enum { MOST = 50 * 1024 - 31, IN_REGISTERS = 43 * 512 - 31 };

static const struct rows contract = {.out = {"y"}, .writes_rows = true};

// ---- cases

// How exact y must be. A plain fp32 kernel cannot be the standard: it computes rows of one element
// exactly. But the error can be bounded. Every summand of l is positive, so nothing cancels, and
// relative to y, in units of 2^-24, half an ulp of a float, a right kernel may be off by
//   8           the fastest exp the hardware has, 2 ulp, in the numerator and in l; the division
//   sqrt(n)/3   a sum of n floats one after another, the worst order, rounded up or down by chance
//   2 |x|       exp(x - m) as exp2(x * log2(e) - m * log2(e)) rounds numbers of the size of x, and
//               exp passes an absolute error on as a relative one. (Beyond 10^5 all scores of a row
//               are equal here, and so is what they round to.)
// The budget is 2, 12 and 2 times that. An exp in 11 bits is off by 8192 units. In a row of one
// element exp(0) is 1, exactly, and so is the sum: the division alone may be off, by 4 units in the
// fastest way there is; 2 times that is half of what 10^-6 added to l makes.
static double relative(const struct batch* b) {
    double size = 0;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            if (fabs(batch_row(b, row)[j]) < 1e5) size = fmax(size, fabs(batch_row(b, row)[j]));
    double sum = b->cols > 1 ? 16.0 + 4.0 * sqrt((double)b->cols) : 8.0;
    return ldexp(sum + 4.0 * size, -24);
}

static bool is_hidden(const struct batch* b, int64_t row, int64_t j) {
    return batch_row(b, row)[j] == -INFINITY;
}

// Elements that are small beside others in y are exact, too, but for those that a float can hardly
// hold. Where x is -inf, y is 0. If no element is wrong but those far below the largest one, they
// have been taken for nothing.
static void compare_small(struct check* c, const struct batch* b, double largest) {
    int64_t row_at = -1, at = -1;
    enum cause cause = CAUSE_small_weights;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++) {
            double got = got_of(b, row)[j], want = want_of(b, row)[j];
            if (fabs(got - want) <= (is_hidden(b, row, j) ? 0 : relative_of(b) * want + FLT_MIN))
                continue;
            if (at < 0) row_at = row, at = j;
            if (want > 1e-3 * largest) cause = CAUSE_low_precision;
        }
    if (at < 0) return;
    if (is_hidden(b, row_at, at)) cause = CAUSE_mask_value;
    check_fail(c, cause, "y[%lld, %lld] is %.9g, expected %.9g", (long long)row_at, (long long)at,
               got_of(b, row_at)[at], want_of(b, row_at)[at]);
}

// Each element may be off by its share, so the mean by that share of the mean; the largest
// element's share is granted to every single one at first.
static void compare_within(struct check* c, struct batch* b, double more) {
    double largest = 0, mean = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        double* want = want_of(b, row);
        softmax_of(want, batch_row(b, row), b->cols);
        for (int64_t j = 0; j < b->cols; j++) {
            largest = fmax(largest, want[j]);
            mean += want[j] / (double)(b->rows * b->cols);
        }
    }
    double share = relative(b) + more;
    b->slack[0].of_element = share;
    b->tolerance[0] = share * largest;
    check_compare(c, b->out[0], (struct budget){.max = share * largest, .mean = share * mean});
    compare_small(c, b, largest);
}

static void compare(struct check* c, struct batch* b) {
    compare_within(c, b, 0);
}

static void run(struct check* c, struct batch* b) {
    check_run(c);
    compare(c, b);
}

static void run_random(struct check* c, int64_t rows, int64_t cols) {
    struct batch b = batch_of(c, &contract, rows, cols);
    batch_begin(&b, "random");
    batch_fill(&b, -9.0, 1.0);
    run(c, &b);
}

static void run_rising(struct check* c, int64_t cols, const char* name) {
    struct batch b = batch_of(c, &contract, 2, cols);
    batch_begin(&b, name);
    batch_fill_rising(&b);
    run(c, &b);
}

// ---- items

// Fewer elements than a warp has lanes, and one more.
static void narrow(struct check* c) {
    int64_t cols[] = {31, check_pick(c, 17, 30), check_pick(c, 2, 15), 1, 32, 33};
    for (int i = 0; i < 6; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "narrow");
        batch_fill(&b, 0.5, 5.5);
        run(c, &b);
    }
    struct batch b = batch_of(c, &contract, ROWS, 1);
    batch_begin(&b, "one score near 0");
    batch_fill(&b, -0.01, 0.01);
    run(c, &b);
}

// A row of which the registers of some warps hold all, if it begins with a line. It does not: its
// last numbers are for a launcher's next kernel.
static void run_shifted(struct check* c, int64_t cols) {
    struct batch b = batch_of(c, &contract, 1, cols);
    b.first_out = 31;
    batch_begin(&b, "whole registers");
    batch_fill_rising(&b);
    run(c, &b);
}

// On both sides of 1024, which a warp or a block may just hold; even, but no multiple of 4, or of
// 8, as well. 50257 is the vocabulary of GPT-2.
static void any_width(struct check* c) {
    int64_t cols[] = {2 * check_pick(c, 130, 500) + 1,
                      check_pick(c, 1041, 1055),
                      4321,
                      2 * check_pick(c, 3000, 12000) + 1,
                      VOCABULARY,
                      1002,
                      1004,
                      1023,
                      1025};
    for (int i = 0; i < 9; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "wide");
        batch_fill_rising(&b);
        run(c, &b);
    }
    // A row of floats that just fits into 48 KB of shared memory, and does not beside a few more
    // numbers.
    run_rising(c, 48 * 256 - 4, "at a limit");
    run_rising(c, 48 * 256, "at a limit");
    // The widest row that 1024 threads keep: no rest, wherever it begins.
    run_rising(c, MOST, "at a limit");
    run_shifted(c, 32 * 17);
    run_shifted(c, 512 * 21);
    run_shifted(c, 512 * 43);
    batch_fits(c, &contract, 48 * 256);
    batch_launches(c, &contract, 1008, 1040);
}

// The first row is of equal scores that times log2(e) are no floats, the second of some that are;
// the last one but one has an outlier, so far behind that no registers hold it; the last one is
// nothing but -inf.
static void run_hard(struct check* c, struct batch b, const char* name) {
    batch_begin(&b, name);
    check_mix_blocks(c);
    batch_fill_rising(&b);
    const int64_t last = b.rows - 1;
    const double no_float = -FLT_MAX * check_uniform(c, 0.75, 1.0);
    const double a_float = -FLT_MAX * check_uniform(c, 0.5, 0.65);
    batch_fill_row(&b, 0, no_float, no_float);
    batch_fill_row(&b, 1, a_float, a_float);
    batch_row(&b, last - 1)[check_pick(c, MOST, b.cols - 1)] = check_uniform(c, 120.0, 200.0);
    for (int64_t j = 0; j < b.cols; j++) batch_row(&b, last)[j] = -INFINITY;
    run(c, &b);
}

// More than the registers of a block hold: a part is in shared memory, or read again. Of rows wider
// than MOST only this item knows.
static void wider_than_registers(struct check* c) {
    // A block that can have 99 KB of shared memory keeps less of such a row, or nothing.
    struct batch less = batch_of(c, &contract, 2, MOST + 2 * check_pick(c, 1, 8000));
    batch_begin(&less, "wider than the registers, as rtx3090");
    check_pose_as(c, "rtx3090");
    batch_fill_rising(&less);
    run(c, &less);
    // The row, or what registers leave over of it, just fits into what a block of the card may ask
    // for, 227 KB on an H200, and does not beside a few more numbers.
    const int64_t most = (int64_t)(check_shared_memory(c) / sizeof(float));
    run_rising(c, most - 4, "at a limit");
    run_rising(c, most, "at a limit");
    run_rising(c, most + IN_REGISTERS - 8, "at a limit");
    batch_fits(c, &contract, most);
    // More than the registers and the shared memory of any multiprocessor, 483 KB on an H200.
    const int64_t too_wide = 2 * check_pick(c, 64000, 68000) + 1;
    run_hard(c, batch_of(c, &contract, 5, too_wide), "too wide to be kept");
    const int64_t kept = MOST + check_pick(c, 4000, 8000);
    run_hard(c, batch_of(c, &contract, 4, kept), "an outlier near the end, and a row of -inf");
}

static void fill(struct check* c, const struct batch* b) {
    (void)c;
    batch_fill(b, -9.0, 1.0);
}

static void any_rows(struct check* c) {
    run_random(c, 8 * check_pick(c, 4, 5) + check_pick(c, 1, 7), COLS);
    run_random(c, 1, COLS);
    batch_many_rows(c, &contract, 128, (struct batch_call){fill, compare});
    batch_reaches(c, &contract);
    // Of each width there may be another kernel, and another grid.
    const int64_t cols[] = {check_pick(c, 1060, 20000), check_pick(c, 22000, 50000), 130 * 1024};
    batch_many_rows_of(c, &contract, cols, 3);
}

static void strided(struct check* c) {
    batch_apart(c, &contract, ROWS, COLS, 10, (struct batch_call){fill, compare});
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    if (!batch_begin_far(&b)) return;
    batch_fill(&b, -9.0, 1.0);
    run(c, &b);
    for (int far = 0; far < 2; far++) {  // rows whose kernel may be another
        b = batch_of(c, &contract, 2, 24 * COLS + 4 * check_pick(c, 0, 7) + 3);
        b.stride += check_pick(c, 1, 40), b.stride_out += check_pick(c, 41, 80);
        if (far) b.stride = b.stride_out = b.cols;
        if (!far) batch_begin(&b, "wide, gaps");
        if (far && !batch_begin_far(&b)) return;
        batch_fill(&b, -9.0, 1.0);
        run(c, &b);
    }
}

// Rows around 145, -65 and -20005. exp of these is infinite, small, and 0.
static void far_from_zero(struct check* c) {
    int64_t cols[] = {COLS, WIDE, check_pick(c, 17, 31)};
    for (int i = 0; i < 3; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "around 145, -65 and -20005");
        for (int64_t row = 0; row < ROWS; row++) {
            // two low ones in turn: who reads on into the next row loses only one of them
            static const double high[] = {150, -60, -20000, -20000};
            batch_fill_row(&b, row, high[row % 4] - 10, high[row % 4]);
        }
        run(c, &b);
    }
    for (int i = 0; i < 2; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "all equal, near 1, 1e30, -1e30 or -1e37");
        for (int64_t row = 0; row < ROWS; row++) {
            static const double sizes[] = {1.0, 1e30, -1e30, -1e37};
            double x = check_uniform(c, 1.0, 9.0) * sizes[row % 4];
            batch_fill_row(&b, row, x, x);
        }
        run(c, &b);
    }
    // The smallest float is a score as well, and times log2(e) it is none any more.
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all equal, near 1, the smallest float or a little more");
    for (int64_t row = 0; row < ROWS; row++) {
        static const double sizes[][2] = {{-9e-38, -1e-38}, {1, 1}, {0.5, 0.65}, {0.75, 1}};
        const double x = -FLT_MAX * check_uniform(c, sizes[row % 4][0], sizes[row % 4][1]);
        batch_fill_row(&b, row, x, x);
    }
    run(c, &b);
}

static void masked(struct check* c) {
    int64_t cols[] = {COLS, WIDE};
    for (int i = 0; i < 2; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "with -inf");
        batch_fill(&b, 0.5, 10.5);
        batch_hide(&b);
        run(c, &b);
        // The first score, or the last, is -inf; all others are far from 0.
        b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "with -inf at an end, around 145");
        batch_fill(&b, 140.0, 150.0);
        for (int64_t row = 0; row < ROWS; row++)
            batch_row(&b, row)[row % 2 ? b.cols - 1 : 0] = -INFINITY;
        run(c, &b);
    }
    batch_hide_narrow(c, &contract, compare);
}

// Each small weight, added to l, may be rounded by half an ulp of l: n 2^-24 at worst, 0.05 %.
static void long_tail(struct check* c) {
    struct batch b = batch_of(c, &contract, 4, 2 * WIDE);
    batch_begin(&b, "one score 14 above all others");
    batch_fill_long_tail(&b);
    check_run(c);
    compare_within(c, &b, ldexp((double)b.cols, -24));
}

static void equal_large_outlier(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all equal");
    for (int64_t row = 0; row < ROWS; row++) {
        double x = check_uniform(c, 1.0, 9.0) * (row % 2 ? 1e30 : 1.0);
        batch_fill_row(&b, row, x, x);
    }
    run(c, &b);

    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "normal, times 30");
    fill_normal(c, b.x, 0.0, 30.0);
    run(c, &b);

    int64_t cols[] = {COLS, WIDE};
    for (int i = 0; i < 2; i++) {
        b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "one outlier");
        batch_fill(&b, -9.0, 1.0);
        for (int64_t row = 0; row < ROWS; row++)
            batch_row(&b, row)[check_pick(c, 1, b.cols - 1)] = check_uniform(c, 120.0, 200.0);
        run(c, &b);
    }
    // The most that 1024 threads keep: one of the last 512 has the outlier.
    b = batch_of(c, &contract, 1, MOST);
    batch_begin(&b, "one outlier");
    batch_fill(&b, -9.0, 1.0);
    batch_row(&b, 0)[1024 * check_pick(c, 0, 48) + check_pick(c, 512, 1023)] =
        check_uniform(c, 120.0, 200.0);
    run(c, &b);
    long_tail(c);
}

static void three_calls(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    b.calls = 3;
    batch_begin(&b, "three calls");
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        batch_fill(&b, -9.0, 1.0);
    }
    check_run(c);
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        compare(c, &b);
    }
    const struct batch_call call = {fill, compare};
    batch_grows(c, &contract, 2 * ROWS, 8 * COLS, call);
    // More than 48 KB of shared memory the first time and the last, and not more than 99 KB; the
    // second time so much that a block of the first GPU alone may have it.
    batch_moves(c, &contract, (int64_t[]){13 * COLS, 56 * COLS, 24 * COLS}, call);
}

static void arguments(struct check* c) {
    enum { BEYOND = SOFTMAX_MAX_COLS + 1 };
    const int64_t CUT = ((int64_t)1 << 32) + 5;  // 5 columns for who cuts it to 32 bits
    const struct idle_call calls[] = {
        {COURSE_OK, {{"rows", 0}}},
        {COURSE_OK, {{"rows", 0}, {"x", 0}}},
        {COURSE_OK, {{"rows", 0}, {"y", 0}, {"x", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"stride_y", 127}}},
        {COURSE_BAD_ARGUMENT, {{"x", 0}, {"rows", (int64_t)1 << 31}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}}},
        {COURSE_BAD_ARGUMENT, {{"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_y", 127}}},
        {COURSE_BAD_ARGUMENT, {{"stride_x", 127}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 1}, {"stride_x", 127}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 1}, {"stride_y", 127}}},
        {COURSE_BAD_ARGUMENT, {{"y", 0}}},
        {COURSE_BAD_ARGUMENT, {{"x", 0}}},
        {COURSE_UNSUPPORTED, {{"rows", (int64_t)1 << 31}}},
        {COURSE_UNSUPPORTED, {{"rows", ((int64_t)1 << 32) + 4}}},
        {COURSE_UNSUPPORTED, {{"cols", BEYOND}, {"stride_y", BEYOND}, {"stride_x", BEYOND}}},
        {COURSE_UNSUPPORTED, {{"cols", CUT}, {"stride_y", CUT}, {"stride_x", CUT}}},
        {0},
    };
    enum { WIDEST = SOFTMAX_MAX_COLS };
    static const struct idle_call large[] = {
        {COURSE_CUDA_ERROR, {{"cols", WIDEST}, {"stride_y", WIDEST}, {"stride_x", WIDEST}}}, {0}};
    check_ordinary(c);
    run_random(c, ROWS, COLS);
    batch_idle_calls(c, &contract, calls, large);
    batch_queries_fail(c, &contract, 24 * COLS);  // of rows for which a launcher asks
}

// The items above judge the results of narrow and odd rows, of rows apart, and of too many rows for
// a block. Here the results have to be right for even sizes; after that only the accesses count:
// of rows, too, that begin at multiples of 16 bytes, but do not end there.
static void safe(struct check* c) {
    const int64_t odd_rows = 8 * check_pick(c, 1, 2) + 2 * check_pick(c, 0, 3) + 1;
    const int64_t narrow_cols = 4 * check_pick(c, 1, 7),
                  odd_cols = 2 * check_pick(c, 600, 1500) + 1;
    const int64_t wide_cols = 2 * check_pick(c, 12000, 16000) + 1, gap = check_pick(c, 1, 40);
    const int64_t fours = 4 * check_pick(c, 100, 200);
    const int64_t shapes[][4] = {
        {odd_rows, 1, 1, 1},
        {odd_rows, fours - check_pick(c, 1, 3), fours, fours},
        {check_pick(c, 9, 40), narrow_cols, narrow_cols + 2, narrow_cols + 1},
        {odd_rows, odd_cols, odd_cols + gap, odd_cols + 4 * check_pick(c, 0, 9) + gap % 4 + 1},
        {2, wide_cols, wide_cols, wide_cols}};
    check_watch(c, WATCH_CHECK);
    run_random(c, check_pick(c, 9, 20), COLS);
    run_random(c, ROWS, WIDE);
    for (int i = 0; i < 5; i++) {
        struct batch b = batch_of(c, &contract, shapes[i][0], shapes[i][1]);
        b.stride_out = shapes[i][2];
        b.stride = shapes[i][3];
        batch_begin(&b, "accesses");
        batch_fill(&b, -9.0, 1.0);
        check_run(c);
    }
    for (int alone = 0; alone < 2; alone++) {
        struct batch b = batch_of(c, &contract, ROWS, COLS);
        *(alone ? &b.first : &b.first_out) = 2 * check_pick(c, 0, 15) + 1;
        batch_begin(&b, "accesses");
        batch_fill(&b, -9.0, 1.0);
        check_run(c);
    }
    batch_rows_anywhere(c, &contract, (struct batch_call){fill, NULL});
    // Of a row that is kept in part: what is kept begins where it needs most room. It has whole
    // fours.
    struct batch b = batch_of(c, &contract, 1, 4 * check_pick(c, 5750, 6000));
    b.first_out = 31;
    b.first = 4 * check_pick(c, 0, 7) + 2;
    batch_begin(&b, "accesses");
    batch_fill(&b, -9.0, 1.0);
    check_run(c);
    // x, then y, begins at the second or fourth of four floats, though a row is whole fours.
    const int64_t widths[] = {4 * check_pick(c, 9, 64), fours, 4 * check_pick(c, 300, 500)};
    for (int i = 0; i < 6; i++) {
        b = batch_of(c, &contract, 1, widths[i / 2]);
        *(i % 2 ? &b.first : &b.first_out) = 2 * check_pick(c, 0, 1) + 1;
        batch_begin(&b, "accesses");
        batch_fill(&b, -9.0, 1.0);
        check_run(c);
    }
    batch_row_after_row(c, &contract, COLS + 32);
    // Of a row that no registers hold a part is kept, also by a launcher that keeps no narrower
    // one. A maximum that misses what another thread has sent for cancels: only an access shows it.
    b = batch_of(c, &contract, 1, MOST + check_pick(c, 4000, 8000));
    batch_begin(&b, "accesses");
    batch_fill(&b, -9.0, 1.0);
    check_run(c);
}

// Read once and written once (README, cost budget). x begins `later` floats behind a line.
static const struct arena_traffic* moved(struct check* c, int64_t rows, int64_t cols,
                                         int64_t later) {
    struct batch b = batch_of(c, &contract, rows, cols);
    b.first = later;
    check_watch(c, WATCH_PROFILE);
    batch_begin(&b, "random");
    batch_fill(&b, -9.0, 1.0);
    for (int64_t k = 0; k < later; k++) b.x->untouched[k] = true;  // nobody has to read them
    run(c, &b);
    const struct arena_traffic* t = check_traffic(c);
    check_stored_once(c, "y");
    batch_at_most_once(c, &b, t);
    return t;
}

// By lanes side by side, too. A sector is 32 bytes: they move what they load, and in rows that
// begin anywhere one sector more with the four of a warp.
static void moves_once(struct check* c, int64_t rows, int64_t cols) {
    const struct arena_traffic* t = moved(c, rows, cols, 0);
    check_kept(c, CAUSE_row_kept, "element of y", (double)(rows * cols), 0.5, 2000);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.27);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte stored",
                  32.0 * (double)t->global_store_sectors / (double)t->global_store_bytes, 1.27);
}

static void cheap(struct check* c) {
    moves_once(c, ROWS, COLS);
    // A launcher knows how many rows there are.
    moves_once(c, check_pick(c, 9, 40), 64 * check_pick(c, 2, 7));
    moved(c, check_pick(c, 9, 40), check_pick(c, 514, 1000), 0);
    moved(c, 2, check_pick(c, 1100, 4500), 0);
    moved(c, 1, check_pick(c, 4600, 10700), 0);
}

static void cheap_wide(struct check* c) {
    moves_once(c, 2, VOCABULARY);
    moved(c, 1, check_pick(c, 11000, 20000), 0);
    moved(c, 1, check_pick(c, 22000, 48000), 0);
}

// Of four rows of an odd width three begin inside of a sector, and in other places of it than those
// of x. Stores of 32 lanes that follow the row from there move 1.19 times their bytes; the ends of
// rows alone, not 1.02 times. A block that begins at a line may cut one line in each of its sweeps:
// 1.06 times in the narrowest rows, with 128 threads.
static void stores_whole_sectors(struct check* c, int64_t rows, int64_t cols) {
    const struct arena_traffic* t = moved(c, rows, cols, check_pick(c, 1, 7));
    const double ratio =
        32.0 * (double)t->global_store_sectors / (4.0 * (double)rows * (double)cols);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte of y", ratio,
                  1.27);
    check_at_most(c, CAUSE_partial_sectors, "bytes moved in 32-byte sectors for each byte of y",
                  ratio, 1.1);
}

static void whole_sectors(struct check* c) {
    stores_whole_sectors(c, 4, 2 * check_pick(c, 3000, 5000) + 1);
    stores_whole_sectors(c, 4 * check_pick(c, 3, 10), 2 * check_pick(c, 350, 500) + 1);
    stores_whole_sectors(c, 2, 2 * check_pick(c, 11500, 16000) + 1);
}

static const struct item items[] = {
    {6, "narrow rows: 1 to 33 columns", narrow},
    {6, "any width up to 50257", any_width},
    {8, "rows wider than the registers", wider_than_registers},
    {5, "any number of rows", any_rows},
    {5, "rows apart: strides larger than cols", strided},
    {6, "scores far from 0", far_from_zero},
    {6, "-inf in rows, and rows of nothing else", masked},
    {6, "equal scores, large ones, an outlier", equal_large_outlier},
    {3, "three calls, new data each time", three_calls},
    {3, "empty and bad arguments", arguments},
    {6, "no races, no stray accesses", safe},
    {17, "1024 columns: read once, written once", cheap},
    {17, "50257 columns: read once, written once", cheap_wide},
    {6, "an odd width: sectors are stored whole", whole_sectors},
    {0},
};

const struct lesson lesson = {.name = "09_softmax",
                              .card = "h200",  // its rows are as wide as 227 KB allow
                              .items = items,
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .idea = {.what = "a row is read once and written once",
                                       .paid_by = {cheap, cheap_wide, whole_sectors},
                                       .naive = "solutions/09_softmax/steps/1_thread_per_row.cu"},
                              .mistakes = mistakes,
                              .explain = explain};
