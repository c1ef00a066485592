// mask.h: the mask of a case, in check.c and forward.c. Include it after the header that defines `now`.
#ifndef MASK_H
#define MASK_H

#include "block_sparse.h"

enum { MASK_TEXT = 32 };

// The rows of a mask as text, "101/011": the blocks of T_q rows are active or not. No row and no column is empty,
// not all are active, and a square one differs from its transpose. T_q and T_k are at least 2.
static void random_mask(struct check* c, int64_t T_q, int64_t T_k, char text[MASK_TEXT]) {
    bool active[8][8], fine;
    do {
        int64_t count = 0, symmetric = 0, full_rows = 0, full_columns = 0;
        for (int64_t I = 0; I < T_q; I++)
            for (int64_t J = 0; J < T_k; J++) count += active[I][J] = check_random(c) % 2;
        for (int64_t I = 0; I < T_q; I++) {
            bool any = false;
            for (int64_t J = 0; J < T_k; J++) {
                any |= active[I][J];
                symmetric += T_q == T_k && active[I][J] == active[J][I];
            }
            full_rows += any;
        }
        for (int64_t J = 0; J < T_k; J++) {
            bool any = false;
            for (int64_t I = 0; I < T_q; I++) any |= active[I][J];
            full_columns += any;
        }
        fine =
            count < T_q * T_k && full_rows == T_q && full_columns == T_k && symmetric < T_q * T_k;
    } while (!fine);
    char* to = text;
    for (int64_t I = 0; I < T_q; I++) {
        if (I > 0) *to++ = '/';
        for (int64_t J = 0; J < T_k; J++) *to++ = active[I][J] ? '1' : '0';
    }
    *to = '\0';
}

// Sets the mask of the selected call. Heads are apart by blanks; after the last the first one comes again. What
// is active may hold anything but 0.
static void set_mask(struct check* c, const char* text) {
    static const double values[] = {1, 255, 2, 128};
    const char* from = text;
    for (int64_t e = 0; e < now.mask->count; from++) {
        if (*from == '\0') from = text;
        if (*from != '0' && *from != '1') continue;
        now.mask->value[e++] = *from == '1' ? values[check_random(c) % 4] : 0;
    }
}

// The arguments that the other lessons do not have. All blocks are active.
static void declare_mask(struct check* c, const char* bad, bool is_backward) {
    int64_t T_q = SPARSE_BLOCKS(now.N_q), T_k = SPARSE_BLOCKS(now.N_k);
    check_int(c, "is_backward", is_backward);
    now.mask = NULL;
    if (strcmp(bad, "mask") == 0) {
        check_null(c, "mask");
        return;
    }
    now.mask = check_input(c, "mask", U8, SHAPE(now.B, now.H, T_q, T_k));
    set_mask(c, "1");
}

// What a kernel need not read: blocks are left out.
static void needless(struct tensor* t) {
    for (int64_t e = 0; e < t->count; e++) t->untouched[e] = true;
}

#endif
