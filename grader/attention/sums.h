// sums.h: the inner loops of the references and of the known mistakes. Each sum adds its terms one
// after another, as a plain loop does: only what has nothing to do with each other is done beside
// each other.
#ifndef ATTENTION_SUMS_H
#define ATTENTION_SUMS_H

#include <stdbool.h>
#include <stdint.h>

// What an operation gives: rounded to fp32 or not, and of each product its size alone or not.
struct operations {
    bool rounded, absolute;
};

// One addition waits for the one before; so many sums are made at once.
enum { SUMS = 8 };

// sum[c] = sum over x < n of a[x] * row[c][x]
void sums_of_products(struct operations o, int64_t n, const double* a,
                      const double* const row[SUMS], double sum[SUMS]);

// to[x] += factor * row[x] for x < n
void add_multiple(struct operations o, int64_t n, double* restrict to, double factor,
                  const double* restrict row);

#endif
