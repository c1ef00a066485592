// check.c: what lesson 23, profiling, is graded on.
//
// The kernels of the file as it is given are right. So that it scores 0, whatever pays for a right
// kernel asks first whether its counter has moved: to half of what it was, at least. The items on
// cost ask for all of it, and that no other counter has become worse.
#include "check/arguments.h"
#include "check/bare.h"
#include "check/check.h"
#include "check/reach.h"
#include "cases.h"
#include "answers.h"
#include "loops.h"
#include "mistakes.h"
#include "wall/arena.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double per(double a, double b) {
    return b > 0 ? a / b : 0;
}

// ---- the counter that a cure moves

// Whole tiles, blocks and sectors.
static struct problem counted(enum function f) {
    return f == SCORES  ? problem_of(SCORES, 256, 128)
           : f == DECAY ? problem_of(DECAY, 256, 96)
                        : problem_of(FILTER, 512, 64);
}

// Whole tiles, too, of sizes that are drawn, so that nobody knows where it is counted; at times
// with four times as many keys, rows or steps.
static struct problem drawn(struct check* c, enum function f) {
    enum { TIMES = 4, SELDOM = 4 };
    const int64_t times = check_pick(c, 1, SELDOM) == 1 ? TIMES : 1;
    const int64_t a = times * check_pick(c, 1, 3), b = check_pick(c, 3, 5);
    return f == SCORES  ? problem_of(SCORES, 128 * a, 32 * b)
           : f == DECAY ? problem_of(DECAY, 128 * a, 32 * b)
                        : problem_of(FILTER, 256 * a, 64 * (b - 2));
}

// Requests of a warp that move every element of (a, b) once, lanes side by side. More requests than
// a kernel needs could hide those that are bad.
static double once(const struct problem* p) {
    return (double)(p->a * p->b) / 32;
}

static double conflicts(const struct arena_traffic* t, double needed) {
    double requests = (double)(t->shared_load_requests + t->shared_store_requests);
    return per((double)(t->shared_load_conflicts + t->shared_store_conflicts),
               fmin(requests, needed));
}

// As they are given: scores moves 32 sectors for the 4 that 32 floats lie in, 28 in vain. In decay
// 2 of 4 requests meet 31 conflicts, 15.5 on average. filter loads 16 floats of x and 16 of w for
// each output; a segment of 32 steps makes 2 of them.
static void judge_target(struct check* c, const struct problem* p, const struct arena_traffic* t,
                         bool all_of_it) {
    switch (p->function) {
    case SCORES:
        check_at_most(c, CAUSE_uncoalesced, "sectors moved in vain for each load of a warp, of K",
                      per((double)t->global_load_excess_sectors,
                          fmin((double)t->global_load_requests, once(p))),
                      all_of_it ? 1 : 14);
        break;
    case DECAY:
        check_at_most(c, CAUSE_bank_conflicts, "bank conflicts for each request to shared memory",
                      conflicts(t, 4 * once(p)), all_of_it ? 0.1 : 7);
        break;
    default:
        check_at_most(c, CAUSE_too_much_read, "floats loaded from global memory for each of x",
                      (double)t->global_load_bytes / (4.0 * (double)(p->a * p->b)),
                      all_of_it ? 2 : 16);
    }
}

static const struct arena_traffic* traffic_of(struct check* c, const struct problem* p) {
    check_watch(c, WATCH_PROFILE);
    run(c, *p);
    return check_traffic(c);
}

// Ends the item if the kernel waits for what it waited for as it was given.
static void must_have_moved(struct check* c, enum function f) {
    const struct problem p = drawn(c, f);
    judge_target(c, &p, traffic_of(c, &p), false);
    check_watch(c, WATCH_NONE);
}

// ---- items: right answers

// The last: steps so many that a part of them could be a block's own, and a row that is longer than
// any shared memory.
static const int64_t hard[][2] = {{17, 128}, {64, 33}, {33, 15}, {1, 1}, {4321, 3}, {2, 60013}};
enum { HARD = sizeof hard / sizeof hard[0] };

static int64_t odd(struct check* c) {
    return 2 * check_pick(c, 50, 150) + 1;
}

