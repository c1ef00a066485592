// backward.h: the backward pass of attention in fp64, as a kernel computes it: rightly, or with a
// mistake.
#ifndef ATTENTION_BACKWARD_H
#define ATTENTION_BACKWARD_H

#include "attention/problem.h"
#include "attention/taken.h"

enum { GRADIENTS = 3, INPUTS = ARRAY_dO + 1 };  // dQ, dK, dV; and Q, K, V, O, dO

// One way to compute the gradients. backward_right() returns the right way; a mistake changes a
// field or two of it. In causal problems the main loop of a kernel goes over tiles of queries, for
// one tile of keys at a time, in three parts: tiles that see some of the keys, tiles that see all
// of them, and a last tile that is not full.
struct backward {
    // The equations.
    double scale;               // of the scores
    double scale_dQ, scale_dK;  // of these gradients
    double lse, delta;          // factors of LSE and delta; 0 leaves them out
    double base;                // ln of the number that is raised to the power of S - LSE
    bool of_maximum;            // S - m for S - LSE, m the row's largest score in the tile of keys
    enum { OF_P, OF_ONE, OF_dS } dV;  // the factor of dO in dV
    int64_t columns;                  // S and dP are sums over the columns [0, columns) of the rows
    bool absolute;  // no mistake: sums of the sizes of the terms, which rounding is relative to

    // Which pairs of a query and a key count, and how often.
    struct block_mask blocks;
    enum {
        MASK,              // key j is hidden from query i if j > i + shift
        MASK_TILES,        // only tiles are hidden, those before the first that sees a key
        MASK_NOT_IN_LAST,  // MASK, but not in the last tile of queries that the diagonal crosses
        MASK_NOTHING
    } mask;
    int64_t shift;
    int64_t keys;             // only keys of [0, keys) count
    int64_t tile, keys_tile;  // queries, and keys, in a tile
    int at_start;           // how often the first tile counts that sees a key of the tile of keys,
    int at_full_start;      // and the first that sees all of them
    bool part_lacks_first;  // the first tile of each part of the main loop does not count
    int64_t from, to;       // queries of [from, to) count `times` times
    int times;

    // Where rows are read and stored, and what is read.
    struct strides stride[ARRAYS];
    const double* value[INPUTS];  // as the products for S and dP read them; O is for delta
    const double* again[INPUTS];  // Q, K and dO, as the products with dS and P read them
    const double* dO_of_delta;
    enum taken P_of_dV, dS_of_dK, dS_of_dQ;  // how P^T, dS^T and dS are read by these products
    enum taken stored;                       // how dQ, dK and dV are stored

    // Heads that share keys.
    bool interleaved;     // query head h takes key head h % (H / group)
    bool only_last_head;  // of a group counts in dK and dV
    bool first_delta;     // delta is that of the group's first head
};

struct backward backward_right(const struct problem* p);

// Computes the gradients of a problem with inputs, O and LSE. gradient[a] has as many elements as
// the tensor of array ARRAY_dQ + a; it is NULL if it is not wanted. It holds NaN where nothing is
// stored, and ANYTHING (check/hypothesis.h) where two elements are stored. `rounded`: every
// operation is rounded to fp32, the gradients are rounded to the contract's type, and with the
// contract's rounded_weights so are P and dS. Otherwise nothing is rounded.
void backward(const struct problem* p, const struct backward* w, bool rounded,
              double* const gradient[GRADIENTS]);

// Holds the gradients against central differences of the forward pass. O and LSE must not be
// rounded yet. A disagreement is an error of the grader, and ends the program. Takes a forward pass
// for each element of Q, K and V.
void backward_test(const struct problem* p);

#endif
