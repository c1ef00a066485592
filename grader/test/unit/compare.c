// compare.c: the comparer's own tests: every class of value, and both sides of the boundary.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "check/check.h"
#include "check/compare.h"
#include "test/unit/run.h"

static enum verdict judge(double want, double got, double tolerance) {
    return compare_element(want, got, false, false, tolerance);
}

START_TEST(test_boundary) {
    const double tolerances[] = {1e-30, 1e-6, 1e-3, 0.5, 1.0, 1e10};
    const double tolerance = tolerances[_i];
    ck_assert_int_eq(judge(0, tolerance, tolerance), RIGHT);
    ck_assert_int_eq(judge(0, -tolerance, tolerance), RIGHT);
    ck_assert_int_eq(judge(0, tolerance * (1 - 1e-15), tolerance), RIGHT);
    ck_assert_int_eq(judge(0, tolerance * (1 + 1e-15), tolerance), WRONG);
    ck_assert_int_eq(judge(0, -tolerance * (1 + 1e-15), tolerance), WRONG);
}
END_TEST

START_TEST(test_exact) {
    ck_assert_int_eq(judge(3, 3, 0), RIGHT);
    ck_assert_int_eq(judge(0.0, -0.0, 0), RIGHT);
    ck_assert_int_eq(judge(3, nextafter(3, 4), 0), WRONG);
}
END_TEST

START_TEST(test_nan_never_passes) {
    ck_assert_int_eq(judge(1, NAN, 1e30), WRONG);
    ck_assert_int_eq(judge(INFINITY, NAN, INFINITY), WRONG);
    ck_assert_int_eq(judge(1, 1, NAN), WRONG);  // nor does a tolerance that is one
    ck_assert_int_eq(judge(NAN, NAN, 0), RIGHT);
    ck_assert_int_eq(judge(NAN, 1, 1e30), WRONG);
}
END_TEST

START_TEST(test_infinities) {
    ck_assert_int_eq(judge(INFINITY, INFINITY, 0), RIGHT);
    ck_assert_int_eq(judge(-INFINITY, -INFINITY, 0), RIGHT);
    ck_assert_int_eq(judge(INFINITY, -INFINITY, INFINITY), WRONG);
    ck_assert_int_eq(judge(INFINITY, 1e308, INFINITY), WRONG);
    ck_assert_int_eq(judge(1e308, INFINITY, INFINITY), WRONG);
    ck_assert_int_eq(judge(0, -INFINITY, INFINITY), WRONG);
}
END_TEST

START_TEST(test_poison) {
    ck_assert_int_eq(compare_element(1, NAN, true, false, 1e30), NEVER_WRITTEN);
    ck_assert_int_eq(compare_element(NAN, NAN, true, false, 1e30), NEVER_WRITTEN);
    ck_assert_int_eq(compare_element(1, NAN, true, true, 0), RIGHT);
    ck_assert_int_eq(compare_element(1, 1, false, true, 0), TOUCHED);
}
END_TEST

START_TEST(test_array) {
    const double want[] = {1, 2, 3, 4}, got[] = {1, 2.5, NAN, 4};
    const bool poisoned[] = {false, false, false, true};
    struct comparison c =
        compare(want, got, poisoned, NULL, 4, (struct budget){.max = 0.4, .mean = 1});
    ck_assert_int_eq(c.count, 4);
    ck_assert_int_eq(c.wrong, 3);
    ck_assert_int_eq(c.never_written, 1);
    ck_assert_int_eq(c.nonfinite, 1);
    ck_assert_int_eq(c.first, 1);
    ck_assert_int_eq(c.worst_at, 1);
    ck_assert_double_eq(c.worst, 0.5);
    ck_assert(!comparison_passes(&c));
}
END_TEST

START_TEST(test_short_write) {
    enum { N = 100 };
    double want[N], got[N];
    bool poisoned[N] = {false};
    for (int i = 0; i < N; i++) want[i] = got[i] = i;
    struct comparison c = compare(want, got, poisoned, NULL, N, budget_exact());
    ck_assert(comparison_passes(&c));
    poisoned[N - 1] = true;  // one element short
    c = compare(want, got, poisoned, NULL, N, budget_exact());
    ck_assert(!comparison_passes(&c));
    ck_assert_int_eq(c.first, N - 1);
}
END_TEST

