// The arithmetic of wgmma: a tile of 16 rows, in blocks that the compiler makes vectors of.
#include <math.h>
#include "base/wide.h"
#include "cpu/device/hopper.h"

static double (*altered)(double a, double b);
static void (*open_altered)(int open);

void cudev_alter_wgmma(double (*product)(double a, double b), void (*open)(int open)) {
    altered = product;
    open_altered = open;
}

typedef double four __attribute__((vector_size(32), aligned(8)));

// Sums of 16 columns stay in registers. n: a multiple of 16.
static WIDE void multiply_row(double* sum, const double* a, const double* b, unsigned n,
                              unsigned K) {
    for (unsigned j = 0; j < n; j += 16) {
        four* to = (four*)(sum + j);
        four s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3];
        for (unsigned k = 0; k < K; k++) {
            const four* row = (const four*)(b + (size_t)k * n + j);
            s0 += a[k] * row[0];
            s1 += a[k] * row[1];
            s2 += a[k] * row[2];
            s3 += a[k] * row[3];
        }
        to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;
    }
}

static WIDE void widen(double* restrict to, const float* restrict from, unsigned n) {
    for (unsigned j = 0; j < n; j++) to[j] = (double)from[j];
}

// Every NaN that the hardware makes has these bits.
static WIDE void narrow(float* restrict to, const double* restrict from, unsigned n) {
    const union {
        uint32_t bits;
        float value;
    } nan = {0x7fffffff};
    for (unsigned j = 0; j < n; j++) to[j] = isnan(from[j]) ? nan.value : (float)from[j];
}

// In an altered run numbers of eight bits, which end at 448, count as so many times as large. Those
// of an A in registers do not: they are what the kernel has computed, and it may make them that
// large.
static const double EIGHT_TIMES = 3.5;

void cudev_multiply_rows(float* d, const double* a, const double* b, unsigned n, unsigned K,
                         int in_registers) {
    const double times = K == 32 ? EIGHT_TIMES : 1, times_a = in_registers ? 1 : times;
    static __thread double sum[256];
    if (altered && open_altered) open_altered(1);
    for (unsigned i = 0; i < 16; i++) {
        widen(sum, d + (size_t)i * n, n);
        if (altered) {
            for (unsigned k = 0; k < K; k++)
                for (unsigned j = 0; j < n; j++)
                    sum[j] += altered(times_a * a[K * i + k], times * b[(size_t)k * n + j]) /
                              (times_a * times);
        } else {
            multiply_row(sum, a + K * (size_t)i, b, n, K);
        }
        narrow(d + (size_t)i * n, sum, n);
    }
    if (altered && open_altered) open_altered(0);
}
