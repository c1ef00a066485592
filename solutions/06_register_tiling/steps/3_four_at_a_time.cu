// 3_four_at_a_time.cu: 8 x 8 sums a thread, and float4 wherever four numbers lie side by side.
//
// What was wrong with 2_eight_by_eight.cu: 16 instructions to load for 64 to multiply. Here it is
// four: a thread's columns are two float4s, 64 apart, and so are its rows. For that the tile of A
// is transposed on its way into shared memory. Where rows do not begin at multiples of 16 bytes,
// global memory is read and written one number at a time, as before. Still, all threads wait for
// the tiles, and the tiles for all threads. Next: two buffers, ../register_tiling.cu.
#include "register_tiling.h"

enum {
    THREAD = 8,             // a thread's sums: THREAD x THREAD
    SIDE = 16,              // threads of a block, down and across
    BLOCK = SIDE * THREAD,  // a block's tile of C: 128 x 128
    HALF = BLOCK / 2,       // from one float4 of a thread to its other
    BLOCK_K = 16,           // columns of a tile of A, rows of a tile of B
    THREADS = SIDE * SIDE,
    PAD =
        4,  // columns behind each row of A_smem: lanes that transpose a float4 then meet more banks
};

// ---- device helpers

// Four floats in one instruction; the address in memory is a multiple of 16 bytes.
__device__ __forceinline__ void load4(float to[4], const float* from) {
    float4 v = *(const float4*)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

__device__ __forceinline__ void store4(float* to, const float from[4]) {
    *(float4*)to = make_float4(from[0], from[1], from[2], from[3]);
}

// to[j] = matrix[row][col + j], and 0 outside the matrix, which has n_rows x n_cols. vector:
// addresses and n_cols are multiples of four elements.
template <bool vector>
__device__ __forceinline__ void fetch4(float to[4], const float* matrix, int64_t stride, int row,
                                       int col, int n_rows, int n_cols) {
    const float* from = matrix + row * stride + col;
    to[0] = to[1] = to[2] = to[3] = 0.0f;
    if (vector) {
        if (row < n_rows && col < n_cols) load4(to, from);
    } else {
        for (int j = 0; j < 4; j++)
            if (row < n_rows && col + j < n_cols) to[j] = from[j];
    }
}

// ---- GPU kernel

// One block per tile of C.
template <bool vector>
__global__ void __launch_bounds__(THREADS, vector ? 2 : 1)
    register_tiling_kernel(float* __restrict__ C,        // (M, N)  out
                           const float* __restrict__ A,  // (M, K)
                           const float* __restrict__ B,  // (K, N)
                           int M, int N, int K, int64_t stride_C, int64_t stride_A,
                           int64_t stride_B) {
    __shared__ __align__(16) float A_smem[BLOCK_K][BLOCK + PAD], B_smem[BLOCK_K][BLOCK];
    int x = threadIdx.x % SIDE * 4,
        y = threadIdx.x / SIDE * 4;  // the thread's first column and row
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float C_reg[THREAD][THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        float v[4];
#pragma unroll
        for (int i = 0; i < BLOCK * BLOCK_K / (4 * THREADS); i++) {
            int e = (i * THREADS + threadIdx.x) * 4;
            int row = e / BLOCK_K, k = e % BLOCK_K;
            fetch4<vector>(v, A, stride_A, row0 + row, k0 + k, M, K);
            for (int j = 0; j < 4; j++) A_smem[k + j][row] = v[j];
        }
#pragma unroll
        for (int i = 0; i < BLOCK_K * BLOCK / (4 * THREADS); i++) {
            int e = (i * THREADS + threadIdx.x) * 4;
            int k = e / BLOCK, col = e % BLOCK;
            fetch4<vector>(v, B, stride_B, k0 + k, col0 + col, K, N);
            store4(&B_smem[k][col], v);
        }
        __syncthreads();  // both tiles are written -> other threads' elements are read below

        // C += A[:][k] B[k][:]                     (README eq. 2)
        // C_reg[i][j] += A_reg[i] * B_reg[j]
#pragma unroll
        for (int k = 0; k < BLOCK_K; k++) {
            float A_reg[THREAD], B_reg[THREAD];
            load4(&A_reg[0], &A_smem[k][y]);
            load4(&A_reg[4], &A_smem[k][y + HALF]);
            load4(&B_reg[0], &B_smem[k][x]);
            load4(&B_reg[4], &B_smem[k][x + HALF]);
            for (int i = 0; i < THREAD; i++)
                for (int j = 0; j < THREAD; j++) C_reg[i][j] += A_reg[i] * B_reg[j];
        }
        __syncthreads();  // both tiles have been read -> the next round overwrites them
    }

#pragma unroll
    for (int i = 0; i < THREAD; i++) {
        int row = row0 + y + i / 4 * HALF + i % 4;
#pragma unroll
        for (int j = 0; j < THREAD; j += 4) {
            int col = col0 + x + j / 4 * HALF;
            float* to = C + row * stride_C + col;
            if (vector) {
                if (row < M && col < N) store4(to, &C_reg[i][j]);
            } else {
                for (int e = 0; e < 4; e++)
                    if (row < M && col + e < N) to[e] = C_reg[i][j + e];
            }
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

    // Does every float4 begin at a multiple of 16 bytes, and lie within its row or outside?
    bool whole = N % 4 == 0 && K % 4 == 0 && (stride_C | stride_A | stride_B) % 4 == 0;
    bool aligned = ((uintptr_t)C_gpu | (uintptr_t)A_gpu | (uintptr_t)B_gpu) % 16 == 0;
    dim3 grid(CEIL_DIV(N, BLOCK), CEIL_DIV(M, BLOCK));
    if (whole && aligned)
        register_tiling_kernel<true>
            <<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    else
        register_tiling_kernel<false>
            <<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
