// Tiles from the last to the first: the ragged one comes before the others. Two buffers, sums of 32
// x 64 in each of four warps, tiles of 32 along K, rows of 64 bytes: two rows share the 128 bytes
// of the banks, so the exchange of pieces changes with every second row. Copies of 4 bytes where
// rows of even length allow no more.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum {
    BLOCK_M = 64,
    BLOCK_N = 128,
    BLOCK_K = 32,
    WARP_M = 32,
    WARP_N = 64,
    THREADS = 128,
    A_TILE = BLOCK_M * BLOCK_K,
    B_TILE = BLOCK_K * BLOCK_N,
};

// ---- device helpers

// Where element (row, col) of a tile with rows of `width` elements is stored.
__device__ __forceinline__ int place(int row, int col, int width) {
    int piece = col / 8;
    piece ^= width >= 64 ? row & 7 : row / 2 & 3;
    return row * width + piece * 8 + col % 8;
}

// tile[r][c] = matrix[row0 + r][col0 + c] for rows x cols elements; 0 outside the matrix, which has
// n_rows x n_cols. unit: how many elements at a time: 8, 2 or 1.
template <int unit, int rows, int cols>
__device__ __forceinline__ void send_for(bf16* tile, const bf16* matrix, int row0, int col0,
                                         int n_rows, int n_cols) {
    for (int e = threadIdx.x * unit; e < rows * cols; e += THREADS * unit) {
        int r = e / cols, c = e % cols;
        bool inside = row0 + r < n_rows && col0 + c < n_cols;
        const bf16* from = inside ? matrix + (int64_t)(row0 + r) * n_cols + col0 + c : matrix;
        bf16* to = tile + place(r, c, cols);
        if (unit == 8)
            cp_async16_zfill(to, from, inside ? 16 : 0);
        else if (unit == 2)
            cp_async4_zfill(to, from, inside ? 4 : 0);
        else
            *to = inside ? *from : __float2bfloat16(0.0f);
    }
}

// ---- GPU kernel

// Grid (tiles of BLOCK_N columns, tiles of BLOCK_M rows). unit: what rows are aligned to, in
// elements.
template <int unit>
__global__ void __launch_bounds__(THREADS)
    tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                              const bf16* __restrict__ A,  // (M, K)
                              const bf16* __restrict__ B,  // (K, N)
                              int M, int N, int K) {
    __shared__ __align__(128) bf16 A_smem[2][A_TILE];
    __shared__ __align__(128) bf16 B_smem[2][B_TILE];
    int row0 = blockIdx.y * BLOCK_M, col0 = blockIdx.x * BLOCK_N;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / 2 * WARP_M, warp_col = warp % 2 * WARP_N;
    float C_reg[WARP_M / 16][WARP_N / 8][4] = {};

    // C = sum over the tiles of A_tile B_tile      (README eq. 2)
    // Round t sends for tile t - 1 and multiplies tile t.
    int tiles = CEIL_DIV(K, BLOCK_K);
    for (int tile = tiles; tile >= 0; tile--) {
        __syncthreads();  // the buffer of tile - 1 was read as that of tile + 1 -> overwritten
        if (tile > 0) {
            send_for<unit, BLOCK_M, BLOCK_K>(A_smem[(tile - 1) % 2], A, row0, (tile - 1) * BLOCK_K,
                                             M, K);
            send_for<unit, BLOCK_K, BLOCK_N>(B_smem[(tile - 1) % 2], B, (tile - 1) * BLOCK_K, col0,
                                             K, N);
        }
        cp_async_commit();
        if (tile == tiles) continue;
        cp_async_wait<1>();
        __syncthreads();  // all copies for this tile -> read
        for (int k = 0; k < BLOCK_K; k += 16) {
            unsigned A_reg[WARP_M / 16][4];
            int row = lane % 16, col = lane / 16 * 8;
#pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
                ldmatrix_x4(A_reg[i],
                            &A_smem[tile % 2][place(warp_row + i * 16 + row, k + col, BLOCK_K)]);
#pragma unroll
            for (int j = 0; j < WARP_N / 16; j++) {
                unsigned B_reg[4];
                ldmatrix_x4_trans(
                    B_reg, &B_smem[tile % 2][place(k + row, warp_col + j * 16 + col, BLOCK_N)]);
#pragma unroll
                for (int i = 0; i < WARP_M / 16; i++) {
                    mma_m16n8k16_bf16(C_reg[i][2 * j], A_reg[i], B_reg);
                    mma_m16n8k16_bf16(C_reg[i][2 * j + 1], A_reg[i], B_reg + 2);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = row0 + warp_row + i * 16 + e / 2 * 8 + lane / 4;
                int col = col0 + warp_col + j * 8 + lane % 4 * 2 + e % 2;
                if (row < M && col < N)
                    C[(int64_t)row * N + col] = __float2bfloat16(C_reg[i][j][e]);
            }
}

// ---- launcher

extern "C" int tensor_core_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N,
                                  int K) {
    const int limit = TENSOR_CORE_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV(N, BLOCK_N), CEIL_DIV(M, BLOCK_M));
    int64_t all = (int64_t)N | K | (int64_t)((uintptr_t)A_gpu | (uintptr_t)B_gpu) / 2;  // low bits
    if (all % 8 == 0)
        tensor_core_matmul_kernel<8><<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    else if (all % 2 == 0)
        tensor_core_matmul_kernel<2><<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    else
        tensor_core_matmul_kernel<1><<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
