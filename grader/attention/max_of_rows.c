// max_of_rows.c: rows that take the largest score of several rows for their own, as lanes do that
// ask more lanes than those that share their row. See forward_mistakes.h.
#include <math.h>

#include "attention/forward_mistakes.h"

// So many rows, one below the other, have a maximum in common; of what is 0 all over, O is 0 or NaN.
struct common {
    int64_t rows;
    bool guarded;
};

static double largest_of_row(const struct problem* p, int64_t b, int64_t h, int64_t i) {
    double m = -INFINITY;
    for (int64_t j = 0; j < keys_seen(p, i) && j < p->N_k; j++) m = fmax(m, score(p, b, h, i, j));
    return m;
}

static bool row_of_common(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                          double* O, double* LSE) {
    const struct common* c = how;
    const int64_t first = i / c->rows * c->rows;
    double m = -INFINITY, l = 0;
    for (int64_t k = first; k < first + c->rows && k < p->N_q; k++)
        m = fmax(m, largest_of_row(p, b, h, k));
    for (int64_t x = 0; x < p->d; x++) O[x] = 0;
    for (int64_t j = 0; j < keys_seen(p, i) && j < p->N_k; j++) {
        const double weight = exp32(score(p, b, h, i, j) - m);
        l += weight;
        for (int64_t x = 0; x < p->d; x++) O[x] += weight * row_of(p, ARRAY_V, b, h, j)[x];
    }
    for (int64_t x = 0; x < p->d; x++) O[x] = l > 0 || !c->guarded ? O[x] / l : 0;
    *LSE = m + log(l);
    return true;
}

bool is_maximum_of_rows(const struct suspect* s) {
    for (int64_t rows = 2; rows <= 32; rows *= 2)
        for (int guarded = 0; guarded <= 1; guarded++) {
            const struct common c = {rows, guarded};
            if (forward_is_made_of_rows(s, row_of_common, &c)) return true;
        }
    return false;
}
