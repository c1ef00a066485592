// bench.c: see bench.h.
#include "rows/bench.h"

#include <math.h>
#include <stdlib.h>

const struct bench_size rows_sizes[] = {
    {"8192 x 4096", {8192, 4096}},
    {"8765 x 4096", {8765, 4096}},
    {"4096 x 50257", {4096, 50257}},
    {0},
};

double rows_bytes_pairs(const int64_t* n) {
    return 4.0 * (double)(n[0] * n[1] + 2 * n[0]);
}

double rows_bytes_rows(const int64_t* n) {
    return 2.0 * 4 * (double)(n[0] * n[1]);
}

double rows_error(struct bench_run* run, const int64_t* n,
                  double (*of_row)(struct bench_run* run, const int64_t* n, int64_t row,
                                   const double* x)) {
    enum { SAMPLES = 16 };
    double* x = malloc((size_t)n[1] * sizeof *x);
    double worst = x ? 0 : NAN;
    for (int sample = 0; x && sample < SAMPLES; sample++) {
        int64_t row = sample == 0 ? n[0] - 1 : bench_pick(run, n[0]);
        bench_read(run, "x", row * n[1], n[1], 1, n[1], x);
        double e = of_row(run, n, row, x);
        worst = bench_worse(worst, e);
    }
    free(x);
    return worst;
}

double rows_number(struct bench_run* run, const char* name, int64_t row) {
    double number;
    bench_read(run, name, row, 1, 1, 1, &number);
    return number;
}
