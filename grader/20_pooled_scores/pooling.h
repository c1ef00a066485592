// pooling.h: R, the pooled scores, as it should be and as the known mistakes make it.
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
    if (i >= p->N_q) seen = N_k;
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

// ---- explain() -----------------------------------------------------------------------------

static bool is_slip(const struct suspect* s, const struct slip* w) {
    const struct problem* p = s->problem;
    double* R = check_allocate(p->check, s->tensor->count, sizeof *R);
    pool_all(p, w, false, R);
    bool yes = is_guess(s, R);
    free(R);
    return yes;
}

// Does R depend on the sizes of tiles, with this flaw?
static bool is_of_tiles(const struct pool_flaw* flaw) {
    return flaw->all_rest || flaw->weight == OF_RUNNING_MAX || flaw->divisor == ROWS_OF_BLOCK ||
           flaw->last_part || flaw->tail_keys || flaw->tail_rows || flaw->place != ITS_OWN ||
           flaw->row_of_pair || flaw->mask == TO_FIRST_ROW || flaw->mask == ROUNDS_FROM_ZERO ||
           flaw->mask == TILES_FROM_ZERO || flaw->mask == POOL_FROM_ZERO || flaw->mask == ONE_MORE;
}

static bool is_flaw(const struct suspect* s, const struct pool_flaw* flaw) {
    enum { LARGEST = 128 };
    const int64_t smallest = is_of_tiles(flaw) ? 16 : LARGEST;
    for (int64_t tile_q = LARGEST; tile_q >= smallest; tile_q /= 2)
        for (int64_t tile_k = LARGEST; tile_k >= smallest; tile_k /= 2) {
            struct slip w = no_slip(s->problem);
            w.flaw = *flaw;
            w.tile_q = tile_q;
            w.tile_k = tile_k;
            if (is_slip(s, &w)) return true;
        }
    return false;
}

// Mistakes that a struct pool_flaw says.
static enum cause explain_slips(const struct suspect* s) {
    static const struct {
        enum cause cause;
        struct pool_flaw flaw;
    } known[] = {
        {CAUSE_not_normalised, {.weight = OF_MAX}},
        {CAUSE_not_normalised, {.weight = OF_RUNNING_MAX}},
        {CAUSE_not_normalised, {.weight = OF_SCORE}},
        {CAUSE_overflow, {.weight = OF_QUOTIENT}},
        {CAUSE_pool_order, {.weight = OF_LOGARITHM}},
        {CAUSE_lse_base2, {.weight = OF_LSE_BASE2}},
        {CAUSE_lse_base2, {.weight = OF_NATURAL_LSE}},
        {CAUSE_exp2_base, {.weight = OF_POWER_OF_2}},
        {CAUSE_pool_sum, {.divisor = NOTHING}},
        {CAUSE_pool_sum, {.divisor = ROWS}},
        {CAUSE_pool_sum, {.divisor = COLUMNS}},
        {CAUSE_pool_sum, {.divisor = ROWS_OF_BLOCK}},
        {CAUSE_pool_largest, {.kind = MAXIMUM}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_POOL}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_ROWS}},
        {CAUSE_pool_ragged, {.divisor = WHOLE_COLUMNS}},
        {CAUSE_pool_hidden, {.divisor = WHAT_IS_SEEN}},
        {CAUSE_transposed, {.transposed = true}},
        {CAUSE_inner_tail, {.tail_keys = true}},
        {CAUSE_inner_tail, {.tail_rows = true}},
        {CAUSE_inner_tail, {.tail_keys = true, .tail_rows = true}},
        {CAUSE_pool_rows, {.place = BY_TILE}},
        {CAUSE_pool_rows, {.place = BY_TILE_NUMBER}},
        {CAUSE_pool_rows, {.all_rest = true}},
        {CAUSE_place_in_tile, {.mask = TILES_FROM_ZERO}},
        {CAUSE_place_in_tile, {.mask = POOL_FROM_ZERO}},
        {CAUSE_merge_lost, {.last_part = true}},
        {CAUSE_fragment_order, {.mask = PAIRS}},
        {CAUSE_fragment_order, {.row_of_pair = true}},
        {CAUSE_low_precision, {.rounded = true}},
    };
    // Rounding is everywhere.
    const struct tensor* t = s->tensor;
    int64_t wrong = 0;
    for (int64_t e = 0; e < t->count; e++)
        wrong += !(fabs(t->got[e] - t->want[e]) <= s->budget.max);
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        if (known[n].flaw.rounded && wrong < t->count / 16) continue;
        if (is_flaw(s, &known[n].flaw)) return known[n].cause;
    }
    return CAUSE_NONE;
}

