// bench.c: how fast lesson 07, the matrix product on tensor cores, is.
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "tensor_core_matmul.h"

// n = {M, N, K}; in the last one, rows begin anywhere.
static const struct bench_size sizes[] = {
    {"2048 x 2048 x 2048", {2048, 2048, 2048}}, {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"8192 x 8192 x 8192", {8192, 8192, 8192}}, {"4100 x 4008 x 4104", {4100, 4008, 4104}},
    {"2049 x 2047 x 2051", {2049, 2047, 2051}}, {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * (double)(n[0] * n[1] + n[0] * n[2] + n[2] * n[1]);
}

static double flops(const int64_t* n) {
    return 2.0 * (double)n[0] * (double)n[1] * (double)n[2];
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_output(run, "C", BF16, n[0] * n[1]);
    bench_input(run, "A", BF16, n[0] * n[2]);
    bench_input(run, "B", BF16, n[2] * n[1]);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(bf16*, const bf16*, const bf16*, int, int, int))launcher)(
        bench_gpu(run, "C"), bench_gpu(run, "A"), bench_gpu(run, "B"), (int)n[0], (int)n[1],
        (int)n[2]);
}

// One element each in a few places. Rounding to bf16 errs by at most 2^-8 of the sum, and a sum is
// about sqrt(K) large: beside 2^-8 sqrt(K) / 4, the bits that tensor cores drop are nothing, and one
// product lost, about 1, is much for any K up to 10^6.
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
        double e = fabs(got - want) / (0x1p-8 * (fabs(want) + sqrt((double)K) / 4));
        if (!(e <= worst)) worst = e;
    }
    free(a);
    return worst;
}

// Two sums that differ in a last bit may be rounded to neighbours: 2^-7 of the largest.
const struct bench bench = {
    "tensor_core_matmul", sizes, bytes, flops, BF16, prepare, call, error, 0.008};
