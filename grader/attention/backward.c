// backward.c: the gradients of attention, for every batch and query head with its key head:
//
//     S  = scale Q K^T        P_ij = exp(S_ij - LSE_i)  if query i sees key j, else 0
//     dP = dO V^T             delta_i = sum_x dO_ix O_ix        dS = P * (dP - delta)
//     dV_j = sum_i P_ij dO_i  dK_j = scale sum_i dS_ij Q_i      dQ_i = scale sum_j dS_ij K_j
//
// FlashAttention-2 (Dao 2023), algorithm 2. A sum or product of floats, computed in fp64 and
// rounded once, is what fp32 arithmetic gives.
#include "attention/backward.h"

#include <stdlib.h>
#include <string.h>

#include "attention/forward.h"
#include "attention/places.h"
#include "attention/sums.h"
#include "check/hypothesis.h"

struct backward backward_right(const struct problem* p) {
    struct backward w = {
        .blocks = blocks_of(p), .shift = p->N_k - p->N_q, .tile = 16, .keys_tile = 16};
    for (int a = 0; a < ARRAYS; a++) w.stride[a] = p->array[a].stride;
    for (int a = 0; a < INPUTS; a++) w.value[a] = w.again[a] = p->array[a].tensor->value;
    w.dO_of_delta = w.value[ARRAY_dO];
    w.LSE = p->array[ARRAY_LSE].tensor->value;
    return w;
}

// ---- who counts ----------------------------------------------------------------------------

// The main loop for the tile of keys that key j is in: queries from `start` on see some of the
// keys, those from `full_start` on all of them. A tile that hangs over the end of the keys is never
// seen whole.
struct loop {
    int64_t start, full_start;
    int64_t part_end;  // behind part 3's last tile, if it begins at the first query that sees a key
};

static struct loop loop_of(const struct problem* p, const struct backward* w, int64_t j) {
    int64_t T = w->tile, key = j / w->keys_tile * w->keys_tile;
    int64_t first = key - w->shift, last = first + w->keys_tile - 1;  // see the first key; the last
    const int64_t last_key = (key + w->keys_tile < p->N_k ? last : p->N_k - 1 - w->shift);
    struct loop l = {p->causal && first > 0 ? first / T * T : 0, 0, 0};
    const int64_t late = w->flaw.late_start == BY_LAST_KEY ? last_key : key;
    if (p->causal && w->flaw.late_start) l.start = (late > 0 ? late : 0) / T * T;
    if (p->causal && last > 0) l.full_start = CEIL_DIV(last, T) * T;
    if (key + w->keys_tile > p->N_k) l.full_start = CEIL_DIV(p->N_q, T) * T;
    l.part_end = l.full_start + (p->causal && first > 0 ? first % T : 0);
    return l;
}

static bool is_hidden(const struct problem* p, const struct backward* w, int64_t h, int64_t i,
                      int64_t j) {
    const bool above = j > i + w->shift, right = w->flaw.first_head_masked && h % p->group == 0;
    switch (right ? AS_WANTED : w->flaw.mask) {
    case AS_WANTED:
        return p->causal && above;
    case MASK:
        return above;
    case MASK_TILES:
        return i < loop_of(p, w, j).start;
    case MASK_NOT_IN_LAST: {
        int64_t end = (j / w->keys_tile + 1) * w->keys_tile;
        int64_t last_key = (end < p->N_k ? end : p->N_k) - 1;
        return above && i < (last_key - w->shift) / w->tile * w->tile;
    }
    case MASK_NOTHING:
        break;
    }
    return false;
}

