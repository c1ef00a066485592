// A 16-bit number type, its pair, and all that CUDA offers for them. Included once per type, with
//   CUDEV_H, CUDEV_H2   the types: __half, __half2
//   CUDEV_NAME          how functions call it: half, as in __float2half
//   CUDEV_BITS, CUDEV_VALUE   float to bits, bits to float
// No include guard, on purpose. Every operation computes in float and rounds once.

#define CUDEV_PASTE_(a, b, c) a##b##c
#define CUDEV_PASTE(a, b, c) CUDEV_PASTE_(a, b, c)
#define F(before, after) CUDEV_PASTE(before, CUDEV_NAME, after)

struct __attribute__((aligned(2))) CUDEV_H {
    unsigned short __x;

    CUDEV_H() = default;
    CUDEV_H(float x) : __x(CUDEV_BITS(x)) {}
    CUDEV_H(double x) : __x(CUDEV_BITS(cudev::round_to_odd(x, 0))) {}
    CUDEV_H(int x) : CUDEV_H((double)x) {}
    CUDEV_H(unsigned x) : CUDEV_H((double)x) {}
    CUDEV_H(long x) : CUDEV_H((double)x) {}
    CUDEV_H(unsigned long x) : CUDEV_H((double)x) {}
    CUDEV_H(long long x) : CUDEV_H((double)x) {}
    CUDEV_H(unsigned long long x) : CUDEV_H((double)x) {}
    operator float() const {
        return CUDEV_VALUE(__x);
    }
};

struct __attribute__((aligned(4))) CUDEV_H2 {
    CUDEV_H x, y;

    CUDEV_H2() = default;
    CUDEV_H2(CUDEV_H x, CUDEV_H y) : x(x), y(y) {}
};

// ---- conversions ----

CUDEV_FUNCTION(CUDEV_H, F(__float2, ), (float x), CUDEV_H(x))
CUDEV_FUNCTION(CUDEV_H, F(__float2, _rn), (float x), CUDEV_H(x))
CUDEV_FUNCTION(CUDEV_H, F(__double2, ), (double x), CUDEV_H(x))
CUDEV_FUNCTION(CUDEV_H, F(__int2, _rn), (int x), CUDEV_H(x))
CUDEV_FUNCTION(CUDEV_H, F(__uint2, _rn), (unsigned x), CUDEV_H(x))
CUDEV_FUNCTION(float, F(__, 2float), (CUDEV_H h), (float)h)
CUDEV_FUNCTION(int, F(__, 2int_rn), (CUDEV_H h), (int)rintf((float)h))
CUDEV_FUNCTION(int, F(__, 2int_rz), (CUDEV_H h), (int)(float)h)
CUDEV_FUNCTION(unsigned short, F(__, _as_ushort), (CUDEV_H h), h.__x)
inline CUDEV_H F(__ushort_as_, )(unsigned short bits) {
    CUDEV_H h;
    h.__x = bits;
    return h;
}
CUDEV_FUNCTION(CUDEV_H2, F(make_, 2), (CUDEV_H x, CUDEV_H y), CUDEV_H2(x, y))
CUDEV_FUNCTION(CUDEV_H2, F(__halves2, 2), (CUDEV_H x, CUDEV_H y), CUDEV_H2(x, y))
inline CUDEV_H2 CUDEV_PASTE(F(__, 2), CUDEV_NAME, 2)(CUDEV_H h) {  // __half2half2
    return CUDEV_H2(h, h);
}
CUDEV_FUNCTION(CUDEV_H2, F(__floats2, 2_rn), (float x, float y), CUDEV_H2(x, y))
CUDEV_FUNCTION(CUDEV_H2, F(__float2, 2_rn), (float x), CUDEV_H2(x, x))
CUDEV_FUNCTION(CUDEV_H2, F(__float22, 2_rn), (float2 v), CUDEV_H2(v.x, v.y))
CUDEV_FUNCTION(float2, F(__, 22float2), (CUDEV_H2 v), make_float2(v.x, v.y))
CUDEV_FUNCTION(float, __low2float, (CUDEV_H2 v), v.x)
CUDEV_FUNCTION(float, __high2float, (CUDEV_H2 v), v.y)
CUDEV_FUNCTION(CUDEV_H, F(__low2, ), (CUDEV_H2 v), v.x)
CUDEV_FUNCTION(CUDEV_H, F(__high2, ), (CUDEV_H2 v), v.y)
CUDEV_FUNCTION(CUDEV_H2, F(__low2, 2), (CUDEV_H2 v), CUDEV_H2(v.x, v.x))
CUDEV_FUNCTION(CUDEV_H2, F(__high2, 2), (CUDEV_H2 v), CUDEV_H2(v.y, v.y))
CUDEV_FUNCTION(CUDEV_H2, F(__lows2, 2), (CUDEV_H2 a, CUDEV_H2 b), CUDEV_H2(a.x, b.x))
CUDEV_FUNCTION(CUDEV_H2, F(__highs2, 2), (CUDEV_H2 a, CUDEV_H2 b), CUDEV_H2(a.y, b.y))
CUDEV_FUNCTION(CUDEV_H2, __lowhigh2highlow, (CUDEV_H2 v), CUDEV_H2(v.y, v.x))

