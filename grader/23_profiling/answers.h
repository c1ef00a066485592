// answers.h: the items of lesson 23 about what the file says of the six kernels.
//
// The program with the student's code hands over two arrays of numbers. What they should be is only
// here, where that program cannot look.
#ifndef PROFILING_ANSWERS_H
#define PROFILING_ANSWERS_H

#include "cases.h"
#include "recorded.h"

#include <string.h>

#define WITHIN 0.25  // of the recorded speed-up

static const char* const kernel_names[PROFILING_KERNELS] = {"scores", "decay",  "filter",
                                                            "gaps",   "forces", "norm"};

// Where the tables tell whether a limiter is it.
static const struct {
    const char *id, *look;
} limiters[] = {
    [LIMITER_NONE] = {"LIMITER_NONE", ""},
    [LIMITER_DRAM] = {"LIMITER_DRAM", "DRAM throughput of 90 % or so, and no byte moved in vain"},
    [LIMITER_ISSUE] = {"LIMITER_ISSUE", "issue slots that are busy 80 % or more of all cycles"},
    [LIMITER_UNCOALESCED] = {"LIMITER_UNCOALESCED",
                             "more than 4 sectors for a request of 4 bytes a lane"},
    [LIMITER_BANK_CONFLICTS] = {"LIMITER_BANK_CONFLICTS",
                                "conflicts that make most of the wavefronts of shared memory"},
    [LIMITER_REDUNDANT_READS] = {"LIMITER_REDUNDANT_READS",
                                 "many more bytes read from L2 than from device memory"},
    [LIMITER_REGISTERS] = {"LIMITER_REGISTERS",
                           "a block limit by registers that is the least, and issue slots that "
                           "nobody fills"},
    [LIMITER_SHARED_MEMORY] = {"LIMITER_SHARED_MEMORY",
                               "a block limit by shared memory that is the least"},
    [LIMITER_TAIL] = {"LIMITER_TAIL",
                      "multiprocessors that are active for a part of the elapsed cycles, and waves "
                      "that are a little more than a whole number"},
    [LIMITER_IN_FLIGHT] = {"LIMITER_IN_FLIGHT",
                           "all the warps there is room for, all of them waiting for memory, and "
                           "memory that is not busy"},
    [LIMITER_BARRIERS] = {"LIMITER_BARRIERS", "warps whose stall is Barrier"},
    [LIMITER_DIVERGENCE] = {"LIMITER_DIVERGENCE", "far fewer than 32 active threads a warp"},
    [LIMITER_ATOMICS] = {"LIMITER_ATOMICS", "many atomic requests"},
};
enum { LIMITERS = sizeof limiters / sizeof limiters[0] };

// What the file says of kernel k.
static struct recorded said_of(struct check* c, enum profiling_kernel k, const char* about) {
    check_case(c, "profiling_answers(): %s of %s", about, kernel_names[k]);
    struct tensor* limiter = check_output(c, "limiter", I32, SHAPE(PROFILING_KERNELS));
    struct tensor* speed_up = check_output(c, "speed_up", F32, SHAPE(PROFILING_KERNELS));
    check_by_host(limiter);
    check_by_host(speed_up);
    check_int(c, "function", ANSWERS);
    check_run(c);
    return (struct recorded){(enum profiling_limiter)limiter->got[k], speed_up->got[k]};
}

// ---- what is not told before an answer

// Does the table `answered` have LIMITER_NONE in the line of kernel k? Not if there is no such
// table.
static bool is_unanswered(struct check* c, int k) {
    size_t size;
    const char* at = strstr(check_text(c, &size), " answered[");
    at = at ? strstr(at, "= {") : NULL;
    at = at ? at + strlen("= {") : NULL;
    for (int i = 0; at && i <= k; i++) {
        at = strchr(at, '{');
        at = at ? at + 1 : NULL;
    }
    return at && strncmp(at, limiters[LIMITER_NONE].id, strlen(limiters[LIMITER_NONE].id)) == 0;
}

// Which counter has not moved is the answer itself.
static const char* unanswered(enum cause found) {
    return cause_rank(found) == RANK_COST
               ? "symptom: right, and as slow as it was given, or slow again\n"
                 "look with: its column of the lesson's table, from the top; make profile\n"
                 "next: say in `answered` what limits it; then the counter and its limit are told\n"
               : NULL;
}

// Until the file says what limits the kernel, no failure of the item tells it.
static void withhold_limiter(struct check* c, enum function f) {
    static const struct withheld limiter = {CAUSE_not_answered, unanswered};
    if (is_unanswered(c, (int)f)) check_withhold(c, &limiter);
}

// ---- the items

static void judge_limiter(struct check* c, enum profiling_kernel k) {
    const struct recorded said = said_of(c, k, "the limiter");
    const int got = (int)said.limiter;
    if (check_number(c, got, recorded[k].limiter, 0)) return;
    if (got == LIMITER_NONE) check_fail(c, CAUSE_not_answered, "it is LIMITER_NONE\n");
    if (got < 0 || got >= LIMITERS)
        check_fail(c, CAUSE_wrong_limiter, "it is %d, which is no limiter of profiling.h\n", got);
    check_fail(c, CAUSE_wrong_limiter, "it is %s\nits sign would be %s\n", limiters[got].id,
               limiters[got].look);
}

static void judge_speed_up(struct check* c, enum profiling_kernel k) {
    const double got = said_of(c, k, "the speed-up").speed_up, want = recorded[k].speed_up;
    if (check_number(c, got, want, WITHIN)) return;
    if (got == 0) check_fail(c, CAUSE_not_answered, "it is 0\n");
    enum cause cause = CAUSE_wrong_speed_up;
    if (check_number(c, 1 / got, want, WITHIN)) cause = CAUSE_upside_down;
    if (check_number(c, got / 100, want, WITHIN) || check_number(c, got / 100 + 1, want, WITHIN))
        cause = CAUSE_units;
    check_fail(c, cause, "%g is not within 25 %% of what was recorded\n", got);
}

#define ANSWERS_ABOUT(id, kernel)                   \
    static void limiter_of_##id(struct check* c) {  \
        judge_limiter(c, kernel);                   \
    }                                               \
    static void speed_up_of_##id(struct check* c) { \
        judge_speed_up(c, kernel);                  \
    }
ANSWERS_ABOUT(scores, PROFILING_SCORES)
ANSWERS_ABOUT(decay, PROFILING_DECAY)
ANSWERS_ABOUT(filter, PROFILING_FILTER)
ANSWERS_ABOUT(gaps, PROFILING_GAPS)
ANSWERS_ABOUT(forces, PROFILING_FORCES)
ANSWERS_ABOUT(norm, PROFILING_NORM)
#undef ANSWERS_ABOUT

#endif
