// pooling.h: R, the pooled scores, as it should be and as a kernel with a mistake makes it.
#ifndef POOLING_H
#define POOLING_H

#include <stdlib.h>

#include "attention/forward_mistakes.h"
#include "attention/places.h"

// The lesson's own part of a problem: problem.own. R is NULL where there are no keys.
struct pooling {
    int64_t pool;
    struct tensor* R;  // (B, H, n_I, n_J), packed
    bool repeating;    // another result of the same inputs is looked for: see again()
};

static struct pooling* pooling_of(const struct problem* p) {
    return p->own;
}

// A mistake on the way to R; all zero is none.
struct pool_flaw {
    enum {
        OF_P,            // exp(S - LSE)
        OF_RUNNING_MAX,  // exp(S - m), m the largest score up to the end of the tile
        OF_MAX,          // exp(S - m)
        OF_SCORE,        // exp(S)
        OF_QUOTIENT,     // exp(S) / exp(LSE), with the range of fp32
        OF_LSE_BASE2,    // exp(S - LSE / ln 2)
        OF_POWER_OF_2,   // 2 to the power of S - LSE
        OF_NATURAL_LSE,  // 2 to the power of S log2(e) - LSE
        OF_LOGARITHM     // exp(mean of S - LSE)
    } weight;
    enum { MEAN, MAXIMUM } kind;
    enum {
        WHAT_EXISTS,
        WHAT_IS_SEEN,
        WHOLE_POOL,
        WHOLE_ROWS,     // existing columns, all rows
        WHOLE_COLUMNS,  // existing rows, all columns
        ROWS_OF_BLOCK,  // existing columns, all rows of the pools that share a tile
        ROWS,
        COLUMNS,
        NOTHING
    } divisor;
    bool last_part;             // of each pool, the last tile of rows and of keys alone counts
    bool tail_keys, tail_rows;  // what fills up the last tile counts: keys, and queries, of zeros
    enum {
        ITS_OWN,
        // Pools begin anew with each tile: pool (i / tile * tile) / pool + i % tile / pool;
        BY_TILE,
        // or i / tile * (tile / pool) + i % tile / pool, without what is left of a tile.
        BY_TILE_NUMBER
    } place;
    bool transposed;
    enum {
        BY_QUERY,
        TO_FIRST_ROW,      // no query of a block sees more than its first one
        TO_LAST_ROW,       // each query of a block sees what its last one does
        TO_OWN_NUMBER,     // no query of a block sees keys behind the number of its last one
        ROUNDS_FROM_ZERO,  // a key is counted from the beginning of its round of pools
        TILES_FROM_ZERO,   // ... from the beginning of its pool, in the first tile of it
        POOL_FROM_ZERO,    // ... and no key behind the pool's last one counts
        ONE_MORE,          // each query sees a key more, if its tile is there; what is not is zeros
        PAIRS              // the second key of a fragment's pair is hidden where the first is
    } mask;
    // Which row a key's weight takes LSE and the mask from: of rows g and g + 8 of a fragment, that
    // which the key's place in its pair names.
    bool row_of_pair;
    bool rounded;   // weights are rounded to the type of the inputs
    bool all_rest;  // of a pool's last tile all keys count: those behind the pool are zeros
};

// A kernel's way to R. no_slip() returns the right way; a mistake changes a field or two of it.
struct slip {
    struct pool_flaw flaw;
    bool causal;
    int64_t offset;  // query i sees the keys up to i + offset
    int64_t as_one;  // as in struct forward_mistake
    double scale;
    int64_t tile_q, tile_k;  // rows and keys of a tile
    int64_t columns;         // of Q and K that are multiplied
    struct view Q, K;
    struct strides LSE;
};

static struct slip no_slip(const struct problem* p) {
    const struct forward_mistake right = forward_right(p);
    return (struct slip){.causal = right.causal,
                         .offset = right.offset,
                         .scale = right.scale,
                         .tile_q = 128,
                         .tile_k = 64,
                         .columns = p->d,
                         .Q = right.view[ARRAY_Q],
                         .K = right.view[ARRAY_K],
                         .LSE = p->array[ARRAY_LSE].stride};
}