// Real numbers: any order of a sum. decay is near 1, so that a sum remembers.
static void reals(struct check* c, enum function f) {
    struct problem p = problem_of(f, odd(c), odd(c));
    p.decay = dtype_round(F32, check_uniform(c, 0.9, 0.99));
    begin(c, &p, ", real numbers");
    declare(c, &p);
    fill_normal(c, p.in, 0, 1);
    if (p.small) fill_normal(c, p.small, 0, 1);
    check_run(c);
    compare_reals(c, &p);
}

// A few NaN, each in a row of its own: scores that are not of its key, steps before it, other rows
// and channels are numbers. Times 0 it is NaN, too.
static void not_a_number(struct check* c, struct problem p) {
    begin(c, &p, ", with NaN");
    declare(c, &p);
    fill(c, &p);
    for (int64_t row = check_pick(c, 1, 20); row < p.a; row += 25) {
        const int64_t column = check_pick(c, 0, p.b - 1);
        p.in->value[row * p.b + column] = NAN;
        if (p.small) p.small->value[column] = 0;
    }
    check_run(c);
    compare_exactly(c, &p);
}

// The first and the last element, and one between them, is infinite; no weight is 0. So are the
// sums that it is in: who adds it times 0, for what is not there, makes NaN of them.
static void infinite(struct check* c, enum function f) {
    struct problem p = problem_of(f, 40, 70);
    begin(c, &p, ", with infinity");
    declare(c, &p);
    fill(c, &p);
    p.in->value[check_pick(c, 1, p.a - 2) * p.b + check_pick(c, 0, p.b - 1)] = INFINITY;
    p.in->value[0] = p.in->value[p.in->count - 1] = INFINITY;
    check_run(c);
    compare_exactly(c, &p);
}

static void again(struct check* c, enum function f) {
    enum { CALLS = 3 };
    struct problem p = counted(f);
    begin(c, &p, ", three calls");
    check_rounds(c, CALLS);
    declare(c, &p);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        fill(c, &p);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        compare_exactly(c, &p);
    }
}

// A call of few rows and columns, then one of more in the same arrays: what was computed for the
// first one is too little.
static void again_and_more(struct check* c, enum function f) {
    struct problem p = counted(f);
    begin(c, &p, ", after a call of fewer");
    check_rounds(c, 2);
    declare(c, &p);
    check_vary(c, names[f].a, 0, 40);
    check_vary(c, names[f].b, 0, 20);
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        fill(c, &p);
    }
    check_run(c);
    check_round(c, 1);
    compare_exactly(c, &p);
}

// The launcher is told of p's sizes. Of in and out the case has the ends of `rows` rows.
static bool end_is_right(struct check* c, struct problem p, int64_t rows, int64_t a, int64_t b) {
    const struct names* n = &names[p.function];
    const struct problem told = p;
    p.a = a, p.b = b;
    p.decay = 1;
    begin(c, &told, ", the last of them");
    declare(c, &p);
    check_vary(c, n->a, 0, told.a);
    check_vary(c, n->b, 0, told.b);
    check_ends(c, p.in, rows, told.a * told.b / rows);
    check_ends(c, p.out, rows, p.function == SCORES ? told.a : told.a * told.b / rows);
    if (p.function == FILTER) check_ends(c, p.small, PROFILING_TAPS, told.b);
    fill(c, &p);
    check_run_few_blocks(c);
    check_run(c);
    compute(&p, p.out->want, false);
    return check_end_is_right(p.out);
}

// The end of the first size.
static bool reached(struct check* c, const void* function, int64_t size) {
    const enum function f = *(const enum function*)function;
    return end_is_right(c, problem_of(f, size, 1), 1, check_shown(size), 1);
}

// The same of wide rows: with the largest size there are more than 2^32 elements.
static bool wide_reached(struct check* c, const void* function, int64_t size) {
    enum { WIDE = 1040, SHOWN = 32 };
    const enum function f = *(const enum function*)function;
    return end_is_right(c, problem_of(f, size, WIDE), 1, size < SHOWN ? size : SHOWN, WIDE);
}

// The end of the channels. The steps are whole groups: what lies behind them is another case.
static bool channels_reached(struct check* c, const void* function, int64_t size) {
    enum { STEPS = 32 };
    (void)function;
    return end_is_right(c, problem_of(FILTER, STEPS, size), STEPS, STEPS, check_shown(size));
}

