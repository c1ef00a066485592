// The interface between an instrumented .cu with its headers and the rooms behind them. A program
// compiled with cxxflags-watched announces its memory accesses: the compiler the ordinary ones, the
// headers what the compiler cannot see (copies that land later, fences). Plain C.
#ifndef CUDEV_WATCHING_H
#define CUDEV_WATCHING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cudev_access {
    CUDEV_READ,
    CUDEV_WRITE,
    CUDEV_ATOMIC,       // reads and writes, in one step
    CUDEV_ATOMIC_READ,  // one half of that alone
    CUDEV_ATOMIC_WRITE,
    CUDEV_VOLATILE_READ,  // these two order like atomics, but not within a warp
    CUDEV_VOLATILE_WRITE,
};

#ifdef __SANITIZE_THREAD__
#define CUDEV_WATCHED 1
// A helper whose own accesses are not the kernel's. It is never inlined into watched code.
#define CUDEV_UNWATCHED __attribute__((no_sanitize_thread))
#else
#define CUDEV_UNWATCHED
#endif

// ---- for headers, in watched code only ----------------------------------------------------------

// The current thread accesses [p, p + bytes), 2, 4, 8 or 16 aligned bytes or any number of single
// ones; reported with the line of the call. The caller makes the access itself, in unwatched code
// afterwards. Does not return when it must not be made.
void cudev_announce(enum cudev_access access, const volatile void* p, size_t bytes);
// The same of an atomic that adds real numbers, of 2, 4 or 8 bytes: their order rounds the sum.
void cudev_announce_sum(const volatile void* p, size_t bytes);
// The access that follows is a read by way of a cache that hears of no write: nothing orders it
// behind a write of the same kernel.
void cudev_announce_cached(const volatile void* p, size_t bytes);
// Makes the access that the caller has announced as CUDEV_ATOMIC, of 2, 4 or 8 bytes: *old = *p; if
// *p is *old still, it becomes *wanted, else *old becomes what it is. Returns whether it was.
void cudev_load_announced(void* old, const volatile void* p, size_t bytes);
int cudev_exchange_announced(volatile void* p, void* old, const void* wanted, size_t bytes);
// Reading [p, p + bytes) is a mistake until it has been written (again).
void cudev_make_uninitialised(const volatile void* p, size_t bytes);
// The current thread's earlier accesses come before its later atomics, as the other threads of the
// block see it (device == 0) or all threads of the grid.
void cudev_fence(int device);

// Order between threads of one block by other means than __syncthreads() and __syncwarp(): what a
// thread did before cudev_release() comes before what another does after cudev_acquire() on the
// same clock. Named barriers and mbarriers keep one each; all zero at first, valid within a block.
struct cudev_clock {
    unsigned long long block;  // which block it belongs to
    unsigned time[1024];       // per thread
    unsigned fenced[1024];     // likewise, of what a fence between the proxies lies behind
};
void cudev_release(struct cudev_clock* clock);
void cudev_acquire(const struct cudev_clock* clock);

// The compiler does not announce what these functions access. They have names of their own here, so
// that the runtime does (watch/compiler_calls.c).
#ifdef CUDEV_WATCHED
#define CUDEV_NAMED(name) __asm__(#name)
#else
#define CUDEV_NAMED(name)
#endif
#ifdef __cplusplus
#define CUDEV_NOTHROW throw()
#else
#define CUDEV_NOTHROW
#endif
void* memcpy(void* to, const void* from, size_t bytes) CUDEV_NOTHROW CUDEV_NAMED(cudev_memcpy);
void* memmove(void* to, const void* from, size_t bytes) CUDEV_NOTHROW CUDEV_NAMED(cudev_memmove);
void* memset(void* to, int byte, size_t bytes) CUDEV_NOTHROW CUDEV_NAMED(cudev_memset);
int memcmp(const void* a, const void* b, size_t bytes) CUDEV_NOTHROW CUDEV_NAMED(cudev_memcmp);
// The C++ library copies by the compiler's own functions: std::copy(), std::fill(), char_traits.
#define __builtin_memcpy memcpy
#define __builtin_memmove memmove
#define __builtin_memset memset
#define __builtin_memcmp memcmp
#ifdef CUDEV_WATCHED
// Called past the functions of math.h: (frexp)(x, &n).
double modf(double x, double* whole) CUDEV_NOTHROW __asm__("cudev_modf");
float modff(float x, float* whole) CUDEV_NOTHROW __asm__("cudev_modff");
long double modfl(long double x, long double* whole) CUDEV_NOTHROW __asm__("cudev_modfl");
double frexp(double x, int* exponent) CUDEV_NOTHROW __asm__("cudev_frexp");
float frexpf(float x, int* exponent) CUDEV_NOTHROW __asm__("cudev_frexpf");
long double frexpl(long double x, int* exponent) CUDEV_NOTHROW __asm__("cudev_frexpl");
double remquo(double x, double y, int* quotient) CUDEV_NOTHROW __asm__("cudev_remquo");
float remquof(float x, float y, int* quotient) CUDEV_NOTHROW __asm__("cudev_remquof");
long double remquol(long double x, long double y, int* quotient) CUDEV_NOTHROW
    __asm__("cudev_remquol");
void sincos(double x, double* s, double* c) CUDEV_NOTHROW __asm__("cudev_sincos");
void sincosf(float x, float* s, float* c) CUDEV_NOTHROW __asm__("cudev_sincosf");
void sincosl(long double x, long double* s, long double* c) CUDEV_NOTHROW __asm__("cudev_sincosl");
double lgamma_r(double x, int* sign) CUDEV_NOTHROW __asm__("cudev_lgamma_r");
float lgammaf_r(float x, int* sign) CUDEV_NOTHROW __asm__("cudev_lgammaf_r");
long double lgammal_r(long double x, int* sign) CUDEV_NOTHROW __asm__("cudev_lgammal_r");
#endif
#undef CUDEV_NOTHROW

#ifdef __cplusplus
}
#endif
#endif
