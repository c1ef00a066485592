// A 16-bit number type, its pair, and all that CUDA offers for them. Included once per type, with
//   CUDEV_H, CUDEV_H2   the types: __half, __half2
//   CUDEV_NAME          how functions call it: half, as in __float2half
//   CUDEV_BITS, CUDEV_VALUE   float to bits, bits to float
// No include guard, on purpose. Every operation computes in float or double and rounds once.

#define CUDEV_PASTE_(a, b, c) a##b##c
#define CUDEV_PASTE(a, b, c) CUDEV_PASTE_(a, b, c)
#define F(before, after) CUDEV_PASTE(before, CUDEV_NAME, after)
#define CUDEV_RAW CUDEV_PASTE(CUDEV_H, _raw, )
#define CUDEV_RAW2 CUDEV_PASTE(CUDEV_H2, _raw, )

struct CUDEV_RAW {
    unsigned short x;
};
struct CUDEV_RAW2 {
    unsigned short x, y;
};

struct __attribute__((aligned(2))) CUDEV_H {
    unsigned short __x;

    CUDEV_H() = default;
    CUDEV_H(CUDEV_RAW raw) : __x(raw.x) {}
    CUDEV_H(float x) : __x(CUDEV_BITS(x)) {}
    CUDEV_H(double x) : __x(CUDEV_BITS(cudev::odd_float(x))) {}
    CUDEV_H(int x) : CUDEV_H((double)x) {}
    CUDEV_H(unsigned x) : CUDEV_H((double)x) {}
    CUDEV_H(long x) : CUDEV_H(cudev::to_odd(x)) {}
    CUDEV_H(unsigned long x) : CUDEV_H(cudev::to_odd(x)) {}
    CUDEV_H(long long x) : CUDEV_H(cudev::to_odd(x)) {}
    CUDEV_H(unsigned long long x) : CUDEV_H(cudev::to_odd(x)) {}
    // x rounded in a mode; x is odd if it is not exact
    CUDEV_H(double x, cudev::rounding mode) : CUDEV_H(x) {
        float near = CUDEV_VALUE(__x);
        __x = (unsigned short)(__x + cudev::step(near, x - near, mode));
    }
    operator float() const {
        return CUDEV_VALUE(__x);
    }
    operator CUDEV_RAW() const {
        return {__x};
    }
};

struct __attribute__((aligned(4))) CUDEV_H2 {
    CUDEV_H x, y;

    CUDEV_H2() = default;
    CUDEV_H2(CUDEV_H x, CUDEV_H y) : x(x), y(y) {}
    CUDEV_H2(CUDEV_RAW2 raw) : x(CUDEV_RAW{raw.x}), y(CUDEV_RAW{raw.y}) {}
    operator CUDEV_RAW2() const {
        return {x.__x, y.__x};
    }
};

// ---- conversions ----

CUDEV_FUNCTION(CUDEV_H, F(__float2, ), (float x), CUDEV_H(x))
CUDEV_FUNCTION(CUDEV_H, F(__double2, ), (double x), CUDEV_H(x))
CUDEV_FUNCTION(float, F(__, 2float), (CUDEV_H h), (float)h)
#define CUDEV_TO_WHOLE(T, name, mode) \
    CUDEV_FUNCTION(T, F(__, name), (CUDEV_H h), cudev::whole<T>(h, mode))
