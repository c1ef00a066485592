// parts.h: what LSE and loss of lesson 11 are where some of a row's logits are missing, or others
// are counted, too. For mistakes.h.
#ifndef PARTS_H
#define PARTS_H

#include "head.h"

enum { PIECE = 8 };  // logits that are loaded at once, from multiples of 16 bytes on

// How many logits of the row that begins at element `at` lie before its first whole piece; and is
// logit j in a whole piece?
static int64_t head_of_row(const struct head* h, int64_t at) {
    const int64_t later = (PIECE - at % PIECE) % PIECE;
    return later < h->V ? later : h->V;
}
static bool is_in_piece(const struct head* h, int64_t at, int64_t j) {
    const int64_t first = head_of_row(h, at);
    return j >= first && j < first + (h->V - first) / PIECE * PIECE;
}

static bool differs(double got, double want, double allowed) {
    if (isnan(want)) return !isnan(got);
    return !(got == want || fabs(got - want) <= allowed);
}

// Does each LSE count as many numbers from behind the row, out of the gap or the next row?
static bool is_read_on(const struct head* h, double allowed) {
    enum { MOST = 64 };
    for (int64_t more = 1; more <= MOST; more++) {
        bool all = true, any = false;
        for (int64_t row = 0; row < h->rows && all; row++) {
            const int64_t end = place_of(h, row, h->V - 1) + more;
            if (!counts(h, row) || end >= h->logits->count) continue;
            const struct sums s = sums_of(logits_of(h, row), h->V + more);
            all = !differs(h->LSE->got[row], s.m + log(s.l), allowed), any = true;
        }
        if (all && any) return true;
    }
    return false;
}

// LSE lacks some logits, or has numbers too many: as the end of a row, or its logits outside of
// whole pieces, or what a row is filled up with would make it.
static enum cause from_LSE(const struct head* h, double allowed) {
    enum { FRONT, BACK, BOTH, EDGES };
    bool less = true, dropped[16], padded[16], edge[EDGES] = {true, true, true};
    for (int k = 0; k < 16; k++) dropped[k] = padded[k] = true;
    for (int64_t row = 0; row < h->rows; row++) {
        const double got = h->LSE->got[row];
        if (!counts(h, row)) continue;
        less &= got <= h->LSE->want[row] + allowed;
        const double* x = logits_of(h, row);
        for (int k = 0; k < 16; k++) {
            int64_t piece = (int64_t)1 << k, left = h->V - h->V % piece,
                    pad = (piece - h->V % piece) % piece;
            struct sums s = sums_of(x, left), all = sums_of(x, h->V);
            double m = fmax(all.m, 0), l = all.l * exp(all.m - m) + (double)pad * exp(-m);
            dropped[k] &= !differs(got, s.m + log(s.l), allowed);
            padded[k] &= !differs(got, m + log(l), allowed);
        }
        const int64_t head = head_of_row(h, place_of(h, row, 0)), back = (h->V - head) % PIECE;
        for (int e = 0; e < EDGES; e++) {
            const int64_t begin = e == BACK ? 0 : head, end = e == FRONT ? h->V : h->V - back;
            struct sums s = sums_of(x + begin, end - begin);
            edge[e] &= !differs(got, s.m + log(s.l), allowed);
        }
    }
    for (int k = 1; k < 16; k++)
        if (dropped[k] || padded[k]) return CAUSE_inner_tail;
    for (int e = 0; e < EDGES; e++)
        if (edge[e]) return CAUSE_inner_tail;
    return less ? CAUSE_merge_lost : is_read_on(h, allowed) ? CAUSE_inner_tail : CAUSE_NONE;
}

// Was something divided by more than there is to count? Then the count began with any number.
static bool is_no_count(const struct head* h, double factor) {
    return (double)rows_that_count(h) / factor > 64.0 * (double)h->rows * (double)h->V;
}

// Of logits that are all in l, a part is not in their sum: no rounding takes so much of it.
static bool is_sum_short(const struct head* h) {
    const double off = fabs(h->loss->got[0] - h->loss->want[0]) / h->smoothing;
    double size = 0, N = (double)rows_that_count(h);
    for (int64_t row = 0; row < h->rows; row++)
        for (int64_t j = 0; counts(h, row) && j < h->V; j++)
            size += fabs(logits_of(h, row)[j]) / ((double)h->V * N);
    return h->smoothing > 0 && isfinite(size) && off > 0.02 * size;
}

#endif
