// hopper_matmul.cu: C = A B in bfloat16 on a Hopper GPU: copied by TMA, multiplied by wgmma.
//
// A block has three warpgroups. One thread of the first asks the copy engine for tiles, and does
// nothing else. The other two warpgroups multiply: each has 64 rows of the block's tile of C in its
// registers. They meet at the stages of a ring, and a stage has two barriers:
//
//     producer   wait empty[s]  ask for A, B into stage s; their bytes complete full[s]
//     consumers  wait full[s]   wgmma from stage s;        arrive at empty[s]
//
// Blocks stay and take the next tile of C: while the consumers store one, the producer fills the
// ring for the next. Where B's rows begin at no multiple of 128 bytes, copies would take longer
// than the products: there two blocks, below each other in C, share what they read of B.
//
// Tiles have 256 columns. If those leave most of the last wave empty, the last rows of C are made
// of narrower ones, by a second kernel: its blocks begin as soon as blocks of the first are done.
//
// The versions on the way, in steps/:
//     1_tma_mma_sync.cu    tiles by TMA; lesson 07's ldmatrix and mma.sync
//     2_wgmma_one_stage.cu wgmma reads the tiles itself: copy, wait, multiply, wait
//     3_ring.cu            stages: the next tiles are on their way while one is multiplied
//     4_specialised.cu     a producer and two consumers; a block for each tile of C
//     5_cluster.cu         pairs of blocks alone, in all sizes
#include "hopper_matmul.h"

#include <cuda_bf16.h>

#include "hopper.h"

// ---- a tile of C and the stages of its ring (hopper_tile.h)

enum {
    BLOCK_M = 128,    // rows of a block's tile of C; its columns are a template's parameter, n
    BLOCK_K = 64,     // of a stage
    PANEL = 64,       // elements in a swizzled row of 128 bytes
    CONSUMER_M = 64,  // rows of a consumer's wgmma
    STEP = 16,        // K of one wgmma
    WARPGROUP = 128,  // threads
    CONSUMERS = BLOCK_M / CONSUMER_M,
    THREADS = WARPGROUP * (1 + CONSUMERS),
    WARP_ROWS = 16,  // of C, in a consumer's warp
    GROUP = 16,      // rows of tiles of C that are worked on together
    // Registers of a thread. The block is launched with 168: 168 * 3 >= 40 + 232 * 2.
    PRODUCER_REGISTERS = 40,
    CONSUMER_REGISTERS = 232,
};

// A tile begins at a multiple of 1024 bytes: eight rows of 128, which is what the swizzle repeats.
template <int n> struct stage_smem {
    bf16 A[BLOCK_M * BLOCK_K];
    bf16 B[BLOCK_K * n];
};
template <int n> struct block_smem {
    enum { STAGES = n > 192 ? 3 : n > 128 ? 4 : 6 };  // as many as fit into 227 KB beside C
    struct stage_smem<n> stages[STAGES];
    bf16 C[CONSUMERS * 4][n / PANEL][WARP_ROWS * PANEL];  // each warp's own rows
    mbarrier full[STAGES], empty[STAGES];
};

// What the kernel works on. The maps have to be a kernel's parameter.
struct product {
    CUtensorMap A, B, C;  // C without the last N % 8 columns: see store_rows()
    bf16* C_gpu;
    int64_t stride_C;
    int M, N, K;
};

// ---- from maps to sums (hopper_tile.h)

// Where tile t of C begins; a cluster has a tile for each of its blocks, below each other. Tiles
// are counted in groups of GROUP rows of them, down first: blocks that run at the same time share
// few rows of tiles of A and columns of tiles of B, in L2.
template <int n, int cluster = 1>
__device__ __forceinline__ void place_tile(int* row0, int* col0, int t, const struct product& p) {
    int group_tiles = GROUP * CEIL_DIV(p.N, n);
    int first = t / group_tiles * GROUP;
    int rows =
        min((int)GROUP, CEIL_DIV(p.M, BLOCK_M * cluster) - first);  // the last group has fewer
    t %= group_tiles;
    *row0 = (first + t % rows) * cluster * BLOCK_M;
    if (cluster > 1) *row0 += cluster_rank() * BLOCK_M;
    *col0 = t / rows * n;
}

// Asks for a box of B, number `box` of its tile. The blocks of a cluster need the same ones: one of
// them asks for it, and it lands in all, and counts at the barrier of each.
template <int cluster>
__device__ __forceinline__ void load_B(bf16* to, mbarrier* full, const struct product& p, int box,
                                       int c0, int c1) {
    if (cluster == 1)
        tma_load_2d(to, &p.B, full, L2_EVICT_NORMAL, c0, c1);
    else if (box % cluster == (int)cluster_rank())
        tma_load_2d_multicast(to, &p.B, full, L2_EVICT_NORMAL, (1 << cluster) - 1, c0, c1);
}

