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

// Writes which arguments differ from those of a good call.
static void describe(const struct idle_call* call, char* text, size_t size) {
    size_t used = 0;
    for (int i = 0; i < count(call) && used < size; i++) {
        const char *name = call->but[i].name, *comma = i ? ", " : "";
        const double value = call->but[i].value;
        used +=
            (size_t)(value == IDLE_LATER
                         ? snprintf(text + used, size - used, "%s%s an element later", comma, name)
                         : snprintf(text + used, size - used, "%s%s = %.15g", comma, name, value));
    }
}

static void begin(struct check* c, const struct idle_call* call, const char* what) {
    char text[240] = "";
    describe(call, text, sizeof text);
    check_case(c, "%s%s", text, what);
    for (int i = 0; i < count(call); i++)
        check_replace(c, call->but[i].name, (int64_t)call->but[i].value);
}

// Begins a case whose rounds are these calls. The name counts them.
static void begin_together(struct check* c, const struct idle_call* calls, int n) {
    char text[sizeof c->name] = "";
    size_t used = 0;
    bool refused = true;
    for (int r = 0; r < n; r++) {
        refused &= calls[r].status != COURSE_OK;
        c->idle_call[r].status = calls[r].status;
        describe(&calls[r], c->idle_call[r].text, sizeof c->idle_call[r].text);
    }
    for (int r = 0; r < n && used < sizeof text; r++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d: %s", r ? "; " : "", r + 1,
                                 c->idle_call[r].text);
    }
    check_case(c, "calls that must be refused%s, %s", refused ? "" : ", or have nothing to do",
               text);
    check_rounds(c, n);
    c->idle = true;
}

static bool is_tensor(const struct check* c, const char* name) {
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensor[i].name, name) == 0) return true;
    return false;
}

// The kind of an argument. NONE: no argument of that name is declared.
enum kind { NONE, INTEGER, REAL, TENSOR };

static enum kind kind_of(const struct check* c, const char* name) {
    for (int i = 0; i < c->scalar_count; i++)
        if (strcmp(c->scalar[i].name, name) == 0) return c->is_real[i] ? REAL : INTEGER;
    return is_tensor(c, name) ? TENSOR : NONE;
}

// How many of the next calls can be rounds of one case, since a call that has nothing to do leaves
// nothing behind: they change what a round can. A good call is declared.
static int together(const struct check* c, const struct idle_call* calls) {
    int n = 0;
    for (bool can = true; n < ARENA_ROUNDS && count(&calls[n]) > 0; n++) {
        for (int i = 0; i < count(&calls[n]); i++) can &= kind_of(c, calls[n].but[i].name) != NONE;
        if (!can) break;
    }
    return n;
}

static void vary(struct check* c, int round, const char* name, double value) {
    switch (kind_of(c, name)) {
    case TENSOR:
        (value == IDLE_LATER ? check_vary_later : check_vary_null)(c, name, round);
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
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor_state* s = c->tensor[i].state;
        memset(s->untouched, true, (size_t)(s->per_round * c->rounds) * sizeof *s->untouched);
    }
    check_expect(c, status, otherwise);
    if (status != COURSE_OK) c->crashes = otherwise;
    check_run(c);
    for (int i = 0; i < c->tensor_count; i++) {
        const struct tensor* t = &c->tensor[i];
        const int64_t all = t->state->per_round * c->rounds;
        for (int64_t e = 0; arena_is_written(t->state->role) && e < all; e++)
            if (!t->state->poison[e])
                check_fail(c, c->idle ? CAUSE_empty_input : otherwise,
                           "there is nothing to do, but %s was written", t->name);
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

// On a machine with a GPU malloc() gives any size. A launcher that copies the caller's arrays to
// such a block before its first cudaMalloc() reads behind them: they are small.
static bool reads_behind(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem) {
    bool on_host = false;
    check_case(c, "a good call");
    declare(c, problem);
    for (int i = 0; i < c->tensor_count; i++) on_host |= c->tensor[i].state->on_host;
    return c->session->gpu && on_host;
}

void check_large_calls(struct check* c, const struct idle_call* calls, const char* function,
                       void (*declare)(struct check* c, void* problem), void* problem) {
    char what[64];
    snprintf(what, sizeof what, ", and the first %s fails", function);
    if (reads_behind(c, declare, problem)) return;
    for (; count(calls) > 0; calls++) {
        begin(c, calls, what);
        declare(c, problem);
        check_fail_call(c, function, 1);
        check_expect(c, COURSE_CUDA_ERROR, CAUSE_argument_check);
        check_run(c);
    }
}

static void launches_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                          void* problem, const char* where, int may_go_on) {
    enum { MOST_LAUNCHES = 40 };
    for (int n = 1; n <= MOST_LAUNCHES; n++) {
        check_case(c, "%slaunch %d of the call fails%s", where, n, n == 1 ? ", then none" : "");
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
    enum { CALLS = 4, MOST_QUERIES = 2 * (CALLS - 1) };
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
    launches_fail(c, declare, problem, "", INT32_MAX);
    check_queries_fail(c, declare, problem);
}

void check_launches_fail_where(struct check* c, void (*declare)(struct check* c, void* problem),
                               void* problem, const char* where) {
    launches_fail(c, declare, problem, where, INT32_MAX);
}

void check_status_alone(struct check* c, int status) {
    enum { NEVER = 1 << 20 };  // no call has so many launches
    check_fail_call(c, "launch", NEVER);
    check_expect(c, status, CAUSE_wrong_status);
    check_run(c);
    const int got = c->answer.status[0];
    if (got != status)
        check_fail(c, got == COURSE_OK ? CAUSE_error_ignored : CAUSE_wrong_status,
                   "the launcher returned %d, the contract asks for %d (course.h)\n", got, status);
}

void check_launches_stop(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem) {
    enum { OWN = 2 };  // kernels of the launcher's own
    launches_fail(c, declare, problem, "", OWN);
}
