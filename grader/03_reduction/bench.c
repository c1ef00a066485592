// bench.c: how fast lesson 03, reduction, is. Memory is the bound: x is read once.
#include <math.h>

#include "reduction.h"
#include "rows/bench.h"

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "sum", F32, n[0]);
    bench_output(run, "max", F32, n[0]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((__typeof__(reduction)*)launcher)(bench_gpu(run, "sum"), bench_gpu(run, "max"),
                                              bench_gpu(run, "x"), n[0], n[1], n[1]);
}

// Summed one after the other, the partial sums of random x wander: they grow like sqrt(j), and a
// row that stays far from 0 for long rounds coarsely all the while. Of 111 rows of 50257 the worst
// erred by 0.8 times 2^-23 sum_j |x_j|, the mean by 0.15. Four times 2^-23 is allowed; one element
// lost is 35 times that and more.
static double of_row(struct bench_run* run, const int64_t* n, int64_t row, const double* x) {
    double sum = 0, size = 0, max = -INFINITY;
    for (int64_t j = 0; j < n[1]; j++) {
        sum += x[j];
        size += fabs(x[j]);
        max = fmax(max, x[j]);
    }
    if (rows_number(run, "max", row) != max) return 2;
    return fabs(rows_number(run, "sum", row) - sum) / (0x1p-21 * size);
}

static double error(struct bench_run* run, const int64_t* n) {
    return rows_error(run, n, of_row);
}

const struct bench bench = {"reduction", rows_sizes, rows_bytes_pairs, 0, F32, prepare, call,
                            error,       1e-5};
