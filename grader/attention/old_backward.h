// backward.h: what check.c knows of the backward pass: the case that runs, forward pass and gradients in
// fp64, and a test of these gradients by central differences.
#ifndef BACKWARD_H
#define BACKWARD_H

#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/old_block_mask.h"
#include "attention/old_taken.h"
#include "course.h"

#define MAX_HEAD 256  // the largest d

enum which { ARRAY_Q, ARRAY_K, ARRAY_V, ARRAY_O, ARRAY_dO, ARRAY_dQ, ARRAY_dK, ARRAY_dV, ARRAYS };

// Element (b, n, h, x) of an array is at b * stride.b + n * stride.n + h * stride.h + x.
struct array {
    struct tensor* tensor;  // NULL if the case passes NULL
    struct strides stride;
};

// The running case. No want and no budget depend on anything else.
static struct {
    int64_t B, N_q, N_k, H, d;
    int64_t group;  // heads of Q that share a head of K and V; H / group of these; 1 but in 17
    double scale;
    bool causal;
    struct array array[ARRAYS];
    struct tensor* LSE;
    struct tensor* mask;  // of blocks of S; NULL but in lesson 19
} now;

static bool is_of_keys(enum which a) {
    return a == ARRAY_K || a == ARRAY_V || a == ARRAY_dK || a == ARRAY_dV;
}

static int64_t rows_of(enum which a) {
    return is_of_keys(a) ? now.N_k : now.N_q;
}

// How many query heads share a head of the array.
static int64_t sharing(enum which a) {
    return is_of_keys(a) ? now.group : 1;
}

static int64_t place(struct strides s, int64_t b, int64_t h, int64_t n) {
    return b * s.b + n * s.n + h * s.h;
}

// Row n of batch b in the head that belongs to query head h.
static double* row_of(enum which a, int64_t b, int64_t h, int64_t n) {
    return now.array[a].tensor->value + place(now.array[a].stride, b, h / sharing(a), n);
}

// The mask of the case.
static struct block_mask block_mask(void) {
    return block_mask_of(now.mask, now.H, now.N_q, now.N_k);
}

static bool sees(int64_t b, int64_t h, int64_t i, int64_t j) {
    return is_active(block_mask(), b, h, i, j) && (!now.causal || j <= i + now.N_k - now.N_q);
}

static double dot(const double* a, const double* b) {
    double sum = 0;
    for (int64_t x = 0; x < now.d; x++) sum += a[x] * b[x];
    return sum;
}

static void* must_allocate(int64_t count, size_t size) {
    void* memory = calloc((size_t)count + 1, size);
    if (!memory) abort();
    return memory;
}

// ---- forward -------------------------------------------------------------------------------

// O and LSE of one query from the Q, K and V of the case; returns LSE.
static double forward_row(int64_t b, int64_t h, int64_t i, double* O) {
    const double* q = row_of(ARRAY_Q, b, h, i);
    double m = -INFINITY, l = 0, acc[MAX_HEAD] = {0};
    for (int64_t j = 0; j < now.N_k; j++)
        if (sees(b, h, i, j)) m = fmax(m, now.scale * dot(q, row_of(ARRAY_K, b, h, j)));
    for (int64_t j = 0; j < now.N_k; j++) {
        if (!sees(b, h, i, j)) continue;
        const double* v = row_of(ARRAY_V, b, h, j);
        double p = exp(now.scale * dot(q, row_of(ARRAY_K, b, h, j)) - m);
        l += p;
        for (int64_t x = 0; x < now.d; x++) acc[x] += p * v[x];
    }
    for (int64_t x = 0; x < now.d; x++) O[x] = l > 0 ? acc[x] / l : 0;
    return l > 0 ? m + log(l) : -INFINITY;
}

// Sets O and LSE of the selected call, unrounded.
static void forward(void) {
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++)
            for (int64_t i = 0; i < now.N_q; i++)
                now.LSE->value[(b * now.H + h) * now.N_q + i] =
                    forward_row(b, h, i, row_of(ARRAY_O, b, h, i));
}

// ---- backward ------------------------------------------------------------------------------

