// bench.c: how fast lesson 14, attention on tensor cores, is.
#include "bench/attention.h"
#include "flash_tensor_core.h"

#define H 32  // heads

// n = {B, N, d, causal}; arrays of (B, N, H, d). In all but the first four B N is 16384.
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1}},
    {"B = 16; N = 1024; d = 64", {16, 1024, 64, 0}},
    {"B = 8; N = 2048; d = 64", {8, 2048, 64, 0}},
    {"B = 4; N = 4096; d = 64", {4, 4096, 64, 0}},
    {"B = 2; N = 8192; d = 64", {2, 8192, 64, 0}},
    {"B = 1; N = 16384; d = 64", {1, 16384, 64, 0}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1}},
    {"B = 8; N = 2048; d = 64; causal", {8, 2048, 64, 1}},
    {"B = 4; N = 4096; d = 64; causal", {4, 4096, 64, 1}},
    {"B = 2; N = 8192; d = 64; causal", {2, 8192, 64, 1}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1}},
    {"B = 16; N = 1024; d = 128", {16, 1024, 128, 0}},
    {"B = 8; N = 2048; d = 128", {8, 2048, 128, 0}},
    {"B = 4; N = 4096; d = 128", {4, 4096, 128, 0}},
    {"B = 2; N = 8192; d = 128", {2, 8192, 128, 0}},
    {"B = 1; N = 16384; d = 128", {1, 16384, 128, 0}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1}},
    {"B = 8; N = 2048; d = 128; causal", {8, 2048, 128, 1}},
    {"B = 4; N = 4096; d = 128; causal", {4, 4096, 128, 1}},
    {"B = 2; N = 8192; d = 128; causal", {2, 8192, 128, 1}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1}},
    {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1] * H * n[2]) + 4.0 * (double)(n[0] * n[1] * H);
}

static double flops(const int64_t* n) {
    return 4.0 * (double)(n[0] * H * n[2]) * attention_scores(n[1], n[1], n[3]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    int64_t count = n[0] * n[1] * H * n[2];
    bench_output(run, "O", BF16, count);
    bench_output(run, "LSE", F32, n[0] * H * n[1]);
    bench_input(run, "Q", BF16, count);
    bench_input(run, "K", BF16, count);
    bench_input(run, "V", BF16, count);
}

typedef int (*launcher_type)(bf16*, float*, const bf16*, const bf16*, const bf16*, int, int, int,
                             int, int, struct strides, struct strides, struct strides,
                             struct strides, float, int);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int64_t N = n[1], d = n[2];
    struct strides s = {.b = N * H * d, .n = H * d, .h = d};
    return ((launcher_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                     bench_gpu(run, "Q"), bench_gpu(run, "K"), bench_gpu(run, "V"),
                                     (int)n[0], (int)N, (int)N, H, (int)d, s, s, s, s,
                                     1.0f / sqrtf((float)d), (int)n[3]);
}

// O is rounded to bf16: 2^-9 of the element; and so is P, whose errors cancel only in part. In
// all 2^-7 of the row's largest element.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t N = n[1], d = n[2], head = bench_pick(run, n[0] * H), i = bench_pick(run, N);
        if (sample == 0) head = n[0] * H - 1, i = N - 1;
        int64_t first = head / H * N * H * d + head % H * d, stride = H * d;
        double e = attention_row_error(run, (struct attention_rows){"O", first, stride},
                                       head * N + i, (struct attention_rows){"Q", first, stride},
                                       (struct attention_rows){"K", first, stride},
                                       (struct attention_rows){"V", first, stride}, i,
                                       n[3] ? i + 1 : N, d, 1 / sqrt((double)d), 0x1p-7);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {
    "flash_tensor_core", sizes, bytes, flops, BF16, prepare, call, error, 1e-2};