// How often query i and key j count as a pair, where the mask is not of indices.
static int times_in_loop(const struct problem* p, const struct backward* w, int64_t b, int64_t h,
                         int64_t i, int64_t j) {
    static const int of_count[] = {[ONCE] = 1, [SKIPPED] = 0, [TWICE] = 2};
    const struct backward_flaw* f = &w->flaw;
    if ((f->queries && i >= f->queries) || (f->keys && j >= f->keys)) return 0;
    if (f->short_keys_lost && j >= p->N_k / w->keys_tile * w->keys_tile) return 0;
    if (!is_active(w->blocks, b, h, i, j)) return 0;
    struct loop l = loop_of(p, w, j);
    if (f->last == TAIL_TWICE && i >= p->N_q / w->tile * w->tile && i < l.full_start)
        return is_hidden(p, w, h, i, j) ? 1 : 2;
    const bool in_time = f->late_start == PART_3_OF_SQUARE && i >= l.full_start;
    if (is_hidden(p, w, h, i, j) || (f->late_start && i < l.start && !in_time)) return 0;
    bool at_start = i >= l.start && i < l.start + w->tile && i < l.full_start;
    bool at_full_start = i >= l.full_start && i < l.full_start + w->tile;
    if (f->part_lacks_first) {
        int64_t tail = p->N_q / w->tile * w->tile;
        return !at_start && !at_full_start && i < (tail > l.full_start ? tail : l.full_start);
    }
    if (f->start_unaligned && i >= l.full_start && i < l.part_end) return 2;
    if (at_start && f->at_start != ONCE) return of_count[f->at_start];
    if (at_full_start && f->at_full_start != ONCE) return of_count[f->at_full_start];
    if (i < (p->N_q - 1) / w->tile * w->tile) return 1;
    bool is_short = p->N_q % w->tile != 0;
    if (f->last == (is_short ? SHORT_LAST_SKIPPED : FULL_LAST_SKIPPED)) return 0;
    // A tail in part 1 is not walked twice.
    return f->last == LAST_TILE_TWICE && i >= l.full_start ? 2 : 1;
}

static int times(const struct problem* p, const struct backward* w, int64_t b, int64_t h, int64_t i,
                 int64_t j) {
    int64_t *row = w->flaw.asked_of_keys ? &j : &i, *column = w->flaw.asked_of_keys ? &i : &j;
    const int64_t T = w->flaw.asked_of_keys ? w->tile : w->keys_tile, first = *column / T * T;
    *column -= first;
    asked_about(w->flaw.asked, row, column);
    *column += first;
    if (w->flaw.asked && p->index.used && (i >= p->N_q || j >= p->N_k)) return 0;
    int of_mask = index_times(p, b, i, j);
    return of_mask > 0 ? of_mask * times_in_loop(p, w, b, h, i, j) : 0;
}

// ---- one head ------------------------------------------------------------------------------

// Query head h of batch b, and the key head g that it uses. P and dS have more rows and columns
// than there are queries and keys, as the tiles of a kernel have.
struct head {
    const struct problem* p;
    const struct backward* w;
    bool rounded;  // every operation, to fp32
    int64_t b, h, g;
    int64_t rows, columns;  // of P and dS
    double *P, *dS;
    signed char* count;           // how often each pair of a query and a key counts
    double* S;                    // (N_k) of one query
    union turned *keys, *values;  // K and V, from some key on: see turn_keys()
    double* delta;                // (N_q)
    double *dK, *dV;              // (N_k, d), the sums of the key head; NULL if not wanted
    double* dQ_total;             // counted like the tensor, or NULL
    bool anything;                // a query head of the key head reads what lies behind an array
};

// The result of an operation.
static double op(const struct head* t, double x) {
    return t->rounded ? (double)(float)x : x;
}

// A product that is a term of a sum.
static double term(const struct head* t, double x) {
    return op(t, t->w->absolute ? fabs(x) : x);
}

static struct operations kind_of(const struct head* t, bool absolute) {
    return (struct operations){.rounded = t->rounded, .absolute = absolute};
}

// P or dS as a factor of the next product.
static double factor(const struct head* t, double x) {
    const struct contract* contract = t->p->contract;
    return t->rounded && contract->rounded_weights ? dtype_round(contract->dtype, x) : x;
}

// Row n of the head in an input, as it is read here: `value` is w->value or w->again.
static const double* read_row(const struct head* t, const double* const* value, enum which a,
                              int64_t n) {
    return value[a] + place(t->w->stride[a], t->b, is_of_keys(a) ? t->g : t->h, n);
}

