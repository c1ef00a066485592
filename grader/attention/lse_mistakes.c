// lse_mistakes.c: an LSE that is another function of m and l, or stands in another order. See
// forward_mistakes.h.
#include <math.h>

#include "attention/forward_mistakes.h"

enum lse_way {
    NO_MAX,
    UNSCALED,
    BASE2,
    BASE2_OF_L,
    BASE2_OF_M,
    BASE10,
    LN2_TWICE,  // multiplied by ln 2 once too often: all, the sum, or the maximum
    LN2_TWICE_OF_L,
    LN2_TWICE_OF_M,
    NO_LOGARITHM,
    EPSILON,           // l is too large by 1e-3, 1e-4 and so on
    POWERS_OF_2_OF_L,  // ln of the sum of powers of 2
    LAZY,              // l is relative to a maximum that lags behind
    ROWS_OUTSIDE
};

// The LSE of one row, from the right one and the largest score.
static double lse_of(enum lse_way way, double lse, double m, double scale) {
    switch (way) {
    case NO_MAX:
        return lse - m;
    case UNSCALED:
        return m / scale + (lse - m);
    case BASE2:
        return lse / log(2);
    case BASE2_OF_L:
        return m + (lse - m) / log(2);
    case BASE2_OF_M:
        return m / log(2) + (lse - m);
    case BASE10:
        return m + (lse - m) / log(10);
    case LN2_TWICE:
        return lse * log(2);
    case LN2_TWICE_OF_L:
        return m + (lse - m) * log(2);
    case LN2_TWICE_OF_M:
        return m * log(2) + (lse - m);
    case NO_LOGARITHM:
        return m + exp(lse - m);
    case EPSILON:
    case POWERS_OF_2_OF_L:
    case LAZY:
    case ROWS_OUTSIDE:
        break;
    }
    return lse;
}

// ln of the sum of 2^(S - m) over the keys of query i
static double ln_of_powers(const struct problem* p, int64_t b, int64_t h, int64_t i, double m) {
    double sum = 0;
    for (int64_t j = 0; j < keys_seen(p, i); j++)
        if (pair_times(p, blocks_of(p), b, h, i, j)) sum += exp2(score(p, b, h, i, j) - m);
    return log(sum);
}

enum { LAZY_VARIANTS = 4 * 2 * 2 };  // tiles of 16 to 128 keys; both ways; two limits

// The maximum that l of query i is relative to, if it is moved only where the new one is so far
// above it: by 2^8, or by e^8.
static double lazy_max(const struct problem* p, int64_t b, int64_t h, int64_t i, int variant) {
    const int64_t tile = 16 << variant % 4, seen = keys_seen(p, i);
    const int64_t tiles = (seen + tile - 1) / tile;
    const bool backwards = variant / 4 % 2 == 0;
    const double limit = variant / 8 == 0 ? 8 * log(2) : 8;
    double used = -INFINITY, m = -INFINITY;
    for (int64_t n = 0; n < tiles; n++) {
        const int64_t first = (backwards ? tiles - 1 - n : n) * tile;
        for (int64_t j = first; j < first + tile && j < seen; j++)
            if (pair_times(p, blocks_of(p), b, h, i, j)) m = fmax(m, score(p, b, h, i, j));
        if (m > -INFINITY && !(m - used < limit)) used = m;
    }
    return used;
}

static bool make_LSE(const struct suspect* s, const struct hypothesis* known, int variant,
                     double* guess) {
    const struct problem* p = s->problem;
    const enum lse_way way = *(const enum lse_way*)known->like;
    if (way == ROWS_OUTSIDE && p->H == 1) return false;
    FOR_EACH_QUERY(p, b, h, i) {
        int64_t to = place_in(p, ARRAY_LSE, b, h, i);
        double lse = s->tensor->want[to], m = -INFINITY;
        for (int64_t j = 0; j < keys_seen(p, i) && way != ROWS_OUTSIDE; j++)
            if (pair_times(p, blocks_of(p), b, h, i, j)) m = fmax(m, score(p, b, h, i, j));
        if (way == LAZY && m > -INFINITY) lse += m - lazy_max(p, b, h, i, variant);
        if (way == POWERS_OF_2_OF_L) lse = m + ln_of_powers(p, b, h, i, m);
        if (way == EPSILON && m > -INFINITY) lse += log1p(pow(10, -3 - variant) / exp(lse - m));
        if (way == ROWS_OUTSIDE) to = (b * p->N_q + i) * p->H + h;  // (B, N_q, H), like O
        guess[to] = m == -INFINITY ? lse : lse_of(way, lse, m, p->scale);
    }
    return true;
}

#define LSE_WAY(way) make_LSE, .like = (&(const enum lse_way){way})

static const struct hypothesis known_LSE[] = {
    {CAUSE_lse_no_max, LSE_WAY(NO_MAX)},
    {CAUSE_lse_unscaled, LSE_WAY(UNSCALED)},
    {CAUSE_lse_base2, LSE_WAY(BASE2)},
    {CAUSE_lse_base2, LSE_WAY(BASE2_OF_L)},
    {CAUSE_lse_base2, LSE_WAY(BASE2_OF_M)},
    {CAUSE_lse_base2, LSE_WAY(BASE10)},
    {CAUSE_lse_base2, LSE_WAY(LN2_TWICE)},
    {CAUSE_lse_base2, LSE_WAY(LN2_TWICE_OF_L)},
    {CAUSE_lse_base2, LSE_WAY(LN2_TWICE_OF_M)},
    {CAUSE_lse_no_log, LSE_WAY(NO_LOGARITHM)},
    {CAUSE_exp2_base, LSE_WAY(POWERS_OF_2_OF_L)},
    {CAUSE_epsilon_added, LSE_WAY(EPSILON), .variants = 5},
    {CAUSE_transposed, LSE_WAY(ROWS_OUTSIDE)},
    {CAUSE_lse_other_max, LSE_WAY(LAZY), .variants = LAZY_VARIANTS},
    {0},
};

// Every LSE should be 0, and is too large by no more than a small number added to l makes it.
static bool is_slightly_larger(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    for (int64_t e = 0; e < t->count; e++) {
        bool larger = t->want[e] == 0 && t->got[e] > 0 && t->got[e] < 1e-3;
        if (!t->untouched[e] && !larger) return false;
    }
    return true;
}

// O is right, and so are m and l; what is infinite is the LSE of scores whose exp() is infinite or
// 0: it was taken of exp(m) l.
static bool is_infinite_beside_O(const struct suspect* s) {
    const double of_exp = 85, rounding = 0.01;
    const struct problem* p = s->problem;
    const struct tensor *O = p->array[ARRAY_O].tensor, *LSE = s->tensor;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t row = place_in(p, ARRAY_LSE, b, h, i), first = place_in(p, ARRAY_O, b, h, i);
        const double got = LSE->got[row], want = LSE->want[row];
        for (int64_t e = first; e < first + p->d; e++)
            if (!(fabs(O->got[e] - O->want[e]) <= rounding * (1 + fabs(O->want[e])))) return false;
        if (isfinite(want) && isinf(got) && fabs(want) > of_exp)
            any = true;
        else if (got != want && !(fabs(got - want) <= 1e-3 + 1e-5 * fabs(want)))
            return false;
    }
    return any;
}

enum cause explain_LSE(const struct suspect* s) {
    if (is_O(s)) return CAUSE_NONE;
    if (is_infinite_beside_O(s)) return CAUSE_overflow;
    enum cause cause = hypothesis_search(s, known_LSE);
    return !cause && is_slightly_larger(s) ? CAUSE_epsilon_added : cause;
}
