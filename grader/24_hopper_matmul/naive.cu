// naive.cu: a right answer without the idea of the lesson: a thread per element of C, on the
// ordinary cores, from global memory.
//
//     C[i][j] = sum_k A[i][k] * B[k][j]                                        (README eq. 1)
#include "hopper_matmul.h"

#include <cuda_bf16.h>

enum { SIDE = 16 };  // threads per side of a block

// Element (row, col) of a matrix that may be stored transposed.
__device__ __forceinline__ float element(const bf16* matrix, int64_t row, int64_t col,
                                         int64_t stride, int transpose) {
    return __bfloat162float(matrix[transpose ? col * stride + row : row * stride + col]);
}

__global__ void naive_kernel(bf16* C,        // (M, N)
                             const bf16* A,  // (M, K)
                             const bf16* B,  // (K, N)
                             int M, int N, int K, int64_t stride_C, int64_t stride_A,
                             int64_t stride_B, int transpose_A, int transpose_B) {
    int64_t j = (int64_t)blockIdx.x * SIDE + threadIdx.x;  // [0, N)
    for (int64_t i = (int64_t)blockIdx.y * SIDE + threadIdx.y; i < M;
         i += (int64_t)gridDim.y * SIDE) {
        if (j >= N) continue;
        float sum = 0.0f;
        for (int64_t k = 0; k < K; k++)
            sum +=
                element(A, i, k, stride_A, transpose_A) * element(B, k, j, stride_B, transpose_B);
        C[i * stride_C + j] = __float2bfloat16(sum);
    }
}

static bool fits_tma(const bf16* matrix, int64_t stride) {
    return (uintptr_t)matrix % 16 == 0 && stride % 8 == 0 && stride < (int64_t)1 << 39;
}

extern "C" int hopper_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K,
                             int64_t stride_C, int64_t stride_A, int64_t stride_B, int transpose_A,
                             int transpose_B) {
    const int limit = HOPPER_MATMUL_MAX_SIZE;
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if ((transpose_A & ~1) || (transpose_B & ~1)) return COURSE_BAD_ARGUMENT;
    if (M > limit || N > limit || K > limit) return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (C_gpu == NULL || stride_C < N) return COURSE_BAD_ARGUMENT;
    if (K > 0 && (A_gpu == NULL || B_gpu == NULL || stride_A < (transpose_A ? M : K) ||
                  stride_B < (transpose_B ? K : N)))
        return COURSE_BAD_ARGUMENT;
    if (!fits_tma(C_gpu, stride_C)) return COURSE_UNSUPPORTED;
    if (K > 0 && (!fits_tma(A_gpu, stride_A) || !fits_tma(B_gpu, stride_B)))
        return COURSE_UNSUPPORTED;
    int device, major;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major != 9) return COURSE_UNSUPPORTED;

    int rows = CEIL_DIV(M, SIDE);
    dim3 grid(CEIL_DIV(N, SIDE), rows < 65535 ? rows : 65535), block(SIDE, SIDE);
    naive_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K, stride_C, stride_A, stride_B,
                                  transpose_A, transpose_B);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
