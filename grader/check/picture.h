// picture.h: the errors of an output as the patterns see them that diagnose() tries.
#ifndef CHECK_PICTURE_H
#define CHECK_PICTURE_H

#include "check/state.h"

// Everything a pattern may look at.
struct picture {
    struct check* c;
    const struct tensor* t;
    const struct comparison* found;
    struct budget budget;
    const bool* poison;
    int64_t rows, columns;
    bool* wrong;  // per element
};

// The first few different numbers of many.
enum { DIFFERENT = 3 };
struct different {
    double number[DIFFERENT];
    int count;
};

static inline void picture_take(struct different* d, double x) {
    int k = 0;
    while (k < d->count && d->number[k] != x) k++;
    if (k == d->count && k < DIFFERENT) d->number[d->count++] = x;
}

// moved.c: patterns of right numbers in wrong places. The first one: in another output.
enum cause picture_exchanged(const struct picture* p);
enum cause picture_moved(const struct picture* p);

#endif
