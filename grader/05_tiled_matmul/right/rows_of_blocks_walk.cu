// At most 48 rows of blocks, which walk down C: the last block has other tiles than the last one.
#include "tiled_matmul.h"

enum { TILE = 16, DOWN = 48 };

__global__ void tiled_matmul_kernel(float* __restrict__ C, const float* __restrict__ A,
                                    const float* __restrict__ B, int M, int N, int K) {
    __shared__ float A_smem[TILE][TILE], B_smem[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * TILE + x;
    for (int row0 = blockIdx.y * TILE; row0 < M; row0 += gridDim.y * TILE) {
        const int row = row0 + y;
        float sum = 0.0f;
        for (int k0 = 0; k0 < K; k0 += TILE) {
            A_smem[y][x] = row < M && k0 + x < K ? A[(size_t)row * K + k0 + x] : 0.0f;
            B_smem[y][x] = k0 + y < K && col < N ? B[(size_t)(k0 + y) * N + col] : 0.0f;
            __syncthreads();  // both tiles are written -> other threads' elements are read below
            for (int k = 0; k < TILE; k++) sum += A_smem[y][k] * B_smem[k][x];
            __syncthreads();  // both tiles have been read -> the next round overwrites them
        }
        if (row < M && col < N) C[(size_t)row * N + col] = sum;
    }
}

extern "C" int tiled_matmul(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                            int K) {
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > TILED_MATMUL_MAX_SIZE || N > TILED_MATMUL_MAX_SIZE || K > TILED_MATMUL_MAX_SIZE)
        return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;
    const int down = CEIL_DIV(M, TILE);
    const dim3 grid(CEIL_DIV(N, TILE), down < DOWN ? down : DOWN);
    tiled_matmul_kernel<<<grid, dim3(TILE, TILE)>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
