// from lesson 24: hopper.h: what only a Hopper GPU (sm_90a) has, each instruction as a function.
//
// The third part of ptx.h, in the same manner: a function is one instruction, ordinary pointers,
// the place in NVIDIA's manual "PTX ISA" beside it. On the CPU device the same functions are C that
// does the same (grader/cpu/include/cudev/hopper.h).
//
// Two agents touch shared memory here. The threads do, by loads and stores: the manual calls that
// the generic proxy. The copy engine (TMA) and the tensor cores do, by themselves: the async proxy.
// Neither sees the order of the other. From TMA to the threads and to wgmma, an mbarrier makes the
// order. From the threads to TMA and to wgmma, fence_proxy_async() makes it, and then a barrier.
// From wgmma to TMA, the wait for wgmma makes it, and then an mbarrier.
#ifndef COURSE_HOPPER_H
#define COURSE_HOPPER_H

#include <cuda.h>
#include <cuda_runtime.h>

#include "ptx.h"

// The operands of a matrix product: which index runs fastest in shared memory.
enum {
    K_MAJOR = 0,   // A[m][k], B[n][k]: k, which the product sums over
    MN_MAJOR = 1,  // A[k][m], B[k][n]: the other one
};

// What L2 should keep, for the loads below: the codes that CUTLASS uses.
#define L2_EVICT_NORMAL 0x1000000000000000ull
#define L2_EVICT_FIRST 0x12F0000000000000ull  // read once
#define L2_EVICT_LAST 0x14F0000000000000ull   // read again by other blocks

// A barrier in shared memory, 8 bytes at a multiple of 8. Only the functions below touch it.
typedef unsigned long long mbarrier;

#ifdef __CUDEV__
#include "cudev/hopper.h"
#else
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "hopper.h is for Hopper GPUs alone: compile with -gencode arch=compute_90a,code=sm_90a"
#endif

// ---- mbarriers ---------------------------------------------------------------------------------
//
// An mbarrier counts through phases 0, 1, 2, ... A phase is complete when `count` arrivals have
// come and all bytes announced for it have landed; then the next phase begins by itself. A wait
// names the parity of a phase, its number % 2, and goes on when that phase is complete: the phase
// before the running one. So on a fresh barrier a wait for parity 1 goes on at once, and one for
// parity 0 waits. Nobody may fall two phases behind.
//
// A ring of S stages has two barriers a stage. In the i-th round through the ring, i = it / S:
//
//   producer: mbarrier_wait(&empty[s], i % 2 ^ 1);   the stage is free; at once when i = 0
//             mbarrier_arrive_expect(&full[s], bytes); then loads of as many bytes by TMA
//   consumer: mbarrier_wait(&full[s], i % 2); read the stage; mbarrier_arrive(&empty[s])
//
// PTX ISA: Parallel Synchronization and Communication Instructions, "mbarrier".

// Makes the barrier: count = arrivals a phase, 1 to 2^20 - 1. One thread calls it, once. Other
// threads may use it after fence_mbarrier_init() and a barrier of the block (of the cluster, if
// other blocks arrive here or TMA multicasts).
__device__ __forceinline__ void mbarrier_init(mbarrier* bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(bar)), "r"(count)
                 : "memory");
}

// After mbarrier_init(), by the same thread: the async proxy and the cluster see the barriers.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

// The place is ordinary memory again. One thread calls it when no phase is awaited any more.
__device__ __forceinline__ void mbarrier_inval(mbarrier* bar) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(shared_address(bar)) : "memory");
}

// One arrival. A thread that waits for the phase finds the earlier reads and writes of this thread
// done.
__device__ __forceinline__ void mbarrier_arrive(mbarrier* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"(shared_address(bar))
                 : "memory");
}

