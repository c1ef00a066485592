// cublas.cu: lesson 24's contract, done by cuBLAS: what to compare with.
#include "hopper_matmul.h"

#include <cublas_v2.h>

// cuBLAS counts by columns: what it sees is C^T = B^T A^T.
extern "C" int hopper_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K,
                             int64_t stride_C, int64_t stride_A, int64_t stride_B, int transpose_A,
                             int transpose_B) {
    static cublasHandle_t cublas;
    const float one = 1.0f, zero = 0.0f;
    if (!cublas && cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) return COURSE_CUDA_ERROR;
    // Sums in fp32 to the end: by default, it may add parts of a sum that are rounded to bf16
    // already.
    if (cublasSetMathMode(cublas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) !=
        CUBLAS_STATUS_SUCCESS)
        return COURSE_CUDA_ERROR;
    cublasStatus_t status = cublasGemmEx(
        cublas, transpose_B ? CUBLAS_OP_T : CUBLAS_OP_N, transpose_A ? CUBLAS_OP_T : CUBLAS_OP_N, N,
        M, K, &one, B_gpu, CUDA_R_16BF, (int)stride_B, A_gpu, CUDA_R_16BF, (int)stride_A, &zero,
        C_gpu, CUDA_R_16BF, (int)stride_C, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? COURSE_OK : COURSE_CUDA_ERROR;
}
