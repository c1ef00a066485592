// taken.c: an operand whose elements are taken from wrong places; see taken.h.
#include "attention/taken.h"

const enum cause causes_of_taken[WAYS_TO_TAKE] = {[OTHER_PIECE] = CAUSE_swizzle,
                                                  [TRANSPOSED] = CAUSE_transposed,
                                                  [MATRICES] = CAUSE_fragment_order,
                                                  [ROWS] = CAUSE_fragment_order,
                                                  [PAIRS] = CAUSE_fragment_order};

void taken_from(enum taken how, int64_t* n, int64_t* x) {
    int64_t row = *n, column = *x;
    switch (how) {
    case OTHER_PIECE:
        *x = ((column / 8) ^ (row % 8)) * 8 + column % 8;
        break;
    case TRANSPOSED:
        *n = row / 8 * 8 + column % 8;
        *x = column / 8 * 8 + row % 8;
        break;
    case MATRICES:
        if ((row / 8 + column / 8) % 2 == 0) break;
        *n = row ^ 8;
        *x = column ^ 8;
        break;
    case ROWS:
        *n = row ^ 8;
        break;
    case PAIRS:
        *x = column ^ 1;
        break;
    case TILE_16:
    case TILE_32: {
        const int64_t T = how == TILE_16 ? 16 : 32;
        *n = row / T * T + column % T;
        *x = column / T * T + row % T;
        break;
    }
    case AS_IT_IS:
        break;
    }
}

void asked_about(enum asked how, int64_t* row, int64_t* column) {
    const int64_t h = *row / 8 % 2, e = *column % 2, n = *column / 8;
    if (how == FIRST_OF_PAIR) *column -= e;
    if (how == OF_LANE_0) *column = 8 * n + e;
    if (how == COLUMN_OF_H || how == H_AND_E) *column += h - e;
    if (how == ROW_OF_E || how == H_AND_E) *row += 8 * (e - h);
    if (how == ROW_E_OF_32) *row = *row / 32 * 32 + *row % 8 + 8 * e;
    if (how == ROW_OF_G) *row -= 8 * h;
    if (how == ROW_OF_16) *row -= *row / 16 % 2 * 16;
    if (how == OF_FIRST_8) *column %= 8;
    if (how == BY_N) *column -= 7 * n;
    if (how == OF_FIRST_16) *column %= 16;
    if (how == OF_FIRST_32) *column %= 32;
}

double* take(const struct problem* p, enum taken how, enum which a, const double* value) {
    int64_t N = rows_of(p, a), count = p->array[a].tensor->count;
    double* to = check_allocate(p->check, count, sizeof *to);
    for (int64_t e = 0; e < count; e++) to[e] = NAN;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t n = 0; n < N; n++)
                for (int64_t x = 0; x < p->d; x++) {
                    int64_t from_n = n, from_x = x;
                    taken_from(how, &from_n, &from_x);
                    to[place_in(p, a, b, h, n) + x] =
                        from_n < N ? value[place_in(p, a, b, h, from_n) + from_x] : 0;
                }
    return to;
}
