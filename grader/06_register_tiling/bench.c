// bench.c: how fast lesson 06, register tiling, is, against fp32 without tensor cores.
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "register_tiling.h"

// n = {M, N, K}, packed; in the last one, rows begin anywhere.
static const struct bench_size sizes[] = {
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"8192 x 8192 x 8192", {8192, 8192, 8192}},
    {"4100 x 4008 x 4104", {4100, 4008, 4104}},
    {"4321 x 4001 x 4097", {4321, 4001, 4097}},
    {0},
};

static double bytes(const int64_t* n) {
    return 4.0 * (double)(n[0] * n[1] + n[0] * n[2] + n[2] * n[1]);
}

static double flops(const int64_t* n) {
    return 2.0 * (double)n[0] * (double)n[1] * (double)n[2];
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "C", F32, n[0] * n[1]);
    bench_input(run, "A", F32, n[0] * n[2]);
    bench_input(run, "B", F32, n[2] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(float*, const float*, const float*, int, int, int, int64_t, int64_t,
                     int64_t))launcher)(bench_gpu(run, "C"), bench_gpu(run, "A"),
                                        bench_gpu(run, "B"), (int)n[0], (int)n[1], (int)n[2], n[1],
                                        n[2], n[1]);
}

// One element each in a few places: a dot product of K random numbers is about sqrt(K); each of the
// K additions errs by at most half an ulp of the partial sum. 8 sqrt(K) ulp is far above what is
// seen, and far below one product lost.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 24 };
    int64_t N = n[1], K = n[2];
    double *a = malloc(2 * (size_t)K * sizeof *a), *b = a + K, worst = a ? 0 : NAN;
    for (int sample = 0; a && sample < SAMPLES; sample++) {
        int64_t i = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        int64_t j = sample == 0 ? N - 1 : bench_pick(run, N);
        double want = 0, got;
        bench_read(run, "A", i * K, K, 1, K, a);
        bench_read(run, "B", j, N, K, 1, b);
        for (int64_t k = 0; k < K; k++) want += a[k] * b[k];
        bench_read(run, "C", i * N + j, 1, 1, 1, &got);
        double e = fabs(got - want) / (8 * 0x1p-24 * (double)K);
        if (!(e <= worst)) worst = e;
    }
    free(a);
    return worst;
}

const struct bench bench = {"register_tiling", sizes, bytes, flops, F32,
                            prepare,           call,  error, 1e-5};
