// Numbers as a GPU computes them and C does not: double arithmetic in three directions, and
// functions that C's mathematics lacks.
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "cpu/include/cudev/numbers.h"

typedef unsigned __int128 uint128;

enum direction { TO_ZERO, UP, DOWN };

// ---- double arithmetic in a direction, by whole numbers -----------------------------------------

// A finite number that is not zero: mantissa * 2^exponent, bit 52 of the mantissa set.
struct parts {
    int negative, exponent;
    uint64_t mantissa;
};

static struct parts split(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t mantissa = bits & 0xfffffffffffff;
    int field = bits >> 52 & 0x7ff;
    struct parts p = {bits >> 63 != 0, (field ? field : 1) - 1075,
                      field ? mantissa | (uint64_t)1 << 52 : mantissa};
    int shift = __builtin_clzll(p.mantissa) - 11;
    p.mantissa <<= shift;
    p.exponent -= shift;
    return p;
}

static int top_bit(uint128 m) {
    uint64_t high = (uint64_t)(m >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)m);
}

// m * 2^exponent, rounded. m is not 0 and has 54 bits or more; an odd one may stand for anything
// between its two even neighbours.
static double packed(int negative, uint128 m, int exponent, enum direction direction) {
    int top = top_bit(m);
    int size = exponent + top;  // 2^size <= the number < 2^(size + 1)
    int kept = size >= -1022 ? 53 : size + 1075, dropped = top + 1 - kept;
    uint64_t bits = kept <= 0 ? 0 : (uint64_t)(m >> dropped);
    int exact = kept > 0 && (dropped <= 0 || (m & (((uint128)1 << dropped) - 1)) == 0);
    if (!exact && (negative ? direction == DOWN : direction == UP)) bits++;
    if (size >= -1022) bits += (uint64_t)(size + 1022) << 52;  // one from the mantissa's top bit
    uint64_t infinity = (uint64_t)0x7ff << 52;
    if (size > 1023 || bits >= infinity)
        bits = (negative ? direction == DOWN : direction == UP) ? infinity : infinity - 1;
    double result;
    memcpy(&result, &bits, sizeof result);
    return negative ? -result : result;
}

// a + b where the sum is exact
static double exact_sum(double a, double b, enum direction direction) {
    return direction == DOWN ? -(-a - b) : a + b;  // 1 - 1 is -0 when rounded down
}

struct wide {
    int negative, exponent;
    uint128 m;  // bit 125 is the highest
};

static double multiply_add(double a, double b, double c, enum direction direction) {
    if (!isfinite(a) || !isfinite(b) || !isfinite(c)) return fma(a, b, c);
    if (a == 0 || b == 0) return exact_sum(a * b, c, direction);
    struct parts p = split(a), q = split(b);
    struct wide x = {p.negative ^ q.negative, p.exponent + q.exponent,
                     (uint128)p.mantissa * q.mantissa};
    int shift = 125 - top_bit(x.m);
    x.m <<= shift;
    x.exponent -= shift;
    if (c == 0) return packed(x.negative, x.m, x.exponent, direction);
    struct parts r = split(c);
    struct wide y = {r.negative, r.exponent - 73, (uint128)r.mantissa << 73};
    if (y.exponent > x.exponent) {
        struct wide other = x;
        x = y;
        y = other;
    }
    int less = x.exponent - y.exponent;
    if (less > 127)
        y.m = 1;
    else if (less > 0)  // bits that fall off leave an odd number; there are none unless less > 19
        y.m = y.m >> less | ((y.m & (((uint128)1 << less) - 1)) != 0);
    if (x.negative == y.negative) return packed(x.negative, x.m + y.m, x.exponent, direction);
    if (x.m == y.m) return direction == DOWN ? -0.0 : 0.0;
    if (x.m > y.m) return packed(x.negative, x.m - y.m, x.exponent, direction);
    return packed(y.negative, y.m - x.m, x.exponent, direction);
}

static double divide(double a, double b, enum direction direction) {
    if (!isfinite(a) || !isfinite(b) || a == 0 || b == 0) return a / b;
    struct parts p = split(a), q = split(b);
    uint128 m = (uint128)p.mantissa << 74;
    return packed(p.negative ^ q.negative, m / q.mantissa | (m % q.mantissa != 0),
                  p.exponent - 74 - q.exponent, direction);
}

static double root(double a, enum direction direction) {
    if (!isfinite(a) || a <= 0) return sqrt(a);
    struct parts p = split(a);
    int shift = p.exponent & 1 ? 53 : 52;  // the exponent becomes even
    uint128 m = (uint128)p.mantissa << shift;
    uint64_t s = (uint64_t)sqrt((double)m);
    while ((uint128)s * s > m) s--;
    while ((uint128)(s + 1) * (s + 1) <= m) s++;
    return packed(0, (uint128)s << 1 | ((uint128)s * s != m), (p.exponent - shift) / 2 - 1,
                  direction);
}

#define DIRECTED(mode, direction)                                           \
    double __dadd_##mode(double a, double b) {                              \
        return multiply_add(a, 1, b, direction);                            \
    }                                                                       \
    double __dsub_##mode(double a, double b) {                              \
        return multiply_add(a, 1, -b, direction);                           \
    }                                                                       \
    double __dmul_##mode(double a, double b) {                              \
        return a == 0 || b == 0 ? a * b : multiply_add(a, b, 0, direction); \
    }                                                                       \
    double __fma_##mode(double a, double b, double c) {                     \
        return multiply_add(a, b, c, direction);                            \
    }                                                                       \
    double __ddiv_##mode(double a, double b) {                              \
        return divide(a, b, direction);                                     \
    }                                                                       \
    double __drcp_##mode(double a) {                                        \
        return divide(1, a, direction);                                     \
    }                                                                       \
    double __dsqrt_##mode(double a) {                                       \
        return root(a, direction);                                          \
    }
