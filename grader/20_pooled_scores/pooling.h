// pooling.h: R, the pooled scores, as it should be and as the known mistakes make it.
#ifndef POOLING_H
#define POOLING_H

#include <math.h>
#include <stdlib.h>

#include "attention/old_forward_mistakes.h"

// What the case has besides `now`. R is NULL where there are no keys.
static struct {
    int64_t pool;
    struct tensor* R;  // (B, H, n_I, n_J), packed
} pooled;

// A kernel's way to R; {0} with views, offset and tile is the right one: see no_slip().
struct slip {
    bool causal;
    int64_t offset;  // query i sees the keys up to i + offset
    enum {
        OF_P,            // exp(S - LSE)
        OF_RUNNING_MAX,  // exp(S - m), m the largest score up to the end of the tile
        OF_MAX,          // exp(S - m)
        OF_QUOTIENT,     // exp(S) / exp(LSE), with the range of fp32
        OF_LSE_BASE2,    // exp(S - LSE / ln 2)
        OF_LOGARITHM     // exp(mean of S - LSE)
    } weight;
    enum { MEAN, LARGEST } kind;
    enum {
        WHAT_EXISTS,
        WHAT_IS_SEEN,
        WHOLE_POOL,
        WHOLE_ROWS,     // existing columns, all rows
        WHOLE_COLUMNS,  // existing rows, all columns
        ROWS,
        COLUMNS,
        NOTHING
    } divisor;
    bool last_part;             // of each pool, the last `tile` rows and columns alone count
    bool tail_keys, tail_rows;  // what fills up the last tile counts: keys, and queries, of zeros
    enum {
        ITS_OWN,
        BY_TILE,  // pools begin anew with each tile: pool (i / tile * tile) / pool + i % tile / pool,
        BY_TILE_NUMBER  // or i / tile * (tile / pool) + i % tile / pool; what is left of a tile is dropped
    } place;
    bool transposed;
    int64_t tile;
    struct view Q, K;
    int64_t lse_b, lse_h;  // LSE of (b, h) is at (b lse_b + h lse_h) N_q
};

static struct slip no_slip(void) {
    return (struct slip){.causal = now.causal,
                         .offset = now.N_k - now.N_q,
                         .tile = 16,
                         .Q = view_of(&now.Q),
                         .K = view_of(&now.K),
                         .lse_b = now.H,
                         .lse_h = 1};
}

static int64_t pools_of(int64_t n) {
    return CEIL_DIV(n, pooled.pool);
}

// The pool of query or key n; -1: none.
static int64_t pool_of(const struct slip* w, int64_t n) {
    int64_t T = w->tile, k = n % T / pooled.pool;
    if (w->place == ITS_OWN || pooled.pool >= T) return n / pooled.pool;
    if (k >= T / pooled.pool) return -1;
    return k + (w->place == BY_TILE ? n / T * T / pooled.pool : n / T * (T / pooled.pool));
}

// Where the last pool's tiles end, if n is not the end of one.
static int64_t tail_end(const struct slip* w, int64_t n) {
    int64_t first = (n - 1) / pooled.pool * pooled.pool, rest = round_up(n - first, w->tile);
    return first + (rest < pooled.pool ? rest : pooled.pool);
}

static bool is_counted(const struct slip* w, int64_t n, int64_t N) {
    int64_t k = n % pooled.pool, rest = N - (n - k);
    return !w->last_part || k >= (rest < pooled.pool ? rest : pooled.pool) - w->tile;
}

// The end of the tile of key j, where tiles are laid along the pools.
static int64_t tile_end(const struct slip* w, int64_t j) {
    int64_t T = w->tile, pool = pooled.pool, width = pool < T ? T / pool * pool : pool;
    int64_t first = j / width * width, end = first + ((j - first) / T + 1) * T;
    return end < first + width ? end : first + width;
}

// What one pool has gathered.
struct sum {
    double value, rows, columns, seen;
};

#define ROUND(x) (single ? (double)(float)(x) : (x))

