// Conversions between float and the two 16-bit formats, bit by bit: round to nearest even, with
// subnormals, infinities and NaN. Portable: g++ 11 and the aarch64 cross compiler have no _Float16.
#ifndef CUDEV_SIXTEEN_H
#define CUDEV_SIXTEEN_H

#include "../cuda_runtime.h"

namespace cudev {

enum { CANONICAL_NAN = 0x7fff };

// half: 1 sign, 5 exponent, 10 mantissa bits
inline unsigned short half_bits(float x) {
    unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return CANONICAL_NAN;
    if (size >= 0x47800000) return (unsigned short)(sign | 0x7c00);  // from 65536 on: infinity
    if (size < 0x38800000)  // below 2^-14: subnormal; 0.5f has the same last place, 2^-24
        return (unsigned short)(sign |
                                (__float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000));
    unsigned odd = size >> 13 & 1;
    return (unsigned short)(sign | (size - (112u << 23) + 0xfff + odd) >> 13);
}

inline float half_value(unsigned short h) {
    unsigned size = (h & 0x7fffu) << 13;
    float x = __uint_as_float(size) * 0x1p112f;  // moves the exponent, subnormals included
    unsigned bits = __float_as_uint(x) | (h & 0x8000u) << 16;
    return __uint_as_float(size < 0x7c00u << 13 ? bits : bits | 0x7f800000);
}

// bfloat16: the upper half of a float
inline unsigned short bfloat16_bits(float x) {
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return CANONICAL_NAN;
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float bfloat16_value(unsigned short b) {
    return __uint_as_float((unsigned)b << 16);
}

// x as a float that rounds correctly once more: see odd().
inline float odd_float(double x) {
    float f = (float)x;
    if (x == f || !isfinite(f) || !isfinite(x)) return f;
    return __uint_as_float((__float_as_uint(f) - (::fabs((double)f) > ::fabs(x))) | 1);
}

}  // namespace cudev
#endif
