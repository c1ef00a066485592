// backward_weights.c: mistakes that show in which weights P the gradients are made of.
#include <math.h>

#include "attention/backward_mistakes.h"

// P of query i and key j, whether the query sees the key or not.
static double weight_of(const struct problem* p, int64_t b, int64_t h, int64_t i, int64_t j) {
    const double LSE = p->array[ARRAY_LSE].tensor->value[place_in(p, ARRAY_LSE, b, h, i)];
    return exp(score(p, b, h, i, j) - LSE);
}

// What a kernel may take for small: each 2^-4 of the one before.
static const double SMALL = 0x1p-12, SMALLEST = 0x1p-24, LESS = 0x1p-4;

static bool sees(const struct problem* p, int64_t b, int64_t h, int64_t i, int64_t j) {
    return j < keys_seen(p, i) && pair_times(p, blocks_of(p), b, h, i, j) > 0;
}

static bool has_plain_mask(const struct problem* p) {
    return p->group == 1 && !p->mask && !p->index.used;
}

// Is dK of this key right, or about 0 since its weights are small? Then *lost becomes true.
static bool is_right_or_lost(const struct suspect* s, int64_t b, int64_t h, int64_t j, bool* lost) {
    const struct problem* p = s->problem;
    const int64_t first = place_in(p, ARRAY_dK, b, h, j);
    double off = 0, wanted = 0, largest = 0, weight = 0;
    for (int64_t e = first; e < first + p->d; e++) {
        const double got = s->tensor->got[e], want = s->tensor->want[e];
        if (!isfinite(got)) return false;
        off = fmax(off, fabs(got - want));
        wanted = fmax(wanted, fabs(want));
        largest = fmax(largest, fabs(got));
    }
    if (off <= wanted / 8 + s->budget.max) return true;
    for (int64_t i = 0; i < p->N_q; i++)
        if (sees(p, b, h, i, j)) weight = fmax(weight, weight_of(p, b, h, i, j));
    *lost = true;
    return weight < SMALL && largest < wanted / 8;
}

// May dQ of this query be what it is without weights below `small`? Adds to *off how far it is from
// what is wanted, and to *left how far from that.
static bool is_without(const struct suspect* s, double small, int64_t b, int64_t h, int64_t i,
                       double* off, double* left) {
    const struct problem* p = s->problem;
    const double *dO = row_of(p, ARRAY_dO, b, h, i), *got = s->tensor->got, *want = s->tensor->want;
    const double delta = dot(p, dO, row_of(p, ARRAY_O, b, h, i));
    const int64_t first = place_in(p, ARRAY_dQ, b, h, i);
    double without[MAX_HEAD] = {0};
    for (int64_t j = 0; j < p->N_k; j++) {
        const double weight = sees(p, b, h, i, j) ? weight_of(p, b, h, i, j) : 0;
        if (!(weight >= small)) continue;
        const double dS = weight * (dot(p, dO, row_of(p, ARRAY_V, b, h, j)) - delta);
        for (int64_t x = 0; x < p->d; x++)
            without[x] += p->scale * dS * row_of(p, ARRAY_K, b, h, j)[x];
    }
    for (int64_t x = 0; x < p->d; x++) {
        const double part = fabs(want[first + x] - without[x]);  // of the small weights
        const double left_here = fabs(got[first + x] - without[x]);
        if (!(left_here <= fabs(without[x]) / 64 + part / 8)) return false;
        *off += fabs(got[first + x] - want[first + x]);
        *left += left_here;
    }
    return true;
}

static bool is_dQ_without(const struct suspect* s, double small) {
    double off = 0, left = 0;
    FOR_EACH_QUERY((const struct problem*)s->problem, b, h, i)
    if (!is_without(s, small, b, h, i, &off, &left)) return false;
    return left < off / 8;
}

bool are_small_weights_lost(const struct suspect* s) {
    const struct problem* p = s->problem;
    bool lost = false;
    if (s->tensor == p->array[ARRAY_dQ].tensor) {
        for (double small = SMALL; small >= SMALLEST && !lost; small *= LESS)
            lost = is_dQ_without(s, small);
        return lost;
    }
    if (s->tensor != p->array[ARRAY_dK].tensor || p->group > 1) return false;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t j = 0; j < p->N_k; j++)
                if (!is_right_or_lost(s, b, h, j, &lost)) return false;
    return lost;
}

