// check.c: what lesson 10, online_softmax, is graded on.
//
// Each item sets one trap. Where they are no item's trap, columns are a multiple of 128, up to
// 1024, and rows a multiple of 4. Every row has a positive score, and no gaps lie between rows.
#include "check/check.h"
#include "mistakes.h"
#include "online_softmax.h"
#include "rows/batch.h"
#include "wall/arena.h"

#include <float.h>
#include <math.h>

enum { ROWS = 8, COLS = 1024 };

static const struct rows contract = {.out = {"m", "l"}, .of_equal = {ITSELF, COUNT}};

// ---- cases

// How exact l must be, relative to l. A plain fp32 kernel cannot be the standard: in a few rows it
// is exact by luck. But the error can be bounded. Every summand is positive, so nothing cancels,
// and in units of 2^-24, half an ulp of a float, a right kernel may be off by
//   4           the fastest exp the hardware has, 2 ulp
//   sqrt(n)/3   a sum of n floats one after another, the worst order, rounded up or down by chance
//   |x|         exp(x - m) as exp2(x * log2(e) - m * log2(e)), as fast kernels write it, rounds
//               numbers of the size of x, and exp passes an absolute error on as a relative one.
//               (Beyond 10^5 all scores of a row are equal here: x - m is 0, exactly.)
// The budget is 2, 12 and 4 times that; right kernels have been seen to use up to a fifth of it. In
// a row of one element exp(0) is 1, exactly, and nothing is added: 4 units, a quarter of 10^-6.
// Sums of 11 bits are off by up to 8192 units, one average element of 4321 weighs 3900.
static double relative(const struct batch* b) {
    double largest = 0;
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t j = 0; j < b->cols; j++)
            if (fabs(batch_row(b, row)[j]) < 1e5)
                largest = fmax(largest, fabs(batch_row(b, row)[j]));
    double sum = b->cols > 1 ? 8.0 + 4.0 * sqrt((double)b->cols) : 4.0;
    return ldexp(sum + 4.0 * largest, -24);
}

// The maximum is one of the scores, so it is exact. l may be off by a share of `more` besides.
static void compare_within(struct check* c, struct batch* b, double more) {
    double largest = 0;
    for (int64_t row = 0; row < b->rows; row++) {
        struct pair state = state_of(batch_row(b, row), b->cols);
        for (int i = 0; i < 2; i++) b->out[i]->want[row] = state.number[i];
        largest = fmax(largest, state.number[1]);
    }
    double share = relative(b) + more;
    b->slack[1].of_element = share;
    check_compare(c, b->out[0], budget_exact());
    check_compare(c, b->out[1], (struct budget){.max = share * largest, .mean = share * largest});
    for (int64_t row = 0; row < b->rows; row++)
        if (b->out[1]->want[row] == 0 && b->out[1]->got[row] != 0)
            check_fail(c, CAUSE_epsilon_added, "l[%lld] is %.9g in a row of nothing but -inf",
                       (long long)row, b->out[1]->got[row]);
}

static void compare(struct check* c, struct batch* b) {
    compare_within(c, b, 0);
}

static void run(struct check* c, struct batch* b) {
    check_run(c);
    compare(c, b);
}

static void run_random_of(struct check* c, int64_t rows, int64_t cols) {
    struct batch b = batch_of(c, &contract, rows, cols);
    batch_begin(&b, "random");
    batch_fill(&b, -9.0, 1.0);
    run(c, &b);
}

static void run_random(struct check* c, int64_t rows) {
    run_random_of(c, rows, COLS);
}

// ---- items

// Fewer elements than a warp has lanes: most threads have none.
static void narrow(struct check* c) {
    int64_t cols[] = {31, check_pick(c, 17, 30), check_pick(c, 2, 15), 1, 32, 33};
    for (int i = 0; i < 6; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "narrow");
        batch_fill(&b, 0.5, 10.5);
        run(c, &b);
    }
    struct batch b = batch_of(c, &contract, ROWS, 1);
    batch_begin(&b, "one score near 0");
    batch_fill(&b, -0.01, 0.01);
    run(c, &b);
}

