// bench.c: how fast lesson 12, the simple flash attention forward, is.
#include "bench/attention.h"
#include "flash_forward.h"

// n = {batches times heads, N, d}
static const struct bench_size sizes[] = {
    {"32 heads; N = 1024; d = 64", {32, 1024, 64}},
    {"32 heads; N = 4096; d = 64", {32, 4096, 64}},
    {"32 heads; N = 4096; d = 128", {32, 4096, 128}},
    {0},
};

static double bytes(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1] * n[2]) + 4.0 * (double)(n[0] * n[1]);
}

static double flops(const int64_t* n) {
    return 4.0 * (double)(n[0] * n[2]) * attention_scores(n[1], n[1], false);
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
                             int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                             int64_t, int64_t, float);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int64_t N = n[1], d = n[2];
    return ((launcher_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                     bench_gpu(run, "Q"), bench_gpu(run, "K"), bench_gpu(run, "V"),
                                     (int)n[0], (int)N, (int)N, (int)d, N * d, d, N, N * d, d,
                                     N * d, d, N * d, d, 1.0f / sqrtf((float)d));
}

// Products and sums in fp32, O rounded to fp16: 2^-11 of the element, and as much again for exp and
// the order of the sums.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 8 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t N = n[1], d = n[2], head = bench_pick(run, n[0]), i = bench_pick(run, N);
        if (sample == 0) head = n[0] - 1, i = N - 1;
        int64_t first = head * N * d;
        double e = attention_row_error(
            run, (struct attention_rows){"O", first, d}, head * N + i,
            (struct attention_rows){"Q", first, d}, (struct attention_rows){"K", first, d},
            (struct attention_rows){"V", first, d}, i, N, d, 1 / sqrt((double)d), 0x1p-10);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {"flash_forward", sizes, bytes, flops, BF16, prepare, call, error, 1e-3};