// What a kernel computes: the right thing (no_mistake()), or what one mistake makes of it.
struct mistake {
    double scale;               // of the scores
    double scale_dQ, scale_dK;  // of these gradients
    double lse, delta;          // factors of LSE and delta; 0 leaves them out
    double base;                // ln of what is raised to the power of S - LSE
    bool of_maximum;  // S - m instead of S - LSE, m the largest score of the row in the tile
    enum { OF_P, OF_ONE, OF_dS } dV;  // what dO is weighted with in dV
    enum {
        MASK,
        MASK_TILES,        // only tiles above the diagonal are hidden
        MASK_NOT_IN_LAST,  // and what is hidden in tiles that it crosses, but for the last of them
        MASK_NOTHING
    } mask;
    int64_t shift;            // the mask is j <= i + shift
    int64_t tile, keys_tile;  // queries, and keys, in a tile of the student's
    int at_start;       // how often the first tile of queries that sees a key of the tile counts,
    int at_full_start;  // and the first that sees all of them
    bool part_lacks_first;  // the first tile of each part of the main loop does not count
    int64_t from, to;       // queries of [from, to) count `times` times
    int times;
    bool absolute;    // no mistake: sums the sizes of all terms, which rounding is relative to
    int64_t keys;     // only keys of [0, keys) count
    int64_t columns;  // only columns of [0, columns) are summed for S and dP
    struct strides stride[ARRAYS];      // where rows are looked for and stored
    int64_t lse_b, lse_h;               // LSE of (b, h) is at (b lse_b + h lse_h) N_q
    bool interleaved;                   // query head h takes key head h % (H / group)
    bool only_last_head;                // of a group counts in dK and dV
    bool first_delta;                   // delta is that of the group's first head
    const double* value[ARRAY_dO + 1];  // of each input
    const double* dO_of_delta;
    // Of Q, K and dO as they are read for the products with dS and P; and how P^T, dS^T and dS are read there.
    const double* again[ARRAY_dO + 1];
    enum taken P_of_dV, dS_of_dK, dS_of_dQ;
    struct block_mask blocks;
};

static struct mistake no_mistake(void) {
    struct mistake w = {.scale = now.scale,
                        .scale_dQ = now.scale,
                        .scale_dK = now.scale,
                        .lse = 1,
                        .delta = 1,
                        .base = 1,
                        .mask = now.causal ? MASK : MASK_NOTHING,
                        .shift = now.N_k - now.N_q,
                        .tile = 16,
                        .keys_tile = 16,
                        .at_start = 1,
                        .at_full_start = 1,
                        .keys = now.N_k,
                        .columns = now.d,
                        .lse_b = now.H,
                        .lse_h = 1,
                        .blocks = block_mask()};
    for (int a = 0; a < ARRAYS; a++) w.stride[a] = now.array[a].stride;
    for (int a = 0; a <= ARRAY_dO; a++) w.value[a] = w.again[a] = now.array[a].tensor->value;
    w.dO_of_delta = w.value[ARRAY_dO];
    return w;
}

// How often the pair of query i and key j counts. The tile of key j is first seen by the queries from `start`
// on, and whole by those from `full_start` on; never whole if it hangs over the end of the keys.
static int times(const struct mistake* w, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t T = w->tile, key = j / w->keys_tile * w->keys_tile;
    int64_t first = key - w->shift, last = key + w->keys_tile - 1 - w->shift;
    int64_t start = now.causal && first > 0 ? first / T * T : 0;
    int64_t full_start = now.causal && last > 0 ? CEIL_DIV(last, T) * T : 0;
    if (key + w->keys_tile > now.N_k) full_start = CEIL_DIV(now.N_q, T) * T;
    int64_t tail = now.N_q / T * T > full_start ? now.N_q / T * T : full_start;
    bool at_start = i >= start && i < start + T && i < full_start;
    bool at_full_start = i >= full_start && i < full_start + T;
    if (j >= w->keys || !is_active(w->blocks, b, h, i, j)) return 0;
    if (w->mask == MASK && j > i + w->shift) return 0;
    if (w->mask == MASK_TILES && i < start) return 0;
    if (w->mask == MASK_NOT_IN_LAST && j > i + w->shift) {
        int64_t last_key = key + w->keys_tile < now.N_k ? key + w->keys_tile - 1 : now.N_k - 1;
        if (i < (last_key - w->shift) / T * T) return 0;
    }
    if (w->part_lacks_first) return !at_start && !at_full_start && i < tail;
    if (at_start && w->at_start != 1) return w->at_start;
    if (at_full_start && w->at_full_start != 1) return w->at_full_start;
    if (i < w->from || i >= w->to) return 1;
    return w->times > 1 && i < full_start ? 1 : w->times;  // part 3 of the loop is not walked twice
}