// More elements than any block takes in one sweep, and a last sweep that is partly filled. The
// largest elements come last. 50257 is the vocabulary of GPT-2.
static void wide(struct check* c) {
    int64_t cols[] = {4321, 2 * check_pick(c, 1030, 3000) + 1, 50257, 1002, 1004, 1023, 1025};
    for (int i = 0; i < 7; i++) {
        struct batch b = batch_of(c, &contract, 4, cols[i]);
        batch_begin(&b, "wide");
        if (i == 2) check_mix_blocks(c);
        batch_fill_rising(&b);
        run(c, &b);
    }
    batch_launches(c, &contract, 1008, 1040);
    batch_wide(c, &contract);
}

static void fill(struct check* c, const struct batch* b) {
    (void)c;
    batch_fill(b, -9.0, 1.0);
}

static void any_rows(struct check* c) {
    run_random(c, 4 * check_pick(c, 8, 10) + check_pick(c, 1, 3));
    run_random(c, 1);
    batch_many_rows(c, &contract, 128, (struct batch_call){fill, compare});
    batch_reaches(c, &contract);
    batch_many_wide_rows(c, &contract);
}

static void strided(struct check* c) {
    batch_apart(c, &contract, ROWS, COLS, 100, (struct batch_call){fill, compare});
    struct batch far = batch_of(c, &contract, ROWS, COLS);
    if (!batch_begin_far(&far)) return;
    batch_fill(&far, -9.0, 1.0);
    run(c, &far);
}

// -0 is above all of them, and of its bits, as an integer, no other is below.
static void negative(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all below -2, but for a -0 in every other row");
    batch_fill(&b, -12.0, -2.0);
    for (int64_t row = 1; row < ROWS; row += 2)
        batch_row(&b, row)[check_pick(c, 0, COLS - 1)] = -0.0;
    run(c, &b);
    b = batch_of(c, &contract, 1, 65 * COLS);  // several blocks may share such a row
    batch_begin(&b, "all below -20000, but for a -0");
    batch_fill(&b, -20010.0, -20000.0);
    b.x->value[check_pick(c, 0, b.cols - 1)] = -0.0;
    run(c, &b);
    // Narrow rows and very wide ones, for which there may be other kernels, too.
    const int64_t cols[] = {COLS, 5, check_pick(c, 17, 31), 65 * COLS};
    for (int i = 0; i < 4; i++) {
        b = batch_of(c, &contract, i < 3 ? ROWS : 3, cols[i]);
        batch_begin(&b, "all below -20000");
        // Floats are 0.002 apart there: of more scores near the maximum many would be equal, and
        // of one row alone a wrong maximum says little.
        batch_fill(&b, i < 3 ? -20010.0 : -20500.0, -20000.0);
        run(c, &b);
    }
}

static void masked(struct check* c) {
    // In several sweeps a thread sees a tile of nothing but -inf after scores, too.
    for (int sweeps = 1; sweeps <= 8; sweeps += 7) {
        struct batch b = batch_of(c, &contract, ROWS, sweeps * COLS);
        batch_begin(&b, "with -inf");
        batch_fill(&b, 0.5, 10.5);
        batch_hide(&b);
        run(c, &b);
    }
    batch_hide_narrow(c, &contract, compare);
}

// Half of l is made of many equal numbers, so the error of exp shows, and with few columns and
// small scores the budget is narrow: log2(e) needs all digits of a float.
static void few_equal(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, 128);
    batch_begin(&b, "one score 4 above all others");
    batch_fill(&b, -4.0, -4.0);
    for (int64_t row = 0; row < b.rows; row++) batch_row(&b, row)[row * 17] = 0.0;
    run(c, &b);
    // At the end of a wide row exp has its digits, too. A thread has scores of the beginning first:
    // what exp takes is no 0. Few have a weight: a plain sum of equal numbers drifts.
    b = batch_of(c, &contract, ROWS, 49 * COLS);
    batch_begin(&b, "few scores have a weight, the first and the last");
    batch_fill(&b, -20.0, -19.0);
    for (int64_t row = 0; row < b.rows; row++) {
        const double last = check_uniform(c, -1.385, -1.36);
        for (int64_t j = 0; j < 256; j++) batch_row(&b, row)[j] = 0.0;
        for (int64_t j = b.cols - 512; j < b.cols; j++) batch_row(&b, row)[j] = last;
    }
    run(c, &b);
}

