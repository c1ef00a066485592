// run.h: what a lesson's call.c sees.
//
// call.c stands on the student's side of the wall: it takes the case out of the arena by name and
// calls the launcher, once per round. The runner around it (run.c) has already copied every device
// tensor to the device with its guard bands, and copies everything back afterwards; the same on the
// CPU device and on a GPU.
#ifndef RUN_H
#define RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "course.h"

// The device address of a tensor; NULL if the case passes NULL for it.
// A name the case does not have ends the program: the lesson's check.c and call.c disagree.
void* run_gpu(const char* name);

// The host address of a tensor the case declared with check_on_host(), for host code.
void* run_cpu(const char* name);

// A scalar of the case.
int64_t run_int(const char* name);
double run_real(const char* name);

// The strides of a (B, N, H, d) array, which the case passes as three numbers: for "q" these are
// "stride_q.b", "stride_q.n" and "stride_q.h".
struct strides run_strides(const char* array);

// How many elements behind its beginning the launcher is to find an array: of "C" the case says it
// as "first_C". The address there; NULL if the case passes NULL.
static inline int64_t run_first(const char* array) {
    char name[32];
    snprintf(name, sizeof name, "first_%s", array);
    return run_int(name);
}
static inline float* run_floats(const char* array) {
    float* begin = run_gpu(array);
    return begin ? begin + run_first(array) : NULL;
}
static inline bf16* run_bf16(const char* array) {
    bf16* begin = run_gpu(array);
    return begin ? begin + run_first(array) : NULL;
}

// Calls for rows of "cols" numbers; before that for rows of "narrower" fewer, and of "step" more
// and so on. Ends with the first status that is not COURSE_OK, and returns it.
int run_widths(int (*call_with)(int64_t cols));

// Written by the lesson: calls the launcher with the case's arguments and returns its status.
int call(void);

#endif
