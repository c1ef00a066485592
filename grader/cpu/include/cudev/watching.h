// What the rooms behind an instrumented .cu and its headers agree on. A program compiled with
// cxxflags-watched announces its memory accesses: the compiler the ordinary ones, the headers what
// the compiler cannot see (copies that land later, fences). Plain C.
#ifndef CUDEV_WATCHING_H
#define CUDEV_WATCHING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cudev_access {
    CUDEV_READ,
    CUDEV_WRITE,
    CUDEV_ATOMIC,         // reads and writes, in one step
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
// ones; reported with the line of the call. The access itself is the caller's, who makes it in
// unwatched code afterwards. Does not return when it must not be made.
void cudev_announce(enum cudev_access access, const volatile void* p, size_t bytes);
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
};
void cudev_release(struct cudev_clock* clock);
void cudev_acquire(const struct cudev_clock* clock);

#ifdef CUDEV_WATCHED
// The compiler does not announce what these access.
#ifdef __cplusplus
#define CUDEV_NOTHROW throw()
#else
#define CUDEV_NOTHROW
#endif
void* memcpy(void* to, const void* from, size_t bytes) CUDEV_NOTHROW __asm__("cudev_memcpy");
void* memmove(void* to, const void* from, size_t bytes) CUDEV_NOTHROW __asm__("cudev_memmove");
void* memset(void* to, int byte, size_t bytes) CUDEV_NOTHROW __asm__("cudev_memset");
double modf(double x, double* whole) CUDEV_NOTHROW __asm__("cudev_modf");
float modff(float x, float* whole) CUDEV_NOTHROW __asm__("cudev_modff");
double frexp(double x, int* exponent) CUDEV_NOTHROW __asm__("cudev_frexp");
float frexpf(float x, int* exponent) CUDEV_NOTHROW __asm__("cudev_frexpf");
double remquo(double x, double y, int* quotient) CUDEV_NOTHROW __asm__("cudev_remquo");
float remquof(float x, float y, int* quotient) CUDEV_NOTHROW __asm__("cudev_remquof");
#undef CUDEV_NOTHROW
#endif

#ifdef __cplusplus
}
#endif
#endif