// Adds row i of P, or of what stands in its place, to the pools of its row of pools.
static void add_row(const struct slip* w, bool single, int64_t b, int64_t h, int64_t i,
                    struct sum* sums) {
    static double S[MAX_N];
    int64_t N_k = now.N_k, end = w->tail_keys ? tail_end(w, N_k) : N_k;
    int64_t seen = !w->causal ? end : i + 1 + w->offset;
    if (seen > end) seen = end;
    if (i >= now.N_q) seen = N_k;
    double LSE =
        i < now.N_q ? ROUND(now.LSE.tensor->want[(b * w->lse_b + h * w->lse_h) * now.N_q + i]) : 0;
    double m = -INFINITY, largest = -INFINITY;
    for (int64_t j = 0; j < seen; j++) {
        S[j] = 0;
        const double* q = w->Q.value + place_of(w->Q.s, b, i, h);
        const double* k = w->K.value + place_of(w->K.s, b, j, h);
        for (int64_t x = 0; x < now.d && i < now.N_q && j < N_k; x++)
            S[j] = ROUND(S[j] + ROUND(q[x] * k[x]));
        S[j] = ROUND(now.scale * S[j]);
        largest = fmax(largest, S[j]);
    }
    int64_t known = 0;  // keys that m is the maximum of
    for (int64_t j = 0; j < seen; j++) {
        int64_t J = pool_of(w, j);
        for (; known < seen && known < tile_end(w, j); known++) m = fmax(m, S[known]);
        if (J < 0 || J >= pools_of(N_k) || !is_counted(w, i, now.N_q) || !is_counted(w, j, N_k))
            continue;
        double p = 0;
        switch (w->weight) {
        case OF_P:
            p = exp32(ROUND(S[j] - LSE));
            break;
        case OF_RUNNING_MAX:
            p = exp32(S[j] - m);
            break;
        case OF_MAX:
            p = exp32(S[j] - largest);
            break;
        case OF_QUOTIENT:
            p = exp32(S[j]) / exp32(LSE);
            break;
        case OF_LSE_BASE2:
            p = exp32(S[j] - LSE / log(2));
            break;
        case OF_LOGARITHM:
            p = S[j] - LSE;
            break;
        }
        if (single) p = ROUND(p);
        sums[J].value = w->kind == MEAN ? ROUND(sums[J].value + p) : fmax(sums[J].value, p);
        sums[J].seen++;
    }
}

// What a pool's sum is divided by.
static double divisor(const struct slip* w, const struct sum* sum) {
    double pool = (double)pooled.pool;
    switch (w->divisor) {
    case WHAT_IS_SEEN:
        return sum->seen > 0 ? sum->seen : 1;
    case WHOLE_POOL:
        return pool * pool;
    case WHOLE_ROWS:
        return pool * sum->columns;
    case WHOLE_COLUMNS:
        return sum->rows * pool;
    case ROWS:
        return sum->rows;
    case COLUMNS:
        return sum->columns;
    case NOTHING:
        return 1;
    case WHAT_EXISTS:
        break;
    }
    return sum->rows * sum->columns;
}

// R of one head, n_I x n_J; NaN for a pool that nothing is stored for. In fp64, or with every operation
// rounded to fp32 (see attention()).
static void pool_head(const struct slip* w, bool single, int64_t b, int64_t h, double* R) {
    int64_t n_I = pools_of(now.N_q), n_J = pools_of(now.N_k);
    struct sum* sums = calloc((size_t)(n_I * n_J), sizeof *sums);
    if (!sums) abort();
    for (int64_t i = 0; i < (w->tail_rows ? tail_end(w, now.N_q) : now.N_q); i++) {
        int64_t I = pool_of(w, i);
        if (I < 0 || I >= n_I) continue;
        for (int64_t j = 0; j < now.N_k && i < now.N_q; j++) {
            int64_t J = pool_of(w, j);
            if (J < 0 || J >= n_J) continue;
            struct sum* s = &sums[I * n_J + J];
            // A row counts with the first column of the pool, a column with its first row.
            s->rows += j == 0 || pool_of(w, j - 1) != J;
            s->columns += i == 0 || pool_of(w, i - 1) != I;
        }
        add_row(w, single, b, h, i, sums + I * n_J);
    }
    for (int64_t I = 0; I < n_I; I++) {
        for (int64_t J = 0; J < n_J; J++) {
            const struct sum* s = &sums[I * n_J + J];
            double* r = &R[w->transposed ? J * n_I + I : I * n_J + J];
            *r = s->rows * s->columns > 0 ? s->value : NAN;
            if (w->kind == MEAN) *r = ROUND(*r / divisor(w, s));
            if (w->weight == OF_LOGARITHM) *r = s->seen > 0 ? exp32(*r) : 0;
        }
    }
    free(sums);
}

static void pool_all(const struct slip* w, bool single, double* R) {
    int64_t size = pools_of(now.N_q) * pools_of(now.N_k);
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++) pool_head(w, single, b, h, R + (b * now.H + h) * size);
}
#undef ROUND

// ---- explain() -----------------------------------------------------------------------------

static bool is_slip(const struct slip* w) {
    double* R = malloc((size_t)pooled.R->count * sizeof *R);
    if (!R) abort();
    pool_all(w, false, R);
    bool yes = is_hypothesis(R);
    free(R);
    return yes;
}

// Mistakes that one field of struct slip says.
static enum cause explain_slips(void) {
#define SLIP(cause, ...) \
    {                    \
        CAUSE_##cause, { \
            __VA_ARGS__  \
        }                \
    }
    static const struct {
        enum cause cause;
        struct slip like;
    } known[] = {
        SLIP(not_normalised, .weight = OF_MAX),
        SLIP(not_normalised, .weight = OF_RUNNING_MAX),
        SLIP(overflow, .weight = OF_QUOTIENT),
        SLIP(pool_order, .weight = OF_LOGARITHM),
        SLIP(lse_base2, .weight = OF_LSE_BASE2),
        SLIP(pool_sum, .divisor = NOTHING),
        SLIP(pool_sum, .divisor = ROWS),
        SLIP(pool_sum, .divisor = COLUMNS),
        SLIP(pool_largest, .kind = LARGEST),
        SLIP(pool_ragged, .divisor = WHOLE_POOL),
        SLIP(pool_ragged, .divisor = WHOLE_ROWS),
        SLIP(pool_ragged, .divisor = WHOLE_COLUMNS),
        SLIP(pool_hidden, .divisor = WHAT_IS_SEEN),
        SLIP(transposed, .transposed = true),
        SLIP(inner_tail, .tail_keys = true),
        SLIP(inner_tail, .tail_rows = true),
        SLIP(inner_tail, .tail_keys = true, .tail_rows = true),
        SLIP(pool_rows, .place = BY_TILE),
        SLIP(pool_rows, .place = BY_TILE_NUMBER),
        SLIP(merge_lost, .last_part = true),
    };
