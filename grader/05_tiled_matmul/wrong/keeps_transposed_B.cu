// cause: stale_state, too_much_written
// B is transposed once and kept, so that both tiles are read along rows; the next call brings
// another B.
#include "tiled_matmul.h"

enum {
    TILE = 16,  // rows and columns of a tile: 256 threads a block, 2 KiB of shared memory
};

enum {
    KEPT = 1 << 18,  // elements of B that can be kept transposed
};
static __device__ float B_kept[KEPT];  // (N, K)

// ---- GPU kernel

// B_kept = B^T
__global__ void transpose_kernel(const float* B,  // (K, N)
                                 int N, int K) {
    int k = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (k < K && col < N) B_kept[(size_t)col * K + k] = B[(size_t)k * N + col];
}

// One thread per element of C; blockDim = (TILE, TILE).
__global__ void tiled_matmul_kernel(float* __restrict__ C,        // (M, N)  out
                                    const float* __restrict__ A,  // (M, K)
                                    const float* __restrict__ B,  // (K, N)
                                    int M, int N, int K, bool kept) {
    int x = threadIdx.x, y = threadIdx.y;  // place in the tile, [0, TILE)
    int row = blockIdx.y * TILE + y;       // [0, M rounded up to TILE)
    int col = blockIdx.x * TILE + x;       // [0, N rounded up to TILE): neighbours in memory
    float sum = 0.0f;
    // No thread may leave early: each has its part of the tiles to load, and barriers to reach.

    __shared__ float A_smem[TILE][TILE];  // A[rows of this block][k0 .. k0 + TILE)
    __shared__ float B_smem[TILE][TILE];  // B[k0 .. k0 + TILE)[columns of this block]
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Outside the matrices the tiles hold 0, which adds nothing. It is chosen, not multiplied
        // in: 0 * NaN is NaN.
        A_smem[y][x] = row < M && k0 + x < K ? A[(size_t)row * K + k0 + x] : 0.0f;
        float b = 0.0f;
        if (k0 + y < K && col < N) {
            b = kept ? B_kept[(size_t)col * K + k0 + y] : B[(size_t)(k0 + y) * N + col];
        }
        B_smem[y][x] = b;
        __syncthreads();  // both tiles are written -> other threads' elements are read below

        // C = sum over the tiles of A_tile B_tile      (README eq. 2)
        // C[row][col] += sum_k A[row][k0 + k] * B[k0 + k][col]
        for (int k = 0; k < TILE; k++) sum += A_smem[y][k] * B_smem[k][x];
        __syncthreads();  // both tiles have been read -> the next round overwrites them
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

    static const float* transposed;  // the B that B_kept was made from
    bool kept = (int64_t)K * N <= KEPT;
    if (kept && transposed != B_gpu) {
        dim3 grid_B(CEIL_DIV(N, TILE), CEIL_DIV(K, TILE));
        if (K > 0) transpose_kernel<<<grid_B, block>>>(B_gpu, N, K);
        transposed = B_gpu;
    }
    tiled_matmul_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K, kept);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
