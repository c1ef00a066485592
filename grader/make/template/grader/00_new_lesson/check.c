// check.c: what lesson 00, new_lesson, is graded on.
//
// Each item sets one trap. What is no item's trap has whole blocks of any usual size, and the factor 2.
#include "check/check.h"
#include "new_lesson.h"
#include "wall/arena.h"

#include <math.h>
#include <stdlib.h>

enum { WHOLE = 4096 };

struct vectors {
    struct tensor *y, *x;
    int64_t n;
    double factor;
};

static struct vectors begin(struct check* c, int64_t n, double factor) {
    check_case(c, "n = %lld, factor = %.9g", (long long)n, factor);
    check_int(c, "n", n);
    check_real(c, "factor", factor);
    struct vectors v = {check_output(c, "y", F32, SHAPE(n)), check_input(c, "x", F32, SHAPE(n)), n,
                        factor};
    fill_normal(c, v.x, 0, 1);
    return v;
}

// The product of two floats fits a double: rounded once, it is what a GPU computes, in every bit.
static void compare(struct check* c, struct vectors v) {
    for (int64_t i = 0; i < v.n; i++) v.y->want[i] = dtype_round(F32, v.factor * v.x->value[i]);
    check_compare(c, v.y, budget_exact());
}

static void run(struct check* c, int64_t n, double factor) {
    struct vectors v = begin(c, n, factor);
    check_run(c);
    compare(c, v);
}

// ---- items

static void any_factor(struct check* c) {
    run(c, WHOLE, dtype_round(F32, 3 + fabs(check_normal(c))));
    run(c, WHOLE, -1);
    run(c, WHOLE, 0);
}

static void any_length(struct check* c) {
    const int64_t lengths[] = {1, 15, 17, 33, 129, 4321, check_pick(c, 500, 3000) * 2 + 1};
    for (int i = 0; i < 7; i++) run(c, lengths[i], 2);
}

// A call that must write nothing. The arrays have 256 elements whatever the launcher is told.
static void call_untouched(struct check* c, int64_t n, const char* missing, int status,
                           enum cause otherwise) {
    check_case(c, "n = %lld, NULL: %s", (long long)n, missing ? missing : "none");
    check_int(c, "n", n);
    check_real(c, "factor", 2);
    struct tensor* y = NULL;
    if (missing && *missing == 'y') {
        check_null(c, "y");
    } else {
        y = check_output(c, "y", F32, SHAPE(256));
        for (int i = 0; i < 256; i++) y->untouched[i] = true;
    }
    if (missing && *missing == 'x')
        check_null(c, "x");
    else
        fill_normal(c, check_input(c, "x", F32, SHAPE(256)), 0, 1);
    check_expect(c, status, otherwise);
    check_run(c);
    if (y) check_compare(c, y, budget_exact());
}

static void arguments(struct check* c) {
    run(c, WHOLE, 2);
    call_untouched(c, 0, NULL, COURSE_OK, CAUSE_empty_input);
    call_untouched(c, -1, NULL, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 256, "y", COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    call_untouched(c, 256, "x", COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

// Right where all is even; of lengths that no block divides only the accesses count here.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    run(c, WHOLE, 2);
    const int64_t lengths[] = {1, 33, check_pick(c, 300, 2000) * 2 + 1};
    for (int i = 0; i < 3; i++) {
        begin(c, lengths[i], 2);
        check_run(c);
    }
}

// Each element is read once and written once, by lanes side by side: a sector of 32 bytes moves 8 elements.
static void cheap(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    run(c, WHOLE, 2);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "times that each element is read",
                  (double)t->global_load_bytes / (4.0 * WHOLE), 1);
    check_at_most(c, CAUSE_uncoalesced, "bytes moved for each byte read",
                  32.0 * (double)t->global_load_sectors / (double)t->global_load_bytes, 1.01);
}

static const struct item items[] = {
    {40, "any factor", any_factor},
    {20, "any length", any_length},
    {10, "empty and bad arguments", arguments},
    {15, "no races, no stray accesses", safe},
    {15, "each element is read once, in whole sectors", cheap},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there?

// The factor is not the one that is given: y is x, or twice x.
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct tensor* x = check_tensor(c, "x");
    double* hypothesis = malloc((size_t)t->count * sizeof *hypothesis);
    enum cause cause = CAUSE_NONE;
    for (int factor = 1; hypothesis && x && x->count == t->count && factor <= 2; factor++) {
        for (int64_t i = 0; i < t->count; i++) hypothesis[i] = factor * x->value[i];
        if (check_matches(t, hypothesis, budget)) cause = CAUSE_scale_ignored;
    }
    free(hypothesis);
    return cause;
}

const struct lesson lesson = {
    .name = "00_new_lesson",
    .items = items,
    .explain = explain,
};
