// diagnose.c: which pictures of small errors are called rounding, and which are not; what is said
// where NaN or an infinity is wanted, and of batches that nobody wrote.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "check/state.h"
#include "test/unit/run.h"

enum { ROWS = 16, COLUMNS = 32, N = ROWS * COLUMNS };

static double want[N], got[N];
static bool untouched[N], poison[N];

// A number in [-1, 1), the same in each run.
static double number(int i) {
    uint32_t x = (uint32_t)i * 2654435761u + 12345;
    x = (x ^ x >> 15) * 2246822519u;
    return (double)(x >> 8) / 0x1p23 - 1;
}

// What is said of got, of this shape and on this card, with a budget of 1e-6.
static enum cause said_as(struct shape shape, const char* card) {
    static struct check c;
    static struct result_item record;
    static float bytes[N];
    struct tensor_state state = {.want = want, .got = got, .poison = poison, .role = ARENA_OUTPUT};
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) count *= shape.dim[i];
    c = (struct check){.record = &record, .tensor_count = 1, .rounds = 1};
    snprintf(c.card, sizeof c.card, "CUDEV_CARD=%s", card);
    c.tensor[0] = (struct tensor){.name = "out",
                                  .dtype = F32,
                                  .shape = shape,
                                  .count = count,
                                  .want = want,
                                  .got = got,
                                  .untouched = untouched,
                                  .state = &state};
    for (int i = 0; i < N; i++) bytes[i] = (float)got[i];
    c.arena.bytes = (unsigned char*)bytes;
    const struct budget budget = {.max = 1e-6, .mean = 1e-6};
    struct comparison found = {.wrong = 0};
    for (int64_t i = 0; i < count; i++) {
        const double error = fabs(got[i] - want[i]);
        found.wrong += !(error <= budget.max);
        found.never_written += poison[i];
        found.nonfinite += !poison[i] && isfinite(want[i]) && !isfinite(got[i]);
        found.worst = fmax(found.worst, error);
    }
    ck_assert_int_gt(found.wrong, 0);
    return diagnose(&c, &c.tensor[0], budget, &found);
}

static enum cause said(int64_t rows, int64_t columns) {
    return said_as(SHAPE(rows, columns), "h100");
}

// want, and got with an error of each element.
static void fill(double (*error)(int i, double w)) {
    for (int i = 0; i < N; i++) {
        want[i] = 2 * number(i);
        got[i] = want[i] + error(i, want[i]);
    }
}

static double both_sides(int i, double w) {
    (void)w;
    return 0.01 * number(i + N);
}
static double cut_off(int i, double w) {  // the digits behind bfloat16's, at most
    return -w * 0x1p-8 * fabs(number(i + N));
}
static double factor_of_row(int i, double w) {  // another key in each row: not the same everywhere
    return w * (0.002 + 0.016 * (i / COLUMNS) / ROWS);
}
static double small_factor_of_row(int i, double w) {
    return factor_of_row(i, w) / 64;
}
static double either_factor(int i, double w) {  // a sum in half precision, a row divided by it
    return w * 0.01 * number(i / COLUMNS);
}
static double step_of_row(int i, double w) {
    (void)w;
    return 0.01 + 0.002 * number(i / COLUMNS);
}

START_TEST(test_rounding) {
    fill(both_sides);
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_low_precision);
    ck_assert_int_eq(said(N, 1), CAUSE_low_precision);
    fill(cut_off);
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_low_precision);
    fill(either_factor);
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_low_precision);
    fill(small_factor_of_row);  // no larger than half precision makes it
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_low_precision);
}
END_TEST

START_TEST(test_one_sided) {
    fill(factor_of_row);
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_unknown);
    fill(step_of_row);
    ck_assert_int_eq(said(ROWS, COLUMNS), CAUSE_unknown);
    ck_assert_int_eq(said(N, 1), CAUSE_unknown);
}
END_TEST

// Element 7 is w and becomes g; all others are right.
static enum cause said_of(double w, double g) {
    for (int i = 0; i < N; i++) got[i] = want[i] = number(i);
    want[7] = w;
    got[7] = g;
    return said(ROWS, COLUMNS);
}

START_TEST(test_not_finite) {
    ck_assert_int_eq(said_of(NAN, 0.5), CAUSE_nan_lost);
    ck_assert_int_eq(said_of(INFINITY, 0.5), CAUSE_nan_lost);
    ck_assert_int_eq(said_of(NAN, -INFINITY), CAUSE_nan_lost);
    ck_assert_int_eq(said_of(INFINITY, NAN), CAUSE_infinity_lost);
    ck_assert_int_eq(said_of(-INFINITY, NAN), CAUSE_infinity_lost);
    ck_assert_int_eq(said_of(INFINITY, -INFINITY), CAUSE_unknown);
    ck_assert_int_eq(said_of(0.5, NAN), CAUSE_unknown);
}
END_TEST

// 19 batches of 3 rows, of which only the first ones are written.
static enum cause said_of_first(int64_t written, const char* card) {
    enum { BATCHES = 19, OF_BATCH = 3, OF_ROW = 8 };
    for (int64_t i = 0; i < BATCHES * OF_BATCH * OF_ROW; i++) {
        poison[i] = i >= written * OF_BATCH * OF_ROW;
        want[i] = number((int)i);
        got[i] = poison[i] ? NAN : want[i];
    }
    const enum cause cause = said_as(SHAPE(BATCHES, OF_BATCH, OF_ROW), card);
    for (int i = 0; i < N; i++) poison[i] = false;
    return cause;
}

START_TEST(test_grid_or_blocks_that_stay) {
    ck_assert_int_eq(said_of_first(8, "h100-1g"), CAUSE_grid_limit);
    ck_assert_int_eq(said_of_first(16, "h100"), CAUSE_grid_limit);
    ck_assert_int_eq(said_of_first(16, "h100-1g"), CAUSE_never_written);  // it has so many
}
END_TEST

// What is said where of each of two batches the last rows were never written.
static enum cause said_of_batches_without(int last) {
    enum { OF_BATCH = 18, OF_ROW = 8 };
    for (int i = 0; i < N; i++) {
        want[i] = number(i);
        poison[i] = i / OF_ROW % OF_BATCH >= OF_BATCH - last;
        got[i] = poison[i] ? NAN : want[i];
    }
    const enum cause cause = said_as(SHAPE(2, OF_BATCH, OF_ROW), "h100");
    for (int i = 0; i < N; i++) poison[i] = false;
    return cause;
}

START_TEST(test_tail_of_each_batch) {
    ck_assert_int_eq(said_of_batches_without(2), CAUSE_tail_dropped);
    ck_assert_int_eq(said_of_batches_without(5), CAUSE_never_written);  // no tile leaves so many
}
END_TEST

// check/ expects a lesson; these tests need none.
const struct lesson lesson = {.name = "00_none"};

int main(void) {
    const TTest* const tests[] = {test_rounding, test_one_sided, test_not_finite,
                                  test_grid_or_blocks_that_stay, test_tail_of_each_batch};
    const int TESTS = (int)(sizeof tests / sizeof tests[0]);
    Suite* suite = suite_create("diagnose");
    TCase* t = tcase_create("diagnose");
    for (int i = 0; i < TESTS; i++) tcase_add_test(t, tests[i]);
    suite_add_tcase(suite, t);
    return run_suite(suite, TESTS);
}
