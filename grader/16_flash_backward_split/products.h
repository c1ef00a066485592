// products.h: mistakes that only a kernel with tensor cores can make, or one that has to be repeatable, for
// explain(). What it shares with lesson 15 (the equations, the mask, the places) is explained there.
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "attention/backward_mistakes.h"

// True while outputs are compared with each other, not with the right ones.
static bool repeating;

// to, counted like array a, holds what the kernel takes for it, NaN between the rows. Rows beyond the last
// are zeros.
static void take(enum taken how, enum which a, const double* value, double* to) {
    int64_t N = rows_of(a);
    for (int64_t e = 0; e < now.array[a].tensor->count; e++) to[e] = NAN;
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t h = 0; h < now.H; h++)
            for (int64_t n = 0; n < N; n++)
                for (int64_t x = 0; x < now.d; x++) {
                    int64_t from_n = n, from_x = x;
                    taken_from(how, &from_n, &from_x);
                    to[place(now.array[a].stride, b, h, n) + x] =
                        from_n < N ? value[place(now.array[a].stride, b, h, from_n) + from_x] : 0;
                }
}

// An operand is taken from wrong places: an array in its first product, or in its second; P or dS.
static enum cause explain_operands(void) {
    static const enum which first[] = {ARRAY_Q, ARRAY_K, ARRAY_V, ARRAY_dO};
    static const enum which second[] = {ARRAY_Q, ARRAY_K, ARRAY_dO};
    enum cause cause = CAUSE_NONE;
    for (int how = OTHER_PIECE; how < WAYS_TO_TAKE && !cause; how++) {
        struct mistake w[3];
        for (int n = 0; n < 3; n++) w[n] = no_mistake();
        w[0].P_of_dV = w[1].dS_of_dK = w[2].dS_of_dQ = (enum taken)how;
        for (int n = 0; n < 3 && !cause; n++)
            if (is_it(&w[n])) cause = causes_of_taken[how];
        w[0].dS_of_dK = (enum taken)how;  // both, with P
        if (!cause && is_it(&w[0])) cause = causes_of_taken[how];
        for (int n = 0; n < 7 && !cause; n++) {
            enum which a = n < 4 ? first[n] : second[n - 4];
            double* value = must_allocate(now.array[a].tensor->count, sizeof *value);
            take((enum taken)how, a, now.array[a].tensor->value, value);
            struct mistake taken = no_mistake();
            *(n < 4 ? &taken.value[a] : &taken.again[a]) = value;
            if (is_it(&taken)) cause = causes_of_taken[how];
            free(value);
        }
        for (int a = ARRAY_dQ; a <= ARRAY_dV && !cause; a++) {
            const struct tensor* t = now.array[a].tensor;
            if (t != suspect.tensor) continue;
            double* value = must_allocate(t->count, sizeof *value);
            take((enum taken)how, (enum which)a, t->want, value);
            if (is_hypothesis(value)) cause = causes_of_taken[how];
            free(value);
        }
    }
    return cause;
}

// An array stands where another one with as many rows belongs: in its first product, its second, or both.
static enum cause explain_arrays(void) {
    static const enum which pairs[][2] = {{ARRAY_dO, ARRAY_O}, {ARRAY_dO, ARRAY_Q},
                                          {ARRAY_Q, ARRAY_dO}, {ARRAY_O, ARRAY_Q},
                                          {ARRAY_K, ARRAY_V},  {ARRAY_V, ARRAY_K}};
    enum cause cause = CAUSE_NONE;
    for (size_t n = 0; n < sizeof pairs / sizeof pairs[0] && !cause; n++) {
        enum which a = pairs[n][0], other = pairs[n][1];
        double* value = must_allocate(now.array[a].tensor->count, sizeof *value);
        for (int64_t row = 0; row < now.B * now.H * rows_of(a); row++) {
            int64_t i = row % rows_of(a), h = row / rows_of(a) % now.H,
                    b = row / rows_of(a) / now.H;
            memcpy(value + place(now.array[a].stride, b, h, i), row_of(other, b, h, i),
                   (size_t)now.d * sizeof *value);
        }
        for (int where = 1; where <= 3 && !cause; where++) {
            struct mistake w = no_mistake();
            if (where & 1) w.value[a] = value;
            if (where & 2) w.again[a] = value;
            if (is_it(&w)) cause = CAUSE_wrong_array;
        }
        free(value);
    }
    return cause;
}

// Tiles of queries and of keys have different sizes here.
static enum cause explain_diagonal(void) {
    struct mistake w = no_mistake();
    if (!now.causal) return CAUSE_NONE;
    for (int mask = MASK_TILES; mask <= MASK_NOT_IN_LAST; mask++)
        for (w.tile = 16; w.tile <= 128; w.tile *= 2)
            for (w.keys_tile = 16; w.keys_tile <= 128; w.keys_tile *= 2) {
                w.mask = mask;
                if (is_it(&w)) return CAUSE_diagonal_unmasked;
            }
    return CAUSE_NONE;
}

// dP - delta is NaN everywhere, and dV, which does without, is right: delta was read, but never written.
static bool is_without_delta(void) {
    const struct tensor* t = suspect.tensor;
    return t == now.array[ARRAY_dK].tensor && count_nonfinite(t) == now.B * now.H * now.N_k * now.d;
}

// What the student most likely did, for check_compare().
static enum cause explain_products(struct check* c, const struct tensor* t, struct budget budget) {
    suspect.tensor = t;
    suspect.budget = budget;
    suspect.overflows = count_nonfinite(t) > 0;
    if (repeating) return CAUSE_not_repeatable;
    enum cause cause = CAUSE_NONE;
    bool zeros = true;  // nothing was summed, so nothing was taken from a wrong place
    for (int64_t e = 0; e < t->count; e++) zeros &= t->untouched[e] || t->got[e] == 0;
    if (count_nonfinite(t) == 0 && !zeros) {
        // First, since of scores of 30 times the usual size a wrong base leaves little of P, and other scales as little.
        struct mistake w = no_mistake();
        w.scale = now.scale * M_LN2;  // 2 to the power of S - log2(e) LSE
        if (is_it(&w)) cause = CAUSE_exp2_base;
        if (!cause) cause = explain_arithmetic();
        if (!cause) cause = explain_mask();
        if (!cause) cause = explain_operands();
        if (!cause) cause = explain_arrays();
        if (!cause) cause = explain_diagonal();
    }
    if (!cause) cause = explain(c, t, budget);
    return !cause && is_without_delta() ? CAUSE_delta : cause;
}

#endif