static int64_t pools_of(const struct problem* p, int64_t n) {
    return CEIL_DIV(n, pooling_of(p)->pool);
}

// The pool of query or key n, in tiles of T; -1: none.
static int64_t pool_of(const struct slip* w, int64_t T, int64_t pool, int64_t n) {
    int64_t k = n % T / pool;
    if (w->flaw.place == ITS_OWN || pool >= T) return n / pool;
    if (k >= T / pool) return -1;
    return k + (w->flaw.place == BY_TILE ? n / T * T / pool : n / T * (T / pool));
}

// Where the last pool's tiles end, if n is not the end of one.
static int64_t tail_end(int64_t T, int64_t pool, int64_t n) {
    int64_t first = (n - 1) / pool * pool, rest = round_up(n - first, T);
    return first + (rest < pool ? rest : pool);
}

static bool is_counted(const struct slip* w, int64_t T, int64_t pool, int64_t n, int64_t N) {
    int64_t k = n % pool, rest = N - (n - k);
    return !w->flaw.last_part || k >= (rest < pool ? rest : pool) - T;
}

// Queries, or keys, of the pools that share a tile, or of one pool.
static int64_t width_of_pools(int64_t T, int64_t pool) {
    return pool < T ? T / pool * pool : pool;
}

// The end of the tile of key j, where tiles are laid along the pools.
static int64_t tile_end(int64_t T, int64_t pool, int64_t j) {
    int64_t width = width_of_pools(T, pool);
    int64_t first = j / width * width, end = first + ((j - first) / T + 1) * T;
    return end < first + width ? end : first + width;
}

// The sum of a pool, and the sizes of the pool.
struct sum {
    double value, rows, columns, seen, block_rows;
};

#define ROUND(x) (single ? (double)(float)(x) : (x))

// The LSE that the kernel finds for query i; 0 if there is no such query.
static double LSE_of(const struct problem* p, const struct slip* w, bool single, int64_t b,
                     int64_t h, int64_t i) {
    return i < p->N_q ? ROUND(p->array[ARRAY_LSE].tensor->want[place(w->LSE, b, h, i)]) : 0;
}

