// forward.h: attention with layout (B, N, H, d) and hidden keys, for the check.c of lessons that compute it:
// the case that runs, and the right answer in fp64.
#ifndef ATTENTION_FORWARD_H
#define ATTENTION_FORWARD_H

#include "check/check.h"

#include <math.h>

#include "attention/old_block_mask.h"
#include "course.h"

#define MAX_N 4400    // the largest N_k of a case, a tile beyond it included
#define MAX_HEAD 256  // the largest d

// Where the rows of an argument are: row (b, n, h) begins at value[b * s.b + n * s.n + h * s.h].
struct array {
    struct tensor* tensor;
    struct strides s;
};

// The running case.
static struct {
    int64_t B, N_q, N_k, H, d;
    int64_t group;  // heads of Q that share a head of K and V; H / group of these; 1 but in 17
    double scale;
    bool causal;
    struct array O, LSE, Q, K, V;  // LSE is (B, H, N_q), a row of it one number
    struct tensor* mask;           // of blocks of S; NULL but in lesson 19
} now;

// Every row (b, i, h) of O and of LSE.
#define FOR_EACH_ROW(b, i, h)               \
    for (int64_t b = 0; b < now.B; b++)     \
        for (int64_t h = 0; h < now.H; h++) \
            for (int64_t i = 0; i < now.N_q; i++)

static int64_t place_of(struct strides s, int64_t b, int64_t n, int64_t h) {
    return b * s.b + n * s.n + h * s.h;
}

static double* at(const struct array* a, int64_t b, int64_t n, int64_t h) {
    return a->tensor->value + place_of(a->s, b, n, h);
}

// How many keys query i sees.
static int64_t keys_seen(int64_t i) {
    int64_t seen = now.causal ? i + 1 + now.N_k - now.N_q : now.N_k;
    return seen < 0 ? 0 : seen;
}

// The mask of the case.
static struct block_mask block_mask(void) {
    return block_mask_of(now.mask, now.H, now.N_q, now.N_k);
}

// ---- the reference -------------------------------------------------------------------------

// Attention the plain way, two passes over the scores of a row. In fp64, or with every operation
// rounded to fp32 (a sum or product of floats, computed in fp64, rounds to what fp32 arithmetic gives):
// then it is the standard that sets the budget. On tensor cores (bf16, lesson 14) P is rounded as well, for
// the product with V. Fills O and LSE, counted like their tensors.
static void attention(bool single, double* O, double* LSE) {
#define ROUND(x) (single ? (double)(float)(x) : (x))
    static double S[MAX_N];
    enum dtype type = now.O.tensor->dtype;
    FOR_EACH_ROW(b, i, h) {
        const double* q = at(&now.Q, b, i, h);
        double m = -INFINITY, l = 0, sum[MAX_HEAD] = {0};
        int64_t seen = keys_seen(i);
        for (int64_t j = 0; j < seen; j++) {
            S[j] = -INFINITY;
            if (!is_active(block_mask(), b, h, i, j)) continue;
            const double* k = at(&now.K, b, j, h / now.group);
            double s = 0;
            for (int64_t x = 0; x < now.d; x++) s = ROUND(s + ROUND(q[x] * k[x]));
            S[j] = ROUND(now.scale * s);
            m = fmax(m, S[j]);
        }
        for (int64_t j = 0; j < seen; j++) {
            if (S[j] == -INFINITY) continue;
            double p = ROUND(exp(ROUND(S[j] - m)));
            l = ROUND(l + p);
            if (single && type == BF16) p = dtype_round(BF16, p);
            const double* v = at(&now.V, b, j, h / now.group);
            for (int64_t x = 0; x < now.d; x++) sum[x] = ROUND(sum[x] + ROUND(p * v[x]));
        }
        double* o = O + place_of(now.O.s, b, i, h);
        for (int64_t x = 0; x < now.d; x++) {
            o[x] = l > 0 ? ROUND(sum[x] / l) : 0;
            if (single) o[x] = dtype_round(type, o[x]);
        }
        LSE[place_of(now.LSE.s, b, i, h)] = l > 0 ? ROUND(m + ROUND(log(l))) : -INFINITY;
    }
#undef ROUND
}

#endif
