// bench.c: how fast lesson 10, online softmax, is. Memory is the bound: x is read once.
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "online_softmax.h"

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
    bench_output(run, "m", F32, n[0]);
    bench_output(run, "l", F32, n[0]);
    bench_input(run, "x", F32, n[0] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, float*, const float*, int64_t, int64_t, int64_t))launcher)(
        bench_gpu(run, "m"), bench_gpu(run, "l"), bench_gpu(run, "x"), n[0], n[1], n[1]);
}

// m exactly. All terms of l are positive: 256 roundings of l allow a thread that adds up two hundred
// of them one by one, with an exp of 2 ulp, and lose no single term of a row this wide.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 16 };
    double* x = malloc((size_t)n[1] * sizeof *x);
    double worst = x ? 0 : NAN;
    for (int sample = 0; x && sample < SAMPLES; sample++) {
        int64_t row = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        double m = -INFINITY, l = 0, got_m, got_l;
        bench_read(run, "x", row * n[1], n[1], 1, n[1], x);
        for (int64_t j = 0; j < n[1]; j++) m = fmax(m, x[j]);
        for (int64_t j = 0; j < n[1]; j++) l += exp(x[j] - m);
        bench_read(run, "m", row, 1, 1, 1, &got_m);
        bench_read(run, "l", row, 1, 1, 1, &got_l);
        double e = got_m == m ? fabs(got_l - l) / (256 * 0x1p-24 * l) : 2;
        if (!(e <= worst)) worst = e;
    }
    free(x);
    return worst;
}

const struct bench bench = {"online_softmax", sizes, bytes, 0, F32, prepare, call, error, 3e-5};
