// half.h: half, its pair, and all that CUDA offers for them. Every operation computes in float or
// double and rounds once. bfloat16.h is made of this file, with its own names: edit this one, and
// run `sh grader/make/bfloat16.sh`.
#ifndef CUDEV_HALF_H
#define CUDEV_HALF_H

#include "sixteen.h"

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x, y;
};

struct __attribute__((aligned(2))) __half {
    unsigned short __x;

    __half() = default;
    __half(__half_raw raw) : __x(raw.x) {}
    __half(float x) : __x(cudev::half_bits(x)) {}
    __half(double x) : __x(cudev::half_bits(cudev::odd_float(x))) {}
    __half(int x) : __half((double)x) {}
    __half(unsigned x) : __half((double)x) {}
    __half(long x) : __half(cudev::to_odd(x)) {}
    __half(unsigned long x) : __half(cudev::to_odd(x)) {}
    __half(long long x) : __half(cudev::to_odd(x)) {}
    __half(unsigned long long x) : __half(cudev::to_odd(x)) {}
    // x rounded in a mode; x is odd if it is not exact
    __half(double x, cudev::rounding mode) : __half(x) {
        float near = cudev::half_value(__x);
        __x = (unsigned short)(__x + cudev::step(near, x - near, mode));
    }
    operator float() const {
        return cudev::half_value(__x);
    }
    operator __half_raw() const {
        return {__x};
    }
};

struct __attribute__((aligned(4))) __half2 {
    __half x, y;

