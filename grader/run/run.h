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

#include "course.h"

// The device address of a tensor; NULL if the case passes NULL for it.
// A name the case does not have ends the program: the lesson's check.c and call.c disagree.
void* run_gpu(const char* name);

// The host address of a tensor the case declared with check_on_host(); lesson 01's alone.
void* run_cpu(const char* name);

// A scalar of the case.
int64_t run_int(const char* name);
double run_real(const char* name);

// The strides of a (B, N, H, d) array, which the case passes as three numbers: for "q" these are
// "stride_q.b", "stride_q.n" and "stride_q.h".
struct strides run_strides(const char* array);

// The address of an array of floats whose rows may begin a few elements later: `first` is the name
// of that number.
float* run_rows(const char* array, const char* first);

// Calls for rows of "cols" numbers; before that for rows of "narrower" fewer, and of "step" more
// and so on. Ends with the first status that is not COURSE_OK, and returns it.
int run_widths(int (*call_with)(int64_t cols));

// Written by the lesson: calls the launcher with the case's arguments and returns its status.
int call(void);

#endif
