// bench.c: how fast lesson 09, softmax, is. Memory is the bound: x is read once, y written once.
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "softmax.h"

// n = {rows, cols}
static const struct bench_size sizes[] = {
    {"8192 x 4096", {8192, 4096}},
    {"8765 x 4096", {8765, 4096}},
    {"4096 x 50257", {4096, 50257}},
    {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "y", F32, n[0] * n[1]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, const float*, int64_t, int64_t, int64_t, int64_t))launcher)(
        bench_gpu(run, "y"), bench_gpu(run, "x"), n[0], n[1], n[1], n[1]);
}

// Rows, element by element. 256 roundings of y allow an l that one thread adds up from 50257 terms one by one,
// and an exp of 2 ulp; no single term of a row this wide can be lost in them.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 16 };
    double* x = malloc((size_t)n[1] * sizeof *x);
    double* y = malloc((size_t)n[1] * sizeof *y);
    double worst = x && y ? 0 : NAN;
    for (int sample = 0; x && y && sample < SAMPLES; sample++) {
        int64_t row = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        double m = -INFINITY, l = 0;
        bench_read(run, "x", row * n[1], n[1], 1, n[1], x);
        bench_read(run, "y", row * n[1], n[1], 1, n[1], y);
        for (int64_t j = 0; j < n[1]; j++) m = fmax(m, x[j]);
        for (int64_t j = 0; j < n[1]; j++) l += exp(x[j] - m);
        for (int64_t j = 0; j < n[1]; j++) {
            double want = exp(x[j] - m) / l, e = fabs(y[j] - want) / (256 * 0x1p-24 * want);
            if (!(e <= worst)) worst = e;
        }
    }
    free(x);
    free(y);
    return worst;
}

const struct bench bench = {"softmax", sizes, bytes, 0, F32, prepare, call, error, 3e-5};
