// The arithmetic of wgmma: a tile of 16 rows, in blocks that the compiler makes vectors of.
#include <math.h>
#include <string.h>
#include "cpu/device/hopper.h"

static double (*altered)(double a, double b);

void cudev_alter_wgmma(double (*product)(double a, double b)) {
    altered = product;
}

static void multiply_row(double* restrict sum, const double* restrict a, const double* restrict b,
                         unsigned n, unsigned K) __attribute__((optimize("O3")));
static void multiply_row(double* restrict sum, const double* restrict a, const double* restrict b,
                         unsigned n, unsigned K) {
    for (unsigned k = 0; k < K; k++)
        for (unsigned j = 0; j < n; j++) sum[j] += a[k] * b[(size_t)k * n + j];
}

// In an altered run numbers of eight bits, which end at 448, count as so many times as large. Those
// of an A in registers do not: they are what the kernel has computed, and it may make them that
// large.
static const double EIGHT_TIMES = 3.5;

void cudev_multiply_rows(float* d, const double* a, const double* b, unsigned n, unsigned K,
                         int in_registers) {
    const double times = K == 32 ? EIGHT_TIMES : 1, times_a = in_registers ? 1 : times;
    double sum[256];
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned j = 0; j < n; j++) sum[j] = (double)d[(size_t)i * n + j];
        if (altered) {
            for (unsigned k = 0; k < K; k++)
                for (unsigned j = 0; j < n; j++)
                    sum[j] += altered(times_a * a[K * i + k], times * b[(size_t)k * n + j]) /
                              (times_a * times);
        } else {
            multiply_row(sum, a + K * (size_t)i, b, n, K);
        }
        for (unsigned j = 0; j < n; j++) {
            float x = (float)sum[j];
            if (isnan(x)) memset(&x, 0xff, sizeof x), x = copysignf(x, 1);
            d[(size_t)i * n + j] = x;
        }
    }
}
