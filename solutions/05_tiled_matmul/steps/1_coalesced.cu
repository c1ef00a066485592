// 1_coalesced.cu: the solution of lesson 04: a thread per element of C, lanes along a row.
//
// Every thread fetches 2 K numbers for itself: each number of A is fetched N times in all, each of
// B M times. Next: fetch once per block, share, tiled_matmul.cu.
#include "tiled_matmul.h"

enum {
    BLOCK = 16,  // rows and columns of C a block computes: 256 threads
};

// ---- GPU kernel

// C = A B                                  (README eq. 1)
__global__ void tiled_matmul_kernel(float* __restrict__ C,        // (M, N)  out
                                    const float* __restrict__ A,  // (M, K)
                                    const float* __restrict__ B,  // (K, N)
                                    int M, int N, int K) {
    int row = blockIdx.y * BLOCK + threadIdx.y;  // [0, M rounded up to BLOCK)
    int col = blockIdx.x * BLOCK + threadIdx.x;  // [0, N rounded up to BLOCK)
    if (row >= M || col >= N) return;            // no barrier follows: leaving early is fine

    // C[row][col] = sum_k A[row][k] * B[k][col]
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
    C[(size_t)row * N + col] = sum;
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

    dim3 grid(CEIL_DIV(N, BLOCK), CEIL_DIV(M, BLOCK));  // x runs along a row, as in memory
    dim3 block(BLOCK, BLOCK);
    tiled_matmul_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
