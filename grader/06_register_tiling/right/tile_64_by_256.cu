// A tile of 64 x 256: four times as wide as high. One buffer, two barriers; how memory is accessed
// is a policy of the kernel.
#include "register_tiling.h"

constexpr int BM = 64, BN = 256, BK = 16, THREADS = 256;

struct fours {
    static __device__ __forceinline__ float4 load(const float* p, int left) {
        return left > 0 ? *(const float4*)p : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    static __device__ __forceinline__ void store(float* p, float4 v, int left) {
        if (left > 0) *(float4*)p = v;
    }
};

struct singles {
    static __device__ __forceinline__ float4 load(const float* p, int left) {
        return make_float4(left > 0 ? p[0] : 0.0f, left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f,
                           left > 3 ? p[3] : 0.0f);
    }
    static __device__ __forceinline__ void store(float* p, float4 v, int left) {
        if (left > 0) p[0] = v.x;
        if (left > 1) p[1] = v.y;
        if (left > 2) p[2] = v.z;
        if (left > 3) p[3] = v.w;
    }
};

template <class access>
__global__ void __launch_bounds__(THREADS)
    wide_kernel(float* C, const float* A, const float* B, int M, int N, int K, int64_t stride_C,
                int64_t stride_A, int64_t stride_B) {
    __shared__ __align__(16) float A_smem[BK][BM + 4], B_smem[BK][BN];
    const int t = threadIdx.x, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int A_row = t / 4, A_k = t % 4 * 4, B_k = t / 64, B_col = t % 64 * 4;
    const int y = t / 32 * 4, x = t % 32 * 4;  // and 32 rows below, 128 columns to the right
    float sum[8][8] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        const float4 a = access::load(A + (row0 + A_row) * stride_A + k0 + A_k,
                                      row0 + A_row < M ? K - k0 - A_k : 0);
        A_smem[A_k + 0][A_row] = a.x;
        A_smem[A_k + 1][A_row] = a.y;
        A_smem[A_k + 2][A_row] = a.z;
        A_smem[A_k + 3][A_row] = a.w;
        for (int k = B_k; k < BK; k += THREADS / 64)
            *(float4*)&B_smem[k][B_col] = access::load(B + (k0 + k) * stride_B + col0 + B_col,
                                                       k0 + k < K ? N - col0 - B_col : 0);
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            const float4 a0 = *(float4*)&A_smem[k][y], a1 = *(float4*)&A_smem[k][y + 32];
            const float4 b0 = *(float4*)&B_smem[k][x], b1 = *(float4*)&B_smem[k][x + 128];
            const float a_reg[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            const float b_reg[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sum[i][j] += a_reg[i] * b_reg[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) {
        const int row = row0 + y + i / 4 * 32 + i % 4;
        for (int j = 0; j < 8 && row < M; j += 4) {
            const int col = col0 + x + j / 4 * 128;
            const float4 v = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            access::store(C + row * stride_C + col, v, N - col);
        }
    }
}

extern "C" int register_tiling(float* C, const float* A, const float* B, int M, int N, int K,
                               int64_t stride_C, int64_t stride_A, int64_t stride_B) {
    const int limit = REGISTER_TILING_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (stride_C < N || stride_A < K || stride_B < N) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (!C || (K > 0 && (!A || !B))) return COURSE_BAD_ARGUMENT;
    const bool whole = N % 4 == 0 && K % 4 == 0 && (stride_C | stride_A | stride_B) % 4 == 0;
    const bool aligned = ((uintptr_t)C | (uintptr_t)A | (uintptr_t)B) % 16 == 0;
    const dim3 grid(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    if (whole && aligned)
        wide_kernel<fours><<<grid, THREADS>>>(C, A, B, M, N, K, stride_C, stride_A, stride_B);
    else
        wide_kernel<singles><<<grid, THREADS>>>(C, A, B, M, N, K, stride_C, stride_A, stride_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
