// bench.c: how fast lesson 16, the backward pass in two kernels, is.
//
// O and LSE are random, like everything else: the equations are the same, and P need not sum to 1.
#include "bench/attention.h"
#include "bench/gradients.h"
#include "flash_backward_split.h"

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

// Q, K, V, O, dO in, dQ, dK, dV out.
static double bytes(const int64_t* n) {
    return 2.0 * 8 * (double)(n[0] * n[1] * H * n[2]) + 4.0 * (double)(n[0] * n[1] * H);
}

// Five products for the forward pass's two, as everybody counts; seven are made.
static double flops(const int64_t* n) {
    return 10.0 * (double)(n[0] * H * n[2]) * attention_scores(n[1], n[1], n[3]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    static const char* const inputs[] = {"Q", "K", "V", "O", "dO"};
    int64_t count = n[0] * n[1] * H * n[2];
    bench_output(run, "dQ", BF16, count);
    bench_output(run, "dK", BF16, count);
    bench_output(run, "dV", BF16, count);
    for (int a = 0; a < 5; a++) bench_input(run, inputs[a], BF16, count);
    bench_input(run, "LSE", F32, n[0] * H * n[1]);
    bench_workspace(run, "workspace",
                    (int64_t)flash_backward_split_workspace_bytes((int)n[0], (int)n[1], H));
}

typedef int (*launcher_type)(bf16*, bf16*, bf16*, const bf16*, const bf16*, const bf16*,
                             const bf16*, const float*, const bf16*, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             int, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int64_t N = n[1], d = n[2];
    struct strides s = {.b = N * H * d, .n = H * d, .h = d};
    return ((launcher_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), (int)n[0], (int)N, (int)N, H, (int)d, s, s, s, s, s, s, s, s,
        1.0f / sqrtf((float)d), (int)n[3], bench_gpu(run, "workspace"));
}

static struct gradient_head head(const int64_t* n, int64_t h) {
    int64_t N = n[1], d = n[2];
    return (struct gradient_head){h / H * N * H * d + h % H * d, H * d, h * N, N, d, n[3]};
}

// Rounding to bf16 is 2^-9 of the element; and so is that of P and dS, whose errors cancel only in part. In
// all 2^-7 of the row's largest element.
static double error(struct bench_run* run, const int64_t* n) {
    return gradient_sample(run, n, n[0] * H, head, 0x1p-7);
}

const struct bench bench = {
    "flash_backward_split", sizes, bytes, flops, BF16, prepare, call, error, 1e-2};
