// reference.h: Philox, GELU and its slope in double. For check.c and bench.c.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdint.h>

#include "fused_linear.h"

struct words {
    uint32_t word[4];
};

// Philox4x32 with `rounds` rounds of a counter of two numbers of 64 bits and a key; `grow` is 1, or
// 0 for a key that stays what it is.
static inline struct words philox_of(uint64_t low, uint64_t high, uint64_t key, int rounds,
                                     int grow) {
    uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int r = 0; r < rounds; r++) {
        uint64_t left = (uint64_t)0xD2511F53 * c[0], right = (uint64_t)0xCD9E8D57 * c[2];
        c[0] = (uint32_t)(right >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)right;
        c[2] = (uint32_t)(left >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)left;
        k[0] += (uint32_t)grow * 0x9E3779B9;
        k[1] += (uint32_t)grow * 0xBB67AE85;
    }
    return (struct words){{c[0], c[1], c[2], c[3]}};
}

// Phi, the normal distribution, and its density.
static inline double normal_below(double z) {
    return 0.5 * erfc(-z / sqrt(2));
}

static inline double normal_density(double z) {
    return exp(-0.5 * z * z) / sqrt(2 * acos(-1));
}

// (1 + tanh(u)) / 2 as 1 / (1 + exp(-2 u)): no difference of equal numbers.
static inline double tanh_below(double z) {
    return 1 / (1 + exp(-2 * sqrt(2 / acos(-1)) * (z + 0.044715 * z * z * z)));
}

// f(z) and f'(z). Of an infinite z the limits.
static inline double f_of(int f, double z) {
    if (f == FUSED_LINEAR_NONE || isnan(z)) return z;
    if (isinf(z)) return z > 0 ? z : 0;
    return z * (f == FUSED_LINEAR_GELU ? normal_below(z) : tanh_below(z));
}

static inline double slope_of(int f, double z) {
    if (f == FUSED_LINEAR_NONE || isnan(z)) return f == FUSED_LINEAR_NONE ? 1 : z;
    if (isinf(z)) return z > 0 ? 1 : 0;
    if (f == FUSED_LINEAR_GELU) return normal_below(z) + z * normal_density(z);
    double b = tanh_below(z), u = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * z * z);
    return b + z * b * (1 - b) * 2 * u;
}

#endif
