// bench.c: how fast lesson 03, reduction, is. Memory is the bound: x is read once.
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "reduction.h"

// n = {rows, cols}
static const struct bench_size sizes[] = {
    {"8192 x 4096", {8192, 4096}},
    {"8765 x 4096", {8765, 4096}},
    {"4096 x 50257", {4096, 50257}},
    {0},
};

static double bytes(const int64_t* n) {
    return 4.0 * (double)(n[0] * n[1] + 2 * n[0]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "sum", F32, n[0]);
    bench_output(run, "max", F32, n[0]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, float*, const float*, int64_t, int64_t, int64_t))launcher)(
        bench_gpu(run, "sum"), bench_gpu(run, "max"), bench_gpu(run, "x"), n[0], n[1], n[1]);
}

// Summed one after the other, the partial sums of random x wander: they grow like sqrt(j), and a row that
// stays far from 0 for long rounds coarsely all the while. Of 111 rows of 50257 the worst erred by 0.8 times
// 2^-23 sum_j |x_j|, the mean by 0.15. Four times 2^-23 is allowed; one element lost is 35 times that and
// more.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 16 };
    double* x = malloc((size_t)n[1] * sizeof *x);
    double worst = x ? 0 : NAN;
    for (int sample = 0; x && sample < SAMPLES; sample++) {
        int64_t row = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        double sum = 0, size = 0, max = -INFINITY, got_sum, got_max;
        bench_read(run, "x", row * n[1], n[1], 1, n[1], x);
        for (int64_t j = 0; j < n[1]; j++) {
            sum += x[j];
            size += fabs(x[j]);
            max = fmax(max, x[j]);
        }
        bench_read(run, "sum", row, 1, 1, 1, &got_sum);
        bench_read(run, "max", row, 1, 1, 1, &got_max);
        double e = got_max == max ? fabs(got_sum - sum) / (0x1p-21 * size) : 2;
        if (!(e <= worst)) worst = e;
    }
    free(x);
    return worst;
}

const struct bench bench = {"reduction", sizes, bytes, 0, F32, prepare, call, error, 1e-5};
