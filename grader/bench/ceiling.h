// ceiling.h: what the GPU reaches today, measured like the kernels are: cold cache, median.
#ifndef GRADER_BENCH_CEILING_H
#define GRADER_BENCH_CEILING_H

#include "check/check.h"

void ceiling_measure(void);  // about two seconds; before the others
double ceiling_copy(void);   // GB/s, bytes read and bytes written counted, of a copy of 1 GiB
// TFLOP/s of cuBLAS: BF16 8192^3, F32 4096^3 (no TF32)
double ceiling_matmul(enum dtype precision);

// Fills the second-level cache with other data, in stream order: reads more than any GPU's cache
// holds. It does not write, since a kernel would have to evict modified lines first, and that takes
// time: for 50 MB a third of the time in which an H200 reads 134 MB.
void ceiling_flush(void);

#endif
