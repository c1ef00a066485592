// check.c: what lesson 03, reduction, is graded on.
//
// Nearly everywhere the elements are small whole numbers: every partial sum is exact in a float,
// whatever the order, so the budget is exact equality. None is 0, so no element can be lost
// unseen. Only the item on precision adds real numbers.
//
// Each item sets one trap. Except for an item's trap, cases have 512 or 1024 columns, rows in
// multiples of 8, a positive element in every row, and no gaps. Sums stay below 2048 in size, so
// that even 16-bit floats hold them: that is the trap of the item on precision alone.
#include "check/check.h"
#include "mistakes.h"
#include "reduction.h"
#include "rows/batch.h"
#include "wall/arena.h"

#include <math.h>
#include <string.h>

enum { ROWS = 8, COLS = 1024 };

static const struct rows contract = {.out = {"sum", "max"}, .of_equal = {SUM, ITSELF}};

// ---- cases

// One of -4..4, but not 0.
static double digit(struct check* c) {
    int64_t d = check_pick(c, 1, 8);
    return (double)(d <= 4 ? d : 4 - d);
}

// Digits, and one larger number in each row, anywhere: its maximum. In the last row it comes last.
static void fill_rows(struct check* c, const struct batch* b) {
    for (int64_t row = 0; row < b->rows; row++) {
        for (int64_t j = 0; j < b->cols; j++) batch_row(b, row)[j] = digit(c);
        int64_t peak = row == b->rows - 1 ? b->cols - 1 : check_pick(c, 0, b->cols - 1);
        batch_row(b, row)[peak] = (double)check_pick(c, 5, 9);
    }
}

// sum = sum_j x_j,  max = max_j x_j                                       (README eq. 1)
static void want_all(const struct batch* b) {
    for (int64_t row = 0; row < b->rows; row++) {
        struct pair p = reduce(batch_row(b, row), b->cols);
        for (int i = 0; i < 2; i++) b->out[i]->want[row] = p.number[i];
    }
}

static void compare(struct check* c, struct batch* b, struct budget of_sum) {
    b->tolerance[0] = of_sum.max;
    check_compare(c, b->out[0], of_sum);
    check_compare(c, b->out[1], budget_exact());
}

static void judge(struct check* c, struct batch* b) {
    want_all(b);
    compare(c, b, budget_exact());
}

static void run(struct check* c, struct batch* b) {
    check_run(c);
    judge(c, b);
}

static void run_digits(struct check* c, const char* what, int64_t rows, int64_t cols) {
    struct batch b = batch_of(c, &contract, rows, cols);
    batch_begin(&b, what);
    fill_rows(c, &b);
    run(c, &b);
}

// Rows wider than a block can keep, of 1, -1 and their maximum: digits would add up to more.
static void run_ones(struct check* c, int64_t rows, int64_t cols) {
    struct batch b = batch_of(c, &contract, rows, cols);
    batch_begin(&b, "very wide");
    check_mix_blocks(c);
    fill_rows(c, &b);
    for (int64_t e = 0; e < b.x->count; e++)
        if (b.x->value[e] < 5) b.x->value[e] = copysign(1, b.x->value[e]);
    run(c, &b);
}

// ---- items

// Fewer elements than a block has threads, or a warp has lanes: most have none.
static void narrow(struct check* c) {
    for (int64_t cols = 31; cols <= 33; cols++) run_digits(c, "narrow", ROWS, cols);
    run_digits(c, "narrow", ROWS, check_pick(c, 2, 30));
    run_digits(c, "narrow", ROWS, 1);
}

// More elements than any block takes in one sweep, and a last sweep that is partly filled.
static void wide(struct check* c) {
    run_digits(c, "wide", ROWS, 4321);
    run_digits(c, "wide", ROWS, 2 * check_pick(c, 1030, 3000) + 1);
    static const int64_t hard[] = {1000, 1002, 1004, 1023, 1025};
    for (int i = 0; i < 5; i++) run_digits(c, "wide", ROWS, hard[i]);
    run_ones(c, ROWS, 2 * check_pick(c, 33000, 40000) + 1);
    run_ones(c, 1, ((int64_t)1 << 20) + 1);
    batch_launches(c, &contract, 1008, 1040);
    batch_wide(c, &contract);
}

