// read.h: the three kernels of lesson 23 that nobody edits. They are recorded on a GPU, before and
// after their cure, and read.
#ifndef READ_H
#define READ_H

#include "course.h"

#define GAP_REACH 16  // neighbours on each side that a gap is filled from
#define BODIES 1024   // of a system

COURSE_BEGIN_C

// y = x, each NaN replaced by the value there of a polynomial that is fitted to its neighbours.
int read_gaps(float* y,        // (n)  out
              const float* x,  // (n)
              int64_t n);

// The acceleration of each body of each system by the others of its system.
// a[s][i] = sum_j m_j (r_j - r_i) / (|r_j - r_i|^2 + 0.01)^(3/2)
int read_forces(float* a,           // (systems, BODIES, 3)  out
                const float* body,  // (systems, BODIES, 4): the place, and the mass; to 16 bytes
                int systems);

// sum = sum_i x[i]^2
int read_norm(int64_t* sum,     // (1)  out
              const int8_t* x,  // (n), aligned to 4 bytes
              int64_t n);       // a multiple of 4

COURSE_END_C

#endif
