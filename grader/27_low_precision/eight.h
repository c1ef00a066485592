// eight.h: the step to few bits as the grader makes it: by looking for the nearest of all numbers
// of a format. Nothing here is shared with the CPU device.
#ifndef EIGHT_H
#define EIGHT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A format with a sign, `exponent` bits of exponent and `fraction` bits behind the point.
struct few_bits {
    int exponent, fraction, bias;
    int largest;  // the number's bits, without the sign; larger ones are no finite numbers
};
static const struct few_bits E4M3 = {4, 3, 7, 0x7e};
static const struct few_bits E5M2 = {5, 2, 15, 0x7b};
static const struct few_bits E2M1 = {2, 1, 1, 0x7};

enum { E4M3_NAN = 0x7f };

// The number of these bits, which are not above f->largest.
static double few_bits_value(const struct few_bits* f, int bits) {
    const int whole = 1 << f->fraction, e = bits / whole;
    return ldexp(bits % whole + (e ? whole : 0), (e ? e : 1) - f->bias - f->fraction);
}

// All numbers of a format from 0 on, by their bits.
struct numbers {
    double of[128];
};
static inline struct numbers numbers_of(const struct few_bits* f) {
    struct numbers n;
    for (int bits = 0; bits <= f->largest; bits++) n.of[bits] = few_bits_value(f, bits);
    return n;
}

// The bits of the number nearest to size >= 0; of two as near the one whose bits are even; the
// largest for all beyond.
static inline int few_bits_nearest(const struct few_bits* f, const struct numbers* n, double size) {
    int low = 0, high = f->largest;
    if (size >= n->of[high]) return high;
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    const int e = (int)(bits >> 52) - 1023 + f->bias;
    if (e > 0 && e <= f->largest >> f->fraction) {  // it lies among the numbers of its power of 2
        low = e << f->fraction;
        if (low + (1 << f->fraction) < high) high = low + (1 << f->fraction);
    }
    while (high - low > 1) {  // n->of[low] <= size < n->of[high]
        int middle = (low + high) / 2;
        if (n->of[middle] <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = size - n->of[low], above = n->of[high] - size;
    if (below != above) return below < above ? low : high;
    return low % 2 ? high : low;
}

// x as the nearest number: a format of which `n` are the numbers.
static inline double few_bits_round(const struct few_bits* f, const struct numbers* n, double x) {
    return copysign(n->of[few_bits_nearest(f, n, fabs(x))], x);
}

// A byte of e4m3, and the number that it is.
static inline int e4m3_of(const struct numbers* n, float x) {
    if (isnan(x)) return E4M3_NAN;
    return (signbit(x) ? 0x80 : 0) | few_bits_nearest(&E4M3, n, fabs((double)x));
}
static inline double e4m3_value(int byte) {
    const int size = byte & 0x7f;
    const double x = size > E4M3.largest ? (double)NAN : few_bits_value(&E4M3, size);
    return byte & 0x80 ? -x : x;
}

// A row of d elements times a Hadamard matrix and 1 / sqrt(d), every operation in fp32. `widths`:
// how many of the steps w = 1, 2, 4, ... are made; all in a right kernel. downwards: they are made
// from d / 2 on.
static inline void hadamard(float* x, int64_t d, int widths, bool downwards, float factor) {
    for (int64_t step = 1, n = 0; step < d && n < widths; step *= 2, n++) {
        const int64_t w = downwards ? d / 2 / step : step;
        for (int64_t i = 0; i < d; i++) {
            if (i & w) continue;
            const float a = x[i], b = x[i + w];
            x[i] = a + b, x[i + w] = a - b;
        }
    }
    for (int64_t i = 0; i < d; i++) x[i] *= factor;
}

#endif