// Asks for the tiles of A and B that begin at row0, col0 and k0. What lies outside of the matrices
// becomes 0. One thread calls it. B's boxes go by way of load_B().
template <int A_major, int B_major, int n, int cluster = 1>
__device__ __forceinline__ void load_stage(struct stage_smem<n>* stage, mbarrier* full,
                                           const struct product& p, int row0, int col0, int k0) {
    // your code goes here (about 10 lines): announce the bytes, then ask: panels of 64 elements a row
}

// C_reg = A B (+ C_reg, if add) for a stage: 64 rows of A from row `first` of the tile on.
template <int A_major, int B_major, int n>
__device__ __forceinline__ void multiply(float C_reg[n / 2], const struct stage_smem<n>* stage,
                                         int first, bool add) {
    // your code goes here (about 12 lines): descriptors; a wgmma for each 16 of k; commit
}

// The calling consumer has read a stage: one arrival at each block whose copies may fill it.
template <int cluster> __device__ __forceinline__ void free_stage(mbarrier* empty) {
    int thread = threadIdx.x % WARPGROUP;
    if (cluster == 1 && thread == 0) mbarrier_arrive(empty);
    if (cluster > 1 && thread < cluster) mbarrier_arrive_remote(empty, thread);
}

// ---- from sums to C

// Stores a warp's 16 rows of C, by way of its place in shared memory. TMA stores 16 bytes at a
// time, also over the end of a matrix's rows. So its map ends at a multiple of 8 columns, and the
// lanes store the columns behind.
template <int n>
__device__ __forceinline__ void store_rows(bf16 (*C_smem)[WARP_ROWS * PANEL],
                                           const float C_reg[n / 2], const struct product& p,
                                           int row0, int col0) {
    int lane = threadIdx.x % 32;
    if (lane == 0) bulk_wait_read<0>();  // the stores of the tile before have read C_smem
    __syncwarp();                        // ... before any lane writes there
    int row = lane % 16;                 // of the 8 elements whose address this lane gives
#pragma unroll
    for (int col = 0; col < n; col += 16) {
        const float* c = &C_reg[col / 2];
        unsigned word[4] = {pack_bf16(c[0], c[1]), pack_bf16(c[2], c[3]), pack_bf16(c[4], c[5]),
                            pack_bf16(c[6], c[7])};
        int piece = (col % PANEL / 8 + lane / 16) ^ row % 8;  // as TMA expects it
        stmatrix_x4(&C_smem[col / PANEL][row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    const int behind = p.N % 8, whole = p.N - behind;
    if (lane == 0 && whole > 0) {
        for (int panel = 0; panel < n / PANEL; panel++)
            tma_store_2d(&p.C, C_smem[panel], col0 + panel * PANEL, row0);
        bulk_commit();
    }
    if (behind == 0 || whole < col0 || whole >= col0 + n) return;
    // C[i][j], i = row0 + r, j = whole + e % behind
    for (int e = lane; e < WARP_ROWS * behind; e += 32) {
        int r = e / behind, j = e % behind, panel = (whole - col0) / PANEL;
        int piece = (whole - col0) % PANEL / 8 ^ r % 8;
        if (row0 + r < p.M)
            p.C_gpu[(row0 + r) * p.stride_C + whole + j] = C_smem[panel][r * PANEL + piece * 8 + j];
    }
}

// ---- GPU kernel

// Grid: as many clusters as run at a time, or one for each of their tiles if these are fewer. The
// majors say which index of A and B runs fastest in memory.
template <int A_major, int B_major, int n, int cluster>
__global__ void __launch_bounds__(THREADS, 1)
    hopper_matmul_kernel(const __grid_constant__ struct product p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    struct block_smem<n>& smem = *(struct block_smem<n>*)memory;
    const int STAGES = smem.STAGES;
    const int tiles = CEIL_DIV(p.M, BLOCK_M * cluster) * CEIL_DIV(p.N, n);
    const int clusters = gridDim.x / cluster;
    // The same number in all lanes, and the compiler knows it.
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0);

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&smem.full[s], 1);                     // the producer, and the bytes
            mbarrier_init(&smem.empty[s], CONSUMERS * cluster);  // a thread of each, of all blocks
        }
        fence_mbarrier_init();
    }
    __syncthreads();                  // the barriers are there before anybody uses them
    if (cluster > 1) cluster_sync();  // ... those of the other block, too
    griddep_launch();                 // blocks for the rows below may begin where these end

    int row0, col0;
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        // your code goes here (about 11 lines): for each tile, for each 64 of k: wait, ask, next stage
        return;
    }

    setmaxnreg_inc<CONSUMER_REGISTERS>();
    int consumer = warpgroup - 1, warp = threadIdx.x % WARPGROUP / 32;
    int first = consumer * CONSUMER_M;  // its rows of the tile
    float C_reg[n / 2] = {};
    // your code goes here (about 1 line): the stage, and the parity of its round through the ring
    for (int t = blockIdx.x / cluster; t < tiles; t += clusters) {
        // your code goes here (about 8 lines): for each 64 of k: wait, multiply, wait, free_stage()
        wgmma_hold<n / 2>(C_reg);
        place_tile<n, cluster>(&row0, &col0, t, p);
        store_rows<n>(smem.C[consumer * 4 + warp], C_reg, p, row0 + first + warp * WARP_ROWS, col0);
    }
    bulk_wait<0>();                   // shared memory must live until it is read
    if (cluster > 1) cluster_sync();  // ... and until the other block has arrived here
    griddep_wait();                   // who waits for these rows waits for those above, too
}

