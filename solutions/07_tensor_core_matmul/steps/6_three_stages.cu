// 6_three_stages.cu: a ring of three tiles, and blocks that run together share rows and columns.
// What was wrong with step 5: while a tile travelled, nobody multiplied. Here the next two are on
// their way meanwhile, one barrier a tile is enough, and the grid is walked in groups of rows of
// tiles, so that most copies come from the L2 cache. What is still wrong: each step begins with
// ldmatrix, and the first mma waits for it; after a barrier all warps wait so at once.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum {
    BLOCK_M = 128,  // a block's tile of C
    BLOCK_N = 256,
    BLOCK_K = 64,  // columns of a tile of A, rows of a tile of B
    WARP_M = 64,   // a warp's part of it: 128 sums in each lane
    WARP_N = 64,
    STEP = 16,  // K of one mma
    WARPS_N = BLOCK_N / WARP_N,
    THREADS = 32 * (BLOCK_M / WARP_M) * WARPS_N,
    PARTS = BLOCK_K / STEP,      // a tile is sent for in as many parts as it is multiplied in
    A_TILE = BLOCK_M * BLOCK_K,  // elements
    B_TILE = BLOCK_K * BLOCK_N,
    PIECE = 8,  // elements in 16 bytes: what cp.async copies and a row of ldmatrix has
    GROUP = 8,  // rows of tiles of C that are worked on together
};

// ---- device helpers

// Where element (row, col) of a tile of rows of `width` elements is stored; col is a multiple of
// PIECE, width of 8 pieces. Eight pieces fill the 32 banks once. (README eq. 3)
__device__ __forceinline__ int place(int row, int col, int width) {
    int piece = col / PIECE;
    piece ^= row & 7;
    return row * width + piece * PIECE;
}

// tile[r][c] = matrix[row0 + r][col0 + c] for rows x cols elements; 0 outside the matrix, which has
// n_rows x n_cols. All threads of the block take part. unit: how many elements at a time, PIECE or
// 1.
template <int unit, int rows, int cols>
__device__ __forceinline__ void send_for(bf16* tile, const bf16* matrix, int row0, int col0,
                                         int n_rows, int n_cols) {
#pragma unroll(unit == PIECE ? PIECE : 4)  // single elements: more addresses do not fit
    for (int i = 0; i < rows * cols / (THREADS * unit); i++) {
        int e = (i * THREADS + threadIdx.x) * unit;  // neighbouring threads: neighbours in a row
        int r = e / cols, c = e % cols;              // [0, rows), [0, cols)
        int row = row0 + r, col = col0 + c;
        bool inside = row < n_rows && col < n_cols;
        const bf16* from = matrix + (int64_t)row * n_cols + col;
        if (unit == PIECE) {
            cp_async16_zfill(tile + place(r, c, cols), from, inside ? 16 : 0);
        } else {
            // There is no cp.async of 2 bytes.
            bf16* to = tile + place(r, c, cols) + c % PIECE;
            *to = inside ? *from : __float2bfloat16(0.0f);
        }
    }
}

// Part `part` of the tiles of A and B that begin at column, and row, k0: 1 / PARTS of their rows
// each.
template <int unit>
__device__ __forceinline__ void send_for_part(bf16* stage, const bf16* A, const bf16* B, int row0,
                                              int col0, int k0, int part, int M, int N, int K) {
    const int A_rows = BLOCK_M / PARTS, B_rows = BLOCK_K / PARTS;  // whole eights: see place()
    bf16 *A_smem = stage, *B_smem = stage + A_TILE;
    send_for<unit, A_rows, BLOCK_K>(A_smem + part * A_rows * BLOCK_K, A, row0 + part * A_rows, k0,
                                    M, K);
    send_for<unit, B_rows, BLOCK_N>(B_smem + part * B_rows * BLOCK_N, B, k0 + part * B_rows, col0,
                                    K, N);
}

// The warp's operands of step k (a multiple of STEP in [0, BLOCK_K)): its WARP_M rows of the tile
// of A as blocks of 16 x 16, its WARP_N columns of the tile of B as pairs of blocks of 16 x 8.
__device__ __forceinline__ void load_fragments(unsigned A_reg[WARP_M / 16][4],
                                               unsigned B_reg[WARP_N / 16][4], const bf16* stage,
                                               int warp_row, int warp_col, int k) {
    const bf16 *A_smem = stage, *B_smem = stage + A_TILE;
    int lane = threadIdx.x % 32;
    int row = lane % 16, col = lane / 16 * 8;  // of the 8 elements whose address this lane gives
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
        ldmatrix_x4(A_reg[i], A_smem + place(warp_row + i * 16 + row, k + col, BLOCK_K));
#pragma unroll
    for (int j = 0; j < WARP_N / 16; j++)
        ldmatrix_x4_trans(B_reg[j], B_smem + place(k + row, warp_col + j * 16 + col, BLOCK_N));
}

// C += A B for the warp                    (README eq. 2)
__device__ __forceinline__ void multiply(float C_reg[WARP_M / 16][WARP_N / 8][4],
                                         const unsigned A_reg[WARP_M / 16][4],
                                         const unsigned B_reg[WARP_N / 16][4]) {
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            mma_m16n8k16_bf16(C_reg[i][j], A_reg[i], &B_reg[j / 2][j % 2 * 2]);
}