static void any_rows(struct check* c) {
    run_digits(c, "many rows", 8 * check_pick(c, 4, 6) + check_pick(c, 1, 7), COLS);
    run_digits(c, "one row", 1, COLS);
    batch_many_rows(c, &contract, COLS / 2, (struct batch_call){fill_rows, judge});
    batch_reaches(c, &contract);
    batch_many_wide_rows(c, &contract);
}

static void strided(struct check* c) {
    batch_apart(c, &contract, ROWS, COLS, 10, (struct batch_call){fill_rows, judge});
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    if (!batch_begin_far(&b)) return;
    fill_rows(c, &b);
    run(c, &b);
}

// Rows of -1 and -2, -2 and -3, -3 and -4; one row of nothing but -inf, one row of -inf except for
// one element, and one that begins with one -inf. A -0 is above the negative numbers of its row.
// The last row has positive numbers, too: where sums are compared they show there, as no 0 does.
static void negative(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS / 2);
    batch_begin(&b, "negative");
    for (int64_t row = 0; row < b.rows; row++)
        for (int64_t j = 0; j < b.cols; j++)
            batch_row(&b, row)[j] = -(double)(1 + row % 3 + check_pick(c, 0, 1));
    int64_t shown = check_pick(c, 0, b.cols - 1);
    batch_row(&b, 3)[shown] = -0.0;
    for (int64_t j = 0; j < b.cols; j++) {
        batch_row(&b, 2)[j] = -INFINITY;
        if (j != shown) batch_row(&b, 5)[j] = -INFINITY;
    }
    batch_row(&b, 6)[0] = -INFINITY;
    for (int64_t j = 0; j < b.cols; j += 2) batch_row(&b, b.rows - 1)[j] *= -1;
    run(c, &b);
    // In narrow rows few lanes have a number, in wide ones several blocks may share a row: for them
    // there may be other kernels, which begin with other maxima.
    const int64_t cols[] = {5, check_pick(c, 17, 31), 65 * COLS};
    for (int i = 0; i < 3; i++) {
        b = batch_of(c, &contract, i < 2 ? ROWS : 1, cols[i]);
        batch_begin(&b, "negative");
        for (int64_t e = 0; e < b.x->count; e++) b.x->value[e] = -(double)(2 + e % 2);
        run(c, &b);
    }
    // A -0 where several blocks may share a row.
    b = batch_of(c, &contract, 1, 65 * COLS);
    batch_begin(&b, "negative, but for a -0");
    for (int64_t j = 0; j < b.cols; j++) b.x->value[j] = -(double)(1 + j % 2);
    const int64_t zero = check_pick(c, 0, b.cols - 1);
    b.x->value[zero] = -0.0;
    // Without it, and with a part of the row lost, the maximum is not the same.
    b.x->value[(zero + b.cols / 2) % b.cols] = -0.5;
    run(c, &b);
}

// A NaN has a sign and 22 bits of its own; a GPU makes the second of these.
static double some_nan(int64_t which) {
    static const uint32_t bits[] = {0x7fc00000, 0x7fffffff, 0xffc12345};
    float f;
    memcpy(&f, &bits[which % 3], sizeof f);
    return f;
}

// A row of nothing but NaN, or of one, has no number for a maximum.
static void nothing_but_nan(struct check* c) {
    const int64_t cols[] = {COLS, 1};
    for (int i = 0; i < 2; i++) {
        struct batch b = batch_of(c, &contract, ROWS, cols[i]);
        batch_begin(&b, "rows of NaN");
        fill_rows(c, &b);
        for (int64_t row = 0; row < ROWS; row += 3)
            for (int64_t j = 0; j < b.cols; j++) batch_row(&b, row)[j] = some_nan(row / 3);
        run(c, &b);
    }
}

// The last number of a sweep that is partly filled: beyond it there is none to be taken 0 times.
static void last_not_finite(struct check* c) {
    static const double last[] = {INFINITY, -INFINITY, NAN};
    struct batch b = batch_of(c, &contract, 3, 2 * check_pick(c, 550, 1000) + 1);
    batch_begin(&b, "infinity or NaN last");
    fill_rows(c, &b);
    for (int row = 0; row < 3; row++) batch_row(&b, row)[b.cols - 1] = last[row];
    run(c, &b);
}

