// arguments.c: see arguments.h.
#include "check/arguments.h"

#include "check/state.h"
#include "course.h"

enum { MOST = sizeof((struct idle_call*)0)->but / sizeof((struct idle_call*)0)->but[0] };

static int count(const struct idle_call* call) {
    int n = 0;
    while (n < MOST && call->but[n].name) n++;
    return n;
}

static void begin(struct check* c, const struct idle_call* call, const char* what) {
    char text[120];
    size_t used = 0;
    int n = count(call);
    for (int i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s = %lld", i ? ", " : "",
                                 call->but[i].name, (long long)call->but[i].value);
    check_case(c, "%s%s", text, what);
    for (int i = 0; i < n; i++) check_replace(c, call->but[i].name, call->but[i].value);
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
    for (; count(calls) > 0; calls++) {
        begin(c, calls, calls->status == COURSE_OK ? ": nothing to do" : " must be refused");
        declare(c, problem);
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

void check_launches_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem) {
    enum { MOST_LAUNCHES = 8 };
    for (int n = 1; n <= MOST_LAUNCHES; n++) {
        check_case(c, "launch %d of the call fails", n);
        declare(c, problem);
        check_fail_call(c, "launch", n);
        check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
        check_run(c);
        if (!check_call_failed(c)) break;  // there was none to fail
    }
}
