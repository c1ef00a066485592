// 5_one_buffer.cu: copies that do not pass through registers. What was wrong with step 4: a thread
// loaded its pieces into registers, as many as find room there, waited for them and stored them.
// cp.async hands the copy over, and all pieces of a tile are on their way at once. What is still
// wrong: while tiles travel, nobody multiplies.
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum {
    BLOCK_M = 128,  // a block's tile of C
    BLOCK_N = 256,
    BLOCK_K = 64,  // columns of a tile of A, rows of a tile of B
    WARP_M = 64,   // a warp's part of it: 128 sums in each lane
    WARP_N = 64,
    STEP = 16,  // K of one mma
    WARPS_N = BLOCK_N / WARP_N,
    THREADS = 32 * (BLOCK_M / WARP_M) * WARPS_N,
    A_TILE = BLOCK_M * BLOCK_K,  // elements
    B_TILE = BLOCK_K * BLOCK_N,
    PIECE = 8,  // elements in 16 bytes: what cp.async copies and a row of ldmatrix has
};

// ---- device helpers

// Where element (row, col) of a tile of rows of `width` elements is stored; col is a multiple of
// PIECE, width of 8 pieces. Eight pieces fill the 32 banks once. (README eq. 3)
__device__ __forceinline__ int place(int row, int col, int width) {
    int piece = col / PIECE;
    piece ^= row & 7;
    return row * width + piece * PIECE;
}

// tile[r][c] = matrix[row0 + r][col0 + c] for rows x cols elements; 0 outside the matrix, which has
// n_rows x n_cols. All threads of the block take part. unit: how many elements at a time, PIECE or
// 1.
template <int unit, int rows, int cols>
__device__ __forceinline__ void send_for(bf16* tile, const bf16* matrix, int row0, int col0,
                                         int n_rows, int n_cols) {
#pragma unroll(unit == PIECE ? PIECE : 4)  // single elements: more addresses do not fit
    for (int i = 0; i < rows * cols / (THREADS * unit); i++) {
        int e = (i * THREADS + threadIdx.x) * unit;  // neighbouring threads: neighbours in a row
        int r = e / cols, c = e % cols;              // [0, rows), [0, cols)
        int row = row0 + r, col = col0 + c;
        bool inside = row < n_rows && col < n_cols;
        const bf16* from = matrix + (int64_t)row * n_cols + col;
        if (unit == PIECE) {
            cp_async16_zfill(tile + place(r, c, cols), from, inside ? 16 : 0);
        } else {
            // There is no cp.async of 2 bytes.
            bf16* to = tile + place(r, c, cols) + c % PIECE;
            *to = inside ? *from : __float2bfloat16(0.0f);
        }
    }
}

// The warp's operands of step k (a multiple of STEP in [0, BLOCK_K)): its WARP_M rows of the tile
// of A as blocks of 16 x 16, its WARP_N columns of the tile of B as pairs of blocks of 16 x 8.
__device__ __forceinline__ void load_fragments(unsigned A_reg[WARP_M / 16][4],
                                               unsigned B_reg[WARP_N / 16][4], const bf16* A_smem,
                                               const bf16* B_smem, int warp_row, int warp_col,
                                               int k) {
    int lane = threadIdx.x % 32;
    int row = lane % 16, col = lane / 16 * 8;  // of the 8 elements whose address this lane gives
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
        ldmatrix_x4(A_reg[i], A_smem + place(warp_row + i * 16 + row, k + col, BLOCK_K));
#pragma unroll
    for (int j = 0; j < WARP_N / 16; j++)
        ldmatrix_x4_trans(B_reg[j], B_smem + place(k + row, warp_col + j * 16 + col, BLOCK_N));
}

// C += A B for the warp                    (README eq. 2)
__device__ __forceinline__ void multiply(float C_reg[WARP_M / 16][WARP_N / 8][4],
                                         const unsigned A_reg[WARP_M / 16][4],
                                         const unsigned B_reg[WARP_N / 16][4]) {
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            mma_m16n8k16_bf16(C_reg[i][j], A_reg[i], &B_reg[j / 2][j % 2 * 2]);
}

// Stores a block of 16 x 8 sums at (row0, col0) of C: each lane its share, see mma_m16n8k16_bf16().
template <int unit>
__device__ __forceinline__ void store_block(bf16* C, const float C_reg[4], int row0, int col0,
                                            int M, int N) {
    int lane = threadIdx.x % 32;
    int col = col0 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = row0 + lane / 4 + 8 * i;
        if (row >= M || col >= N) continue;
        bf16* to = C + (int64_t)row * N + col;
        float left = C_reg[2 * i], right = C_reg[2 * i + 1];
        if (unit == PIECE) {
            *(__nv_bfloat162*)to = __floats2bfloat162_rn(left, right);
        } else {
            to[0] = __float2bfloat16(left);
            if (col + 1 < N) to[1] = __float2bfloat16(right);
        }
    }
}

// ---- GPU kernel

// Grid (tiles of BLOCK_N columns, tiles of BLOCK_M rows). unit: what the rows of A and B are
// aligned to, in elements, PIECE or 1.
template <int unit>
__global__ void __launch_bounds__(THREADS)
    tensor_core_matmul_kernel(bf16* __restrict__ C,        // (M, N)  out
                              const bf16* __restrict__ A,  // (M, K)
                              const bf16* __restrict__ B,  // (K, N)
                              int M, int N, int K) {
    __shared__ __align__(128) bf16 A_smem[A_TILE];
    __shared__ __align__(128) bf16 B_smem[B_TILE];
    int row0 = blockIdx.y * BLOCK_M, col0 = blockIdx.x * BLOCK_N;
    int warp = threadIdx.x / 32;
    int warp_row = warp / WARPS_N * WARP_M;  // in the tile: [0, BLOCK_M)
    int warp_col = warp % WARPS_N * WARP_N;  // [0, BLOCK_N)
    float C_reg[WARP_M / 16][WARP_N / 8][4] = {};

    // C = sum over the tiles of A_tile B_tile      (README eq. 2)
    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        send_for<unit, BLOCK_M, BLOCK_K>(A_smem, A, row0, k0, M, K);
        send_for<unit, BLOCK_K, BLOCK_N>(B_smem, B, k0, col0, K, N);
        cp_async_wait_all();  // this thread's copies are there
        __syncthreads();      // those of all threads -> read below
#pragma unroll
        for (int k = 0; k < BLOCK_K; k += STEP) {
            unsigned A_reg[WARP_M / 16][4], B_reg[WARP_N / 16][4];
            load_fragments(A_reg, B_reg, A_smem, B_smem, warp_row, warp_col, k);
            multiply(C_reg, A_reg, B_reg);
        }
        __syncthreads();  // the tiles have been read -> the next round overwrites them
    }

#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            store_block<unit>(C, C_reg[i][j], row0 + warp_row + i * 16, col0 + warp_col + j * 8, M,
                              N);
}

// ---- launcher

static bool is_aligned(const void* p) {
    return (uintptr_t)p % 16 == 0;
}

extern "C" int tensor_core_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N,
                                  int K) {
    const int limit = TENSOR_CORE_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;  // a grid of 0 blocks would be a launch error
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    bool pieces = N % PIECE == 0 && K % PIECE == 0 && is_aligned(A_gpu) && is_aligned(B_gpu) &&
                  is_aligned(C_gpu);
    dim3 grid(CEIL_DIV(N, BLOCK_N), CEIL_DIV(M, BLOCK_M));
    if (pieces)
        tensor_core_matmul_kernel<PIECE><<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    else
        tensor_core_matmul_kernel<1><<<grid, THREADS>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
