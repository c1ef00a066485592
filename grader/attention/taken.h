// taken.h: the ways in which a kernel with tensor cores takes an operand's elements from wrong
// places, or asks the mask about a wrong pair.
#ifndef ATTENTION_TAKEN_H
#define ATTENTION_TAKEN_H

#include "attention/problem.h"

enum taken {
    AS_IT_IS,     // no mistake
    OTHER_PIECE,  // pieces of 8 elements at c ^ n % 8: swizzled on one side only
    TRANSPOSED,   // every 8 x 8 matrix transposed: .trans is missing, or there once too often
    MATRICES,     // of every 2 x 2 of 8 x 8 matrices, the upper right and the lower left swapped
    ROWS,         // rows g and g + 8 swapped
    PAIRS,        // the two elements of a register swapped
    WAYS_TO_TAKE,
    TILE_16 = WAYS_TO_TAKE,  // tiles of 16 x 16, or 32 x 32, transposed: without tensor cores
    TILE_32,
};
extern const enum cause causes_of_taken[WAYS_TO_TAKE];

// Which element of the array lands where element (*n, *x) belongs: sets both.
void taken_from(enum taken how, int64_t* n, int64_t* x);

// For which pair the mask of a fragment is asked, whose register 2h + e holds row g + 8h and column
// 8n + 2t + e.
enum asked {
    OWN_PAIR,       // no mistake
    FIRST_OF_PAIR,  // column 2t + 1 is hidden where 2t is
    OF_LANE_0,      // columns 2t and 2t + 1 are taken for 0 and 1
    COLUMN_OF_H,    // column 2t + h is asked about
    ROW_OF_E,       // row g + 8e is
    H_AND_E,        // both
    ROW_E_OF_32,    // row g + 8e of 32 rows, which are numbered 2r + h
    ROW_OF_G,       // row g is asked about, without 8h
    ROW_OF_16,      // of 32 rows those of the second 16 are taken for those of the first
    OF_FIRST_8,     // column 2t + e, without 8n
    BY_N,           // column n + 2t + e
    OF_FIRST_16,    // a warp has so many columns of a tile, and takes them for the first ones
    OF_FIRST_32,
    WAYS_TO_ASK
};

// Sets the row and the column, which count from the tile's first ones, to those that are asked
// about. With the ways before OF_FIRST_8 the column may count from any multiple of 16, and the row
// may from any of 32.
void asked_about(enum asked how, int64_t* row, int64_t* column);

// The elements that the kernel takes for those of an array: as many as its tensor has, NaN between
// the rows. `value` holds the right elements, as many. Rows beyond the last row are zeros. The
// caller frees the result.
double* take(const struct problem* p, enum taken how, enum which a, const double* value);

#endif
