// Mathematics that CUDA C has and C has not; README.md says how near a GPU's results are. The fast
// variants (__expf, ...) are as exact as the others here.
#ifndef CUDEV_MATH_H
#define CUDEV_MATH_H

// nvcc includes these in front of every file, too
#include <limits.h>
// C++17's math.h brings Bessel functions and their kind, which take as long to read as all the
// rest.
#define _GLIBCXX_BITS_SPECFUN_H 1
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The NaN that a GPU's arithmetic makes, whatever it was made of: all bits but the sign. x86 keeps
// the bits of an operand, so they are these from the beginning (nvcc's own constant is 0x7fc00000).
// A kernel that rounds it by hand, by an addition to its bits, carries into the sign.
#undef NAN
#define NAN __builtin_nanf("0x3fffff")
#include "numbers.h"

// On a GPU 0 is larger than -0, in C neither. Under the names of device/numbers.c, std::fmax() too.
extern "C" {
float fminf(float x, float y) throw() __asm__("cudev_fminf");
float fmaxf(float x, float y) throw() __asm__("cudev_fmaxf");
double fmin(double x, double y) throw() __asm__("cudev_fmin");
double fmax(double x, double y) throw() __asm__("cudev_fmax");
}

// Functions with a second result. Here and not in the C library, so that the store to it is the
// kernel's own, which may be watched.
namespace cudev {
template <class T> struct just { typedef T type; };
template <class T> __forceinline__ auto frexp(T x, int* exponent) {
    int second;
    auto first = std::frexp(x, &second);
    *exponent = second;
    return first;
}
template <class T> __forceinline__ T modf(typename just<T>::type x, T* whole) {
    T second, first = std::modf(x, &second);
    *whole = second;
    return first;
}
template <class T, class U> __forceinline__ auto remquo(T x, U y, int* quotient) {
    int second;
    auto first = std::remquo(x, y, &second);
    *quotient = second;
    return first;
}
template <class T> __forceinline__ void sincos(typename just<T>::type x, T* sine, T* cosine) {
    T s, c;
    if constexpr (sizeof(T) == sizeof(float))
        ::sincosf(x, &s, &c);
    else
        ::sincos(x, &s, &c);
    *sine = s;
    *cosine = c;
}
template <class T> __forceinline__ void sincospi(typename just<T>::type x, T* sine, T* cosine) {
    T s = (T)cudev_sinpi(x), c = (T)cudev_cospi(x);
    *sine = s;
    *cosine = c;
}
CUDEV_FUNCTION(double, rsqrt, (double x), 1 / ::sqrt(x))
CUDEV_FUNCTION(float, rsqrtf, (float x), (float)(1 / ::sqrt((double)x)))
CUDEV_FUNCTION(float, rsqrt, (float x), rsqrtf(x))
CUDEV_FUNCTION(double, sinpi, (double x), cudev_sinpi(x))
CUDEV_FUNCTION(float, sinpif, (float x), (float)cudev_sinpi(x))
CUDEV_FUNCTION(float, sinpi, (float x), sinpif(x))
CUDEV_FUNCTION(double, cospi, (double x), cudev_cospi(x))
CUDEV_FUNCTION(float, cospif, (float x), (float)cudev_cospi(x))
CUDEV_FUNCTION(float, cospi, (float x), cospif(x))
// documented: 2 to y log2(x), so NaN of an x below 0
CUDEV_FUNCTION(float, fast_powf, (float x, float y), (float)::exp2((double)y* ::log2((double)x)))
}  // namespace cudev
// Macros, because the C library declares functions of these names, or does so from some version on.
// std::frexp() is found through the second name.
namespace std {
namespace cudev = ::cudev;
}
#define frexp(...) cudev::frexp(__VA_ARGS__)
#define frexpf(...) cudev::frexp<float>(__VA_ARGS__)
#define modf(...) cudev::modf(__VA_ARGS__)
#define modff(...) cudev::modf<float>(__VA_ARGS__)
#define remquo(...) cudev::remquo(__VA_ARGS__)
#define remquof(...) cudev::remquo<float, float>(__VA_ARGS__)
#define sincos(...) cudev::sincos(__VA_ARGS__)
#define sincosf(...) cudev::sincos<float>(__VA_ARGS__)
#define __sincosf(...) cudev::sincos<float>(__VA_ARGS__)
#define sincospi(...) cudev::sincospi(__VA_ARGS__)
#define sincospif(...) cudev::sincospi<float>(__VA_ARGS__)
#define rsqrt(...) cudev::rsqrt(__VA_ARGS__)
#define rsqrtf(...) cudev::rsqrtf(__VA_ARGS__)
#define sinpi(...) cudev::sinpi(__VA_ARGS__)
#define sinpif(...) cudev::sinpif(__VA_ARGS__)
#define cospi(...) cudev::cospi(__VA_ARGS__)
#define cospif(...) cudev::cospif(__VA_ARGS__)
#define __expf(...) expf(__VA_ARGS__)
#define __exp10f(...) exp10f(__VA_ARGS__)
#define __logf(...) logf(__VA_ARGS__)
#define __log2f(...) log2f(__VA_ARGS__)
#define __log10f(...) log10f(__VA_ARGS__)
#define __powf(...) cudev::fast_powf(__VA_ARGS__)
#define __sinf(...) sinf(__VA_ARGS__)
#define __cosf(...) cosf(__VA_ARGS__)
#define __tanf(...) tanf(__VA_ARGS__)
#define __tanhf(...) tanhf(__VA_ARGS__)

