// wide.h: loops in wider vectors, where the processor has them. The results are the same to the
// bit: nothing is fused, and no sum is made in another order.
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

// Before a function whose loops the compiler can make vectors of. Clang, which builds the fuzzers
// alone, knows no optimize().
#if defined(__clang__)
#define WIDE
#elif defined(__x86_64__)
#define WIDE __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define WIDE __attribute__((optimize("O3")))
#endif

#endif
