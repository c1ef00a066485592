// reach.c: see reach.h.
#include "check/reach.h"

#include <math.h>

#include "check/state.h"
#include "course.h"

void check_run_few_blocks(struct check* c) {
    c->few_blocks = true;
    check_expect(c, COURSE_OK, CAUSE_bad_launch);
}

bool check_end_is_right(const struct tensor* t) {
    enum { LAST = 8 };  // fewer than the blocks that run, of which each may have one
    for (int64_t i = t->count - LAST; i < t->count; i++)
        if (!(fabs(t->got[i] - t->want[i]) <= 1e-3 * fabs(t->want[i]))) return false;
    return true;
}

void check_reaches(struct check* c, int64_t size,
                   bool (*reached)(struct check* c, const void* problem, int64_t size),
                   const void* problem) {
    static const int64_t smaller[] = {65504, 60001, 50021};
    if (reached(c, problem, size) || c->answer.blocks[0] <= REACH_WHOLE) return;
    for (int i = 0; i < 3; i++)
        if (!reached(c, problem, smaller[i])) return;
    if (reached(c, problem, size)) return;
    check_fail(c, CAUSE_grid_limit,
               "the last elements are not right; with sizes below 65536 they are\n");
}
