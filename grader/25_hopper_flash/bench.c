// bench.c: how fast lesson 25, attention on a Hopper GPU, is.
#include <stdlib.h>

#include "attention/bench.h"
#include "hopper_flash.h"

// n. MASK is 0, DOCUMENTS of attention_documents[], or a density in a thousand: lists of the blocks
// of attention_block_is_active(). The last number of a size is no argument (bench.h).
enum { B, N, D, CAUSAL, HEADS, WINDOW, MASK };
enum { DOCUMENTS = 1 };

// The ten of lesson 14's kind, and those of lessons 18 and 19.
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0, 32}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1, 32}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0, 32}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1, 32}},
    {"B = 1; N = 16384; d = 128", {1, 16384, 128, 0, 32}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1, 32}},
    {"B = 1; N = 16384; d = 64", {1, 16384, 64, 0, 32}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1, 32}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1, 32}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1, 32}},
    {"N = 16384; d = 128; window 1024", {1, 16384, 128, 1, 32, 1024}},
    {"N = 16384; d = 128; 12 documents", {1, 16384, 128, 1, 32, 0, DOCUMENTS}},
    {"N = 16384; d = 64; window 1024", {1, 16384, 64, 1, 32, 1024}},
    {"8 heads; N = 16384; d = 128; 1 block in 8", {1, 16384, 128, 0, 8, 0, 125}},
    {"8 heads; N = 16384; d = 128; 1 block in 4", {1, 16384, 128, 0, 8, 0, 250}},
    {"8 heads; N = 16384; d = 128; 1 block in 2", {1, 16384, 128, 0, 8, 0, 500}},
    {0},
};

static bool is_active(const int64_t* n, int64_t head, int64_t i, int64_t j) {
    if (n[MASK] > DOCUMENTS) return attention_block_is_active(n[MASK], head, i, j);
    if (n[WINDOW] && i - j >= n[WINDOW]) return false;
    return n[MASK] != DOCUMENTS || attention_document_begin(i) == attention_document_begin(j);
}

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_bf16(n);
    s.H = s.H_k = n[HEADS];
    s.n = n;
    if (n[WINDOW] || n[MASK]) s.is_active = is_active;
    return s;
}

// Of the pairs that are seen, by which versions are compared; more are computed.
static double flops(const int64_t* n) {
    if (!n[WINDOW] && n[MASK] != DOCUMENTS) return attention_flops(n);
    double pairs = 0;
    for (int64_t i = 0; i < n[N]; i++) {
        int64_t from = n[MASK] == DOCUMENTS ? attention_document_begin(i) : 0;
        if (n[WINDOW] && i - n[WINDOW] + 1 > from) from = i - n[WINDOW] + 1;
        pairs += (double)(i + 1 - from);
    }
    return 4.0 * (double)(n[B] * n[HEADS] * n[D]) * pairs;
}

// The lists of the mask; of none, a number that no kernel reads.
static void prepare_lists(struct bench_run* run, const int64_t* n) {
    const int64_t T = n[MASK] > DOCUMENTS ? CEIL_DIV(n[N], LIST_BLOCK) : 0;
    int* lists = calloc((size_t)(n[HEADS] * T * (1 + T) + 1), sizeof *lists);
    if (!lists) abort();
    for (int64_t row = 0; row < n[HEADS] * T; row++) {
        int* list = lists + row * (1 + T);
        for (int64_t j = 0; j < T; j++)
            if (is_active(n, row / T, row % T * LIST_BLOCK, j * LIST_BLOCK))
                list[++list[0]] = (int)j;
    }
    bench_input_given(run, "lists", I32, lists, n[HEADS] * T * (1 + T) + 1);
    free(lists);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    static const int zeros[2];
    attention_prepare(run, n);
    bench_input_given(run, "tickets", I32, zeros, 2);
    bench_input_given(run, "cu_seqlens", I32, attention_documents, ATTENTION_DOCUMENTS + 1);
    prepare_lists(run, n);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((__typeof__(hopper_flash)*)launcher)(
        bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"), bench_gpu(run, "K"),
        bench_gpu(run, "V"), (int)s.B, (int)s.N_q, (int)s.N_k, (int)s.H, (int)s.H_k, (int)s.d, q, q,
        k, k, attention_scale(&s), s.causal, (int)n[WINDOW],
        n[MASK] == DOCUMENTS ? ATTENTION_DOCUMENTS : 0, bench_gpu(run, "cu_seqlens"),
        n[MASK] > DOCUMENTS ? bench_gpu(run, "lists") : NULL, bench_gpu(run, "tickets"));
}

const struct bench bench = {
    .bytes = attention_bytes,
    .flops = flops,
    .precision = BF16,
    .prepare = prepare,
    .error = attention_error,
    .launcher = "hopper_flash",
    .sizes = sizes,
    .call = call,
    .spread = 1e-2,
};
