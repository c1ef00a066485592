// max_of_rows.c: rows that take the largest score of several rows for their own, as lanes do that
// ask more lanes than those that share their row. See forward_mistakes.h.
#include <math.h>
#include <stdlib.h>

#include "attention/forward_mistakes.h"

// How far below what is subtracted a row's largest score begins to lose weights, and how far below
// it has none: exp(-88) is 2^-126, below which fp32 is subnormal or 0, and exp(-104) is 0.
enum { LOSES = 70, HAS_NONE = 105 };

static double largest_of_row(const struct problem* p, int64_t b, int64_t h, int64_t i) {
    double m = -INFINITY;
    for (int64_t j = 0; j < keys_seen(p, i) && j < p->N_k; j++)
        if (pair_times(p, blocks_of(p), b, h, i, j)) m = fmax(m, score(p, b, h, i, j));
    return m;
}

static bool is_row_wrong(const struct suspect* s, int64_t b, int64_t h, int64_t i) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    const int64_t first = place_in(p, is_O(s) ? ARRAY_O : ARRAY_LSE, b, h, i);
    bool wrong = false;
    for (int64_t e = first; e < first + (is_O(s) ? p->d : 1); e++)
        wrong |= t->got[e] != t->want[e] && !(fabs(t->got[e] - t->want[e]) <= s->budget.max);
    return wrong;
}

// Do rows have a maximum in common whose numbers differ in the bits of `others` alone? Then those
// are wrong, and no others, that lie far below it.
static bool is_common(const struct suspect* s, const double* largest, int64_t others) {
    enum { MOST = 32 };
    const struct problem* p = s->problem;
    int64_t at = 0;
    bool any = false;
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t first = i / MOST * MOST;
        double m = -INFINITY;
        for (int64_t k = first; k < first + MOST && k < p->N_q; k++)
            if (((k ^ i) & ~others) == 0) m = fmax(m, largest[at - i + k]);
        const double below = m - largest[at++];
        const bool is_nothing =
            p->array[ARRAY_LSE].tensor->got[place_in(p, ARRAY_LSE, b, h, i)] == -INFINITY;
        const bool wrong = is_row_wrong(s, b, h, i);
        if (wrong ? !(below > LOSES) : below > HAS_NONE) return false;
        // where l is 0, LSE says that
        if (below > HAS_NONE && !is_nothing) return false;
        any |= below > LOSES && is_nothing;
    }
    return any;
}

static bool is_maximum_of_rows(const struct suspect* s) {
    const struct problem* p = s->problem;
    double* largest = check_allocate(p->check, p->B * p->H * p->N_q, sizeof *largest);
    int64_t at = 0;
    bool found = false;
    FOR_EACH_QUERY(p, b, h, i) largest[at++] = largest_of_row(p, b, h, i);
    for (int64_t rows = 2; rows <= 32; rows *= 2) found |= is_common(s, largest, rows - 1);
    found |= is_common(s, largest, 8);  // the two rows of a lane of a fragment
    free(largest);
    return found;
}

// The last key of a tile is hidden from all its rows but the last one. Where scores grow from key
// to key the maximum of that row, and one of hidden scores, are the same number.
static bool is_maximum_of_hidden(const struct suspect* s) {
    struct forward_mistake w = forward_right(s->problem);
    w.flaw = MASKED_IN_MAXIMUM;
    for (w.block_q = 16; w.causal && w.block_q <= 128; w.block_q *= 2)
        for (w.block_k = 16; w.block_k <= 128; w.block_k *= 2)
            if (is_forward(s, &w)) return true;
    return false;
}

enum cause explain_maximum_of_rows(const struct suspect* s) {
    if (!is_maximum_of_rows(s)) return CAUSE_NONE;
    return is_maximum_of_hidden(s) ? CAUSE_mask_late : CAUSE_max_of_rows;
}
