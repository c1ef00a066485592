// finds: nothing
// Every way to read and to write: the bytes of each are counted, so each was seen.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <cudev.h>
#include <stdio.h>
#include "small.h"

struct one {
    float x;
};
struct many {
    float x[16];
};
static __device__ __noinline__ float first(one s) {
    return s.x + 1;
}
__attribute__((noinline)) static __device__ float some(many s, int n) {
    return s.x[n % 16];
}
static __device__ __noinline__ many all_of(float x) {
    many s;
    for (int i = 0; i < 16; i++) s.x[i] = x;
    return s;
}
static __device__ __noinline__ float4 four(float x) {
    return make_float4(x, x, x, x);
}
static __device__ __noinline__ float sum(float4 v) {
    return v.x + v.y + v.z + v.w;
}

// Kernel `name` loads and stores so many bytes of global memory, and does so many atomics.
#define WAYS(WAY)                                                                 \
    WAY(copy, 64, 64, 0, std::copy(a, a + 16, o))                                 \
    WAY(copy_any, 64, 64, 0, std::copy(a, a + n, o))                              \
    WAY(copy_backward, 64, 64, 0, std::copy_backward(a, a + 16, o + 16))          \
    WAY(copy_new, 64, 64, 0, std::uninitialized_copy(a, a + 16, o))               \
    WAY(fill, 0, 64, 0, std::fill(o, o + n, 1.0f))                                \
    WAY(fill_bytes, 0, 64, 0, std::fill((char*)o, (char*)o + 64, 0))              \
    WAY(traits, 64, 64, 0, std::char_traits<char>::copy((char*)o, (char*)a, 64))  \
    WAY(traits_assign, 0, 64, 0, std::char_traits<char>::assign((char*)o, 64, 0)) \
    WAY(swap, 128, 128, 0, std::swap_ranges(a, a + 16, o))                        \
    WAY(mem_copy, 64, 64, 0, memcpy(o, a, 64))                                    \
    WAY(mem_move, 64, 64, 0, std::memmove(o, a, 4 * n))                           \
    WAY(mem_set, 0, 64, 0, memset(o, 0, 64))                                      \
    WAY(mem_compare, 128, 4, 0, o[0] = memcmp(o, a, 64))                          \
    WAY(structure, 64, 64, 0, *(many*)o = *(many*)a)                              \
    WAY(argument, 4, 4, 0, o[0] = first(*(one*)a))                                \
    WAY(argument_many, 64, 4, 0, o[0] = some(*(many*)a, n))                       \
    WAY(argument_vector, 16, 4, 0, o[0] = sum(*(float4*)a))                       \
    WAY(returned, 0, 64, 0, *(many*)o = all_of(n))                                \
    WAY(returned_vector, 0, 16, 0, *(float4*)o = four(n))                         \
    WAY(lgamma_sign, 4, 8, 0, o[0] = lgammaf_r(a[0], (int*)o + 1))                \
    WAY(fraction, 4, 8, 0, o[0] = modff(a[0], o + 1))                             \
    WAY(fraction_std, 4, 8, 0, o[0] = std::modf(a[0], o + 1))                     \
    WAY(exponent, 4, 8, 0, o[0] = frexp(a[0], (int*)o + 1))                       \
    WAY(exponent_std, 4, 8, 0, o[0] = std::frexp(a[0], (int*)o + 1))              \
    WAY(exponent_past, 4, 8, 0, o[0] = (frexpf)(a[0], (int*)o + 1))               \
    WAY(quotient, 8, 8, 0, o[0] = remquof(a[0], a[1], (int*)o + 1))               \
    WAY(atomic_load, 4, 4, 0, o[0] = __atomic_load_n((int*)a, __ATOMIC_RELAXED))  \
    WAY(atomic_object, 4, 4, 0, o[0] = ((std::atomic<int>*)a)->load())            \
    WAY(atomic_store, 0, 4, 0, ((std::atomic<int>*)o)->store(3))                  \
    WAY(atomic_old, 0, 4, 1, o[0] = __sync_fetch_and_add((int*)a, 0))             \
    WAY(atomic_or, 0, 4, 1, o[0] = atomicOr((int*)a, 0))                          \
    WAY(atomic_sum, 4, 0, 1, atomicAdd(o, a[0]))                                  \
    WAY(atomic_greatest, 0, 0, 1, atomicMax((int*)o, 3))                          \
    WAY(exchange_fails, 0, 4, 1, int want = -5;                                   \
        __atomic_compare_exchange_n((int*)a, &want, 1, true, 0, 0); o[0] = want)  \
    WAY(exchange_writes, 4, 4, 1, o[1] = -5;                                      \
        __atomic_compare_exchange_n((int*)a, (int*)o, 1, false, 0, 0))            \
    WAY(two_ways, 4, 4, 0, one s = n > 3 ? *(one*)a : *(one*)(a + 1); o[0] = s.x) \
    WAY(seen_as_bits, 4, 4, 0, o[0] = __builtin_bit_cast(float, ((int*)a)[0]))

#define KERNEL(name, load, store, atomics, ...)             \
    __global__ void name##_way(float* o, float* a, int n) { \
        __VA_ARGS__;                                        \
    }
WAYS(KERNEL)

static int failures;

static void run(void (*kernel)(float*, float*, int), const char* name, unsigned long long load,
                unsigned long long store, unsigned long long atomics) {
    static float *o = filled(64), *a = filled(64);
    kernel<<<1, 1>>>(o, a, 16);
    struct cudev_traffic t;
    cudev_get_traffic(&t);
    cudev_reset_traffic();
    if (t.global_load_bytes == load && t.global_store_bytes == store && t.atomics == atomics)
        return;
    printf("%s: %llu bytes loaded, %llu stored, %llu atomics; expected %llu, %llu, %llu\n", name,
           t.global_load_bytes, t.global_store_bytes, t.atomics, load, store, atomics);
    failures++;
}

#define RUN(name, load, store, atomics, ...) run(name##_way, #name, load, store, atomics);

int main(void) {
    WAYS(RUN)
    return failures;
}
