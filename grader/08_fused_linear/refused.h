// refused.h: the calls that lesson 08's launchers must refuse: a good call, but for these.
// For check.c.
#ifndef REFUSED_H
#define REFUSED_H

#include "check/arguments.h"
#include "fused_linear.h"

#include <math.h>

enum { MOST_SIZE = FUSED_LINEAR_MAX_SIZE };
enum { BEYOND = FUSED_LINEAR_MAX_SIZE + 4, BEYOND_K = FUSED_LINEAR_MAX_SIZE + 8 };
static const struct idle_call refused_forward[] = {
    {COURSE_BAD_ARGUMENT, {{"M", -1}}},
    {COURSE_BAD_ARGUMENT, {{"M", 0}, {"N", -4}}},
    {COURSE_BAD_ARGUMENT, {{"K", -8}}},
    {COURSE_BAD_ARGUMENT, {{"f", 3}}},
    {COURSE_BAD_ARGUMENT, {{"f", -1}}},
    {COURSE_BAD_ARGUMENT, {{"p", -0.5}}},
    {COURSE_BAD_ARGUMENT, {{"M", 0}, {"p", 1.5}}},
    {COURSE_BAD_ARGUMENT, {{"p", NAN}}},
    {COURSE_BAD_ARGUMENT, {{"Y", 0}}},
    {COURSE_BAD_ARGUMENT, {{"X", 0}}},
    {COURSE_BAD_ARGUMENT, {{"W", 0}}},
    {COURSE_BAD_ARGUMENT, {{"bias", 0}}},
    {COURSE_UNSUPPORTED, {{"N", 0}, {"M", BEYOND}}},
    {COURSE_UNSUPPORTED, {{"M", 0}, {"N", BEYOND}}},
    {COURSE_UNSUPPORTED, {{"M", 0}, {"K", BEYOND_K}}},
    {COURSE_UNSUPPORTED, {{"N", 254}}},
    {COURSE_UNSUPPORTED, {{"K", 60}}},
    {COURSE_UNSUPPORTED, {{"first_Y", 4}}},
    {COURSE_UNSUPPORTED, {{"first_Z", 4}}},
    {COURSE_UNSUPPORTED, {{"first_X", 4}}},
    {COURSE_UNSUPPORTED, {{"first_W", 4}}},
    {COURSE_UNSUPPORTED, {{"first_bias", 4}}},
    {COURSE_UNSUPPORTED, {{"K", 0}, {"first_X", 4}}},
    {COURSE_UNSUPPORTED, {{"K", 0}, {"first_W", 4}}},
    {0},
};

static const struct idle_call refused_backward[] = {
    {COURSE_BAD_ARGUMENT, {{"M", -1}}},
    {COURSE_BAD_ARGUMENT, {{"M", 0}, {"N", -4}}},
    {COURSE_BAD_ARGUMENT, {{"f", 3}}},
    {COURSE_BAD_ARGUMENT, {{"f", -1}}},
    {COURSE_BAD_ARGUMENT, {{"p", -0.5}}},
    {COURSE_BAD_ARGUMENT, {{"p", 1.5}}},
    {COURSE_BAD_ARGUMENT, {{"p", NAN}}},
    {COURSE_BAD_ARGUMENT, {{"dZ", 0}}},
    {COURSE_BAD_ARGUMENT, {{"dY", 0}}},
    {COURSE_BAD_ARGUMENT, {{"Z", 0}}},
    {COURSE_UNSUPPORTED, {{"N", 0}, {"M", BEYOND}}},
    {COURSE_UNSUPPORTED, {{"M", 0}, {"N", BEYOND}}},
    {COURSE_UNSUPPORTED, {{"N", 254}}},
    {COURSE_UNSUPPORTED, {{"first_dZ", 4}}},
    {COURSE_UNSUPPORTED, {{"first_dY", 4}}},
    {COURSE_UNSUPPORTED, {{"first_Z", 4}}},
    {COURSE_UNSUPPORTED, {{"f", FUSED_LINEAR_NONE}, {"first_Z", 4}}},
    {0},
};

// Calls as large as may be, which nobody can run.
static const struct idle_call most_forward[] = {
    {COURSE_CUDA_ERROR, {{"M", MOST_SIZE}, {"N", MOST_SIZE}, {"K", MOST_SIZE}}}, {0}};
static const struct idle_call most_backward[] = {
    {COURSE_CUDA_ERROR, {{"M", MOST_SIZE}, {"N", MOST_SIZE}}}, {0}};

#endif