// ---- arithmetic: a name for one number, a name for a pair, the value in float ----

#define CUDEV_UNARY(one, pair, value)        \
    inline CUDEV_H one(CUDEV_H h) {          \
        float a = h;                         \
        return CUDEV_H(value);               \
    }                                        \
    inline CUDEV_H2 pair(CUDEV_H2 v) {       \
        return CUDEV_H2(one(v.x), one(v.y)); \
    }
#define CUDEV_BINARY(one, pair, value)                 \
    inline CUDEV_H one(CUDEV_H g, CUDEV_H h) {         \
        float a = g, b = h;                            \
        return CUDEV_H(value);                         \
    }                                                  \
    inline CUDEV_H2 pair(CUDEV_H2 v, CUDEV_H2 w) {     \
        return CUDEV_H2(one(v.x, w.x), one(v.y, w.y)); \
    }
#define CUDEV_COMPARE(one, pair, condition)                                        \
    inline bool one(CUDEV_H g, CUDEV_H h) {                                        \
        float a = g, b = h;                                                        \
        return condition;                                                          \
    }                                                                              \
    inline CUDEV_H2 pair(CUDEV_H2 v, CUDEV_H2 w) {                                 \
        return CUDEV_H2(one(v.x, w.x) ? 1.0f : 0.0f, one(v.y, w.y) ? 1.0f : 0.0f); \
    }
#define CUDEV_OPERATOR(op, one, pair)                                   \
    inline CUDEV_H operator op(const CUDEV_H& g, const CUDEV_H& h) {    \
        return one(g, h);                                               \
    }                                                                   \
    inline CUDEV_H& operator op##=(CUDEV_H& g, const CUDEV_H& h) {      \
        return g = one(g, h);                                           \
    }                                                                   \
    inline CUDEV_H2 operator op(const CUDEV_H2& v, const CUDEV_H2& w) { \
        return pair(v, w);                                              \
    }                                                                   \
    inline CUDEV_H2& operator op##=(CUDEV_H2& v, const CUDEV_H2& w) {   \
        return v = pair(v, w);                                          \
    }

