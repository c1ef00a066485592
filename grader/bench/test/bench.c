// bench.c: a lesson for the bench's own test.
#include "bench/bench.h"
#include "scale.h"

// The last does not fit into any memory.
static const struct bench_size sizes[] = {
    {"1000", {1000}}, {"4321", {4321}}, {"huge", {INT64_C(1) << 50}}, {0}};

static double bytes(const int64_t* n) {
    return 8.0 * (double)n[0];
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "y", F32, n[0]);
    bench_input(run, "x", F32, n[0]);
    bench_in_place(run, "z", F32, n[0]);
    bench_each(run, "z", 0x1p-20);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(scale)*)launcher)(bench_gpu(run, "y"), bench_gpu(run, "z"),
                                          bench_gpu(run, "x"), n[0]);
}

// The sample: element 0.
static double error(struct bench_run* run, const int64_t* n) {
    (void)n;
    double x, y, before, z;
    bench_read(run, "x", 0, 1, 1, 1, &x);
    bench_read(run, "y", 0, 1, 1, 1, &y);
    bench_read_original(run, "z", 0, 1, 1, 1, &before);
    bench_read(run, "z", 0, 1, 1, 1, &z);
    return y == 2 * x && z == 2 * before ? 0 : 2;
}

const struct bench bench = {"scale", sizes, bytes, 0, F32, prepare, call, error, 0};
