// hypothesis.c: the comparer of hypotheses: what is like a guess, what proves it, and the search.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "check/hypothesis.h"
#include "check/state.h"
#include "test/unit/run.h"

enum { N = 4 };

// An output of N elements that are wanted to be 1, 2, 3, 4.
struct output {
    struct tensor t;
    struct tensor_state state;
    double want[N], got[N];
    bool untouched[N], poison[N];
};

static struct tensor* output(struct output* o, double a, double b, double c, double d) {
    *o = (struct output){.want = {1, 2, 3, 4}, .got = {a, b, c, d}};
    o->state = (struct tensor_state){.got = o->got, .poison = o->poison};
    o->t = (struct tensor){.dtype = F32,
                           .shape = SHAPE(N),
                           .count = N,
                           .want = o->want,
                           .got = o->got,
                           .untouched = o->untouched,
                           .state = &o->state};
    return &o->t;
}

static const struct slack none;

static enum fit fit(const struct tensor* t, double a, double b, double c, double d, double max,
                    struct slack slack) {
    const double guess[N] = {a, b, c, d};
    return hypothesis_fit(t, guess, (struct budget){.max = max, .mean = max}, slack);
}

START_TEST(test_exact) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, 8);
    ck_assert_int_eq(fit(t, 1, 2, 3, 8, 0, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 0, none), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 7, 0, none), FIT_NONE);
    t = output(&o, 1, 2, 3, 4);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 0, none), FIT_RIGHT);
}
END_TEST

START_TEST(test_budget) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, 4.5);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4.6, 0.1001, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4.7, 0.1, none), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4.05, 0.5, none), FIT_RIGHT);  // it does not show
}
END_TEST

START_TEST(test_nan) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, NAN);
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 1e30, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, NAN, NAN, 1e30, none), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 1e30, none), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, INFINITY, 1e30, none), FIT_NONE);
    const struct slack no_proof = {.nan_proves_nothing = true};
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 0, no_proof), FIT_RIGHT);
    o.want[3] = NAN;
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 0, none), FIT_RIGHT);
}
END_TEST

START_TEST(test_infinity) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, INFINITY);
    ck_assert_int_eq(fit(t, 1, 2, 3, INFINITY, 1e30, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, -INFINITY, 1e30, none), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 1e308, 1e30, none), FIT_NONE);
    o.want[3] = INFINITY;
    ck_assert_int_eq(fit(t, 1, 2, 3, INFINITY, 1e30, none), FIT_RIGHT);
    o.want[3] = -INFINITY;
    ck_assert_int_eq(fit(t, 1, 2, 3, INFINITY, 1e30, none), FIT_SHOWN);
}
END_TEST

START_TEST(test_never_written) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, 4);
    o.poison[3] = true;  // whatever pattern stands there
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 0, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 0, none), FIT_NONE);
    ck_assert(!check_was_written(t, 3));
    ck_assert(check_was_written(t, 2));
}
END_TEST

// What is left unwritten is all that is wrong: one unwritten element at least, and of the others
// none beyond the budget.
START_TEST(test_only_unwritten) {
    const struct budget budget = {.max = 0.5};
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3.5, 9);
    ck_assert(!check_is_only_unwritten(t, budget));
    o.poison[3] = true;
    ck_assert(check_is_only_unwritten(t, budget));
    o.got[2] = 3.6;
    ck_assert(!check_is_only_unwritten(t, budget));
    o.got[2] = NAN;
    ck_assert(!check_is_only_unwritten(t, budget));
    o.got[2] = 3;
    o.untouched[3] = true;  // nobody asks for it
    ck_assert(!check_is_only_unwritten(t, budget));
}
END_TEST

START_TEST(test_untouched) {
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, NAN);
    o.untouched[3] = o.poison[3] = true;
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 0, none), FIT_RIGHT);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 0, none), FIT_NONE);
    o.got[3] = 4;  // a mistake may write there
    o.poison[3] = false;
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 0, none), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, NAN, 0, none), FIT_NONE);
}
END_TEST

START_TEST(test_anything) {
    struct output o;
    struct tensor* t = output(&o, 7, 2, 3, NAN);
    ck_assert_int_eq(fit(t, ANYTHING, 2, 3, ANYTHING, 0, none), FIT_RIGHT);
    ck_assert_int_eq(fit(t, 7, 2, 3, ANYTHING, 0, none), FIT_SHOWN);
    // it is not the largest number of the guess
    ck_assert_int_eq(fit(t, 8, 2, 3, ANYTHING, 0, (struct slack){.of_largest = 0.1}), FIT_NONE);
}
END_TEST

