// bench.c: how fast lesson 25, attention on a Hopper GPU, is.
#include "attention/bench.h"
#include "hopper_flash.h"

// n = {B, N, d, causal}, 32 heads, as in attention_of_bf16().
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1}},
    {"B = 1; N = 16384; d = 128", {1, 16384, 128, 0}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1}},
    {"B = 1; N = 16384; d = 64", {1, 16384, 64, 0}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1}},
    {0},
};

struct attention_shape attention_shape(const int64_t* n) {
    return attention_of_bf16(n);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    static const int zeros[2];
    attention_prepare(run, n);
    bench_input_given(run, "tickets", I32, zeros, 2);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((__typeof__(hopper_flash)*)launcher)(
        bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
        bench_gpu(run, "V"), (int)s.B, (int)s.N_q, (int)s.N_k, (int)s.H, (int)s.H_k, (int)s.d, q, q,
        k, k, attention_scale(&s), s.causal, 0, bench_gpu(run, "tickets"));
}

const struct bench bench = {
    .bytes = attention_bytes,
    .flops = attention_flops,
    .precision = BF16,
    .prepare = prepare,
    .error = attention_error,
    .launcher = "hopper_flash",
    .sizes = sizes,
    .call = call,
    .spread = 1e-2,
};
