// taken.h: the ways in which a kernel with tensor cores takes an operand's elements from wrong
// places.
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

// The elements that the kernel takes for those of an array: as many as its tensor has, NaN between
// the rows. `value` holds the right elements, as many. Rows beyond the last row are zeros. The
// caller frees the result.
double* take(const struct problem* p, enum taken how, enum which a, const double* value);

#endif
