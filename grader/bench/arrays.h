// arrays.h: the arrays of one size (bench.h declares them), and what is done to them between calls.
#ifndef GRADER_BENCH_ARRAYS_H
#define GRADER_BENCH_ARRAYS_H

#include <stdbool.h>

#include "bench/bench.h"
#include "bench/device.h"

enum { BENCH_ARRAYS = 16 };
enum bench_role { BENCH_INPUT, BENCH_OUTPUT, BENCH_IN_PLACE, BENCH_WORKSPACE };

struct bench_array {
    const char* name;
    enum dtype dtype;
    enum bench_role role;
    int64_t count;
    size_t bytes;
    void* gpu;
    void* original_gpu;  // in place: what it holds before a call
    void* agreed_gpu;    // outputs, in place: what the first right version wrote
    float tolerance;     // these: between agreed_gpu and any other run
    float each;          // ... and what is added of an element's own size
};

struct bench_run {
    struct bench_array array[BENCH_ARRAYS];
    int count;
    uint64_t random;
    bool no_memory;         // the arrays do not fit: none is to be used
    unsigned* scratch_gpu;  // one word
};

// Ends the program with the CUDA error's name if there is one.
void bench_must(int error, const char* what);

// Before a call, in stream order: NaN in outputs and workspace, the original in what is in place.
void arrays_restore(const struct bench_run* run);
// The outputs as they are now: all others are compared with these.
void arrays_keep(struct bench_run* run, double spread);
// Counts the elements that differ from these by more than `looser` times what is allowed.
void arrays_compare(const struct bench_run* run, double looser, unsigned* wrong_gpu);
void arrays_free(struct bench_run* run);

#endif