// Stands in a hypothesis where a mistaken kernel stores two elements: either may be there.
#define DISPUTED 1e300

static void store(double* to, double value) {
    *to = isnan(*to) ? value : DISPUTED;
}

// The largest score of row i in the tile of key j.
static double tile_maximum(const struct mistake* w, const double* S, int64_t b, int64_t h,
                           int64_t i, int64_t j) {
    double m = -INFINITY;
    for (int64_t k = j / w->keys_tile * w->keys_tile;
         k < now.N_k && k / w->keys_tile == j / w->keys_tile; k++)
        if (times(w, b, h, i, k)) m = fmax(m, S[k]);
    return m;
}

// P and dS have more rows and columns than there are queries and keys: a kernel's tiles have.
static int64_t padded(int64_t n) {
    return CEIL_DIV(n, 64) * 64;
}

// What a kernel's tiles hold there, if rows that do not exist are zeros in shared memory, LSE and delta too.
static void pad(double* P, double* dS, const double* LSE, const double* delta) {
    for (int64_t i = 0; i < padded(now.N_q); i++)
        for (int64_t j = i < now.N_q ? now.N_k : 0; j < padded(now.N_k); j++) {
            double* p = &P[i * padded(now.N_k) + j];
            *p = i < now.N_q ? (now.causal ? 0 : exp(-LSE[i])) : 1;
            dS[i * padded(now.N_k) + j] = i < now.N_q ? -*p * delta[i] : 0;
        }
}

// The element of P or dS that a kernel takes for (i, j), where row j of its transposed, or row i of itself, is the
// row of a tile. dQ knows of no key that does not exist.
static double weight(const double* matrix, enum taken how, bool of_transposed, int64_t i,
                     int64_t j) {
    int64_t n = of_transposed ? j : i, x = of_transposed ? i : j;
    taken_from(how, &n, &x);
    if (!of_transposed && x >= now.N_k) return 0;
    return of_transposed ? matrix[x * padded(now.N_k) + n] : matrix[n * padded(now.N_k) + x];
}

