// attention.h: what the benches of the attention lessons share: the work, and the check of a sample.
#ifndef GRADER_BENCH_ATTENTION_H
#define GRADER_BENCH_ATTENTION_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bench/bench.h"

// Scores that are computed for one head: all, or (causal, bottom-right aligned) key j for query i
// where j <= i + N_k - N_q. Half of a square, as everybody counts it.
static inline double attention_scores(int64_t N_q, int64_t N_k, bool causal) {
    double scores = (double)N_q * (double)N_k;
    if (!causal) return scores;
    if (N_q == N_k) return scores / 2;
    return N_q < N_k ? (double)N_q * ((double)N_k - (double)N_q / 2)
                     : (double)N_k * (double)N_k / 2;
}

// Where rows lie: element (n, x) of a head that begins at `first` is first + n * stride + x.
struct attention_rows {
    const char* name;
    int64_t first, stride;
};

// The error of row i of O and LSE of one head, in parts of what is allowed, against fp64: `rounding`
// times the largest element of the row for O, 1e-3 for LSE, which is a number near ln(N_k).
//     S_ij = scale Q_i K_j    P = softmax(S)    O_i = sum_j P_ij V_j    LSE_i = ln sum_j exp(S_ij)
static inline double attention_row_error(struct bench_run* run, struct attention_rows O,
                                         int64_t LSE_at, struct attention_rows Q,
                                         struct attention_rows K, struct attention_rows V,
                                         int64_t i, int64_t keys, int64_t d, double scale,
                                         double rounding) {
    double* memory = malloc((size_t)(keys * (2 * d + 1) + 3 * d) * sizeof *memory);
    if (!memory) return NAN;
    double *k = memory, *v = k + keys * d, *S = v + keys * d, *q = S + keys, *o = q + d;
    double* got = o + d;
    double m = -INFINITY, l = 0, LSE, worst = 0, largest = 0;
    bench_read(run, Q.name, Q.first + i * Q.stride, d, 1, d, q);
    bench_read(run, K.name, K.first, K.stride, keys, d, k);
    bench_read(run, V.name, V.first, V.stride, keys, d, v);
    for (int64_t j = 0; j < keys; j++) {
        S[j] = 0;
        for (int64_t x = 0; x < d; x++) S[j] += scale * q[x] * k[j * d + x];
        m = fmax(m, S[j]);
    }
    for (int64_t x = 0; x < d; x++) o[x] = 0;
    for (int64_t j = 0; j < keys; j++) {
        double p = exp(S[j] - m);
        l += p;
        for (int64_t x = 0; x < d; x++) o[x] += p * v[j * d + x];
    }
    bench_read(run, O.name, O.first + i * O.stride, d, 1, d, got);
    bench_read(run, "LSE", LSE_at, 1, 1, 1, &LSE);
    for (int64_t x = 0; x < d; x++) largest = fmax(largest, fabs(o[x] / l));
    for (int64_t x = 0; x < d; x++) {
        double e = fabs(got[x] - o[x] / l) / (rounding * largest);
        if (!(e <= worst)) worst = e;
    }
    double e = fabs(LSE - (m + log(l))) / 1e-3;
    if (!(e <= worst)) worst = e;
    free(memory);
    return worst;
}

#endif