// One arrival, which first announces `bytes` that will land by TMA in the running phase. Call it
// before these loads. A box at the edge of the tensor lands whole: its zeros count as well.
__device__ __forceinline__ void mbarrier_arrive_expect(mbarrier* bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

// One arrival at the same barrier of the cluster's block `rank`, which may be this one.
// The manual's default, .release.cta, is meant: with .release.cluster ptxas puts a MEMBAR.ALL.GPU
// before each arrival, which took a third of the speed of a matrix product. A consumer that arrives
// has only read, and its reads are done; so it has nothing to release to the other block.
__device__ __forceinline__ void mbarrier_arrive_remote(mbarrier* bar, unsigned rank) {
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}"
                 :
                 : "r"(shared_address(bar)), "r"(rank)
                 : "memory");
}

// Waits until the phase of this parity is complete. Any thread may wait, and any number of them.
// Then a thread may read what the arrivals released and what TMA has brought for the phase.
__device__ __forceinline__ void mbarrier_wait(mbarrier* bar, unsigned parity) {
    unsigned complete;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(complete)
                     : "r"(shared_address(bar)), "r"(parity)
                     : "memory");
    } while (!complete);
}

// ---- TMA: boxes of a tensor --------------------------------------------------------------------
//
// One thread asks for a whole box, and the copy engine computes all addresses. The tensor map says
// what the tensor looks like; the host makes it with tensor_map_encode() and passes it as a
// parameter `const __grid_constant__ CUtensorMap map`. c0 ... are where the box begins, in elements
// of each dimension, the fastest one first; they may lie outside of the tensor, also below 0. c0 is
// a multiple of 16 bytes, or the GPU stops with "an illegal instruction".
//
// The box lies in shared memory row after row, without gaps. With a swizzle of 128 bytes a row is
// 128 bytes, and its 16-byte piece c lies at place c ^ row % 8. The box begins at a multiple of
// 1024 bytes there (of 512 with 64, of 256 with 32, of 128 without a swizzle).
//
// PTX ISA: Data Movement and Conversion Instructions, "cp.async.bulk.tensor".

#define INTS_2 int c0, int c1
#define INTS_3 INTS_2, int c2
#define INTS_4 INTS_3, int c3
#define INTS_5 INTS_4, int c4
#define COORDINATES_2 "r"(c0), "r"(c1)
#define COORDINATES_3 COORDINATES_2, "r"(c2)
#define COORDINATES_4 COORDINATES_3, "r"(c3)
#define COORDINATES_5 COORDINATES_4, "r"(c4)

// tma_load_2d(to, map, bar, hint, c0, c1) ... tma_load_5d(): copies the box to `to`, in this
// block's shared memory. Elements outside of the tensor become zero. When all bytes have landed,
// they count as landed at `bar`; whoever waits there sees them, and so does wgmma after that wait.
// Before it, everybody must be done with `to`. hint: L2_EVICT_...
//
// tma_load_2d_multicast(to, map, bar, hint, mask, c0, c1) ...: the box lands at the same place in
// each block of the cluster whose bit in `mask` is 1, and counts at the same barrier there.
//
// tma_store_2d(map, from, c0, c1) ...: copies the box from shared memory into the tensor. Elements
// outside are left out. Before: the threads have written the box, each has called
// fence_proxy_async(), and a barrier has come. After: bulk_commit(), and a bulk_wait before the box
// is written again or its block ends.
//
// at4, at5, at2: the coordinates as operands of the instruction, from number 4, 5, 2.
#define TMA(rank, at4, at5, at2)                                                                  \
    __device__ __forceinline__ void tma_load_##rank##d(                                           \
        void* to, const CUtensorMap* map, mbarrier* bar, unsigned long long hint, INTS_##rank) {  \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile"                \
                     ".mbarrier::complete_tx::bytes.L2::cache_hint "                              \
                     "[%0], [%1, " at4 "], [%2], %3;"                                             \
                     :                                                                            \
                     : "r"(shared_address(to)), "l"(map), "r"(shared_address(bar)), "l"(hint),    \
                       COORDINATES_##rank                                                         \
                     : "memory");                                                                 \
    }                                                                                             \
    __device__ __forceinline__ void tma_load_##rank##d_multicast(                                 \
        void* to, const CUtensorMap* map, mbarrier* bar, unsigned long long hint,                 \
        unsigned short mask, INTS_##rank) {                                                       \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile"                \
                     ".mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "           \
                     "[%0], [%1, " at5 "], [%2], %4, %3;"                                         \
                     :                                                                            \
                     : "r"(shared_address(to)), "l"(map), "r"(shared_address(bar)), "l"(hint),    \
                       "h"(mask), COORDINATES_##rank                                              \
                     : "memory");                                                                 \
    }                                                                                             \
    __device__ __forceinline__ void tma_store_##rank##d(const CUtensorMap* map, const void* from, \
                                                        INTS_##rank) {                            \
        asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.tile.bulk_group "        \
                     "[%1, " at2 "], [%0];"                                                       \
                     :                                                                            \
                     : "r"(shared_address(from)), "l"(map), COORDINATES_##rank                    \
                     : "memory");                                                                 \
    }
