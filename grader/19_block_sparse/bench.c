// bench.c: how fast lesson 19, attention over some blocks of S, is at several densities.
#include <stdlib.h>

#include "attention/bench.h"
#include "block_sparse.h"

// n; one batch, arrays of (N, H, d), DENSITY in a thousand. PASS is the last: 0 forward, 1
// backward.
enum { HEADS, N, D, DENSITY, PASS = BENCH_NUMBERS - 1 };

static const struct bench_size sizes[] = {
    {"forward; 8 heads; N = 16384; d = 128; 1 block in 4", {8, 16384, 128, 250}},
    {"backward; 8 heads; N = 16384; d = 128; 1 block in 4", {8, 16384, 128, 250, 0, 0, 0, 1}},
    {"forward; 8 heads; N = 16384; d = 128; 1 block in 8", {8, 16384, 128, 125}},
    {"backward; 8 heads; N = 16384; d = 128; 1 block in 8", {8, 16384, 128, 125, 0, 0, 0, 1}},
    {"forward; 8 heads; N = 16384; d = 128; 1 block in 2", {8, 16384, 128, 500}},
    {"backward; 8 heads; N = 16384; d = 128; 1 block in 2", {8, 16384, 128, 500, 0, 0, 0, 1}},
    {"forward; 32 heads; N = 4096; d = 128; all blocks", {32, 4096, 128, 1000}},
    {"backward; 32 heads; N = 4096; d = 128; all blocks", {32, 4096, 128, 1000, 0, 0, 0, 1}},
    {"forward; 32 heads; N = 4096; d = 128; 1 block in 16", {32, 4096, 128, 62}},
    {"forward; 32 heads; N = 4321; d = 128; 1 block in 4", {32, 4321, 128, 250}},
    {0},
};

static bool is_active(const int64_t* n, int64_t head, int64_t i, int64_t j) {
    return attention_block_is_active(n[DENSITY], head, i, j);
}

struct attention_shape attention_shape(const int64_t* n) {
    int H = (int)n[HEADS], rows = (int)n[N], d = (int)n[D];
    size_t bytes = n[PASS] ? block_sparse_backward_workspace_bytes(1, rows, rows, H, d)
                           : block_sparse_forward_workspace_bytes(1, rows, rows, H);
    struct attention_shape s = attention_of_fp16(H, rows, d);
    s.dtype = BF16;
    s.rounding = 0x1p-7;
    s.backward = n[PASS];
    s.is_active = is_active;
    s.n = n;
    s.workspace_bytes = (int64_t)bytes;
    return s;
}

static void prepare(struct bench_run* run, const int64_t* n) {
    int64_t T = SPARSE_BLOCKS(n[N]), count = n[HEADS] * T * T;
    uint8_t* mask = malloc((size_t)count);
    if (!mask) abort();
    for (int64_t e = 0; e < count; e++)
        mask[e] = is_active(n, e / (T * T), e / T % T * SPARSE_BLOCK, e % T * SPARSE_BLOCK);
    bench_input_given(run, "mask", U8, mask, count);
    free(mask);
    attention_prepare(run, n);
}

typedef int (*forward_type)(bf16*, float*, const bf16*, const bf16*, const bf16*, const uint8_t*,
                            int, int, int, int, int, struct strides, struct strides, struct strides,
                            struct strides, float, void*);
typedef int (*backward_type)(bf16*, bf16*, bf16*, const bf16*, const bf16*, const bf16*,
                             const bf16*, const float*, const bf16*, const uint8_t*, int, int, int,
                             int, int, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, float, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int rows = (int)n[N], H = (int)n[HEADS], d = (int)n[D];
    const struct attention_shape shape = attention_shape(n);
    const struct strides s = attention_strides_q(&shape);
    float scale = attention_scale(&shape);
    if (!n[PASS])
        return ((forward_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"),
                                        bench_gpu(run, "Q"), bench_gpu(run, "K"),
                                        bench_gpu(run, "V"), bench_gpu(run, "mask"), 1, rows, rows,
                                        H, d, s, s, s, s, scale, bench_gpu(run, "workspace"));
    return ((backward_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), bench_gpu(run, "mask"), 1, rows, rows, H, d, s, s, s, s, s, s, s, s,
        scale, bench_gpu(run, "workspace"));
}

const struct bench bench = {
    .launcher = "block_sparse_forward block_sparse_backward",
    .sizes = sizes,
    .bytes = attention_bytes,
    .flops = attention_flops,
    .precision = BF16,
    .prepare = prepare,
    .call = call,
    .error = attention_error,
    .spread = 1e-2,
};
