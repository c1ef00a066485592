// The instructions of Hopper GPUs. lessons/hopper.h, which says what each does, gives a GPU the
// instruction itself and this device these functions. Always inlined, so that the runtime sees
// which line of the kernel calls.
#ifndef CUDEV_HOPPER_H
#define CUDEV_HOPPER_H

#include "hopper_abi.h"

// ---- mbarriers ----

__forceinline__ void mbarrier_init(mbarrier* bar, unsigned count, CUDEV_HERE) {
    cudev_mbarrier_init(bar, count, file, line);
}
__forceinline__ void fence_mbarrier_init(CUDEV_HERE) {
    cudev_mbarrier_fence_init(file, line);
}
__forceinline__ void mbarrier_inval(mbarrier* bar, CUDEV_HERE) {
    cudev_mbarrier_inval(bar, file, line);
}
__forceinline__ void mbarrier_arrive(mbarrier* bar, CUDEV_HERE) {
    cudev_mbarrier_arrive(bar, -1, 0, file, line);
}
__forceinline__ void mbarrier_arrive_expect(mbarrier* bar, unsigned bytes, CUDEV_HERE) {
    cudev_mbarrier_arrive(bar, -1, bytes, file, line);
}
__forceinline__ void mbarrier_arrive_remote(mbarrier* bar, unsigned rank, CUDEV_HERE) {
    cudev_mbarrier_arrive(bar, (int)rank, 0, file, line);
}
__forceinline__ void mbarrier_wait(mbarrier* bar, unsigned parity, CUDEV_HERE) {
    cudev_mbarrier_wait(bar, parity, file, line);
}

// ---- TMA ----

#define INTS_2 int c0, int c1
#define INTS_3 INTS_2, int c2
#define INTS_4 INTS_3, int c3
#define INTS_5 INTS_4, int c4
#define COORDINATES_2 c0, c1
#define COORDINATES_3 COORDINATES_2, c2
#define COORDINATES_4 COORDINATES_3, c3
#define COORDINATES_5 COORDINATES_4, c4
#define CUDEV_TMA(rank)                                                                           \
    __forceinline__ void tma_load_##rank##d(void* to, const CUtensorMap* map, mbarrier* bar,      \
                                            unsigned long long, INTS_##rank, CUDEV_HERE) {        \
        const cudev_bulk copy = {                                                                 \
            "tma_load_" #rank "d()", to, map, rank, {COORDINATES_##rank}, 0, 0, bar, 0, 0};       \
        cudev_bulk_load(&copy, file, line);                                                       \
    }                                                                                             \
    __forceinline__ void tma_load_##rank##d_multicast(                                            \
        void* to, const CUtensorMap* map, mbarrier* bar, unsigned long long, unsigned short mask, \
        INTS_##rank, CUDEV_HERE) {                                                                \
        const cudev_bulk copy = {"tma_load_" #rank "d_multicast()",                               \
                                 to,                                                              \
                                 map,                                                             \
                                 rank,                                                            \
                                 {COORDINATES_##rank},                                            \
                                 0,                                                               \
                                 0,                                                               \
                                 bar,                                                             \
                                 mask ? mask : 1u << 16,                                          \
                                 0};                                                              \
        cudev_bulk_load(&copy, file, line);                                                       \
    }                                                                                             \
    __forceinline__ void tma_store_##rank##d(const CUtensorMap* map, const void* from,            \
                                             INTS_##rank, CUDEV_HERE) {                           \
        const cudev_bulk copy = {"tma_store_" #rank "d()",                                        \
                                 (void*)from,                                                     \
                                 map,                                                             \
                                 rank,                                                            \
                                 {COORDINATES_##rank},                                            \
                                 0,                                                               \
                                 0,                                                               \
                                 0,                                                               \
                                 0,                                                               \
                                 0};                                                              \
        cudev_bulk_store(&copy, file, line);                                                      \
    }
CUDEV_TMA(2)
CUDEV_TMA(3)
CUDEV_TMA(4)
CUDEV_TMA(5)
#undef CUDEV_TMA
#undef COORDINATES_5
#undef COORDINATES_4
#undef COORDINATES_3
#undef COORDINATES_2
#undef INTS_5
#undef INTS_4
#undef INTS_3
#undef INTS_2

__forceinline__ void tma_prefetch(const CUtensorMap*) {}

