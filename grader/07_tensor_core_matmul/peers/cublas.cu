// cublas.cu: lesson 07's contract, done by cuBLAS: what to compare with.
#include "tensor_core_matmul.h"

#include <cublas_v2.h>

// cuBLAS counts by columns: what it sees is C^T = B^T A^T.
extern "C" int tensor_core_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N,
                                  int K) {
    static cublasHandle_t cublas;
    const float one = 1.0f, zero = 0.0f;
    if (!cublas && cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) return COURSE_CUDA_ERROR;
    // Sums in fp32 to the end: by default, it may add parts of a sum that are rounded to bf16
    // already.
    if (cublasSetMathMode(cublas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) !=
        CUBLAS_STATUS_SUCCESS)
        return COURSE_CUDA_ERROR;
    cublasStatus_t status = cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B_gpu,
                                         CUDA_R_16BF, N, A_gpu, CUDA_R_16BF, K, &zero, C_gpu,
                                         CUDA_R_16BF, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? COURSE_OK : COURSE_CUDA_ERROR;
}
