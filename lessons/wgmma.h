// from lesson 24: wgmma.h: matrix products of a warpgroup. hopper.h includes it.
#ifndef COURSE_WGMMA_H
#define COURSE_WGMMA_H

#include "hopper.h"

#ifndef __CUDEV__  // the CPU device has its own

// ---- matrix products of a warpgroup ------------------------------------------------------------
//
// A warpgroup is four warps; the first one's number is a multiple of 4. It multiplies 64 rows of A
// by n columns of B, 16 of k at a time (32 if they have eight bits), and it does not wait:
//
//   wgmma_fence();                                       // before each batch
//   wgmma_bf16_first<n, K_MAJOR, K_MAJOR>(D, A, B);      // D = A B
//   wgmma_bf16<n, K_MAJOR, K_MAJOR>(D, A + 2, B + 2, 1); // D += A B, the next 16 of k
//   wgmma_commit();                                      // they are a group
//   wgmma_wait<0>();                                     // all groups are done: D may be read
//
// All 128 threads call together. Between the first product and the wait, nobody may touch D, the
// shared memory of A and B, or the registers of A: d and a are arrays that live until then.
// Products that add to the same D need no wait between them. PTX ISA: Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate Instructions.

// Orders this thread's registers: what it wrote to D and to A in registers comes before the
// products that follow. Not the shared memory: that is fence_proxy_async() and a barrier.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

// Makes a group of the products since the last commit.
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

// Waits until at most the `pending` newest groups of this warpgroup still run. D of the others may
// be used, and their shared memory may be released.
template <int pending> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(pending) : "memory");
}

// No instruction: what uses x[0 .. n) stays behind this place, after a wait that stands before it.
// Without it the compiler may move such a use above the wait, for it sees no connection.
template <int n> __device__ __forceinline__ void wgmma_hold(float* x) {
#pragma unroll
    for (int i = 0; i < n; i++) asm volatile("" : "+f"(x[i]) : : "memory");
}

// to[0 .. n) = from[0 .. n), behind a wait that stands before it. For A in registers: a running
// product still reads `to`, and an assignment the compiler would make when it computes `from`.
template <int n> __device__ __forceinline__ void wgmma_move(unsigned* to, const unsigned* from) {
#pragma unroll
    for (int i = 0; i < n; i++)
        asm volatile("mov.b32 %0, %1;" : "=r"(to[i]) : "r"(from[i]) : "memory");
}

// Where an operand lies in shared memory: the low half of its "matrix descriptor", which changes
// from product to product; the high half says the swizzle and is a constant. tile: the first
// element, at a multiple of 16 bytes; the tile around it begins at a multiple of 1024. A tile is
// panels one after the other, each with rows of 128 bytes (64 elements), swizzled as TMA leaves
// them. panel_bytes: from one panel to the next, below 2^18; it counts only for MN_MAJOR operands
// with more than 64 rows or columns.
//
//   K_MAJOR:  a row is 64 of k. The next 16 of k are + 2 (32 bytes / 16); the next 64 of k are the
//             next panel, + panel_bytes / 16; 8 rows further is + 64 (1024 bytes / 16)
//   MN_MAJOR: a row is 64 of m or n. The next 16 of k are 16 rows, + 128 (2048 bytes / 16)
//
// PTX ISA: "Matrix Descriptor Format" and "Strides" there.
__device__ __forceinline__ unsigned wgmma_descriptor(const void* tile, unsigned panel_bytes) {
    return (shared_address(tile) & 0x3FFFF) >> 4 | panel_bytes >> 4 << 16;
}

// The lane's share of D, 64 x n in fp32, and of A in registers, 64 x 16. With warp w = 0..3 of the
// warpgroup, g = lane / 4 and t = lane % 4:
//
//   d[4j], d[4j + 1]:     D[16 w + g    ][8 j + 2 t], D[16 w + g    ][8 j + 2 t + 1]
//   d[4j + 2], d[4j + 3]: D[16 w + g + 8][8 j + 2 t], D[16 w + g + 8][8 j + 2 t + 1]
//   a[0], a[1], a[2], a[3]: as in mma_m16n8k16_bf16(), of rows 16 w ... 16 w + 15
//
// So d[8 i ... 8 i + 7], packed to bf16 in pairs, are a[0 ... 3] for 16 of k, from 16 i on.
//
// Each function takes n, a multiple of 64 up to 256, the majors of A and B, and the bytes of the
// swizzle, 128, 64 or 32. With `add` = 0, D = A B; else D = A B + D. `add` may depend on run time,
// but is the same for all 128 threads. The _first functions are for the beginning of a sum: they do
// not read D, so the compiler need not keep registers for an old D nobody wants.
//
//   wgmma_bf16<n, a_major, b_major>(d, a, b, add)       A and B in shared memory
//   wgmma_bf16_first<n, a_major, b_major>(d, a, b)
//   wgmma_bf16_registers<n, b_major>(d, a, b, add)      A in registers, 4 of them
//   wgmma_bf16_registers_first<n, b_major>(d, a, b)
//
// Of numbers of eight bits, e4m3 or e5m2, a product has 32 of k, which are the same 32 bytes: all
// that is said above of descriptors holds, but that a row of 128 bytes has 128 numbers, and that
// both operands must be K_MAJOR. The lane's share of D is the same, and that of A in registers is
// another: byte i of
//
//   a[0], a[2]: A[16 w + g    ][4 t + i], A[16 w + g    ][16 + 4 t + i]
//   a[1], a[3]: A[16 w + g + 8][4 t + i], A[16 w + g + 8][16 + 4 t + i]
//
// A sum in D keeps fewer digits than fp32: the hardware adds the products of an instruction to D
// with about 14 bits below the largest of them, and cuts off the rest. (The CPU device rounds to
// fp32.)
//
//   wgmma_e4m3<n>(d, a, b, add)                         A and B in shared memory
//   wgmma_e4m3_first<n>(d, a, b)
//   wgmma_e4m3_registers<n>(d, a, b, add)               A in registers, 4 of them
//   wgmma_e4m3_registers_first<n>(d, a, b)              and the same with e5m2