// delta_i = sum_x dO_ix O_ix, from the last column on. With one key O is V, and dP - delta is 0
// except for the rounding of two sums. The standard must have that rounding error, too: so its sums
// have different orders.
static double delta_of(const struct head* t, int64_t i) {
    const struct backward* w = t->w;
    int64_t h = w->flaw.first_delta ? t->h / t->p->group * t->p->group : t->h;
    if (w->flaw.delta_of_head_0) h = 0;
    const int64_t b = w->flaw.delta_of_batch_0 ? 0 : t->b;
    if (w->flaw.delta_rows && i / w->flaw.delta_rows % 2) i -= w->flaw.delta_rows;
    const double* O = w->value[ARRAY_O] + place(w->stride[ARRAY_O], b, h, i);
    const double* dO = w->dO_of_delta + place(w->stride[ARRAY_dO], b, h, i);
    double delta = 0;
    int64_t columns = w->flaw.delta_columns ? w->flaw.delta_columns : t->p->d;
    const enum dtype dtype = t->p->contract->dtype;
    for (int64_t x = columns - 1; x >= 0; x--) {
        double product = term(t, dO[x] * O[x]);
        if (w->flaw.delta_kept == PRODUCTS_ROUNDED) product = dtype_round(dtype, product);
        delta = op(t, delta + product);
    }
    if (w->flaw.delta_kept == DELTA_ROUNDED) delta = dtype_round(dtype, delta);
    return w->added ? op(t, delta + w->added[place_in(t->p, ARRAY_LSE, t->b, t->h, i)]) : delta;
}

static double scale_of(const struct problem* p, int scale) {
    switch (scale) {
    case ONE:
        return 1;
    case SQUARE:
        return p->scale * p->scale;
    case USUAL:
        return (double)(float)(1 / sqrt((double)p->d));
    case USUAL_SQUARE:
        return 1.0 / (double)p->d;
    case SCALE_LN_2:
        return p->scale * M_LN2;
    case SCALE_LOG2_E:
        return p->scale * M_LOG2E;
    case POSITIVE:
        return fabs(p->scale);
    case OF_BF16:
        return dtype_round(BF16, p->scale);
    }
    return p->scale;
}

// The columns that a product of K or V has.
static int64_t columns_of(const struct backward* w, const struct problem* p) {
    return w->flaw.columns ? w->flaw.columns : p->d;
}

// Makes K and V of the keys [begin, end) ready for compute_scores().
static void turn_keys(struct head* t, int64_t begin, int64_t end) {
    const struct backward* w = t->w;
    const int64_t n = columns_of(w, t->p), rows = end - begin;
    const double *K = read_row(t, w->value, ARRAY_K, begin),
                 *V = read_row(t, w->value, ARRAY_V, begin);
    turn_rows(kind_of(t, false), n, rows, K, w->stride[ARRAY_K].n, t->keys);
    turn_rows(kind_of(t, w->absolute), n, rows, V, w->stride[ARRAY_V].n, t->values);
}

// S_ij for the keys [begin, end), and their part of row i of dP - delta in the place of dS. `begin`
// is that of turn_keys().
static void compute_scores(struct head* t, int64_t i, int64_t begin, int64_t end) {
    const struct backward* w = t->w;
    const double *Q = read_row(t, w->value, ARRAY_Q, i), *dO = read_row(t, w->value, ARRAY_dO, i);
    const double factors[] = {[SUBTRACTED] = 1,
                              [NO_DELTA] = 0,
                              [TIMES_SCALE] = t->p->scale,
                              [ADDED] = -1,
                              [OVER_SCALE] = 1 / t->p->scale,
                              [UNWEIGHTED] = 0};
    double scale = scale_of(t->p, w->flaw.scores), of_delta = factors[w->flaw.delta];
    const int64_t columns = columns_of(w, t->p);
    t->delta[i] = delta_of(t, i);
    for (int64_t first = begin; first < end; first += SUMS) {
        const int64_t block = (first - begin) / SUMS * columns;
        double S[SUMS], dP[SUMS];
        sums_of_products(kind_of(t, false), columns, Q, t->keys + block, S);
        sums_of_products(kind_of(t, w->absolute), columns, dO, t->values + block, dP);
        for (int64_t c = 0; c < SUMS && first + c < end; c++) {
            t->S[first + c] = op(t, index_capped(t->p, op(t, S[c] * scale)));
            t->dS[i * t->columns + first + c] = op(t, dP[c] - of_delta * t->delta[i]);
        }
    }
}

// The largest score of row i in the tile of key j.
static double tile_maximum(const struct head* t, int64_t i, int64_t j) {
    int64_t T = t->w->keys_tile;
    double m = -INFINITY;
    for (int64_t k = j / T * T; k < t->p->N_k && k / T == j / T; k++)
        if (times(t->p, t->w, t->b, t->h, i, k)) m = fmax(m, t->S[k]);
    return m;
}

