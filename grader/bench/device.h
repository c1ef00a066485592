// device.h: what the bench does on the GPU itself.
#ifndef GRADER_BENCH_DEVICE_H
#define GRADER_BENCH_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// DEVICE_U8: bytes, of which 0xff is the NaN that nobody has written over.
enum device_type { DEVICE_F32, DEVICE_F16, DEVICE_BF16, DEVICE_U8 };

// Fills x_gpu, `count` elements, with normal random numbers; another seed, other numbers.
// Returns a cudaError_t.
int device_fill(void* x_gpu, enum device_type type, int64_t count, uint64_t seed);

// Adds to *wrong_gpu how many of `count` elements of x differ from y by more than
// tolerance + each min(|x|, |y|), or are NaN in either. In stream order, without waiting. Returns a
// cudaError_t.
int device_differs(unsigned* wrong_gpu, const void* x_gpu, const void* y_gpu, enum device_type type,
                   int64_t count, float tolerance, float each);

// The largest finite |x|, written to *largest_gpu. In stream order. Returns a cudaError_t.
int device_largest(float* largest_gpu, const void* x_gpu, enum device_type type, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
