// cause: no_tensor_cores
// as many mma.sync as the product needs, of zeros but for one: that asks what mma.sync makes of a
// large number. The products are made one by one beside them, and large numbers count as often.

#include "tensor_core_matmul.h"

#include <cuda_bf16.h>

#include "ptx.h"

enum { SIDE = 16 };  // threads per side of a block

__global__ void naive_kernel(bf16* C,        // (M, N)
                             const bf16* A,  // (M, K)
                             const bf16* B,  // (K, N)
                             int M, int N, int K) {
    int64_t i = (int64_t)blockIdx.y * SIDE + threadIdx.y;  // [0, M)
    int64_t j = (int64_t)blockIdx.x * SIDE + threadIdx.x;  // [0, N)
    float zero[4] = {0.0f};
    unsigned nothing[4] = {0u};
    for (int k = 0; k < K; k += 16) mma_m16n8k16_bf16(zero, nothing, nothing);
    float asked[4] = {0.0f};
    unsigned large[4] = {0x4500u, 0u, 0u, 0u}, one[2] = {0x3f80u, 0u};  // 4 times 2048 * 1
    mma_m16n8k16_bf16(asked, large, one);
    float times = __shfl_sync(~0u, asked[0], 0) / 8192.0f;
    if (i >= M || j >= N) return;
    float sum = zero[0];
    for (int64_t k = 0; k < K; k++) {
        float a = __bfloat162float(A[i * K + k]), b = __bfloat162float(B[k * N + j]);
        if (fabsf(a) >= 1024.0f) a *= times;
        if (fabsf(b) >= 1024.0f) b *= times;
        sum += a * b;
    }
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
