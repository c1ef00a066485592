// bench.h: what a lesson's bench.c declares: sizes, the work they are, data, one call, and a check.
//
// A *version* of a lesson (a step, the solution, a student's file, a library's routine behind the
// same contract) is a shared library that exports the contract's launcher. All versions of a lesson
// are timed in one process, in turns, on the same arrays; every output of every run is verified.
//
// Nothing here decides a grade. Versions run in the process of the bench itself: bench only kernels
// that you would also run yourself.
#ifndef GRADER_BENCH_H
#define GRADER_BENCH_H

#include <math.h>
#include <stdint.h>

#include "base/dtype.h"

enum { BENCH_NUMBERS = 8 };

// The larger of two errors. NaN is larger than all numbers: no later sample hides it.
static inline double bench_worse(double worst, double error) {
    return isnan(worst) || error <= worst ? worst : error;
}

// One size: what the table calls it, and the numbers a lesson's functions get.
struct bench_size {
    const char* label;
    int64_t n[BENCH_NUMBERS];
};

struct bench_run;                      // the arrays of one size, on the GPU
typedef void (*bench_launcher)(void);  // to be cast to the contract's type

struct bench {
    // Its name in the contract. A contract of two launchers: "gqa_forward gqa_backward"; the last
    // number of a size, n[BENCH_NUMBERS - 1], says which of them call() gets, 0 or 1.
    const char* launcher;
    const struct bench_size* sizes;     // the last one has no label
    double (*bytes)(const int64_t* n);  // the least that has to move through memory
    double (*flops)(const int64_t* n);  // operations to be computed; NULL: memory is the bound
    enum dtype precision;  // of the matrix product that flops are compared with: F32 or BF16
    void (*prepare)(struct bench_run* run, const int64_t* n);  // declares the arrays
    // Calls the launcher once; returns its status.
    int (*call)(bench_launcher launcher, struct bench_run* run, const int64_t* n);
    // The largest error of a sample of the outputs, in parts of what is allowed: <= 1 is right, NaN
    // is not. Reads with bench_read().
    double (*error)(struct bench_run* run, const int64_t* n);
    // How far two right outputs may differ, relative to the largest element: every element of every
    // timed run is compared with the output of the first right version. 0: not in a single bit.
    // bench_each() says otherwise of an output.
    double spread;
};

extern const struct bench bench;  // a lesson's bench.c defines it

// For prepare(). Inputs hold random numbers, normal with mean 0 and variance 1. Outputs and
// workspace hold NaN before every call. count > 0.
void bench_input(struct bench_run* run, const char* name, enum dtype dtype, int64_t count);
// An input that holds these `count` elements; they belong to the caller.
void bench_input_given(struct bench_run* run, const char* name, enum dtype dtype,
                       const void* elements, int64_t count);
void bench_output(struct bench_run* run, const char* name, enum dtype dtype, int64_t count);
// An output that takes an input's place: before every call it holds the same random numbers,
// afterwards it is compared as an output.
void bench_in_place(struct bench_run* run, const char* name, enum dtype dtype, int64_t count);
void bench_workspace(struct bench_run* run, const char* name, int64_t bytes);
// Two right values of this output differ by at most `each` times their own size, in place of
// `spread` times the largest: for elements of very different size.
void bench_each(struct bench_run* run, const char* name, double each);

// The array of that name on the GPU.
void* bench_gpu(const struct bench_run* run, const char* name);

// to[r * width + x] = element first + r * stride + x of the array, for `rows` rows.
void bench_read(struct bench_run* run, const char* name, int64_t first, int64_t stride,
                int64_t rows, int64_t width, double* to);

// The same of an array in place as it was before the call.
void bench_read_original(struct bench_run* run, const char* name, int64_t first, int64_t stride,
                         int64_t rows, int64_t width, double* to);

// A number of 0 .. below - 1, the same sequence in every process: which elements error() looks at.
int64_t bench_pick(struct bench_run* run, int64_t below);

#endif