#undef SLIP
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++)
        for (int64_t tile = 16; tile <= 64; tile *= 2) {
            struct slip w = known[n].like, right = no_slip();
            w.causal = right.causal;
            w.offset = right.offset;
            w.tile = tile;
            w.Q = right.Q;
            w.K = right.K;
            w.lse_b = right.lse_b;
            w.lse_h = right.lse_h;
            if (is_slip(&w)) return known[n].cause;
        }
    return CAUSE_NONE;
}

// The second pass hides other keys than the first.
static enum cause explain_second_mask(void) {
    struct slip w = no_slip();
    w.causal = !now.causal;
    if (is_slip(&w)) return CAUSE_causal_ignored;
    for (int off = -1; off <= 1 && now.causal; off++) {
        w = no_slip();
        w.offset = off ? w.offset + off : 0;
        if (is_slip(&w)) return off ? CAUSE_mask_off_by_one : CAUSE_mask_corner;
    }
    return CAUSE_NONE;
}

// The second pass finds Q, K or LSE elsewhere than the first.
static enum cause explain_second_places(void) {
    struct slip w = no_slip();
    w.lse_h = 0;
    if (now.H > 1 && is_slip(&w)) return CAUSE_head_ignored;
    w = no_slip();
    w.lse_b = 0;
    if (now.B > 1 && is_slip(&w)) return CAUSE_batch_ignored;
    enum { FIRST_HEAD, FIRST_BATCH, ROWS_OF_D, ROWS_OF_THE_OTHER, THE_OTHER, WAYS_HERE };
    const struct array* arrays[] = {&now.Q, &now.K};
    for (int way = 0; way < WAYS_HERE; way++)
        for (int a = 0; a < 2; a++) {
            w = no_slip();
            struct view* v = a ? &w.K : &w.Q;
            const struct strides own = arrays[a]->s, other = arrays[!a]->s;
            if (way == FIRST_HEAD) v->s.h = 0;
            if (way == FIRST_BATCH) v->s.b = 0;
            if (way == ROWS_OF_D) v->s.n = now.d;
            if (way == ROWS_OF_THE_OTHER) v->s.n = other.n;
            if (way == THE_OTHER) v->s = other;
            if (memcmp(&v->s, &own, sizeof own) == 0 ||
                !fits(v, a ? now.N_k : now.N_q, now.H, arrays[a]->tensor) || !is_slip(&w))
                continue;
            return way == FIRST_HEAD    ? CAUSE_head_ignored
                   : way == FIRST_BATCH ? CAUSE_batch_ignored
                                        : CAUSE_stride_ignored;
        }
    return CAUSE_NONE;
}

// All that is wrong is no number: pools that nobody sees any of, never written; or pools with a query that sees
// no key.
static enum cause explain_unseen(void) {
    const struct tensor* t = pooled.R;
    int64_t n_I = pools_of(now.N_q), n_J = pools_of(now.N_k), offset = now.N_k - now.N_q;
    bool any = false, all_hidden = now.causal, all_empty = now.causal;
    for (int64_t e = 0; e < t->count; e++) {
        int64_t first = e / n_J % n_I * pooled.pool, end = first + pooled.pool, J = e % n_J;
        if (fabs(t->got[e] - t->want[e]) <= suspect.budget.max) continue;
        if (isfinite(t->got[e])) return CAUSE_NONE;
        all_hidden &= J * pooled.pool >= (end < now.N_q ? end : now.N_q) + offset;
        all_empty &= first + offset < 0;
        any = true;
    }
    // What was never written does not even match itself.
    bool written = any && check_matches(t, t->got, suspect.budget);
    if (any && !written && all_hidden) return CAUSE_never_written;
    return written && all_empty ? CAUSE_masked_row : CAUSE_NONE;
}

// Another result of the same inputs is looked for: see again().
static bool repeating;

// What the student most likely did. O and LSE are explained as in lesson 13.
static enum cause explain_pooling(struct check* c, const struct tensor* t, struct budget budget) {
    if (repeating) return CAUSE_not_repeatable;
    if (t != pooled.R) return explain(c, t, budget);
    suspect.tensor = t;
    suspect.budget = budget;
    enum cause cause = explain_unseen();
    if (!cause) cause = explain_slips();
    if (!cause) cause = explain_second_mask();
    if (!cause) cause = explain_second_places();
    return cause;
}

#endif
