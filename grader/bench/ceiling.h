// ceiling.h: what the GPU reaches today, measured like the kernels are: cold cache, median.
#ifndef GRADER_BENCH_CEILING_H
#define GRADER_BENCH_CEILING_H

#include "check/check.h"

void ceiling_measure(void);  // about two seconds; before the others
double ceiling_copy(void);   // GB/s, bytes read and bytes written counted, of a copy of 1 GiB
double
ceiling_matmul(enum dtype precision);  // TFLOP/s of cuBLAS: BF16 8192^3, F32 4096^3 (no TF32)

// Empties the second-level cache, in stream order: overwrites more than any GPU's cache holds.
void ceiling_flush(void);

#endif
