// profiling.h: the contract of lesson 23.
#ifndef PROFILING_H
#define PROFILING_H

#include "course.h"

#define PROFILING_TAPS 8  // weights that the filter has for each channel

COURSE_BEGIN_C

int profiling_scores(float* S,        // (N)     out
                     const float* q,  // (d)
                     const float* K,  // (N, d)
                     int N, int d);

int profiling_decay(float* h,        // (rows, T)  out
                    const float* x,  // (rows, T)
                    int rows, int T, float decay);

int profiling_filter(float* y,        // (T, C)     out
                     const float* x,  // (T, C)
                     const float* w,  // (PROFILING_TAPS, C)
                     int T, int C);

COURSE_END_C

#endif
