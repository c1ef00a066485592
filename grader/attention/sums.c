// sums.c: see sums.h. The compiler makes a loop for each kind of operations.
#include "attention/sums.h"

#include <math.h>

#include "base/wide.h"

void turn_rows(struct operations o, int64_t n, int64_t rows, const double* first, int64_t stride,
               union turned* turned) {
    for (int64_t r = 0; r < rows; r += SUMS)
        for (int64_t x = 0; x < n; x++, turned++)
            for (int64_t c = 0; c < SUMS; c++) {
                double value = r + c < rows ? first[(r + c) * stride + x] : 0;
                if (o.absolute) value = fabs(value);
                if (o.rounded)
                    turned->of_float[c] = (float)value;
                else
                    turned->of_double[c] = value;
            }
}

// Vectors that the compiler keeps in registers.
typedef double doubles __attribute__((vector_size(32), aligned(sizeof(double))));
typedef float floats __attribute__((vector_size(32), aligned(sizeof(double))));

static WIDE void sum_doubles(bool absolute, int64_t n, const double* a, const union turned* turned,
                             double* sum) {
    doubles s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, *to = (doubles*)sum;
    for (int64_t x = 0; x < n; x++) {
        const doubles* column = (const doubles*)turned[x].of_double;
        const double of_a = absolute ? fabs(a[x]) : a[x];
        s0 += of_a * column[0];
        s1 += of_a * column[1];
        s2 += of_a * column[2];
        s3 += of_a * column[3];
    }
    to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;
}

static WIDE void sum_floats(bool absolute, int64_t n, const double* a, const union turned* turned,
                            double* sum) {
    floats s0 = {0}, s1 = {0};
    for (int64_t x = 0; x < n; x++) {
        const floats* column = (const floats*)turned[x].of_float;
        const float of_a = (float)(absolute ? fabs(a[x]) : a[x]);
        s0 += of_a * column[0];
        s1 += of_a * column[1];
    }
    for (int c = 0; c < SUMS; c++) sum[c] = (double)(c < SUMS / 2 ? s0[c] : s1[c - SUMS / 2]);
}

void sums_of_products(struct operations o, int64_t n, const double* a, const union turned* turned,
                      double sum[SUMS]) {
    (o.rounded ? sum_floats : sum_doubles)(o.absolute, n, a, turned, sum);
}

static WIDE void add_doubles(bool absolute, int64_t n, double* restrict to, double factor,
                             const double* restrict row) {
    if (absolute)
        for (int64_t x = 0; x < n; x++) to[x] += fabs(factor * row[x]);
    else
        for (int64_t x = 0; x < n; x++) to[x] += factor * row[x];
}

static WIDE void add_floats(bool absolute, int64_t n, double* restrict to, float factor,
                            const double* restrict row) {
    if (absolute)
        for (int64_t x = 0; x < n; x++)
            to[x] = (double)((float)to[x] + fabsf(factor * (float)row[x]));
    else
        for (int64_t x = 0; x < n; x++) to[x] = (double)((float)to[x] + factor * (float)row[x]);
}

void add_multiple(struct operations o, int64_t n, double* restrict to, double factor,
                  const double* restrict row) {
    if (o.rounded)
        add_floats(o.absolute, n, to, (float)factor, row);
    else
        add_doubles(o.absolute, n, to, factor, row);
}