// ---- functions that C does not have: name(double), namef(float), name(float)

#define CUDEV_BOTH(name, of)                                        \
    CUDEV_FUNCTION(double, name, (double x), of(x))                 \
    CUDEV_FUNCTION(float, name##f, (float x), (float)of((double)x)) \
    CUDEV_FUNCTION(float, name, (float x), name##f(x))
namespace cudev {
CUDEV_FUNCTION(double, rcbrt, (double x), 1 / ::cbrt(x))
}
CUDEV_BOTH(rcbrt, cudev::rcbrt)
CUDEV_BOTH(erfinv, cudev_erfinv)
CUDEV_BOTH(erfcinv, cudev_erfcinv)
CUDEV_BOTH(erfcx, cudev_erfcx)
CUDEV_BOTH(normcdf, cudev_normcdf)
CUDEV_BOTH(normcdfinv, cudev_normcdfinv)
CUDEV_BOTH(cyl_bessel_i0, cudev_bessel_i0)
CUDEV_BOTH(cyl_bessel_i1, cudev_bessel_i1)
#undef CUDEV_BOTH

namespace cudev {
template <class T> inline double length(int n, const T* p) {
    double size = 0;
    for (int i = 0; i < n; i++) size = cudev_length(size, (double)p[i], 0, 0);
    return size;
}
}  // namespace cudev
#define CUDEV_LENGTHS(T, f)                                                                  \
    CUDEV_FUNCTION(T, rhypot##f, (T x, T y), (T)cudev_inverse_length(x, y, 0, 0))            \
    CUDEV_FUNCTION(T, norm3d##f, (T x, T y, T z), (T)cudev_length(x, y, z, 0))               \
    CUDEV_FUNCTION(T, rnorm3d##f, (T x, T y, T z), (T)cudev_inverse_length(x, y, z, 0))      \
    CUDEV_FUNCTION(T, norm4d##f, (T x, T y, T z, T w), (T)cudev_length(x, y, z, w))          \
    CUDEV_FUNCTION(T, rnorm4d##f, (T x, T y, T z, T w), (T)cudev_inverse_length(x, y, z, w)) \
    CUDEV_FUNCTION(T, norm##f, (int n, const T* p), (T)cudev::length(n, p))                  \
    CUDEV_FUNCTION(T, rnorm##f, (int n, const T* p),                                         \
                   (T)cudev_inverse_length(cudev::length(n, p), 0, 0, 0))
CUDEV_LENGTHS(float, f)
CUDEV_LENGTHS(double, )
#undef CUDEV_LENGTHS
CUDEV_FUNCTION(float, rhypot, (float x, float y), rhypotf(x, y))
CUDEV_FUNCTION(float, norm3d, (float x, float y, float z), norm3df(x, y, z))
CUDEV_FUNCTION(float, rnorm3d, (float x, float y, float z), rnorm3df(x, y, z))
CUDEV_FUNCTION(float, norm4d, (float x, float y, float z, float w), norm4df(x, y, z, w))
CUDEV_FUNCTION(float, rnorm4d, (float x, float y, float z, float w), rnorm4df(x, y, z, w))

// what C has for double alone under this name
CUDEV_FUNCTION(float, exp10, (float x), exp10f(x))
CUDEV_FUNCTION(float, j0, (float x), j0f(x))
CUDEV_FUNCTION(float, j1, (float x), j1f(x))
CUDEV_FUNCTION(float, jn, (int n, float x), jnf(n, x))
CUDEV_FUNCTION(float, y0, (float x), y0f(x))
CUDEV_FUNCTION(float, y1, (float x), y1f(x))
CUDEV_FUNCTION(float, yn, (int n, float x), ynf(n, x))

CUDEV_FUNCTION(float, fdividef, (float x, float y), x / y)
// documented: above 2^126 the divisor's reciprocal is taken for 0
CUDEV_FUNCTION(float, __fdividef, (float x, float y),
               ::fabsf(y) > 0x1p126f && isfinite(y) ? x * ::copysignf(0, y) : x / y)
CUDEV_FUNCTION(float, fdivide, (float x, float y), x / y)
CUDEV_FUNCTION(double, fdivide, (double x, double y), x / y)
inline float __saturatef(float x) {
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;  // NaN gives 0
}

// min and max of two numbers of any types: of the common type, NaN loses
#define CUDEV_MINMAX(T)                               \
    CUDEV_FUNCTION(T, min, (T a, T b), a < b ? a : b) \
    CUDEV_FUNCTION(T, max, (T a, T b), a > b ? a : b)
CUDEV_MINMAX(int)
CUDEV_MINMAX(unsigned)
CUDEV_MINMAX(long)
CUDEV_MINMAX(unsigned long)
CUDEV_MINMAX(long long)
CUDEV_MINMAX(unsigned long long)
#undef CUDEV_MINMAX
CUDEV_FUNCTION(unsigned, umin, (unsigned a, unsigned b), min(a, b))
CUDEV_FUNCTION(unsigned, umax, (unsigned a, unsigned b), max(a, b))
CUDEV_FUNCTION(long long, llmin, (long long a, long long b), min(a, b))
CUDEV_FUNCTION(long long, llmax, (long long a, long long b), max(a, b))
CUDEV_FUNCTION(unsigned long long, ullmin, (unsigned long long a, unsigned long long b), min(a, b))
CUDEV_FUNCTION(unsigned long long, ullmax, (unsigned long long a, unsigned long long b), max(a, b))
#define CUDEV_MIXED(A, B, T)    \
    inline T min(A a, B b) {    \
        return min((T)a, (T)b); \
    }                           \
    inline T max(A a, B b) {    \
        return max((T)a, (T)b); \
    }
CUDEV_MIXED(int, unsigned, unsigned)
CUDEV_MIXED(unsigned, int, unsigned)
CUDEV_MIXED(long, unsigned long, unsigned long)
CUDEV_MIXED(unsigned long, long, unsigned long)
CUDEV_MIXED(long long, unsigned long long, unsigned long long)
CUDEV_MIXED(unsigned long long, long long, unsigned long long)
CUDEV_FUNCTION(float, min, (float a, float b), ::fminf(a, b))
CUDEV_FUNCTION(float, max, (float a, float b), ::fmaxf(a, b))
CUDEV_FUNCTION(double, min, (double a, double b), ::fmin(a, b))
CUDEV_FUNCTION(double, max, (double a, double b), ::fmax(a, b))
CUDEV_MIXED(float, double, double)
CUDEV_MIXED(double, float, double)
#undef CUDEV_MIXED

// ---- loads and stores with a hint to the cache, and assumptions ----

// By way of a cache that hears of no write: for what no thread of the kernel writes.
template <class T> inline T __ldg(const T* p) {
#ifdef CUDEV_WATCHED
    cudev_announce_cached(p, sizeof *p);
#endif
    return *p;
}
#define CUDEV_LOAD(name)                           \
    template <class T> inline T name(const T* p) { \
        return *p;                                 \
    }
CUDEV_LOAD(__ldca)
CUDEV_LOAD(__ldcg)
CUDEV_LOAD(__ldcs)
CUDEV_LOAD(__ldlu)
CUDEV_LOAD(__ldcv)
#undef CUDEV_LOAD
#define CUDEV_STORE(name)                                \
    template <class T> inline void name(T* p, T value) { \
        *p = value;                                      \
    }
CUDEV_STORE(__stwt)
CUDEV_STORE(__stcg)
CUDEV_STORE(__stcs)
CUDEV_STORE(__stwb)
#undef CUDEV_STORE
CUDEV_FUNCTION(size_t, __cvta_generic_to_global, (const void* p), (size_t)p)
#define __builtin_assume(condition)                \
    do {                                           \
        if (!(condition)) __builtin_unreachable(); \
    } while (0)

#endif
