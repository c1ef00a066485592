// ptx.h: instructions of the GPU that CUDA C has no word for, each as a function.
//
// PTX is the assembly language of NVIDIA's GPUs; its manual is the "PTX ISA". A function here is one
// instruction, and its comment names the instruction and where the manual describes it. Needs sm_80.
// On the CPU device the same functions are C that does the same (grader/cpu/include/cudev).
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
// Each thread by itself: it copies, commits and waits for its own copies only. Between issue and
// wait the destination holds nothing in particular. Before the next copy into the same place,
// whoever reads it has to be done: another __syncthreads().
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

// 16 bytes past the L1 cache (.cg): for tiles, which each block reads once. The one to use.
__device__ __forceinline__ void cp_async16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}

// The same at the edge of a matrix: the first `used` bytes come from `from`, the others become zero.
// 0 <= used <= size; with used = 0 nothing is read, and `from` may point anywhere.
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

// What this thread has issued since its last commit is a group; none is an empty group, which counts
// as well. PTX ISA: "cp.async.commit_group".
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// Waits until at most the `pending` newest groups of this thread are on their way; all older ones
// have arrived. cp_async_wait<0>() waits for all. With two buffers: commit the next tile, then
// cp_async_wait<1>() for this one. PTX ISA: "cp.async.wait_group".
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
// `threads` threads have come to it, whether they wait there (sync) or go on (arrive), and is then
// as new. Whole warps come: all lanes of a warp have to get there together, and `threads` is a
// multiple of 32 and the same for all who use the barrier together. What they wrote before, in
// shared and global memory, those who waited may read after.
//
// A producer and a consumer of one warp each, so 64 threads; two barriers for one buffer:
//
//   producer: named_sync(EMPTY, 64); fill the buffer; named_arrive(FULL, 64);
//   consumer: named_arrive(EMPTY, 64) once; then: named_sync(FULL, 64); use it; named_arrive(EMPTY, 64);
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

#endif
#endif