#define CUDEV_CONVERSIONS(m, mode)                                                            \
    CUDEV_FUNCTION(CUDEV_H, F(__float2, _##m), (float x), CUDEV_H((double)x, mode))           \
    CUDEV_FUNCTION(CUDEV_H, F(__short2, _##m), (short x), CUDEV_H((double)x, mode))           \
    CUDEV_FUNCTION(CUDEV_H, F(__ushort2, _##m), (unsigned short x), CUDEV_H((double)x, mode)) \
    CUDEV_FUNCTION(CUDEV_H, F(__int2, _##m), (int x), CUDEV_H((double)x, mode))               \
    CUDEV_FUNCTION(CUDEV_H, F(__uint2, _##m), (unsigned x), CUDEV_H((double)x, mode))         \
    CUDEV_FUNCTION(CUDEV_H, F(__ll2, _##m), (long long x), CUDEV_H(cudev::to_odd(x), mode))   \
    CUDEV_FUNCTION(CUDEV_H, F(__ull2, _##m), (unsigned long long x),                          \
                   CUDEV_H(cudev::to_odd(x), mode))                                           \
    CUDEV_TO_WHOLE(short, 2short_##m, mode)                                                   \
    CUDEV_TO_WHOLE(unsigned short, 2ushort_##m, mode)                                         \
    CUDEV_TO_WHOLE(int, 2int_##m, mode)                                                       \
    CUDEV_TO_WHOLE(unsigned, 2uint_##m, mode)                                                 \
    CUDEV_TO_WHOLE(long long, 2ll_##m, mode)                                                  \
    CUDEV_TO_WHOLE(unsigned long long, 2ull_##m, mode)
CUDEV_FOR_ROUNDINGS(CUDEV_CONVERSIONS)
CUDEV_TO_WHOLE(signed char, 2char_rz, cudev::ZERO)
CUDEV_TO_WHOLE(unsigned char, 2uchar_rz, cudev::ZERO)
#undef CUDEV_CONVERSIONS
#undef CUDEV_TO_WHOLE
CUDEV_FUNCTION(unsigned short, F(__, _as_ushort), (CUDEV_H h), h.__x)
CUDEV_FUNCTION(short, F(__, _as_short), (CUDEV_H h), (short)h.__x)
CUDEV_FUNCTION(CUDEV_H, F(__ushort_as_, ), (unsigned short bits), CUDEV_H(CUDEV_RAW{bits}))
CUDEV_FUNCTION(CUDEV_H, F(__short_as_, ), (short bits), F(__ushort_as_, )((unsigned short)bits))
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

// ---- arithmetic: a name for one number, a name for a pair, the value in float or double ----

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
#define CUDEV_TERNARY(one, pair, value)                                    \
    CUDEV_FUNCTION(CUDEV_H, one, (CUDEV_H a, CUDEV_H b, CUDEV_H c), value) \
    inline CUDEV_H2 pair(CUDEV_H2 v, CUDEV_H2 w, CUDEV_H2 u) {             \
        return CUDEV_H2(one(v.x, w.x, u.x), one(v.y, w.y, u.y));           \
    }
// also never fused with what follows (_rn), and limited to [0, 1] (_sat)
#define CUDEV_OPERATION(name, value)                     \
    CUDEV_BINARY(__h##name, __h##name##2, value)         \
    CUDEV_BINARY(__h##name##_rn, __h##name##2_rn, value) \
    CUDEV_BINARY(__h##name##_sat, __h##name##2_sat, __saturatef(CUDEV_H(value)))
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
CUDEV_TERNARY(__hfma, __hfma2, CUDEV_H(cudev::fused(a, b, c)))
CUDEV_TERNARY(__hfma_sat, __hfma2_sat, CUDEV_H(__saturatef(__hfma(a, b, c))))
CUDEV_TERNARY(__hfma_relu, __hfma2_relu, __hmax_nan(__hfma(a, b, c), CUDEV_H(0.0f)))
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
inline CUDEV_H2 __hcmadd(CUDEV_H2 a, CUDEV_H2 b, CUDEV_H2 c) {
    return CUDEV_H2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                    __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// ---- comparison: of pairs to 1 or 0, to all bits or none, and of both numbers ----

#define CUDEV_COMPARE(name, condition)                                                         \
    inline bool __h##name(CUDEV_H g, CUDEV_H h) {                                              \
        float a = g, b = h;                                                                    \
        return condition;                                                                      \
    }                                                                                          \
    inline CUDEV_H2 __h##name##2(CUDEV_H2 v, CUDEV_H2 w) {                                     \
        return CUDEV_H2(__h##name(v.x, w.x) ? 1.0f : 0.0f, __h##name(v.y, w.y) ? 1.0f : 0.0f); \
    }                                                                                          \
    inline unsigned __h##name##2_mask(CUDEV_H2 v, CUDEV_H2 w) {                                \
        return (__h##name(v.x, w.x) ? 0xffff : 0) | (__h##name(v.y, w.y) ? 0xffff0000 : 0);    \
    }                                                                                          \
    inline bool __hb##name##2(CUDEV_H2 v, CUDEV_H2 w) {                                        \
        return __h##name(v.x, w.x) && __h##name(v.y, w.y);                                     \
    }
// u: also true where a number is NaN
#define CUDEV_COMPARISON(op, name, of, ordered, unordered)          \
    CUDEV_COMPARE(name, ordered)                                    \
    CUDEV_COMPARE(name##u, unordered)                               \
    inline bool operator op(const CUDEV_H& g, const CUDEV_H& h) {   \
        return __h##of(g, h);                                       \
    }                                                               \
    inline bool operator op(const CUDEV_H2& v, const CUDEV_H2& w) { \
        return __hb##of##2(v, w);                                   \
    }
CUDEV_COMPARISON(==, eq, eq, a == b, !(a < b || a > b))
CUDEV_COMPARISON(!=, ne, neu, a<b || a> b, a != b)
CUDEV_COMPARISON(<, lt, lt, a < b, !(a >= b))
CUDEV_COMPARISON(<=, le, le, a <= b, !(a > b))
CUDEV_COMPARISON(>, gt, gt, a > b, !(a <= b))
CUDEV_COMPARISON(>=, ge, ge, a >= b, !(a < b))
CUDEV_FUNCTION(bool, __hisnan, (CUDEV_H h), isnan((float)h))
inline int __hisinf(CUDEV_H h) {
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
CUDEV_SIGNS(CUDEV_H, __hneg, CUDEV_H(1.0f))
CUDEV_SIGNS(CUDEV_H2, __hneg2, CUDEV_H2(1.0f, 1.0f))

// ---- between threads ----

CUDEV_SHUFFLES(CUDEV_H)
CUDEV_SHUFFLES(CUDEV_H2)
CUDEV_ATOMIC_UPDATE(CUDEV_H, unsigned short, atomicAdd, old + value)
CUDEV_ATOMIC_UPDATE(CUDEV_H2, unsigned, atomicAdd, old + value)

#undef CUDEV_UNARY
#undef CUDEV_BINARY
#undef CUDEV_TERNARY
#undef CUDEV_OPERATION
#undef CUDEV_OPERATOR
#undef CUDEV_COMPARE
#undef CUDEV_COMPARISON
#undef CUDEV_SIGNS
#undef CUDEV_RAW
#undef CUDEV_RAW2
#undef CUDEV_PASTE
#undef CUDEV_PASTE_
#undef F
#undef CUDEV_H
#undef CUDEV_H2
#undef CUDEV_NAME
#undef CUDEV_BITS
#undef CUDEV_VALUE