DIRECTED(rz, TO_ZERO)
DIRECTED(ru, UP)
DIRECTED(rd, DOWN)

// ---- functions ---------------------------------------------------------------------------------

double cudev_sinpi(double x) {
    double r = remainder(x, 2.0);  // [-1, 1]
    if (fabs(r) > 0.5) r = copysign(1.0, r) - r;
    if (r == 0) return copysign(0.0, x);
    return sin(M_PI * r);
}

double cudev_cospi(double x) {
    double r = fabs(remainder(x, 2.0));
    return r < 0.25 ? cos(M_PI * r) : r > 0.75 ? -cos(M_PI * (1 - r)) : sin(M_PI * (0.5 - r));
}

// y of f(y) = x by Newton's steps from a guess; slope: f'(y).
double cudev_erfinv(double x) {
    if (!(fabs(x) < 1)) return fabs(x) == 1 ? copysign(INFINITY, x) : NAN;
    if (fabs(x) > 0.5) return copysign(cudev_erfcinv(1 - fabs(x)), x);
    double y = x * (sqrt(M_PI) / 2) * (1 + x * x * (M_PI / 12));  // the series' beginning
    for (int i = 0; i < 5; i++) y -= (erf(y) - x) / (M_2_SQRTPI * exp(-y * y));
    return y;
}

double cudev_erfcinv(double x) {
    if (!(x >= 0 && x <= 2)) return NAN;
    if (x == 0 || x == 2) return x == 0 ? INFINITY : -INFINITY;
    if (x > 1.5) return -cudev_erfcinv(2 - x);
    if (x >= 0.5) return cudev_erfinv(1 - x);
    // erfc(y) = x as log erfc(y) = log x, which is nearly a parabola: Newton's steps go far
    double l = log(x), y = sqrt(-l);
    for (int i = 0; i < 8; i++) {
        // d/dy log erfc(y) = -2 / sqrt(pi) / erfcx(y)
        double value = log(cudev_erfcx(y)) - y * y;
        y += (value - l) * cudev_erfcx(y) / M_2_SQRTPI;
    }
    return y;
}

double cudev_erfcx(double x) {
    if (x < 25) {  // exp(x^2) by its rounded square and what the rounding took
        double square = x * x, rest = fma(x, x, -square);
        double power = exp(square);
        return isinf(power) ? power : power * erfc(x) * (1 + rest);
    }
    double t = 0.5 / (x * x);  // the asymptotic series
    return M_2_SQRTPI / 2 / x * (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t)))));
}

double cudev_normcdf(double x) {
    // x / sqrt(2) in two parts: far out, erfc() is steep
    double y = -x * M_SQRT1_2;
    if (!(fabs(y) < 30)) return isnan(x) ? x : y > 0 ? 0.0 : 1.0;
    double rest = fma(-x, M_SQRT1_2, -y) + x * 4.833646656726456764e-17;
    return 0.5 * (erfc(y) - M_2_SQRTPI * exp(-y * y) * rest);
}

double cudev_normcdfinv(double x) {
    return -M_SQRT2 * cudev_erfcinv(2 * x);
}

// By the power series, the sum of (x^2 / 4)^k / (k! (k + order)!); far out by the asymptotic one.
static double bessel(double x, int order) {
    double size = fabs(x), term = 1, sum = 1;
    if (size > 720) return INFINITY;
    if (size > 25) {
        for (int k = 1; fabs(term) > 1e-18; k++) {
            term *= ((2 * k - 1) * (2 * k - 1) - 4 * order * order) / (8.0 * k * size);
            sum += term;
        }
        double half = exp(size / 2);  // exp(size) may be infinite
        return half * (sum / sqrt(2 * M_PI * size)) * half;
    }
    for (int k = 1; term > sum * 1e-18; k++) {
        term *= x * x / 4 / ((double)k * (k + order));
        sum += term;
    }
    return order ? size / 2 * sum : sum;
}
double cudev_bessel_i0(double x) {
    return bessel(x, 0);
}
double cudev_bessel_i1(double x) {
    return copysign(bessel(x, 1), x);
}

double cudev_length(double x, double y, double z, double w) {
    if (isinf(x) || isinf(y) || isinf(z) || isinf(w)) return INFINITY;
    return hypot(hypot(x, y), hypot(z, w));
}
double cudev_inverse_length(double x, double y, double z, double w) {
    double s = 0x1p-200, size = cudev_length(x, y, z, w);
    if (size < 0x1p1000 || isinf(x) || isinf(y) || isinf(z) || isinf(w)) return 1 / size;
    return s / cudev_length(s * x, s * y, s * z, s * w);
}

// ---- NaN loses, even a signaling one, and 0 is larger than -0 ----

#define EXTREME(T, name, op)                                   \
    T cudev_##name(T x, T y) {                                 \
        if (x op y) return x;                                  \
        if (y op x) return y;                                  \
        if (x == y) return !signbit(x) op !signbit(y) ? x : y; \
        return isnan(y) ? x : y;                               \
    }
EXTREME(float, fminf, <)
EXTREME(double, fmin, <)
EXTREME(float, fmaxf, >)
EXTREME(double, fmax, >)
