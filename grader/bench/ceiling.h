// ceiling.h: what the GPU reaches today, measured like the kernels are: cold cache, median.
#ifndef GRADER_BENCH_CEILING_H
#define GRADER_BENCH_CEILING_H

#include "check/check.h"

void ceiling_measure(void);  // about two seconds; before the others
double ceiling_copy(void);   // GB/s, bytes read and bytes written counted, of a copy of 1 GiB
// TFLOP/s of cuBLAS: BF16 8192^3, F32 4096^3 (no TF32)
double ceiling_matmul(enum dtype precision);

// Fills the second-level cache with something else, in stream order: reads more than any GPU's
// cache holds. It reads and does not write, since what a kernel would have to evict first, modified
// lines, costs it time: 50 MB of them a third of the time in which an H200 reads 134 MB.
void ceiling_flush(void);

#endif
