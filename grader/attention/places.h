// places.h: the wrong places in which a kernel may look for the rows of its arrays.
//
//     static const unsigned sets[] = {1 << ARRAY_Q, 1 << ARRAY_Q | 1 << ARRAY_K, 0};
//     for (struct places at = {.problem = p, .sets = sets}; next_places(&at);)
//         if (is_what_was_found(at.stride)) return at.cause;
#ifndef ATTENTION_PLACES_H
#define ATTENTION_PLACES_H

#include "attention/problem.h"

// One mistake: the strides of all arrays, right ones except for the arrays of a set. The caller
// sets the first two fields, and all others to 0.
struct places {
    const struct problem* problem;
    const unsigned* sets;  // of arrays, 1 << enum which, that have the same mistake; ends with 0
    int64_t next;
    enum cause cause;
    struct strides stride[ARRAYS];
};

// Goes on to the next mistake that moves some row of each array of its set: no step from batch to
// batch, or from head to head; packed rows, heads, batches or arrays; a step of an axis in the
// place of another axis's; a step, or all steps, of another array. LSE alone in its set has its
// heads and batches in other orders besides. False if there are no more. Rows may lie outside the
// array, but not those of the first batch and head.
bool next_places(struct places* at);

// The elements of `a`, an array of queries: each row in its place is the one that a kernel finds
// with these strides. NULL if none is elsewhere, or some outside the array. To be freed.
double* rows_of_places(const struct places* at, enum which a);

// True if the rows of a batch and query head all lie within the array with these strides.
bool head_fits(const struct problem* p, enum which a, struct strides s, int64_t b, int64_t h);

#endif
