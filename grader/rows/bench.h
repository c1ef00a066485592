// bench.h: what the benches about rows of fp32 numbers share, for the fields of struct bench.
// n = {rows, cols}; x is packed.
#ifndef ROWS_BENCH_H
#define ROWS_BENCH_H

#include "bench/bench.h"

extern const struct bench_size rows_sizes[];

// x is read once, and two numbers written for each row, or one for each element.
double rows_bytes_pairs(const int64_t* n);
double rows_bytes_rows(const int64_t* n);

// The largest result of of_row(), which gets the row's numbers, over the last row and a few other
// rows. NaN if a result is NaN.
double rows_error(struct bench_run* run, const int64_t* n,
                  double (*of_row)(struct bench_run* run, const int64_t* n, int64_t row,
                                   const double* x));

// One number that was written for a row.
double rows_number(struct bench_run* run, const char* name, int64_t row);

#endif