// Each small weight, added to l, may be rounded by half an ulp of l: n 2^-24 at worst, 0.05 %.
static void long_tail(struct check* c) {
    struct batch b = batch_of(c, &contract, 4, 8 * COLS);
    batch_begin(&b, "one score 14 above all others");
    batch_fill_long_tail(&b);
    check_run(c);
    compare_within(c, &b, ldexp((double)b.cols, -24));
}

// The first scores, of which every thread has one, are 10 above all others, which weigh little each
// and more than a two hundredth together: a tile far below the maximum is no tile of nothing.
static void long_plateau(struct check* c) {
    enum { TOP = 128 };
    struct batch b = batch_of(c, &contract, 2, 24 * COLS);
    batch_begin(&b, "the first 128 scores are 10 above all others");
    batch_fill(&b, -10.5, -10.3);
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < TOP; j++) batch_row(&b, row)[j] = 0;
    check_run(c);
    compare_within(c, &b, ldexp((double)b.cols, -24));
}

// Whole sweeps of scores around 0, then all are 76 to 87 above these. Who rescales only beyond what
// exp can hold adds exponentials of so much, and many of them are more than a float holds.
static void rises_late(struct check* c) {
    struct batch b = batch_of(c, &contract, 4, 12 * COLS);
    batch_begin(&b, "the scores of all but the first sweeps are 76 to 87 above these");
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            batch_row(&b, row)[j] =
                (j < 4 * COLS ? 0 : 77.0 + 3 * (double)row) + check_uniform(c, -0.9, 0.9);
    run(c, &b);
}

static void rising_equal_large(struct check* c) {
    // several sweeps of any block, so that every thread has to rescale
    struct batch b = batch_of(c, &contract, 4, 8 * COLS);
    batch_begin(&b, "rising");
    batch_fill_rising(&b);
    run(c, &b);

    b = batch_of(c, &contract, 4, 8 * COLS);
    batch_begin(&b, "rising by two thousandths");
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            batch_row(&b, row)[j] = 1.0 + 0.002 * (double)j / (double)b.cols;
    run(c, &b);

    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all equal");
    batch_fill(&b, 1.0, 9.0);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t j = 1; j < COLS; j++) batch_row(&b, row)[j] = batch_row(&b, row)[0];
    run(c, &b);

    // x - m comes first: of the products x log2(e) and m log2(e) one is rounded by far more than 1.
    // In row 0 it is rounded down.
    const double log2_e = 1.44269502162933349609375;  // of fp32
    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all equal, around 1e30, -1e30 or -1e37");
    for (int64_t row = 0; row < ROWS; row++) {
        static const double sizes[] = {1e30, -1e30, -1e37};
        double x;
        do x = dtype_round(F32, check_uniform(c, 1.0, 9.0) * sizes[row % 3]);
        while (row == 0 && x * log2_e <= dtype_round(F32, x * log2_e));
        batch_fill_row(&b, row, x, x);
    }
    run(c, &b);

    // The smallest float is a score as well, and times log2(e) it is none any more.
    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "all equal, the smallest float or a little more");
    for (int64_t row = 0; row < ROWS; row++) {
        const double x = row % 2 ? -FLT_MAX : -FLT_MAX * check_uniform(c, 0.75, 1.0);
        batch_fill_row(&b, row, x, x);
    }
    run(c, &b);

    // Of the maximum all digits count, also where it has few.
    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "multiples of the smallest numbers");
    for (int64_t e = 0; e < b.x->count; e++)
        b.x->value[e] = ldexp((double)check_pick(c, -999, e / COLS % 2 ? 999 : -1), -149);
    run(c, &b);

    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "normal, times 30");
    fill_normal(c, b.x, 0.0, 30.0);
    run(c, &b);

    b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "one outlier");
    batch_fill(&b, -9.0, 1.0);
    for (int64_t row = 0; row < ROWS; row++)
        batch_row(&b, row)[check_pick(c, 1, COLS - 1)] = check_uniform(c, 120.0, 200.0);
    run(c, &b);

    // after whole sweeps of scores of a usual size
    b = batch_of(c, &contract, 4, 8 * COLS);
    batch_begin(&b, "a late outlier");
    batch_fill(&b, -9.0, 1.0);
    for (int64_t row = 0; row < b.rows; row++)
        batch_row(&b, row)[check_pick(c, 6 * COLS, 8 * COLS - 1)] = check_uniform(c, 120.0, 200.0);
    run(c, &b);
    rises_late(c);
    long_tail(c);
    long_plateau(c);
    few_equal(c);
}

