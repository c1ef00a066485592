// bench.c: how fast lesson 10, online softmax, is. Memory is the bound: x is read once.
#include <math.h>

#include "online_softmax.h"
#include "rows/bench.h"
#include "rows/row.h"

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "m", F32, n[0]);
    bench_output(run, "l", F32, n[0]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(online_softmax)*)launcher)(bench_gpu(run, "m"), bench_gpu(run, "l"),
                                                   bench_gpu(run, "x"), n[0], n[1], n[1]);
}

// m exactly. All terms of l are positive: 256 roundings of l allow a thread that adds up two
// hundred of them one by one, with an exp of 2 ulp, and lose no single term of a row this wide.
static double of_row(struct bench_run* run, const int64_t* n, int64_t row, const double* x) {
    double m = row_max(x, n[1]), l = row_sum_exp(x, n[1], m);
    if (rows_number(run, "m", row) != m) return 2;
    return fabs(rows_number(run, "l", row) - l) / (256 * 0x1p-24 * l);
}

static double error(struct bench_run* run, const int64_t* n) {
    return rows_error(run, n, of_row);
}

const struct bench bench = {
    "online_softmax", rows_sizes, rows_bytes_pairs, 0, F32, prepare, call, error, 3e-5};
