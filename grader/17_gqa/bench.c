// bench.c: how fast lesson 17, attention with shared heads of keys, is: forward, decoding,
// backward.
#include "attention/bench.h"
#include "gqa.h"

// n, with arrays of (B, N, H, d). N_q = 1: decoding.
enum { H_Q, H_K, N_Q, N_K, D, IS_CAUSAL, BATCHES, BACKWARD };

static const struct bench_size sizes[] = {
    {"forward; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 1, 0}},
    {"decoding; B = 4; 32/8 heads; N_k = 65536; d = 128", {32, 8, 1, 65536, 128, 0, 4, 0}},
    {"decoding; B = 4; 32/32 heads; N_k = 65536; d = 128", {32, 32, 1, 65536, 128, 0, 4, 0}},
    {"backward; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 1, 1}},
    {"forward; 32/32 heads; N = 4096; d = 128; causal", {32, 32, 4096, 4096, 128, 1, 1, 0}},
    {"backward; 32/32 heads; N = 4096; d = 128; causal", {32, 32, 4096, 4096, 128, 1, 1, 1}},
    {"forward; B = 4; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 4, 0}},
    {"backward; B = 4; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 4, 1}},
    {"forward; B = 4; 32/8 heads; N = 4096; d = 64; causal", {32, 8, 4096, 4096, 64, 1, 4, 0}},
    {"backward; B = 4; 32/8 heads; N = 4096; d = 64; causal", {32, 8, 4096, 4096, 64, 1, 4, 1}},
    {0},
};

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(n[H_Q], n[N_Q], n[D]);
    s.dtype = BF16;
    s.rounding = 0x1p-7;
    s.backward = n[BACKWARD];
    s.B = n[BATCHES];
    s.H_k = n[H_K];
    s.N_k = n[N_K];
    s.causal = n[IS_CAUSAL];
    if (s.backward)
        s.workspace_bytes = (int64_t)gqa_backward_workspace_bytes((int)s.B, (int)s.N_q, (int)s.H);
    return s;
}

typedef int (*forward_type)(bf16*, float*, const bf16*, const bf16*, const bf16*, int, int, int,
                            int, int, int, struct strides, struct strides, struct strides,
                            struct strides, float, int);
typedef int (*backward_type)(bf16*, bf16*, bf16*, const bf16*, const bf16*, const bf16*,
                             const bf16*, const float*, const bf16*, int, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             int, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    int B = (int)n[BATCHES], N_q = (int)n[N_Q], N_k = (int)n[N_K];
    int H_q = (int)n[H_Q], H_k = (int)n[H_K], d = (int)n[D], causal = (int)n[IS_CAUSAL];
    float scale = attention_scale(&s);
    if (!n[BACKWARD])
        return ((forward_type)launcher)(
            bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
            bench_gpu(run, "V"), B, N_q, N_k, H_q, H_k, d, q, q, k, k, scale, causal);
    return ((backward_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), B, N_q, N_k, H_q, H_k, d, q, k, k, q, k, k, q, q, scale, causal,
        bench_gpu(run, "workspace"));
}

const struct bench bench = {
    ATTENTION_BENCH, .launcher = "gqa_forward gqa_backward", .sizes = sizes, .call = call,
    .spread = 1e-2,
};