// P_ij is exp() of this number.
static double exponent_of(const struct head* t, int64_t i, int64_t j, double LSE) {
    double S = t->S[j];
    switch (t->w->flaw.exponent) {
    case S_MINUS_LSE:
        break;
    case NO_LSE:
        return S;
    case LSE_OF_BASE_2:
        return op(t, S - M_LN2 * LSE);
    case POWER_OF_2:
        return op(t, M_LN2 * op(t, S - LSE));
    case TILE_MAXIMUM:
        return op(t, S - tile_maximum(t, i, j));
    }
    return op(t, S - LSE);
}

// The query whose LSE, or delta, stands for that of query i beside key j.
static int64_t query_of(const struct head* t, int64_t i, int64_t j) {
    const int64_t column = i - i % 2, row = i / 32 * 32 + i % 8, tile = t->w->tile;
    const int64_t of[] = {[OWN_QUERY] = i,
                          [COLUMN_BY_ROW] = column + j / 8 % 2,
                          [FIRST_COLUMN] = column,
                          [OTHER_COLUMN] = column + 1 - i % 2,
                          [ROW_BY_COLUMN] = row + 8 * (j % 2),
                          [ROW_BY_GROUP] = row + 8 * (i / 16 % 2),
                          [ROW_BY_BOTH] = row + 16 * (i / 8 % 2) + 8 * (j % 2),
                          [QUERY_BY_KEY] = tile ? i - i % tile + j % tile : i,
                          [FIRST_HALF] = i - i / 64 % 2 * 64};
    return of[t->w->flaw.query];
}

// Row i of P and of dS, of the keys [begin, end).
static void compute_weights(struct head* t, int64_t i, int64_t begin, int64_t end) {
    const struct backward* w = t->w;
    const int64_t h = w->flaw.first_LSE ? t->h / t->p->group * t->p->group : t->h;
    double LSE = w->LSE[place(w->stride[ARRAY_LSE], t->b, h, i)];
    for (int64_t j = begin; j < end; j++) {
        double *P = &t->P[i * t->columns + j], *dS = &t->dS[i * t->columns + j];
        const int count = times(t->p, w, t->b, t->h, i, j);
        const bool counts = count > 0;
        t->count[i * t->columns + j] = (signed char)count;
        if (!counts && !(w->flaw.dS_where_hidden && i >= loop_of(t->p, w, j).start)) {
            *P = *dS = 0;
            continue;
        }
        if (w->flaw.query) {
            const int64_t n = query_of(t, i, j);
            const bool exists = n < t->p->N_q;
            if (w->flaw.query_of & 1)
                LSE = exists ? w->LSE[place(w->stride[ARRAY_LSE], t->b, t->h, n)] : 0;
            if (w->flaw.query_of & 2) *dS += t->delta[i] - (exists ? delta_of(t, n) : 0);
        }
        double p = counts ? op(t, exp(exponent_of(t, i, j, LSE))) : 0;
        if (!w->flaw.dS_unweighted) *dS = op(t, p * *dS);
        if (t->p->index.softcap > 0) *dS = op(t, *dS * index_slope(t->p, t->S[j], p));
        if (w->flaw.delta == UNWEIGHTED) *dS = op(t, *dS - t->delta[i]);
        if (w->flaw.dS_is_P) *dS = p;
        *dS = factor(t, *dS), *P = factor(t, p);
    }
}

// The rest of P and dS, as the tiles of a kernel hold it. Rows that do not exist are zeros in
// shared memory, also in LSE and delta.
static void fill_up(struct head* t) {
    const struct problem* p = t->p;
    const struct array* LSE = &p->array[ARRAY_LSE];
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = i < p->N_q ? p->N_k : 0; j < t->columns; j++) {
            double P = 1, delta = 0;
            if (i < p->N_q) {
                P = p->causal ? 0 : exp(-LSE->tensor->value[place(LSE->stride, t->b, t->h, i)]);
                delta = t->delta[i];
            }
            t->P[i * t->columns + j] = P;
            t->dS[i * t->columns + j] = -P * delta;
        }
}

