// reach_cases.h: lesson 11's cases of so many rows that few of their blocks run. check.c alone
// includes it.
#ifndef REACH_CASES_H
#define REACH_CASES_H

#include "check/reach.h"
#include "head.h"

// Every other one of the last rows does not count: each has its own label.
static bool reached(struct check* c, const void* unused, int64_t rows) {
    enum { LAST = 8 };
    struct head h = head_of(c, rows, 1);
    (void)unused;
    head_begin(&h, "the last of many rows");
    for (int64_t row = 0; row < rows; row++) {
        const bool counts = row < rows - LAST || row % 2 == 0;
        logits_of(&h, row)[0] = (double)(1 + row % 251);
        if (!counts) set_label(&h, row, h.ignore_index);
        h.LSE->want[row] = counts ? *logits_of(&h, row) : 0;
    }
    check_run_few_blocks(c);
    check_run(c);
    return check_end_is_right(h.LSE);
}

// Rows of a width, for which there may be another kernel with another grid: is its launch refused?
static bool width_reached(struct check* c, const void* V, int64_t rows) {
    enum { SHOWN = 1 };
    struct head h = head_of(c, rows, *(const int64_t*)V);
    check_case(c, "rows = %lld, V = %lld", (long long)rows, (long long)h.V);
    declare_shown(c, &h, SHOWN);
    check_run_last_block(c);
    check_run(c);
    return true;
}

static void rows_reach(struct check* c) {
    enum { ROWS = 70000 };
    check_reaches(c, (1 << 16) + check_pick(c, 8, 40), reached, NULL);
    const int64_t V[] = {check_pick(c, 500, 4000), check_pick(c, 10000, 30000),
                         check_pick(c, 35000, 60000), check_pick(c, 110000, 150000)};
    for (int i = 0; i < 4; i++) check_takes(c, ROWS, width_reached, &V[i]);
}

// Are the gradients of the last row's logits, but for the label's, to each other what p - eps / V
// is? Few blocks run: of how many rows counts depends on which blocks count them.
static bool shares_are_right(const struct head* h) {
    const double *x = h->logits->value + h->logits->count - h->V, u = h->smoothing / (double)h->V;
    const double* g = h->logits->got + h->logits->count - h->V;
    const struct sums s = sums_of(x, h->V);
    const double high = exp(x[0] - s.m) / s.l - u, low = exp(x[1] - s.m) / s.l - u;
    return fabs(g[0] / g[1] - high / low) <= 0x1p-5 * fabs(high / low);
}

// V N, by which eps is divided, is more than 32 bits count.
static bool shares_reached(struct check* c, const void* unused, int64_t rows) {
    enum { V = 35000, SHOWN = 1 };
    struct head h = head_of(c, rows, V);
    (void)unused;
    h.smoothing = 0.5;
    check_case(c, "smoothed, the last of rows = %lld, V = %d", (long long)rows, V);
    declare_shown(c, &h, SHOWN);
    for (int64_t e = 0; e < h.logits->count; e++) h.logits->value[e] = e % 2 ? -2 : 2;
    for (int64_t row = 0; row < rows; row++) set_label(&h, row, 2 + row % (V - 2));
    check_run_few_of_many(c);
    check_run(c);
    return shares_are_right(&h);
}

static void shares_reach(struct check* c) {
    enum { BEYOND = 65500, FEWER = 1 << 10 };  // times V above 2^31, 3600 less as well
    check_products(c, BEYOND, FEWER, shares_reached, NULL);
}

#endif
