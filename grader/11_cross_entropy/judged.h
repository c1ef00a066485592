// judged.h: how a case of lesson 11 is judged: loss, LSE and gradients, each element by its own
// share of the error. For check.c.
#ifndef JUDGED_H
#define JUDGED_H

#include "mistakes.h"

// The first element that is off by more than its own share.
static void compare_each(struct check* c, const struct head* h, const struct tensor* t,
                         const double* allowed, double least) {
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e] || !isfinite(t->want[e])) continue;
        if (fabs(t->got[e] - t->want[e]) <= allowed[e]) continue;
        enum cause cause = explain_within(h, t, (struct budget){.max = least},
                                          t->dtype == BF16 ? 0x1p-7 : 0x1p-20);
        check_fail(c, cause ? cause : CAUSE_low_precision, "%s[%lld] is %.9g, expected %.9g",
                   t->name, (long long)e, t->got[e], t->want[e]);
    }
}

static void compare_all(struct check* c, const struct head* h, struct tensor* t,
                        const double* allowed) {
    double most = 0, sum = 0, count = 0, least = INFINITY;
    for (int64_t e = 0; e < t->count; e++) {
        if (t->untouched[e]) continue;
        most = fmax(most, allowed[e]);
        if (allowed[e] > 0) least = fmin(least, allowed[e]);
        sum += allowed[e];
        count += 1;
    }
    check_compare(c, t, (struct budget){.max = most, .mean = sum / count});
    compare_each(c, h, t, allowed, least);
}

static void compare(struct check* c, struct head* h) {
    struct allowed a = {.LSE = check_allocate(c, h->rows, sizeof(double)),
                        .gradient = check_allocate(c, h->logits->count, sizeof(double))};
    want(h, &a);
    compare_all(c, h, h->LSE, a.LSE);
    compare_all(c, h, h->logits, a.gradient);
    compare_all(c, h, h->loss, &a.loss);
    free(a.LSE), free(a.gradient);
}

static void run(struct check* c, struct head* h) {
    check_run(c);
    compare(c, h);
}

#endif