// Where nobody is to write, nothing has to be known.
START_TEST(test_anything_between_rows) {
    enum { MANY = 16, FIRST = 2 };
    double want[MANY] = {1, 2}, got[MANY] = {1, 7}, guess[MANY] = {1, 7};
    bool untouched[MANY] = {false}, poison[MANY] = {false};
    for (int i = FIRST; i < MANY; i++) untouched[i] = true, guess[i] = ANYTHING;
    struct tensor_state state = {.got = got, .poison = poison};
    struct tensor t = {.dtype = F32,
                       .shape = SHAPE(MANY),
                       .count = MANY,
                       .want = want,
                       .got = got,
                       .untouched = untouched,
                       .state = &state};
    const struct budget exact = {.max = 0};
    ck_assert_int_eq(hypothesis_fit(&t, guess, exact, none), FIT_SHOWN);
    guess[0] = guess[1] = ANYTHING;
    ck_assert_int_eq(hypothesis_fit(&t, guess, exact, none), FIT_NONE);
}
END_TEST

START_TEST(test_slack) {
    struct output o;
    struct tensor* t = output(&o, 1.5, 2, 3, 1000);
    ck_assert_int_eq(fit(t, 1, 2, 3, 1000, 0, (struct slack){.of_largest = 1e-3}), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1, 2, 3, 1000, 0, (struct slack){.of_largest = 1e-4}), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 1000, 0, (struct slack){.of_element = 0.4}), FIT_NONE);
    ck_assert_int_eq(fit(t, 1, 2, 3, 1000, 0, (struct slack){.of_element = 0.5}), FIT_SHOWN);
    t = output(&o, INFINITY, 2, 3, 4);
    ck_assert_int_eq(fit(t, INFINITY, 2, 3, 4, 0, (struct slack){1, 1, 0, false, false}),
                     FIT_SHOWN);
}
END_TEST

// Within the slack of a guess, and yet nearer to what is wanted: that is no evidence.
START_TEST(test_nearer) {
    const struct slack eighth = {.of_element = 0.125};
    struct output o;
    struct tensor* t = output(&o, 1, 2, 3, 4.4);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4.6, 0, eighth), FIT_SHOWN);
    t = output(&o, 1, 2, 3, 4.1);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4.6, 0, eighth), FIT_RIGHT);
}
END_TEST

// Elements that the mistake moves by less than the budget, if they are enough, and all where the
// guess says.
START_TEST(test_few) {
    const struct slack few = {.of_few = true};
    struct output o;
    struct tensor* t = output(&o, 1.4, 2.4, 3.4, 4.4);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.4, 0.5, none), FIT_RIGHT);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.4, 0.5, few), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.2, 0.5, few), FIT_RIGHT);
    t = output(&o, 1.2, 2.2, 3.2, 4.2);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.4, 0.5, few), FIT_RIGHT);
}
END_TEST

// Sums decide: the guess may be wanted but for less than the slack, and has to explain most of the
// error.
START_TEST(test_unexplained) {
    const struct slack quarter = {.unexplained = 0.25};
    struct output o;
    struct tensor* t = output(&o, 1.5, 2.5, 3.5, 4.5);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.5, 0.5, quarter), FIT_SHOWN);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.5, 0.5, none), FIT_RIGHT);
    ck_assert_int_eq(fit(t, 1.4, 2.4, 3.4, 4.1, 0.5, quarter), FIT_RIGHT);
    t = output(&o, 1, 2, 3, 4);
    ck_assert_int_eq(fit(t, 1, 2, 3, 4, 1, quarter), FIT_RIGHT);
}
END_TEST

// ---- the search

static int made;  // how often times() was called

// Variant v multiplies by h->like's number plus v; variant 1 does not exist.
static bool times(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    made++;
    for (int i = 0; i < N; i++) {
        ck_assert(isnan(guess[i]));
        guess[i] = s->tensor->want[i] * (*(const double*)h->like + variant);
    }
    return variant != 1;
}

