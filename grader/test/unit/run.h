// run.h: how a program of unit tests ends.
#ifndef UNIT_RUN_H
#define UNIT_RUN_H

#include <check.h>
#include <stdlib.h>

// Runs the suite. EXIT_SUCCESS if no test failed, and so many ran: a test that nobody adds to the
// suite, or that is gone, is told.
static inline int run_suite(Suite* suite, int tests) {
    SRunner* runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed || run != tests ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
