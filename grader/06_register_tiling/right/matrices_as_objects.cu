// Matrices are objects that load and store four neighbours, as lists of their members. Blocks of
// 128 threads for a tile of 128 x 64, 8 x 8 sums each; A stays as it is, its rows are read by fours
// along K.
#include "register_tiling.h"

constexpr int BM = 128, BN = 64, BK = 8, THREADS = 128;

template <bool aligned> struct matrix {
    float* first;
    int rows, columns;
    int64_t stride;

    __device__ __forceinline__ float4 load(int row, int column) const {
        const float* p = first + row * stride + column;
        const int left = row < rows ? columns - column : 0;
        if (aligned && left > 0) return *reinterpret_cast<const float4*>(p);
        return float4{left > 0 ? p[0] : 0.0f, left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f,
                      left > 3 ? p[3] : 0.0f};
    }

    __device__ __forceinline__ void store(int row, int column, const float* v) const {
        float* p = first + row * stride + column;
        const int left = row < rows ? columns - column : 0;
        if (aligned) {
            if (left > 0) *reinterpret_cast<float4*>(p) = float4{v[0], v[1], v[2], v[3]};
        } else {
            for (int e = 0; e < 4 && e < left; e++) p[e] = v[e];
        }
    }
};

template <bool aligned>
__global__ void __launch_bounds__(THREADS)
    objects_kernel(matrix<aligned> C, matrix<aligned> A, matrix<aligned> B) {
    __shared__ __align__(16) float A_smem[BK][BM + 4], B_smem[BK][BN];
    const int t = threadIdx.x, row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int y = t / 8 * 4, x = t % 8 * 4;  // and 64 rows below, 32 columns to the right
    float sum[8][8] = {};
    for (int k0 = 0; k0 < A.columns; k0 += BK) {
        for (int i = t; i < BM * BK / 4; i += THREADS) {
            const int row = i / (BK / 4), k = i % (BK / 4) * 4;
            const float4 a = A.load(row0 + row, k0 + k);
            A_smem[k][row] = a.x, A_smem[k + 1][row] = a.y;
            A_smem[k + 2][row] = a.z, A_smem[k + 3][row] = a.w;
        }
        const int k = t / (BN / 4), column = t % (BN / 4) * 4;
        *(float4*)&B_smem[k][column] = B.load(k0 + k, column0 + column);
        __syncthreads();  // written -> read
        for (int n = 0; n < BK; n++) {
            const float4 a0 = *(float4*)&A_smem[n][y], a1 = *(float4*)&A_smem[n][y + 64];
            const float4 b0 = *(float4*)&B_smem[n][x], b1 = *(float4*)&B_smem[n][x + 32];
            const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            const float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();  // read -> overwritten
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j += 4)
            C.store(row0 + y + i / 4 * 64 + i % 4, column0 + x + j / 4 * 32, &sum[i][j]);
}

template <bool aligned>
static int launch(float* C, const float* A, const float* B, int M, int N, int K,
                  const int64_t stride[3]) {
    const matrix<aligned> c = {C, M, N, stride[0]}, a = {(float*)A, M, K, stride[1]},
                          b = {(float*)B, K, N, stride[2]};
    objects_kernel<aligned><<<dim3(CEIL_DIV(N, BN), CEIL_DIV(M, BM)), THREADS>>>(c, a, b);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int register_tiling(float* C, const float* A, const float* B, int M, int N, int K,
                               int64_t stride_C, int64_t stride_A, int64_t stride_B) {
    const int limit = REGISTER_TILING_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (stride_C < N || stride_A < K || stride_B < N) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!C || (K > 0 && (!A || !B))) return COURSE_BAD_ARGUMENT;
    const int64_t stride[3] = {stride_C, stride_A, stride_B};
    const bool aligned = (N | K) % 4 == 0 && (stride_C | stride_A | stride_B) % 4 == 0 &&
                         ((uintptr_t)C | (uintptr_t)A | (uintptr_t)B) % 16 == 0;
    return aligned ? launch<true>(C, A, B, M, N, K, stride)
                   : launch<false>(C, A, B, M, N, K, stride);
}
