// from lesson 08: matmul_tile.h: a block's tile of A B^T in bf16, by tensor cores.
//
// Lesson 07's product with its ring of stages, for a B that is stored as (N, K), as the weights of
// a layer are. A and B have rows of whole pieces, at multiples of 16 bytes. A kernel calls, in this
// order: pick_tile(), multiply_tile(), and for every 16 of its warp's rows put_sums(),
// __syncwarp(), float4 loads of the sums, and __syncwarp() before the next put_sums().
#ifndef COURSE_MATMUL_TILE_H
#define COURSE_MATMUL_TILE_H

#include "swizzle.h"

// The sizes of a kernel, which are known when compiling. A block's tile of the result, and a warp's
// part of it.
template <int block_m, int block_n, int warp_m, int warp_n> struct matmul_tile {
    enum {
        BLOCK_M = block_m,
        BLOCK_N = block_n,
        BLOCK_K = 64,  // columns of a tile of A or B
        WARP_M = warp_m,
        WARP_N = warp_n,
        STEP = 16,               // K of one mma
        PARTS = BLOCK_K / STEP,  // a tile is sent for in as many parts as it is multiplied in
        WARPS_N = BLOCK_N / WARP_N,
        WARPS = BLOCK_M / WARP_M * WARPS_N,
        THREADS = 32 * WARPS,
        A_TILE = BLOCK_M * BLOCK_K,  // elements
        B_TILE = BLOCK_N * BLOCK_K,
        STAGE_BYTES = (A_TILE + B_TILE) * 2,
        SUMS_ROW = WARP_N + 8,  // floats from one row of sums in shared memory to the next
        GROUP = 8,              // rows of tiles that are worked on together
    };
    static_assert(PARTS % 2 == 0, "every tile begins with the same set of registers");
    static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "blocks of 16 x 8 sums, in pairs");
    static_assert(WARPS * 16 * SUMS_ROW * 4 <= 2 * STAGE_BYTES,
                  "sums take the place of two stages");
};

// Which tile this block works on: it begins at (*row0, *col0) of the M x N results. Tiles are
// counted in one dimension, in groups of GROUP rows of tiles, down first: blocks that run at the
// same time share few rows of tiles of A and B, in the L2 cache (lesson 07).
template <class T> __device__ __forceinline__ void pick_tile(int* row0, int* col0, int M, int N) {
    int group_tiles = T::GROUP * CEIL_DIV(N, T::BLOCK_N);
    int first_tile_row = blockIdx.x / group_tiles * T::GROUP;
    int tile_rows = min((int)T::GROUP, CEIL_DIV(M, T::BLOCK_M) - first_tile_row);
    int t = blockIdx.x % group_tiles;
    *row0 = (first_tile_row + t % tile_rows) * T::BLOCK_M;  // [0, M)
    *col0 = t / tile_rows * T::BLOCK_N;                     // [0, N)
}

// Starts to copy tile[r][c] = matrix[row0 + r][k0 + c] for `rows` rows of BLOCK_K elements; 0
// outside the matrix, which is (n_rows, K). All threads take part; each waits for its own copies.
template <class T, int rows>
__device__ __forceinline__ void send_rows(bf16* tile, const bf16* matrix, int row0, int k0,
                                          int n_rows, int K) {
    const int ROWS_AT_ONCE = T::THREADS * PIECE / T::BLOCK_K;
    static_assert(rows % ROWS_AT_ONCE == 0, "threads do as much");
    int r = threadIdx.x / (T::BLOCK_K / PIECE), c = threadIdx.x % (T::BLOCK_K / PIECE) * PIECE;
    bf16* to = &tile[swizzled<T::BLOCK_K>(r, c)];
    const bf16* from = matrix + (int64_t)(row0 + r) * K + k0 + c;
    int left = k0 + c < K ? n_rows - row0 - r : 0;  // rows of the matrix from here on
#pragma unroll
    for (int i = 0; i < rows; i += ROWS_AT_ONCE)
        cp_async16_zfill(to + i * T::BLOCK_K, from + (int64_t)i * K, i < left ? 16 : 0);
}

// Part `part` of the tiles of A and B that begin at column k0: 1 / PARTS of their rows.
template <class T>
__device__ __forceinline__ void send_part(bf16* stage, const bf16* A, const bf16* B, int row0,
                                          int col0, int k0, int part, int M, int N, int K) {
    const int A_rows = T::BLOCK_M / T::PARTS, B_rows = T::BLOCK_N / T::PARTS;  // whole eights
    send_rows<T, A_rows>(stage + part * A_rows * T::BLOCK_K, A, row0 + part * A_rows, k0, M, K);
    send_rows<T, B_rows>(stage + T::A_TILE + part * B_rows * T::BLOCK_K, B, col0 + part * B_rows,
                         k0, N, K);
}