// Is what dV of key j has more than is wanted what the last query that does not see it adds?
// Also true where nothing is wrong; else *any becomes true.
static bool is_of_query_before(const struct suspect* s, int64_t b, int64_t h, int64_t j,
                               bool* any) {
    const struct problem* p = s->problem;
    const struct tensor* dV = s->tensor;
    const int64_t i = j - p->N_k + p->N_q - 1, first = place_in(p, ARRAY_dV, b, h, j);
    const bool exists = i >= 0 && i < p->N_q;
    const double weight = exists ? weight_of(p, b, h, i, j) : 0;
    double off = 0, left = 0, added = 0;
    for (int64_t x = 0; x < p->d; x++) {
        const double more = dV->got[first + x] - dV->want[first + x];
        const double term = exists ? weight * row_of(p, ARRAY_dO, b, h, i)[x] : 0;
        if (!isfinite(more)) return false;
        off = fmax(off, fabs(more));
        added = fmax(added, fabs(term));
        left = fmax(left, fabs(more - term));
    }
    if (off <= s->budget.max) return true;
    *any = true;
    return left <= added / 64 + s->budget.max;
}

bool is_pair_behind_diagonal(const struct suspect* s) {
    const struct problem* p = s->problem;
    bool any = false;
    if (s->tensor != p->array[ARRAY_dV].tensor || !p->causal || !has_plain_mask(p)) return false;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t j = 0; j < p->N_k; j++)
                if (!is_of_query_before(s, b, h, j, &any)) return false;
    return any;
}

bool is_all_behind_diagonal(const struct suspect* s) {
    const struct problem* p = s->problem;
    return p->causal && !p->contract->rounded_weights && p->N_q <= p->N_k - p->N_q &&
           backward_is_zero(s->tensor);
}

bool is_off_by_a_factor(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    double product = 0, square = 0;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        product += t->got[e] * t->want[e];
        square += t->want[e] * t->want[e];
    }
    const double factor = product / square;
    if (!(fabs(factor - 1) < 0.0625)) return false;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && !(fabs(t->got[e] - factor * t->want[e]) <= s->budget.max))
            return false;
    return true;
}

// Does this row have a number that is farther from its guess than an eighth of the largest one?
static bool is_row_of_other_size(const struct suspect* s, const double* guess, int64_t first,
                                 int64_t d) {
    double largest = 0, off = 0;
    for (int64_t e = first; e < first + d; e++) {
        if (!isfinite(guess[e]) || !isfinite(s->tensor->got[e])) return false;
        largest = fmax(largest, fabs(guess[e]));
        off = fmax(off, fabs(guess[e] - s->tensor->got[e]));
    }
    return off > largest / 8 + s->budget.max;
}

bool backward_has_rows_of_size(const struct suspect* s, const struct backward* w,
                               const double* guess) {
    const struct problem* p = s->problem;
    enum which a = ARRAY_dQ;
    while (p->array[a].tensor != s->tensor) a++;
    if (w->absolute || backward_count_nonfinite(s->tensor) == 0) return true;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t n = 0; n < rows_of(p, a); n++)
                if (!is_unknown(w->blocks, b, h, n, a != ARRAY_dQ) &&
                    is_row_of_other_size(s, guess, place_in(p, a, b, h, n), p->d))
                    return false;
    return true;
}

bool is_mask_of_one(const struct problem* p, const struct tensor* t) {
    const struct tensor *dK = p->array[ARRAY_dK].tensor, *dV = p->array[ARRAY_dV].tensor;
    double largest = 0, off = 0;
    for (int64_t e = 0; dK && e < dK->count; e++) {
        if (isnan(dK->want[e])) continue;
        largest = fmax(largest, fabs(dK->want[e]));
        off = fmax(off, isfinite(dK->got[e]) ? fabs(dK->got[e] - dK->want[e]) : INFINITY);
    }
    return t == dK || (t == dV && off <= largest / 64);
}

// Would dV show it, if pairs behind the diagonal had their weights?
static bool do_hidden_pairs_weigh(const struct problem* p) {
    const struct tensor* dV = p->array[ARRAY_dV].tensor;
    double largest = 0, hidden = 0;
    for (int64_t e = 0; e < dV->count; e++)
        if (isfinite(dV->want[e])) largest = fmax(largest, fabs(dV->want[e]));
    FOR_EACH_QUERY(p, b, h, i) {
        double size = 0;
        for (int64_t x = 0; x < p->d; x++) size = fmax(size, fabs(row_of(p, ARRAY_dO, b, h, i)[x]));
        for (int64_t j = keys_seen(p, i); j < p->N_k; j++)
            hidden = fmax(hidden, size * weight_of(p, b, h, i, j));
    }
    return hidden > largest / 16;
}

enum cause backward_of_one(const struct suspect* s, enum cause cause) {
    const struct problem* p = s->problem;
    const bool unmasked = cause == CAUSE_causal_ignored || cause == CAUSE_diagonal_unmasked ||
                          cause == CAUSE_masked_row;
    if (!unmasked || !p->causal || !is_mask_of_one(p, s->tensor)) return cause;
    return do_hidden_pairs_weigh(p) ? CAUSE_hidden_in_one : cause;
}
