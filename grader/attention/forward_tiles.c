// forward_tiles.c: is an output what a mistake gives, of which a function makes rows? See
// forward_mistakes.h.
#include <stdlib.h>
#include <string.h>

#include "attention/forward_mistakes.h"

// Mistakes of which rows_of() gives so many rows at a time.
struct tiles {
    int64_t rows;
    forward_rows* rows_of;
    const void* how;
};

static bool row_of_tiles(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                         double* O, double* LSE) {
    const struct tiles* t = how;
    double O_of[MAX_ROWS * MAX_HEAD], LSE_of[MAX_ROWS];
    const int64_t r = i % t->rows;
    if (!t->rows_of(p, t->how, b, h, i - r, O_of, LSE_of)) return false;
    memcpy(O, O_of + r * p->d, (size_t)p->d * sizeof *O);
    *LSE = LSE_of[r];
    return true;
}

// The outputs, where they are stored. False if rows_of() does not know some of them.
static bool put_tiles(const struct problem* p, const struct tiles* t, double* O, double* LSE) {
    double O_of[MAX_ROWS * MAX_HEAD], LSE_of[MAX_ROWS];
    FOR_EACH_QUERY(p, b, h, i) {
        const int64_t r = i % t->rows;
        if (r == 0 && !t->rows_of(p, t->how, b, h, i, O_of, LSE_of)) return false;
        memcpy(O + place_in(p, ARRAY_O, b, h, i), O_of + r * p->d, (size_t)p->d * sizeof *O);
        LSE[place_in(p, ARRAY_LSE, b, h, i)] = LSE_of[r];
    }
    return true;
}

bool forward_is_made_of_tiles(const struct suspect* s, int64_t rows, forward_rows* rows_of,
                              const void* how) {
    const struct problem* p = s->problem;
    const struct tiles t = {rows, rows_of, how};
    const int64_t n_O = p->array[ARRAY_O].tensor->count;
    const int64_t n_LSE = p->array[ARRAY_LSE].tensor->count;
    if (!forward_rows_fit(s, row_of_tiles, &t)) return false;
    double* guess = check_allocate(p->check, n_O + n_LSE, sizeof *guess);
    for (int64_t e = 0; e < n_O + n_LSE; e++) guess[e] = NAN;  // what the kernel does not write
    const bool known = put_tiles(p, &t, guess, guess + n_O);
    const bool yes = known && is_guess(s, is_O(s) ? guess : guess + n_O);
    free(guess);
    return yes;
}

bool forward_is_made_of_rows(const struct suspect* s, forward_row* row_of, const void* how) {
    return forward_is_made_of_tiles(s, 1, row_of, how);
}
