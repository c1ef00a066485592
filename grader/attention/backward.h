// backward.h: the backward pass of attention in fp64, as a kernel computes it: rightly, or with a
// mistake.
#ifndef ATTENTION_BACKWARD_H
#define ATTENTION_BACKWARD_H

#include "attention/problem.h"
#include "attention/taken.h"

enum { GRADIENTS = 3, INPUTS = ARRAY_dO + 1 };  // dQ, dK, dV; and Q, K, V, O, dO

// A mistake; all zero is none. In causal problems the main loop of a kernel goes over tiles of
// queries, for one tile of keys at a time, in three parts: tiles that see some of the keys, tiles
// that see all of them, and a last tile that is not full.
struct backward_flaw {
    // The equations.
    enum {
        SCALE,
        ONE,
        SQUARE,
        USUAL,
        USUAL_SQUARE,
        SCALE_LN_2,
        SCALE_LOG2_E,
        POSITIVE,
        OF_BF16
    } scores,
        gradients;  // their scales
    enum {
        S_MINUS_LSE,
        NO_LSE,
        LSE_OF_BASE_2,  // 2 to the power of S log2(e) - LSE
        POWER_OF_2,     // 2 to the power of S - LSE
        TILE_MAXIMUM,   // S - m, m the row's largest score in the tile of keys
    } exponent;
    enum { SUBTRACTED, NO_DELTA, TIMES_SCALE, ADDED, OVER_SCALE, UNWEIGHTED } delta;
    bool dS_unweighted;                                                   // dS = dP - delta
    bool dS_is_P;                                                         // P in its place
    enum { DELTA_IN_FLOAT, DELTA_ROUNDED, PRODUCTS_ROUNDED } delta_kept;  // to the type of O
    bool
        dS_where_hidden;  // and with one of the last two it is not 0 in tiles that are seen in part
    enum { OF_P, OF_ONE, OF_dS, OF_SCALED_P } dV;  // the factor of dO in dV
    bool dQ_each_key;  // of a tile of keys, the sum so far is added to dQ behind each key
    // If not 0: S and dP, or delta, are sums over the first so many columns of a row alone.
    int64_t columns, delta_columns;
    int64_t
        delta_rows;  // if not 0: behind so many queries of a tile of twice as many, delta is that
                     // of the query as far behind the tile's first

    // Of which query a lane takes LSE (1) and delta (2), which it keeps for the rows or columns of
    // its fragment: of S and dP transposed, a row is a key, or not.
    enum {
        OWN_QUERY,
        COLUMN_BY_ROW,  // transposed: of both columns that which h tells, not e
        FIRST_COLUMN,
        OTHER_COLUMN,
        ROW_BY_COLUMN,  // not transposed: of the rows 2r + h those e, r, or 2h + e
        ROW_BY_GROUP,
        ROW_BY_BOTH,
        QUERY_BY_KEY,  // the query whose number in its tile is the key's in its own
        FIRST_HALF,    // of a tile of 128, that of the first 64 queries for both halves
    } query;
    int query_of;
    enum asked asked;    // for which pair of a fragment the mask is asked
    bool asked_of_keys;  // its rows are keys, not queries

    // Which pairs of a query and a key count, and how often.
    enum {
        AS_WANTED,
        MASK,              // key j is hidden from query i if j > i + shift
        MASK_TILES,        // only tiles are hidden, those before the first that sees a key
        MASK_NOT_IN_LAST,  // MASK, but not in the last tile of queries that the diagonal crosses
        MASK_NOTHING
    } mask;
    bool first_head_masked;                        // as wanted in the first head of a group
    int64_t queries, keys;                         // if not 0: how many there are at most
    bool short_keys_lost;                          // keys in a tile that is not full do not count
    enum count { ONCE, SKIPPED, TWICE } at_start;  // the first tile that sees a key of the tile
    enum count at_full_start;                      // the first tile that sees all of them
    // It begins with the first tile that sees the last key of the tile; or part 3 does, or all, as
    // if N_q = N_k.
    enum { ON_TIME, BY_LAST_KEY, PART_3_OF_SQUARE, LOOP_OF_SQUARE } late_start;
    bool part_lacks_first;  // the first tile of each part of the main loop does not count
    // Part 3 begins at the first query that sees a key, not at a tile's: its last tile reaches into
    // the next part.
    bool start_unaligned;
    // the last tile of queries; TAIL_TWICE: where it is not full, and no mask was asked once
    enum {
        LAST_ONCE,
        SHORT_LAST_SKIPPED,
        FULL_LAST_SKIPPED,
        LAST_TILE_TWICE,
        TAIL_TWICE,
    } last;

    // Heads that share keys.
    bool interleaved;   // query head h takes key head h % (H / group)
    bool by_key_heads;  // ... h / (H / group)
    enum {
        ALL_HEADS,
        LAST_HEAD,
        FIRST_HEADS,
        MEAN_OF_HEADS,
        FROM_KEY_HEAD     // as many as a group has, from the query head of the key head's number on
    } summed;             // of a group, in dK and dV
    int64_t first_heads;  // how many
    bool first_delta, first_LSE;             // delta, or LSE, is that of the group's first head
    bool delta_of_batch_0, delta_of_head_0;  // ... of the first batch, of the first head
};

// One way to compute the gradients. backward_right() returns the right way; a mistake changes a
// field or two of it.
struct backward {
    struct backward_flaw flaw;
    bool absolute;  // no mistake: sums of the sizes of the terms, which rounding is relative to
    struct block_mask blocks;
    int64_t shift;            // of the mask
    int64_t tile, keys_tile;  // queries, and keys, in a tile

    // Where rows are read and stored, and what is read.
    struct strides stride[ARRAYS];
    const double* value[INPUTS];  // as the products for S and dP read them; O is for delta
    const double* again[INPUTS];  // Q, K and dO, as the products with dS and P read them
    const double* dO_of_delta;
    const double* LSE;
    const double* added;  // to the delta of each query, counted like LSE; NULL: nothing
    enum taken P_of_dV, dS_of_dK, dS_of_dQ;  // how P^T, dS^T and dS are read by these products
    bool zeros_outside;                      // of P and dS there is nothing but zeros elsewhere
    enum taken stored;                       // how dQ, dK and dV are stored
};

struct backward backward_right(const struct problem* p);

// Computes the gradients of a problem with inputs, O and LSE. gradient[a] has as many elements as
// the tensor of array ARRAY_dQ + a; it is NULL if it is not wanted. It holds NaN where nothing is
// stored, and ANYTHING (check/hypothesis.h) where two elements are stored. `rounded`: every
// operation is rounded to fp32, the gradients are rounded to the contract's type, and with the
// contract's rounded_weights so are P and dS. Otherwise nothing is rounded.
void backward(const struct problem* p, const struct backward* w, bool rounded,
              double* const gradient[GRADIENTS]);

// One row of the gradient `a`, which backward() would give without rounding. False if it does not
// depend on this row of P and dS alone, or is not stored in its place.
bool backward_row(const struct problem* p, const struct backward* w, enum which a, int64_t b,
                  int64_t h, int64_t n, double* row);

// Holds the gradients against central differences of the forward pass. O and LSE must not be
// rounded yet. A disagreement is an error of the grader: check_error(). Takes a forward pass
// for each element of Q, K and V.
void backward_test(const struct problem* p);

#endif
