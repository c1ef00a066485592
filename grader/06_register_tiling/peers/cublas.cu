// cublas.cu: lesson 06's contract, done by cuBLAS in fp32 without tensor cores: what to compare
// with.
#include "register_tiling.h"

#include <cublas_v2.h>

// cuBLAS counts by columns: what it sees is C^T = B^T A^T. PEDANTIC: no TF32.
extern "C" int register_tiling(float* C_gpu, const float* A_gpu, const float* B_gpu, int M, int N,
                               int K, int64_t stride_C, int64_t stride_A, int64_t stride_B) {
    static cublasHandle_t cublas;
    const float one = 1.0f, zero = 0.0f;
    if (!cublas && cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) return COURSE_CUDA_ERROR;
    cublasStatus_t status =
        cublasGemmEx_64(cublas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B_gpu, CUDA_R_32F,
                        stride_B, A_gpu, CUDA_R_32F, stride_A, &zero, C_gpu, CUDA_R_32F, stride_C,
                        CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? COURSE_OK : COURSE_CUDA_ERROR;
}
