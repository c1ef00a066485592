// mistakes.c: see mistakes.h.
#include "rows/mistakes.h"

#include <math.h>
#include <stdlib.h>

struct suspect batch_suspect(const struct batch* b, const struct tensor* t) {
    int i = t == b->out[1];
    return (struct suspect){.tensor = t,
                            .budget = {.max = b->tolerance[i], .mean = b->tolerance[i]},
                            .slack = b->slack[i],
                            .problem = b};
}

bool batch_keeps_rows(const struct batch* b, int i) {
    const double *want = b->out[i]->want, *got = b->out[i]->got;
    double* so_far = check_allocate(b->check, b->rows, sizeof *so_far);
    int64_t wrong = 0, blocks = 1;
    while (wrong < b->rows && got[wrong] == want[wrong]) wrong++;
    for (; blocks <= wrong && wrong < b->rows; blocks++) {
        int64_t row = 0;
        for (; row < b->rows; row++) {
            so_far[row] = row < blocks ? want[row] : fmax(want[row], so_far[row - blocks]);
            if (got[row] != so_far[row]) break;
        }
        if (row == b->rows) break;
    }
    free(so_far);
    return blocks <= wrong && wrong < b->rows;
}

static bool is_like(const struct suspect* s, const double* guess) {
    return hypothesis_fit(s->tensor, guess, s->budget, s->slack) != FIT_NONE;
}

static bool make(const struct suspect* s, const struct hypothesis* h, int variant, double* guess,
                 bool or_one) {
    const struct batch* b = s->problem;
    const struct pair_mistake* mistake = h->like;
    int i = s->tensor == b->out[1];
    const struct suspect other = batch_suspect(b, b->out[!i]);
    // A call with fewer rows leaves the end of the outputs alone.
    const int64_t count = s->tensor->count;
    double* beside = check_allocate(b->check, count, sizeof *beside);
    bool possible = true;
    for (int64_t row = b->rows; row < count; row++) guess[row] = beside[row] = ANYTHING;
    for (int64_t row = 0; row < b->rows && possible; row++) {
        struct pair pair = mistake->left(b, row, variant);
        guess[row] = pair.number[i];
        beside[row] = pair.number[!i];
        possible = !hypothesis_refuted(s, row, guess[row]);
    }
    possible =
        possible && (is_like(&other, beside) || (or_one && is_like(&other, other.tensor->want)));
    free(beside);
    return possible;
}

bool make_pairs(const struct suspect* s, const struct hypothesis* h, int variant, double* guess) {
    return make(s, h, variant, guess, false);
}

bool make_pairs_or_one(const struct suspect* s, const struct hypothesis* h, int variant,
                       double* guess) {
    return make(s, h, variant, guess, true);
}
