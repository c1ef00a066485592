// bench.c: how fast lesson 15, the backward pass with atomics, is.
//
// O and LSE are random, like everything else: the equations are the same, and P need not sum to 1.
#include "bench/attention.h"
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

// Reads rows [first, first + count) of one head, d elements each.
static double* rows(struct bench_run* run, const char* name, const int64_t* n, int64_t head,
                    int64_t first, int64_t count) {
    int64_t d = n[2], stride = n[0] * d;
    double* to = malloc((size_t)(count * d) * sizeof *to);
    if (!to) abort();
    bench_read(run, name, first * stride + head * d, stride, count, d, to);
    return to;
}

static double dot(const double* a, const double* b, int64_t d) {
    double sum = 0;
    for (int64_t x = 0; x < d; x++) sum += a[x] * b[x];
    return sum;
}

// P and dS of one pair.
static double weigh(const double* q, const double* k, const double* v, const double* o,
                    const double* dO, double LSE, int64_t d, double* dS) {
    double p = exp(dot(q, k, d) / sqrt((double)d) - LSE);
    *dS = p * (dot(dO, v, d) - dot(dO, o, d));
    return p;
}

// The error of one row, in parts of what is allowed: sums in fp32 and rounding to fp16, 2^-11 of the element,
// and as much again for exp and the order of the sums.
static double row_error(struct bench_run* run, const char* name, const int64_t* n, int64_t head,
                        int64_t row, const double* want) {
    double *got = rows(run, name, n, head, row, 1), largest = 0, worst = 0;
    for (int64_t x = 0; x < n[2]; x++) largest = fmax(largest, fabs(want[x]));
    for (int64_t x = 0; x < n[2]; x++) {
        double e = fabs(got[x] - want[x]) / (0x1p-10 * largest);
        if (!(e <= worst)) worst = e;
    }
    free(got);
    return worst;
}

// dK and dV of one key, dQ of one query: fp64, from all the rows that they depend on.
static double sample_error(struct bench_run* run, const int64_t* n, int64_t head, int64_t key,
                           int64_t query) {
    int64_t N = n[1], d = n[2];
    double *Q = rows(run, "Q", n, head, 0, N), *K = rows(run, "K", n, head, 0, N);
    double *V = rows(run, "V", n, head, 0, N), *O = rows(run, "O", n, head, 0, N);
    double* dO = rows(run, "dO", n, head, 0, N);
    double* memory = calloc((size_t)(3 * d + N), sizeof *memory);
    if (!memory) abort();
    double *dQ = memory, *dK = dQ + d, *dV = dK + d, *LSE = dV + d;
    double scale = 1 / sqrt((double)d), worst = 0;
    bench_read(run, "LSE", head * N, 1, 1, N, LSE);
    for (int64_t i = n[3] ? key : 0; i < N; i++) {
        double dS,
            p = weigh(Q + i * d, K + key * d, V + key * d, O + i * d, dO + i * d, LSE[i], d, &dS);
        for (int64_t x = 0; x < d; x++) {
            dV[x] += p * dO[i * d + x];
            dK[x] += scale * dS * Q[i * d + x];
        }
    }
    for (int64_t j = 0; j < (n[3] ? query + 1 : N); j++) {
        double dS;
        (void)weigh(Q + query * d, K + j * d, V + j * d, O + query * d, dO + query * d, LSE[query],
                    d, &dS);
        for (int64_t x = 0; x < d; x++) dQ[x] += scale * dS * K[j * d + x];
    }
    const double errors[] = {row_error(run, "dQ", n, head, query, dQ),
                             row_error(run, "dK", n, head, key, dK),
                             row_error(run, "dV", n, head, key, dV)};
    for (int a = 0; a < 3; a++)
        if (!(errors[a] <= worst)) worst = errors[a];
    free(Q), free(K), free(V), free(O), free(dO), free(memory);
    return worst;
}

static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t head = bench_pick(run, n[0]), key = bench_pick(run, n[1]),
                query = bench_pick(run, n[1]);
        if (sample == 0) head = n[0] - 1, key = 0, query = n[1] - 1;
        double e = sample_error(run, n, head, key, query);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {"flash_backward", sizes, bytes, flops, BF16,
                            prepare,          call,  error, 1e-3};
