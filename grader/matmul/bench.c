// bench.c: see bench.h.
#include "matmul/bench.h"

#include <math.h>
#include <stdlib.h>

const struct bench_size matmul_sizes[] = {
    {"2048 x 2048 x 2048", {2048, 2048, 2048}},
    {"4096 x 4096 x 4096", {4096, 4096, 4096}},
    {"4321 x 4001 x 4097", {4321, 4001, 4097}},
    {0},
};

double matmul_flops(const int64_t* n) {
    return 2.0 * (double)n[0] * (double)n[1] * (double)n[2];
}

static double elements(const int64_t* n) {
    return (double)(n[0] * n[1] + n[0] * n[2] + n[2] * n[1]);
}

double matmul_bytes_f32(const int64_t* n) {
    return 4 * elements(n);
}

double matmul_bytes_bf16(const int64_t* n) {
    return 2 * elements(n);
}

static void prepare(struct bench_run* run, const int64_t* n, enum dtype dtype) {
    bench_output(run, "C", dtype, n[0] * n[1]);
    bench_input(run, "A", dtype, n[0] * n[2]);
    bench_input(run, "B", dtype, n[2] * n[1]);
}

void matmul_prepare_f32(struct bench_run* run, const int64_t* n) {
    prepare(run, n, F32);
}

void matmul_prepare_bf16(struct bench_run* run, const int64_t* n) {
    prepare(run, n, BF16);
}

int matmul_call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    return ((int (*)(void*, const void*, const void*, int, int, int))launcher)(
        bench_gpu(run, "C"), bench_gpu(run, "A"), bench_gpu(run, "B"), (int)n[0], (int)n[1],
        (int)n[2]);
}

static double error(struct bench_run* run, const int64_t* n,
                    double (*allowed)(double want, double K)) {
    enum { SAMPLES = 24 };
    int64_t N = n[1], K = n[2];
    double *a = malloc(2 * (size_t)K * sizeof *a), *b = a + K, worst = a ? 0 : NAN;
    for (int sample = 0; a && sample < SAMPLES; sample++) {
        int64_t i = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        int64_t j = sample == 0 ? N - 1 : bench_pick(run, N);
        double want = 0, got;
        bench_read(run, "A", n[3] ? i : i * K, n[3] ? n[0] : K, n[3] ? K : 1, n[3] ? 1 : K, a);
        bench_read(run, "B", n[4] ? j * K : j, n[4] ? K : N, n[4] ? 1 : K, n[4] ? K : 1, b);
        for (int64_t k = 0; k < K; k++) want += a[k] * b[k];
        bench_read(run, "C", i * N + j, 1, 1, 1, &got);
        double e = fabs(got - want) / allowed(want, (double)K);
        worst = bench_worse(worst, e);
    }
    free(a);
    return worst;
}

// A dot product of K random numbers is about sqrt(K); each of the K additions errs by at most half
// an ulp of the partial sum. 8 sqrt(K) ulp are allowed.
static double allowed_f32(double want, double K) {
    (void)want;
    return 8 * 0x1p-24 * K;
}

// Rounding to bf16 errs by at most 2^-8 of the sum, and a sum is about sqrt(K) large: beside 2^-8
// sqrt(K) / 4, the bits that tensor cores drop are nothing, and one product lost, about 1, is much
// for any K up to 10^6.
static double allowed_bf16(double want, double K) {
    return 0x1p-8 * (fabs(want) + sqrt(K) / 4);
}

double matmul_error_f32(struct bench_run* run, const int64_t* n) {
    return error(run, n, allowed_f32);
}

double matmul_error_bf16(struct bench_run* run, const int64_t* n) {
    return error(run, n, allowed_bf16);
}
