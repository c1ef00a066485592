// 2_eight_by_eight.cu: 8 x 8 sums a thread, a number at a time.
//
// What was wrong with 1_one_sum_each.cu: two loads from shared memory for each multiplication. Here
// 16 loads serve 64 of them. A thread's rows, and its columns, are 16 apart: so the 16 threads of a
// row read 16 neighbours of B_smem at once, and write 16 neighbours of C. Next: a load may bring
// four numbers, 3_four_at_a_time.cu.
#include "register_tiling.h"

enum {
    THREAD = 8,             // a thread's sums: THREAD x THREAD
    SIDE = 16,              // threads of a block, down and across
    BLOCK = SIDE * THREAD,  // a block's tile of C: 128 x 128
    BLOCK_K = 8,            // columns of a tile of A, rows of a tile of B
    THREADS = SIDE * SIDE,
};

// ---- GPU kernel

// One block per tile of C.
__global__ void register_tiling_kernel(float* __restrict__ C,        // (M, N)  out
                                       const float* __restrict__ A,  // (M, K)
                                       const float* __restrict__ B,  // (K, N)
                                       int M, int N, int K, int64_t stride_C, int64_t stride_A,
                                       int64_t stride_B) {
    __shared__ float A_smem[BLOCK][BLOCK_K], B_smem[BLOCK_K][BLOCK];
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;  // the thread's first column and row
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float C_reg[THREAD][THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        for (int e = threadIdx.x; e < BLOCK * BLOCK_K; e += THREADS) {
            int row = row0 + e / BLOCK_K, k = k0 + e % BLOCK_K;
            A_smem[e / BLOCK_K][e % BLOCK_K] = row < M && k < K ? A[row * stride_A + k] : 0.0f;
        }
        for (int e = threadIdx.x; e < BLOCK_K * BLOCK; e += THREADS) {
            int k = k0 + e / BLOCK, col = col0 + e % BLOCK;
            B_smem[e / BLOCK][e % BLOCK] = k < K && col < N ? B[k * stride_B + col] : 0.0f;
        }
        __syncthreads();  // both tiles are written -> other threads' elements are read below

        // C += A[:][k] B[k][:]                     (README eq. 2)
        // C_reg[i][j] += A_reg[i] * B_reg[j]
#pragma unroll
        for (int k = 0; k < BLOCK_K; k++) {
            float A_reg[THREAD], B_reg[THREAD];
            for (int i = 0; i < THREAD; i++) A_reg[i] = A_smem[y + i * SIDE][k];
            for (int j = 0; j < THREAD; j++) B_reg[j] = B_smem[k][x + j * SIDE];
            for (int i = 0; i < THREAD; i++)
                for (int j = 0; j < THREAD; j++) C_reg[i][j] += A_reg[i] * B_reg[j];
        }
        __syncthreads();  // both tiles have been read -> the next round overwrites them
    }

    for (int i = 0; i < THREAD; i++) {
        for (int j = 0; j < THREAD; j++) {
            int row = row0 + y + i * SIDE, col = col0 + x + j * SIDE;
            if (row < M && col < N) C[row * stride_C + col] = C_reg[i][j];
        }
    }
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

    dim3 grid(CEIL_DIV(N, BLOCK), CEIL_DIV(M, BLOCK));
    register_tiling_kernel<<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A,
                                              stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
