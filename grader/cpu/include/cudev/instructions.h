// Instructions that CUDA C has no word for. lessons/ptx.h, which says what each does, gives a GPU
// the instruction itself and this device these functions.
#ifndef CUDEV_INSTRUCTIONS_H
#define CUDEV_INSTRUCTIONS_H

#include "sixteen.h"

// ---- cp.async: always inlined, so that the runtime sees which line of the kernel calls ----------

#define CUDEV_COPY(name, bytes)                                                           \
    __forceinline__ void name(void* to, const void* from, CUDEV_HERE) {                   \
        cudev_copy_async(to, from, bytes, bytes, file, line);                             \
    }                                                                                     \
    __forceinline__ void name##_zfill(void* to, const void* from, int used, CUDEV_HERE) { \
        cudev_copy_async(to, from, bytes, (unsigned)used, file, line);                    \
    }
CUDEV_COPY(cp_async4, 4)
CUDEV_COPY(cp_async8, 8)
CUDEV_COPY(cp_async16, 16)
CUDEV_COPY(cp_async16_ca, 16)
#undef CUDEV_COPY

__forceinline__ void cp_async_commit() {
    cudev_copy_commit();
}
template <int pending> __forceinline__ void cp_async_wait() {
    static_assert(pending >= 0, "cp_async_wait<n>: n groups may still be on their way");
    cudev_copy_wait(pending);
}
__forceinline__ void cp_async_wait_all() {
    cudev_copy_commit();
    cudev_copy_wait(0);
}

// ---- named barriers ----

__forceinline__ void named_sync(int id, int threads, CUDEV_HERE) {
    cudev_named_barrier(CUDEV_NAMED_SYNC, (unsigned)id, (unsigned)threads, file, line);
}
__forceinline__ void named_arrive(int id, int threads, CUDEV_HERE) {
    cudev_named_barrier(CUDEV_NAMED_ARRIVE, (unsigned)id, (unsigned)threads, file, line);
}

// ---- matrices ----

namespace cudev {
__forceinline__ float low_bf16(unsigned word) {
    return bfloat16_value((unsigned short)word);
}
__forceinline__ float low_fp16(unsigned word) {
    return half_value((unsigned short)word);
}
}  // namespace cudev

#define CUDEV_MULTIPLY(name, low_half, is_half)                                                   \
    __forceinline__ void name(float d[4], const unsigned a[4], const unsigned b[2], CUDEV_HERE) { \
        cudev_mma m;                                                                              \
        for (int i = 0; i < 4; i++) m.d[i] = d[i];                                                \
        for (int i = 0; i < 8; i++) m.a[i] = low_half(a[i / 2] >> i % 2 * 16);                    \
        for (int i = 0; i < 4; i++) m.b[i] = low_half(b[i / 2] >> i % 2 * 16);                    \
        cudev_multiply(&m, is_half, file, line);                                                  \
        for (int i = 0; i < 4; i++) d[i] = m.d[i];                                                \
    }
CUDEV_MULTIPLY(mma_m16n8k16_bf16, cudev::low_bf16, 0)
CUDEV_MULTIPLY(mma_m16n8k16_fp16, cudev::low_fp16, 1)
#undef CUDEV_MULTIPLY

#define CUDEV_LOAD(name, matrices, transposed)                                     \
    __forceinline__ void name(unsigned r[matrices], const void* row, CUDEV_HERE) { \
        unsigned words[matrices];                                                  \
        cudev_load_matrices(words, row, matrices, transposed, file, line);         \
        for (int i = 0; i < matrices; i++) r[i] = words[i];                        \
    }
CUDEV_LOAD(ldmatrix_x1, 1, 0)
CUDEV_LOAD(ldmatrix_x2, 2, 0)
CUDEV_LOAD(ldmatrix_x4, 4, 0)
CUDEV_LOAD(ldmatrix_x1_trans, 1, 1)
CUDEV_LOAD(ldmatrix_x2_trans, 2, 1)
CUDEV_LOAD(ldmatrix_x4_trans, 4, 1)
#undef CUDEV_LOAD

// ---- numbers ----

__forceinline__ unsigned pack_bf16(float low, float high) {
    return (unsigned)cudev::bfloat16_bits(high) << 16 | cudev::bfloat16_bits(low);
}
__forceinline__ unsigned pack_fp16(float low, float high) {
    return (unsigned)cudev::half_bits(high) << 16 | cudev::half_bits(low);
}

// Subnormal numbers count as zero and come out as zero.
__forceinline__ float exp2_approx(float x) {
    float y = ::exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
}

#endif
