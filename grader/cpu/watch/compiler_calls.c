// The functions that instrumented code calls (gcc's -fsanitize=thread and -fsanitize=bounds) beyond
// the plain loads and stores of access.c. The functions for atomics also do the operation.
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include "cpu/device/worker.h"
#include "cpu/include/cudev/watching.h"
#include "cpu/watch/access.h"
#include "cpu/watch/bounds.h"
#include "cpu/watch/sites.h"

#define CALLER __builtin_return_address(0)
// declared and defined: only the compiler knows these names
#define EXPORT(...) \
    __VA_ARGS__;    \
    __VA_ARGS__

// An instrumented object calls this before main().
EXPORT(void __tsan_init(void)) {
    cudev_watch_setup();
}

// A function begins that is no part of a kernel's own body. Its frame lies above this one's.
EXPORT(void __tsan_func_entry(void* pc)) {
    (void)pc;
    struct worker* w = cudev_self;
    if (w && w->watch) cudev_stack_reaches(w->watch, __builtin_frame_address(0));
}
EXPORT(void __tsan_func_exit(void)) {}
// The pointer to the virtual functions of an object: its constructor writes it.
EXPORT(void __tsan_vptr_update(void** p, void* value)) {
    (void)value;
    cudev_access(p, sizeof *p, CUDEV_WRITE, CALLER);
}
EXPORT(void __tsan_vptr_read(void** p)) {
    cudev_access(p, sizeof *p, CUDEV_READ, CALLER);
}

EXPORT(void __tsan_read_range(void* p, unsigned long bytes)) {
    cudev_access_range(p, bytes, CUDEV_READ, CALLER);
}
EXPORT(void __tsan_write_range(void* p, unsigned long bytes)) {
    cudev_access_range(p, bytes, CUDEV_WRITE, CALLER);
}

// Accesses with a type that is less aligned than its size: packed structures, a folded memcpy.
#define UNALIGNED(bytes)                                            \
    EXPORT(void __tsan_unaligned_read##bytes(void* p)) {            \
        cudev_access_range(p, bytes, CUDEV_READ, CALLER);           \
    }                                                               \
    EXPORT(void __tsan_unaligned_write##bytes(void* p)) {           \
        cudev_access_range(p, bytes, CUDEV_WRITE, CALLER);          \
    }                                                               \
    EXPORT(void __tsan_unaligned_volatile_read##bytes(void* p)) {   \
        cudev_access_range(p, bytes, CUDEV_VOLATILE_READ, CALLER);  \
    }                                                               \
    EXPORT(void __tsan_unaligned_volatile_write##bytes(void* p)) {  \
        cudev_access_range(p, bytes, CUDEV_VOLATILE_WRITE, CALLER); \
    }
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

// ---- atomics: the header's use relaxed order everywhere ----------------------------------------

