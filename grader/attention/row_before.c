// row_before.c: blocks that stay and take several tiles of rows, and begin a tile with what they
// know of the one before. See forward_mistakes.h.
#include "attention/backward_mistakes.h"
#include "attention/forward_mistakes.h"

enum { MOST_BLOCKS = 512 };  // that stay

// The mistake: what is not begun anew, and the way of the blocks.
struct kept {
    enum { MAXIMUM_AND_SUM, ALL, ALL_BUT_SUM, MAXIMUM } what;
    bool heads_inside;  // the tiles of all heads come first, then the next tile of each
    int64_t rows;       // of a tile
    int64_t blocks;
};

// The row that the block of row n of head h of array a took before: false if that is its first
// tile. Heads are those of the array.
static bool find_before(const struct problem* p, const struct kept* k, enum which a, int64_t* b,
                        int64_t* h, int64_t* n) {
    const int64_t of_batch = p->H / sharing(p, a), heads = p->B * of_batch;
    const int64_t tiles = (rows_of(p, a) + k->rows - 1) / k->rows;
    const int64_t tile = *n / k->rows, head = *b * of_batch + *h;
    const int64_t work = k->heads_inside ? tile * heads + head : head * tiles + tile;
    const int64_t before = work - k->blocks;
    if (before < 0) return false;
    const int64_t of_head = k->heads_inside ? before % heads : before / tiles;
    *b = of_head / of_batch, *h = of_head % of_batch;
    *n = (k->heads_inside ? before / heads : before % tiles) * k->rows + *n % k->rows;
    return true;
}

// Only the maximum is left: of all rows that the block took. It does no harm, unless it is so far
// above that every weight is 0, and so is O.
static bool row_of_maximum(const struct problem* p, const void* how, int64_t b, int64_t h,
                           int64_t i, double* O, double* LSE) {
    enum { HARMLESS = 80, NOTHING_LEFT = 110 };
    const struct tensor *of_O = p->array[ARRAY_O].tensor, *of_LSE = p->array[ARRAY_LSE].tensor;
    const double* own = of_O->want + place_in(p, ARRAY_O, b, h, i);
    const double own_LSE = of_LSE->want[place_in(p, ARRAY_LSE, b, h, i)];
    double largest = own_LSE;
    while (find_before(p, how, ARRAY_O, &b, &h, &i) && i < p->N_q)
        largest = fmax(largest, of_LSE->want[place_in(p, ARRAY_LSE, b, h, i)]);
    const bool left = largest - own_LSE < HARMLESS;
    for (int64_t x = 0; x < p->d; x++) O[x] = left ? own[x] : 0;
    *LSE = left ? own_LSE : -INFINITY;
    return left || largest - own_LSE > NOTHING_LEFT;
}

// What the kernel itself has stored of the row before says what the block knew.
static bool row_of_kept(const struct problem* p, const void* how, int64_t b, int64_t h, int64_t i,
                        double* O, double* LSE) {
    const struct kept* k = how;
    const struct tensor *of_O = p->array[ARRAY_O].tensor, *of_LSE = p->array[ARRAY_LSE].tensor;
    const double* own = of_O->want + place_in(p, ARRAY_O, b, h, i);
    const double own_LSE = of_LSE->want[place_in(p, ARRAY_LSE, b, h, i)];
    const double *other = own, *const got = of_O->got;
    double both = own_LSE, more = 0;
    if (find_before(p, k, ARRAY_O, &b, &h, &i)) {
        if (i >= p->N_q) return false;  // of a tile that is not full: what it knew is not stored
        const double LSE_before = of_LSE->got[place_in(p, ARRAY_LSE, b, h, i)];
        other = got + place_in(p, ARRAY_O, b, h, i);
        if (k->what != ALL_BUT_SUM) both += log1p(exp(LSE_before - own_LSE));
        if (k->what != MAXIMUM_AND_SUM) more = exp(LSE_before - both);
    }
    for (int64_t x = 0; x < p->d; x++)
        O[x] = own[x] * exp(own_LSE - both) + (more > 0 ? more * other[x] : 0);
    *LSE = both;
    return isfinite(both);
}

// What is a little off everywhere was rounded. Where rows are alike, half of what it is off looks
// as if it came from the row before.
static bool is_far_off(const struct suspect* s) {
    const struct tensor* t = s->tensor;
    for (int64_t e = 0; e < t->count; e++)
        if (!t->untouched[e] && !(fabs(t->got[e] - t->want[e]) <= 4 * s->budget.max)) return true;
    return false;
}

bool is_row_before_kept(const struct suspect* s) {
    const struct problem* p = s->problem;
    const int64_t heads = p->B * p->H;
    struct kept k;
    if (!is_far_off(s)) return false;
    for (k.rows = 16; k.rows <= 128; k.rows *= 2)
        for (int way = 0; way < (heads > 1 && p->N_q > k.rows ? 2 : 1); way++)
            for (int what = MAXIMUM_AND_SUM; what <= MAXIMUM; what++) {
                const int64_t works = (p->N_q + k.rows - 1) / k.rows * heads;
                forward_row* const row_of = what == MAXIMUM ? row_of_maximum : row_of_kept;
                k.what = what, k.heads_inside = way;
                for (k.blocks = 1; k.blocks < works && k.blocks <= MOST_BLOCKS; k.blocks++)
                    if (forward_is_made_of_rows(s, row_of, &k)) return true;
            }
    return false;
}

// Is each row of a gradient what is wanted, and with it what stands in the row before? That one is
// rounded.
static bool adds_row_before(const struct suspect* s, const struct kept* k, enum which a) {
    const struct problem* p = s->problem;
    const struct tensor* t = s->tensor;
    bool any = false;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H / sharing(p, a); h++)
            for (int64_t n = 0; n < rows_of(p, a); n++) {
                const int64_t here = place(p->array[a].stride, b, h, n);
                int64_t of_b = b, of_h = h, of_n = n;
                const bool is_later = find_before(p, k, a, &of_b, &of_h, &of_n);
                const int64_t before = place(p->array[a].stride, of_b, of_h, of_n);
                if (is_later && of_n >= rows_of(p, a)) continue;
                for (int64_t x = 0; x < p->d; x++) {
                    const double more = is_later ? t->got[before + x] : 0;
                    const double off = fabs(t->got[here + x] - t->want[here + x] - more);
                    if (!(off <= s->budget.max + 2 * dtype_ulp(t->dtype, more))) return false;
                    any |= fabs(more) > 4 * s->budget.max;
                }
            }
    return any;
}

bool is_gradient_of_row_before(const struct suspect* s) {
    static const enum which gradients[] = {ARRAY_dV, ARRAY_dK, ARRAY_dQ};
    const struct problem* p = s->problem;
    for (int g = 0; g < 3; g++) {
        const enum which a = gradients[g];
        const int64_t heads = p->B * (p->H / sharing(p, a));
        if (s->tensor != p->array[a].tensor) continue;
        for (int64_t rows = 16; rows <= 128; rows *= 2) {
            const int64_t works = (rows_of(p, a) + rows - 1) / rows * heads;
            for (int way = 0; way < (heads > 1 && rows_of(p, a) > rows ? 2 : 1); way++)
                for (int64_t blocks = 1; blocks < works && blocks <= MOST_BLOCKS; blocks++) {
                    const struct kept k = {.heads_inside = way, .rows = rows, .blocks = blocks};
                    if (adds_row_before(s, &k, a)) return true;
                }
        }
    }
    return false;
}