    __half2() = default;
    __half2(__half x, __half y) : x(x), y(y) {}
    __half2(__half2_raw raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
    operator __half2_raw() const {
        return {x.__x, y.__x};
    }
};

// ---- conversions ----

CUDEV_FUNCTION(__half, __float2half, (float x), __half(x))
CUDEV_FUNCTION(__half, __double2half, (double x), __half(x))
CUDEV_FUNCTION(float, __half2float, (__half h), (float)h)
#define CUDEV_TO_WHOLE(T, name, mode) CUDEV_FUNCTION(T, name, (__half h), cudev::whole<T>(h, mode))
#define CUDEV_CONVERSIONS(m, mode)                                                                 \
    CUDEV_FUNCTION(__half, __float2half_##m, (float x), __half((double)x, mode))                   \
    CUDEV_FUNCTION(__half, __short2half_##m, (short x), __half((double)x, mode))                   \
    CUDEV_FUNCTION(__half, __ushort2half_##m, (unsigned short x), __half((double)x, mode))         \
    CUDEV_FUNCTION(__half, __int2half_##m, (int x), __half((double)x, mode))                       \
    CUDEV_FUNCTION(__half, __uint2half_##m, (unsigned x), __half((double)x, mode))                 \
    CUDEV_FUNCTION(__half, __ll2half_##m, (long long x), __half(cudev::to_odd(x), mode))           \
    CUDEV_FUNCTION(__half, __ull2half_##m, (unsigned long long x), __half(cudev::to_odd(x), mode)) \
    CUDEV_TO_WHOLE(short, __half2short_##m, mode)                                                  \
    CUDEV_TO_WHOLE(unsigned short, __half2ushort_##m, mode)                                        \
    CUDEV_TO_WHOLE(int, __half2int_##m, mode)                                                      \
    CUDEV_TO_WHOLE(unsigned, __half2uint_##m, mode)                                                \
    CUDEV_TO_WHOLE(long long, __half2ll_##m, mode)                                                 \
    CUDEV_TO_WHOLE(unsigned long long, __half2ull_##m, mode)
CUDEV_FOR_ROUNDINGS(CUDEV_CONVERSIONS)
CUDEV_TO_WHOLE(signed char, __half2char_rz, cudev::ZERO)
CUDEV_TO_WHOLE(unsigned char, __half2uchar_rz, cudev::ZERO)
#undef CUDEV_CONVERSIONS
#undef CUDEV_TO_WHOLE
CUDEV_FUNCTION(unsigned short, __half_as_ushort, (__half h), h.__x)
CUDEV_FUNCTION(short, __half_as_short, (__half h), (short)h.__x)
CUDEV_FUNCTION(__half, __ushort_as_half, (unsigned short bits), __half(__half_raw{bits}))
CUDEV_FUNCTION(__half, __short_as_half, (short bits), __ushort_as_half((unsigned short)bits))
CUDEV_FUNCTION(__half2, make_half2, (__half x, __half y), __half2(x, y))
CUDEV_FUNCTION(__half2, __halves2half2, (__half x, __half y), __half2(x, y))
inline __half2 __half2half2(__half h) {
    return __half2(h, h);
}
CUDEV_FUNCTION(__half2, __floats2half2_rn, (float x, float y), __half2(x, y))
CUDEV_FUNCTION(__half2, __float2half2_rn, (float x), __half2(x, x))
CUDEV_FUNCTION(__half2, __float22half2_rn, (float2 v), __half2(v.x, v.y))
CUDEV_FUNCTION(float2, __half22float2, (__half2 v), make_float2(v.x, v.y))
CUDEV_FUNCTION(float, __low2float, (__half2 v), v.x)
CUDEV_FUNCTION(float, __high2float, (__half2 v), v.y)
CUDEV_FUNCTION(__half, __low2half, (__half2 v), v.x)
CUDEV_FUNCTION(__half, __high2half, (__half2 v), v.y)
CUDEV_FUNCTION(__half2, __low2half2, (__half2 v), __half2(v.x, v.x))
CUDEV_FUNCTION(__half2, __high2half2, (__half2 v), __half2(v.y, v.y))
CUDEV_FUNCTION(__half2, __lows2half2, (__half2 a, __half2 b), __half2(a.x, b.x))
CUDEV_FUNCTION(__half2, __highs2half2, (__half2 a, __half2 b), __half2(a.y, b.y))
CUDEV_FUNCTION(__half2, __lowhigh2highlow, (__half2 v), __half2(v.y, v.x))

// ---- arithmetic: a name for one number, a name for a pair, the value in float or double ----

#define CUDEV_UNARY(one, pair, value)       \
    inline __half one(__half h) {           \
        float a = h;                        \
        return __half(value);               \
    }                                       \
    inline __half2 pair(__half2 v) {        \
        return __half2(one(v.x), one(v.y)); \
    }
#define CUDEV_BINARY(one, pair, value)                \
    inline __half one(__half g, __half h) {           \
        float a = g, b = h;                           \
        return __half(value);                         \
    }                                                 \
    inline __half2 pair(__half2 v, __half2 w) {       \
        return __half2(one(v.x, w.x), one(v.y, w.y)); \
    }
#define CUDEV_TERNARY(one, pair, value)                                \
    CUDEV_FUNCTION(__half, one, (__half a, __half b, __half c), value) \
    inline __half2 pair(__half2 v, __half2 w, __half2 u) {             \
        return __half2(one(v.x, w.x, u.x), one(v.y, w.y, u.y));        \
    }
// also never fused with what follows (_rn), and limited to [0, 1] (_sat)
#define CUDEV_OPERATION(name, value)                     \
    CUDEV_BINARY(__h##name, __h##name##2, value)         \
    CUDEV_BINARY(__h##name##_rn, __h##name##2_rn, value) \
    CUDEV_BINARY(__h##name##_sat, __h##name##2_sat, __saturatef(__half(value)))
#define CUDEV_OPERATOR(op, one, pair)                                \
    inline __half operator op(const __half& g, const __half& h) {    \
        return one(g, h);                                            \
    }                                                                \
    inline __half& operator op##=(__half& g, const __half& h) {      \
        return g = one(g, h);                                        \
    }                                                                \
    inline __half2 operator op(const __half2& v, const __half2& w) { \
        return pair(v, w);                                           \
    }                                                                \
    inline __half2& operator op##=(__half2& v, const __half2& w) {   \
        return v = pair(v, w);                                       \
    }

CUDEV_OPERATION(add, a + b)
CUDEV_OPERATION(sub, a - b)
CUDEV_OPERATION(mul, a* b)
CUDEV_BINARY(__hdiv, __h2div, a / b)
CUDEV_BINARY(hdiv, h2div, a / b)  // their names in CUDA 8
CUDEV_BINARY(__hmin, __hmin2, fminf(a, b))
CUDEV_BINARY(__hmax, __hmax2, fmaxf(a, b))
CUDEV_BINARY(__hmin_nan, __hmin2_nan, a != a || b != b ? NAN : fminf(a, b))
CUDEV_BINARY(__hmax_nan, __hmax2_nan, a != a || b != b ? NAN : fmaxf(a, b))
CUDEV_OPERATOR(+, __hadd, __hadd2)
CUDEV_OPERATOR(-, __hsub, __hsub2)
CUDEV_OPERATOR(*, __hmul, __hmul2)
CUDEV_OPERATOR(/, __hdiv, __h2div)
CUDEV_TERNARY(__hfma, __hfma2, __half(cudev::fused(a, b, c)))
CUDEV_TERNARY(__hfma_sat, __hfma2_sat, __half(__saturatef(__hfma(a, b, c))))
CUDEV_TERNARY(__hfma_relu, __hfma2_relu, __hmax_nan(__hfma(a, b, c), __half(0.0f)))
CUDEV_UNARY(__hneg, __hneg2, -a)
CUDEV_UNARY(__habs, __habs2, fabsf(a))
CUDEV_UNARY(hexp, h2exp, expf(a))
CUDEV_UNARY(hexp2, h2exp2, exp2f(a))
CUDEV_UNARY(hexp10, h2exp10, exp10f(a))
CUDEV_UNARY(hlog, h2log, logf(a))
CUDEV_UNARY(hlog2, h2log2, log2f(a))
CUDEV_UNARY(hlog10, h2log10, log10f(a))
CUDEV_UNARY(hsin, h2sin, sinf(a))
CUDEV_UNARY(hcos, h2cos, cosf(a))
CUDEV_UNARY(htanh, h2tanh, tanhf(a))
CUDEV_UNARY(htanh_approx, h2tanh_approx, tanhf(a))
CUDEV_UNARY(hsqrt, h2sqrt, sqrtf(a))
CUDEV_UNARY(hrsqrt, h2rsqrt, rsqrtf(a))
CUDEV_UNARY(hrcp, h2rcp, 1.0f / a)
CUDEV_UNARY(hfloor, h2floor, floorf(a))
CUDEV_UNARY(hceil, h2ceil, ceilf(a))
CUDEV_UNARY(hrint, h2rint, rintf(a))
CUDEV_UNARY(htrunc, h2trunc, truncf(a))
CUDEV_UNARY(__hisnan2_, __hisnan2, a != a ? 1.0f : 0.0f)
// a b + c of complex numbers
inline __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                   __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// ---- comparison: of pairs to 1 or 0, to all bits or none, and of both numbers ----

#define CUDEV_COMPARE(name, condition)                                                        \
    inline bool __h##name(__half g, __half h) {                                               \
        float a = g, b = h;                                                                   \
        return condition;                                                                     \
    }                                                                                         \
    inline __half2 __h##name##2(__half2 v, __half2 w) {                                       \
        return __half2(__h##name(v.x, w.x) ? 1.0f : 0.0f, __h##name(v.y, w.y) ? 1.0f : 0.0f); \
    }                                                                                         \
    inline unsigned __h##name##2_mask(__half2 v, __half2 w) {                                 \
        return (__h##name(v.x, w.x) ? 0xffff : 0) | (__h##name(v.y, w.y) ? 0xffff0000 : 0);   \
    }                                                                                         \
    inline bool __hb##name##2(__half2 v, __half2 w) {                                         \
        return __h##name(v.x, w.x) && __h##name(v.y, w.y);                                    \
    }
// u: also true where a number is NaN
#define CUDEV_COMPARISON(op, name, of, ordered, unordered)        \
    CUDEV_COMPARE(name, ordered)                                  \
    CUDEV_COMPARE(name##u, unordered)                             \
    inline bool operator op(const __half& g, const __half& h) {   \
        return __h##of(g, h);                                     \
    }                                                             \
    inline bool operator op(const __half2& v, const __half2& w) { \
        return __hb##of##2(v, w);                                 \
    }
CUDEV_COMPARISON(==, eq, eq, a == b, !(a < b || a > b))
CUDEV_COMPARISON(!=, ne, neu, a<b || a> b, a != b)
CUDEV_COMPARISON(<, lt, lt, a < b, !(a >= b))
CUDEV_COMPARISON(<=, le, le, a <= b, !(a > b))
CUDEV_COMPARISON(>, gt, gt, a > b, !(a <= b))
CUDEV_COMPARISON(>=, ge, ge, a >= b, !(a < b))
CUDEV_FUNCTION(bool, __hisnan, (__half h), isnan((float)h))
inline int __hisinf(__half h) {
    float a = h;
    return isinf(a) ? (a > 0 ? 1 : -1) : 0;
}

// ---- one operand: -h, +h, ++h, h++ ----

#define CUDEV_SIGNS(T, negated, one) \
    inline T operator-(const T& h) { \
        return negated(h);           \
    }                                \
    inline T operator+(const T& h) { \
        return h;                    \
    }                                \
    inline T& operator++(T& h) {     \
        return h = h + one;          \
    }                                \
    inline T& operator--(T& h) {     \
        return h = h - one;          \
    }                                \
    inline T operator++(T& h, int) { \
        T old = h;                   \
        ++h;                         \
        return old;                  \
    }                                \
    inline T operator--(T& h, int) { \
        T old = h;                   \
        --h;                         \
        return old;                  \
    }
CUDEV_SIGNS(__half, __hneg, __half(1.0f))
CUDEV_SIGNS(__half2, __hneg2, __half2(1.0f, 1.0f))

// ---- between threads ----

CUDEV_SHUFFLES(__half)
CUDEV_SHUFFLES(__half2)
CUDEV_ATOMIC_UPDATE(__half, unsigned short, atomicAdd, old + value)
CUDEV_ATOMIC_UPDATE(__half2, unsigned, atomicAdd, old + value)

#undef CUDEV_UNARY
#undef CUDEV_BINARY
#undef CUDEV_TERNARY
#undef CUDEV_OPERATION
#undef CUDEV_OPERATOR
#undef CUDEV_COMPARE
#undef CUDEV_COMPARISON
#undef CUDEV_SIGNS

#endif
