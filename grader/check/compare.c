// compare.c: see compare.h.
#include "check/compare.h"

#include <math.h>
#include <stddef.h>

enum verdict compare_element(double want, double got, bool poisoned, bool untouched,
                             double tolerance) {
    if (untouched) return poisoned ? RIGHT : TOUCHED;
    if (poisoned) return NEVER_WRITTEN;
    if (isnan(want)) return isnan(got) ? RIGHT : WRONG;
    if (isinf(want)) return got == want ? RIGHT : WRONG;
    if (!isfinite(got)) return WRONG;
    return !(fabs(got - want) <= tolerance) ? WRONG : RIGHT;
}

double compare_growth(double want, double got) {
    return want < 0 ? want - got : got - want;
}

struct comparison compare(const double* want, const double* got, const bool* poisoned,
                          const bool* untouched, int64_t n, struct budget budget) {
    struct comparison c = {.count = n, .first = -1, .worst_at = -1};
    double sum = 0, growth = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        bool poison = poisoned && poisoned[i], skip = untouched && untouched[i];
        enum verdict v = compare_element(want[i], got[i], poison, skip, budget.max);
        if (v != RIGHT) {
            if (c.first < 0) c.first = i;
            c.wrong++;
        }
        c.expected += !skip;
        if (v == NEVER_WRITTEN) c.never_written++;
        if (v == TOUCHED) c.touched++;
        if (skip || poison || !isfinite(want[i])) continue;
        if (!isfinite(got[i])) {
            c.nonfinite++;
            continue;
        }
        double error = fabs(got[i] - want[i]);
        sum += error;
        growth += compare_growth(want[i], got[i]);
        finite++;
        if (c.worst_at < 0 || error > c.worst) {
            c.worst = error;
            c.worst_at = i;
        }
    }
    c.mean = finite ? sum / (double)finite : 0;
    c.mean_exceeded = !(c.mean <= budget.mean);
    c.bias = finite ? growth / (double)finite : 0;
    c.bias_exceeded = budget.bias > 0 && !(fabs(c.bias) <= budget.bias);
    if ((c.mean_exceeded || c.bias_exceeded) && c.first < 0) c.first = c.worst_at;
    return c;
}

bool comparison_passes(const struct comparison* c) {
    return c->count > 0 && c->wrong == 0 && !c->mean_exceeded && !c->bias_exceeded;
}
