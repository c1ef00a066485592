// from lesson 01: ptx.h: instructions of the GPU that CUDA C has no word for, each as a function.
//
// PTX is the assembly language of NVIDIA's GPUs; its manual is the "PTX ISA". A function here is
// one instruction, and its comment names the instruction and where the manual describes it. Needs
// sm_80. On the CPU device the same functions are C that does the same (grader/cpu/include/cudev).
//
// Pointers are ordinary ones. Shared memory has addresses of its own in PTX, of 32 bits;
// shared_address() converts.
#ifndef COURSE_PTX_H
#define COURSE_PTX_H

#ifdef __CUDEV__
#include "cudev/instructions.h"
#else

__device__ __forceinline__ unsigned shared_address(const void* p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

// ---- copies that do not wait -------------------------------------------------------------------
//
// An ordinary `smem[i] = gmem[j]` loads into a register, waits, and stores. cp.async hands the copy
// over and goes on; the bytes travel while the thread computes. Three steps:
//
//   cp_async16(&K_smem[i], &K[j]);  ...   // any number of copies
//   cp_async_commit();                    // they are a group
//   cp_async_wait<0>();                   // this thread's groups have arrived
//   __syncthreads();                      // ... and those of all others: now everybody may read
//
// A thread commits its own copies only, and waits for its own copies only. Between the copy and the
// wait the destination may hold anything. Before the next copy into the same place all its readers
// have to be done: call __syncthreads() once more.
//
// to: shared memory. from: global memory. Both are multiples of the size: 4, 8 or 16 bytes.
// PTX ISA: Data Movement and Conversion Instructions, Asynchronous copy, "cp.async".

// 4, 8, 16 bytes by way of the L1 cache (.ca), for what is soon read again.
__device__ __forceinline__ void cp_async4(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}
__device__ __forceinline__ void cp_async8(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}
__device__ __forceinline__ void cp_async16_ca(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}

// 16 bytes past the L1 cache (.cg), for tiles, which each block reads once. Usually use this one.
__device__ __forceinline__ void cp_async16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}

// The same at the edge of a matrix: the first `used` bytes come from `from`, the other bytes become
// zero. 0 <= used <= size; with used = 0 nothing is read, and `from` may point anywhere.
__device__ __forceinline__ void cp_async4_zfill(void* to, const void* from, int used) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(used)
                 : "memory");
}
__device__ __forceinline__ void cp_async8_zfill(void* to, const void* from, int used) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(used)
                 : "memory");
}
__device__ __forceinline__ void cp_async16_ca_zfill(void* to, const void* from, int used) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(used)
                 : "memory");
}
__device__ __forceinline__ void cp_async16_zfill(void* to, const void* from, int used) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(used)
                 : "memory");
}

// Makes a group of the copies that this thread has issued since its last commit. A group without
// copies counts as well. PTX ISA: "cp.async.commit_group".
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// Waits until at most the `pending` newest groups of this thread are on their way; all older groups
// have arrived. cp_async_wait<0>() waits for all groups. With two buffers: commit the next tile,
// then cp_async_wait<1>() for the present tile. PTX ISA: "cp.async.wait_group".
template <int pending> __device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
}

// Waits for everything this thread has issued, committed or not. PTX ISA: "cp.async.wait_all".
__device__ __forceinline__ void cp_async_wait_all() {
    asm volatile("cp.async.wait_all;" : : : "memory");
}

// ---- barriers for a part of the block ----------------------------------------------------------
//
// A block has 16 barriers. Number 0 is __syncthreads(); 1 to 15 are yours. A barrier opens when
// `threads` threads have come to it, whether they wait there (sync) or go on (arrive). Then it can
// be used again. All lanes of a warp have to come together. `threads` is a multiple of 32 and the
// same for all threads that use the barrier together. After the barrier, the threads that waited
// may read what all of them wrote to shared and global memory before it.
//
// An example: a producer and a consumer of one warp each, so 64 threads, and two barriers for one
// buffer:
//
//   producer: named_sync(EMPTY, 64); fill the buffer; named_arrive(FULL, 64);
//   consumer: named_arrive(EMPTY, 64) once; named_sync(FULL, 64); use it; named_arrive(EMPTY, 64);
//
// PTX ISA: Parallel Synchronization and Communication Instructions, "bar, barrier".

