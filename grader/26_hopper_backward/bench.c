// bench.c: how fast lesson 26, the backward pass on a Hopper GPU, is.
#include "attention/bench.h"
#include "hopper_backward.h"

// n = {B, N, d, causal}, 32 heads, as in attention_of_bf16().
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1}},
    {0},
};

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_bf16(n);
    s.backward = true;
    s.workspace_bytes =
        (int64_t)hopper_backward_workspace_bytes((int)s.B, (int)s.N_q, (int)s.H, (int)s.d);
    return s;
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((__typeof__(hopper_backward)*)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), (int)s.B, (int)s.N_q, (int)s.N_k, (int)s.H, (int)s.H_k, (int)s.d, q,
        k, k, q, k, k, q, q, attention_scale(&s), s.causal, 0, bench_gpu(run, "workspace"));
}

const struct bench bench = {
    ATTENTION_BENCH, .launcher = "hopper_backward", .sizes = sizes, .call = call, .spread = 1e-2,
};