// All other rows must not know of it. In row 6 the numbers come first, the largest among them; then
// a thread that has that one meets a NaN, or one of each kind. In row 7 there is none.
static void not_finite(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "infinities and NaN");
    fill_rows(c, &b);
    batch_row(&b, 1)[check_pick(c, 0, COLS - 2)] = INFINITY;
    batch_row(&b, 2)[check_pick(c, 0, COLS - 2)] = -INFINITY;
    batch_row(&b, 3)[check_pick(c, 0, COLS - 2)] = NAN;
    batch_row(&b, 4)[check_pick(c, 0, COLS / 2)] = INFINITY;
    batch_row(&b, 4)[check_pick(c, COLS / 2 + 1, COLS - 2)] = -INFINITY;
    batch_row(&b, 5)[COLS - 1] = INFINITY;
    for (int64_t j = COLS / 2; j < COLS; j++) batch_row(&b, 6)[j] = some_nan(j < 3 * COLS / 4);
    batch_row(&b, 6)[check_pick(c, 0, COLS / 2 - 1)] = 10.0;
    run(c, &b);
    nothing_but_nan(c);
    last_not_finite(c);
}

// sum_j x_j in float, halving: the error grows with log n.
static float pairwise(const double* x, int64_t n) {
    if (n == 1) return (float)x[0];
    return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

// Whole numbers of 12 bits, of either sign: 11 bits cannot hold one of them, a float holds any
// sum of 5000. In a wider row those are here and there among smaller ones.
static void run_wide_numbers(struct check* c, int64_t cols) {
    enum { LARGE = 4500 };
    struct batch b = batch_of(c, &contract, ROWS, cols);
    const int64_t one_of = 1 + cols / LARGE;
    batch_begin(&b, "numbers of 12 bits");
    fill_rows(c, &b);
    for (int64_t e = 0; e < b.x->count; e += one_of)
        b.x->value[e] =
            (double)((2 * check_pick(c, 1024, 1535) + 1) * (check_pick(c, 0, 1) * 2 - 1));
    run(c, &b);
}

// Every third row is of whole multiples of the smallest float; their sums are subnormal, and exact.
static void run_smallest(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    batch_begin(&b, "rows of subnormal numbers");
    fill_rows(c, &b);
    for (int64_t row = 1; row < ROWS; row += 3)
        for (int64_t j = 0; j < b.cols; j++)
            batch_row(&b, row)[j] = ldexp(batch_row(&b, row)[j], -149);
    run(c, &b);
}

// The standard is pairwise summation in float. A plain loop over the columns is less exact, but
// with 512 of them, around 0, it stays below half of the budget; sums of 11 bits exceed it a
// hundred times.
static void precise(struct check* c) {
    enum { MANY = 16 };
    struct batch b = batch_of(c, &contract, MANY, COLS / 2);
    batch_begin(&b, "real numbers");
    fill_normal(c, b.x, 0.0, 1.0);
    check_run(c);
    want_all(&b);
    double standard[MANY];
    for (int64_t row = 0; row < MANY; row++) standard[row] = pairwise(batch_row(&b, row), b.cols);
    compare(c, &b, budget_from(b.out[0], standard));
    run_wide_numbers(c, 2 * check_pick(c, 2100, 4000) + 1);
    run_wide_numbers(c, 40001);
    run_smallest(c);
}

// The numbers shrink from call to call, so a maximum left from an earlier call shows.
static void three_calls(struct check* c) {
    struct batch b = batch_of(c, &contract, ROWS, COLS);
    b.calls = 3;
    batch_begin(&b, "three calls");
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        fill_rows(c, &b);
        for (int64_t i = 0; i < b.x->count; i++) b.x->value[i] = fmin(b.x->value[i], 9 - 3 * call);
    }
    check_run(c);
    for (int call = 0; call < b.calls; call++) {
        check_round(c, call);
        judge(c, &b);
    }
    batch_grows(c, &contract, 2 * ROWS, 8 * COLS, (struct batch_call){fill_rows, judge});
    batch_shared_again(c, &contract, 48 * COLS, (struct batch_call){fill_rows, judge});
    batch_widens(c, &contract, COLS / 2, COLS, (struct batch_call){fill_rows, judge});
}

