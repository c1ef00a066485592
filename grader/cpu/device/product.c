// The arithmetic of wgmma: a tile of 16 rows, in blocks that the compiler makes vectors of.
#include <math.h>
#include <string.h>
#include "cpu/device/hopper.h"

static double (*altered)(double a, double b);

void cudev_alter_wgmma(double (*product)(double a, double b)) {
    altered = product;
}

static void multiply_row(double* restrict sum, const double* restrict a, const double* restrict b,
                         unsigned n) __attribute__((optimize("O3")));
static void multiply_row(double* restrict sum, const double* restrict a, const double* restrict b,
                         unsigned n) {
    for (unsigned k = 0; k < 16; k++)
        for (unsigned j = 0; j < n; j++) sum[j] += a[k] * b[(size_t)k * n + j];
}

void cudev_multiply_rows(float* d, const double* a, const double* b, unsigned n) {
    double sum[256];
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned j = 0; j < n; j++) sum[j] = (double)d[(size_t)i * n + j];
        if (altered) {
            for (unsigned k = 0; k < 16; k++)
                for (unsigned j = 0; j < n; j++)
                    sum[j] += altered(a[16 * i + k], b[(size_t)k * n + j]);
        } else {
            multiply_row(sum, a + 16 * (size_t)i, b, n);
        }
        for (unsigned j = 0; j < n; j++) {
            float x = (float)sum[j];
            if (isnan(x)) memset(&x, 0xff, sizeof x), x = copysignf(x, 1);
            d[(size_t)i * n + j] = x;
        }
    }
}
