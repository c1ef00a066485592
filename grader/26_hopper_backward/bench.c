// bench.c: how fast lesson 26, the backward pass on a Hopper GPU, is.
#include "attention/bench.h"
#include "hopper_backward.h"

// n; DOCUMENTS: attention_documents[], or none. The last number of a size is no argument (bench.h).
enum { B, N, D, CAUSAL, WINDOW, DOCUMENTS, DETERMINISTIC };

// 32 heads, as in attention_of_bf16(); lesson 18's masks; and with the same bits in every call.
static const struct bench_size sizes[] = {
    {"B = 1; N = 4096; d = 128", {1, 4096, 128, 0}},
    {"B = 1; N = 4096; d = 128; causal", {1, 4096, 128, 1}},
    {"B = 1; N = 4321; d = 128", {1, 4321, 128, 0}},
    {"B = 1; N = 4321; d = 128; causal", {1, 4321, 128, 1}},
    {"B = 1; N = 16384; d = 128; causal", {1, 16384, 128, 1}},
    {"B = 1; N = 16384; d = 64; causal", {1, 16384, 64, 1}},
    {"B = 16; N = 1024; d = 128; causal", {16, 1024, 128, 1}},
    {"B = 16; N = 1024; d = 64; causal", {16, 1024, 64, 1}},
    {"N = 16384; d = 128; window 1024", {1, 16384, 128, 1, 1024}},
    {"N = 16384; d = 128; 12 documents", {1, 16384, 128, 1, 0, 1}},
    {"N = 16384; d = 64; window 1024", {1, 16384, 64, 1, 1024}},
    {"N = 4096; d = 128; same bits", {1, 4096, 128, 0, 0, 0, 1}},
    {"N = 16384; d = 128; causal; same bits", {1, 16384, 128, 1, 0, 0, 1}},
    {0},
};

static bool is_active(const int64_t* n, int64_t head, int64_t i, int64_t j) {
    (void)head;
    if (n[WINDOW] && i - j >= n[WINDOW]) return false;
    return !n[DOCUMENTS] || attention_document_begin(i) == attention_document_begin(j);
}

struct attention_shape attention_shape(const int64_t* n) {
    struct attention_shape s = attention_of_bf16(n);
    s.backward = true;
    s.workspace_bytes =
        (int64_t)hopper_backward_workspace_bytes((int)s.B, (int)s.N_q, (int)s.H, (int)s.d);
    s.n = n;
    if (n[WINDOW] || n[DOCUMENTS]) s.is_active = is_active;
    return s;
}

// Of the pairs that are seen, by which versions are compared; more are computed.
static double flops(const int64_t* n) {
    if (!n[WINDOW] && !n[DOCUMENTS]) return attention_flops(n);
    const struct attention_shape s = attention_shape(n);
    double pairs = 0;
    for (int64_t i = 0; i < n[N]; i++) {
        int64_t from = n[DOCUMENTS] ? attention_document_begin(i) : 0;
        if (n[WINDOW] && i - n[WINDOW] + 1 > from) from = i - n[WINDOW] + 1;
        pairs += (double)(i + 1 - from);
    }
    return 10.0 * (double)(s.B * s.H * s.d) * pairs;
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_input_given(run, "cu_seqlens", I32, attention_documents, ATTENTION_DOCUMENTS + 1);
    attention_prepare(run, n);
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((__typeof__(hopper_backward)*)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), (int)s.B, (int)s.N_q, (int)s.N_k, (int)s.H, (int)s.H_k, (int)s.d, q,
        k, k, q, k, k, q, q, attention_scale(&s), s.causal, (int)n[WINDOW],
        n[DOCUMENTS] ? ATTENTION_DOCUMENTS : 0, bench_gpu(run, "cu_seqlens"), (int)n[DETERMINISTIC],
        bench_gpu(run, "workspace"));
}

const struct bench bench = {
    .bytes = attention_bytes,
    .flops = flops,
    .precision = BF16,
    .prepare = prepare,
    .error = attention_error,
    .launcher = "hopper_backward",
    .sizes = sizes,
    .call = call,
    .spread = 1e-2,
};
