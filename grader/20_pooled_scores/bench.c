// bench.c: how fast lesson 20, attention with pooled scores, is.
#include <math.h>
#include <stdlib.h>

#include "attention/bench.h"
#include "pooled_scores.h"

// n = {H, N, d, causal, pool}; one batch, arrays of (N, H, d)
static const struct bench_size sizes[] = {
    {"32 heads; N = 4096; d = 128; pool = 64", {32, 4096, 128, 0, 64}},
    {"32 heads; N = 4096; d = 128; pool = 64; causal", {32, 4096, 128, 1, 64}},
    {"32 heads; N = 4096; d = 128; pool = 16; causal", {32, 4096, 128, 1, 16}},
    {"32 heads; N = 4321; d = 128; pool = 20; causal", {32, 4321, 128, 1, 20}},
    {"32 heads; N = 4096; d = 64; pool = 64; causal", {32, 4096, 64, 1, 64}},
    {0},
};

static int64_t pools(const int64_t* n) {
    return CEIL_DIV(n[1], n[4]);
}

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(n[0], n[1], n[2]);
    s.dtype = BF16;
    s.rounding = 0x1p-7;
    s.causal = n[3];
    return s;
}

static double bytes(const int64_t* n) {
    return attention_bytes(n) + 4.0 * (double)(n[0] * pools(n) * pools(n));
}

static void prepare(struct bench_run* run, const int64_t* n) {
    attention_prepare(run, n);
    bench_output(run, "R", F32, n[0] * pools(n) * pools(n));
}

typedef int (*launcher_type)(bf16*, float*, float*, const bf16*, const bf16*, const bf16*, int, int,
                             int, int, int, int, struct strides, struct strides, struct strides,
                             struct strides, float, int);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape shape = attention_shape(n);
    const struct strides s = attention_strides_q(&shape);
    int64_t H = n[0], N = n[1], d = n[2];
    return ((launcher_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                     bench_gpu(run, "R"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
                                     bench_gpu(run, "V"), 1, (int)N, (int)N, (int)H, (int)d,
                                     (int)n[4], s, s, s, s, attention_scale(&shape), (int)n[3]);
}

// The error of one row of pools of R. The unit is 1e-4 of the row's largest mean: the error of LSE
// is in every P = exp(S - LSE), and the sum of thousands of weights is rounded.
static double pools_error(struct bench_run* run, const int64_t* n, int64_t head, int64_t I) {
    int64_t H = n[0], N = n[1], d = n[2], pool = n[4], n_J = pools(n);
    int64_t rows = N - I * pool < pool ? N - I * pool : pool;
    double* memory = calloc((size_t)(N * (d + 1) + d + 2 * n_J), sizeof *memory);
    if (!memory) return NAN;
    double *k = memory, *S = k + N * d, *q = S + N, *sum = q + d, *got = sum + n_J;
    bench_read(run, "K", head * d, H * d, N, d, k);
    bench_read(run, "R", (head * n_J + I) * n_J, n_J, 1, n_J, got);
    for (int64_t i = I * pool; i < I * pool + rows; i++) {
        int64_t keys = n[3] ? i + 1 : N;
        double m = -INFINITY, l = 0;
        bench_read(run, "Q", head * d + i * H * d, d, 1, d, q);
        for (int64_t j = 0; j < keys; j++) {
            S[j] = 0;
            for (int64_t x = 0; x < d; x++) S[j] += q[x] * k[j * d + x] / sqrt((double)d);
            m = fmax(m, S[j]);
        }
        for (int64_t j = 0; j < keys; j++) l += exp(S[j] - m);
        for (int64_t j = 0; j < keys; j++) sum[j / pool] += exp(S[j] - m) / l;
    }
    double worst = 0, largest = 0;
    for (int64_t J = 0; J < n_J; J++) {
        int64_t columns = N - J * pool < pool ? N - J * pool : pool;
        sum[J] /= (double)(rows * columns);
        largest = fmax(largest, sum[J]);
    }
    for (int64_t J = 0; J < n_J; J++)
        worst = bench_worse(worst, fabs(got[J] - sum[J]) / (1e-4 * largest));
    free(memory);
    return worst;
}

static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    double worst = attention_error(run, n);
    for (int sample = 0; sample < SAMPLES; sample++) {
        bool last = sample == 0;
        int64_t head = last ? n[0] - 1 : bench_pick(run, n[0]);
        int64_t I = last ? pools(n) - 1 : bench_pick(run, pools(n));
        worst = bench_worse(worst, pools_error(run, n, head, I));
    }
    return worst;
}

const struct bench bench = {
    .launcher = "pooled_scores",
    .sizes = sizes,
    .bytes = bytes,
    .flops = attention_flops,
    .precision = BF16,
    .prepare = prepare,
    .call = call,
    .error = error,
    .spread = 1e-2,
};