// An exchange that fails leaves what it found in *expected, which may lie anywhere.
#define EXCHANGE(T, p, expected, desired)                                                     \
    T old = *(expected);                                                                      \
    cudev_access(expected, sizeof(T), CUDEV_READ, CALLER);                                    \
    cudev_access(p, sizeof(T), CUDEV_ATOMIC, CALLER);                                         \
    if (__atomic_compare_exchange_n(p, &old, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
        return 1;                                                                             \
    cudev_access(expected, sizeof(T), CUDEV_WRITE, CALLER);                                   \
    *(expected) = old;                                                                        \
    return 0

#define ORDER(name) int name __attribute__((unused))
#define ATOMICS(bits, T)                                                                          \
    EXPORT(T __tsan_atomic##bits##_load(const volatile T* p, ORDER(order))) {                     \
        cudev_access(p, sizeof(T), CUDEV_ATOMIC_READ, CALLER);                                    \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
    }                                                                                             \
    EXPORT(void __tsan_atomic##bits##_store(volatile T* p, T value, ORDER(order))) {              \
        cudev_access(p, sizeof(T), CUDEV_ATOMIC_WRITE, CALLER);                                   \
        __atomic_store_n(p, value, __ATOMIC_RELAXED);                                             \
    }                                                                                             \
    EXPORT(T __tsan_atomic##bits##_exchange(volatile T* p, T value, ORDER(order))) {              \
        cudev_access(p, sizeof(T), CUDEV_ATOMIC, CALLER);                                         \
        return __atomic_exchange_n(p, value, __ATOMIC_RELAXED);                                   \
    }                                                                                             \
    EXPORT(int __tsan_atomic##bits##_compare_exchange_strong(                                     \
        volatile T* p, T* expected, T desired, ORDER(order), ORDER(other))) {                     \
        EXCHANGE(T, p, expected, desired);                                                        \
    }                                                                                             \
    EXPORT(int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T desired, \
                                                           ORDER(order), ORDER(other))) {         \
        EXCHANGE(T, p, expected, desired);                                                        \
    }                                                                                             \
    FETCH(bits, T, add)                                                                           \
    FETCH(bits, T, sub)                                                                           \
    FETCH(bits, T, and)                                                                           \
    FETCH(bits, T, or)                                                                            \
    FETCH(bits, T, xor)                                                                           \
    FETCH(bits, T, nand)
