// naive.cu: a right answer without the idea of the lesson: a thread per element of C, on the
// ordinary cores, from global memory.
//
//     C[i][j] = sum_k A[i][k] * B[k][j]                                        (README eq. 1)
#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

enum { SIDE = 16 };  // threads per side of a block

__global__ void naive_kernel(bf16* C,        // (M, N)
                             const bf16* A,  // (M, K)
                             const bf16* B,  // (K, N)
                             int M, int N, int K) {
    int64_t i = (int64_t)blockIdx.y * SIDE + threadIdx.y;  // [0, M)
    int64_t j = (int64_t)blockIdx.x * SIDE + threadIdx.x;  // [0, N)
    if (i >= M || j >= N) return;
    float sum = 0.0f;
    for (int64_t k = 0; k < K; k++)
        sum += __bfloat162float(A[i * K + k]) * __bfloat162float(B[k * N + j]);
    C[i * N + j] = __float2bfloat16(sum);
}

int tensor_core_matmul(bf16* C_gpu, const bf16* A_gpu, const bf16* B_gpu, int M, int N, int K) {
    if (M < 0 || N < 0 || K < 0) return COURSE_BAD_ARGUMENT;
    if (M > TENSOR_CORE_MATMUL_MAX_SIZE || N > TENSOR_CORE_MATMUL_MAX_SIZE ||
        K > TENSOR_CORE_MATMUL_MAX_SIZE)
        return COURSE_UNSUPPORTED;
    if (M == 0 || N == 0) return COURSE_OK;
    if (C_gpu == NULL || (K > 0 && (A_gpu == NULL || B_gpu == NULL))) return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV(N, SIDE), CEIL_DIV(M, SIDE)), block(SIDE, SIDE);
    naive_kernel<<<grid, block>>>(C_gpu, A_gpu, B_gpu, M, N, K);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