// What lies between the rows is counted apart, and only if it was written.
START_TEST(test_gaps) {
    const double want[] = {1, 2, 0, 3, 4, 0}, got[] = {1, 9, 7, 3, 9, 0};
    const bool gap[] = {false, false, true, false, false, true};
    const bool poisoned[] = {false, false, false, false, false, true};
    struct comparison c = compare(want, got, poisoned, gap, 6, budget_exact());
    ck_assert_int_eq(c.expected, 4);
    ck_assert_int_eq(c.touched, 1);
    ck_assert_int_eq(c.wrong - c.touched, 2);
}
END_TEST

START_TEST(test_mean) {
    const double want[] = {0, 0, 0, 0}, got[] = {1, 1, 1, 1};
    struct comparison c = compare(want, got, NULL, NULL, 4, (struct budget){.max = 1, .mean = 0.9});
    ck_assert_int_eq(c.wrong, 0);
    ck_assert(c.mean_exceeded);
    ck_assert(!comparison_passes(&c));
    ck_assert_int_ge(c.first, 0);
}
END_TEST

START_TEST(test_bias) {
    const double want[] = {4, -4, 8, -8}, near[] = {4.5, -3.5, 7.5, -8.5};
    const double cut[] = {3.5, -3.5, 7.5, -7.5};
    const struct budget both = {.max = 1, .mean = 1}, one = {.max = 1, .mean = 1, .bias = 0.25};
    struct comparison c = compare(want, cut, NULL, NULL, 4, both);
    ck_assert_double_eq(c.bias, -0.5);
    ck_assert(comparison_passes(&c));
    c = compare(want, cut, NULL, NULL, 4, one);
    ck_assert(c.bias_exceeded && c.wrong == 0);
    ck_assert_int_ge(c.first, 0);
    ck_assert(!comparison_passes(&c));
    c = compare(want, near, NULL, NULL, 4, one);
    ck_assert_double_eq(c.mean, 0.5);
    ck_assert(comparison_passes(&c));
}
END_TEST

// ---- budget_from(): the tolerance, with numbers that can be worked out by hand

static struct budget budget_of(enum dtype dtype, double* want, const double* standard,
                               bool* untouched) {
    const struct tensor t = {.dtype = dtype,
                             .shape = {.rank = 2, .dim = {4, 1}},
                             .count = 4,
                             .want = want,
                             .untouched = untouched};
    return budget_from(&t, standard);
}

// The last places of 4 are 2^-21 in fp32, 2^-8 in fp16 and 2^-5 in bf16.
START_TEST(test_budget_of_fp32) {
    double want[] = {1, 2, -4, 3};
    const double standard[] = {1 + 0x1p-20, 2, -4 - 0x1p-21, 3};
    bool untouched[4] = {false};
    const struct budget budget = budget_of(F32, want, standard, untouched);
    ck_assert_double_eq(budget.max, 8 * 0x1p-20 + 8 * 0x1p-21);
    ck_assert_double_eq(budget.mean, 8 * (0x1p-20 + 0x1p-21) / 4 + 2 * 0x1p-21);
    ck_assert_double_eq(budget.bias, 0);  // no limit
}
END_TEST

// What no kernel writes counts for nothing, nor does what is not finite on either side.
START_TEST(test_budget_of_some) {
    double want[] = {4, 1e30, INFINITY, 8};
    const double standard[] = {4.5, 0, 1, NAN};
    bool untouched[4] = {false, true};
    const struct budget budget = budget_of(F32, want, standard, untouched);
    ck_assert_double_eq(budget.max, 8 * 0.5 + 8 * 0x1p-21);
    ck_assert_double_eq(budget.mean, 8 * 0.5 + 2 * 0x1p-21);
    untouched[0] = true;
    const struct budget none = budget_of(F32, want, standard, untouched);
    ck_assert_double_eq(none.max, 8 * 0x1p-149);
    ck_assert_double_eq(none.mean, 2 * 0x1p-149);
}
END_TEST

// The rounding of results is all of the error: no factor of fp32. Four equal rows are one.
START_TEST(test_budget_of_rounding) {
    double want[] = {1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9};
    const double standard[] = {1, 1, 1, 1};
    bool untouched[4] = {false};
    const struct budget budget = budget_of(BF16, want, standard, untouched);
    ck_assert_double_eq(budget.max, 3 * 0x1p-9 + 0x1p-7);
    ck_assert_double_eq(budget.mean, 2 * 0x1p-9 + 0x1p-7 / 32);
    ck_assert_double_eq(budget.bias, (1.5 + 0.5 + 4) * 0x1p-9 + 0x1p-7 / 64);
}
END_TEST

