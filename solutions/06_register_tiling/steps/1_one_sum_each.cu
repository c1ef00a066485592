// 1_one_sum_each.cu: the solution of lesson 05: tiles in shared memory, a thread per element of C.
//
// Each multiplication takes two numbers out of shared memory. Next: 2_eight_by_eight.cu.
#include "register_tiling.h"

enum {
    TILE = 16,  // rows and columns of a tile: 256 threads a block
};

// ---- GPU kernel

// One thread per element of C; blockDim = (TILE, TILE).
__global__ void register_tiling_kernel(float* __restrict__ C,        // (M, N)  out
                                       const float* __restrict__ A,  // (M, K)
                                       const float* __restrict__ B,  // (K, N)
                                       int M, int N, int K, int64_t stride_C, int64_t stride_A,
                                       int64_t stride_B) {
    __shared__ float A_smem[TILE][TILE], B_smem[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;  // place in the tile, [0, TILE)
    int row = blockIdx.y * TILE + y;       // [0, M rounded up to TILE)
    int col = blockIdx.x * TILE + x;       // [0, N rounded up to TILE)
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        A_smem[y][x] = row < M && k0 + x < K ? A[row * stride_A + k0 + x] : 0.0f;
        B_smem[y][x] = k0 + y < K && col < N ? B[(k0 + y) * stride_B + col] : 0.0f;
        __syncthreads();  // both tiles are written -> other threads' elements are read below

        // C = sum over the tiles of A_tile B_tile      (README eq. 3)
        // C[row][col] += sum_k A[row][k0 + k] * B[k0 + k][col]
        for (int k = 0; k < TILE; k++) sum += A_smem[y][k] * B_smem[k][x];
        __syncthreads();  // both tiles have been read -> the next round overwrites them
    }
    if (row < M && col < N) C[row * stride_C + col] = sum;
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

    dim3 grid(CEIL_DIV(N, TILE), CEIL_DIV(M, TILE));  // x runs along a row, as in memory
    dim3 block(TILE, TILE);
    register_tiling_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A,
                                            stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
