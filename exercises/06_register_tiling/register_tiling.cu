// register_tiling.cu: C = A B in fp32, each thread computing 8 x 8 elements of C in its registers.
//
// A block owns a tile of C and walks along K (lesson 05). New here: a thread owns 64 sums instead
// of one, and 16 numbers from shared memory serve 64 multiplications. While it makes them, the next
// numbers are on their way, on both legs of the way:
//
//     global memory  --float4-->  registers  -->  two buffers in  --float4-->  registers  -->  sums
//                      tile + 1                   shared memory     k + 1                      k
//
// The versions on the way, in steps/:
//     1_one_sum_each.cu    lesson 05: two numbers from shared memory for each multiplication
//     2_eight_by_eight.cu  64 sums a thread; still: one number at a time
//     3_four_at_a_time.cu  float4 everywhere; still: fetch, wait, multiply, wait
//
//     make grade LESSON=06
#include "register_tiling.h"

enum {
    BLOCK_M = 128,  // a block's tile of C
    BLOCK_N = 128,
    BLOCK_K = 16,  // columns of a tile of A, rows of a tile of B: even
    THREAD_M = 8,  // a thread's rows and columns of the tile: float4s that lie apart
    THREAD_N = 8,
    LANES_M = 4,  // lanes of a warp, down and across
    LANES_N = 8,
    WARP_M = LANES_M * THREAD_M,  // a warp's part of the tile
    WARP_N = LANES_N * THREAD_N,
    WARPS_N = BLOCK_N / WARP_N,
    THREADS = 32 * (BLOCK_M / WARP_M) * WARPS_N,
    A_THREADS_PER_ROW = BLOCK_K / 4,  // that load a row of A's tile, a float4 each
    B_THREADS_PER_ROW = BLOCK_N / 4,
    A_ROWS_PER_LOAD = THREADS / A_THREADS_PER_ROW,  // that all threads load together
    B_ROWS_PER_LOAD = THREADS / B_THREADS_PER_ROW,
    A_LOADS_PER_THREAD = BLOCK_M / A_ROWS_PER_LOAD,  // float4s of a tile
    B_LOADS_PER_THREAD = BLOCK_K / B_ROWS_PER_LOAD,
    PAD = 4,    // columns behind each row of A_smem: put_A() then meets half the bank conflicts
    GROUP = 8,  // rows of tiles of C that are worked on together
};

// ---- device helpers

