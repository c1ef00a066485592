// bench.c: how fast lesson 09, softmax, is. Memory is the bound: x is read once, y written once.
#include <math.h>
#include <stdlib.h>

#include "rows/bench.h"
#include "rows/row.h"
#include "softmax.h"

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "y", F32, n[0] * n[1]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(softmax)*)launcher)(bench_gpu(run, "y"), bench_gpu(run, "x"), n[0], n[1],
                                            n[1], n[1]);
}

// Element by element. 256 roundings of y allow an l that one thread adds up from 50257 terms one by
// one, and an exp of 2 ulp; no single term of a row this wide can be lost in them.
static double of_row(struct bench_run* run, const int64_t* n, int64_t row, const double* x) {
    double m = row_max(x, n[1]), l = row_sum_exp(x, n[1], m), worst = 0;
    double* y = malloc((size_t)n[1] * sizeof *y);
    if (!y) return NAN;
    bench_read(run, "y", row * n[1], n[1], 1, n[1], y);
    for (int64_t j = 0; j < n[1]; j++) {
        double want = exp(x[j] - m) / l, e = fabs(y[j] - want) / (256 * 0x1p-24 * want);
        worst = bench_worse(worst, e);
    }
    free(y);
    return worst;
}

static double error(struct bench_run* run, const int64_t* n) {
    return rows_error(run, n, of_row);
}

const struct bench bench = {"softmax", rows_sizes, rows_bytes_rows, 0,   F32,
                            prepare,   call,       error,           3e-5};