TMA(2, "{%4, %5}", "{%5, %6}", "{%2, %3}")
TMA(3, "{%4, %5, %6}", "{%5, %6, %7}", "{%2, %3, %4}")
TMA(4, "{%4, %5, %6, %7}", "{%5, %6, %7, %8}", "{%2, %3, %4, %5}")
TMA(5, "{%4, %5, %6, %7, %8}", "{%5, %6, %7, %8, %9}", "{%2, %3, %4, %5, %6}")
#undef TMA
#undef COORDINATES_5
#undef COORDINATES_4
#undef COORDINATES_3
#undef COORDINATES_2
#undef INTS_5
#undef INTS_4
#undef INTS_3
#undef INTS_2

// Fetches the map itself, so that the first load does not wait for it. One thread, once, or not at
// all. PTX ISA: "prefetch".
__device__ __forceinline__ void tma_prefetch(const CUtensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}

// ---- TMA: bytes in a row -----------------------------------------------------------------------
//
// Without a map. All addresses and `bytes` are multiples of 16. One thread asks. PTX ISA:
// "cp.async.bulk", "cp.reduce.async.bulk".

// From global to shared memory; the bytes count at `bar`, as with tma_load_2d().
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned bytes,
                                          mbarrier* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}

// From shared to global memory; before and after, what tma_store_2d() asks for.
__device__ __forceinline__ void bulk_store(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(to), "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

// The same, but adds: to[i] += from[i] for bytes / 4 floats. Each addition is atomic; the order of
// additions to one element is not fixed, so sums may differ in the last bits from run to run.
__device__ __forceinline__ void bulk_reduce_add(float* to, const float* from, unsigned bytes,
                                                unsigned long long hint) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 "
                 "[%0], [%1], %2, %3;"
                 :
                 : "l"(to), "r"(shared_address(from)), "r"(bytes), "l"(hint)
                 : "memory");
}

// Makes a group of this thread's stores since its last commit. A group without stores counts too.
__device__ __forceinline__ void bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

// Waits until at most the `pending` newest groups of this thread still read their shared memory;
// the boxes of all older groups may be written again. Only the thread that stored can wait.
template <int pending> __device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(pending) : "memory");
}

// The same, until they have written global memory as well: this thread sees what they wrote.
template <int pending> __device__ __forceinline__ void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" : : "n"(pending) : "memory");
}

// Orders what this thread has written to shared memory, and what it has learnt of others by
// barriers, before what TMA and wgmma do after the next barrier. Each thread that wrote calls it,
// then the barrier, then one thread stores the box or a warpgroup multiplies it. PTX ISA: "membar,
// fence", ".proxykind".
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// The same for global memory: after a kernel's own stores there, before TMA loads them.
__device__ __forceinline__ void fence_proxy_async_global() {
    asm volatile("fence.proxy.async.global;" : : : "memory");
}

// ---- flags in global memory, between blocks -----------------------------------------------------

// The value of a flag. If another thread's add_release() has made it, what that thread did before,
// or knows of, comes before what this one does from here on. A __threadfence() on either side of
// atomics does the same, and waits for more. PTX ISA: "ld", ".acquire"; Memory Consistency Model.
__device__ __forceinline__ int load_acquire(const int* flag) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

