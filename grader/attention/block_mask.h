// block_mask.h: masks of blocks of S, 128 x 128 scores each (lesson 19).
#ifndef ATTENTION_BLOCK_MASK_H
#define ATTENTION_BLOCK_MASK_H

#include "check/check.h"
#include "course.h"

enum { MASK_BLOCK = 128, MASK_SHORTENED = 2 };

// Score (i, j) counts if value[b][h][i / q][j / k] is there and not 0.
struct block_mask {
    const double* value;  // (B, H, T_q, T_k); NULL: all scores count
    int64_t H, T_q, T_k;
    int64_t q, k;              // MASK_BLOCK, except in a mistake
    int64_t first_q, first_k;  // if not 0, a mistake: of a block so many rows, or columns, count
    int64_t short_q, short_k;  // the same of blocks whose value is MASK_SHORTENED
    bool in_part;              // a mistake: rows or columns whose values are NaN are not known
};

static inline struct block_mask block_mask_of(const struct tensor* mask, int64_t H, int64_t N_q,
                                              int64_t N_k) {
    return (struct block_mask){.value = mask ? mask->value : NULL,
                               .H = H,
                               .T_q = CEIL_DIV(N_q, MASK_BLOCK),
                               .T_k = CEIL_DIV(N_k, MASK_BLOCK),
                               .q = MASK_BLOCK,
                               .k = MASK_BLOCK};
}

static inline bool is_active(struct block_mask m, int64_t b, int64_t h, int64_t i, int64_t j) {
    if (!m.value) return true;
    int64_t I = i / m.q, J = j / m.k;
    if ((m.first_q && i % m.q >= m.first_q) || (m.first_k && j % m.k >= m.first_k)) return false;
    if (I >= m.T_q || J >= m.T_k) return false;
    const double value = m.value[((b * m.H + h) * m.T_q + I) * m.T_k + J];
    if (value == MASK_SHORTENED && m.short_q && i % m.q >= m.short_q) return false;
    if (value == MASK_SHORTENED && m.short_k && j % m.k >= m.short_k) return false;
    return value != 0;
}

// Is it not known which blocks the mistake takes for active: of query i, or of key i?
bool is_unknown(struct block_mask m, int64_t b, int64_t h, int64_t i, bool is_key);

// *m is what the n-th known mistake takes for the mask of the problem, *cause its cause;
// free_mask() frees it. False if there are no more mistakes, or the problem has no mask.
struct problem;
bool mistake_mask(const struct problem* p, int n, struct block_mask* m, enum cause* cause);
void free_mask(struct block_mask m);

// ---- the mask of a case

enum { MASK_TEXT = 32 };

// For contract.declare_more(): declares the argument "mask", in which all blocks are active.
void mask_declare(struct problem* p);

// Sets the mask of the selected call to a text: the blocks of a row of blocks are 1, active, or 0;
// between rows stands '/', between heads ' ', as in "10/01 11/10". After the last head the first
// one comes again.
void mask_set(const struct problem* p, const char* text);

// A mask of one head. No row and no column is empty, and not all blocks are active. A square mask
// differs from its transpose. An oblong mask differs from its own bytes read in rows of T_q. T_q
// and T_k are 2 to 4.
void mask_random(struct check* c, int64_t T_q, int64_t T_k, char text[MASK_TEXT]);

#endif