static void any_size(struct check* c, enum function f) {
    must_have_moved(c, f);
    run(c, counted(f));
    struct problem grows = counted(f), forgets = problem_of(f, 40, 70);
    grows.decay = 1;
    forgets.decay = 0;  // h is x; 0 has no logarithm
    if (f == DECAY) run(c, grows), run(c, forgets);
    for (int i = 0; i < HARD; i++) run(c, problem_of(f, hard[i][0], hard[i][1]));
    run(c, problem_of(f, odd(c), odd(c)));
    run(c, problem_of(f, 8 * odd(c), 4 * check_pick(c, 1, 20)));
    reals(c, f);
    not_a_number(c, problem_of(f, 96, 70));
    struct problem nothing = problem_of(f, 26, 70);
    nothing.decay = 0;  // what was before counts 0 times
    if (f == DECAY) not_a_number(c, nothing);
    again(c, f);
    again_and_more(c, f);
    enum { MOST = PROFILING_MAX_SIZE };
    check_reaches(c, MOST - check_pick(c, 1, 31), reached, &f);
    if (f == FILTER) check_reaches(c, MOST - check_pick(c, 1, 31), channels_reached, &f);
    check_indexes(c, MOST - check_pick(c, 1, 31), 1 << 12, wide_reached, &f);
    infinite(c, f);
}

static void arguments(struct check* c, enum function f, const char* second) {
    enum { BEYOND = PROFILING_MAX_SIZE + 1 };
    const struct names* n = &names[f];
    const struct idle_call calls[] = {
        {COURSE_OK, {{n->a, 0}, {n->out, 0}, {n->in, 0}}},
        {f == SCORES ? COURSE_BAD_ARGUMENT : COURSE_OK, {{n->b, 0}}},
        {f == SCORES ? COURSE_BAD_ARGUMENT : COURSE_OK, {{n->a, 0}, {n->b, 0}}},
        {f == SCORES ? COURSE_BAD_ARGUMENT : COURSE_UNSUPPORTED, {{n->a, BEYOND}, {n->b, 0}}},
        {COURSE_BAD_ARGUMENT, {{n->a, -1}, {n->b, BEYOND}}},
        {COURSE_UNSUPPORTED, {{n->a, BEYOND}, {n->out, 0}}},
        {COURSE_BAD_ARGUMENT, {{n->a, -1}}},
        {COURSE_BAD_ARGUMENT, {{n->b, -1}}},
        {COURSE_UNSUPPORTED, {{n->a, BEYOND}}},
        {COURSE_UNSUPPORTED, {{n->b, BEYOND}}},
        {COURSE_UNSUPPORTED, {{n->a, 0}, {n->b, BEYOND}}},
        {COURSE_BAD_ARGUMENT, {{n->out, 0}}},
        {COURSE_BAD_ARGUMENT, {{n->in, 0}}},
        {COURSE_BAD_ARGUMENT, {{second, 0}}},
        {0},
    };
    const struct idle_call most[] = {
        {COURSE_CUDA_ERROR, {{n->a, BEYOND - 1}, {n->b, BEYOND - 1}}},
        {0},
    };
    must_have_moved(c, f);
    struct problem p = counted(f);
    check_ordinary(c);
    run(c, p);
    check_idle_calls(c, calls, declare, &p);
    check_large_calls(c, most, "launch", declare, &p);
    check_launches_fail(c, declare, &p);
}

// Right where all is whole. Of other sizes only the accesses count here, and of arrays that begin
// at a float that is not the first of four.
static void safe(struct check* c, enum function f) {
    must_have_moved(c, f);
    check_watch(c, WATCH_CHECK);
    run(c, counted(f));
    const int64_t sizes[][2] = {{1, 1}, {33, 15}, {15, 128}, {odd(c), odd(c)}};
    for (int i = 0; i < 4; i++) run_unjudged(c, problem_of(f, sizes[i][0], sizes[i][1]));
    for (int i = 0; i < 3; i++) {
        struct problem p = problem_of(f, 64, 64);
        int64_t later = check_pick(c, 1, 3);
        char more[40];
        snprintf(more, sizeof more, ", %s begins %d floats later",
                 i == 0           ? names[f].out
                 : i == 1         ? names[f].in
                 : names[f].small ? names[f].small
                                  : names[f].in,
                 (int)later);
        begin(c, &p, more);
        declare(c, &p);
        fill(c, &p);
        check_begin_later(i == 0 ? p.out : i == 2 && p.small ? p.small : p.in, later);
        check_run(c);
        compare_exactly(c, &p);
    }
}

