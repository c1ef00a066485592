// Results rounded to the nearest number, towards zero, up or down (_rn, _rz, _ru, _rd): float
// arithmetic, and what makes one type of number of another. The processor stays in its own mode, to
// nearest; what that took away says where the neighbour lies. device/numbers.c does it for double.
#ifndef CUDEV_ROUNDING_H
#define CUDEV_ROUNDING_H

#define CUDEV_FOR_DIRECTIONS(f) f(rz, cudev::ZERO) f(ru, cudev::UP) f(rd, cudev::DOWN)
#define CUDEV_FOR_ROUNDINGS(f) f(rn, cudev::NEAREST) CUDEV_FOR_DIRECTIONS(f)

namespace cudev {

enum rounding { NEAREST, ZERO, UP, DOWN };

// `near` is the nearest number of a format to near + rest; only the sign of rest counts. Returns
// what to add to the bits of `near` to have its neighbour, the number that the mode wants. As bits,
// the next number after the largest one is infinity.
inline int step(double near, double rest, rounding mode) {
    if (mode == NEAREST || !(rest < 0 || rest > 0)) return 0;
    bool grows = (rest > 0) == !signbit(near);  // is the exact number farther from 0?
    bool moves = mode == UP ? rest > 0 : mode == DOWN ? rest < 0 : !grows;
    return moves ? grows ? 1 : -1 : 0;
}

// x + rest, |rest| at most half an ulp of x, as a double that rounds correctly once more: an
// inexact one ends in an odd bit, so a second rounding to fewer bits cannot mistake it for a tie.
inline double odd(double x, double rest) {
    unsigned long long bits = to_bits(x);
    if (!(rest < 0 || rest > 0) || bits & 1 || !isfinite(x)) return x;
    return from_bits<double>((rest > 0) == !signbit(x) ? bits + 1 : bits - 1);
}

// The part of x + y that was lost when it was rounded to `sum` (Knuth's two-sum). NaN if the sum is
// not finite.
inline double lost(double x, double y, double sum) {
    double back = sum - x;
    return (x - (sum - back)) + (y - back);
}

// Sums, products, quotients of floats, as a double to be rounded once more. The product of two
// floats is a double.
inline double fused(float a, float b, float c, rounding mode = NEAREST) {
    double product = (double)a * b;
    // 1 - 1 is -0 when rounded down
    double sum = mode == DOWN ? -(-product - c) : product + c;
    return odd(sum, lost(product, c, sum));
}
inline double quotient(float a, float b) {
    double q = (double)a / b, rest = ::fma(-q, (double)b, (double)a);
    return odd(q, b < 0 ? -rest : rest);
}
inline double root(float a) {
    double r = ::sqrt((double)a);
    return odd(r, ::fma(-r, r, (double)a));
}

inline float to_float(double x, rounding mode) {
    float near = (float)x;
    return from_bits<float>(to_bits(near) + (long long)step(near, x - near, mode));
}
// A whole number of 64 bits as the sum of two doubles, and as one that is rounded or odd.
template <class T> inline double upper(T x) {
    return (double)(x >> 32) * 0x1p32;
}
template <class T> inline double rest(T x, double near) {
    return lost(upper(x), (double)(x & 0xffffffff), near);
}
template <class T> inline double to_double(T x, rounding mode) {
    double near = (double)x;
    return from_bits<double>(to_bits(near) + (long long)step(near, rest(x, near), mode));
}
template <class T> inline double to_odd(T x) {
    double near = (double)x;
    return odd(near, rest(x, near));
}

// A whole number; the nearest one that T has. `nan`: what NaN becomes, which differs.
template <class T> inline T to_whole(double x, rounding mode, T nan) {
    constexpr bool is_signed = (T)-1 < 0;
    constexpr T high = (T)(~0ull >> (64 - 8 * sizeof(T) + is_signed)), low = (T)~high * is_signed;
    if (x != x) return nan;
    double whole = mode == NEAREST ? ::rint(x)
                   : mode == UP    ? ::ceil(x)
                   : mode == DOWN  ? ::floor(x)
                                   : x;
    if (whole >= (double)high) return high;
    return whole <= (double)low ? low : (T)whole;
}
// On a GPU NaN gives 0, or the highest bit if it is a double or the whole number has 64 bits.
template <class T, class From> inline T whole(From x, rounding mode) {
    constexpr bool large = sizeof(T) == 8 || sizeof(From) == 8;
    return to_whole<T>((double)x, mode, large ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0);
}

}  // namespace cudev

// ---- arithmetic ----

