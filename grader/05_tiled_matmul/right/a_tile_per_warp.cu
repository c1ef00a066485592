// a_tile_per_warp.cu: every warp has tiles of its own; the warps of a block never wait for one
// another. Four of them load the same tile of A, each for itself.
#include "tiled_matmul.h"

enum { TILE = 8, WARPS = 4 };

__global__ void tiled_matmul_kernel(float* __restrict__ C, const float* __restrict__ A,
                                    const float* __restrict__ B, int M, int N, int K) {
    __shared__ float A_smem[WARPS][TILE][TILE], B_smem[WARPS][TILE][TILE];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row0 = blockIdx.y * TILE, col0 = (blockIdx.x * WARPS + warp) * TILE;
    float sum[2] = {0.0f, 0.0f};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        for (int h = 0; h < 2; h++) {
            int y = lane / TILE + h * 4, x = lane % TILE;
            int row = row0 + y, col = col0 + x;
            A_smem[warp][y][x] = row < M && k0 + x < K ? A[(size_t)row * K + k0 + x] : 0.0f;
            B_smem[warp][y][x] = k0 + y < K && col < N ? B[(size_t)(k0 + y) * N + col] : 0.0f;
        }
        __syncwarp();  // both tiles are written -> other lanes' elements are read below
        for (int h = 0; h < 2; h++)
            for (int k = 0; k < TILE; k++)
                sum[h] += A_smem[warp][lane / TILE + h * 4][k] * B_smem[warp][k][lane % TILE];
        __syncwarp();  // both tiles have been read -> the next round overwrites them
    }
    for (int h = 0; h < 2; h++) {
        int row = row0 + lane / TILE + h * 4, col = col0 + lane % TILE;
        if (row < M && col < N) C[(size_t)row * N + col] = sum[h];
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

    dim3 grid(CEIL_DIV(N, TILE * WARPS), CEIL_DIV(M, TILE));
    tiled_matmul_kernel<<<grid, 32 * WARPS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