// The gradient dQ of one head, counted like the tensor, and what the head adds to the sums of dK and dV of its
// key head g, (N_k, d). In fp64, or with every operation rounded to fp32 (a sum or product of floats, computed in
// fp64, rounds to what fp32 arithmetic gives).
//     dV_j = sum_i P_ij dO_i,  dK_j = scale sum_i dS_ij Q_i,  dQ_i = scale sum_j dS_ij K_j
static void backward_head(const struct mistake* w, bool single, int64_t b, int64_t h, int64_t g,
                          double* S, double* P, double* dS, double* const gradient[3],
                          double* dK_sum, double* dV_sum) {
#define ROUND(x) (single ? (double)(float)(x) : (x))
#define TERM(x) ROUND(w->absolute ? fabs(x) : (x))
#define ROW(a, n) (w->value[a] + place(w->stride[a], b, is_of_keys(a) ? g : h, n))
#define AGAIN(a, n) (w->again[a] + place(w->stride[a], b, is_of_keys(a) ? g : h, n))
#define WEIGHT(x) (single && ROUNDED_WEIGHTS ? dtype_round(ELEMENT, x) : (x))
    double* deltas = must_allocate(now.N_q, sizeof *deltas);
    for (int64_t i = 0; i < now.N_q; i++) {
        const double *q = ROW(ARRAY_Q, i), *dO = ROW(ARRAY_dO, i);
        double LSE = now.LSE->value[(b * w->lse_b + h * w->lse_h) * now.N_q + i];
        double delta = 0;
        // From the last column on: with one key O is V and dP - delta is 0, but for the rounding of two
        // sums, and what the standard says of that must not depend on their having the same order.
        int64_t from = w->first_delta ? h / now.group * now.group : h;
        const double* o = w->value[ARRAY_O] + place(w->stride[ARRAY_O], b, from, i);
        const double* of = w->dO_of_delta + place(w->stride[ARRAY_dO], b, from, i);
        for (int64_t x = now.d - 1; x >= 0; x--) delta = ROUND(delta + TERM(of[x] * o[x]));
        deltas[i] = delta;
        for (int64_t j = 0; j < now.N_k; j++) {
            const double *k = ROW(ARRAY_K, j), *v = ROW(ARRAY_V, j);
            double s = 0, dP = 0;
            for (int64_t x = 0; x < w->columns; x++) {
                s = ROUND(s + ROUND(q[x] * k[x]));
                dP = ROUND(dP + TERM(dO[x] * v[x]));
            }
            s = ROUND(s * w->scale);
            S[j] = s;
            dS[i * padded(now.N_k) + j] = ROUND(dP - w->delta * delta);
        }
        for (int64_t j = 0; j < now.N_k; j++) {
            double* p = &P[i * padded(now.N_k) + j];
            double base = w->of_maximum ? tile_maximum(w, S, b, h, i, j) : w->lse * LSE;
            if (times(w, b, h, i, j) == 0) {
                *p = dS[i * padded(now.N_k) + j] = 0;
                continue;
            }
            *p = ROUND(exp(ROUND(w->base * ROUND(S[j] - base))));
            dS[i * padded(now.N_k) + j] = WEIGHT(ROUND(*p * dS[i * padded(now.N_k) + j]));
            *p = WEIGHT(*p);
        }
    }
    if (w->P_of_dV || w->dS_of_dK || w->dS_of_dQ)
        pad(P, dS, now.LSE->value + (b * now.H + h) * now.N_q, deltas);
    free(deltas);
    for (int64_t j = 0; j < now.N_k && (gradient[1] || gradient[2]); j++) {
        double *dV = dV_sum + j * now.d, *dK = dK_sum + j * now.d;
        for (int64_t i = 0; i < now.N_q; i++) {
            const double *q = AGAIN(ARRAY_Q, i), *dO = AGAIN(ARRAY_dO, i);
            int count = times(w, b, h, i, j);
            if (!count && w->P_of_dV == AS_IT_IS && w->dS_of_dK == AS_IT_IS) continue;
            if (w->P_of_dV || w->dS_of_dK) count = 1;
            double p = weight(P, w->P_of_dV, true, i, j),
                   dSij = weight(dS, w->dS_of_dK, true, i, j);
            double of_dO = count * (w->dV == OF_P ? p : w->dV == OF_ONE ? 1 : dSij);
            for (int64_t x = 0; x < now.d && gradient[2]; x++)
                dV[x] = ROUND(dV[x] + TERM(of_dO * dO[x]));
            for (int64_t x = 0; x < now.d && gradient[1]; x++)
                dK[x] = ROUND(dK[x] + TERM(count * dSij * q[x]));
        }
    }
    for (int64_t i = 0; i < now.N_q && gradient[0]; i++) {
        double dQ[MAX_HEAD] = {0};
        for (int64_t j = 0; j < now.N_k; j++) {
            const double* k = AGAIN(ARRAY_K, j);
            int count = w->dS_of_dQ ? 1 : times(w, b, h, i, j);
            if (!count) continue;
            double dSij = weight(dS, w->dS_of_dQ, false, i, j);
            for (int64_t x = 0; x < now.d; x++) dQ[x] = ROUND(dQ[x] + TERM(count * dSij * k[x]));
        }
        for (int64_t x = 0; x < now.d; x++)
            store(&gradient[0][place(w->stride[ARRAY_dQ], b, h, i) + x],
                  ROUND(w->scale_dQ * dQ[x]));
    }
#undef ROUND
#undef TERM
#undef ROW
#undef AGAIN
#undef WEIGHT
}

