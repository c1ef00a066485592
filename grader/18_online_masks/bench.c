// bench.c: how fast lesson 18, attention with masks of indices, is: windows and documents.
#include <stdlib.h>

#include "attention/bench.h"
#include "online_masks.h"

// n; one batch of HEADS heads, arrays of (N, H, d). DOCUMENTS: attention_documents[], or none. PASS
// is the last: 0 forward, 1 backward.
enum { HEADS, N, D, CAUSAL, WINDOW, SINKS, DOCUMENTS, PASS = BENCH_NUMBERS - 1 };

static const struct bench_size sizes[] = {
    {"forward; N = 16384; d = 128; window 1024", {32, 16384, 128, 1, 1024, 0, 0, 0}},
    {"forward; N = 16384; d = 128; 12 documents", {32, 16384, 128, 1, 0, 0, 1, 0}},
    {"backward; N = 16384; d = 128; window 1024", {32, 16384, 128, 1, 1024, 0, 0, 1}},
    {"backward; N = 16384; d = 128; 12 documents", {32, 16384, 128, 1, 0, 0, 1, 1}},
    {"forward; N = 16384; d = 128; causal", {32, 16384, 128, 1, 0, 0, 0, 0}},
    {"backward; N = 16384; d = 128; causal", {32, 16384, 128, 1, 0, 0, 0, 1}},
    {"forward; N = 16384; d = 64; window 1024", {32, 16384, 64, 1, 1024, 0, 0, 0}},
    {"backward; N = 16384; d = 64; window 1024", {32, 16384, 64, 1, 1024, 0, 0, 1}},
    {"forward; N = 16384; d = 128; window 1024; 4 sinks", {32, 16384, 128, 1, 1024, 4, 0, 0}},
    {"backward; N = 16384; d = 128; window 1024; 4 sinks", {32, 16384, 128, 1, 1024, 4, 0, 1}},
    {0},
};

// Where the document of position i begins.
static int64_t beginning(const int64_t* n, int64_t i) {
    return n[DOCUMENTS] ? attention_document_begin(i) : 0;
}

static bool sees(const int64_t* n, int64_t i, int64_t j) {
    int64_t begin = beginning(n, i), window = n[WINDOW];
    if (beginning(n, j) != begin || (n[CAUSAL] && j > i)) return false;
    if (!window || j < begin + n[SINKS]) return true;
    return n[CAUSAL] ? i - j < window : i - j <= window && j - i <= window;
}

static bool is_active(const int64_t* n, int64_t head, int64_t i, int64_t j) {
    (void)head;
    return sees(n, i, j);
}

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(n[HEADS], n[N], n[D]);
    s.dtype = BF16;
    s.rounding = 0x1p-7;
    s.backward = n[PASS];
    s.causal = n[CAUSAL];
    s.is_active = is_active;
    s.n = n;
    if (s.backward)
        s.workspace_bytes = (int64_t)online_masks_workspace_bytes(1, (int)s.N_q, (int)s.H);
    return s;
}

// Of the pairs that are seen, by which versions are compared; more are computed.
static double flops(const int64_t* n) {
    double pairs = 0;
    for (int64_t i = 0; i < n[N]; i++) {
        int64_t from = beginning(n, i), to = n[CAUSAL] ? i + 1 : n[N], sinks = from;
        if (n[WINDOW] && i - n[WINDOW] + n[CAUSAL] > from) {
            from = i - n[WINDOW] + n[CAUSAL];
            sinks = sinks + n[SINKS] < from ? sinks + n[SINKS] : from;
            pairs += (double)(sinks - beginning(n, i));
        }
        if (!n[CAUSAL] && n[WINDOW] && i + n[WINDOW] + 1 < to) to = i + n[WINDOW] + 1;
        pairs += (double)(to - from);
    }
    return (n[PASS] ? 10.0 : 4.0) * (double)(n[HEADS] * n[D]) * pairs;
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_input_given(run, "cu_seqlens", I32, attention_documents, ATTENTION_DOCUMENTS + 1);
    attention_prepare(run, n);
}

typedef int (*forward_type)(bf16*, float*, const bf16*, const bf16*, const bf16*, int, int, int,
                            int, int, struct strides, struct strides, struct strides,
                            struct strides, float, struct online_mask);
typedef int (*backward_type)(bf16*, bf16*, bf16*, const bf16*, const bf16*, const bf16*,
                             const bf16*, const float*, const bf16*, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             struct online_mask, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape shape = attention_shape(n);
    const struct strides s = attention_strides_q(&shape);
    const struct online_mask mask = {.causal = (int)n[CAUSAL],
                                     .window = (int)n[WINDOW],
                                     .sinks = (int)n[SINKS],
                                     .documents = n[DOCUMENTS] ? ATTENTION_DOCUMENTS : 0,
                                     .cu_seqlens_gpu = bench_gpu(run, "cu_seqlens")};
    int rows = (int)n[N], H = (int)n[HEADS], d = (int)n[D];
    float scale = attention_scale(&shape);
    if (!n[PASS])
        return ((forward_type)launcher)(
            bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
            bench_gpu(run, "V"), 1, rows, rows, H, d, s, s, s, s, scale, mask);
    return ((backward_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), 1, rows, rows, H, d, s, s, s, s, s, s, s, s, scale, mask,
        bench_gpu(run, "workspace"));
}

const struct bench bench = {
    .launcher = "online_masks_forward online_masks_backward",
    .sizes = sizes,
    .bytes = attention_bytes,
    .flops = flops,
    .precision = BF16,
    .prepare = prepare,
    .call = call,
    .error = attention_error,
    .spread = 1e-2,
};
