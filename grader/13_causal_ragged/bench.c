// bench.c: how fast lesson 13, attention with a causal mask and any length, is.
#include "bench/attention.h"
#include "causal_ragged.h"

// n = {H, N, d, causal}; one batch, arrays of (N, H, d)
static const struct bench_size sizes[] = {
    {"32 heads; N = 4096; d = 128", {32, 4096, 128, 0}},
    {"32 heads; N = 4096; d = 128; causal", {32, 4096, 128, 1}},
    {"32 heads; N = 4321; d = 128; causal", {32, 4321, 128, 1}},
    {"32 heads; N = 4096; d = 64; causal", {32, 4096, 64, 1}},
    {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1] * n[2]) + 4.0 * (double)(n[0] * n[1]);
}

static double flops(const int64_t* n) {
    return 4.0 * (double)(n[0] * n[2]) * attention_scores(n[1], n[1], n[3]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    int64_t count = n[0] * n[1] * n[2];
    bench_output(run, "O", F16, count);
    bench_output(run, "LSE", F32, n[0] * n[1]);
    bench_input(run, "Q", F16, count);
    bench_input(run, "K", F16, count);
    bench_input(run, "V", F16, count);
}

typedef int (*launcher_type)(fp16*, float*, const fp16*, const fp16*, const fp16*, int, int, int,
                             int, int, struct strides, struct strides, struct strides,
                             struct strides, float, int);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int64_t H = n[0], N = n[1], d = n[2];
    struct strides s = {.b = N * H * d, .n = H * d, .h = d};
    return ((launcher_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                     bench_gpu(run, "Q"), bench_gpu(run, "K"), bench_gpu(run, "V"),
                                     1, (int)N, (int)N, (int)H, (int)d, s, s, s, s,
                                     1.0f / sqrtf((float)d), (int)n[3]);
}

// Products and sums in fp32, O rounded to fp16: 2^-11 of the element, and as much again for exp and
// the order of the sums.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 8 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t H = n[0], N = n[1], d = n[2], head = bench_pick(run, H), i = bench_pick(run, N);
        if (sample == 0) head = H - 1, i = N - 1;
        int64_t first = head * d, stride = H * d;
        double e = attention_row_error(run, (struct attention_rows){"O", first, stride},
                                       head * N + i, (struct attention_rows){"Q", first, stride},
                                       (struct attention_rows){"K", first, stride},
                                       (struct attention_rows){"V", first, stride}, i,
                                       n[3] ? i + 1 : N, d, 1 / sqrt((double)d), 0x1p-10);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {"causal_ragged", sizes, bytes, flops, BF16, prepare, call, error, 1e-3};
