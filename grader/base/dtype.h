// dtype.h: the element types of arrays, as bytes.
#ifndef DTYPE_H
#define DTYPE_H

enum dtype { F32, F16, BF16, I32, U8, I64 };

int dtype_size(enum dtype dtype);  // bytes

// The value nearest to x that dtype can hold (round to nearest even; overflow gives infinity).
double dtype_round(enum dtype dtype, double x);

// One element to and from memory. x is rounded as dtype_round() does; a NaN becomes a quiet NaN. A
// double has whole numbers up to 2^53 exactly, beyond that some of them: those of I64 that it lacks
// are loaded as its nearest, and a number outside of I64 is stored as I64's nearest.
void dtype_store(enum dtype dtype, void* to, double x);
double dtype_load(enum dtype dtype, const void* from);

// The distance between neighbouring values near x (one unit in the last place), x finite.
double dtype_ulp(enum dtype dtype, double x);

#endif
