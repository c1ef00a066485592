// bench.c: how fast lesson 15, the backward pass with atomics, is.
//
// O and LSE are random, like everything else: the equations are the same, and P need not sum to 1.
#include "bench/attention.h"
#include "bench/gradients.h"
#include "flash_backward.h"

// n = {H, N, d, causal}; one batch, arrays of (N, H, d)
static const struct bench_size sizes[] = {
    {"32 heads; N = 4096; d = 128", {32, 4096, 128, 0}},
    {"32 heads; N = 4096; d = 128; causal", {32, 4096, 128, 1}},
    {"32 heads; N = 4321; d = 128; causal", {32, 4321, 128, 1}},
    {"32 heads; N = 4096; d = 64; causal", {32, 4096, 64, 1}},
    {0},
};

// Q, K, V, O, dO in, dQ, dK, dV out.
static double bytes(const int64_t* n) {
    return 2.0 * 8 * (double)(n[0] * n[1] * n[2]) + 4.0 * (double)(n[0] * n[1]);
}

// Five products for the forward pass's two.
static double flops(const int64_t* n) {
    return 10.0 * (double)(n[0] * n[2]) * attention_scores(n[1], n[1], n[3]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    static const char* const inputs[] = {"Q", "K", "V", "O", "dO"};
    int64_t count = n[0] * n[1] * n[2];
    bench_output(run, "dQ", F16, count);
    bench_output(run, "dK", F16, count);
    bench_output(run, "dV", F16, count);
    for (int a = 0; a < 5; a++) bench_input(run, inputs[a], F16, count);
    bench_input(run, "LSE", F32, n[0] * n[1]);
    bench_workspace(run, "workspace",
                    (int64_t)flash_backward_workspace_bytes(1, (int)n[1], (int)n[0], (int)n[2]));
}

typedef int (*launcher_type)(fp16*, fp16*, fp16*, const fp16*, const fp16*, const fp16*,
                             const fp16*, const float*, const fp16*, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             int, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int64_t H = n[0], N = n[1], d = n[2];
    struct strides s = {.b = N * H * d, .n = H * d, .h = d};
    return ((launcher_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), 1, (int)N, (int)N, (int)H, (int)d, s, s, s, s, s, s, s, s,
        1.0f / sqrtf((float)d), (int)n[3], bench_gpu(run, "workspace"));
}

static struct gradient_head head(const int64_t* n, int64_t h) {
    return (struct gradient_head){h * n[2], n[0] * n[2], h * n[1], n[1], n[2], n[3]};
}

// Sums in fp32 and rounding to fp16, 2^-11 of the element, and as much again for exp and the order of the sums.
static double error(struct bench_run* run, const int64_t* n) {
    return gradient_sample(run, n, n[0], head, 0x1p-10);
}

const struct bench bench = {"flash_backward", sizes, bytes, flops, BF16,
                            prepare,          call,  error, 1e-3};
