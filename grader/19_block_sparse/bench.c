// bench.c: how fast lesson 19, attention over some blocks of S, is at several densities.
//
// In the backward pass O and LSE are random, like everything else: the equations are the same, and P need not sum
// to 1.
#include "bench/gradients.h"
#include "block_sparse.h"

// n; one batch, arrays of (N, H, d), DENSITY in per cent. PASS is the last: 0 forward, 1 backward.
enum { HEADS, N, D, DENSITY, PASS = BENCH_NUMBERS - 1 };

static const struct bench_size sizes[] = {
    {"forward; 32 heads; N = 4096; d = 128; all blocks", {32, 4096, 128, 100}},
    {"forward; 32 heads; N = 4096; d = 128; 1 block in 4", {32, 4096, 128, 25}},
    {"forward; 32 heads; N = 4096; d = 128; 1 block in 16", {32, 4096, 128, 6}},
    {"backward; 32 heads; N = 4096; d = 128; all blocks", {32, 4096, 128, 100, 0, 0, 0, 1}},
    {"backward; 32 heads; N = 4096; d = 128; 1 block in 4", {32, 4096, 128, 25, 0, 0, 0, 1}},
    {"forward; 32 heads; N = 4321; d = 128; 1 block in 4", {32, 4321, 128, 25}},
    {0},
};

