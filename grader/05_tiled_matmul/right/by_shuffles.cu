// by_shuffles.cu: no shared memory and no barrier. A warp owns 16 x 32 of C; a lane keeps a column
// of the tile of A in registers, and shuffles hand it on.
#include "tiled_matmul.h"

template <int ROWS>
__global__ void by_shuffles(float* C, const float* A, const float* B, int M, int N, int K) {
    const unsigned lane = threadIdx.x;
    const int64_t top = (int64_t)blockIdx.y * ROWS, column = (int64_t)blockIdx.x * 32 + lane;
    float sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) sum[r] = 0.0f;
    for (int64_t k0 = 0; k0 < K; k0 += 32) {
        float a[ROWS];  // a[r] = A[top + r][k0 + lane]
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            a[r] = top + r < M && k0 + lane < K ? A[(top + r) * K + k0 + lane] : 0.0f;
        for (int k = 0; k < 32; k++) {
            const float b = k0 + k < K && column < N ? B[(k0 + k) * N + column] : 0.0f;
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] += __shfl_sync(0xffffffffu, a[r], k) * b;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (top + r < M && column < N) C[(top + r) * N + column] = sum[r];
}

// ---- launcher

extern "C" int tiled_matmul(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                            int K) {
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > TILED_MATMUL_MAX_SIZE || N > TILED_MATMUL_MAX_SIZE || K > TILED_MATMUL_MAX_SIZE)
        return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (C_gpu == NULL) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL)) return COURSE_BAD_ARGUMENT;

    by_shuffles<16><<<dim3(CEIL_DIV(N, 32), CEIL_DIV(M, 16)), 32>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
