// Instructions that CUDA C has no word for. lessons/ptx.h, which says what each does, gives a GPU the
// instruction itself and this device these functions.
#ifndef CUDEV_INSTRUCTIONS_H
#define CUDEV_INSTRUCTIONS_H

#include "../cuda_runtime.h"

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

#endif
