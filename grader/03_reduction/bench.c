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

// Summed one after the other, partial sums of random x grow like sqrt(j), and so do their roundings, of
// up to 2^-25 of them each: the variance of the error is about 2^-50 / 3 sum_j j, its root 2^-25 cols
// / 2.4, half a rounding (2^-25) of sum_j |x_j|. Eight times that is allowed, in whatever order they
// are summed. One element lost is hundreds of times that.
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
        double e = got_max == max ? fabs(got_sum - sum) / (0x1p-23 * size) : 2;
        if (!(e <= worst)) worst = e;
    }
    free(x);
    return worst;
}

const struct bench bench = {"reduction", sizes, bytes, 0, F32, prepare, call, error, 1e-5};
