// bench.c: see bench.h.
#include "attention/bench.h"

#include <math.h>
#include <stdlib.h>

#include "attention/block_mask.h"

struct strides attention_strides_q(const struct attention_shape* s) {
    return (struct strides){.b = s->N_q * s->H * s->d, .n = s->H * s->d, .h = s->d};
}

struct strides attention_strides_k(const struct attention_shape* s) {
    return (struct strides){.b = s->N_k * s->H_k * s->d, .n = s->H_k * s->d, .h = s->d};
}

float attention_scale(const struct attention_shape* s) {
    return 1.0f / sqrtf((float)s->d);
}

// ---- sizes ---------------------------------------------------------------------------------

const struct bench_size attention_sizes_of_heads[] = {
    {"32 heads; N = 4096; d = 128", {32, 4096, 128, 0}},
    {"32 heads; N = 4096; d = 128; causal", {32, 4096, 128, 1}},
    {"32 heads; N = 4321; d = 128; causal", {32, 4321, 128, 1}},
    {"32 heads; N = 4096; d = 64; causal", {32, 4096, 64, 1}},
    {0},
};

const struct bench_size attention_sizes_of_batches[] = {
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

struct attention_shape attention_of_fp16(int64_t H, int64_t N, int64_t d) {
    return (struct attention_shape){
        .dtype = F16, .B = 1, .H = H, .H_k = H, .N_q = N, .N_k = N, .d = d, .rounding = 0x1p-10};
}

struct attention_shape attention_of_bf16(const int64_t* n) {
    struct attention_shape s = attention_of_fp16(32, n[1], n[2]);
    s.dtype = BF16;
    s.B = n[0];
    s.causal = n[3];
    s.rounding = 0x1p-7;
    return s;
}

const int attention_documents[] = {0,    700,  1200,  3300,  3500,  7600, 8700,
                                   9000, 9900, 12400, 12600, 15100, 16384};

int64_t attention_document_begin(int64_t i) {
    int64_t begin = 0;
    for (int e = 0; e < ATTENTION_DOCUMENTS; e++)
        if (attention_documents[e] <= i) begin = attention_documents[e];
    return begin;
}

bool attention_block_is_active(int64_t density, int64_t head, int64_t i, int64_t j) {
    uint64_t I = (uint64_t)(i / MASK_BLOCK), J = (uint64_t)(j / MASK_BLOCK);
    uint64_t x = (((uint64_t)head << 40 | I << 20 | J) + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return I == J || (int64_t)((x ^ x >> 32) % 1000) < density;
}

// ---- the work ------------------------------------------------------------------------------

// Scores of one head.
static double causal_scores(double N_q, double N_k) {
    if (N_q == N_k) return N_q * N_k / 2;
    return N_q < N_k ? N_q * (N_k - N_q / 2) : N_k * N_k / 2;
}

// Scores in active blocks of one head.
static double active_scores(const struct attention_shape* s, int64_t head) {
    double sum = 0;
    for (int64_t i = 0; i < s->N_q; i += MASK_BLOCK)
        for (int64_t j = 0; j < s->N_k; j += MASK_BLOCK) {
            int64_t rows = s->N_q - i < MASK_BLOCK ? s->N_q - i : MASK_BLOCK;
            int64_t columns = s->N_k - j < MASK_BLOCK ? s->N_k - j : MASK_BLOCK;
            if (s->is_active(s->n, head, i, j)) sum += (double)(rows * columns);
        }
    return sum;
}

static int64_t of_queries(const struct attention_shape* s) {
    return s->B * s->N_q * s->H * s->d;
}

static int64_t of_keys(const struct attention_shape* s) {
    return s->B * s->N_k * s->H_k * s->d;
}

double attention_flops(const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    double scores = 0;
    for (int64_t head = 0; head < s.B * s.H; head++)
        scores += s.is_active ? active_scores(&s, head)
                  : s.causal  ? causal_scores((double)s.N_q, (double)s.N_k)
                              : (double)s.N_q * (double)s.N_k;
    return (s.backward ? 10.0 : 4.0) * (double)s.d * scores;
}

double attention_bytes(const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    double arrays = 2.0 * (double)(of_queries(&s) + of_keys(&s));
    return 2.0 * (s.backward ? 2 : 1) * arrays + 4.0 * (double)(s.B * s.H * s.N_q);
}

void attention_prepare(struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    void (*of_O)(struct bench_run*, const char*, enum dtype, int64_t) =
        s.backward ? bench_input : bench_output;
    bench_input(run, "Q", s.dtype, of_queries(&s));
    bench_input(run, "K", s.dtype, of_keys(&s));
    bench_input(run, "V", s.dtype, of_keys(&s));
    of_O(run, "O", s.dtype, of_queries(&s));
    of_O(run, "LSE", F32, s.B * s.H * s.N_q);
    if (s.workspace_bytes) bench_workspace(run, "workspace", s.workspace_bytes);
    if (!s.backward) return;
    bench_input(run, "dO", s.dtype, of_queries(&s));
    bench_output(run, "dQ", s.dtype, of_queries(&s));
    bench_output(run, "dK", s.dtype, of_keys(&s));
    bench_output(run, "dV", s.dtype, of_keys(&s));
}

// ---- calls ---------------------------------------------------------------------------------

typedef int (*forward_type)(void*, void*, const void*, const void*, const void*, int, int, int, int,
                            int, struct strides, struct strides, struct strides, struct strides,
                            float, int);
typedef int (*backward_type)(void*, void*, void*, const void*, const void*, const void*,
                             const void*, const void*, const void*, int, int, int, int, int,
                             struct strides, struct strides, struct strides, struct strides,
                             struct strides, struct strides, struct strides, struct strides, float,
                             int, void*);

int attention_call_forward(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((forward_type)launcher)(bench_gpu(run, "O"), bench_gpu(run, "LSE"), bench_gpu(run, "Q"),
                                    bench_gpu(run, "K"), bench_gpu(run, "V"), (int)s.B, (int)s.N_q,
                                    (int)s.N_k, (int)s.H, (int)s.d, q, q, k, k, attention_scale(&s),
                                    s.causal);
}

int attention_call_backward(bench_launcher launcher, struct bench_run* run, const int64_t* n) {
    const struct attention_shape s = attention_shape(n);
    const struct strides q = attention_strides_q(&s), k = attention_strides_k(&s);
    return ((backward_type)launcher)(
        bench_gpu(run, "dQ"), bench_gpu(run, "dK"), bench_gpu(run, "dV"), bench_gpu(run, "Q"),
        bench_gpu(run, "K"), bench_gpu(run, "V"), bench_gpu(run, "O"), bench_gpu(run, "LSE"),
        bench_gpu(run, "dO"), (int)s.B, (int)s.N_q, (int)s.N_k, (int)s.H, (int)s.d, q, k, k, q, k,
        k, q, q, attention_scale(&s), s.causal, bench_gpu(run, "workspace"));
}

// ---- the check of a sample -----------------------------------------------------------------

// Query head h of batch b, and the rows that are read of it.
struct sample {
    const struct attention_shape* s;
    struct bench_run* run;
    int64_t b, h;
};

static double* must_allocate(int64_t count) {
    double* memory = calloc((size_t)count, sizeof *memory);
    if (!memory) abort();
    return memory;
}

// Rows n, n + 1, ... of the head in an array, to be freed.
static double* read_rows(const struct sample* at, const char* name, bool is_of_keys, int64_t n,
                         int64_t count) {
    const struct attention_shape* s = at->s;
    struct strides to = is_of_keys ? attention_strides_k(s) : attention_strides_q(s);
    int64_t h = is_of_keys ? at->h / (s->H / s->H_k) : at->h;
    double* rows = must_allocate(count * s->d);
    bench_read(at->run, name, at->b * to.b + n * to.n + h * to.h, to.n, count, s->d, rows);
    return rows;
}

static bool sees(const struct sample* at, int64_t i, int64_t j) {
    const struct attention_shape* s = at->s;
    if (s->causal && j > i + s->N_k - s->N_q) return false;
    return !s->is_active || s->is_active(s->n, at->b * s->H + at->h, i, j);
}

static double dot(const double* x, const double* y, int64_t d) {
    double sum = 0;
    for (int64_t e = 0; e < d; e++) sum += x[e] * y[e];
    return sum;
}

// The error of a row, in parts of what is allowed.
static double row_error(const struct sample* at, const char* name, bool is_of_keys, int64_t n,
                        const double* want) {
    double *got = read_rows(at, name, is_of_keys, n, 1), largest = 0, worst = 0;
    for (int64_t x = 0; x < at->s->d; x++) largest = fmax(largest, fabs(want[x]));
    for (int64_t x = 0; x < at->s->d; x++)
        worst = bench_worse(worst, fabs(got[x] - want[x]) / (at->s->rounding * largest));
    free(got);
    return worst;
}

// O and LSE of query i.
//     S_ij = scale Q_i K_j    P = softmax(S)    O_i = sum_j P_ij V_j    LSE_i = ln sum_j exp(S_ij)
static double forward_error(const struct sample* at, int64_t i) {
    const struct attention_shape* s = at->s;
    int64_t d = s->d, keys = s->causal ? i + 1 + s->N_k - s->N_q : s->N_k;
    double *q = read_rows(at, "Q", false, i, 1), *K = read_rows(at, "K", true, 0, keys);
    double *V = read_rows(at, "V", true, 0, keys), *O = must_allocate(d), *S = must_allocate(keys);
    double m = -INFINITY, l = 0, LSE;
    for (int64_t j = 0; j < keys; j++) {
        S[j] = sees(at, i, j) ? dot(q, K + j * d, d) / sqrt((double)d) : -INFINITY;
        m = fmax(m, S[j]);
    }
    for (int64_t j = 0; j < keys; j++) {
        double p = exp(S[j] - m);
        l += p;
        for (int64_t x = 0; x < d; x++) O[x] += p * V[j * d + x];
    }
    for (int64_t x = 0; x < d; x++) O[x] /= l;
    bench_read(at->run, "LSE", (at->b * s->H + at->h) * s->N_q + i, 1, 1, 1, &LSE);
    double worst = bench_worse(row_error(at, "O", false, i, O), fabs(LSE - (m + log(l))) / 1e-3);
    free(q), free(K), free(V), free(O), free(S);
    return worst;
}

// All that the gradients of one head depend on.
struct head {
    double *Q, *O, *dO, *LSE, *K, *V;
};

// P and dS of one pair.
static double weigh(const struct head* at, int64_t i, int64_t j, int64_t d, double* dS) {
    const double *Q = at->Q + i * d, *O = at->O + i * d, *dO = at->dO + i * d;
    double P = exp(dot(Q, at->K + j * d, d) / sqrt((double)d) - at->LSE[i]);
    *dS = P * (dot(dO, at->V + j * d, d) - dot(dO, O, d));
    return P;
}

// Adds what one head gives to dK and dV of key j, and computes dQ of query i if it is not NULL.
static void add_head(struct sample at, struct head* rows, int64_t i, int64_t j, double* dQ,
                     double* dK, double* dV) {
    const struct attention_shape* s = at.s;
    int64_t N_q = s->N_q, d = s->d;
    double scale = 1 / sqrt((double)d), dS;
    rows->Q = read_rows(&at, "Q", false, 0, N_q);
    rows->O = read_rows(&at, "O", false, 0, N_q);
    rows->dO = read_rows(&at, "dO", false, 0, N_q);
    rows->LSE = must_allocate(N_q);
    bench_read(at.run, "LSE", (at.b * s->H + at.h) * N_q, 1, 1, N_q, rows->LSE);
    for (int64_t r = 0; r < N_q; r++) {
        if (!sees(&at, r, j)) continue;
        double P = weigh(rows, r, j, d, &dS);
        for (int64_t x = 0; x < d; x++) {
            dV[x] += P * rows->dO[r * d + x];
            dK[x] += scale * dS * rows->Q[r * d + x];
        }
    }
    for (int64_t r = 0; r < s->N_k && dQ; r++) {
        if (!sees(&at, i, r)) continue;
        weigh(rows, i, r, d, &dS);
        for (int64_t x = 0; x < d; x++) dQ[x] += scale * dS * rows->K[r * d + x];
    }
    free(rows->Q), free(rows->O), free(rows->dO), free(rows->LSE);
}

// dQ of query i, and dK and dV of key j: from all the rows that they depend on, of all heads of the
// group.
static double backward_error(const struct sample* at, int64_t i, int64_t j) {
    const struct attention_shape* s = at->s;
    int64_t group = s->H / s->H_k, first = at->h / group * group;
    struct head rows = {.K = read_rows(at, "K", true, 0, s->N_k),
                        .V = read_rows(at, "V", true, 0, s->N_k)};
    double *dQ = must_allocate(s->d), *dK = must_allocate(s->d), *dV = must_allocate(s->d);
    for (int64_t h = first; h < first + group; h++) {
        struct sample of = *at;
        of.h = h;
        add_head(of, &rows, i, j, h == at->h ? dQ : NULL, dK, dV);
    }
    double worst = row_error(at, "dQ", false, i, dQ);
    worst = bench_worse(worst, row_error(at, "dK", true, j, dK));
    worst = bench_worse(worst, row_error(at, "dV", true, j, dV));
    free(rows.K), free(rows.V), free(dQ), free(dK), free(dV);
    return worst;
}

double attention_error(struct bench_run* run, const int64_t* n) {
    enum { SAMPLES = 4 };
    const struct attention_shape s = attention_shape(n);
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        bool longest = sample == 0;
        int64_t head = longest ? s.B * s.H - 1 : bench_pick(run, s.B * s.H);
        int64_t i = longest ? s.N_q - 1 : bench_pick(run, s.N_q);
        int64_t j = longest ? 0 : bench_pick(run, s.N_k);
        const struct sample at = {&s, run, head / s.H, head % s.H};
        worst = bench_worse(worst, s.backward ? backward_error(&at, i, j) : forward_error(&at, i));
    }
    return worst;
}