__forceinline__ void bulk_load(void* to, const void* from, unsigned bytes, mbarrier* bar,
                               CUDEV_HERE) {
    const cudev_bulk copy = {"bulk_load()", to, 0, 0, {0}, (void*)from, bytes, bar, 0, 0};
    cudev_bulk_load(&copy, file, line);
}
__forceinline__ void bulk_store(void* to, const void* from, unsigned bytes, CUDEV_HERE) {
    const cudev_bulk copy = {"bulk_store()", (void*)from, 0, 0, {0}, to, bytes, 0, 0, 0};
    cudev_bulk_store(&copy, file, line);
}
__forceinline__ void bulk_reduce_add(float* to, const float* from, unsigned bytes,
                                     unsigned long long, CUDEV_HERE) {
    const cudev_bulk copy = {"bulk_reduce_add()", (void*)from, 0, 0, {0}, to, bytes, 0, 0, 1};
    cudev_bulk_store(&copy, file, line);
}
__forceinline__ void bulk_commit(CUDEV_HERE) {
    cudev_bulk_commit(file, line);
}
template <int pending> __forceinline__ void bulk_wait_read(CUDEV_HERE) {
    static_assert(pending >= 0, "bulk_wait_read<n>: n groups may still be on their way");
    cudev_bulk_wait(pending, 0, file, line);
}
template <int pending> __forceinline__ void bulk_wait(CUDEV_HERE) {
    static_assert(pending >= 0, "bulk_wait<n>: n groups may still be on their way");
    cudev_bulk_wait(pending, 1, file, line);
}
__forceinline__ void fence_proxy_async(CUDEV_HERE) {
    cudev_fence_proxy(0, file, line);
}
__forceinline__ void fence_proxy_async_global(CUDEV_HERE) {
    cudev_fence_proxy(1, file, line);
}

// ---- flags in global memory ----

__forceinline__ int load_acquire(const int* flag) {
    int value;
    if (!cudev_flag_is_late(flag, &value)) value = *(const volatile int*)flag;
    __threadfence();
    return value;
}
__forceinline__ void add_release(int* flag, int more) {
    __threadfence();
    const int before = atomicAdd(flag, more);
    cudev_flag_added(flag, before, more);
}

// ---- wgmma ----

__forceinline__ void wgmma_fence(CUDEV_HERE) {
    cudev_wgmma_fence(file, line);
}
__forceinline__ void wgmma_commit(CUDEV_HERE) {
    cudev_wgmma_commit(file, line);
}
template <int pending> __forceinline__ void wgmma_wait(CUDEV_HERE) {
    static_assert(pending >= 0, "wgmma_wait<n>: n groups may still run");
    cudev_wgmma_wait(pending, file, line);
}
template <int n> __forceinline__ void wgmma_hold(float*) {}
template <int n> __forceinline__ void wgmma_move(unsigned* to, const unsigned* from) {
    for (int i = 0; i < n; i++) to[i] = from[i];
}

__forceinline__ unsigned wgmma_descriptor(const void* tile, unsigned panel_bytes, CUDEV_HERE) {
    return cudev_wgmma_descriptor(tile, panel_bytes, file, line);
}

#define CUDEV_SIZES                                                                         \
    static_assert(n == 64 || n == 128 || n == 192 || n == 256, "n is 64, 128, 192 or 256"); \
    static_assert(swizzle == 32 || swizzle == 64 || swizzle == 128, "bytes of the swizzle")

template <int n, int a_major, int b_major, int swizzle = 128>
__forceinline__ void wgmma_bf16(float* d, unsigned a, unsigned b, int add, CUDEV_HERE) {
    CUDEV_SIZES;
    cudev_product p = {"wgmma_bf16()", d,       0,       a,   b,          n,
                       a_major,        b_major, swizzle, add, CUDEV_BF16, 0};
    cudev_wgmma(&p, file, line);
}
template <int n, int a_major, int b_major, int swizzle = 128>
__forceinline__ void wgmma_bf16_first(float* d, unsigned a, unsigned b, CUDEV_HERE) {
    CUDEV_SIZES;
    cudev_product p = {"wgmma_bf16_first()", d, 0, a, b, n, a_major, b_major, swizzle, 0,
                       CUDEV_BF16,           0};
    cudev_wgmma(&p, file, line);
}
template <int n, int b_major, int swizzle = 128>
__forceinline__ void wgmma_bf16_registers(float* d, const unsigned a[4], unsigned b, int add,
                                          CUDEV_HERE) {
    CUDEV_SIZES;
    cudev_product p = {
        "wgmma_bf16_registers()", d, a, 0, b, n, 0, b_major, swizzle, add, CUDEV_BF16, 0};
    cudev_wgmma(&p, file, line);
}
template <int n, int b_major, int swizzle = 128>
__forceinline__ void wgmma_bf16_registers_first(float* d, const unsigned a[4], unsigned b,
                                                CUDEV_HERE) {
    CUDEV_SIZES;
    cudev_product p = {
        "wgmma_bf16_registers_first()", d, a, 0, b, n, 0, b_major, swizzle, 0, CUDEV_BF16, 0};
    cudev_wgmma(&p, file, line);
}