// The scores shrink from call to call, so a maximum left from an earlier call shows.
static void three_calls(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    b.calls = 3;
    batch_begin(&b, "three calls");
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        batch_fill(&b, -1.0, 9.0 - 3.0 * call);
    }
    check_run(c);
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        compare(c, &b);
    }
    batch_grows(c, &contract, 2 * ROWS, 8 * COLS, (struct batch_call){fill, compare});
    batch_shared_again(c, &contract, 48 * COLS, (struct batch_call){fill, compare});
    batch_widens(c, &contract, COLS / 2, COLS, (struct batch_call){fill, compare});
}

static void arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"rows", 0}}},
        {COURSE_OK, {{"rows", 0}, {"m", 0}, {"l", 0}, {"x", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"stride_row", 127}}},
        {COURSE_BAD_ARGUMENT, {{"rows", (int64_t)1 << 31}, {"x", 0}}},
        {COURSE_UNSUPPORTED, {{"rows", (int64_t)1 << 31}}},
        {COURSE_UNSUPPORTED, {{"rows", ((int64_t)1 << 32) + 4}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}}},
        {COURSE_BAD_ARGUMENT, {{"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_row", 127}}},
        {COURSE_BAD_ARGUMENT, {{"m", 0}}},
        {COURSE_BAD_ARGUMENT, {{"l", 0}}},
        {COURSE_BAD_ARGUMENT, {{"x", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 1}, {"stride_row", 127}}},
        {0},
    };
    check_ordinary(c);
    run_random(c, 4);
    batch_idle_calls(c, &contract, calls, NULL);
}

// A tile, a block or a vector load that is larger than the array reads or writes past its end. So
// narrow rows, odd rows, rows apart and a number of rows that no block size divides are watched;
// and rows that begin at multiples of 16 bytes, but do not end there.
// The items above judge the results of such cases. Here the results have to be right for even
// sizes; after that only the accesses count.
static void safe(struct check* c) {
    const int64_t odd_rows = 4 * check_pick(c, 1, 3) + 2 * check_pick(c, 0, 1) + 1;
    const int64_t narrow_cols = check_pick(c, 2, 31), wide_cols = 2 * check_pick(c, 600, 1500) + 1;
    const int64_t fours = 4 * check_pick(c, 100, 200);
    const int64_t shapes[][3] = {{odd_rows, 1, 1},
                                 {odd_rows, fours, fours + 2 * check_pick(c, 0, 9) + 1},
                                 {odd_rows, fours - check_pick(c, 1, 3), fours},
                                 {check_pick(c, 9, 40), narrow_cols, narrow_cols},
                                 {odd_rows, narrow_cols, narrow_cols},
                                 {odd_rows, wide_cols, wide_cols + check_pick(c, 1, 40)}};
    check_watch(c, WATCH_CHECK);
    run_random(c, ROWS);
    for (int i = 0; i < 6; i++) {
        struct batch b = batch_of(c, &contract, shapes[i][0], shapes[i][1]);
        b.stride = shapes[i][2];
        batch_begin(&b, "accesses");
        batch_fill(&b, -9.0, 1.0);
        check_run(c);
    }
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    b.first = 2 * check_pick(c, 0, 15) + 1;
    batch_begin(&b, "accesses");
    batch_fill(&b, -9.0, 1.0);
    check_run(c);
    batch_misaligned(c, &contract, ROWS, COLS / 2, (struct batch_call){fill, compare});
    batch_row_after_row(c, &contract, 1);
}

