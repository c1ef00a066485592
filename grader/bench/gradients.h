// gradients.h: what the benches of the backward lessons share: the check of a sample.
#ifndef GRADER_BENCH_GRADIENTS_H
#define GRADER_BENCH_GRADIENTS_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bench/bench.h"

// One head: element (n, x) of Q, K, V, O, dO, dQ, dK and dV is first + n * stride + x, N rows of d elements;
// its LSE begin at LSE_at.
struct gradient_head {
    int64_t first, stride, LSE_at, N, d;
    bool causal;
};

// Reads `count` rows of an array from row n on.
static inline double* gradient_rows(struct bench_run* run, const char* name,
                                    const struct gradient_head* h, int64_t n, int64_t count) {
    double* to = malloc((size_t)(count * h->d) * sizeof *to);
    if (!to) abort();
    bench_read(run, name, h->first + n * h->stride, h->stride, count, h->d, to);
    return to;
}

static inline double gradient_dot(const double* a, const double* b, int64_t d) {
    double sum = 0;
    for (int64_t x = 0; x < d; x++) sum += a[x] * b[x];
    return sum;
}

// P and dS of one pair.
static inline double gradient_weigh(const double* q, const double* k, const double* v,
                                    const double* o, const double* dO, double LSE, int64_t d,
                                    double* dS) {
    double p = exp(gradient_dot(q, k, d) / sqrt((double)d) - LSE);
    *dS = p * (gradient_dot(dO, v, d) - gradient_dot(dO, o, d));
    return p;
}

// The error of one row, in parts of what is allowed: `rounding` times its largest element.
static inline double gradient_row_error(struct bench_run* run, const char* name,
                                        const struct gradient_head* h, int64_t row,
                                        const double* want, double rounding) {
    double *got = gradient_rows(run, name, h, row, 1), largest = 0, worst = 0;
    for (int64_t x = 0; x < h->d; x++) largest = fmax(largest, fabs(want[x]));
    for (int64_t x = 0; x < h->d; x++) {
        double e = fabs(got[x] - want[x]) / (rounding * largest);
        if (!(e <= worst)) worst = e;
    }
    free(got);
    return worst;
}

// The error of dK and dV of one key and dQ of one query: against fp64, from all the rows that they depend on.
static inline double gradient_error(struct bench_run* run, const struct gradient_head* h,
                                    int64_t key, int64_t query, double rounding) {
    int64_t N = h->N, d = h->d;
    double *Q = gradient_rows(run, "Q", h, 0, N), *K = gradient_rows(run, "K", h, 0, N);
    double *V = gradient_rows(run, "V", h, 0, N), *O = gradient_rows(run, "O", h, 0, N);
    double* dO = gradient_rows(run, "dO", h, 0, N);
    double* memory = calloc((size_t)(3 * d + N), sizeof *memory);
    if (!memory) abort();
    double *dQ = memory, *dK = dQ + d, *dV = dK + d, *LSE = dV + d;
    double scale = 1 / sqrt((double)d), worst = 0, dS;
    bench_read(run, "LSE", h->LSE_at, 1, 1, N, LSE);
    for (int64_t i = h->causal ? key : 0; i < N; i++) {
        double p = gradient_weigh(Q + i * d, K + key * d, V + key * d, O + i * d, dO + i * d,
                                  LSE[i], d, &dS);
        for (int64_t x = 0; x < d; x++) {
            dV[x] += p * dO[i * d + x];
            dK[x] += scale * dS * Q[i * d + x];
        }
    }
    for (int64_t j = 0; j < (h->causal ? query + 1 : N); j++) {
        (void)gradient_weigh(Q + query * d, K + j * d, V + j * d, O + query * d, dO + query * d,
                             LSE[query], d, &dS);
        for (int64_t x = 0; x < d; x++) dQ[x] += scale * dS * K[j * d + x];
    }
    const double errors[] = {gradient_row_error(run, "dQ", h, query, dQ, rounding),
                             gradient_row_error(run, "dK", h, key, dK, rounding),
                             gradient_row_error(run, "dV", h, key, dV, rounding)};
    for (int a = 0; a < 3; a++)
        if (!(errors[a] <= worst)) worst = errors[a];
    free(Q), free(K), free(V), free(O), free(dO), free(memory);
    return worst;
}

// The worst of four of them, the longest row among them. head(n, h) says where head h of the size is.
static inline double gradient_sample(struct bench_run* run, const int64_t* n, int64_t heads,
                                     struct gradient_head (*head)(const int64_t* n, int64_t h),
                                     double rounding) {
    enum { SAMPLES = 4 };
    double worst = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        struct gradient_head at = head(n, sample == 0 ? heads - 1 : bench_pick(run, heads));
        int64_t key = bench_pick(run, at.N), query = bench_pick(run, at.N);
        if (sample == 0) key = 0, query = at.N - 1;
        double e = gradient_error(run, &at, key, query, rounding);
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

#endif
