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
enum { SUMS = 16 };

// One column of SUMS rows. Numbers of fp32 where operations are rounded: their products and sums in
// fp32 are what those in fp64 are that are rounded.
union turned {
    double of_double[SUMS];
    float of_float[SUMS];
};

// Writes rows column by column, for sums of the same operations: n columns of the first SUMS rows,
// then those of the next ones. Row r begins at first + r * stride; zeros behind the last one.
void turn_rows(struct operations o, int64_t n, int64_t rows, const double* first, int64_t stride,
               union turned* turned);

// sum[c] = sum over x < n of a[x] * turned[x][c]
void sums_of_products(struct operations o, int64_t n, const double* a, const union turned* turned,
                      double sum[SUMS]);

// to[x] += factor * row[x] for x < n. Where operations are rounded, all are numbers of fp32.
void add_multiple(struct operations o, int64_t n, double* restrict to, double factor,
                  const double* restrict row);

#endif