// The second pass has another scale than the first.
static enum cause explain_second_scale(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct {
        enum cause cause;
        double scale;
    } scales[] = {
        // Where it is not the given one, a missing scale may look the same: that is ignored, too.
        {CAUSE_scale_ignored, (double)(float)(1 / sqrt((double)p->d))},
        {CAUSE_scale_missing, 1},
        {CAUSE_scale_squared, p->scale * p->scale},
        {CAUSE_exp2_base, p->scale * log(2)},
        {CAUSE_exp2_base, p->scale / log(2)},
    };
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        struct slip w = no_slip(p);
        w.scale = scales[n].scale;
        if (w.scale != p->scale && is_slip(s, &w)) return scales[n].cause;
    }
    return CAUSE_NONE;
}

// A mask that knows of whole pools alone. Sets the offset, and how many queries see the same keys;
// false if there is no n-th such mask.
static bool mask_of_pools(const struct problem* p, int n, int64_t* offset, int64_t* as_one) {
    enum { OFFSETS = 5 };
    const int64_t pool = pooling_of(p)->pool, right = p->N_k - p->N_q, down = right / pool * pool;
    const int64_t offsets[OFFSETS] = {right, right - pool, right + pool, down, down + pool};
    const int64_t of_rows[] = {0, 0,
                               1 - pool};  // each query its own; the last of a pool; the first
    if (n >= 3 * OFFSETS || !p->causal) return false;
    *as_one = n / OFFSETS ? pool : 0;
    *offset = offsets[n % OFFSETS] + of_rows[n / OFFSETS];
    return true;
}

// The first pass, which makes O and LSE, has such a mask.
static enum cause explain_mask_of_pools(const struct suspect* s) {
    struct forward_mistake w = forward_right(s->problem);
    w.causal = false;
    if (is_forward(s, &w)) return CAUSE_NONE;
    w = forward_right(s->problem);
    for (int n = 0; mask_of_pools(s->problem, n, &w.offset, &w.as_one); n++)
        if (n > 0 && is_forward(s, &w)) return CAUSE_mask_corner;
    return CAUSE_NONE;
}

// The second pass hides other keys than the first.
static enum cause explain_second_mask(const struct suspect* s) {
    const struct problem* p = s->problem;
    struct slip w = no_slip(p);
    w.columns = 64;
    if (p->d > 64 && is_slip(s, &w)) return CAUSE_columns_short;
    w = no_slip(p);
    w.causal = !p->causal;
    if (is_slip(s, &w)) return CAUSE_causal_ignored;
    static const struct pool_flaw to_first = {.mask = TO_FIRST_ROW},
                                  from_zero = {.mask = ROUNDS_FROM_ZERO},
                                  one_more = {.mask = ONE_MORE};
    if (p->causal && is_flaw(s, &to_first)) return CAUSE_tile_skipped;
    if (p->causal && is_flaw(s, &from_zero)) return CAUSE_diagonal_unmasked;
    if (is_flaw(s, &one_more)) return CAUSE_mask_off_by_one;
    for (int off = -1; off <= 1 && p->causal; off++) {
        w = no_slip(p);
        w.offset = off ? w.offset + off : 0;
        if (is_slip(s, &w)) return off ? CAUSE_mask_off_by_one : CAUSE_mask_corner;
    }
    w = no_slip(p);
    for (int n = 0; mask_of_pools(p, n, &w.offset, &w.as_one); n++)
        if (n > 0 && is_slip(s, &w)) return CAUSE_mask_corner;
    return CAUSE_NONE;
}

// The second pass finds Q, K or LSE elsewhere than the first.
static enum cause explain_second_places(const struct suspect* s) {
    static const unsigned sets[] = {1 << ARRAY_Q, 1 << ARRAY_K, 1 << ARRAY_Q | 1 << ARRAY_K,
                                    1 << ARRAY_LSE, 0};
    for (struct places at = {.problem = s->problem, .sets = sets}; next_places(&at);) {
        struct slip w = no_slip(s->problem);
        w.Q.stride = at.stride[ARRAY_Q];
        w.K.stride = at.stride[ARRAY_K];
        w.LSE = at.stride[ARRAY_LSE];
        if (is_slip(s, &w)) return at.cause;
    }
    return CAUSE_NONE;
}

