// bfloat16.h: bfloat16, its pair, and all that CUDA offers for them: half.h with other names.
// grader/make/bfloat16.sh has made it: edit half.h.
#ifndef CUDEV_BFLOAT16_H
#define CUDEV_BFLOAT16_H

#include "sixteen.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
};

struct __attribute__((aligned(2))) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
    __nv_bfloat16(float x) : __x(cudev::bfloat16_bits(x)) {}
    __nv_bfloat16(double x) : __x(cudev::bfloat16_bits(cudev::odd_float(x))) {}
    __nv_bfloat16(int x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(unsigned x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(long x) : __nv_bfloat16(cudev::to_odd(x)) {}
    __nv_bfloat16(unsigned long x) : __nv_bfloat16(cudev::to_odd(x)) {}
    __nv_bfloat16(long long x) : __nv_bfloat16(cudev::to_odd(x)) {}
    __nv_bfloat16(unsigned long long x) : __nv_bfloat16(cudev::to_odd(x)) {}
    // x rounded in a mode; x is odd if it is not exact
    __nv_bfloat16(double x, cudev::rounding mode) : __nv_bfloat16(x) {
        float near = cudev::bfloat16_value(__x);
        __x = (unsigned short)(__x + cudev::step(near, x - near, mode));
    }
    operator float() const {
        return cudev::bfloat16_value(__x);
    }
    operator __nv_bfloat16_raw() const {
        return {__x};
    }
};

struct __attribute__((aligned(4))) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
    __nv_bfloat162(__nv_bfloat162_raw raw)
        : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
    operator __nv_bfloat162_raw() const {
        return {x.__x, y.__x};
    }
};

CUDEV_FUNCTION(__nv_bfloat16, __float2bfloat16, (float x), __nv_bfloat16(x))
CUDEV_FUNCTION(__nv_bfloat16, __double2bfloat16, (double x), __nv_bfloat16(x))
CUDEV_FUNCTION(float, __bfloat162float, (__nv_bfloat16 h), (float)h)
#define CUDEV_TO_WHOLE(T, name, mode) \
    CUDEV_FUNCTION(T, name, (__nv_bfloat16 h), cudev::whole<T>(h, mode))