// Of eight bits: 32 of k, and both operands K_MAJOR.
#define CUDEV_WGMMA(type, format)                                                                  \
    template <int n, int swizzle = 128>                                                            \
    __forceinline__ void wgmma_##type(float* d, unsigned a, unsigned b, int add, CUDEV_HERE) {     \
        CUDEV_SIZES;                                                                               \
        cudev_product p = {"wgmma_" #type "()", d, 0, a, b, n, 0, 0, swizzle, add, format, 0};     \
        cudev_wgmma(&p, file, line);                                                               \
    }                                                                                              \
    template <int n, int swizzle = 128>                                                            \
    __forceinline__ void wgmma_##type##_first(float* d, unsigned a, unsigned b, CUDEV_HERE) {      \
        CUDEV_SIZES;                                                                               \
        cudev_product p = {"wgmma_" #type "_first()", d, 0, a, b, n, 0, 0, swizzle, 0, format, 0}; \
        cudev_wgmma(&p, file, line);                                                               \
    }                                                                                              \
    template <int n, int swizzle = 128>                                                            \
    __forceinline__ void wgmma_##type##_registers(float* d, const unsigned a[4], unsigned b,       \
                                                  int add, CUDEV_HERE) {                           \
        CUDEV_SIZES;                                                                               \
        cudev_product p = {                                                                        \
            "wgmma_" #type "_registers()", d, a, 0, b, n, 0, 0, swizzle, add, format, 0};          \
        cudev_wgmma(&p, file, line);                                                               \
    }                                                                                              \
    template <int n, int swizzle = 128>                                                            \
    __forceinline__ void wgmma_##type##_registers_first(float* d, const unsigned a[4], unsigned b, \
                                                        CUDEV_HERE) {                              \
        CUDEV_SIZES;                                                                               \
        cudev_product p = {                                                                        \
            "wgmma_" #type "_registers_first()", d, a, 0, b, n, 0, 0, swizzle, 0, format, 0};      \
        cudev_wgmma(&p, file, line);                                                               \
    }
CUDEV_WGMMA(e4m3, CUDEV_E4M3)
CUDEV_WGMMA(e5m2, CUDEV_E5M2)
#undef CUDEV_WGMMA
#undef CUDEV_SIZES

// ---- stmatrix ----

__forceinline__ void stmatrix_x2(void* row, const unsigned r[2], CUDEV_HERE) {
    cudev_store_matrices(row, r, 2, 0, file, line);
}
__forceinline__ void stmatrix_x4(void* row, const unsigned r[4], CUDEV_HERE) {
    cudev_store_matrices(row, r, 4, 0, file, line);
}
__forceinline__ void stmatrix_x2_trans(void* row, const unsigned r[2], CUDEV_HERE) {
    cudev_store_matrices(row, r, 2, 1, file, line);
}
__forceinline__ void stmatrix_x4_trans(void* row, const unsigned r[4], CUDEV_HERE) {
    cudev_store_matrices(row, r, 4, 1, file, line);
}

// ---- numbers of eight bits ----

__forceinline__ unsigned pack_e4m3(float x0, float x1, float x2, float x3) {
    return cudev_pack_eight(x0, x1, CUDEV_E4M3) | cudev_pack_eight(x2, x3, CUDEV_E4M3) << 16;
}
__forceinline__ unsigned pack_e5m2(float x0, float x1, float x2, float x3) {
    return cudev_pack_eight(x0, x1, CUDEV_E5M2) | cudev_pack_eight(x2, x3, CUDEV_E5M2) << 16;
}

// ---- registers, clusters, launches ----

template <int registers> __forceinline__ void setmaxnreg_dec(CUDEV_HERE) {
    static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0,
                  "setmaxnreg: 24 to 256 registers, a multiple of 8");
    cudev_set_registers(0, registers, file, line);
}
template <int registers> __forceinline__ void setmaxnreg_inc(CUDEV_HERE) {
    static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0,
                  "setmaxnreg: 24 to 256 registers, a multiple of 8");
    cudev_set_registers(1, registers, file, line);
}
__forceinline__ unsigned cluster_rank(CUDEV_HERE) {
    return cudev_cluster_rank(file, line);
}
__forceinline__ void cluster_sync(CUDEV_HERE) {
    cudev_cluster_sync(file, line);
}
__forceinline__ void* cluster_shared(const void* p, unsigned rank, CUDEV_HERE) {
    return cudev_cluster_shared(p, rank, file, line);
}
__forceinline__ void griddep_wait(CUDEV_HERE) {
    cudev_grid_wait(file, line);
}
__forceinline__ void griddep_launch(CUDEV_HERE) {
    cudev_grid_launch(file, line);
}

// ---- the host's part ----

inline int tensor_map_encode(CUtensorMap* map, const void* p, CUtensorMapDataType type, int rank,
                             const cuuint64_t* sizes, const cuuint64_t* strides,
                             const cuuint32_t* box, int swizzle, CUDEV_HERE) {
    return cudev_tensor_map_encode(map, p, type, rank, sizes, strides, box, swizzle, file, line);
}

#endif
