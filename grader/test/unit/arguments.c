// arguments.c: arguments that are replaced by others, as check_idle_calls() does.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check/arguments.h"
#include "check/state.h"

static const struct session session;
static const struct item item = {10, "item", NULL};

// Each test has a process of its own, and one case.
static struct check* begin(void) {
    static struct check c;
    static struct result_item record;
    check_start(&c, &session, &item, 0, &record);
    check_case(&c, "case");
    return &c;
}

START_TEST(test_int_and_real) {
    struct check* c = begin();
    check_replace(c, "n", -1);
    check_replace(c, "scale", 3);
    check_int(c, "m", 5);
    check_int(c, "n", 7);
    check_real(c, "scale", 0.5);
    ck_assert_int_eq(check_int_of(c, "m"), 5);
    ck_assert_int_eq(check_int_of(c, "n"), -1);
    ck_assert_double_eq(c->scalar[2].real[0], 3);
    ck_assert(c->is_real[2] && !c->is_real[0] && !c->is_real[1]);
    check_case(c, "end");
}
END_TEST

START_TEST(test_tensors_are_null) {
    struct check* c = begin();
    check_replace(c, "x", 0);
    check_replace(c, "y", 0);
    check_replace(c, "workspace", 0);
    ck_assert_ptr_null(check_output(c, "y", F32, SHAPE(2, 3)));
    ck_assert_ptr_null(check_input(c, "x", F32, SHAPE(2, 3)));
    ck_assert_ptr_nonnull(check_input(c, "z", F32, SHAPE(2, 3)));
    check_workspace(c, "workspace", 64);
    ck_assert_int_eq(c->tensor_count, 4);
    for (int i = 0; i < 4; i++) {
        bool is_z = strcmp(c->tensor[i].name, "z") == 0;
        ck_assert_int_eq(c->tensor[i].state->role, is_z ? ARENA_INPUT : ARENA_NULL);
        ck_assert_int_eq(c->tensor[i].count, is_z ? 6 : 0);
    }
    check_case(c, "end");
}
END_TEST

START_TEST(test_next_case_forgets) {
    struct check* c = begin();
    check_replace(c, "n", -1);
    check_int(c, "n", 7);
    check_describe(c, c);
    check_case(c, "next");
    check_int(c, "n", 7);
    ck_assert_int_eq(check_int_of(c, "n"), 7);
    ck_assert_ptr_null(check_description(c));
}
END_TEST

// A name that no argument has, and one argument too many, are grader errors.
START_TEST(test_unknown_name) {
    struct check* c = begin();
    check_replace(c, "N_k", -1);
    check_int(c, "N_q", 7);
    check_run(c);
}
END_TEST

START_TEST(test_too_many) {
    struct check* c = begin();
    for (int i = 0; i <= REPLACED; i++) check_replace(c, "n", i);
}
END_TEST

// check/ expects a lesson; these tests need none.
const struct lesson lesson = {.name = "00_none"};

// What fails has to fail: the number of tests that do.
static int failures(SRunner* runner, int expected) {
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed != expected || run == 0;
}

int main(void) {
    Suite* suite = suite_create("arguments");
    TCase* t = tcase_create("arguments");
    tcase_add_test(t, test_int_and_real);
    tcase_add_test(t, test_tensors_are_null);
    tcase_add_test(t, test_next_case_forgets);
    suite_add_tcase(suite, t);
    SRunner* runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    if (failures(runner, 0)) return EXIT_FAILURE;

    suite = suite_create("errors");
    t = tcase_create("errors");
    tcase_add_test(t, test_unknown_name);
    tcase_add_test(t, test_too_many);
    suite_add_tcase(suite, t);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);
    return failures(runner, 2) ? EXIT_FAILURE : EXIT_SUCCESS;
}