#define FETCH(bits, T, name)                                                             \
    EXPORT(T __tsan_atomic##bits##_fetch_##name(volatile T* p, T value, ORDER(order))) { \
        cudev_access(p, sizeof(T), CUDEV_ATOMIC, CALLER);                                \
        return __atomic_fetch_##name(p, value, __ATOMIC_RELAXED);                        \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

EXPORT(void __tsan_atomic_thread_fence(int order)) {
    (void)order;
    cudev_fence(1);
}
EXPORT(void __tsan_atomic_signal_fence(int order)) {
    (void)order;
}

// ---- memcpy() and the like in a .cu: see watching.h ---------------------------------------------

EXPORT(void* cudev_memcpy(void* to, const void* from, size_t bytes)) {
    cudev_access_range(from, bytes, CUDEV_READ, CALLER);
    cudev_access_range(to, bytes, CUDEV_WRITE, CALLER);
    return memcpy(to, from, bytes);
}
EXPORT(void* cudev_memmove(void* to, const void* from, size_t bytes)) {
    cudev_access_range(from, bytes, CUDEV_READ, CALLER);
    cudev_access_range(to, bytes, CUDEV_WRITE, CALLER);
    return memmove(to, from, bytes);
}
EXPORT(void* cudev_memset(void* to, int byte, size_t bytes)) {
    cudev_access_range(to, bytes, CUDEV_WRITE, CALLER);
    return memset(to, byte, bytes);
}

EXPORT(int cudev_memcmp(const void* a, const void* b, size_t bytes)) {
    cudev_access_range(a, bytes, CUDEV_READ, CALLER);
    cudev_access_range(b, bytes, CUDEV_READ, CALLER);
    return memcmp(a, b, bytes);
}

// ---- mathematics with a second result

#define TWO_RESULTS(T, P, name)                               \
    EXPORT(T cudev_##name(T x, P* second)) {                  \
        cudev_access(second, sizeof(P), CUDEV_WRITE, CALLER); \
        return name(x, second);                               \
    }
TWO_RESULTS(double, double, modf)
TWO_RESULTS(float, float, modff)
TWO_RESULTS(double, int, frexp)
TWO_RESULTS(float, int, frexpf)
TWO_RESULTS(long double, long double, modfl)
TWO_RESULTS(long double, int, frexpl)
TWO_RESULTS(double, int, lgamma_r)
TWO_RESULTS(float, int, lgammaf_r)
TWO_RESULTS(long double, int, lgammal_r)
#define REMQUO(T, name)                                                \
    EXPORT(T cudev_##name(T x, T y, int* quotient)) {                  \
        cudev_access(quotient, sizeof *quotient, CUDEV_WRITE, CALLER); \
        return name(x, y, quotient);                                   \
    }
REMQUO(double, remquo)
REMQUO(float, remquof)
REMQUO(long double, remquol)
#define SINCOS(T, name)                                  \
    EXPORT(void cudev_##name(T x, T* s, T* c)) {         \
        cudev_access(s, sizeof *s, CUDEV_WRITE, CALLER); \
        cudev_access(c, sizeof *c, CUDEV_WRITE, CALLER); \
        name(x, s, c);                                   \
    }
SINCOS(double, sincos)
SINCOS(float, sincosf)
SINCOS(long double, sincosl)

// ---- what headers announce ---------------------------------------------------------------------

void cudev_announce(enum cudev_access access, const volatile void* p, size_t bytes) {
    if (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
        cudev_access(p, bytes, access, CALLER);
    else
        cudev_access_range(p, bytes, access, CALLER);
}

void cudev_announce_sum(const volatile void* p, size_t bytes) {
    if (cudev_self && cudev_self->watch) sites()->adds[site_at(CALLER)] = true;
    cudev_access(p, bytes, CUDEV_ATOMIC, CALLER);
}

void cudev_announce_cached(const volatile void* p, size_t bytes) {
    cudev_access_cached(p, bytes, CALLER);
}

void cudev_load_announced(void* old, const volatile void* p, size_t bytes) {
    if (bytes == 2)
        __atomic_load((const volatile uint16_t*)p, (uint16_t*)old, __ATOMIC_RELAXED);
    else if (bytes == 4)
        __atomic_load((const volatile uint32_t*)p, (uint32_t*)old, __ATOMIC_RELAXED);
    else
        __atomic_load((const volatile uint64_t*)p, (uint64_t*)old, __ATOMIC_RELAXED);
}

#define EXCHANGE_ANNOUNCED(T)                                                           \
    return __atomic_compare_exchange((volatile T*)p, (T*)old, (T*)(uintptr_t)wanted, 0, \
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)
int cudev_exchange_announced(volatile void* p, void* old, const void* wanted, size_t bytes) {
    if (bytes == 2) EXCHANGE_ANNOUNCED(uint16_t);
    if (bytes == 4) EXCHANGE_ANNOUNCED(uint32_t);
    EXCHANGE_ANNOUNCED(uint64_t);
}

void cudev_make_uninitialised(const volatile void* p, size_t bytes) {
    struct worker* w = cudev_self;
    uint64_t offset = (uint64_t)((const char*)p - ARENA_BASE);
    if (!w || !w->watch || !w->watch->check || offset + bytes > WATCHED_BYTES) return;
    cudev_bounds_unwritten(offset, bytes);
}

// ---- -fsanitize=bounds: an index beyond the declared size of a dimension ------------------------

struct ubsan_type {
    uint16_t kind, info;
    char name[];
};
struct ubsan_out_of_bounds {
    const char* file;
    uint32_t line, column;
    const struct ubsan_type *array, *index;
};

EXPORT(void __ubsan_handle_out_of_bounds(struct ubsan_out_of_bounds* data, unsigned long index)) {
    // kind 0 is an integer: bit 0 of info says signed, the rest is log2 of its bits
    bool is_signed = data->index->kind == 0 && data->index->info & 1;
    unsigned bits = 1u << (data->index->info >> 1);
    long long value = (long long)index;
    if (is_signed && bits < 64) value = (long long)(index << (64 - bits)) >> (64 - bits);
    cudev_bounds_index(value, data->array->name, data->file, (int)data->line, CALLER);
}
EXPORT(void __ubsan_handle_out_of_bounds_abort(struct ubsan_out_of_bounds* data,
                                               unsigned long index)) {
    __ubsan_handle_out_of_bounds(data, index);
}