// ---- items: cost

// The counters that are not the target stay as good as they were: whole sectors, no conflicts, and
// no more bytes. scores loads q once for each key, too.
static void judge_others(struct check* c, const struct problem* p, const struct arena_traffic* t) {
    const double bytes = 4.0 * (double)(p->a * p->b);
    const double most = p->function == SCORES ? 2.1 : p->function == DECAY ? 1.05 : 2;
    check_at_most(
        c, CAUSE_uncoalesced, "sectors moved in vain for each load of a warp",
        per((double)t->global_load_excess_sectors, fmin((double)t->global_load_requests, once(p))),
        1);
    check_at_most(c, CAUSE_uncoalesced, "sectors moved in vain for each store of a warp",
                  per((double)t->global_store_excess_sectors,
                      fmin((double)t->global_store_requests, (double)p->out->count / 32)),
                  1);
    check_at_most(c, CAUSE_too_much_read, "bytes loaded for each byte of the matrix",
                  (double)t->global_load_bytes / bytes, most);
    check_stored_once(c, names[p->function].out);
    check_at_most(c, CAUSE_bank_conflicts, "bank conflicts for each request to shared memory",
                  conflicts(t, 4 * once(p)), 0.1);
}

// From both sides: requests serve whole warps; blocks are enough for all multiprocessors, and have
// work.
static void judge_requests(struct check* c, const struct problem* p,
                           const struct arena_traffic* t) {
    static const struct {
        double loads, stores, shared;  // of once()
    } most[] = {[SCORES] = {2.1, 0, 4}, [DECAY] = {1.05, 1.05, 5}, [FILTER] = {2, 1.05, 36}};
    const double needed = once(p), stores = most[p->function].stores * needed;
    const double shared = (double)(t->shared_load_requests + t->shared_store_requests);
    check_at_most(c, CAUSE_idle_lanes, "requests that load, for each 32 elements of the matrix",
                  (double)t->global_load_requests / needed, most[p->function].loads);
    check_at_most(c, CAUSE_idle_lanes, "requests that store", (double)t->global_store_requests,
                  p->function == SCORES ? (double)p->a : stores);
    check_at_most(c, CAUSE_idle_lanes, "requests to shared memory, for each 32 elements",
                  shared / needed, most[p->function].shared);
}

// Grids run one after the other: enough for all multiprocessors are the blocks of one.
static void judge_grid(struct check* c, enum function f) {
    enum { SIZE = 1 << 17, OF_A_BLOCK = 1024, LAUNCHES = 16 };
    const double largest = (double)check_largest_grid_at(c, reached, &f, SIZE);
    const double blocks = (double)check_blocks(c), launches = (double)check_launches(c);
    char what[64];
    snprintf(what, sizeof what, "%s of a block, on average", names[f].a);
    check_at_most(c, CAUSE_grid_size, what, SIZE / largest, OF_A_BLOCK);
    snprintf(what, sizeof what, "launches, one after the other");
    check_at_most(c, CAUSE_grid_size, what, launches, LAUNCHES);
    snprintf(what, sizeof what, "blocks for each of %s", names[f].a);
    check_at_most(c, CAUSE_grid_size, what, blocks / SIZE, 1);
}

// Where an array of a thread lies, only the compiler for the GPU knows; but it is in local memory
// if a loop over it stays one.
static void judge_loops(struct check* c, const char* text) {
    const char* const end = text + strlen(text);
    for (const char* line = text; line < end; line += strcspn(line, "\n") + 1)
        if (keeps_a_loop(text, line))
            check_fail(c, CAUSE_local_array,
                       "%.*s: an array that is indexed in this loop cannot be in registers\n",
                       (int)strcspn(line, "\n"), line);
}

