// C^T = B^T A^T: what is a row to mma.sync is a column of C. A warp's operand of 16 x 16 is of B,
// transposed by ldmatrix, and its operand of 16 x 8 of A as it lies there. Else as blocks_of_64.cu.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum {
    BLOCK = 64,    // rows and columns of a block's tile of C
    BLOCK_K = 32,  // columns of a tile of A, rows of a tile of B
    WARP = 32,     // rows and columns of a warp's part
    THREADS = 128,
    PAD = 8,  // elements added to a row
};

// ---- device helper

// tile[r][c] = matrix[row0 + r][col0 + c] for rows x cols elements; 0 outside the matrix, which has
// n_rows x n_cols. All threads of the block take part.
template <int rows, int cols>
__device__ __forceinline__ void load_tile(bf16 tile[rows][cols + PAD], const bf16* matrix, int row0,
                                          int col0, int n_rows, int n_cols) {
    for (int e = threadIdx.x; e < rows * cols; e += THREADS) {
        int r = e / cols, c = e % cols;  // [0, rows), [0, cols)
        int row = row0 + r, col = col0 + c;
        bool inside = row < n_rows && col < n_cols;
        tile[r][c] = inside ? matrix[(int64_t)row * n_cols + col] : __float2bfloat16(0.0f);
    }
}

// ---- GPU kernel

// Grid (tiles of BLOCK columns, tiles of BLOCK rows).
__global__ void __launch_bounds__(THREADS)
    tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                              const bf16* __restrict__ A,  // (M, K)
                              const bf16* __restrict__ B,  // (K, N)
                              int M, int N, int K) {
    __shared__ __align__(16) bf16 A_smem[BLOCK][BLOCK_K + PAD];
    __shared__ __align__(16) bf16 B_smem[BLOCK_K][BLOCK + PAD];
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / 2 * WARP, warp_col = warp % 2 * WARP;
    float C_reg[WARP / 16][WARP / 8][4] = {};

    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        load_tile<BLOCK, BLOCK_K>(A_smem, A, row0, k0, M, K);
        load_tile<BLOCK_K, BLOCK>(B_smem, B, k0, col0, K, N);
        __syncthreads();  // the tiles are written -> all warps read them

        // C^T = sum over the tiles of B_tile^T A_tile^T      (README eq. 2)
        for (int k = 0; k < BLOCK_K; k += 16) {
            unsigned B_reg[WARP / 16][4], A_reg[WARP / 8][2];
            int row = lane % 8;
#pragma unroll
            for (int i = 0; i < WARP / 16; i++)
                ldmatrix_x4_trans(
                    B_reg[i],
                    &B_smem[k + row + lane / 16 * 8][warp_col + i * 16 + lane / 8 % 2 * 8]);
#pragma unroll
            for (int j = 0; j < WARP / 8; j++)
                ldmatrix_x2(A_reg[j], &A_smem[warp_row + j * 8 + row][k + lane / 8 % 2 * 8]);
#pragma unroll
            for (int i = 0; i < WARP / 16; i++)
#pragma unroll
                for (int j = 0; j < WARP / 8; j++)
                    mma_m16n8k16_bf16(C_reg[i][j], B_reg[i], A_reg[j]);
        }
        __syncthreads();  // the tiles have been read -> the next round overwrites them
    }

#pragma unroll
    for (int i = 0; i < WARP / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP / 8; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int col = col0 + warp_col + i * 16 + e / 2 * 8 + lane / 4;
                int row = row0 + warp_row + j * 8 + lane % 4 * 2 + e % 2;
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

    dim3 grid(CEIL_DIV(N, BLOCK), CEIL_DIV(M, BLOCK));
    tensor_core_matmul_kernel<<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
