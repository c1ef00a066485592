// Two pairs of tiles, filled by cp.async: the next pair is on its way while this one is added up.
#include "tiled_matmul.h"
#include "ptx.h"

enum {
    TILE = 16,  // rows and columns of a tile: 256 threads a block, 4 KiB of shared memory
};

// ---- GPU kernel

// One thread per element of C; blockDim = (TILE, TILE).
__global__ void tiled_matmul_kernel(float* __restrict__ C,        // (M, N)  out
                                    const float* __restrict__ A,  // (M, K)
                                    const float* __restrict__ B,  // (K, N)
                                    int M, int N, int K) {
    __shared__ float A_smem[2][TILE][TILE];  // A[rows of this block][k0 .. k0 + TILE)
    __shared__ float B_smem[2][TILE][TILE];  // B[k0 .. k0 + TILE)[columns of this block]
    int x = threadIdx.x, y = threadIdx.y;    // place in the tile, [0, TILE)
    int row = blockIdx.y * TILE + y;         // [0, M rounded up to TILE)
    int col = blockIdx.x * TILE + x;         // [0, N rounded up to TILE): neighbours in memory
    int tiles = CEIL_DIV(K, TILE);
    float sum = 0.0f;

    // Round i sends for tile i + 1 and adds up tile i; round -1 only sends. Rows are aligned to one
    // float: 4 bytes at a time. Outside the matrices nothing is read, and zeros arrive.
    for (int i = -1; i < tiles; i++) {
        int next = (i + 1) % 2, k0 = (i + 1) * TILE;
        if (i + 1 < tiles) {
            cp_async4_zfill(&A_smem[next][y][x], &A[(size_t)row * K + k0 + x],
                            row < M && k0 + x < K ? 4 : 0);
            cp_async4_zfill(&B_smem[next][y][x], &B[(size_t)(k0 + y) * N + col],
                            k0 + y < K && col < N ? 4 : 0);
        }
        cp_async_commit();
        if (i < 0) continue;
        cp_async_wait<1>();  // tile i has arrived; tile i + 1 may still be on its way
        __syncthreads();     // all threads' copies -> all threads' reads
        for (int k = 0; k < TILE; k++) sum += A_smem[i % 2][y][k] * B_smem[i % 2][k][x];
        __syncthreads();  // these reads -> the copies of the next round, into the same pair
    }

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
