// levels.h: cases of lesson 27 in which each key has a score of its own: how the weights of a row
// differ is known. For check.c.
#ifndef LEVELS_H
#define LEVELS_H

#include "27_low_precision/mistakes.h"

// Rows of array a become level[n] in column 0 and 0 elsewhere, of key or query n.
static void set_levels(struct low* l, enum which a, double (*level)(int64_t n)) {
    const struct step s = step_of(l, a);
    double* X = check_allocate(l->p.check, s.B * s.N * s.H * s.d, sizeof *X);
    l->has_levels = true;
    for (int64_t row = 0; row < s.B * s.N * s.H; row++) X[row * s.d] = level(row / s.H % s.N);
    low_set(l, a, X);
    free(X);
}

static double one(int64_t n) {
    (void)n;
    return 1;
}
// Where keys are walked from the last to the first, the largest score comes last, then first.
static double growing(int64_t n) {
    return 4.0 * (double)(3 - n / 128);
}
// Keys that are walked late have 2^5.8 times the weight of the others: not much more than there is
// room for.
static double heavy_late(int64_t n) {
    return n < 500 ? 4 : 0;
}
// The first of 16 queries alone has scores that grow from block to block, by more than a kernel may
// leave room for; the others, in the same warp, weigh all keys alike.
static double first_of_16(int64_t n) {
    return n % 16 == 0;
}
static double ever_growing(int64_t n) {
    return -4.0 * (double)(n / 128);
}
static double falling(int64_t n) {
    return 4.0 * (double)(n / 128);
}
// One key has nearly all the weight.
static double one_of_many(int64_t n) {
    return n == 150 ? 16 : 0;
}

// One key has 2^6 times the weight of each other: in a lane's sum of 32 that is no more than others
// may have, but its byte would be cut off.
static double few_of_many(int64_t n) {
    return n == 150 ? 4.1 : 0;
}

// One key has 2^10 times the weight of each other, and all others together have as much.
static double long_tail(int64_t n) {
    return n == 150 ? 7 : 0;
}

// All values are 1, and all keys but two have 1.115 2^-11 of the largest weight: above 32, such a
// weight is at least 2^-6, and rounded by 2^-4 of itself at most. Below 16 it is 4.5 steps of 2^-9.
static double two_of_many(int64_t n) {
    return n == 5 || n == 4095 ? 7.51577 : 0;
}
// Not the block that comes first has one of the two, but the next one: weights outgrow m.
static double two_of_fewer(int64_t n) {
    return n == 5 || n == 1536 - 130 ? 7.51577 : 0;
}
static void faint_weights(struct low l, double (*level)(int64_t n)) {
    const double faint = (double)(l.p.N_k - 2) * 1.115 * 0x1p-11;
    l.p.scale = 1;
    low_begin(&l, ", values 1; two keys have 2000 times the weight of each other");
    set_levels(&l, ARRAY_Q, one);
    set_levels(&l, ARRAY_K, level);
    double* ones = check_allocate(l.p.check, l.p.array[ARRAY_V].tensor->count, sizeof *ones);
    for (int64_t e = 0; e < l.p.array[ARRAY_V].tensor->count; e++) ones[e] = 1;
    low_set(&l, ARRAY_V, ones);
    free(ones);
    check_run(l.p.check);
    struct forward_budgets budgets = low_want(&l);
    const double most = faint / (faint + 2) / 12;  // a 16th of their part, and a third more
    budgets.O = (struct budget){most, most, most};
    check_compare(l.p.check, l.p.array[ARRAY_O].tensor, budgets.O);
}

// With levels of the queries, too.
static void with_both_levels(struct low l, double (*of_queries)(int64_t n),
                             double (*of_keys)(int64_t n), const char* what) {
    l.p.scale = 1;
    low_begin(&l, what);
    set_levels(&l, ARRAY_Q, of_queries);
    set_levels(&l, ARRAY_K, of_keys);
    check_run(l.p.check);
    low_judge(&l, JUDGE_O);
}

static void with_levels(struct low l, double factor, double (*level)(int64_t n), const char* what) {
    l.p.scale = factor;
    low_begin(&l, what);
    set_levels(&l, ARRAY_Q, one);
    set_levels(&l, ARRAY_K, level);
    check_run(l.p.check);
    low_judge(&l, JUDGE_O);
}

// Values that have a scale above 1.
static void with_large_values(struct low l, double (*level)(int64_t n), const char* what) {
    l.p.scale = 1;
    low_begin(&l, what);
    set_levels(&l, ARRAY_Q, one);
    set_levels(&l, ARRAY_K, level);
    const struct tensor* V = l.p.array[ARRAY_V].tensor;
    double* X = check_allocate(l.p.check, V->count, sizeof *X);
    for (int64_t e = 0; e < V->count; e++) X[e] = 2000 * V->value[e];
    low_set(&l, ARRAY_V, X);
    free(X);
    check_run(l.p.check);
    low_judge(&l, JUDGE_O);
}

// The last keys of so many have nearly all the weight.
static double from_3072(int64_t n) {
    return n >= 3072 ? 8 : 0;
}

static double all_low(int64_t n) {
    (void)n;
    return -200;
}

static double last_of_64(int64_t n) {
    return n % 64 == 63 ? 8 : 0;
}

#endif
