// tiled_matmul.cu: C = A B, each block working from two small tiles in shared memory.
//
// A block owns one TILE x TILE tile of C. It walks along K; at each stop its threads fetch one tile
// of A and one of B together, and every number fetched is then used TILE times. The slower version
// on the way here: steps/1_coalesced.cu.
//
//     make grade LESSON=05
#include "tiled_matmul.h"

enum {
    TILE = 16,  // rows and columns of a tile: 256 threads a block, 2 KiB of shared memory
};

// ---- GPU kernel

// One thread per element of C; blockDim = (TILE, TILE).
__global__ void tiled_matmul_kernel(float* __restrict__ C,        // (M, N)  out
                                    const float* __restrict__ A,  // (M, K)
                                    const float* __restrict__ B,  // (K, N)
                                    int M, int N, int K) {
    int x = threadIdx.x, y = threadIdx.y;  // place in the tile, [0, TILE)
    int row = blockIdx.y * TILE + y;       // [0, M rounded up to TILE)
    int col = blockIdx.x * TILE + x;       // [0, N rounded up to TILE): neighbours in memory
    float sum = 0.0f;
    // No thread may leave early: each has its part of the tiles to load, and barriers to reach.

    // your code goes here (about 12 lines): per tile of K: load A_smem and B_smem, wait, add up, wait

    if (row < M && col < N) C[(size_t)row * N + col] = sum;
}

// ---- launcher

extern "C" int tiled_matmul(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                            int K) {
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > TILED_MATMUL_MAX_SIZE || N > TILED_MATMUL_MAX_SIZE || K > TILED_MATMUL_MAX_SIZE)
        return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV(N, TILE), CEIL_DIV(M, TILE));  // x runs along a row, as in memory
    dim3 block(TILE, TILE);
    tiled_matmul_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
