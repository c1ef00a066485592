// arguments.c: see arguments.h.
#include "check/arguments.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/state.h"
#include "course.h"

enum { MOST = sizeof((struct idle_call*)0)->but / sizeof((struct idle_call*)0)->but[0] };

void check_ordinary(struct check* c) {
    c->ordinary = NEXT_ORDINARY;
}

static int count(const struct idle_call* call) {
    int n = 0;
    while (n < MOST && call->but[n].name) n++;
    return n;
}

// What is another than in a good call, behind the text.
static void append(char text[240], const struct idle_call* call) {
    size_t used = strlen(text);
    for (int i = 0; i < count(call) && used < 240; i++)
        used += (size_t)snprintf(text + used, 240 - used, "%s%s = %.15g", i ? ", " : "",
                                 call->but[i].name, call->but[i].value);
}

static void begin(struct check* c, const struct idle_call* call, const char* what) {
    char text[240] = "";
    append(text, call);
    check_case(c, "%s%s", text, what);
    for (int i = 0; i < count(call); i++)
        check_replace(c, call->but[i].name, (int64_t)call->but[i].value);
}

// Begins a case whose rounds are these calls, of the same status. The name counts them.
static void begin_together(struct check* c, const struct idle_call* calls, int n) {
    char text[240] = "";
    for (int r = 0; r < n; r++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d: ", r ? "; " : "", r + 1);
        append(text, &calls[r]);
    }
    check_case(c, "calls that must be refused, %s", text);
    check_rounds(c, n);
}

static bool is_tensor(const struct check* c, const char* name) {
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensor[i].name, name) == 0) return true;
    return false;
}

// What kind of an argument it is. NONE: none of that name is declared.
enum kind { NONE, INTEGER, REAL, TENSOR };

static enum kind kind_of(const struct check* c, const char* name) {
    for (int i = 0; i < c->scalar_count; i++)
        if (strcmp(c->scalar[i].name, name) == 0) return c->is_real[i] ? REAL : INTEGER;
    return is_tensor(c, name) ? TENSOR : NONE;
}

// How many of the next calls can be rounds of one case, since a call that is refused leaves nothing
// behind: they have the same status, and change what a round can. A good call is declared.
static int together(const struct check* c, const struct idle_call* calls) {
    int n = 0;
    for (; n < ARENA_ROUNDS && count(&calls[n]) > 0; n++) {
        bool can = calls[n].status == calls[0].status && calls[n].status != COURSE_OK;
        for (int i = 0; i < count(&calls[n]); i++) can &= kind_of(c, calls[n].but[i].name) != NONE;
        if (!can) break;
    }
    return n;
}

static void vary(struct check* c, int round, const char* name, double value) {
    switch (kind_of(c, name)) {
    case TENSOR:
        check_vary_null(c, name, round);
        break;
    case REAL:
        check_vary_real(c, name, round, value);
        break;
    default:
        check_vary(c, name, round, (int64_t)value);
    }
}

static void run(struct check* c, int status) {
    enum cause otherwise = status == COURSE_OK ? CAUSE_empty_input : CAUSE_argument_check;
    for (int i = 0; i < c->tensor_count; i++)
        for (int64_t e = 0; e < c->tensor[i].count; e++) c->tensor[i].untouched[e] = true;
    check_expect(c, status, otherwise);
    if (status != COURSE_OK) c->crashes = otherwise;
    check_run(c);
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        for (int64_t e = 0; arena_is_written(t->state->role) && e < t->count; e++)
            if (!t->state->poison[e])
                check_fail(c, otherwise, "there is nothing to do, but %s was written", t->name);
    }
}

void check_idle_calls(struct check* c, const struct idle_call* calls,
                      void (*declare)(struct check* c, void* problem), void* problem) {
    for (int n; count(calls) > 0; calls += n > 0 ? n : 1) {
        check_case(c, "a good call");
        declare(c, problem);
        n = together(c, calls);
        if (n == 1 && calls->but[0].value == floor(calls->but[0].value)) n = 0;
        if (n > 0)
            begin_together(c, calls, n);
        else
            begin(c, calls, calls->status == COURSE_OK ? ": nothing to do" : " must be refused");
        declare(c, problem);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < count(&calls[r]); i++)
                vary(c, r, calls[r].but[i].name, calls[r].but[i].value);
        run(c, calls->status);
    }
}

void check_large_calls(struct check* c, const struct idle_call* calls, const char* function,
                       void (*declare)(struct check* c, void* problem), void* problem) {
    char what[64];
    snprintf(what, sizeof what, ", and the first %s fails", function);
    for (; count(calls) > 0; calls++) {
        begin(c, calls, what);
        declare(c, problem);
        check_fail_call(c, function, 1);
        check_expect(c, COURSE_CUDA_ERROR, CAUSE_argument_check);
        check_run(c);
    }
}

static void launches_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                          void* problem, int may_go_on) {
    enum { MOST_LAUNCHES = 40 };
    for (int n = 1; n <= MOST_LAUNCHES; n++) {
        check_case(c, "launch %d of the call fails%s", n, n == 1 ? ", then none" : "");
        check_rounds(c, n == 1 ? 2 : 1);
        declare(c, problem);
        check_fail_call(c, "launch", n);
        check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
        check_run(c);
        if (!check_call_failed(c)) break;  // there was none to fail
        if (check_blocks(c) > 0 && may_go_on-- == 0)
            check_fail(c, CAUSE_goes_on, "launch %d failed, and the launcher launched more\n", n);
    }
}

void check_queries_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                        void* problem) {
    enum { CALLS = ARENA_ROUNDS, MOST_QUERIES = 2 * (CALLS - 1) };
    for (int n = 1; n < MOST_QUERIES; n += CALLS - 1) {
        check_case(c,
                   "the runtime refuses what the launcher asks as number %d, in the next call "
                   "number %d, and so on",
                   n, n + 1);
        check_rounds(c, CALLS);
        declare(c, problem);
        check_fail_call(c, "query", n);
        check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
        check_run(c);
        if (!c->answer.failed[CALLS - 2]) break;  // it asks no more
    }
}

void check_launches_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem) {
    launches_fail(c, declare, problem, INT32_MAX);
    check_queries_fail(c, declare, problem);
}

void check_launches_stop(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem) {
    enum { OWN = 2 };  // kernels of the launcher's own
    launches_fail(c, declare, problem, OWN);
}
