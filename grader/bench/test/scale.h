// scale.h: the contract of the bench's own test: y = 2 x, and z = 2 z in place.
#ifndef SCALE_H
#define SCALE_H

#include "course.h"

COURSE_BEGIN_C
int scale(float* y, float* z, const float* x, int64_t n);
COURSE_END_C

#endif
