// bench.c: how fast lesson 17, attention with shared heads of keys, is: forward, decoding, backward.
//
// In the backward pass O and LSE are random, like everything else: the equations are the same, and P need not sum
// to 1.
#include "bench/attention.h"
#include "bench/gradients.h"
#include "gqa.h"

// n, with arrays of (B, N, H, d). N_q = 1: decoding.
enum { H_Q, H_K, N_Q, N_K, D, IS_CAUSAL, BATCHES, BACKWARD };

static const struct bench_size sizes[] = {
    {"forward; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 1, 0}},
    {"decoding; B = 4; 32/8 heads; N_k = 65536; d = 128", {32, 8, 1, 65536, 128, 0, 4, 0}},
    {"decoding; B = 4; 32/32 heads; N_k = 65536; d = 128", {32, 32, 1, 65536, 128, 0, 4, 0}},
    {"backward; 32/8 heads; N = 4096; d = 128; causal", {32, 8, 4096, 4096, 128, 1, 1, 1}},
    {"forward; 32/32 heads; N = 4096; d = 128; causal", {32, 32, 4096, 4096, 128, 1, 1, 0}},
    {0},
};

// Elements of Q, O, dO and dQ; of K, V, dK and dV.
static int64_t of_queries(const int64_t* n) {
    return n[BATCHES] * n[H_Q] * n[N_Q] * n[D];
}
static int64_t of_keys(const int64_t* n) {
    return n[BATCHES] * n[H_K] * n[N_K] * n[D];
}
static int64_t rows(const int64_t* n) {
    return n[BATCHES] * n[H_Q] * n[N_Q];
}

// Forward Q, K and V in, O out; backward O and dO in as well, dQ, dK and dV out.
static double bytes(const int64_t* n) {
    double arrays = n[BACKWARD] ? 2.0 * 4 * (double)(of_queries(n) + of_keys(n))
                                : 2.0 * 2 * (double)(of_queries(n) + of_keys(n));
    return arrays + 4.0 * (double)rows(n);
}

static double flops(const int64_t* n) {
    return (n[BACKWARD] ? 10.0 : 4.0) * (double)(n[BATCHES] * n[H_Q] * n[D]) *
           attention_scores(n[N_Q], n[N_K], n[IS_CAUSAL]);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    bench_input(run, "Q", F16, of_queries(n));
    bench_input(run, "K", F16, of_keys(n));
    bench_input(run, "V", F16, of_keys(n));
    if (!n[BACKWARD]) {
        bench_output(run, "O", F16, of_queries(n));
        bench_output(run, "LSE", F32, rows(n));
        return;
    }
    bench_input(run, "O", F16, of_queries(n));
    bench_input(run, "dO", F16, of_queries(n));
    bench_input(run, "LSE", F32, rows(n));
    bench_output(run, "dQ", F16, of_queries(n));
    bench_output(run, "dK", F16, of_keys(n));
    bench_output(run, "dV", F16, of_keys(n));
    bench_workspace(run, "workspace",
                    (int64_t)gqa_backward_workspace_bytes((int)n[BATCHES], (int)n[N_Q], (int)n[H_Q],
                                                          (int)n[D]));
}

typedef int (*forward_type)(fp16*, float*, const fp16*, const fp16*, const fp16*, int, int, int,
                            int, int, int, struct strides, struct strides, struct strides,
                            struct strides, float, int);
typedef int (*backward_type)(fp16*, fp16*, fp16*, const fp16*, const fp16*, const fp16*,
                             const fp16*, const float*, const fp16*, int, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             int, void*);

static struct strides packed(int64_t N, int64_t H, int64_t d) {
    return (struct strides){.b = N * H * d, .n = H * d, .h = d};
}

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    struct strides q = packed(n[N_Q], n[H_Q], n[D]), k = packed(n[N_K], n[H_K], n[D]);
    int B = (int)n[BATCHES], N_q = (int)n[N_Q], N_k = (int)n[N_K];
    int H_q = (int)n[H_Q], H_k = (int)n[H_K], d = (int)n[D], causal = (int)n[IS_CAUSAL];
    float scale = 1.0f / sqrtf((float)d);
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

// One row of O and LSE.
static double forward_error(struct bench_run* run, const int64_t* n, int64_t b, int64_t h,
                            int64_t i, double rounding) {
    struct strides q = packed(n[N_Q], n[H_Q], n[D]), k = packed(n[N_K], n[H_K], n[D]);
    int64_t of_q = b * q.b + h * q.h, of_k = b * k.b + h / (n[H_Q] / n[H_K]) * k.h;
    return attention_row_error(
        run, (struct attention_rows){"O", of_q, q.n}, (b * n[H_Q] + h) * n[N_Q] + i,
        (struct attention_rows){"Q", of_q, q.n}, (struct attention_rows){"K", of_k, k.n},
        (struct attention_rows){"V", of_k, k.n}, i, n[IS_CAUSAL] ? i + 1 + n[N_K] - n[N_Q] : n[N_K],
        n[D], 1 / sqrt((double)n[D]), rounding);
}

// Where the rows of head h of H are, in a size of one batch and N_q = N_k.
static struct gradient_head head(const int64_t* n, int64_t H, int64_t h) {
    return (struct gradient_head){h * n[D], H * n[D], h * n[N_Q], n[N_Q], n[D], n[IS_CAUSAL]};
}

// dQ of one query of head h, and dK and dV of one key of its key head: against fp64, from all the rows that they
// depend on, of all heads of the group.
static double backward_error(struct bench_run* run, const int64_t* n, int64_t h, int64_t query,
                             int64_t key, double rounding) {
    int64_t N = n[N_Q], d = n[D], group = n[H_Q] / n[H_K], g = h / group;
    struct gradient_head own = head(n, n[H_Q], h), keys = head(n, n[H_K], g);
    double *K = gradient_rows(run, "K", &keys, 0, N), *V = gradient_rows(run, "V", &keys, 0, N);
    double* memory = calloc((size_t)(3 * d + N), sizeof *memory);
    if (!memory) abort();
    double *dQ = memory, *dK = dQ + d, *dV = dK + d, *LSE = dV + d;
    double scale = 1 / sqrt((double)d), worst = 0, dS;
    for (int64_t s = g * group; s < (g + 1) * group; s++) {
        struct gradient_head of = head(n, n[H_Q], s);
        double *Q = gradient_rows(run, "Q", &of, 0, N), *O = gradient_rows(run, "O", &of, 0, N);
        double* dO = gradient_rows(run, "dO", &of, 0, N);
        bench_read(run, "LSE", of.LSE_at, 1, 1, N, LSE);
        for (int64_t i = of.causal ? key : 0; i < N; i++) {
            double p = gradient_weigh(Q + i * d, K + key * d, V + key * d, O + i * d, dO + i * d,
                                      LSE[i], d, &dS);
            for (int64_t x = 0; x < d; x++) {
                dV[x] += p * dO[i * d + x];
                dK[x] += scale * dS * Q[i * d + x];
            }
        }
        for (int64_t j = 0; s == h && j < (of.causal ? query + 1 : N); j++) {
            (void)gradient_weigh(Q + query * d, K + j * d, V + j * d, O + query * d, dO + query * d,
                                 LSE[query], d, &dS);
            for (int64_t x = 0; x < d; x++) dQ[x] += scale * dS * K[j * d + x];
        }
        free(Q), free(O), free(dO);
    }
    const double errors[] = {gradient_row_error(run, "dQ", &own, query, dQ, rounding),
                             gradient_row_error(run, "dK", &keys, key, dK, rounding),
                             gradient_row_error(run, "dV", &keys, key, dV, rounding)};
    for (int a = 0; a < 3; a++)
        if (!(errors[a] <= worst)) worst = errors[a];
    free(K), free(V), free(memory);
    return worst;
}

// Products and sums in fp32, results rounded to fp16: 2^-11 of the element, and as much again for exp and the
// order of the sums.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    const double rounding = 0x1p-10;
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t b = bench_pick(run, n[BATCHES]), h = bench_pick(run, n[H_Q]);
        int64_t i = bench_pick(run, n[N_Q]), j = bench_pick(run, n[N_K]);
        if (sample == 0) b = n[BATCHES] - 1, h = n[H_Q] - 1, i = n[N_Q] - 1, j = 0;
        double e = n[BACKWARD] ? backward_error(run, n, h, i, j, rounding)
                               : forward_error(run, n, b, h, i, rounding);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {
    "gqa_forward gqa_backward", sizes, bytes, flops, BF16, prepare, call, error, 1e-3};