#define CUDEV_TO_NEAREST(type, name, root)                              \
    CUDEV_FUNCTION(type, __##name##add_rn, (type x, type y), x + y)     \
    CUDEV_FUNCTION(type, __##name##sub_rn, (type x, type y), x - y)     \
    CUDEV_FUNCTION(type, __##name##mul_rn, (type x, type y), (x) * (y)) \
    CUDEV_FUNCTION(type, __##name##div_rn, (type x, type y), x / y)     \
    CUDEV_FUNCTION(type, __##name##rcp_rn, (type x), 1 / x)             \
    CUDEV_FUNCTION(type, __##name##sqrt_rn, (type x), root(x))
CUDEV_TO_NEAREST(float, f, ::sqrtf)
CUDEV_TO_NEAREST(double, d, ::sqrt)
#undef CUDEV_TO_NEAREST
CUDEV_FUNCTION(float, __fmaf_rn, (float x, float y, float z), ::fmaf(x, y, z))
CUDEV_FUNCTION(float, __fmaf_ieee_rn, (float x, float y, float z), ::fmaf(x, y, z))
CUDEV_FUNCTION(double, __fma_rn, (double x, double y, double z), ::fma(x, y, z))
CUDEV_FUNCTION(float, __frsqrt_rn, (float x), (float)(1 / ::sqrt((double)x)))

#define CUDEV_FLOATS(m, mode)                                                                  \
    CUDEV_FUNCTION(float, __fadd_##m, (float x, float y),                                      \
                   cudev::to_float(cudev::fused(x, 1, y, mode), mode))                         \
    CUDEV_FUNCTION(float, __fsub_##m, (float x, float y),                                      \
                   cudev::to_float(cudev::fused(x, 1, -y, mode), mode))                        \
    CUDEV_FUNCTION(float, __fmul_##m, (float x, float y), cudev::to_float((double)x* y, mode)) \
    CUDEV_FUNCTION(float, __fmaf_##m, (float x, float y, float z),                             \
                   cudev::to_float(cudev::fused(x, y, z, mode), mode))                         \
    CUDEV_FUNCTION(float, __fmaf_ieee_##m, (float x, float y, float z), __fmaf_##m(x, y, z))   \
    CUDEV_FUNCTION(float, __fdiv_##m, (float x, float y),                                      \
                   cudev::to_float(cudev::quotient(x, y), mode))                               \
    CUDEV_FUNCTION(float, __frcp_##m, (float x), cudev::to_float(cudev::quotient(1, x), mode)) \
    CUDEV_FUNCTION(float, __fsqrt_##m, (float x), cudev::to_float(cudev::root(x), mode))
CUDEV_FOR_DIRECTIONS(CUDEV_FLOATS)
#undef CUDEV_FLOATS

// ---- conversions ----

#define CUDEV_CASTS(m, mode)                                                                      \
    CUDEV_FUNCTION(int, __float2int_##m, (float x), cudev::whole<int>(x, mode))                   \
    CUDEV_FUNCTION(unsigned, __float2uint_##m, (float x), cudev::whole<unsigned>(x, mode))        \
    CUDEV_FUNCTION(long long, __float2ll_##m, (float x), cudev::whole<long long>(x, mode))        \
    CUDEV_FUNCTION(unsigned long long, __float2ull_##m, (float x),                                \
                   cudev::whole<unsigned long long>(x, mode))                                     \
    CUDEV_FUNCTION(int, __double2int_##m, (double x), cudev::whole<int>(x, mode))                 \
    CUDEV_FUNCTION(unsigned, __double2uint_##m, (double x), cudev::whole<unsigned>(x, mode))      \
    CUDEV_FUNCTION(long long, __double2ll_##m, (double x), cudev::whole<long long>(x, mode))      \
    CUDEV_FUNCTION(unsigned long long, __double2ull_##m, (double x),                              \
                   cudev::whole<unsigned long long>(x, mode))                                     \
    CUDEV_FUNCTION(float, __double2float_##m, (double x), cudev::to_float(x, mode))               \
    CUDEV_FUNCTION(float, __int2float_##m, (int x), cudev::to_float(x, mode))                     \
    CUDEV_FUNCTION(float, __uint2float_##m, (unsigned x), cudev::to_float(x, mode))               \
    CUDEV_FUNCTION(float, __ll2float_##m, (long long x), cudev::to_float(cudev::to_odd(x), mode)) \
    CUDEV_FUNCTION(float, __ull2float_##m, (unsigned long long x),                                \
                   cudev::to_float(cudev::to_odd(x), mode))                                       \
    CUDEV_FUNCTION(double, __ll2double_##m, (long long x), cudev::to_double(x, mode))             \
    CUDEV_FUNCTION(double, __ull2double_##m, (unsigned long long x), cudev::to_double(x, mode))
CUDEV_FOR_ROUNDINGS(CUDEV_CASTS)
#undef CUDEV_CASTS
CUDEV_FUNCTION(double, __int2double_rn, (int x), x)
CUDEV_FUNCTION(double, __uint2double_rn, (unsigned x), x)

// ---- bits ----

CUDEV_FUNCTION(int, __float_as_int, (float x), cudev::from_bits<int>(cudev::to_bits(x)))
CUDEV_FUNCTION(unsigned, __float_as_uint, (float x), cudev::from_bits<unsigned>(cudev::to_bits(x)))
CUDEV_FUNCTION(float, __int_as_float, (int x), cudev::from_bits<float>(cudev::to_bits(x)))
CUDEV_FUNCTION(float, __uint_as_float, (unsigned x), cudev::from_bits<float>(cudev::to_bits(x)))
CUDEV_FUNCTION(long long, __double_as_longlong, (double x), (long long)cudev::to_bits(x))
CUDEV_FUNCTION(double, __longlong_as_double, (long long x), cudev::from_bits<double>(x))
CUDEV_FUNCTION(int, __double2hiint, (double x), (int)(cudev::to_bits(x) >> 32))
CUDEV_FUNCTION(int, __double2loint, (double x), (int)cudev::to_bits(x))
CUDEV_FUNCTION(double, __hiloint2double, (int high, int low),
               cudev::from_bits<double>((unsigned long long)high << 32 | (unsigned)low))

#endif