// Adds to a flag, behind all that this thread did, or knows of. PTX ISA: "red", ".release".
__device__ __forceinline__ void add_release(int* flag, int more) {
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" : : "l"(flag), "r"(more) : "memory");
}

#include "wgmma.h"

// ---- matrices from registers to shared memory --------------------------------------------------

// ldmatrix_x4() backwards: stores 8 x 8 matrices of 16-bit numbers, which lie in the lanes as
// ldmatrix would load them. In lane l, `row` is where row l % 8 of matrix l / 8 begins: 16 bytes at
// a multiple of 16. With x2 only lanes 0..15 need it. All lanes of a warp call together. TMA stores
// see it after fence_proxy_async() and a barrier. For a D of wgmma, 16 columns at a time, row =
// &s[16 w + l % 16][16 j + l / 16 * 8], and the words are d[8 j ... 8 j + 7] packed in pairs.
// PTX ISA: Warp Level Matrix Instructions, "stmatrix".
__device__ __forceinline__ void stmatrix_x2(void* row, const unsigned r[2]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 :
                 : "r"(shared_address(row)), "r"(r[0]), "r"(r[1])
                 : "memory");
}
__device__ __forceinline__ void stmatrix_x4(void* row, const unsigned r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}
__device__ __forceinline__ void stmatrix_x2_trans(void* row, const unsigned r[2]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                 :
                 : "r"(shared_address(row)), "r"(r[0]), "r"(r[1])
                 : "memory");
}
__device__ __forceinline__ void stmatrix_x4_trans(void* row, const unsigned r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// ---- numbers of eight bits ----------------------------------------------------------------------
//
// e4m3 has 4 bits of exponent and 3 behind the point: +- 2^-9 to 448, two zeros, NaN (0x7F, 0xFF),
// no infinity. e5m2 has 5 and 2: +- 2^-16 to 57344, infinities, NaN.

// Four floats, rounded to nearest even, as the bytes of a word; x0 is the lowest. A float that is
// too large becomes the largest number (.satfinite), as infinity does; NaN becomes 0x7F. PTX ISA:
// Data Movement and Conversion Instructions, "cvt"; the upper half comes first there.
#define PACK_EIGHT(type)                                                                      \
    __device__ __forceinline__ unsigned pack_##type(float x0, float x1, float x2, float x3) { \
        unsigned word;                                                                        \
        asm("{\n.reg .b16 low, high;\n"                                                       \
            "cvt.rn.satfinite." #type "x2.f32 low, %2, %1;\n"                                 \
            "cvt.rn.satfinite." #type "x2.f32 high, %4, %3;\n"                                \
            "mov.b32 %0, {low, high};\n}"                                                     \
            : "=r"(word)                                                                      \
            : "f"(x0), "f"(x1), "f"(x2), "f"(x3));                                            \
        return word;                                                                          \
    }
PACK_EIGHT(e4m3)
PACK_EIGHT(e5m2)
#undef PACK_EIGHT

// ---- registers, clusters, launches -------------------------------------------------------------

// A block gets the same number of registers for each thread, (64 K / threads) at most. A warpgroup
// that needs few gives some back (dec), and one that needs many takes them (inc), which waits until
// there are enough: for ever, if the sum over all warps exceeds what the block was launched with.
// All warps of a warpgroup call together. registers: 24 to 256, a multiple of 8. The kernel must
// have __launch_bounds__(threads, 1). PTX ISA: Miscellaneous Instructions, "setmaxnreg".
template <int registers> __device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(registers));
}
template <int registers> __device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(registers));
}

// A kernel with __cluster_dims__(n, 1, 1) runs in clusters of n neighbouring blocks, which run at
// the same time and reach each other's shared memory. This block's number in its cluster: 0 to n -
// 1. PTX ISA: Special Registers, "%cluster_ctarank".
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A barrier of all threads of the cluster; it also orders what they have read and written. A block
// must not end while others may still reach into its shared memory: call it last as well. PTX ISA:
// "barrier.cluster".
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;"
                 :
                 :
                 : "memory");
}