// ---- a map (hopper_tile.h)

// The map of a (rows, cols) matrix; TMA moves boxes of `box_rows` rows of a panel.
static int encode(CUtensorMap* map, const bf16* matrix, int64_t rows, int64_t cols, int64_t stride,
                  int box_rows) {
    const cuuint64_t sizes[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
    const cuuint64_t bytes[1] = {(cuuint64_t)stride * sizeof(bf16)};
    const cuuint32_t box[2] = {PANEL, (cuuint32_t)box_rows};
    return tensor_map_encode(map, matrix, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, sizes, bytes, box,
                             128);
}

// ---- launcher

static bool fits_tma(const bf16* matrix, int64_t stride) {
    return (uintptr_t)matrix % 16 == 0 && stride % 8 == 0 && stride < (int64_t)1 << 39;
}

// The matrices, or some rows of A and C, and the device.
struct operands {
    bf16* C;
    const bf16 *A, *B;
    int64_t stride_C, stride_A, stride_B;
    int M, N, K;
    int multiprocessors;
};

// Multiplies in tiles of n columns. `after`: it may begin before the kernel before it has ended.
template <int A_major, int B_major, int n, int cluster>
static int launch(const struct operands* of, bool after = false) {
    struct product p = {};
    p.C_gpu = of->C, p.stride_C = of->stride_C;
    p.M = of->M, p.N = of->N, p.K = of->K;
    if (encode(&p.C, of->C, p.M, p.N < 8 ? 8 : p.N / 8 * 8, of->stride_C, WARP_ROWS) ||
        (A_major == K_MAJOR ? encode(&p.A, of->A, p.M, p.K, of->stride_A, BLOCK_M)
                            : encode(&p.A, of->A, p.K, p.M, of->stride_A, BLOCK_K)) ||
        (B_major == K_MAJOR ? encode(&p.B, of->B, p.N, p.K, of->stride_B, PANEL)
                            : encode(&p.B, of->B, p.K, p.N, of->stride_B, BLOCK_K)))
        return COURSE_CUDA_ERROR;
    const int bytes = sizeof(struct block_smem<n>);
    COURSE_TRY(cudaFuncSetAttribute(hopper_matmul_kernel<A_major, B_major, n, cluster>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int tiles = CEIL_DIV(p.M, BLOCK_M * cluster) * CEIL_DIV(p.N, n);
    int clusters = of->multiprocessors / cluster;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config =
        overlapping(cluster * (tiles < clusters ? tiles : clusters), THREADS, bytes, &attribute);
    // Clusters of one block, too, cost 2 % (H200): they are asked for where there are two.
    if (cluster > 1) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {cluster, 1, 1};
    }
    config.numAttrs = cluster > 1 || after;
    COURSE_TRY(cudaLaunchKernelEx(&config, hopper_matmul_kernel<A_major, B_major, n, cluster>, p));
    return COURSE_OK;
}

// How long a tile of n columns takes, in columns of a wide one. Narrow tiles read more for each
// product; measured on an H200.
static int64_t time_of(int n) {
    return n == 256 ? 256 : n == 192 ? 197 : 148;
}

// How C is cut: so many rows of tiles are wide, the tiles of the rows below have n columns.
struct cut {
    int wide_rows;
    int n;
};

// How long that takes: README eq. 4.
static int64_t time_of_cut(const struct operands* of, struct cut cut) {
    const int64_t all = of->multiprocessors, rows = CEIL_DIV(of->M, BLOCK_M) - cut.wide_rows;
    const int64_t wide = (int64_t)cut.wide_rows * CEIL_DIV(of->N, 256);
    const int64_t below = rows * CEIL_DIV(of->N, cut.n), busy = wide % all;
    int64_t early = wide / all * time_of(256) + CEIL_DIV(below, all) * time_of(cut.n);
    int64_t late = CEIL_DIV(wide, all) * time_of(256);
    late += (below / all + (below % all > all - busy)) * time_of(cut.n);
    return early > late ? early : late;
}

// The shortest, with up to four waves of narrow tiles. A second kernel has to save a hundredth, or
// it is not worth its launch.
static struct cut best_cut(const struct operands* of) {
    const int rows = CEIL_DIV(of->M, BLOCK_M);
    struct cut best = {rows, 192};
    int64_t shortest = time_of_cut(of, best);
    for (int n = 192; n >= 128; n -= PANEL) {
        int most = 4 * of->multiprocessors / CEIL_DIV(of->N, n);
        for (int below = 1; below <= rows && below <= most; below++) {
            const struct cut other = {rows - below, n};
            int64_t time = time_of_cut(of, other);
            if (time * 100 <= shortest * 99) best = other, shortest = time;
        }
    }
    return best;
}

template <int A_major, int B_major>
static int launch_narrow(const struct operands* of, int n, bool after) {
    return n == 192 ? launch<A_major, B_major, 192, 1>(of, after)
                    : launch<A_major, B_major, 128, 1>(of, after);
}

template <int A_major, int B_major> static int launch_best(const struct operands* of) {
    // Rows of 64 elements that begin anywhere lie in two lines of 128 bytes each.
    bool two_lines = (uintptr_t)of->B % 128 != 0 || of->stride_B % PANEL != 0;
    int64_t tiles = (int64_t)CEIL_DIV(of->M, BLOCK_M) * CEIL_DIV(of->N, 128);
    if (two_lines && tiles > of->multiprocessors) return launch<A_major, B_major, 192, 2>(of);
    const struct cut cut = best_cut(of);
    const int64_t rows = (int64_t)cut.wide_rows * BLOCK_M;
    if (rows == 0) return launch_narrow<A_major, B_major>(of, cut.n, false);
    if (rows >= of->M) return launch<A_major, B_major, 256, 1>(of);
    struct operands above = *of, below = *of;
    above.M = rows;
    below.M -= rows;
    below.C += rows * of->stride_C;
    below.A += rows * (A_major == K_MAJOR ? of->stride_A : 1);
    int status = launch<A_major, B_major, 256, 1>(&above);
    return status ? status : launch_narrow<A_major, B_major>(&below, cut.n, true);
}

extern "C" int hopper_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K,
                             int64_t stride_C, int64_t stride_A, int64_t stride_B, int transpose_A,
                             int transpose_B) {
    const int limit = HOPPER_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if ((transpose_A & ~1) || (transpose_B & ~1)) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    int A_cols = transpose_A ? M : K;
    int B_cols = transpose_B ? K : N;
    if (C_gpu == NULL || stride_C < N) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL || stride_A < A_cols || stride_B < B_cols))
        return COURSE_BAD_ARGUMENT;
    if (!fits_tma(C_gpu, stride_C)) return COURSE_UNSUPPORTED;
    if (K > 0 && (!fits_tma(A_gpu, stride_A) || !fits_tma(B_gpu, stride_B)))
        return COURSE_UNSUPPORTED;
    int device, major, multiprocessors;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    COURSE_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    if (major != 9) return COURSE_UNSUPPORTED;
    if (K == 0) {  // no term: a map of an array without elements does not exist
        COURSE_TRY(cudaMemset2DAsync(C_gpu, stride_C * sizeof(bf16), 0, N * sizeof(bf16), M));
        return COURSE_OK;
    }

    const struct operands of = {C_gpu,    A_gpu, B_gpu, stride_C, stride_A,
                                stride_B, M,     N,     K,        multiprocessors};
    if (transpose_A)
        return transpose_B ? launch_best<MN_MAJOR, K_MAJOR>(&of)
                           : launch_best<MN_MAJOR, MN_MAJOR>(&of);
    return transpose_B ? launch_best<K_MAJOR, K_MAJOR>(&of) : launch_best<K_MAJOR, MN_MAJOR>(&of);
}