CUDEV_BINARY(__hadd, __hadd2, a + b)
CUDEV_BINARY(__hsub, __hsub2, a - b)
CUDEV_BINARY(__hmul, __hmul2, a* b)
CUDEV_BINARY(__hdiv, __h2div, a / b)
CUDEV_BINARY(__hmin, __hmin2, fminf(a, b))
CUDEV_BINARY(__hmax, __hmax2, fmaxf(a, b))
CUDEV_BINARY(__hmin_nan, __hmin2_nan, a != a || b != b ? a + b : fminf(a, b))
CUDEV_BINARY(__hmax_nan, __hmax2_nan, a != a || b != b ? a + b : fmaxf(a, b))
CUDEV_OPERATOR(+, __hadd, __hadd2)
CUDEV_OPERATOR(-, __hsub, __hsub2)
CUDEV_OPERATOR(*, __hmul, __hmul2)
CUDEV_OPERATOR(/, __hdiv, __h2div)
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
CUDEV_UNARY(hsqrt, h2sqrt, sqrtf(a))
CUDEV_UNARY(hrsqrt, h2rsqrt, rsqrtf(a))
CUDEV_UNARY(hrcp, h2rcp, 1.0f / a)
CUDEV_UNARY(hfloor, h2floor, floorf(a))
CUDEV_UNARY(hceil, h2ceil, ceilf(a))
CUDEV_UNARY(hrint, h2rint, rintf(a))
CUDEV_UNARY(htrunc, h2trunc, truncf(a))
CUDEV_COMPARE(__heq, __heq2, a == b)
CUDEV_COMPARE(__hne, __hne2, a<b || a> b)
CUDEV_COMPARE(__hlt, __hlt2, a < b)
CUDEV_COMPARE(__hle, __hle2, a <= b)
CUDEV_COMPARE(__hgt, __hgt2, a > b)
CUDEV_COMPARE(__hge, __hge2, a >= b)

CUDEV_FUNCTION(bool, __hisnan, (CUDEV_H h), isnan((float)h))
inline int __hisinf(CUDEV_H h) {
    float a = h;
    return isinf(a) ? (a > 0 ? 1 : -1) : 0;
}
CUDEV_FUNCTION(CUDEV_H, __hfma, (CUDEV_H a, CUDEV_H b, CUDEV_H c), CUDEV_H(cudev::fused(a, b, c)))
inline CUDEV_H2 __hfma2(CUDEV_H2 a, CUDEV_H2 b, CUDEV_H2 c) {
    return CUDEV_H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
inline CUDEV_H operator-(const CUDEV_H& h) {
    return __hneg(h);
}
inline CUDEV_H2 operator-(const CUDEV_H2& v) {
    return __hneg2(v);
}
CUDEV_FUNCTION(bool, operator==, (const CUDEV_H& g, const CUDEV_H& h), __heq(g, h))
CUDEV_FUNCTION(bool, operator!=, (const CUDEV_H& g, const CUDEV_H& h), !__heq(g, h))
CUDEV_FUNCTION(bool, operator<, (const CUDEV_H& g, const CUDEV_H& h), __hlt(g, h))
CUDEV_FUNCTION(bool, operator<=, (const CUDEV_H& g, const CUDEV_H& h), __hle(g, h))
CUDEV_FUNCTION(bool, operator>, (const CUDEV_H& g, const CUDEV_H& h), __hgt(g, h))
CUDEV_FUNCTION(bool, operator>=, (const CUDEV_H& g, const CUDEV_H& h), __hge(g, h))

// ---- between threads ----

CUDEV_SHUFFLES(CUDEV_H)
CUDEV_SHUFFLES(CUDEV_H2)
CUDEV_ATOMIC_UPDATE(CUDEV_H, unsigned short, atomicAdd, old + value)
CUDEV_ATOMIC_UPDATE(CUDEV_H2, unsigned, atomicAdd, old + value)

#undef CUDEV_UNARY
#undef CUDEV_BINARY
#undef CUDEV_COMPARE
#undef CUDEV_OPERATOR
#undef CUDEV_PASTE
#undef CUDEV_PASTE_
#undef F
#undef CUDEV_H
#undef CUDEV_H2
#undef CUDEV_NAME
#undef CUDEV_BITS
#undef CUDEV_VALUE