// Waits until `threads` threads have come to barrier `id`.
__device__ __forceinline__ void named_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

// Comes to barrier `id` without waiting.
__device__ __forceinline__ void named_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

// ---- matrices in registers ---------------------------------------------------------------------
//
// A tensor core multiplies small matrices that lie in the registers of a whole warp, a share in
// each lane. All 32 lanes call together: an `if` around the call must not part them. Lane l =
// threadIdx.x % 32 has
//
//   g = l / 4    a row (or column), 0..7
//   t = l % 4    a pair of columns (or rows) 2t and 2t + 1, 0..3
//
// 16-bit numbers come in pairs, the one with the lower index in the lower half of a 32-bit
// register.

// D += A B, where A is 16 x 16, B is 16 x 8, and D is 16 x 8 in fp32. The lane's share:
//
//   a[0]: A[g    ][2t], A[g    ][2t + 1]     b[0]: B[2t    ][g], B[2t + 1][g]
//   a[1]: A[g + 8][2t], A[g + 8][2t + 1]     b[1]: B[2t + 8][g], B[2t + 9][g]
//   a[2]: A[g    ][2t + 8], ...[2t + 9]
//   a[3]: A[g + 8][2t + 8], ...[2t + 9]      d[0], d[1]: D[g    ][2t], D[g    ][2t + 1]
//                                            d[2], d[3]: D[g + 8][2t], D[g + 8][2t + 1]
//
// So two D side by side, packed to 16 bits, are an A: a[0] = pack(d[0], d[1]), a[1] = pack(d[2],
// d[3]), and a[2], a[3] from the second D. In this way P of attention goes from one product to the
// next. PTX ISA: Warp Level Matrix Instructions, "mma", "Matrix Fragments for mma.m16n8k16".
__device__ __forceinline__ void mma_m16n8k16_bf16(float d[4], const unsigned a[4],
                                                  const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_m16n8k16_fp16(float d[4], const unsigned a[4],
                                                  const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Loads 8 x 8 matrices of 16-bit numbers from shared memory into such shares. r[i] gets columns 2t
// and 2t + 1 of row g of matrix i; with _trans it gets the same of the transposed matrix, which are
// rows 2t and 2t + 1 of column g. In lane l, `row` is where row l % 8 of matrix l / 8 starts: 16
// bytes at a multiple of 16. With x1 only lanes 0..7 need it, with x2 lanes 0..15. All lanes call
// together.
//
//   A, 16 x 16 at &s[r0][k0]:             ldmatrix_x4(a, &s[r0 + l % 16][k0 + l / 16 * 8])
//   B from s[n][k], two of 8 n: ldmatrix_x4(b, &s[n0 + l % 8 + l / 16 * 8][k0 + l / 8 % 2 * 8])
//   B from s[k][n], two blocks of 8 n:    ldmatrix_x4_trans(b, &s[k0 + l % 16][n0 + l / 16 * 8])
//
// where b[0], b[1] are of the first block and b[2], b[3] of the second. The 8 rows of a matrix
// should lie in different banks: rows of 64 numbers do not, unless the 16-byte pieces of row r are
// stored in another order (piece c at place c ^ r % 8). PTX ISA: Warp Level Matrix Instructions,
// "ldmatrix".
__device__ __forceinline__ void ldmatrix_x1(unsigned r[1], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x2(unsigned r[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x4(unsigned r[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x1_trans(unsigned r[1], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x2_trans(unsigned r[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned r[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// ---- numbers -----------------------------------------------------------------------------------

// Two floats, rounded to nearest even, as the halves of a register.
// PTX ISA: Data Movement and Conversion Instructions, "cvt"; the upper half comes first there.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
__device__ __forceinline__ unsigned pack_fp16(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// 2^x in one instruction, off by at most 2^-22 of the result; results below 2^-126 become 0.
// 2^-infinity is 0. exp(x) is exp2_approx(x * 1.44269504f). A kernel that scales x anyway puts
// log2(e) into the scale. PTX ISA: Floating Point Instructions, "ex2".
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif
#endif