// Rounding explains nothing of the error, which is 8 times as much more; four different rows.
START_TEST(test_budget_of_sums_that_cancel) {
    double want[] = {1, 2, -4, 3};
    const double standard[] = {1 + 0x1p-6, 2, -4, 3};
    bool untouched[4] = {false};
    const double ulp = _i ? 0x1p-8 : 0x1p-5, mean = 0x1p-8;
    const struct budget budget = budget_of(_i ? F16 : BF16, want, standard, untouched);
    ck_assert_double_eq(budget.max, (3 + 8) * 0x1p-6 + ulp);
    ck_assert_double_eq(budget.mean, (2 + 8) * mean + ulp / 32);
    ck_assert_double_eq(budget.bias, (1.5 + 0.5 + 4.0 / 2 + 8) * mean + ulp / 64);
}
END_TEST

// Up to two roundings are explained.
START_TEST(test_budget_at_two_roundings) {
    double want[] = {1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9};
    double standard[] = {1 - 0x1p-9, 1 - 0x1p-9, 1 - 0x1p-9, 1 - 0x1p-9};
    bool untouched[4] = {false};
    struct budget budget = budget_of(BF16, want, standard, untouched);
    ck_assert_double_eq(budget.max, 3 * 0x1p-8 + 0x1p-7);
    for (int i = 0; i < 4; i++) standard[i] -= 0x1p-12;
    budget = budget_of(BF16, want, standard, untouched);
    ck_assert_double_eq(budget.max, 3 * (0x1p-8 + 0x1p-12) + 0x1p-7 + 8 * 0x1p-12);
}
END_TEST

// Equal rows have equal errors, which do not level out: there rounding may err to one side.
START_TEST(test_bias_of_equal_rows) {
    enum { ROWS = 1024, COLUMNS = 4 };
    static double want[ROWS * COLUMNS], standard[ROWS * COLUMNS];
    static bool untouched[ROWS * COLUMNS];
    struct tensor t = {.dtype = BF16,
                       .shape = {.rank = 2, .dim = {ROWS, COLUMNS}},
                       .count = ROWS * COLUMNS,
                       .want = want,
                       .untouched = untouched};
    for (int other = 0; other < 2; other++) {
        double error = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            want[i] = 1 + 0x1p-10 * (i % COLUMNS) + (other ? 0x1p-20 * (i / COLUMNS) : 0);
            standard[i] = want[i] + (i % 2 ? 0x1p-9 : -0x1p-9);
            error += 0x1p-9 / (ROWS * COLUMNS);
        }
        const struct budget budget = budget_from(&t, standard);
        if (other)
            ck_assert_double_lt(budget.bias, error);
        else
            ck_assert_double_gt(budget.bias, error);
    }
}
END_TEST

START_TEST(test_nothing_is_no_pass) {
    struct comparison c = compare(NULL, NULL, NULL, NULL, 0, budget_exact());
    ck_assert(!comparison_passes(&c));
}
END_TEST

// check/ expects a lesson; these tests need none.
const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("compare");
    TCase* t = tcase_create("compare");
    tcase_add_loop_test(t, test_boundary, 0, 6);
    tcase_add_test(t, test_exact);
    tcase_add_test(t, test_nan_never_passes);
    tcase_add_test(t, test_infinities);
    tcase_add_test(t, test_poison);
    tcase_add_test(t, test_array);
    tcase_add_test(t, test_short_write);
    tcase_add_test(t, test_gaps);
    tcase_add_test(t, test_bias);
    tcase_add_test(t, test_budget_of_fp32);
    tcase_add_test(t, test_budget_of_some);
    tcase_add_test(t, test_budget_of_rounding);
    tcase_add_loop_test(t, test_budget_of_sums_that_cancel, 0, 2);
    tcase_add_test(t, test_budget_at_two_roundings);
    tcase_add_test(t, test_bias_of_equal_rows);
    tcase_add_test(t, test_mean);
    tcase_add_test(t, test_nothing_is_no_pass);
    suite_add_tcase(suite, t);
    return run_suite(suite, 23);
}
