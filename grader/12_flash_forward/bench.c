// bench.c: how fast lesson 12, the simple flash attention forward, is.
#include "attention/bench.h"
#include "flash_forward.h"

// n = {batches times heads, N, d}
static const struct bench_size sizes[] = {
    {"32 heads; N = 1024; d = 64", {32, 1024, 64}},
    {"32 heads; N = 4096; d = 64", {32, 4096, 64}},
    {"32 heads; N = 4096; d = 128", {32, 4096, 128}},
    {0},
};

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(1, n[1], n[2]);
    s.B = n[0];
    return s;
}

typedef int (*launcher_type)(fp16*, float*, const fp16*, const fp16*, const fp16*, int, int, int,
                             int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                             int64_t, int64_t, float);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    int64_t N = n[1], d = n[2];
    return ((launcher_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                     bench_gpu(run, "Q"), bench_gpu(run, "K"), bench_gpu(run, "V"),
                                     (int)n[0], (int)N, (int)N, (int)d, N * d, d, N, N * d, d,
                                     N * d, d, N * d, d, attention_scale(&s));
}

const struct bench bench = {
    ATTENTION_BENCH, .launcher = "flash_forward", .sizes = sizes, .call = call, .spread = 1e-3,
};