// Stores dK and dV of a key head.
static void store_sums(const struct mistake* w, bool single, int64_t b, int64_t g, const double* dK,
                       const double* dV, double* const gradient[3]) {
    for (int64_t j = 0; j < now.N_k; j++)
        for (int64_t x = 0; x < now.d; x++) {
            double scaled = w->scale_dK * dK[j * now.d + x];
            if (gradient[1])
                store(&gradient[1][place(w->stride[ARRAY_dK], b, g, j) + x],
                      single ? (double)(float)scaled : scaled);
            if (gradient[2])
                store(&gradient[2][place(w->stride[ARRAY_dV], b, g, j) + x], dV[j * now.d + x]);
        }
}

// gradient[0], [1], [2] are dQ, dK, dV, each counted like its tensor; NaN where nothing is stored. One that is
// not asked for is NULL.
static void backward(const struct mistake* w, bool single, double* const gradient[3]) {
    int64_t size = padded(now.N_q) * padded(now.N_k), sums = now.N_k * now.d;
    double* memory = must_allocate(2 * size + now.N_k + 2 * sums, sizeof *memory);
    double *P = memory, *dS = P + size, *S = dS + size, *dK = S + now.N_k, *dV = dK + sums;
    int64_t H_k = now.H / now.group;
    for (int a = 0; a < 3; a++)
        for (int64_t e = 0; gradient[a] && e < now.array[ARRAY_dQ + a].tensor->count; e++)
            gradient[a][e] = NAN;
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t g = 0; g < H_k; g++) {
            memset(dK, 0, (size_t)(2 * sums) * sizeof *dK);
            for (int64_t h = 0; h < now.H; h++) {
                if ((w->interleaved ? h % H_k : h / now.group) != g) continue;
                if (w->only_last_head) memset(dK, 0, (size_t)(2 * sums) * sizeof *dK);
                backward_head(w, single, b, h, g, S, P, dS, gradient, dK, dV);
            }
            store_sums(w, single, b, g, dK, dV, gradient);
        }
    for (int a = 0; a < 3; a++)
        for (int64_t e = 0; single && gradient[a] && e < now.array[ARRAY_dQ + a].tensor->count; e++)
            gradient[a][e] = dtype_round(ELEMENT, gradient[a][e]);
    free(memory);
}

// ---- is the reference right? ---------------------------------------------------------------

// The number whose gradient by O is dO: the sum of dO_ix O_ix, with O from the forward pass.
static double loss(void) {
    double sum = 0, O[MAX_HEAD];
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++)
            for (int64_t i = 0; i < now.N_q; i++) {
                forward_row(b, h, i, O);
                sum += dot(O, row_of(ARRAY_dO, b, h, i));
            }
    return sum;
}

// Holds the gradients against central differences of the forward pass,
//     dQ_ix = (loss(Q_ix + e) - loss(Q_ix - e)) / 2 e,  and so on.
// O and LSE must not be rounded yet. A disagreement is an error of the grader, and ends it.
static void test_reference(void) {
    const double e = 0x1p-13;
    double* gradient[3];
    struct mistake right = no_mistake();
    for (int a = 0; a < 3; a++)
        gradient[a] = must_allocate(now.array[ARRAY_dQ + a].tensor->count, sizeof(double));
    backward(&right, false, gradient);
    for (int a = 0; a < 3; a++)
        for (int64_t row = 0; row < now.B * now.H * rows_of((enum which)a); row++) {
            int64_t n = row / (now.B * now.H), b = row % now.B, h = row / now.B % now.H;
            int64_t at = place(now.array[ARRAY_dQ + a].stride, b, h / sharing((enum which)a), n);
            for (int64_t x = 0; x < now.d; x++) {
                double* element = row_of((enum which)a, b, h, n) + x;
                double value = *element;
                *element = value + e;
                double above = loss();
                *element = value - e;
                double difference = (above - loss()) / (2 * e);
                *element = value;
                if (fabs(difference - gradient[a][at + x]) <= 1e-6 * (1 + fabs(difference)))
                    continue;
                fprintf(stderr, "the reference: d%c[%d, %d, %d, %d] is %.9g, by differences %.9g\n",
                        "QKV"[a], (int)b, (int)n, (int)h, (int)x, gradient[a][at + x], difference);
                abort();
            }
        }
    for (int a = 0; a < 3; a++) free(gradient[a]);
}

#endif
