// from lesson 01: course.h: what every contract and every kernel of the course shares.
//
// Plain C, so that the grader, which is C, reads the same contracts as the kernels. A .cu file
// includes its contract (lessons/NN_name/name.h), and the contract includes this file.
#ifndef COURSE_H
#define COURSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define COURSE_BEGIN_C extern "C" {
#define COURSE_END_C }
#else
#define COURSE_BEGIN_C
#define COURSE_END_C
#endif

// The status that a launcher returns. A launcher that does not return COURSE_OK has written
// nothing; but if it launches several kernels and a later one is refused, those before it may have
// written.
enum course_status {
    COURSE_OK = 0,
    COURSE_BAD_ARGUMENT = 1,  // a NULL pointer, a negative size, strides that do not fit
    COURSE_UNSUPPORTED =
        2,                  // legal, but outside what the contract asks for (a head dimension, say)
    COURSE_CUDA_ERROR = 3,  // the CUDA runtime refused: no memory, a launch it cannot do. No error
                            // is left for the caller's next cudaGetLastError()
};

// 16-bit floats. In a .cu file they are CUDA's own types (include <cuda_fp16.h> or <cuda_bf16.h> to
// compute with them); in plain C they are two bytes that can be passed on but not added.
#ifdef __cplusplus
struct __half;
struct __nv_bfloat16;
typedef struct __half fp16;
typedef struct __nv_bfloat16 bf16;
#else
typedef struct {
    uint16_t bits;
} fp16;
typedef struct {
    uint16_t bits;
} bf16;
#endif

// Where the elements of a (B, N, H, d) array are: element (b, n, h, x) at b * s.b + n * s.n + h *
// s.h + x. In elements; the last axis is contiguous. Packed, s is {N * H * d, H * d, d}; the same
// array with its heads outside, (B, H, N, d), has {H * N * d, d, N * d}.
struct strides {
    int64_t b;  // from one batch to the next
    int64_t n;  // from one row to the next
    int64_t h;  // from one head to the next
};

// How many tiles of size b cover a elements. CEIL_DIV(17, 8) is 3; a >= 0, b > 0. Right up to the
// largest number of a's type.
#define CEIL_DIV(a, b) ((a) / (b) + ((a) % (b) != 0))

// Leaves the launcher with COURSE_CUDA_ERROR if a CUDA call fails, and forgets the error. The macro
// frees nothing: use it where there is nothing to free.
#define COURSE_TRY(call)                                                        \
    do {                                                                        \
        if ((call) != cudaSuccess) {                                            \
            (void)cudaGetLastError(); /* the caller's next call begins clean */ \
            return COURSE_CUDA_ERROR;                                           \
        }                                                                       \
    } while (0)

#endif
