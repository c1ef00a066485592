// check.c: what lesson 00, new_lesson, is graded on.
//
// Each item sets one trap. What is no item's trap has whole blocks of any usual size, and the
// factor 2.
#include "check/arguments.h"
#include "check/check.h"
#include "check/hypothesis.h"
#include "new_lesson.h"
#include "wall/arena.h"

#include <math.h>

enum { WHOLE = 4096 };

// The running case: its mistakes, below, look at it, too.
struct vectors {
    int64_t n;
    double factor;
    struct tensor *y, *x;  // set by declare()
};

static void declare(struct check* c, void* vectors) {
    struct vectors* v = vectors;
    check_describe(c, v);
    check_int(c, "n", v->n);
    check_real(c, "factor", v->factor);
    v->y = check_output(c, "y", F32, SHAPE(v->n));
    v->x = check_input(c, "x", F32, SHAPE(v->n));
}

static void run_case(struct check* c, struct vectors* v) {
    check_case(c, "n = %lld, factor = %.9g", (long long)v->n, v->factor);
    declare(c, v);
    fill_normal(c, v->x, 0, 1);
    check_run(c);
}

// The product of two floats fits a double: rounded once, it is what a GPU computes, in every bit.
static void run(struct check* c, int64_t n, double factor) {
    struct vectors v = {.n = n, .factor = factor};
    run_case(c, &v);
    for (int64_t i = 0; i < n; i++) v.y->want[i] = dtype_round(F32, factor * v.x->value[i]);
    check_compare(c, v.y, budget_exact());
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

static void arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"n", 0}}},
        {COURSE_BAD_ARGUMENT, {{"n", -1}}},
        {COURSE_BAD_ARGUMENT, {{"y", 0}}},
        {COURSE_BAD_ARGUMENT, {{"x", 0}}},
        {0},
    };
    struct vectors v = {.n = 256, .factor = 2};
    check_ordinary(c);
    run(c, WHOLE, 2);
    check_idle_calls(c, calls, declare, &v);
}

// Right where all is even; of lengths that no block divides only the accesses count here.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    run(c, WHOLE, 2);
    const int64_t lengths[] = {1, 33, check_pick(c, 300, 2000) * 2 + 1};
    for (int i = 0; i < 3; i++) {
        struct vectors v = {.n = lengths[i], .factor = 2};
        run_case(c, &v);
    }
}

// Each element is read once and written once, by lanes side by side: a sector of 32 bytes moves 8
// elements.
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
    {25, "any factor", any_factor},
    {15, "any length", any_length},
    {8, "empty and bad arguments", arguments},
    {12, "no races, no stray accesses", safe},
    {40, "each element is read once, in whole sectors", cheap},
    {0},
};

// ---- diagnosis: what would a mistake leave, and is it what is there?

// The factor is not the one that is given: y is x, or twice x.
static bool other_factor(const struct suspect* s, const struct hypothesis* h, int variant,
                         double* guess) {
    const struct vectors* v = s->problem;
    (void)h;
    for (int64_t i = 0; i < v->n; i++) guess[i] = (variant + 1) * v->x->value[i];
    return true;
}

static const struct hypothesis mistakes[] = {
    {CAUSE_scale_ignored, other_factor, .variants = 2},
    {0},
};

const struct lesson lesson = {
    .name = "00_new_lesson",
    .items = items,
    .idea = {.what = "each element is read once, by lanes side by side",
             .paid_by = {cheap},
             .naive = "solutions/00_new_lesson/steps/1_pieces.cu"},
    .mistakes = mistakes,
};