// The high half: the swizzle's code, and the bytes from 8 rows to the next 8.
#define DESCRIPTOR_HIGH                     \
    (swizzle == 128  ? 1u << 30 | 1024 >> 4 \
     : swizzle == 64 ? 2u << 30 | 512 >> 4  \
                     : 3u << 30 | 256 >> 4)

// D as the instruction's text, and as operands of constraint c: "+f" is read and written, "=f" is
// written.
#define TEXT_32                                                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TEXT_64                                                                          \
    TEXT_32                                                                              \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TEXT_96                                                                          \
    TEXT_64                                                                              \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TEXT_128                                       \
    TEXT_96                                            \
    ", %96, %97, %98, %99, %100, %101, %102, %103, "   \
    "%104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, " \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define D_4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define D_16(c, i) D_4(c, i), D_4(c, i + 4), D_4(c, i + 8), D_4(c, i + 12)
#define D_32(c) D_16(c, 0), D_16(c, 16)
#define D_64(c) D_32(c), D_16(c, 32), D_16(c, 48)
#define D_96(c) D_64(c), D_16(c, 64), D_16(c, 80)
#define D_128(c) D_96(c), D_16(c, 96), D_16(c, 112)

// Both operands in shared memory. p0 ...: the numbers of the operands that follow D's n / 2.
#define SHARED(c, scale, n, half, p0, p1, p2, p3, p4, p5, ...)                        \
    asm volatile("{\n.reg .pred add;\n.reg .b64 a, b;\nsetp.ne.b32 add, " p2 ", 0;\n" \
                 "mov.b64 a, {" p0 ", " p3 "};\nmov.b64 b, {" p1 ", " p3 "};\n"       \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 "          \
                 "{" TEXT_##half "}, a, b, " scale ", 1, 1, " p4 ", " p5 ";\n}"       \
                 : D_##half(c)                                                        \
                 : "r"(a), "r"(b), "r"(add), "r"(DESCRIPTOR_HIGH), "n"(a_major), "n"(b_major))
// A in registers.
#define REGISTERS(c, scale, n, half, p0, p1, p2, p3, p4, p5, p6, p7)                         \
    asm volatile("{\n.reg .pred add;\n.reg .b64 b;\nsetp.ne.b32 add, " p5 ", 0;\n"           \
                 "mov.b64 b, {" p4 ", " p6 "};\n"                                            \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 "                 \
                 "{" TEXT_##half "}, "                                                       \
                                 "{" p0 ", " p1 ", " p2 ", " p3 "}, b, " scale ", 1, 1, " p7 \
                                 ";\n}"                                                      \
                 : D_##half(c)                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(add),             \
                   "r"(DESCRIPTOR_HIGH), "n"(b_major))
// A size that is missing is one more line here, with its texts above.
#define FOR_EACH_N(form, c, scale)                                                           \
    static_assert(n == 64 || n == 128 || n == 192 || n == 256, "n is 64, 128, 192 or 256");  \
    static_assert(swizzle == 32 || swizzle == 64 || swizzle == 128, "bytes of the swizzle"); \
    if constexpr (n == 64)                                                                   \
        form(c, scale, 64, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39");      \
    if constexpr (n == 128)                                                                  \
        form(c, scale, 128, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71");     \
    if constexpr (n == 192)                                                                  \
        form(c, scale, 192, 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103"); \
    if constexpr (n == 256)                                                                  \
    form(c, scale, 256, 128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135")

