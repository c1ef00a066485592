// sums.c: see sums.h. The compiler makes a loop for each kind of operations.
#include "attention/sums.h"

#include <math.h>

#include "base/wide.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double op(struct operations o, double x) {
    return o.rounded ? (double)(float)x : x;
}

ALWAYS_INLINE double term(struct operations o, double x) {
    return op(o, o.absolute ? fabs(x) : x);
}

ALWAYS_INLINE void sum_up(struct operations o, int64_t n, const double* a,
                          const double* const row[SUMS], double sum[SUMS]) {
    const double *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3];
    const double *r4 = row[4], *r5 = row[5], *r6 = row[6], *r7 = row[7];
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (int64_t x = 0; x < n; x++) {
        s0 = op(o, s0 + term(o, a[x] * r0[x]));
        s1 = op(o, s1 + term(o, a[x] * r1[x]));
        s2 = op(o, s2 + term(o, a[x] * r2[x]));
        s3 = op(o, s3 + term(o, a[x] * r3[x]));
        s4 = op(o, s4 + term(o, a[x] * r4[x]));
        s5 = op(o, s5 + term(o, a[x] * r5[x]));
        s6 = op(o, s6 + term(o, a[x] * r6[x]));
        s7 = op(o, s7 + term(o, a[x] * r7[x]));
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
    sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
}

ALWAYS_INLINE void add_up(struct operations o, int64_t n, double* restrict to, double factor,
                          const double* restrict row) {
    for (int64_t x = 0; x < n; x++) to[x] = op(o, to[x] + term(o, factor * row[x]));
}

#define KIND(r, a) ((struct operations){.rounded = (r), .absolute = (a)})
// Calls it with a kind that is known when it is compiled.
#define CALL(function, o, ...)                    \
    if ((o).rounded && (o).absolute)              \
        function(KIND(true, true), __VA_ARGS__);  \
    else if ((o).rounded)                         \
        function(KIND(true, false), __VA_ARGS__); \
    else if ((o).absolute)                        \
        function(KIND(false, true), __VA_ARGS__); \
    else                                          \
        function(KIND(false, false), __VA_ARGS__)

WIDE void sums_of_products(struct operations o, int64_t n, const double* a,
                           const double* const row[SUMS], double sum[SUMS]) {
    CALL(sum_up, o, n, a, row, sum);
}

WIDE void add_multiple(struct operations o, int64_t n, double* restrict to, double factor,
                       const double* restrict row) {
    CALL(add_up, o, n, to, factor, row);
}