static void arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"rows", 0}}},
        {COURSE_OK, {{"rows", 0}, {"x", 0}}},
        {COURSE_OK, {{"rows", 0}, {"sum", 0}, {"max", 0}, {"x", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}}},
        {COURSE_BAD_ARGUMENT, {{"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_row", 127}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 1}, {"stride_row", 127}}},
        {COURSE_BAD_ARGUMENT, {{"cols", ((int64_t)1 << 32) + 1}}},
        {COURSE_BAD_ARGUMENT, {{"sum", 0}}},
        {COURSE_BAD_ARGUMENT, {{"max", 0}}},
        {COURSE_BAD_ARGUMENT, {{"x", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"stride_row", 127}}},
        {COURSE_BAD_ARGUMENT, {{"rows", (int64_t)1 << 31}, {"x", 0}}},
        {COURSE_UNSUPPORTED, {{"rows", (int64_t)1 << 31}}},
        {COURSE_UNSUPPORTED, {{"rows", ((int64_t)1 << 32) + 4}}},
        {0},
    };
    check_ordinary(c);
    run_digits(c, "good arguments", ROWS, COLS);
    batch_idle_calls(c, &contract, calls, NULL);
}

// What such rows give is for the items above; here their accesses are watched alone. An odd number
// of rows is no whole number of warps where several rows share one.
static void watch_narrow(struct check* c) {
    const int64_t cols[] = {1, check_pick(c, 2, 3), check_pick(c, 5, 16), check_pick(c, 17, 31)};
    for (int i = 0; i < 4; i++) {
        struct batch b = batch_of(c, &contract, 4 * check_pick(c, 1, 3) + 1, cols[i]);
        // and so begins the last row: behind a multiple of 16 bytes, or there, to end behind one
        b.first = cols[i] % 2 == 0;
        batch_begin(&b, "accesses");
        fill_rows(c, &b);
        check_run(c);
    }
}

// Whole sweeps, so many rows that some designs take two in a block, and last sweeps that are partly
// filled. (Threads or blocks without anything to do have items of their own.)
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    run_digits(c, "many rows", 2 * ROWS + check_pick(c, 0, 8), COLS);
    run_digits(c, "ragged", ROWS, 1000);
    // The last row begins and ends at an even number of floats: behind it is no other one.
    run_digits(c, "ragged", ROWS + 1, 2 * check_pick(c, 130, 250) + 1);
    struct batch b = batch_of(c, &contract, ROWS, COLS / 2);
    b.first = 2 * check_pick(c, 0, 15) + 1;
    batch_begin(&b, "whole rows");
    fill_rows(c, &b);
    run(c, &b);
    b = batch_of(c, &contract, ROWS, 1000 - check_pick(c, 1, 3));
    b.stride = 1000;
    batch_begin(&b, "rows of whole float4s, but for the last");
    fill_rows(c, &b);
    run(c, &b);
    b = batch_of(c, &contract, ROWS, 1000);
    b.stride = 1000 + 2 * check_pick(c, 0, 15) + 1;
    batch_begin(&b, "whole float4s in rows that begin anywhere");
    fill_rows(c, &b);
    run(c, &b);
    batch_misaligned(c, &contract, ROWS, COLS / 2, (struct batch_call){fill_rows, judge});
    batch_row_after_row(c, &contract, 1);
    watch_narrow(c);
}

static const struct arena_traffic* moved_of(struct check* c, int64_t rows, int64_t cols) {
    check_watch(c, WATCH_PROFILE);
    run_digits(c, "traffic", rows, cols);
    return check_traffic(c);
}

static const struct arena_traffic* moved(struct check* c) {
    return moved_of(c, ROWS, 2 * COLS);
}

static const double bytes_of_x = 4.0 * ROWS * 2 * COLS;  // in moved()

