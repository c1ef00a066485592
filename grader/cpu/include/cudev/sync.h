// Barriers, fences, warp functions. The default arguments record the caller's line for the
// diagnoses; nobody passes them.
#ifndef CUDEV_SYNC_H
#define CUDEV_SYNC_H

#define CUDEV_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

// ---- the block ----

inline void __syncthreads(CUDEV_HERE) {
    cudev_barrier(CUDEV_BARRIER, 0, file, line);
}
#define CUDEV_BLOCK_VOTE(name, op)                \
    inline int name(int predicate, CUDEV_HERE) {  \
        cudev_barrier(op, predicate, file, line); \
        return cudev_vote_result();               \
    }
CUDEV_BLOCK_VOTE(__syncthreads_count, CUDEV_BARRIER_COUNT)
CUDEV_BLOCK_VOTE(__syncthreads_and, CUDEV_BARRIER_AND)
CUDEV_BLOCK_VOTE(__syncthreads_or, CUDEV_BARRIER_OR)
#undef CUDEV_BLOCK_VOTE

// ---- the warp ----

inline void __syncwarp(unsigned mask = 0xffffffff, CUDEV_HERE) {
    cudev_warp(CUDEV_SYNCWARP, mask, 0, 0, 0, file, line);
}
inline unsigned __activemask(CUDEV_HERE) {
    const unsigned in_parts = 1;  // a checked run may name a part of the lanes
    return (unsigned)cudev_warp(CUDEV_ACTIVEMASK, 0, 0, in_parts, 0, file, line);
}
#define CUDEV_WARP_VOTE(T, name, op)                                      \
    inline T name(unsigned mask, int predicate, CUDEV_HERE) {             \
        return (T)cudev_warp(op, mask, predicate != 0, 0, 0, file, line); \
    }
CUDEV_WARP_VOTE(unsigned, __ballot_sync, CUDEV_BALLOT)
CUDEV_WARP_VOTE(int, __all_sync, CUDEV_ALL)
CUDEV_WARP_VOTE(int, __any_sync, CUDEV_ANY)
#undef CUDEV_WARP_VOTE

namespace cudev {
// Not by memcpy(), which is watched.
template <size_t bytes> struct word_of;
template <> struct word_of<1> { typedef unsigned char type; };
template <> struct word_of<2> { typedef unsigned short type; };
template <> struct word_of<4> { typedef unsigned type; };
template <> struct word_of<8> { typedef unsigned long long type; };
template <class T> inline unsigned long long to_bits(T value) {
    return __builtin_bit_cast(typename word_of<sizeof(T)>::type, value);
}
template <class T> inline T from_bits(unsigned long long bits) {
    return __builtin_bit_cast(T, (typename word_of<sizeof(T)>::type)bits);
}
}  // namespace cudev

#define CUDEV_SHUFFLE(T, name, op, arg)                                              \
    inline T name(unsigned mask, T value, arg, int width = warpSize, CUDEV_HERE) {   \
        return cudev::from_bits<T>(cudev_warp(sizeof(T) == 8 ? op##_8 : op, mask,    \
                                              cudev::to_bits(value), (unsigned)lane, \
                                              (unsigned)width, file, line));         \
    }
// The four shuffles of one type, as CUDA overloads them.
#define CUDEV_SHUFFLES(T)                                              \
    CUDEV_SHUFFLE(T, __shfl_sync, CUDEV_SHFL, int lane)                \
    CUDEV_SHUFFLE(T, __shfl_up_sync, CUDEV_SHFL_UP, unsigned lane)     \
    CUDEV_SHUFFLE(T, __shfl_down_sync, CUDEV_SHFL_DOWN, unsigned lane) \
    CUDEV_SHUFFLE(T, __shfl_xor_sync, CUDEV_SHFL_XOR, int lane)

#define CUDEV_MATCHES(T)                                                                          \
    inline unsigned __match_any_sync(unsigned mask, T value, CUDEV_HERE) {                        \
        return (unsigned)cudev_warp(CUDEV_MATCH_ANY, mask, cudev::to_bits(value), 0, 0, file,     \
                                    line);                                                        \
    }                                                                                             \
    inline unsigned __match_all_sync(unsigned mask, T value, int* all, CUDEV_HERE) {              \
        unsigned lanes =                                                                          \
            (unsigned)cudev_warp(CUDEV_MATCH_ALL, mask, cudev::to_bits(value), 0, 0, file, line); \
        *all = lanes != 0;                                                                        \
        return lanes;                                                                             \
    }

#define CUDEV_FOR_NUMBERS(f)                                                                \
    f(int) f(unsigned) f(long) f(unsigned long) f(long long) f(unsigned long long) f(float) \
        f(double)
CUDEV_FOR_NUMBERS(CUDEV_SHUFFLES)
CUDEV_FOR_NUMBERS(CUDEV_MATCHES)

#define CUDEV_REDUCE(T, name, op)                                          \
    inline T name(unsigned mask, T value, CUDEV_HERE) {                    \
        return (T)cudev_warp(op, mask, (unsigned)value, 0, 0, file, line); \
    }
CUDEV_REDUCE(unsigned, __reduce_add_sync, CUDEV_REDUCE_ADD)
CUDEV_REDUCE(int, __reduce_add_sync, CUDEV_REDUCE_ADD)
CUDEV_REDUCE(unsigned, __reduce_min_sync, CUDEV_REDUCE_MIN)
CUDEV_REDUCE(int, __reduce_min_sync, CUDEV_REDUCE_MIN_SIGNED)
CUDEV_REDUCE(unsigned, __reduce_max_sync, CUDEV_REDUCE_MAX)
CUDEV_REDUCE(int, __reduce_max_sync, CUDEV_REDUCE_MAX_SIGNED)
CUDEV_REDUCE(unsigned, __reduce_and_sync, CUDEV_REDUCE_AND)
CUDEV_REDUCE(unsigned, __reduce_or_sync, CUDEV_REDUCE_OR)
CUDEV_REDUCE(unsigned, __reduce_xor_sync, CUDEV_REDUCE_XOR)

// ---- fences, waiting, time, giving up ----

// A loop that waits for another thread with a fence or __nanosleep in it lets that thread run.
inline void __threadfence() {
#ifdef CUDEV_WATCHED
    cudev_fence(1);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    cudev_spin();
}
inline void __threadfence_block() {
#ifdef CUDEV_WATCHED
    cudev_fence(0);
    cudev_spin();
#else
    __threadfence();
#endif
}
inline void __threadfence_system() {
    __threadfence();
}
inline void __nanosleep(unsigned) {
    cudev_yield();
}
CUDEV_FUNCTION(long long, clock64, (), cudev_clock())
[[noreturn]] inline void __trap(CUDEV_HERE) {
    cudev_trap(file, line);
}

#endif
