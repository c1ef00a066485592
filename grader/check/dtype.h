// dtype.h: element types as bytes. See check.h for enum dtype and dtype_round().
#ifndef DTYPE_H
#define DTYPE_H

#include "check/check.h"

int dtype_size(enum dtype dtype);  // bytes

// One element to and from memory. x is rounded as dtype_round() does; a NaN becomes a quiet NaN.
void dtype_store(enum dtype dtype, void* to, double x);
double dtype_load(enum dtype dtype, const void* from);

// The distance between neighbouring values near x (one unit in the last place), x finite.
double dtype_ulp(enum dtype dtype, double x);

#endif
