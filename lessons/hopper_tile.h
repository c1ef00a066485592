// from lesson 25: hopper_tile.h: sums of a tile of A B by a ring of stages, TMA and wgmma.
//
// Lesson 24 asked for it: `make exercises` cuts it from that solution. A kernel has three
// warpgroups: one thread of the first calls load_stage(), the two others multiply() and
// free_stage(), and what they do with their sums is the kernel's own.
// solutions/24_hopper_matmul/layer is one.
// Nothing below the next line is edited here.
#ifndef COURSE_HOPPER_TILE_H
#define COURSE_HOPPER_TILE_H

#include <cuda_bf16.h>

#include "course.h"
#include "hopper.h"

// ---- from solutions/24_hopper_matmul/hopper_matmul.cu ----------------------------------------

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
    mbarrier_arrive_expect(full, sizeof(struct stage_smem<n>));
    if (A_major == K_MAJOR) {  // a row of the matrix has BLOCK_K elements of the tile: one panel
        tma_load_2d(stage->A, &p.A, full, L2_EVICT_NORMAL, k0, row0);
    } else {
        for (int i = 0; i < BLOCK_M; i += PANEL)
            tma_load_2d(stage->A + i * BLOCK_K, &p.A, full, L2_EVICT_NORMAL, row0 + i, k0);
    }
    for (int j = 0; j < n; j += PANEL)  // a box each; its panel has rows of k, or of columns
        load_B<cluster>(stage->B + j * BLOCK_K, full, p, j / PANEL,
                        B_major == K_MAJOR ? k0 : col0 + j, B_major == K_MAJOR ? col0 + j : k0);
}

// C_reg = A B (+ C_reg, if add) for a stage: 64 rows of A from row `first` of the tile on.
template <int A_major, int B_major, int n>
__device__ __forceinline__ void multiply(float C_reg[n / 2], const struct stage_smem<n>* stage,
                                         int first, bool add) {
    // 16 more of k: 32 bytes further in each row, or 16 rows of 128 bytes further. In 16 bytes.
    const int A_step = A_major == K_MAJOR ? STEP * 2 / 16 : STEP * 128 / 16;
    const int B_step = B_major == K_MAJOR ? STEP * 2 / 16 : STEP * 128 / 16;
    unsigned A = wgmma_descriptor(stage->A + first * BLOCK_K, 0);
    unsigned B = wgmma_descriptor(stage->B, PANEL * BLOCK_K * sizeof(bf16));
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < BLOCK_K / STEP; i++)
        wgmma_bf16<n, A_major, B_major>(C_reg, A + i * A_step, B + i * B_step, add || i > 0);
    wgmma_commit();
}

// The calling consumer has read a stage: one arrival at each block whose copies may fill it.
template <int cluster> __device__ __forceinline__ void free_stage(mbarrier* empty) {
    int thread = threadIdx.x % WARPGROUP;
    if (cluster == 1 && thread == 0) mbarrier_arrive(empty);
    if (cluster > 1 && thread < cluster) mbarrier_arrive_remote(empty, thread);
}

// The map of a (rows, cols) matrix; TMA moves boxes of `box_rows` rows of a panel.
static int encode(CUtensorMap* map, const bf16* matrix, int64_t rows, int64_t cols, int64_t stride,
                  int box_rows) {
    const cuuint64_t sizes[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
    const cuuint64_t bytes[1] = {(cuuint64_t)stride * sizeof(bf16)};
    const cuuint32_t box[2] = {PANEL, (cuuint32_t)box_rows};
    return tensor_map_encode(map, matrix, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, sizes, bytes, box,
                             128);
}

#endif
