// vector_add.h: the contract of lesson 01.
//
// c = a + b                                (README eq. 1)
// c[i] = a[i] + b[i],  0 <= i < n
//
// The three arrays are ordinary host memory. This is the one launcher of the course that does the
// host's work itself: it allocates on the device, copies there, launches, copies back and frees.
// Later lessons get device pointers and only launch.
#ifndef VECTOR_ADD_H
#define VECTOR_ADD_H

#include "course.h"

COURSE_BEGIN_C

// Adds two vectors on the current GPU, which stays current, on the default stream. When it returns,
// c is complete.
//
// The caller owns the arrays; they are aligned to 4 bytes (one float) and c overlaps neither input.
// n is below 2^61: the bytes of an array can be counted in int64_t.
// Every byte of device memory the launcher allocates is freed before it returns, whatever it
// returns. Use cudaMalloc and cudaMemcpy: the grader makes single calls of these functions, and the
// launch, fail.
//
// Returns, in this order of precedence
//   COURSE_BAD_ARGUMENT  n < 0
//   COURSE_OK            n = 0: nothing is read or written, and the pointers may be NULL
//   COURSE_BAD_ARGUMENT  n > 0 and a pointer is NULL
//   COURSE_CUDA_ERROR    a CUDA call or the launch failed (not enough device memory, say)
//   COURSE_OK            c holds the sum
// c is written only if COURSE_OK is returned.
int vector_add(float* c,        // (n)  out
               const float* a,  // (n)
               const float* b,  // (n)
               int64_t n);      // elements, not bytes

COURSE_END_C

#endif
