// 3_swizzle.cu: the pieces of each row exchanged. What was wrong with step 2: the 8 rows of a
// matrix of ldmatrix lay in the same banks, so that it took 8 times as long. Who copies and who
// reads asks place(). What is still wrong: each number takes an instruction of its own to fetch,
// one to store, and some for its address.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum {
    BLOCK_M = 128,  // a block's tile of C
    BLOCK_N = 256,
    BLOCK_K = 64,  // columns of a tile of A, rows of a tile of B
    WARP_M = 64,   // a warp's part of the tile of C
    WARP_N = 64,
    WARPS_N = BLOCK_N / WARP_N,
    THREADS = 32 * (BLOCK_M / WARP_M) * WARPS_N,
    PIECE = 8,  // elements in 16 bytes: a row of ldmatrix
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
// n_rows x n_cols. All threads of the block take part.
template <int rows, int cols>
__device__ __forceinline__ void load_tile(bf16* tile, const bf16* matrix, int row0, int col0,
                                          int n_rows, int n_cols) {
    for (int e = threadIdx.x; e < rows * cols; e += THREADS) {
        int r = e / cols, c = e % cols;  // [0, rows), [0, cols)
        int row = row0 + r, col = col0 + c;
        bool inside = row < n_rows && col < n_cols;
        tile[place(r, c, cols) + c % PIECE] =
            inside ? matrix[(int64_t)row * n_cols + col] : __float2bfloat16(0.0f);
    }
}

// ---- GPU kernel

// Grid (tiles of BLOCK_N columns, tiles of BLOCK_M rows).
__global__ void __launch_bounds__(THREADS)
    tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                              const bf16* __restrict__ A,  // (M, K)
                              const bf16* __restrict__ B,  // (K, N)
                              int M, int N, int K) {
    __shared__ __align__(16) bf16 A_smem[BLOCK_M * BLOCK_K];
    __shared__ __align__(16) bf16 B_smem[BLOCK_K * BLOCK_N];
    int row0 = blockIdx.y * BLOCK_M, col0 = blockIdx.x * BLOCK_N;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / WARPS_N * WARP_M, warp_col = warp % WARPS_N * WARP_N;
    float C_reg[WARP_M / 16][WARP_N / 8][4] = {};

    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        load_tile<BLOCK_M, BLOCK_K>(A_smem, A, row0, k0, M, K);
        load_tile<BLOCK_K, BLOCK_N>(B_smem, B, k0, col0, K, N);
        __syncthreads();  // the tiles are written -> all warps read them

        // C = sum over the tiles of A_tile B_tile      (README eq. 2)
        for (int k = 0; k < BLOCK_K; k += 16) {
            unsigned A_reg[WARP_M / 16][4], B_reg[WARP_N / 16][4];
            int row = lane % 16, col = lane / 16 * 8;  // of the row of 8 that this lane points to
#pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
                ldmatrix_x4(A_reg[i], &A_smem[place(warp_row + i * 16 + row, k + col, BLOCK_K)]);
#pragma unroll
            for (int j = 0; j < WARP_N / 16; j++)
                ldmatrix_x4_trans(B_reg[j],
                                  &B_smem[place(k + row, warp_col + j * 16 + col, BLOCK_N)]);
#pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
                for (int j = 0; j < WARP_N / 8; j++)
                    mma_m16n8k16_bf16(C_reg[i][j], A_reg[i], &B_reg[j / 2][j % 2 * 2]);
        }
        __syncthreads();  // the tiles have been read -> the next round overwrites them
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
    tensor_core_matmul_kernel<<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