// Four floats in one instruction. In memory they begin at a multiple of 16 bytes.
__device__ __forceinline__ void load4(float to[4], const float* from) {
    float4 v = *(const float4*)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

__device__ __forceinline__ void store4(float* to, const float from[4]) {
    *(float4*)to = make_float4(from[0], from[1], from[2], from[3]);
}

// from[0 .. 3]: part of a row of a matrix, if that row exists, with `left` elements from there on.
// Outside of the matrix there are zeros, chosen and not multiplied in: 0 * NaN is NaN. vector: from
// is aligned to 16 bytes, and left a multiple of 4.
template <bool vector>
__device__ __forceinline__ float4 fetch4(const float* from, bool exists, int left) {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (vector) {
        if (exists && left > 0) v = *(const float4*)from;
    } else if (exists) {
        if (left > 0) v.x = from[0];
        if (left > 1) v.y = from[1];
        if (left > 2) v.z = from[2];
        if (left > 3) v.w = from[3];
    }
    return v;
}

// A thread's share of a tile: `loads` float4s one below the other, `rows_per_load` rows apart. The
// first begins at `from`, in row `row` of n_rows; there and in the rows below, `left` elements are
// left.
template <bool vector, int loads, int rows_per_load>
__device__ __forceinline__ void fetch(float4 share[loads], const float* from, int64_t stride,
                                      int row, int n_rows, int left) {
#pragma unroll
    for (int i = 0; i < loads; i++)
        share[i] = fetch4<vector>(from + i * rows_per_load * stride,
                                  row + i * rows_per_load < n_rows, left);
}

// A_smem[k][row] = A_tile[row][k], for what fetch() fetched from (row, k) on: transposed, so that
// what the step k needs lies side by side.
__device__ __forceinline__ void put_A(float A_smem[BLOCK_K][BLOCK_M + PAD],
                                      const float4 share[A_LOADS_PER_THREAD], int row, int k) {
    // your code goes here (about 6 lines): store the elements of each float4, A_ROWS_PER_LOAD rows apart
}

// B_smem[k][col] = B_tile[k][col], for what fetch() fetched from (k, col) on.
__device__ __forceinline__ void put_B(float B_smem[BLOCK_K][BLOCK_N],
                                      const float4 share[B_LOADS_PER_THREAD], int k, int col) {
#pragma unroll
    for (int i = 0; i < B_LOADS_PER_THREAD; i++)
        *(float4*)&B_smem[k + i * B_ROWS_PER_LOAD][col] = share[i];
}

// The thread's operands of a step k: of A_smem[k] the rows y + 0 .. 3, of B_smem[k] the columns x +
// 0 .. 3; then the float4 that begins 4 LANES_M rows, or 4 LANES_N columns, further on; and so on.
__device__ __forceinline__ void load_step(float A_reg[THREAD_M], float B_reg[THREAD_N],
                                          const float A_row[BLOCK_M + PAD],
                                          const float B_row[BLOCK_N], int y, int x) {
    // your code goes here (about 4 lines): load4() each float4
}

// C += A[:][k] B[k][:]                     (README eq. 2)
// C_reg[i][j] += A_reg[i] * B_reg[j]
__device__ __forceinline__ void multiply(float C_reg[THREAD_M][THREAD_N],
                                         const float A_reg[THREAD_M], const float B_reg[THREAD_N]) {
    // your code goes here (about 6 lines): the outer product of a column of A and a row of B
}

// Stores the thread's sums; (row, col) is where the first one belongs.
template <bool vector>
__device__ __forceinline__ void store_sums(float* C, const float C_reg[THREAD_M][THREAD_N], int row,
                                           int col, int M, int N, int64_t stride_C) {
#pragma unroll
    for (int i = 0; i < THREAD_M; i++) {
        int r = row + i / 4 * 4 * LANES_M + i % 4;
#pragma unroll
        for (int j = 0; j < THREAD_N; j += 4) {
            int c = col + j * LANES_N;
            float* to = C + r * stride_C + c;
            if (vector) {
                if (r < M && c < N) store4(to, &C_reg[i][j]);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (r < M && c + e < N) to[e] = C_reg[i][j + e];
            }
        }
    }
}

// ---- GPU kernel

// One block per tile of C, counted in one dimension.
template <bool vector>
__global__ void __launch_bounds__(THREADS, vector ? 2 : 1)
    register_tiling_kernel(float* __restrict__ C,        // (M, N)  out
                           const float* __restrict__ A,  // (M, K)
                           const float* __restrict__ B,  // (K, N)
                           int M, int N, int K, int64_t stride_C, int64_t stride_A,
                           int64_t stride_B) {
    __shared__ __align__(16) float A_smem[2][BLOCK_K][BLOCK_M + PAD];
    __shared__ __align__(16) float B_smem[2][BLOCK_K][BLOCK_N];

    // Tiles of C are counted in groups of GROUP rows, down first: blocks that run at the same time
    // share few rows of tiles of A and columns of tiles of B, in the L2 cache.
    int group_tiles = GROUP * CEIL_DIV(N, BLOCK_N);
    int first_tile_row = blockIdx.x / group_tiles * GROUP;
    int tile_rows = min(GROUP, CEIL_DIV(M, BLOCK_M) - first_tile_row);  // the last group has fewer
    int t = blockIdx.x % group_tiles;
    int row0 = (first_tile_row + t % tile_rows) * BLOCK_M;  // [0, M)
    int col0 = t / tile_rows * BLOCK_N;                     // [0, N)

    // Where the thread's sums begin in the tile. Lanes 2n and 2n + 1 want the same columns of B,
    // lanes n and n + 2 the same rows of A: loads of 16 bytes a lane then take half the time
    // (README).
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int y = warp / WARPS_N * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    int x = warp % WARPS_N * WARP_N + lane % 16 / 2 * 4;
    // Where its shares of the tiles of A and B begin.
    int A_row = thread / A_THREADS_PER_ROW, A_k = thread % A_THREADS_PER_ROW * 4;
    int B_k = thread / B_THREADS_PER_ROW, B_col = thread % B_THREADS_PER_ROW * 4;
    const float* A_from = A + (row0 + A_row) * stride_A + A_k;
    const float* B_from = B + B_k * stride_B + col0 + B_col;

    float C_reg[THREAD_M][THREAD_N] = {};
    float4 A_share[A_LOADS_PER_THREAD], B_share[B_LOADS_PER_THREAD];
    fetch<vector, A_LOADS_PER_THREAD, A_ROWS_PER_LOAD>(A_share, A_from, stride_A, row0 + A_row, M,
                                                       K - A_k);
    fetch<vector, B_LOADS_PER_THREAD, B_ROWS_PER_LOAD>(B_share, B_from, stride_B, B_k, K,
                                                       N - col0 - B_col);
    A_from += BLOCK_K;
    B_from += BLOCK_K * stride_B;
    put_A(A_smem[0], A_share, A_row, A_k);
    put_B(B_smem[0], B_share, B_k, B_col);
    __syncthreads();  // the first tiles are written -> read below

    // C = sum over the tiles of A_tile B_tile      (README eq. 3)
    // your code goes here (about 22 lines): a tile: fetch the next, multiply in BLOCK_K steps, put, wait

    store_sums<vector>(C, C_reg, row0 + y, col0 + x, M, N, stride_C);
}

// ---- launcher

extern "C" int register_tiling(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                               int K, int64_t stride_C, int64_t stride_A, int64_t stride_B) {
    const int limit = REGISTER_TILING_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (stride_C < N || stride_A < K || stride_B < N) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    // Does every float4 begin at a multiple of 16 bytes, and lie within its row or outside?
    bool whole = N % 4 == 0 && K % 4 == 0 && (stride_C | stride_A | stride_B) % 4 == 0;
    bool aligned = ((uintptr_t)C_gpu | (uintptr_t)A_gpu | (uintptr_t)B_gpu) % 16 == 0;
    int blocks = CEIL_DIV(M, BLOCK_M) * CEIL_DIV(N, BLOCK_N);
    if (whole && aligned)
        register_tiling_kernel<true>
            <<<blocks, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    else
        register_tiling_kernel<false>
            <<<blocks, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