// The mask: the blocks on the diagonal, and of the others DENSITY in a hundred, of each head other ones.
static bool is_active(const int64_t* n, int64_t head, int64_t i, int64_t j) {
    uint64_t I = (uint64_t)(i / SPARSE_BLOCK), J = (uint64_t)(j / SPARSE_BLOCK);
    uint64_t x = (((uint64_t)head << 40 | I << 20 | J) + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return I == J || (int64_t)((x ^ x >> 32) % 100) < n[DENSITY];
}

// Scores in active blocks, of all heads.
static double scores(const int64_t* n) {
    double sum = 0;
    for (int64_t h = 0; h < n[HEADS]; h++)
        for (int64_t i = 0; i < n[N]; i += SPARSE_BLOCK)
            for (int64_t j = 0; j < n[N]; j += SPARSE_BLOCK) {
                int64_t rows = n[N] - i < SPARSE_BLOCK ? n[N] - i : SPARSE_BLOCK;
                int64_t columns = n[N] - j < SPARSE_BLOCK ? n[N] - j : SPARSE_BLOCK;
                if (is_active(n, h, i, j)) sum += (double)(rows * columns);
            }
    return sum;
}

// Q, K, V in, O out; backward O and dO in as well, dQ, dK, dV out.
static double bytes(const int64_t* n) {
    double arrays = n[PASS] ? 8 : 4;
    return 2.0 * arrays * (double)(n[HEADS] * n[N] * n[D]) + 4.0 * (double)(n[HEADS] * n[N]);
}

// Two products forward; five are counted backward, as everywhere, though seven are made.
static double flops(const int64_t* n) {
    return (n[PASS] ? 10.0 : 4.0) * (double)n[D] * scores(n);
}

static void prepare(struct bench_run* run, const int64_t* n) {
    int64_t count = n[HEADS] * n[N] * n[D], T = SPARSE_BLOCKS(n[N]);
    int H = (int)n[HEADS], rows = (int)n[N], d = (int)n[D];
    uint8_t* mask = malloc((size_t)(n[HEADS] * T * T));
    if (!mask) abort();
    for (int64_t e = 0; e < n[HEADS] * T * T; e++)
        mask[e] = is_active(n, e / (T * T), e / T % T * SPARSE_BLOCK, e % T * SPARSE_BLOCK);
    bench_input_bytes(run, "mask", mask, n[HEADS] * T * T);
    free(mask);
    bench_input(run, "Q", F16, count);
    bench_input(run, "K", F16, count);
    bench_input(run, "V", F16, count);
    if (!n[PASS]) {
        bench_output(run, "O", F16, count);
        bench_output(run, "LSE", F32, n[HEADS] * n[N]);
        bench_workspace(run, "workspace",
                        (int64_t)block_sparse_forward_workspace_bytes(1, rows, rows, H));
        return;
    }
    bench_input(run, "O", F16, count);
    bench_input(run, "dO", F16, count);
    bench_input(run, "LSE", F32, n[HEADS] * n[N]);
    bench_output(run, "dQ", F16, count);
    bench_output(run, "dK", F16, count);
    bench_output(run, "dV", F16, count);
    bench_workspace(run, "workspace",
                    (int64_t)block_sparse_backward_workspace_bytes(1, rows, rows, H, d));
}

typedef int (*forward_type)(fp16*, float*, const fp16*, const fp16*, const fp16*, const uint8_t*,
                            int, int, int, int, int, struct strides, struct strides, struct strides,
                            struct strides, float, void*);
typedef int (*backward_type)(fp16*, fp16*, fp16*, const fp16*, const fp16*, const fp16*,
                             const fp16*, const float*, const fp16*, const uint8_t*, int, int, int,
                             int, int, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, float, void*);

static int call(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    int rows = (int)n[N], H = (int)n[HEADS], d = (int)n[D];
    struct strides s = {.b = n[N] * n[HEADS] * n[D], .n = n[HEADS] * n[D], .h = n[D]};
    float scale = 1.0f / sqrtf((float)d);
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

// Row i of O and LSE of a head, against fp64.
static double forward_error(struct bench_run* run, const int64_t* n, int64_t head, int64_t i,
                            double rounding) {
    int64_t d = n[D];
    struct gradient_head at = {head * d, n[HEADS] * d, head * n[N], n[N], d, false};
    double *q = gradient_rows(run, "Q", &at, i, 1), *K = gradient_rows(run, "K", &at, 0, n[N]);
    double *V = gradient_rows(run, "V", &at, 0, n[N]), *o = calloc((size_t)d, sizeof *o);
    double m = -INFINITY, l = 0, LSE;
    if (!o) abort();
    for (int64_t j = 0; j < n[N]; j++)
        if (is_active(n, head, i, j)) m = fmax(m, gradient_dot(q, K + j * d, d) / sqrt((double)d));
    for (int64_t j = 0; j < n[N]; j++) {
        if (!is_active(n, head, i, j)) continue;
        double p = exp(gradient_dot(q, K + j * d, d) / sqrt((double)d) - m);
        l += p;
        for (int64_t x = 0; x < d; x++) o[x] += p * V[j * d + x];
    }
    for (int64_t x = 0; x < d; x++) o[x] /= l;
    double worst = gradient_row_error(run, "O", &at, i, o, rounding);
    bench_read(run, "LSE", at.LSE_at + i, 1, 1, 1, &LSE);
    double e = fabs(LSE - (m + log(l))) / 1e-3;
    free(q), free(K), free(V), free(o);
    return e <= worst ? worst : e;
}

// dQ of query i, dK and dV of key j.
static double backward_error(struct bench_run* run, const int64_t* n, int64_t head, int64_t i,
                             int64_t j, double rounding) {
    int64_t d = n[D];
    struct gradient_head at = {head * d, n[HEADS] * d, head * n[N], n[N], d, false};
    double *Q = gradient_rows(run, "Q", &at, 0, n[N]), *K = gradient_rows(run, "K", &at, 0, n[N]);
    double *V = gradient_rows(run, "V", &at, 0, n[N]), *O = gradient_rows(run, "O", &at, 0, n[N]);
    double *dO = gradient_rows(run, "dO", &at, 0, n[N]), scale = 1 / sqrt((double)d), dS;
    double* memory = calloc((size_t)(3 * d + n[N]), sizeof *memory);
    if (!memory) abort();
    double *dQ = memory, *dK = dQ + d, *dV = dK + d, *LSE = dV + d;
    bench_read(run, "LSE", at.LSE_at, 1, 1, n[N], LSE);
    for (int64_t r = 0; r < n[N]; r++) {
        if (is_active(n, head, r, j)) {
            double p = gradient_weigh(Q + r * d, K + j * d, V + j * d, O + r * d, dO + r * d,
                                      LSE[r], d, &dS);
            for (int64_t x = 0; x < d; x++) {
                dV[x] += p * dO[r * d + x];
                dK[x] += scale * dS * Q[r * d + x];
            }
        }
        if (!is_active(n, head, i, r)) continue;
        (void)gradient_weigh(Q + i * d, K + r * d, V + r * d, O + i * d, dO + i * d, LSE[i], d,
                             &dS);
        for (int64_t x = 0; x < d; x++) dQ[x] += scale * dS * K[r * d + x];
    }
    const double errors[] = {gradient_row_error(run, "dQ", &at, i, dQ, rounding),
                             gradient_row_error(run, "dK", &at, j, dK, rounding),
                             gradient_row_error(run, "dV", &at, j, dV, rounding)};
    double worst = 0;
    for (int a = 0; a < 3; a++)
        if (!(errors[a] <= worst)) worst = errors[a];
    free(Q), free(K), free(V), free(O), free(dO), free(memory);
    return worst;
}

// Products and sums in fp32, results rounded to fp16: 2^-11 of the element, and as much again for exp and the
// order of the sums.
static double error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    const double rounding = 0x1p-10;
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        int64_t head = bench_pick(run, n[HEADS]), i = bench_pick(run, n[N]);
        int64_t j = bench_pick(run, n[N]);
        if (sample == 0) head = n[HEADS] - 1, i = j = n[N] - 1;
        double e = n[PASS] ? backward_error(run, n, head, i, j, rounding)
                           : forward_error(run, n, head, i, rounding);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const struct bench bench = {"block_sparse_forward block_sparse_backward",
                            sizes,
                            bytes,
                            flops,
                            BF16,
                            prepare,
                            call,
                            error,
                            1e-3};
