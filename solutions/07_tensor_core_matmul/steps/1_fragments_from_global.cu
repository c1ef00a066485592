// 1_fragments_from_global.cu: one warp per 16 x 8 elements of C. What was wrong with lesson 06: an
// FMA multiplies two numbers, and a multiprocessor has 128 of them; its tensor cores make 2048
// products in the same time. Here they are fed by hand: each lane fetches its own share of A and B,
// 12 numbers for 2048 / 32 products, one at a time.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

// ---- device helpers

// Elements (row, col) and (row2, col2) of a matrix of n_rows x n_cols as the halves of a register;
// 0 outside.
__device__ unsigned fetch_pair(const bf16* matrix, int row, int col, int row2, int col2, int n_rows,
                               int n_cols) {
    bool inside = row < n_rows && col < n_cols, inside2 = row2 < n_rows && col2 < n_cols;
    unsigned low = inside ? __bfloat16_as_ushort(matrix[(int64_t)row * n_cols + col]) : 0;
    unsigned high = inside2 ? __bfloat16_as_ushort(matrix[(int64_t)row2 * n_cols + col2]) : 0;
    return high << 16 | low;
}

// ---- GPU kernel

// Grid (tiles of 8 columns, tiles of 16 rows), block (32).
__global__ void tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                                          const bf16* __restrict__ A,  // (M, K)
                                          const bf16* __restrict__ B,  // (K, N)
                                          int M, int N, int K) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;  // as in ptx.h
    int row = blockIdx.y * 16 + g, col = blockIdx.x * 8 + g;
    float C_reg[4] = {};

    // C = sum over steps of A_step B_step      (README eq. 2)
    for (int k0 = 0; k0 < K; k0 += 16) {
        int k = k0 + 2 * t;
        unsigned A_reg[4], B_reg[2];
        A_reg[0] = fetch_pair(A, row, k, row, k + 1, M, K);
        A_reg[1] = fetch_pair(A, row + 8, k, row + 8, k + 1, M, K);
        A_reg[2] = fetch_pair(A, row, k + 8, row, k + 9, M, K);
        A_reg[3] = fetch_pair(A, row + 8, k + 8, row + 8, k + 9, M, K);
        B_reg[0] = fetch_pair(B, k, col, k + 1, col, K, N);
        B_reg[1] = fetch_pair(B, k + 8, col, k + 9, col, K, N);
        mma_m16n8k16_bf16(C_reg, A_reg, B_reg);
    }

    for (int e = 0; e < 4; e++) {
        int i = row + e / 2 * 8, j = blockIdx.x * 8 + 2 * t + e % 2;
        if (i < M && j < N) C[(int64_t)i * N + j] = __float2bfloat16(C_reg[e]);
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

    dim3 grid(CEIL_DIV(N, 8), CEIL_DIV(M, 16));
    tensor_core_matmul_kernel<<<grid, 32>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
