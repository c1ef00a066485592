// arguments.h: calls in which the kernel has nothing to do: bad arguments, and empty inputs.
//
//     static const struct idle_call calls[] = {
//         {COURSE_OK, {{"n", 0}}},
//         {COURSE_BAD_ARGUMENT, {{"n", -1}}},
//         {COURSE_OK, {{"n", 0}, {"x", 0}}},  // x is a tensor: NULL
//         {0},
//     };
//     check_idle_calls(c, calls, declare, &sizes);
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>

#include "check/check.h"

// A pointer to the second element: one that is not aligned. No other argument has this value.
#define IDLE_LATER 0.75

// A call with the arguments of a good call, except for some.
struct idle_call {
    int status;  // what the launcher must return
    struct {
        const char* name;
        double value;  // of an int or a real; a tensor or a workspace of that name is NULL, or
                       // begins later if this is IDLE_LATER
    } but[4];          // as many as have a name, at least one
};

// The next case is an ordinary call: an item that asks for calls that do nothing makes one first,
// so that it compares something. If that call fails, the report says so.
void check_ordinary(struct check* c);

// The calls of the list, which ends with {0}, up to eight in a case: they are its rounds. declare()
// declares all arguments of a good call, with check_int(), check_input() and so on, which may put
// in a changed one (see check_replace(); for a tensor that is NULL they return NULL). declare()
// may fill inputs.
// problem is passed on to it. The launcher must return the status, and every output must stay as it
// was. Otherwise the cause is empty_input if the status is COURSE_OK, and argument_check if not.
void check_idle_calls(struct check* c, const struct idle_call* calls,
                      void (*declare)(struct check* c, void* problem), void* problem);

// The same for calls that are good, and so large that nobody can run them: their first call of
// `function` ("launch", "cudaMalloc") fails, so that no kernel runs. The launcher has to get there
// and to return COURSE_CUDA_ERROR; the statuses of the list do not count. The cause is
// argument_check.
void check_large_calls(struct check* c, const struct idle_call* calls, const char* function,
                       void (*declare)(struct check* c, void* problem), void* problem);

// A case of several good calls. In each but the last another question to the runtime ("query",
// run/meter.h) gets no answer: the launcher must return COURSE_CUDA_ERROR and write nothing, or do
// without the answer. A call with fewer questions, and the last call, must return COURSE_OK.
void check_queries_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                        void* problem);

// One case for each launch of a good call, declared as above: this launch fails. The launcher must
// return COURSE_CUDA_ERROR; otherwise the cause is error_ignored. In the first case the same call
// is made again, with inputs of 0: it must return COURSE_OK; else the cause is error_left, if the
// error is still there, or stale_state. Call it in an item that has compared a good call. Then
// check_queries_fail().
void check_launches_fail(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem);

// The launches alone, of a call for which the launcher may take another way. where: that call, with
// ": " behind it.
void check_launches_fail_where(struct check* c, void (*declare)(struct check* c, void* problem),
                               void* problem, const char* where);

// The same, and nothing may be launched behind a launch that fails, or the cause is goes_on. For a
// launcher that has others launch; one or two kernels of its own it may look at in the end.
void check_launches_stop(struct check* c, void (*declare)(struct check* c, void* problem),
                         void* problem);

// Runs the case's call, but none of its kernels: it must return this status.
void check_status_alone(struct check* c, int status);

#endif