// The element of P or dS that a product takes for (i, j) of the transposed matrix, whose rows are
// keys.
static double transposed(const struct head* t, const double* matrix, enum taken how, int64_t i,
                         int64_t j) {
    taken_from(how, &j, &i);
    return matrix[i * t->columns + j];
}

// The element of dS that the product for dQ takes for (i, j); dQ knows of no key that does not
// exist.
static double straight(const struct head* t, const double* matrix, enum taken how, int64_t i,
                       int64_t j) {
    taken_from(how, &i, &j);
    return j < t->p->N_k ? matrix[i * t->columns + j] : 0;
}

// Adds what the head gives to rows [begin, end) of dV and dK of its key head.
static void add_dV_and_dK(const struct head* t, int64_t begin, int64_t end) {
    const struct problem* p = t->p;
    const struct backward* w = t->w;
    const struct operations kind = kind_of(t, w->absolute);
    // Elements of hidden pairs, or taken from wrong places, may not be 0 either.
    bool all = w->P_of_dV || w->dS_of_dK || w->flaw.dS_where_hidden;
    for (int64_t j = begin; j < end; j++)
        for (int64_t i = 0; i < p->N_q; i++) {
            int count = all ? 1 : t->count[i * t->columns + j];
            if (!count) continue;
            const double *Q = read_row(t, w->again, ARRAY_Q, i),
                         *dO = read_row(t, w->again, ARRAY_dO, i);
            double P = transposed(t, t->P, w->P_of_dV, i, j);
            double dS = transposed(t, t->dS, w->dS_of_dK, i, j);
            const double factors[] = {
                [OF_P] = P, [OF_ONE] = 1, [OF_dS] = dS, [OF_SCALED_P] = p->scale * P};
            double of_dO = count * factors[w->flaw.dV];
            if (t->dV) add_multiple(kind, p->d, t->dV + j * p->d, of_dO, dO);
            if (t->dK) add_multiple(kind, p->d, t->dK + j * p->d, count * dS, Q);
        }
}

// Stores an element of a gradient. After two mistaken writes to one place either value may be
// there.
static void store(double* to, double value) {
    *to = isnan(*to) ? value : ANYTHING;
}

// dQ is row i, or NULL if it may hold anything.
static void store_row_of_dQ(const struct head* t, int64_t i, const double* dQ) {
    const struct strides s = t->w->stride[ARRAY_dQ];
    double scale = scale_of(t->p, t->w->flaw.gradients);
    double* to = t->dQ_total + place(s, t->b, t->h, i);
    for (int64_t x = 0; x < t->p->d && head_fits(t->p, ARRAY_dQ, s, t->b, t->h); x++)
        store(&to[x], dQ ? op(t, scale * dQ[x]) : ANYTHING);
}

// Row i of dQ, without its scale.
static void sum_row_of_dQ(const struct head* t, int64_t i, double dQ[MAX_HEAD]) {
    const struct problem* p = t->p;
    const struct backward* w = t->w;
    const struct operations kind = kind_of(t, w->absolute);
    bool all = w->dS_of_dQ || w->flaw.dS_where_hidden;
    for (int64_t x = 0; x < p->d; x++) dQ[x] = 0;
    for (int64_t j = 0; j < p->N_k; j++) {
        int count = all ? 1 : t->count[i * t->columns + j];
        if (!count) continue;
        if (w->flaw.dQ_each_key) count *= (int)(w->keys_tile - j % w->keys_tile);
        const double* K = read_row(t, w->again, ARRAY_K, j);
        add_multiple(kind, p->d, dQ, count * straight(t, t->dS, w->dS_of_dQ, i, j), K);
    }
}

static void store_dQ(const struct head* t) {
    double dQ[MAX_HEAD];
    for (int64_t i = 0; i < t->p->N_q; i++) {
        sum_row_of_dQ(t, i, dQ);
        store_row_of_dQ(t, i, dQ);
    }
}

// True if the kernel finds the rows of the head within the arrays. Behind them anything may lie.
static bool is_within(const struct head* t) {
    const struct problem* p = t->p;
    bool within = true;
    for (enum which a = 0; a < ARRAYS; a++) {
        bool is_input = a < ARRAY_dQ || a == ARRAY_LSE;
        if (!is_input || rows_of(p, a) == 0) continue;
        int64_t h = is_of_keys(a) ? t->g * p->group : t->h;
        within &= head_fits(p, a, t->w->stride[a], t->b, h);
    }
    return within;
}