static const double two = 2, three = 3;
static const struct hypothesis list[] = {
    {CAUSE_scale_missing, times, .variants = 3, .like = &two},
    {CAUSE_scale_ignored, times, .like = &three},
    {CAUSE_scale_squared, times, .variants = 2, .like = &three},
    {0},
};

START_TEST(test_search) {
    struct output o;
    struct suspect s = {.tensor = output(&o, 4, 8, 12, 16)};
    made = 0;
    ck_assert_int_eq(hypothesis_search(&s, list), CAUSE_scale_missing);  // variant 2
    ck_assert_int_eq(made, 3);
    s.tensor = output(&o, 3, 6, 9, 12);
    ck_assert_int_eq(hypothesis_search(&s, list), CAUSE_scale_ignored);  // 2 + 1 does not exist
    s.tensor = output(&o, 5, 10, 15, 20);
    ck_assert_int_eq(hypothesis_search(&s, list), CAUSE_NONE);
    s.tensor = output(&o, 1, 2, 3, 4);
    ck_assert_int_eq(hypothesis_search(&s, list), CAUSE_NONE);
}
END_TEST

START_TEST(test_search_variants) {
    struct output o;
    struct suspect s = {.tensor = output(&o, 4, 8, 12, 16)};
    made = 0;
    ck_assert_int_eq(hypothesis_search_variants(&s, list), CAUSE_scale_missing);
    ck_assert_int_eq(made, 6);
    s.tensor = output(&o, 3, 6, 9, 12);
    made = 0;
    ck_assert_int_eq(hypothesis_search_variants(&s, list), CAUSE_scale_ignored);
    ck_assert_int_eq(made, 2);
}
END_TEST

START_TEST(test_refuted) {
    struct output o;
    struct suspect s = {.tensor = output(&o, 1, 2, 3, 8), .budget = {0.5, 0.5}};
    ck_assert(!hypothesis_refuted(&s, 3, 8.5));
    ck_assert(hypothesis_refuted(&s, 3, 9));
    ck_assert(hypothesis_refuted(&s, 3, NAN));
    ck_assert(!hypothesis_refuted(&s, 3, ANYTHING));
    s.slack.of_largest = 1e-9;
    ck_assert(!hypothesis_refuted(&s, 3, 9));
}
END_TEST

// What fits is within the reach, up to the last bit of it; what differs by more does not fit.
START_TEST(test_reach) {
    struct output o;
    struct suspect s = {.tensor = output(&o, 1, 2, 3, 8), .budget = {0.5, 0.5}};
    ck_assert_double_eq(hypothesis_reach(&s), 0.5);
    s.slack = (struct slack){.of_largest = 0.25, .of_element = 0.125};
    double reach = hypothesis_reach(&s);  // the largest number of a guess is at most 13.6
    ck_assert_double_eq_tol(reach, 0.5 + 0.25 * 8.5 / 0.625, 1e-12);
    for (double first = -4; first <= 12; first += 0.125)
        for (double last = 1; last <= 20; last += 0.125) {
            const double guess[] = {first, 2, 3, last};
            bool fits = hypothesis_fit(s.tensor, guess, s.budget, s.slack) != FIT_NONE;
            for (int e = 0; e < 4 && fits; e++)
                ck_assert(!hypothesis_refuted_within(&s, e, guess[e], reach));
        }
    ck_assert(hypothesis_refuted_within(&s, 0, 7, reach));
    ck_assert(hypothesis_refuted_within(&s, 0, NAN, reach));
    ck_assert(hypothesis_refuted_within(&s, 0, INFINITY, reach));
}
END_TEST

// check/ expects a lesson; these tests need none.
const struct lesson lesson = {.name = "00_none"};

int main(void) {
    const TTest* const tests[] = {
        test_exact,           test_budget,    test_nan,         test_infinity,
        test_never_written,   test_untouched, test_anything,    test_slack,
        test_nearer,          test_few,       test_unexplained, test_search,
        test_search_variants, test_refuted,   test_reach,       test_anything_between_rows,
        test_only_unwritten,
    };
    const int TESTS = (int)(sizeof tests / sizeof tests[0]);
    Suite* suite = suite_create("hypothesis");
    TCase* t = tcase_create("hypothesis");
    for (int i = 0; i < TESTS; i++) tcase_add_test(t, tests[i]);
    suite_add_tcase(suite, t);
    return run_suite(suite, TESTS);
}
