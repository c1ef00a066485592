// data.c: random data: fresh for every run, the same for the same seed, item and case.
#include <math.h>

#include "base/dtype.h"
#include "check/state.h"

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t check_random(struct check* c) {
    uint64_t z = c->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// [0, 1)
static double uniform(struct check* c) {
    return (double)(check_random(c) >> 11) * 0x1p-53;
}

double check_uniform(struct check* c, double low, double high) {
    return low + (high - low) * uniform(c);
}

int64_t check_pick(struct check* c, int64_t low, int64_t high) {
    return low + (int64_t)(check_random(c) % (uint64_t)(high - low + 1));
}

// Marsaglia's polar method (Marsaglia, Bray: A convenient method for generating normal variables,
// 1964). It makes two numbers; the second one is kept.
double check_normal(struct check* c) {
    double u, v, square;
    if (c->has_normal) {
        c->has_normal = false;
        return c->normal;
    }
    do {
        u = check_uniform(c, -1, 1);
        v = check_uniform(c, -1, 1);
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    const double times = sqrt(-2 * log(square) / square);
    c->normal = v * times;
    c->has_normal = true;
    return u * times;
}

void fill_normal(struct check* c, struct tensor* t, double mean, double deviation) {
    for (int64_t i = 0; i < t->count; i++)
        t->value[i] = dtype_round(t->dtype, mean + deviation * check_normal(c));
}

void fill_uniform(struct check* c, struct tensor* t, double low, double high) {
    for (int64_t i = 0; i < t->count; i++)
        t->value[i] = dtype_round(t->dtype, check_uniform(c, low, high));
}

void fill_integers(struct check* c, struct tensor* t, int64_t low, int64_t high) {
    for (int64_t i = 0; i < t->count; i++) t->value[i] = (double)check_pick(c, low, high);
}

void fill_digits(struct check* c, struct tensor* t, int64_t count, double unit) {
    for (int64_t e = 0; e < count; e++)
        t->value[e] = unit * (double)(check_pick(c, 0, 1) ? check_pick(c, 128, 255)
                                                          : -check_pick(c, 128, 255));
}
