// Mathematics that CUDA C has and C has not. The fast variants (__expf, ...) are as exact as the
// others here. They round differently from a GPU's: compare with a tolerance.
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

// Macros, because glibc declares functions of these names.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define rsqrtf(x) cudev::reciprocal_root((float)(x))
#define rsqrt(x) cudev::reciprocal_root(x)
#define sinpif(x) ((float)cudev::sin_pi((float)(x)))
#define cospif(x) ((float)cudev::cos_pi((float)(x)))
#define sinpi(x) cudev::sin_pi(x)
#define cospi(x) cudev::cos_pi(x)

namespace cudev {
CUDEV_FUNCTION(float, reciprocal_root, (float x), (float)(1.0 / ::sqrt((double)x)))
CUDEV_FUNCTION(double, reciprocal_root, (double x), 1.0 / ::sqrt(x))
// sin(pi x) and cos(pi x), exact where they are 0, 1 or -1
inline double sin_pi(double x) {
    double r = ::remainder(x, 2.0);  // [-1, 1]
    if (::fabs(r) > 0.5) r = ::copysign(1.0, r) - r;
    return ::sin(M_PI * r);
}
inline double cos_pi(double x) {
    return ::sin(M_PI * (0.5 - ::fabs(::remainder(x, 2.0))));
}
}  // namespace cudev

CUDEV_FUNCTION(float, fdividef, (float x, float y), x / y)
CUDEV_FUNCTION(float, __fdividef, (float x, float y), x / y)
inline float __saturatef(float x) {
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;  // NaN gives 0
}
CUDEV_FUNCTION(float, __frcp_rn, (float x), 1.0f / x)
CUDEV_FUNCTION(float, __fsqrt_rn, (float x), ::sqrtf(x))
CUDEV_FUNCTION(float, __frsqrt_rn, (float x), rsqrtf(x))
CUDEV_FUNCTION(float, __fadd_rn, (float x, float y), x + y)
CUDEV_FUNCTION(float, __fsub_rn, (float x, float y), x - y)
inline float __fmul_rn(float x, float y) {
    return x * y;
}
CUDEV_FUNCTION(float, __fdiv_rn, (float x, float y), x / y)
CUDEV_FUNCTION(float, __fmaf_rn, (float x, float y, float z), ::fmaf(x, y, z))
CUDEV_FUNCTION(double, __dadd_rn, (double x, double y), x + y)
inline double __dmul_rn(double x, double y) {
    return x * y;
}
CUDEV_FUNCTION(double, __fma_rn, (double x, double y, double z), ::fma(x, y, z))

// min and max of two numbers of any types: of the common type, NaN loses
#define CUDEV_MINMAX(T)       \
    inline T min(T a, T b) {  \
        return a < b ? a : b; \
    }                         \
    inline T max(T a, T b) {  \
        return a > b ? a : b; \
    }
CUDEV_MINMAX(int)
CUDEV_MINMAX(unsigned)
CUDEV_MINMAX(long)
CUDEV_MINMAX(unsigned long)
CUDEV_MINMAX(long long)
CUDEV_MINMAX(unsigned long long)
#undef CUDEV_MINMAX
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

// ---- bits ----

CUDEV_FUNCTION(int, __popc, (unsigned x), __builtin_popcount(x))
CUDEV_FUNCTION(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
CUDEV_FUNCTION(int, __clz, (int x), x ? __builtin_clz((unsigned)x) : 32)
CUDEV_FUNCTION(int, __clzll, (long long x), x ? __builtin_clzll((unsigned long long)x) : 64)
CUDEV_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
CUDEV_FUNCTION(int, __ffsll, (long long x), __builtin_ffsll(x))
inline unsigned long long __brevll(unsigned long long x) {
    x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
    x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
    x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(x);
}
CUDEV_FUNCTION(unsigned, __brev, (unsigned x), (unsigned)(__brevll(x) >> 32))
// Four bytes out of the eight of (y, x); nibble i of the selector names the byte.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned byte = both >> (selector >> 4 * i & 7) * 8 & 0xff;
        if (selector >> 4 * i & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned x, unsigned y) {
    return (unsigned)((unsigned long long)x * y >> 32);
}
inline int __mulhi(int x, int y) {
    return (int)((long long)x * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
CUDEV_FUNCTION(int, __float_as_int, (float x), cudev::from_bits<int>(cudev::to_bits(x)))
CUDEV_FUNCTION(unsigned, __float_as_uint, (float x), cudev::from_bits<unsigned>(cudev::to_bits(x)))
CUDEV_FUNCTION(float, __int_as_float, (int x), cudev::from_bits<float>(cudev::to_bits(x)))
CUDEV_FUNCTION(float, __uint_as_float, (unsigned x), cudev::from_bits<float>(cudev::to_bits(x)))
CUDEV_FUNCTION(long long, __double_as_longlong, (double x),
               cudev::from_bits<long long>(cudev::to_bits(x)))
CUDEV_FUNCTION(double, __longlong_as_double, (long long x),
               cudev::from_bits<double>(cudev::to_bits(x)))

// ---- conversions ----

CUDEV_FUNCTION(int, __float2int_rn, (float x), (int)::rintf(x))
CUDEV_FUNCTION(int, __float2int_rz, (float x), (int)x)
CUDEV_FUNCTION(int, __float2int_rd, (float x), (int)::floorf(x))
CUDEV_FUNCTION(int, __float2int_ru, (float x), (int)::ceilf(x))
CUDEV_FUNCTION(unsigned, __float2uint_rn, (float x), (unsigned)::rintf(x))
CUDEV_FUNCTION(float, __int2float_rn, (int x), (float)x)
CUDEV_FUNCTION(float, __uint2float_rn, (unsigned x), (float)x)
CUDEV_FUNCTION(float, __double2float_rn, (double x), (float)x)

// ---- loads and stores with a hint to the cache, and assumptions ----

#define CUDEV_LOAD(name)                           \
    template <class T> inline T name(const T* p) { \
        return *p;                                 \
    }
CUDEV_LOAD(__ldg)
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