// The warp's operands of step k, a multiple of STEP in [0, BLOCK_K): its rows of the tile of A as
// blocks of 16 x 16, its rows of the tile of B as pairs of blocks of 8 x 16. A_at, B_at: where this
// lane's piece of the first block of step 0 is in the tile; see swizzled() for those of others.
template <class T>
__device__ __forceinline__ void load_step(unsigned A_reg[T::WARP_M / 16][4],
                                          unsigned B_reg[T::WARP_N / 16][4], const bf16* stage,
                                          int A_at, int B_at, int k) {
#pragma unroll
    for (int i = 0; i < T::WARP_M / 16; i++)
        ldmatrix_x4(A_reg[i], stage + (A_at ^ k) + i * 16 * T::BLOCK_K);
#pragma unroll
    for (int j = 0; j < T::WARP_N / 16; j++)
        ldmatrix_x4(B_reg[j], stage + T::A_TILE + (B_at ^ k) + j * 16 * T::BLOCK_K);
}

// sums += A B^T for the tile of the block that begins at (row0, col0): the warp's part, in the
// layout of mma.sync. smem: stages * STAGE_BYTES, stages 2 or more. When it returns, all threads of
// the block have done with smem.
template <class T, int stages>
__device__ __forceinline__ void multiply_tile(float sums[T::WARP_M / 16][T::WARP_N / 8][4],
                                              bf16* smem,     // (stages, A_TILE + B_TILE)
                                              const bf16* A,  // (M, K)
                                              const bf16* B,  // (N, K)
                                              int row0, int col0, int M, int N, int K) {
    const int STAGE = T::A_TILE + T::B_TILE;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int A_row = warp / T::WARPS_N * T::WARP_M + lane % 16;                 // [0, BLOCK_M)
    int B_row = warp % T::WARPS_N * T::WARP_N + lane % 8 + lane / 16 * 8;  // [0, BLOCK_N)
    int A_at = swizzled<T::BLOCK_K>(A_row, lane / 16 * 8);  // ptx.h, at ldmatrix_x4(), has both
    int B_at = swizzled<T::BLOCK_K>(B_row, lane / 8 % 2 * 8);

    for (int tile = 0; tile < stages - 1; tile++) {
#pragma unroll
        for (int part = 0; part < T::PARTS; part++)
            send_part<T>(smem + tile * STAGE, A, B, row0, col0, tile * T::BLOCK_K, part, M, N, K);
        cp_async_commit();
    }
    unsigned A_reg[2][T::WARP_M / 16][4], B_reg[2][T::WARP_N / 16][4];  // of even and odd steps
    cp_async_wait<stages - 2>();  // this thread's copies for the first tile are there
    __syncthreads();              // those of all threads -> read below
    load_step<T>(A_reg[0], B_reg[0], smem, A_at, B_at, 0);

    // C = sum over the tiles of A_tile B_tile^T
    // C[i][j] = sum_k A[i][k] * B[j][k]
    for (int tile = 0; tile < CEIL_DIV(K, T::BLOCK_K); tile++) {
        int next = tile + stages - 1;  // to send for
        const bf16* stage = smem + tile % stages * STAGE;
        const bf16* following = smem + (tile + 1) % stages * STAGE;
#pragma unroll
        for (int part = 0; part < T::PARTS; part++) {
            int ahead = (part + 1) % T::PARTS;  // to load; in the last part, of the following tile
            send_part<T>(smem + next % stages * STAGE, A, B, row0, col0, next * T::BLOCK_K, part, M,
                         N, K);
            if (ahead == 0) {
                cp_async_commit();
                cp_async_wait<stages - 2>();  // this thread's copies for the following tile
                __syncthreads();  // those of all -> read below; this tile read -> overwritten
            }
            load_step<T>(A_reg[ahead % 2], B_reg[ahead % 2], ahead == 0 ? following : stage, A_at,
                         B_at, ahead * T::STEP);
#pragma unroll
            for (int i = 0; i < T::WARP_M / 16; i++)
#pragma unroll
                for (int j = 0; j < T::WARP_N / 8; j++)
                    mma_m16n8k16_bf16(sums[i][j], A_reg[part % 2][i],
                                      &B_reg[part % 2][j / 2][j % 2 * 2]);
        }
    }
    cp_async_wait_all();  // zeros for the tiles beyond K, which nobody multiplied
    __syncthreads();      // the zeros are written, the last stage read -> smem is free
}

// Writes 16 rows of the warp's sums to the warp's own part of shared memory, row by row: after a
// __syncwarp() any lane may read any of them. Rows are 8 floats longer than they need be: the 8
// rows that lanes write together lie in different banks. A float4 at a multiple of 4 is aligned.
template <class T>
__device__ __forceinline__ void put_sums(float* rows,  // (16, SUMS_ROW)
                                         const float block[T::WARP_N / 8][4]) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < T::WARP_N / 8; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float* to = &rows[(lane / 4 + 8 * half) * T::SUMS_ROW + j * 8 + lane % 4 * 2];
            *(float2*)to = make_float2(block[j][2 * half], block[j][2 * half + 1]);
        }
}

// 3 or 2: how many stages a block has room for on this GPU. 0: the runtime refused to say.
template <class T> static inline int stages_that_fit() {
    int device, room;
    if (cudaGetDevice(&device) != cudaSuccess) return 0;
    if (cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
        cudaSuccess)
        return 0;
    return room >= 3 * T::STAGE_BYTES ? 3 : 2;
}

#endif
