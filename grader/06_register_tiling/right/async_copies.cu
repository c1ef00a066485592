// async_copies.cu: tiles travel by cp.async, into one buffer while the other is multiplied.
//
// cp.async copies a row's pieces as they are, so the tile of A is not transposed: a thread reads it
// along k.
#include "register_tiling.h"

#include "ptx.h"

enum {
    THREAD = 8,             // a thread's sums: THREAD x THREAD, in rows SIDE apart
    SIDE = 16,              // threads of a block, down and across
    BLOCK = SIDE * THREAD,  // a block's tile of C: 128 x 128
    HALF = BLOCK / 2,       // from one float4 of columns to the other
    BLOCK_K = 16,           // columns of a tile of A, rows of a tile of B
    THREADS = SIDE * SIDE,
    PAD = 4,  // behind each row of A_smem: rows one below the other begin in other banks
};

struct tiles {
    float A_smem[BLOCK][BLOCK_K + PAD], B_smem[BLOCK_K][BLOCK];
};

// ---- device helpers

// Sends for matrix[row][col .. col + 3]; zeros come for what lies outside.
template <int unit>
__device__ inline void send4(float* to, const float* matrix, int64_t stride, int row, int col,
                             int n_rows, int n_cols) {
    for (int j = 0; j < 4; j += unit) {
        const float* from = matrix + row * stride + col + j;
        int used = row < n_rows && col + j < n_cols ? 4 * unit : 0;  // bytes
        if (unit == 4)
            cp_async16_zfill(to, from, used);
        else
            cp_async4_zfill(to + j, from, used);
    }
}

// ---- GPU kernel

// One block per tile of C. unit: how many elements are moved at a time, 4 or 1.
template <int unit>
__global__ void register_tiling_kernel(float* __restrict__ C,        // (M, N)  out
                                       const float* __restrict__ A,  // (M, K)
                                       const float* __restrict__ B,  // (K, N)
                                       int M, int N, int K, int64_t stride_C, int64_t stride_A,
                                       int64_t stride_B) {
    __shared__ __align__(16) struct tiles buffers[2];
    int x = threadIdx.x % SIDE * 4, y = threadIdx.x / SIDE;  // the thread's first column and row
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float C_reg[THREAD][THREAD] = {};
    // Round t sends for tile t + 1, and multiplies tile t: there is none in round -1.
    for (int k0 = -BLOCK_K; k0 < K; k0 += BLOCK_K) {
        int next_k0 = k0 + BLOCK_K;
        struct tiles* next = &buffers[next_k0 / BLOCK_K % 2];
        const struct tiles* now = &buffers[(next_k0 / BLOCK_K + 1) % 2];
        for (int e = threadIdx.x * 4; e < BLOCK * BLOCK_K; e += THREADS * 4) {
            int row = e / BLOCK_K, k = e % BLOCK_K;
            send4<unit>(&next->A_smem[row][k], A, stride_A, row0 + row, next_k0 + k, M, K);
        }
        for (int e = threadIdx.x * 4; e < BLOCK_K * BLOCK; e += THREADS * 4) {
            int k = e / BLOCK, col = e % BLOCK;
            send4<unit>(&next->B_smem[k][col], B, stride_B, next_k0 + k, col0 + col, K, N);
        }
        cp_async_commit();

        // C += A[:][k .. k + 3] B[k .. k + 3][:]     (README eq. 2)
        for (int k = 0; k0 >= 0 && k < BLOCK_K; k += 4) {
            float4 A_reg[THREAD];
            for (int i = 0; i < THREAD; i++)
                A_reg[i] = *(const float4*)&now->A_smem[y + i * SIDE][k];
            for (int n = 0; n < 4; n++) {
                float4 left = *(const float4*)&now->B_smem[k + n][x];
                float4 right = *(const float4*)&now->B_smem[k + n][x + HALF];
                for (int i = 0; i < THREAD; i++) {
                    float a = n == 0   ? A_reg[i].x
                              : n == 1 ? A_reg[i].y
                              : n == 2 ? A_reg[i].z
                                       : A_reg[i].w;
                    C_reg[i][0] += a * left.x, C_reg[i][1] += a * left.y;
                    C_reg[i][2] += a * left.z, C_reg[i][3] += a * left.w;
                    C_reg[i][4] += a * right.x, C_reg[i][5] += a * right.y;
                    C_reg[i][6] += a * right.z, C_reg[i][7] += a * right.w;
                }
            }
        }
        cp_async_wait<0>();
        // next is there -> read in the next round; now has been read -> sent for again
        __syncthreads();
    }

    for (int i = 0; i < THREAD; i++) {
        int row = row0 + y + i * SIDE;
        for (int j = 0; j < THREAD; j += unit) {
            int col = col0 + x + j / 4 * HALF + j % 4;
            if (row >= M || col >= N) continue;
            float* to = C + row * stride_C + col;
            if (unit == 4)
                *(float4*)to =
                    make_float4(C_reg[i][j], C_reg[i][j + 1], C_reg[i][j + 2], C_reg[i][j + 3]);
            else
                *to = C_reg[i][j];
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

    bool whole = N % 4 == 0 && K % 4 == 0 && (stride_C | stride_A | stride_B) % 4 == 0;
    bool aligned = ((uintptr_t)C_gpu | (uintptr_t)A_gpu | (uintptr_t)B_gpu) % 16 == 0;
    dim3 grid(CEIL_DIV(N, BLOCK), CEIL_DIV(M, BLOCK));
    if (whole && aligned)
        register_tiling_kernel<4>
            <<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    else
        register_tiling_kernel<1>
            <<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