// Stores a block of 16 x 8 sums at (row0, col0) of C: each lane its share, see mma_m16n8k16_bf16().
template <int unit>
__device__ __forceinline__ void store_block(bf16* C, const float C_reg[4], int row0, int col0,
                                            int M, int N) {
    int lane = threadIdx.x % 32;
    int col = col0 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = row0 + lane / 4 + 8 * i;
        if (row >= M || col >= N) continue;
        bf16* to = C + (int64_t)row * N + col;
        float left = C_reg[2 * i], right = C_reg[2 * i + 1];
        if (unit == PIECE) {
            *(__nv_bfloat162*)to = __floats2bfloat162_rn(left, right);
        } else {
            to[0] = __float2bfloat16(left);
            if (col + 1 < N) to[1] = __float2bfloat16(right);
        }
    }
}

// ---- GPU kernel

// One block per tile of C, counted in one dimension. unit: what the rows of A and B are aligned to,
// in elements, PIECE or 1. stages: tiles of A and B in shared memory, 2 or more.
template <int unit, int stages>
__global__ void __launch_bounds__(THREADS, 1)
    tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                              const bf16* __restrict__ A,  // (M, K)
                              const bf16* __restrict__ B,  // (K, N)
                              int M, int N, int K) {
    extern __shared__ __align__(128) bf16 smem[];  // (stages, A_TILE + B_TILE)

    // Tiles of C are counted in groups of GROUP rows, down first: blocks that run at the same time
    // share few rows of tiles of A and columns of tiles of B, in the L2 cache.
    int group_tiles = GROUP * CEIL_DIV(N, BLOCK_N);
    int first_tile_row = blockIdx.x / group_tiles * GROUP;
    int tile_rows = min(GROUP, CEIL_DIV(M, BLOCK_M) - first_tile_row);  // the last group has fewer
    int t = blockIdx.x % group_tiles;
    int row0 = (first_tile_row + t % tile_rows) * BLOCK_M;  // [0, M)
    int col0 = t / tile_rows * BLOCK_N;                     // [0, N)

    int warp = threadIdx.x / 32;
    int warp_row = warp / WARPS_N * WARP_M;  // in the tile: [0, BLOCK_M)
    int warp_col = warp % WARPS_N * WARP_N;  // [0, BLOCK_N)
    float C_reg[WARP_M / 16][WARP_N / 8][4] = {};

    // Tile t is kept in stage t % stages and sent for stages - 1 rounds before it is multiplied:
    // the first ones now. A group for each, also for a tile that lies beyond K and becomes zeros.
    for (int tile = 0; tile < stages - 1; tile++) {
        bf16* stage = smem + tile * (A_TILE + B_TILE);
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            send_for_part<unit>(stage, A, B, row0, col0, tile * BLOCK_K, part, M, N, K);
        cp_async_commit();
    }

    // C = sum over the tiles of A_tile B_tile      (README eq. 2)
    for (int tile = 0; tile < CEIL_DIV(K, BLOCK_K); tile++) {
        cp_async_wait<stages - 2>();  // this thread's copies for this tile are there
        __syncthreads();  // those of all threads -> read below; the last tile read -> overwritten
        int next = tile + stages - 1;
        const bf16* stage = smem + tile % stages * (A_TILE + B_TILE);
        bf16* next_stage = smem + next % stages * (A_TILE + B_TILE);
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            unsigned A_reg[WARP_M / 16][4], B_reg[WARP_N / 16][4];
            load_fragments(A_reg, B_reg, stage, warp_row, warp_col, part * STEP);
            send_for_part<unit>(next_stage, A, B, row0, col0, next * BLOCK_K, part, M, N, K);
            multiply(C_reg, A_reg, B_reg);
        }
        cp_async_commit();
    }

#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            store_block<unit>(C, C_reg[i][j], row0 + warp_row + i * 16, col0 + warp_col + j * 8, M,
                              N);
}

// ---- launcher

typedef void kernel(bf16*, const bf16*, const bf16*, int, int, int);

static bool is_aligned(const void* p) {
    return (uintptr_t)p % 16 == 0;
}

extern "C" int tensor_core_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N,
                                  int K) {
    const int limit = TENSOR_CORE_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    bool pieces = N % PIECE == 0 && K % PIECE == 0 && is_aligned(A_gpu) && is_aligned(B_gpu) &&
                  is_aligned(C_gpu);
    // Three stages, or two where a block cannot have more than 99 KB.
    int device, room;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const int stage_bytes = (A_TILE + B_TILE) * (int)sizeof(bf16);
    int stages = pieces && room >= 3 * stage_bytes ? 3 : 2;
    kernel* f = stages == 3 ? tensor_core_matmul_kernel<PIECE, 3>
                : pieces    ? tensor_core_matmul_kernel<PIECE, 2>
                            : tensor_core_matmul_kernel<1, 2>;
    COURSE_TRY(
        cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, stages * stage_bytes));
    f<<<CEIL_DIV(M, BLOCK_M) * CEIL_DIV(N, BLOCK_N), THREADS, stages * stage_bytes>>>(
        C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