// Adds row i of P, or of what stands in its place, to the pools of its row of pools.
static void add_row(const struct problem* p, const struct slip* w, bool single, int64_t b,
                    int64_t h, int64_t i, struct sum* sums) {
    double S[MAX_N];
    int64_t pool = pooling_of(p)->pool, N_k = p->N_k,
            end = w->flaw.tail_keys ? tail_end(w->tile_k, pool, N_k) : N_k;
    int64_t last = w->as_one ? (i / w->as_one + 1) * w->as_one - 1 : i;
    int64_t seen = !w->causal ? end : last + 1 + w->offset, own = seen;
    int64_t rows = width_of_pools(w->tile_q, pool), round = width_of_pools(w->tile_k, pool);
    int64_t first = i / rows * rows, block_end = first + rows;
    if (block_end > p->N_q) block_end = p->N_q;
    if (w->flaw.mask == TO_FIRST_ROW && seen > first + 1 + w->offset) seen = first + 1 + w->offset;
    if (w->flaw.mask == TO_OWN_NUMBER && seen > block_end) seen = block_end;
    const bool to_last = w->flaw.mask == TO_LAST_ROW && w->causal;
    if (to_last) seen = block_end + w->offset;
    const bool from_zero = w->flaw.mask == TILES_FROM_ZERO || w->flaw.mask == POOL_FROM_ZERO;
    if (w->flaw.mask == ROUNDS_FROM_ZERO || (from_zero && w->causal)) seen = block_end + w->offset;
    if (w->flaw.mask == PAIRS) seen = round_up(seen < 0 ? 0 : seen, 2);
    const bool one_more = w->flaw.mask == ONE_MORE;
    int64_t zeros_from =
        one_more && w->causal && block_end + w->offset < N_k ? block_end + w->offset : N_k;
    if (one_more) {
        seen = (seen < 0 ? 0 : seen) + 1;
        own = seen;
        bool is_room = zeros_from > 0 && tile_end(w->tile_k, pool, zeros_from - 1) > zeros_from;
        end = zeros_from + is_room;
    }
    if (w->flaw.row_of_pair) seen += 8;
    if (seen > end) seen = end;
    if (i >= p->N_q && !to_last) seen = N_k;
    double LSE = LSE_of(p, w, single, b, h, i);
    double m = -INFINITY, largest = -INFINITY;
    for (int64_t j = 0; j < seen; j++) {
        S[j] = 0;
        const double* q = w->Q.value + place(w->Q.stride, b, h, i);
        const double* k = w->K.value + place(w->K.stride, b, h, j);
        for (int64_t x = 0; x < w->columns && i < p->N_q && j < zeros_from; x++)
            S[j] = ROUND(S[j] + ROUND(q[x] * k[x]));
        S[j] = ROUND(w->scale * S[j]);
        largest = fmax(largest, S[j]);
    }
    int64_t known = 0;  // keys that m is the maximum of
    for (int64_t j = 0; j < seen; j++) {
        int64_t J = pool_of(w, w->tile_k, pool, j);
        for (; known < seen && known < tile_end(w->tile_k, pool, j); known++) m = fmax(m, S[known]);
        if (w->flaw.mask == ROUNDS_FROM_ZERO && j % round >= own) continue;
        if (from_zero && j - j % pool + j % pool % w->tile_k >= own) continue;
        if (J < 0 || J >= pools_of(p, N_k) || !is_counted(w, w->tile_q, pool, i, p->N_q) ||
            !is_counted(w, w->tile_k, pool, j, N_k))
            continue;
        if (w->flaw.row_of_pair) {
            int64_t in_block = (i - first) / 16 * 16 + (i - first) % 8 + j % round % 2 * 8;
            int64_t other = first + in_block;
            if (in_block >= rows || other >= p->N_q || (w->causal && j > other + w->offset))
                continue;
            LSE = LSE_of(p, w, single, b, h, other);
        }
        double weight = 0;
        switch (w->flaw.weight) {
        case OF_P:
            weight = exp32(ROUND(S[j] - LSE));
            break;
        case OF_RUNNING_MAX:
            weight = exp32(S[j] - m);
            break;
        case OF_MAX:
            weight = exp32(S[j] - largest);
            break;
        case OF_SCORE:
            weight = exp32(S[j]);
            break;
        case OF_QUOTIENT:
            weight = exp32(S[j]) / exp32(LSE);
            break;
        case OF_LSE_BASE2:
            weight = exp32(S[j] - LSE / log(2));
            break;
        case OF_POWER_OF_2:
            weight = exp2(S[j] - LSE);
            break;
        case OF_NATURAL_LSE:
            weight = exp32(S[j] - LSE * log(2));
            break;
        case OF_LOGARITHM:
            weight = S[j] - LSE;
            break;
        }
        if (single) weight = ROUND(weight);
        if (w->flaw.rounded) weight = dtype_round(p->contract->dtype, weight);
        sums[J].value =
            w->flaw.kind == MEAN ? ROUND(sums[J].value + weight) : fmax(sums[J].value, weight);
        sums[J].seen++;
    }
    // Of a pool that ends inside a tile, the key behind it is one of zeros.
    for (int64_t last = pool; one_more && pool > w->tile_k && pool % w->tile_k; last += pool) {
        if (last > zeros_from || last >= own || i >= p->N_q) break;
        sums[last / pool - 1].value += exp32(-LSE);
    }
    // The keys of zeros behind a pool's last one, in its last tile.
    for (int64_t at = 0; w->flaw.mask == TILES_FROM_ZERO && at < seen && i < p->N_q; at += pool) {
        const int64_t stop = at + pool < seen ? at + pool : seen;
        const int64_t filled = (stop - at - 1) % w->tile_k + 1, limit = own < stop ? own : stop;
        int64_t counted = (limit - at < w->tile_k ? limit - at : w->tile_k) - filled;
        if (stop - at > w->tile_k && counted > 0)
            sums[at / pool].value += (double)counted * exp32(-LSE);
    }
    const int64_t rest = pool > w->tile_k ? round_up(pool, w->tile_k) - pool : 0;
    for (int64_t last = pool; w->flaw.all_rest && last < own && i < p->N_q; last += pool)
        sums[last / pool - 1].value +=
            (double)(own - last < rest ? own - last : rest) * exp32(-LSE);
}