// Has an array that the function declares for each thread an index made of a variable that only
// the running loop knows?
static void judge_indices(struct check* c, const char* text, const struct function_text* f) {
    for (const char* p = f->begin; (p = memchr(p, '[', (size_t)(f->end - p))); p++) {
        size_t length;
        const char *name = array_declared_at(f, p, &length), *use = name;
        if (!name) continue;
        while ((use = find_word(use + 1, f->end, name, length))) {
            const char* index = use + length + strspn(use + length, " ");
            const char* close = index + strcspn(index, "]");
            if (*index != '[') continue;
            for (; *index && index < close; index++)
                if (is_word(*index) && !is_word(index[-1]) &&
                    (goes_to_T(f->begin, f->end, index, word_length(index)) ||
                     is_partly_unrolled(text, f, use, index, word_length(index))))
                    check_fail(c, CAUSE_local_array,
                               "%.*s: the loop is not unrolled, and a register has no index\n",
                               (int)(close - use) + 1, use);
        }
    }
}

// The functions of the file but those that scores and decay alone have.
static void judge_registers(struct check* c) {
    size_t size;
    const char* text = check_text(c, &size);
    char* bare = bare_text(text, size, NULL);
    struct function_text f = {0};
    if (!bare) check_error(c, "no memory");
    judge_loops(c, bare);
    for (f.end = bare; next_function(&f);)
        if (!is_for_others(bare, &f, 0)) judge_indices(c, bare, &f);
    free(bare);
}

static void cured(struct check* c, enum function f) {
    struct problem p = drawn(c, f);
    check_watch(c, WATCH_PROFILE);
    begin(c, &p, "");
    declare(c, &p);
    fill(c, &p);
    check_run(c);
    compare_exactly(c, &p);
    const struct arena_traffic* t = check_traffic(c);
    judge_target(c, &p, t, true);
    judge_others(c, &p, t);
    judge_requests(c, &p, t);
    if (f == FILTER) judge_registers(c);
    judge_grid(c, f);
}

// ---- the lesson

#define ITEMS(id, f, second)                         \
    static void any_size_of_##id(struct check* c) {  \
        withhold_limiter(c, f);                      \
        any_size(c, f);                              \
    }                                                \
    static void arguments_of_##id(struct check* c) { \
        withhold_limiter(c, f);                      \
        arguments(c, f, second);                     \
    }                                                \
    static void safe_##id(struct check* c) {         \
        withhold_limiter(c, f);                      \
        safe(c, f);                                  \
    }                                                \
    static void cured_##id(struct check* c) {        \
        withhold_limiter(c, f);                      \
        cured(c, f);                                 \
    }
ITEMS(scores, SCORES, "q")
ITEMS(decay, DECAY, "x")
ITEMS(filter, FILTER, "w")
#undef ITEMS

static const struct item items[] = {
    {4, "scores: any N and d", any_size_of_scores},
    {1, "scores: empty and bad arguments", arguments_of_scores},
    {2, "scores: no race, nothing out of bounds", safe_scores},
    {14, "scores: its counter moves, and no other", cured_scores},
    {4, "decay: any rows and T", any_size_of_decay},
    {1, "decay: empty and bad arguments", arguments_of_decay},
    {2, "decay: no race, nothing out of bounds", safe_decay},
    {14, "decay: its counter moves, and no other", cured_decay},
    {4, "filter: any T and C", any_size_of_filter},
    {1, "filter: empty and bad arguments", arguments_of_filter},
    {2, "filter: no race, nothing out of bounds", safe_filter},
    {15, "filter: its counter moves, and no other", cured_filter},
    {3, "limiter of scores", limiter_of_scores},
    {3, "limiter of decay", limiter_of_decay},
    {3, "limiter of filter", limiter_of_filter},
    {3, "limiter of gaps", limiter_of_gaps},
    {3, "limiter of forces", limiter_of_forces},
    {3, "limiter of norm", limiter_of_norm},
    {3, "speed-up of scores", speed_up_of_scores},
    {3, "speed-up of decay", speed_up_of_decay},
    {3, "speed-up of filter", speed_up_of_filter},
    {3, "speed-up of gaps", speed_up_of_gaps},
    {3, "speed-up of forces", speed_up_of_forces},
    {3, "speed-up of norm", speed_up_of_norm},
    {0},
};

const struct lesson lesson = {
    .name = "23_profiling",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM,
    .items = items,
    .idea = {.what = "the limiter named, and the cure that moves its counter and no other",
             .paid_by = {limiter_of_scores, cured_scores, limiter_of_decay, cured_decay,
                         limiter_of_filter, cured_filter},
             .naive = "solutions/23_profiling/steps/1_read_only.cu"},
    .explain = explain,
};