// The minimum is 1, 1 and 2. A kernel may read a few numbers besides x: 1 %. The rows begin at
// whole sectors, so loads of neighbouring elements, of 4 bytes or of 16, move nothing in vain; the
// quarter is for designs that read a few pieces apart. What is moved in vain counts for each byte
// of x, too: else useless loads would make up for it. One thread per row moves 8 times what it
// loads, and so do threads that each have a piece of the row.
static void judge_coalesced(struct check* c, const struct arena_traffic* t, double of_x) {
    check_at_most(c, CAUSE_uncoalesced, "bytes moved in 32-byte sectors for each byte loaded",
                  fmax(32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes,
                       1 + 32.0 * (double)t->global_load_excess_sectors / of_x),
                  1.25);
}

// More than two sweeps of 8192: a kernel that ends after the first is not one that drops a rest.
static int64_t ragged_wide(struct check* c) {
    return 2 * check_pick(c, 8250, 9000) + 1;
}

static void reads_once(struct check* c) {
    const struct arena_traffic* t = moved(c);
    check_at_most(c, CAUSE_too_much_read, "times that each element of x is loaded",
                  (double)t->global_load_bytes / bytes_of_x, 1.01);
    judge_coalesced(c, t, bytes_of_x);
    check_at_most(c, CAUSE_too_much_written, "numbers stored for each row",
                  (double)(t->global_store_bytes + t->filled_bytes) / (4.0 * ROWS), 2.0);
    // Threads without an element in the last sweep may load one that another has.
    // A kernel of its own may have the longest rows.
    const int64_t other[] = {COLS / 2, ragged_wide(c), 2 * check_pick(c, 35000, 60000) + 1};
    for (int i = 0; i < 3; i++) {
        const int64_t rows = i == 0 ? check_pick(c, 9, 40) : i < 2 ? ROWS : 1;
        check_at_most(c, CAUSE_too_much_read, "times that each element of x is loaded",
                      (double)moved_of(c, rows, other[i])->global_load_bytes /
                          (4.0 * (double)(rows * other[i])),
                      i == 0 ? 1.01 : 1.01 + 1024.0 / (double)other[i]);
        if (i == 0) judge_coalesced(c, check_traffic(c), 4.0 * (double)(rows * other[i]));
    }
}

// A thread that sums a row alone needs no barrier, and earns nothing for that: its loads are not
// coalesced.
static void few_barriers(struct check* c) {
    const struct arena_traffic* t = moved(c);
    judge_coalesced(c, t, bytes_of_x);
    check_at_most(c, CAUSE_too_many_barriers, "barriers for each row", (double)t->barriers / ROWS,
                  2.0);
    t = moved_of(c, ROWS, ragged_wide(c));
    check_at_most(c, CAUSE_too_many_barriers, "barriers for each row", (double)t->barriers / ROWS,
                  2.0);
    const int64_t rows = 4 * check_pick(c, 3, 10);  // whole blocks of a warp each
    t = moved_of(c, rows, COLS);
    judge_coalesced(c, t, 4.0 * (double)(rows * COLS));
    check_at_most(c, CAUSE_too_many_barriers, "barriers for each row",
                  (double)t->barriers / (double)rows, 2.0);
}

static const struct item items[] = {
    {8, "narrow rows: 1 to 33 columns", narrow},
    {11, "wide rows, the last sweep partly filled", wide},
    {5, "any number of rows", any_rows},
    {5, "rows apart: stride_row > cols", strided},
    {6, "all elements negative, down to -inf", negative},
    {4, "infinities and NaN", not_finite},
    {4, "real numbers, in full float precision", precise},
    {3, "three calls, new data each time", three_calls},
    {4, "empty and bad arguments", arguments},
    {10, "no races, no stray accesses", safe},
    {25, "each element is read once, by neighbours together", reads_once},
    {15, "at most two barriers per row", few_barriers},
    {0},
};

const struct lesson lesson = {
    .name = "03_reduction",
    .items = items,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .without_exp = true,
    .idea = {.what = "the threads of a warp share a row, and shuffles add it up",
             .paid_by = {reads_once, few_barriers},
             .naive = "solutions/03_reduction/steps/1_serial.cu"},
    .mistakes = mistakes,
    .explain = explain};
