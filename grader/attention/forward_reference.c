// forward_reference.c: the right O and LSE.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/forward.h"
#include "attention/sums.h"

// A row of V; zeros behind the last key.
static const double* row_of_V(const struct problem* p, int64_t b, int64_t h, int64_t j) {
    static const double zeros[MAX_HEAD];
    return j < p->N_k ? row_of(p, ARRAY_V, b, h, j) : zeros;
}

// K of one head as sums_of_products() takes it, in blocks of SUMS keys that are made when they are
// asked for. The last block is behind all keys: zeros.
struct turned_keys {
    const struct problem* p;
    struct operations kind;
    int64_t b, h;  // h: the first query head that has this K
    int64_t blocks;
    bool* is_there;       // blocks
    union turned* block;  // blocks of p->d columns
};

static struct turned_keys turned_keys_of(const struct problem* p, struct operations kind) {
    struct turned_keys k = {.p = p, .kind = kind, .b = -1};
    k.blocks = CEIL_DIV(p->N_k, SUMS) + 1;
    k.is_there = check_allocate(p->check, k.blocks, sizeof *k.is_there);
    k.block = check_allocate(p->check, k.blocks * p->d, sizeof *k.block);
    memset(k.block + (k.blocks - 1) * p->d, 0, (size_t)p->d * sizeof *k.block);
    return k;
}

static void turned_keys_free(struct turned_keys* k) {
    free(k->is_there), free(k->block);
}

static void use_head(struct turned_keys* k, int64_t b, int64_t h) {
    h -= h % sharing(k->p, ARRAY_K);
    if (k->b == b && k->h == h) return;
    k->b = b, k->h = h;
    for (int64_t n = 0; n < k->blocks; n++) k->is_there[n] = n == k->blocks - 1;
}

static const union turned* block_of_key(struct turned_keys* k, int64_t j) {
    const struct problem* p = k->p;
    const int64_t n = j < p->N_k ? j / SUMS : k->blocks - 1, first = n * SUMS;
    const int64_t rows = p->N_k - first < SUMS ? p->N_k - first : SUMS;
    union turned* block = k->block + n * p->d;
    if (!k->is_there[n])
        turn_rows(k->kind, p->d, rows, row_of(p, ARRAY_K, k->b, k->h, first),
                  p->array[ARRAY_K].stride.n, block);
    k->is_there[n] = true;
    return block;
}

static void reference_row(struct turned_keys* keys, int64_t b, int64_t h, int64_t i, double* o,
                          double* LSE) {
    const struct problem* p = keys->p;
    const struct operations kind = keys->kind;
    const bool single = kind.rounded;
#define ROUND(x) (single ? (double)(float)(x) : (x))
    enum dtype dtype = p->contract->dtype;
    const struct block_mask blocks = blocks_of(p);
    int64_t key[2 * MAX_N];  // those that a query sees; with a mistake some count twice
    bool hidden[2 * MAX_N];  // counts all the same, with a score that was -infinity
    double S[2 * MAX_N], of_block[SUMS];
    const double* q = row_of(p, ARRAY_Q, b, h, i);
    double m = -INFINITY, l = 0, sum[MAX_HEAD] = {0};
    int64_t seen = 0;
    const int64_t end = p->index.used ? index_keys(p) : keys_seen(p, i);
    for (int64_t j = 0; j < end; j++)
        for (int times = pair_times(p, blocks, b, h, i, j), n = 0; n < abs(times); n++) {
            hidden[seen] = times < 0;
            key[seen++] = j;
        }
    use_head(keys, b, h);
    for (int64_t n = 0; n < seen; n++) {
        if (n == 0 || key[n] / SUMS != key[n - 1] / SUMS)
            sums_of_products(kind, p->d, q, block_of_key(keys, key[n]), of_block);
        S[n] = hidden[n] ? -INFINITY : ROUND(p->scale * of_block[key[n] % SUMS]);
        S[n] = ROUND(index_capped(p, S[n]));
        m = fmax(m, S[n]);
    }
    for (int64_t n = 0; n < seen; n++) {
        if (S[n] == -INFINITY) continue;
        double weight = ROUND(exp(ROUND(S[n] - m)));
        l = ROUND(l + weight);
        if (single && p->contract->rounded_weights) weight = dtype_round(dtype, weight);
        add_multiple(kind, p->d, sum, weight, row_of_V(p, b, h, key[n]));
    }
    for (int64_t x = 0; x < p->d; x++) {
        o[x] = l > 0 ? ROUND(sum[x] / l) : 0;
        if (single) o[x] = dtype_round(dtype, o[x]);
    }
    *LSE = l > 0 ? ROUND(m + ROUND(log(l))) : -INFINITY;
#undef ROUND
}

void forward_reference_row(const struct problem* p, bool single, int64_t b, int64_t h, int64_t i,
                           double* o, double* LSE) {
    struct turned_keys keys = turned_keys_of(p, (struct operations){.rounded = single});
    reference_row(&keys, b, h, i, o, LSE);
    turned_keys_free(&keys);
}

void forward_reference(const struct problem* p, bool single, double* O, double* LSE) {
    struct turned_keys keys = turned_keys_of(p, (struct operations){.rounded = single});
    FOR_EACH_QUERY(p, b, h, i)
    reference_row(&keys, b, h, i, O + place_in(p, ARRAY_O, b, h, i),
                  LSE + place_in(p, ARRAY_LSE, b, h, i));
    turned_keys_free(&keys);
}