#define CUDEV_CONVERSIONS(m, mode)                                                                 \
    CUDEV_FUNCTION(__nv_bfloat16, __float2bfloat16_##m, (float x), __nv_bfloat16((double)x, mode)) \
    CUDEV_FUNCTION(__nv_bfloat16, __short2bfloat16_##m, (short x), __nv_bfloat16((double)x, mode)) \
    CUDEV_FUNCTION(__nv_bfloat16, __ushort2bfloat16_##m, (unsigned short x),                       \
                   __nv_bfloat16((double)x, mode))                                                 \
    CUDEV_FUNCTION(__nv_bfloat16, __int2bfloat16_##m, (int x), __nv_bfloat16((double)x, mode))     \
    CUDEV_FUNCTION(__nv_bfloat16, __uint2bfloat16_##m, (unsigned x),                               \
                   __nv_bfloat16((double)x, mode))                                                 \
    CUDEV_FUNCTION(__nv_bfloat16, __ll2bfloat16_##m, (long long x),                                \
                   __nv_bfloat16(cudev::to_odd(x), mode))                                          \
    CUDEV_FUNCTION(__nv_bfloat16, __ull2bfloat16_##m, (unsigned long long x),                      \
                   __nv_bfloat16(cudev::to_odd(x), mode))                                          \
    CUDEV_TO_WHOLE(short, __bfloat162short_##m, mode)                                              \
    CUDEV_TO_WHOLE(unsigned short, __bfloat162ushort_##m, mode)                                    \
    CUDEV_TO_WHOLE(int, __bfloat162int_##m, mode)                                                  \
    CUDEV_TO_WHOLE(unsigned, __bfloat162uint_##m, mode)                                            \
    CUDEV_TO_WHOLE(long long, __bfloat162ll_##m, mode)                                             \
    CUDEV_TO_WHOLE(unsigned long long, __bfloat162ull_##m, mode)
CUDEV_FOR_ROUNDINGS(CUDEV_CONVERSIONS)
CUDEV_TO_WHOLE(signed char, __bfloat162char_rz, cudev::ZERO)
CUDEV_TO_WHOLE(unsigned char, __bfloat162uchar_rz, cudev::ZERO)
#undef CUDEV_CONVERSIONS
#undef CUDEV_TO_WHOLE
CUDEV_FUNCTION(unsigned short, __bfloat16_as_ushort, (__nv_bfloat16 h), h.__x)
CUDEV_FUNCTION(short, __bfloat16_as_short, (__nv_bfloat16 h), (short)h.__x)
CUDEV_FUNCTION(__nv_bfloat16, __ushort_as_bfloat16, (unsigned short bits),
               __nv_bfloat16(__nv_bfloat16_raw{bits}))
CUDEV_FUNCTION(__nv_bfloat16, __short_as_bfloat16, (short bits),
               __ushort_as_bfloat16((unsigned short)bits))
CUDEV_FUNCTION(__nv_bfloat162, make_bfloat162, (__nv_bfloat16 x, __nv_bfloat16 y),
               __nv_bfloat162(x, y))
CUDEV_FUNCTION(__nv_bfloat162, __halves2bfloat162, (__nv_bfloat16 x, __nv_bfloat16 y),
               __nv_bfloat162(x, y))
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 h) {
    return __nv_bfloat162(h, h);
}
CUDEV_FUNCTION(__nv_bfloat162, __floats2bfloat162_rn, (float x, float y), __nv_bfloat162(x, y))
CUDEV_FUNCTION(__nv_bfloat162, __float2bfloat162_rn, (float x), __nv_bfloat162(x, x))
CUDEV_FUNCTION(__nv_bfloat162, __float22bfloat162_rn, (float2 v), __nv_bfloat162(v.x, v.y))
CUDEV_FUNCTION(float2, __bfloat1622float2, (__nv_bfloat162 v), make_float2(v.x, v.y))
CUDEV_FUNCTION(float, __low2float, (__nv_bfloat162 v), v.x)
CUDEV_FUNCTION(float, __high2float, (__nv_bfloat162 v), v.y)
CUDEV_FUNCTION(__nv_bfloat16, __low2bfloat16, (__nv_bfloat162 v), v.x)
CUDEV_FUNCTION(__nv_bfloat16, __high2bfloat16, (__nv_bfloat162 v), v.y)
CUDEV_FUNCTION(__nv_bfloat162, __low2bfloat162, (__nv_bfloat162 v), __nv_bfloat162(v.x, v.x))
CUDEV_FUNCTION(__nv_bfloat162, __high2bfloat162, (__nv_bfloat162 v), __nv_bfloat162(v.y, v.y))
CUDEV_FUNCTION(__nv_bfloat162, __lows2bfloat162, (__nv_bfloat162 a, __nv_bfloat162 b),
               __nv_bfloat162(a.x, b.x))
CUDEV_FUNCTION(__nv_bfloat162, __highs2bfloat162, (__nv_bfloat162 a, __nv_bfloat162 b),
               __nv_bfloat162(a.y, b.y))
CUDEV_FUNCTION(__nv_bfloat162, __lowhigh2highlow, (__nv_bfloat162 v), __nv_bfloat162(v.y, v.x))

#define CUDEV_UNARY(one, pair, value)              \
    inline __nv_bfloat16 one(__nv_bfloat16 h) {    \
        float a = h;                               \
        return __nv_bfloat16(value);               \
    }                                              \
    inline __nv_bfloat162 pair(__nv_bfloat162 v) { \
        return __nv_bfloat162(one(v.x), one(v.y)); \
    }
#define CUDEV_BINARY(one, pair, value)                               \
    inline __nv_bfloat16 one(__nv_bfloat16 g, __nv_bfloat16 h) {     \
        float a = g, b = h;                                          \
        return __nv_bfloat16(value);                                 \
    }                                                                \
    inline __nv_bfloat162 pair(__nv_bfloat162 v, __nv_bfloat162 w) { \
        return __nv_bfloat162(one(v.x, w.x), one(v.y, w.y));         \
    }
#define CUDEV_TERNARY(one, pair, value)                                                            \
    CUDEV_FUNCTION(__nv_bfloat16, one, (__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c), value) \
    inline __nv_bfloat162 pair(__nv_bfloat162 v, __nv_bfloat162 w, __nv_bfloat162 u) {             \
        return __nv_bfloat162(one(v.x, w.x, u.x), one(v.y, w.y, u.y));                             \
    }
#define CUDEV_OPERATION(name, value)                     \
    CUDEV_BINARY(__h##name, __h##name##2, value)         \
    CUDEV_BINARY(__h##name##_rn, __h##name##2_rn, value) \
    CUDEV_BINARY(__h##name##_sat, __h##name##2_sat, __saturatef(__nv_bfloat16(value)))
#define CUDEV_OPERATOR(op, one, pair)                                                     \
    inline __nv_bfloat16 operator op(const __nv_bfloat16& g, const __nv_bfloat16& h) {    \
        return one(g, h);                                                                 \
    }                                                                                     \
    inline __nv_bfloat16& operator op##=(__nv_bfloat16& g, const __nv_bfloat16& h) {      \
        return g = one(g, h);                                                             \
    }                                                                                     \
    inline __nv_bfloat162 operator op(const __nv_bfloat162& v, const __nv_bfloat162& w) { \
        return pair(v, w);                                                                \
    }                                                                                     \
    inline __nv_bfloat162& operator op##=(__nv_bfloat162& v, const __nv_bfloat162& w) {   \
        return v = pair(v, w);                                                            \
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
CUDEV_TERNARY(__hfma, __hfma2, __nv_bfloat16(cudev::fused(a, b, c)))
CUDEV_TERNARY(__hfma_sat, __hfma2_sat, __nv_bfloat16(__saturatef(__hfma(a, b, c))))
CUDEV_TERNARY(__hfma_relu, __hfma2_relu, __hmax_nan(__hfma(a, b, c), __nv_bfloat16(0.0f)))
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
inline __nv_bfloat162 __hcmadd(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return __nv_bfloat162(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                          __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

#define CUDEV_COMPARE(name, condition)                                                      \
    inline bool __h##name(__nv_bfloat16 g, __nv_bfloat16 h) {                               \
        float a = g, b = h;                                                                 \
        return condition;                                                                   \
    }                                                                                       \
    inline __nv_bfloat162 __h##name##2(__nv_bfloat162 v, __nv_bfloat162 w) {                \
        return __nv_bfloat162(__h##name(v.x, w.x) ? 1.0f : 0.0f,                            \
                              __h##name(v.y, w.y) ? 1.0f : 0.0f);                           \
    }                                                                                       \
    inline unsigned __h##name##2_mask(__nv_bfloat162 v, __nv_bfloat162 w) {                 \
        return (__h##name(v.x, w.x) ? 0xffff : 0) | (__h##name(v.y, w.y) ? 0xffff0000 : 0); \
    }                                                                                       \
    inline bool __hb##name##2(__nv_bfloat162 v, __nv_bfloat162 w) {                         \
        return __h##name(v.x, w.x) && __h##name(v.y, w.y);                                  \
    }
#define CUDEV_COMPARISON(op, name, of, ordered, unordered)                      \
    CUDEV_COMPARE(name, ordered)                                                \
    CUDEV_COMPARE(name##u, unordered)                                           \
    inline bool operator op(const __nv_bfloat16& g, const __nv_bfloat16& h) {   \
        return __h##of(g, h);                                                   \
    }                                                                           \
    inline bool operator op(const __nv_bfloat162& v, const __nv_bfloat162& w) { \
        return __hb##of##2(v, w);                                               \
    }
CUDEV_COMPARISON(==, eq, eq, a == b, !(a < b || a > b))
CUDEV_COMPARISON(!=, ne, neu, a<b || a> b, a != b)
CUDEV_COMPARISON(<, lt, lt, a < b, !(a >= b))
CUDEV_COMPARISON(<=, le, le, a <= b, !(a > b))
CUDEV_COMPARISON(>, gt, gt, a > b, !(a <= b))
CUDEV_COMPARISON(>=, ge, ge, a >= b, !(a < b))
CUDEV_FUNCTION(bool, __hisnan, (__nv_bfloat16 h), isnan((float)h))
inline int __hisinf(__nv_bfloat16 h) {
    float a = h;
    return isinf(a) ? (a > 0 ? 1 : -1) : 0;
}

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
CUDEV_SIGNS(__nv_bfloat16, __hneg, __nv_bfloat16(1.0f))
CUDEV_SIGNS(__nv_bfloat162, __hneg2, __nv_bfloat162(1.0f, 1.0f))

CUDEV_SHUFFLES(__nv_bfloat16)
CUDEV_SHUFFLES(__nv_bfloat162)
CUDEV_ATOMIC_UPDATE(__nv_bfloat16, unsigned short, atomicAdd, old + value)
CUDEV_ATOMIC_UPDATE(__nv_bfloat162, unsigned, atomicAdd, old + value)

#undef CUDEV_UNARY
#undef CUDEV_BINARY
#undef CUDEV_TERNARY
#undef CUDEV_OPERATION
#undef CUDEV_OPERATOR
#undef CUDEV_COMPARE
#undef CUDEV_COMPARISON
#undef CUDEV_SIGNS

#endif