// Stores dQ of the head, and adds to dK and dV of its key head.
static void compute_head(struct head* t) {
    const struct backward* w = t->w;
    t->anything |= !is_within(t);
    if (t->anything) {
        for (int64_t i = 0; i < t->p->N_q && t->dQ_total; i++) store_row_of_dQ(t, i, NULL);
        return;
    }
    turn_keys(t, 0, t->p->N_k);
    for (int64_t i = 0; i < t->p->N_q; i++) {
        compute_scores(t, i, 0, t->p->N_k);
        compute_weights(t, i, 0, t->p->N_k);
    }
    bool outside = (w->P_of_dV || w->dS_of_dK || w->dS_of_dQ) && !w->zeros_outside;
    if (outside) fill_up(t);
    if (t->dK || t->dV) add_dV_and_dK(t, 0, t->p->N_k);
    if (t->dQ_total) store_dQ(t);
}

// ---- all heads -----------------------------------------------------------------------------

// Stores row j of dK or dV of the head's key head; `value` is that row, counted by x.
static void store_row(const struct head* t, enum which a, int64_t j, const double* value,
                      double scale, double* const gradient[GRADIENTS]) {
    const struct strides s = t->w->stride[a];
    double* to = gradient[a - ARRAY_dQ] + place(s, t->b, t->g, j);
    if (!head_fits(t->p, a, s, t->b, t->g * t->p->group)) return;
    for (int64_t x = 0; x < t->p->d; x++)
        store(&to[x], t->anything ? ANYTHING : op(t, scale * value[x]));
}

static void store_sums(const struct head* t, double* const gradient[GRADIENTS]) {
    double scale = scale_of(t->p, t->w->flaw.gradients);
    double share = t->w->flaw.summed == MEAN_OF_HEADS ? 1.0 / (double)t->p->group : 1;
    for (int64_t j = 0; j < t->p->N_k; j++) {
        if (t->dK) store_row(t, ARRAY_dK, j, &t->dK[j * t->p->d], share * scale, gradient);
        if (t->dV) store_row(t, ARRAY_dV, j, &t->dV[j * t->p->d], share, gradient);
    }
}

// The key head that query head h takes.
static int64_t key_head_of(const struct head* t, int64_t h) {
    const struct problem* p = t->p;
    if (t->w->flaw.interleaved) return h % (p->H / p->group);
    return h / (t->w->flaw.by_key_heads ? p->H / p->group : p->group);
}

// Does query head h add to key head g?
static bool adds_to(const struct head* t, int64_t h, int64_t g) {
    if (t->w->flaw.summed == FROM_KEY_HEAD) return h >= g && h < g + t->p->group;
    return key_head_of(t, h) == g;
}

// The sums of all query heads that use key head g of batch b. Counted from the first batch on, as a
// key head is, a query head of a later batch is one of another.
static void compute_group(struct head* t, int64_t b, int64_t g) {
    const struct problem* p = t->p;
    size_t bytes = (size_t)(p->N_k * p->d) * sizeof(double);
    double *dK = t->dK, *dV = t->dV;
    t->anything = false;
    for (int64_t h = 0, first = true; h < p->H; h++) {
        if (!adds_to(t, h, g)) continue;
        if (t->w->flaw.summed == FIRST_HEADS && h % p->group >= t->w->flaw.first_heads)
            t->dK = t->dV = NULL;
        if (t->dK && (first || t->w->flaw.summed == LAST_HEAD)) memset(t->dK, 0, bytes);
        if (t->dV && (first || t->w->flaw.summed == LAST_HEAD)) memset(t->dV, 0, bytes);
        first = false;
        t->b = b, t->h = h, t->g = g;
        compute_head(t);
    }
    t->anything |= t->w->flaw.summed == FROM_KEY_HEAD && b > 0;
    t->dK = dK, t->dV = dV;
}

// An array's elements, as a kernel takes them in `how`, in place.
static void rearrange(const struct problem* p, enum taken how, enum which a, double* value) {
    double* taken = take(p, how, a, value);
    memcpy(value, taken, (size_t)p->array[a].tensor->count * sizeof *value);
    free(taken);
}