// Where the same variable lies in the shared memory of the cluster's block `rank`; an ordinary
// pointer for loads and stores. PTX ISA: "mapa".
__device__ __forceinline__ void* cluster_shared(const void* p, unsigned rank) {
    void* there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
}

// Programmatic dependent launch: a kernel that was launched with the attribute
// cudaLaunchAttributeProgrammaticStreamSerialization may begin before the one before it ends.
// griddep_wait() waits until that one has ended and its writes are seen: before it, nothing of the
// kernel before may be read and nothing be overwritten that it reads. griddep_launch() allows the
// next kernel to begin, once all blocks have called it or returned; it orders nothing. If kernel B
// follows A and does not wait, then C, which follows B and waits, knows nothing of A. On the host:
// see overlapping(). PTX ISA: "griddepcontrol".
__device__ __forceinline__ void griddep_wait() {
    asm volatile("griddepcontrol.wait;" : : : "memory");
}
__device__ __forceinline__ void griddep_launch() {
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

// ---- the host's part ---------------------------------------------------------------------------

// Makes the map of a tensor in global memory, for TMA.
//
//   p         the first element, at a multiple of 16 bytes
//   type      CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, _FLOAT16, _FLOAT32, or _UINT8 for any bytes
//   rank      2 to 5 dimensions, the fastest one first
//   sizes     elements of each dimension, 1 to 2^32
//   strides   bytes from one element of dimension i + 1 to the next, rank - 1 of them: multiples of
//             16 below 2^40. Dimension 0 has no gaps. Strides may overlap, and need not grow
//   box       elements of each dimension that one load or store moves, 1 to 256
//   swizzle   32, 64 or 128: then a row of the box, box[0] elements, has as many bytes. 0: it is a
//             multiple of 16 bytes
//
// Returns 0, or what cuTensorMapEncodeTiled() returns (cuda.h). That function is the driver's; the
// runtime knows where it is, so nothing links with libcuda. CUDA driver API: "Tensor Map Object
// Management".
static inline int tensor_map_encode(CUtensorMap* map, const void* p, CUtensorMapDataType type,
                                    int rank, const cuuint64_t* sizes, const cuuint64_t* strides,
                                    const cuuint32_t* box, int swizzle) {
    void* function = NULL;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found) != cudaSuccess ||
        !function)
        return CUDA_ERROR_NOT_SUPPORTED;
    decltype(&cuTensorMapEncodeTiled) encode = (decltype(&cuTensorMapEncodeTiled))function;
    const cuuint32_t each[5] = {1, 1, 1, 1, 1};  // take every element
    const cuuint32_t bytes = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4
                             : type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 1
                                                                     : 2;
    if (swizzle && box[0] * bytes != (cuuint32_t)swizzle) return CUDA_ERROR_INVALID_VALUE;
    CUtensorMapSwizzle code = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                              : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                              : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                              : CU_TENSOR_MAP_SWIZZLE_NONE;
    // L2 fetches so much around what a box asks for. Around a row that begins off its lines half of
    // 256 bytes is no use: on an H200 128 gained 9 % in lesson 24 with K = 4104, and cost up to 2 %
    // in 25, whose rows begin at lines.
    CUtensorMapL2promotion around =
        strides[0] % 64 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    return encode(map, type, (cuuint32_t)rank, (void*)p, sizes, strides, box, each,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, code, around, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

#endif

// A launch of so many blocks and threads, with dynamic shared memory, that may begin before the one
// before it has ended: cudaLaunchKernelEx(&config, kernel, arguments...). overlap: the caller's, as
// long as the config is used. The kernel calls griddep_wait(). CUDA C++ Programming Guide,
// "Programmatic Dependent Launch and Synchronization".
static inline cudaLaunchConfig_t overlapping(int64_t blocks, int threads, size_t bytes,
                                             cudaLaunchAttribute* overlap) {
    cudaLaunchConfig_t config = {};
    overlap->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim.x = (unsigned)blocks;
    config.blockDim.x = (unsigned)threads;
    config.dynamicSmemBytes = bytes;
    config.attrs = overlap;
    config.numAttrs = 1;
    return config;
}

#endif