// The number that a pool's sum is divided by.
static double divisor(const struct slip* w, double pool, const struct sum* sum) {
    switch (w->flaw.divisor) {
    case WHAT_IS_SEEN:
        return sum->seen > 0 ? sum->seen : 1;
    case WHOLE_POOL:
        return pool * pool;
    case WHOLE_ROWS:
        return pool * sum->columns;
    case WHOLE_COLUMNS:
        return sum->rows * pool;
    case ROWS_OF_BLOCK:
        return sum->block_rows * sum->columns;
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

// R of one head, n_I x n_J; NaN for a pool that nothing is stored for. In fp64, or with every
// operation rounded to fp32 (see forward_reference()).
static void pool_head(const struct problem* p, const struct slip* w, bool single, int64_t b,
                      int64_t h, double* R) {
    int64_t pool = pooling_of(p)->pool, n_I = pools_of(p, p->N_q), n_J = pools_of(p, p->N_k);
    struct sum* sums = check_allocate(p->check, n_I * n_J, sizeof *sums);
    for (int64_t i = 0; i < (w->flaw.tail_rows ? tail_end(w->tile_q, pool, p->N_q) : p->N_q); i++) {
        int64_t I = pool_of(w, w->tile_q, pool, i);
        if (I < 0 || I >= n_I) continue;
        for (int64_t j = 0; j < p->N_k && i < p->N_q; j++) {
            int64_t J = pool_of(w, w->tile_k, pool, j);
            if (J < 0 || J >= n_J) continue;
            struct sum* s = &sums[I * n_J + J];
            // A row counts with the first column of the pool, a column with its first row.
            s->rows += j == 0 || pool_of(w, w->tile_k, pool, j - 1) != J;
            s->columns += i == 0 || pool_of(w, w->tile_q, pool, i - 1) != I;
        }
        add_row(p, w, single, b, h, i, sums + I * n_J);
    }
    for (int64_t I = 0; I < n_I; I++) {
        for (int64_t J = 0; J < n_J; J++) {
            struct sum* s = &sums[I * n_J + J];
            int64_t width = width_of_pools(w->tile_q, pool), first_row = I * pool / width * width;
            int64_t rows = p->N_q - first_row;
            s->block_rows = (double)(rows < width ? rows : width);
            double* r = &R[w->flaw.transposed ? J * n_I + I : I * n_J + J];
            *r = s->rows * s->columns > 0 ? s->value : NAN;
            if (w->flaw.kind == MEAN) *r = ROUND(*r / divisor(w, (double)pool, s));
            if (w->flaw.weight == OF_LOGARITHM) *r = s->seen > 0 ? exp32(*r) : 0;
        }
    }
    free(sums);
}

static void pool_all(const struct problem* p, const struct slip* w, bool single, double* R) {
    int64_t size = pools_of(p, p->N_q) * pools_of(p, p->N_k);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++, R += size) {
            bool within = head_fits(p, ARRAY_Q, w->Q.stride, b, h) &&
                          head_fits(p, ARRAY_K, w->K.stride, b, h) &&
                          head_fits(p, ARRAY_LSE, w->LSE, b, h);
            if (within) pool_head(p, w, single, b, h, R);
            for (int64_t e = 0; e < size && !within; e++) R[e] = ANYTHING;
        }
}
#undef ROUND

#endif
