// taken.h: the ways in which a kernel with tensor cores takes an operand's elements from wrong places.
#ifndef TAKEN_H
#define TAKEN_H

#include <stdint.h>

enum taken {
    AS_IT_IS,     // no mistake
    OTHER_PIECE,  // pieces of 8 elements at c ^ n % 8: swizzled on one side only
    TRANSPOSED,   // every 8 x 8 matrix transposed: .trans missing, or one too many
    MATRICES,     // of every 2 x 2 of 8 x 8 matrices, the upper right and the lower left swapped
    ROWS,         // rows g and g + 8 swapped
    WAYS_TO_TAKE
};

static const enum cause causes_of_taken[WAYS_TO_TAKE] = {[OTHER_PIECE] = CAUSE_swizzle,
                                                         [TRANSPOSED] = CAUSE_transposed,
                                                         [MATRICES] = CAUSE_fragment_order,
                                                         [ROWS] = CAUSE_fragment_order};

// Which element of the array lands where element (n, x) belongs.
static void taken_from(enum taken how, int64_t* n, int64_t* x) {
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
    case AS_IT_IS:
    case WAYS_TO_TAKE:
        break;
    }
}

#endif