// One pass: every score is loaded once (README, cost budget), by lanes that read side by side. A
// sector is 32 bytes, so lanes side by side move what they load; rows that begin anywhere, as they
// may, add a sector to the four of a warp.
static const struct arena_traffic* loaded_once(struct check* c, struct batch b) {
    batch_begin(&b, "rising");
    // By less than 8: a maximum that is kept for so long is not the largest of any long row.
    batch_fill_rising(&b);
    for (int64_t e = 0; e < b.x->count; e++) b.x->value[e] *= 0.6;
    run(c, &b);
    const struct arena_traffic* t = check_traffic(c);
    batch_at_most_once(c, &b, t);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved for each byte loaded",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.25);
    return t;
}

// The long row is more than the 64K registers of a multiprocessor hold: a block that keeps it has
// 2 KB of it, or more, in each of 1024 threads. No block has half of that. States of parts of the
// row may be kept. A tree in shared memory may have its barriers; a sweep along the row may not. A
// number may be stored for every 32 scores, for pieces of a row that are merged afterwards.
static void cheap(struct check* c) {
    enum { LONG = 1 << 19, OF_A_THREAD = 2000, OF_A_BLOCK = 1 << 20 };
    check_watch(c, WATCH_PROFILE);
    const struct arena_traffic* t = loaded_once(c, batch_of(c, &contract, ROWS, COLS));
    check_at_most(c, CAUSE_too_much_written, "numbers stored for each row",
                  (double)(t->global_store_bytes + t->filled_bytes) / (4.0 * ROWS), COLS / 32.0);
    // A launcher knows how many rows there are.
    loaded_once(c, batch_of(c, &contract, check_pick(c, 9, 40), 4 * check_pick(c, 270, 500)));
    loaded_once(c, batch_of(c, &contract, 4, 4 * check_pick(c, 2048, 6000)));
    t = loaded_once(c, batch_of(c, &contract, 1, LONG));
    check_at_most(c, CAUSE_too_many_barriers, "barriers of a block for a row",
                  (double)t->barriers / (double)check_blocks(c), 16.0);
    check_kept(c, CAUSE_row_kept, "score of a row", LONG, 0.5, OF_A_THREAD);
    t = check_traffic(c);
    check_at_most(c, CAUSE_row_kept,
                  "bytes of shared memory and of all threads' local arrays that a block has",
                  (double)(t->shared_bytes_per_block + t->local_bytes_per_block), OF_A_BLOCK);
}

static const struct item items[] = {
    {8, "narrow rows: 1 to 31 columns", narrow},
    {8, "wide rows, the last sweep partly filled", wide},
    {5, "any number of rows", any_rows},
    {5, "rows apart: stride_row > cols", strided},
    {6, "all scores negative", negative},
    {8, "-inf in rows, and rows of nothing else", masked},
    {8, "rising, equal and large scores", rising_equal_large},
    {3, "three calls, new data each time", three_calls},
    {3, "empty and bad arguments", arguments},
    {6, "no races, no stray accesses", safe},
    {40, "each score is loaded once", cheap},
    {0},
};

const struct lesson lesson = {.name = "10_online_softmax",
                              .items = items,
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .idea = {.what = "maximum and sum in one pass over the row",
                                       .paid_by = {cheap},
                                       .naive = "solutions/10_online_softmax/steps/1_two_pass.cu"},
                              .explain = explain};
