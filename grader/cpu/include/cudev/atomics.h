// Atomic operations on global and shared memory. Relaxed, as on a GPU: ordering needs a fence.
// Each call may let other threads run, so that a loop waiting on an atomic ends.
#ifndef CUDEV_ATOMICS_H
#define CUDEV_ATOMICS_H

namespace cudev {

// *p = f(*p); returns the old value. T is one machine word the compiler can compare and swap as
// the integer type Word; the two are the same where T is no real number. However often it tries,
// that is one access.
template <class Word, class T, class F> inline T update(T* p, F f) {
    Word* word = (Word*)p;
    Word old, wanted;
    T value;
    bool done;
#ifdef CUDEV_WATCHED
    if (__is_same(Word, T))
        cudev_announce(CUDEV_ATOMIC, p, sizeof *p);
    else
        cudev_announce_sum(p, sizeof *p);
    cudev_load_announced(&old, word, sizeof old);
#else
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
    do {
        value = __builtin_bit_cast(T, old);
        wanted = __builtin_bit_cast(Word, (T)f(value));
#ifdef CUDEV_WATCHED
        done = cudev_exchange_announced(word, &old, &wanted, sizeof old);
#else
        done = __atomic_compare_exchange_n(word, &old, wanted, true, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
#endif
    } while (!done);
    cudev_spin();
    return value;
}

}  // namespace cudev

// The scope, block or system, makes no difference here: blocks share all memory.
#define CUDEV_ATOMIC_SCOPES(T, name)        \
    inline T name##_block(T* p, T value) {  \
        return name(p, value);              \
    }                                       \
    inline T name##_system(T* p, T value) { \
        return name(p, value);              \
    }
#define CUDEV_ATOMIC_FETCH(T, name, builtin)         \
    inline T name(T* p, T value) {                   \
        T old = builtin(p, value, __ATOMIC_RELAXED); \
        cudev_spin();                                \
        return old;                                  \
    }                                                \
    CUDEV_ATOMIC_SCOPES(T, name)
#define CUDEV_ATOMIC_UPDATE(T, Word, name, expression)                         \
    inline T name(T* p, T value) {                                             \
        return cudev::update<Word>(p, [=](T old) -> T { return expression; }); \
    }                                                                          \
    CUDEV_ATOMIC_SCOPES(T, name)
#define CUDEV_ATOMIC_CAS(T)                                                      \
    inline T atomicCAS(T* p, T compare, T value) {                               \
        __atomic_compare_exchange_n(p, &compare, value, false, __ATOMIC_RELAXED, \
                                    __ATOMIC_RELAXED);                           \
        cudev_spin();                                                            \
        return compare;                                                          \
    }                                                                            \
    inline T atomicCAS_block(T* p, T compare, T value) {                         \
        return atomicCAS(p, compare, value);                                     \
    }                                                                            \
    inline T atomicCAS_system(T* p, T compare, T value) {                        \
        return atomicCAS(p, compare, value);                                     \
    }
#define CUDEV_ATOMIC_INTEGERS(T)                           \
    CUDEV_ATOMIC_FETCH(T, atomicAdd, __atomic_fetch_add)   \
    CUDEV_ATOMIC_FETCH(T, atomicExch, __atomic_exchange_n) \
    CUDEV_ATOMIC_CAS(T)                                    \
    CUDEV_ATOMIC_BITS(T)
#define CUDEV_ATOMIC_BITS(T)                                        \
    CUDEV_ATOMIC_UPDATE(T, T, atomicMin, old < value ? old : value) \
    CUDEV_ATOMIC_UPDATE(T, T, atomicMax, old > value ? old : value) \
    CUDEV_ATOMIC_FETCH(T, atomicAnd, __atomic_fetch_and)            \
    CUDEV_ATOMIC_FETCH(T, atomicOr, __atomic_fetch_or)              \
    CUDEV_ATOMIC_FETCH(T, atomicXor, __atomic_fetch_xor)

CUDEV_ATOMIC_INTEGERS(int)
CUDEV_ATOMIC_INTEGERS(unsigned)
CUDEV_ATOMIC_INTEGERS(unsigned long long)
CUDEV_ATOMIC_BITS(long long)
CUDEV_ATOMIC_CAS(unsigned short)
CUDEV_ATOMIC_FETCH(int, atomicSub, __atomic_fetch_sub)
CUDEV_ATOMIC_FETCH(unsigned, atomicSub, __atomic_fetch_sub)
CUDEV_ATOMIC_UPDATE(unsigned, unsigned, atomicInc, old >= value ? 0 : old + 1)
CUDEV_ATOMIC_UPDATE(unsigned, unsigned, atomicDec, old == 0 || old > value ? value : old - 1)
CUDEV_ATOMIC_UPDATE(float, unsigned, atomicAdd, old + value)
CUDEV_ATOMIC_UPDATE(float, unsigned, atomicExch, ((void)old, value))
CUDEV_ATOMIC_UPDATE(double, unsigned long long, atomicAdd, old + value)
// each number by itself
inline float2 atomicAdd(float2* p, float2 v) {
    return float2{atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)};
}
inline float4 atomicAdd(float4* p, float4 v) {
    return float4{atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z),
                  atomicAdd(&p->w, v.w)};
}
CUDEV_ATOMIC_SCOPES(float2, atomicAdd)
CUDEV_ATOMIC_SCOPES(float4, atomicAdd)

#endif
