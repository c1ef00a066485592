// bench.c: how fast lesson 08, a linear layer with GELU and dropout, is: beside the product alone,
// with what follows it one by one, and the backward pass, of which memory is the bound.
#include "bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "fused_linear.h"
#include "reference.h"

// n. PERCENT of the elements are dropped.
enum { IS_M, IS_N, IS_K, IS_F, PERCENT, WITH_Z, UNUSED, BACKWARD };
enum { SEED = 2011, OFFSET = 8 };

static const struct bench_size sizes[] = {
    {"8192 x 4096 x 4096; product alone", {8192, 4096, 4096, FUSED_LINEAR_NONE}},
    {"8192 x 4096 x 4096; GELU", {8192, 4096, 4096, FUSED_LINEAR_GELU}},
    {"8192 x 4096 x 4096; GELU by tanh", {8192, 4096, 4096, FUSED_LINEAR_GELU_TANH}},
    {"8192 x 4096 x 4096; GELU; dropout", {8192, 4096, 4096, FUSED_LINEAR_GELU, 10}},
    {"8192 x 4096 x 4096; GELU; dropout; Z", {8192, 4096, 4096, FUSED_LINEAR_GELU, 10, 1}},
    {"backward; 8192 x 4096; GELU; dropout", {8192, 4096, 0, FUSED_LINEAR_GELU, 10, 1, 0, 1}},
    {0},
};

static double bytes(const int64_t* n) {
    const double outputs = (double)(n[IS_M] * n[IS_N]);
    if (n[BACKWARD]) return 2 * 3 * outputs;
    return 2 *
           ((double)((n[IS_M] + n[IS_N]) * n[IS_K] + n[IS_N]) + (1 + (double)n[WITH_Z]) * outputs);
}

static double flops(const int64_t* n) {
    return 2.0 * (double)n[IS_M] * (double)n[IS_N] * (double)n[IS_K];
}

static bool is_alone(const int64_t* n) {
    return n[IS_F] == FUSED_LINEAR_NONE && n[PERCENT] == 0;
}

// Weights of variance 1 / K, so that Z has that of a normal layer.
static void prepare_weights(struct bench_run* run, int64_t N, int64_t K) {
    const double most = sqrt(3.0 / (double)K);
    unsigned char* W = malloc((size_t)(2 * N * K));
    if (!W) abort();
    for (int64_t e = 0; e < N * K; e++)
        dtype_store(BF16, W + 2 * e, most * (double)(bench_pick(run, 2001) - 1000) / 1000);
    bench_input_given(run, "W", BF16, W, N * K);
    free(W);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    const int64_t outputs = n[IS_M] * n[IS_N];
    if (n[BACKWARD]) {
        bench_output(run, "dZ", BF16, outputs);
        bench_input(run, "dY", BF16, outputs);
        bench_input(run, "Z", BF16, outputs);
        return;
    }
    bench_output(run, "Y", BF16, outputs);
    if (n[WITH_Z]) bench_output(run, "Z", BF16, outputs);
    bench_input(run, "X", BF16, n[IS_M] * n[IS_K]);
    prepare_weights(run, n[IS_N], n[IS_K]);
    if (!is_alone(n)) {
        bench_input(run, "bias", BF16, n[IS_N]);
        return;
    }
    void* zeros = calloc((size_t)n[IS_N], 2);  // as the product alone has it
    if (!zeros) abort();
    bench_input_given(run, "bias", BF16, zeros, n[IS_N]);
    free(zeros);
}

static float p_of(const int64_t* n) {
    return (float)n[PERCENT] / 100;
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const int M = (int)n[IS_M], N = (int)n[IS_N], K = (int)n[IS_K], f = (int)n[IS_F];
    if (n[BACKWARD])
        return ((__typeof__(fused_linear_backward)*)launcher)(
            bench_gpu(run, "dZ"), bench_gpu(run, "dY"), bench_gpu(run, "Z"), M, N, f, p_of(n), SEED,
            OFFSET);
    return ((__typeof__(fused_linear)*)launcher)(
        bench_gpu(run, "Y"), n[WITH_Z] ? bench_gpu(run, "Z") : NULL, bench_gpu(run, "X"),
        bench_gpu(run, "W"), bench_gpu(run, "bias"), M, N, K, f, p_of(n), SEED, OFFSET);
}

static bool is_kept(const int64_t* n, int64_t e) {
    return (double)philox_of((uint64_t)e / 4, OFFSET, SEED, 10, 1).word[e % 4] >=
           ldexp((double)p_of(n), 32);
}

// Who rounds to bf16 on the way is off by half an ulp, at most 2^-8, of the sum and of Z, which f
// passes on with a slope of at most 1.13, and of y. A sum in fp32 of K products is off by far less.
static double allowed(double sum, double z, double y, double scale) {
    return 1.1 * 0x1p-8 * (1.13 * (fabs(sum) + fabs(z)) * scale + fabs(y)) + 1e-4;
}

static double error_of(struct bench_run* run, const int64_t* n, int64_t e, double* x, double* w) {
    const double scale = 1 / (1 - (double)p_of(n));
    double z = 0, g = 1, got, want;
    if (n[BACKWARD]) {
        bench_read(run, "Z", e, 1, 1, 1, &z);
        bench_read(run, "dY", e, 1, 1, 1, &g);
        bench_read(run, "dZ", e, 1, 1, 1, &got);
        want = is_kept(n, e) ? g * slope_of((int)n[IS_F], z) * scale : 0;
        return fabs(got - want) / allowed(g, 0, want, scale);
    }
    const int64_t K = n[IS_K];
    double bias, stored;
    bench_read(run, "X", e / n[IS_N] * K, K, 1, K, x);
    bench_read(run, "W", e % n[IS_N] * K, K, 1, K, w);
    bench_read(run, "bias", e % n[IS_N], 1, 1, 1, &bias);
    bench_read(run, "Y", e, 1, 1, 1, &got);
    for (int64_t k = 0; k < K; k++) z += x[k] * w[k];
    const double sum = z;
    z += bias;
    want = is_kept(n, e) ? f_of((int)n[IS_F], z) * scale : 0;
    double worst = fabs(got - want) / allowed(sum, z, want, scale);
    if (!n[WITH_Z]) return worst;
    bench_read(run, "Z", e, 1, 1, 1, &stored);
    return bench_worse(worst, fabs(stored - z) / allowed(sum, 0, z, 1));
}

static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 48 };
    const int64_t outputs = n[IS_M] * n[IS_N], K = n[IS_K] ? n[IS_K] : 1;
    double *x = malloc(2 * (size_t)K * sizeof *x), worst = x ? 0 : NAN;
    for (int sample = 0; x && sample < SAMPLES; sample++) {
        int64_t e = sample == 0 ? outputs - 1 : bench_pick(run, outputs);
        worst = bench_worse(worst, error_of(run, n, e, x, x + K));
    }
    free(x);
    return worst;
}

const struct bench bench = {
    .launcher = "fused_linear fused_linear_backward",
    .sizes = sizes,
    .bytes = bytes,
    .flops = flops,
    .precision = BF16,
    .prepare = prepare,
    .call = call,
    .error = error,
    // Of the largest element, which is near 8: who rounds Z before f is off by 2^-8 of it.
    .spread = 0.01,
};