// No wrong element is a number. The wrong pools were never written, because no query sees a key of
// them; or they have a query that sees no key.
static enum cause explain_unseen(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    int64_t pool = pooling_of(p)->pool;
    int64_t n_I = pools_of(p, p->N_q), n_J = pools_of(p, p->N_k), offset = p->N_k - p->N_q;
    bool any = false, written = true, all_hidden = p->causal, all_empty = p->causal;
    for (int64_t e = 0; e < t->count; e++) {
        int64_t first = e / n_J % n_I * pool, end = first + pool, J = e % n_J;
        written &= check_was_written(t, e);
        if (fabs(t->got[e] - t->want[e]) <= s->budget.max) continue;
        if (isfinite(t->got[e])) return CAUSE_NONE;
        all_hidden &= J * pool >= (end < p->N_q ? end : p->N_q) + offset;
        all_empty &= first + offset < 0;
        any = true;
    }
    if (!any) return CAUSE_NONE;
    if (!written) return all_hidden ? CAUSE_never_written : CAUSE_NONE;
    return all_empty ? CAUSE_masked_row : CAUSE_NONE;
}

// The sums of the wrong pools are divided by less than their rows times columns, by a whole number;
// the mask hides a part of each of them.
static bool is_divided_by_less(const struct suspect* s) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const int64_t pool = pooling_of(p)->pool, n_I = pools_of(p, p->N_q), n_J = pools_of(p, p->N_k);
    bool any = false;
    for (int64_t e = 0; e < t->count && p->causal; e++) {
        const int64_t i = e / n_J % n_I * pool, j = e % n_J * pool;
        const double rows = fmin((double)pool, (double)(p->N_q - i)),
                     columns = fmin((double)pool, (double)(p->N_k - j));
        const double divisor = t->want[e] * rows * columns / t->got[e];
        if (fabs(t->got[e] - t->want[e]) <= s->budget.max) continue;
        if (!(divisor > 0.5 && divisor < rows * columns - 0.5)) return false;
        // Of a large pool half of all numbers are as near to a whole one as 2^-10 of them.
        if (fabs(divisor - round(divisor)) > fmin(0x1p-10 * divisor, 0x1p-5)) return false;
        if (keys_seen(p, i) >= j + (int64_t)columns) return false;  // nothing is hidden
        any = true;
    }
    return any;
}

// Of some pools, and not of all, the mean is too small; of_last: of the last pools of keys alone.
static bool are_parts_lost(const struct suspect* s, bool of_last) {
    const struct tensor* t = s->tensor;
    const struct problem* p = s->problem;
    const int64_t n_J = pools_of(p, p->N_k);
    int64_t less = 0, right = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const double off = t->want[e] - t->got[e];
        if (!(off >= -s->budget.max && t->got[e] >= 0)) return false;
        if (of_last && off > s->budget.max && e % n_J < n_J - 1) return false;
        *(off > s->budget.max ? &less : &right) += 1;
    }
    return less > 0 && right > 0;
}

// Weights in a pool that is not theirs move more than a rounding does.
static bool is_rounded(const struct tensor* t) {
    double off = 0, largest = 0;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        off = fmax(off, fabs(t->got[e] - t->want[e]));
        largest = fmax(largest, fabs(t->want[e]));
    }
    return off < 0x1p-7 * largest;
}

// The likely cause of a wrong output. O and LSE are explained as in lesson 14.
static enum cause explain_pooling(struct check* c, const struct tensor* t, struct budget budget) {
    const struct suspect s = forward_suspect(c, t, budget);
    if (pooling_of(s.problem)->repeating) return CAUSE_not_repeatable;
    enum cause cause;
    if (t != pooling_of(s.problem)->R) {
        cause = explain_mask_of_pools(&s);
        return cause ? cause : fragment_explain(c, t, budget);
    }
    cause = explain_unseen(&s);
    if (!cause) cause = explain_slips(&s);
    // A wrong scale may make all weights of large scores 0, as other mistakes do.
    // A wrong divisor shows with any scale, and so before.
    if (!cause || cause == CAUSE_pool_sum) {
        const enum cause scale = explain_second_scale(&s);
        if (scale) cause = scale;
    }
    if (!cause) cause = explain_second_mask(&s);
    if (!cause) cause = explain_second_places(&s);
    if (cause) return cause;
    // With 1, 3 and 5 to 7 it was right: what is right in halves of 8 is wrong where a pool begins.
    const int64_t pool = pooling_of(s.problem)->pool;
    for (int64_t e = 0; e < t->count; e++)
        if (!check_was_written(t, e)) return CAUSE_NONE;  // others are missing for other reasons
    if (is_divided_by_less(&s)) return CAUSE_pool_hidden;
    if (pool > 64) return are_parts_lost(&s, false) ? CAUSE_merge_lost : CAUSE_NONE;
    if (are_parts_lost(&s, true)) return CAUSE_inner_tail;
    return pool % 8 == 4 && !is_rounded(t) ? CAUSE_pool_rows : CAUSE_NONE;
}

#endif