template <int n, int a_major, int b_major, int swizzle = 128>
__device__ __forceinline__ void wgmma_bf16(float* d, unsigned a, unsigned b, int add) {
    FOR_EACH_N(SHARED, "+f", "add");
}
template <int n, int a_major, int b_major, int swizzle = 128>
__device__ __forceinline__ void wgmma_bf16_first(float* d, unsigned a, unsigned b) {
    const int add = 0;
    FOR_EACH_N(SHARED, "=f", "0");
}
template <int n, int b_major, int swizzle = 128>
__device__ __forceinline__ void wgmma_bf16_registers(float* d, const unsigned a[4], unsigned b,
                                                     int add) {
    FOR_EACH_N(REGISTERS, "+f", "add");
}
template <int n, int b_major, int swizzle = 128>
__device__ __forceinline__ void wgmma_bf16_registers_first(float* d, const unsigned a[4],
                                                           unsigned b) {
    const int add = 0;
    FOR_EACH_N(REGISTERS, "=f", "0");
}

// The same of eight bits: no majors.
#define SHARED_EIGHT(type, c, scale, n, half, p0, p1, p2, p3, ...)                    \
    asm volatile("{\n.reg .pred add;\n.reg .b64 a, b;\nsetp.ne.b32 add, " p2 ", 0;\n" \
                 "mov.b64 a, {" p0 ", " p3 "};\nmov.b64 b, {" p1 ", " p3 "};\n"       \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." type "." type " "  \
                 "{" TEXT_##half "}, a, b, " scale ", 1, 1;\n}"                       \
                 : D_##half(c)                                                        \
                 : "r"(a), "r"(b), "r"(add), "r"(DESCRIPTOR_HIGH))
#define REGISTERS_EIGHT(type, c, scale, n, half, p0, p1, p2, p3, p4, p5, p6)                   \
    asm volatile("{\n.reg .pred add;\n.reg .b64 b;\nsetp.ne.b32 add, " p5 ", 0;\n"             \
                 "mov.b64 b, {" p4 ", " p6 "};\n"                                              \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." type "." type " "           \
                 "{" TEXT_##half "}, {" p0 ", " p1 ", " p2 ", " p3 "}, b, " scale ", 1, 1;\n}" \
                 : D_##half(c)                                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(add),               \
                   "r"(DESCRIPTOR_HIGH))
#define FOR_N_OF_EIGHT(form, type, c, scale)                                                 \
    static_assert(n == 64 || n == 128 || n == 192 || n == 256, "n is 64, 128, 192 or 256");  \
    static_assert(swizzle == 32 || swizzle == 64 || swizzle == 128, "bytes of the swizzle"); \
    if constexpr (n == 64)                                                                   \
        form(type, c, scale, 64, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38");       \
    if constexpr (n == 128)                                                                  \
        form(type, c, scale, 128, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70");      \
    if constexpr (n == 192)                                                                  \
        form(type, c, scale, 192, 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102");   \
    if constexpr (n == 256)                                                                  \
    form(type, c, scale, 256, 128, "%128", "%129", "%130", "%131", "%132", "%133", "%134")
#define WGMMA_OF_EIGHT(type)                                                                      \
    template <int n, int swizzle = 128>                                                           \
    __device__ __forceinline__ void wgmma_##type(float* d, unsigned a, unsigned b, int add) {     \
        FOR_N_OF_EIGHT(SHARED_EIGHT, #type, "+f", "add");                                         \
    }                                                                                             \
    template <int n, int swizzle = 128>                                                           \
    __device__ __forceinline__ void wgmma_##type##_first(float* d, unsigned a, unsigned b) {      \
        const int add = 0;                                                                        \
        FOR_N_OF_EIGHT(SHARED_EIGHT, #type, "=f", "0");                                           \
    }                                                                                             \
    template <int n, int swizzle = 128>                                                           \
    __device__ __forceinline__ void wgmma_##type##_registers(float* d, const unsigned a[4],       \
                                                             unsigned b, int add) {               \
        FOR_N_OF_EIGHT(REGISTERS_EIGHT, #type, "+f", "add");                                      \
    }                                                                                             \
    template <int n, int swizzle = 128>                                                           \
    __device__ __forceinline__ void wgmma_##type##_registers_first(float* d, const unsigned a[4], \
                                                                   unsigned b) {                  \
        const int add = 0;                                                                        \
        FOR_N_OF_EIGHT(REGISTERS_EIGHT, #type, "=f", "0");                                        \
    }
WGMMA_OF_EIGHT(e4m3)
WGMMA_OF_EIGHT(e5m2)
#undef WGMMA_OF_EIGHT
#undef FOR_N_OF_EIGHT
#undef REGISTERS_EIGHT
#undef SHARED_EIGHT
#undef FOR_EACH_N
#undef REGISTERS
#undef SHARED
#undef D_128
#undef D_96
#undef D_64
#undef D_32
#undef D_16
#undef D_4
#undef TEXT_128
#undef TEXT_96
#undef TEXT_64
#undef TEXT_32
#undef DESCRIPTOR_HIGH

#endif
#endif