// With room for all that is computed of a head, until head_free().
static struct head head_of(const struct problem* p, const struct backward* w, bool rounded) {
    struct head t = {.p = p, .w = w, .rounded = rounded};
    t.rows = CEIL_DIV(p->N_q, 64) * 64;
    t.columns = CEIL_DIV(p->N_k, 64) * 64;
    int64_t size = t.rows * t.columns, sums = p->N_k * p->d;
    t.P = check_allocate(p->check, 2 * size + p->N_k + p->N_q + 2 * sums, sizeof *t.P);
    t.dS = t.P + size, t.S = t.dS + size, t.delta = t.S + p->N_k;
    t.dK = t.delta + p->N_q, t.dV = t.dK + sums;
    const int64_t of_keys = CEIL_DIV(p->N_k, SUMS) * columns_of(w, p);
    t.keys = check_allocate(p->check, 2 * of_keys, sizeof *t.keys);
    t.values = t.keys + of_keys;
    t.count = check_allocate(p->check, size, sizeof *t.count);
    return t;
}

static void head_free(struct head* t) {
    free(t->P), free(t->keys), free(t->count);
}

void backward(const struct problem* p, const struct backward* w, bool rounded,
              double* const gradient[GRADIENTS]) {
    struct head t = head_of(p, w, rounded);
    t.dQ_total = gradient[0];
    t.dK = gradient[1] ? t.dK : NULL, t.dV = gradient[2] ? t.dV : NULL;
    for (int a = 0; a < GRADIENTS; a++)
        for (int64_t e = 0; gradient[a] && e < p->array[ARRAY_dQ + a].tensor->count; e++)
            gradient[a][e] = NAN;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t g = 0; g < p->H / p->group; g++) {
            compute_group(&t, b, g);
            store_sums(&t, gradient);
        }
    for (int a = 0; a < GRADIENTS; a++) {
        enum which of = (enum which)(ARRAY_dQ + a);
        if (!gradient[a]) continue;
        if (w->stored) rearrange(p, w->stored, of, gradient[a]);
        for (int64_t e = 0; rounded && e < p->array[of].tensor->count; e++)
            if (gradient[a][e] != ANYTHING)
                gradient[a][e] = dtype_round(p->contract->dtype, gradient[a][e]);
    }
    head_free(&t);
}

// True if every element of the gradient `a` is made of its own row of P and dS, of one head, and is
// stored in its own place.
static bool is_by_rows(const struct problem* p, const struct backward* w, enum which a) {
    const struct strides own = p->array[a].stride, of = w->stride[a];
    return p->group == 1 && !w->P_of_dV && !w->dS_of_dK && !w->dS_of_dQ && !w->stored &&
           w->flaw.exponent != TILE_MAXIMUM && w->flaw.summed == ALL_HEADS &&
           !w->flaw.interleaved && !w->flaw.by_key_heads && own.b == of.b && own.n == of.n &&
           own.h == of.h;
}

bool backward_row(const struct problem* p, const struct backward* w, enum which a, int64_t b,
                  int64_t h, int64_t n, double* row) {
    if (!is_by_rows(p, w, a)) return false;
    struct head t = head_of(p, w, false);
    t.b = b, t.h = t.g = h;
    bool known = is_within(&t);
    double scale = a == ARRAY_dV ? 1 : scale_of(p, w->flaw.gradients);
    if (known && a == ARRAY_dQ) turn_keys(&t, 0, p->N_k);
    if (known && a != ARRAY_dQ) turn_keys(&t, n, n + 1);
    for (int64_t i = 0; i < p->N_q && known && a != ARRAY_dQ; i++) {
        compute_scores(&t, i, n, n + 1);
        compute_weights(&t, i, n, n + 1);
    }
    if (known && a == ARRAY_dQ) {
        compute_scores(&t, n, 0, p->N_k);
        compute_weights(&t, n, 0, p->N_k);
        sum_row_of_dQ(&t, n, row);
    } else if (known) {
        add_dV_and_dK(&t, n, n + 1);
        memcpy(row, (a == ARRAY_dK ? t.dK : t.dV) + n * p->d, (size_t)p->d * sizeof *row);
    }
    for (int64_t x = 0; x < p->d && known; x++) row[x] *= scale;
    head_free(&t);
    return known;
}
