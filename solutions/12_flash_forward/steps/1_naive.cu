// 1_naive.cu: attention as the formula says it, in three kernels, with S and P in global memory.
//
//     S = scale Q K^T            one thread per element of S
//     P = softmax(S)             one thread per row; LSE on the way
//     O = P V                    one thread per element of O
//
// The contract gives no scratch memory, and this version needs 2 B N_q N_k floats of it: the
// launcher allocates them and frees them again. That is exactly what the lesson gets rid of. At N_q
// = N_k = 16384 with 512 heads it would be 1 TiB, and at any size the GPU spends its time on
// writing S, reading it, writing P and reading that.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK 16         // threads per side of a block in the two products
#define ROWS 64          // threads, and rows, per block of the softmax
#define MIN_LENGTH 16    // N_q, N_k and d are powers of two from here on
#define MAX_HEAD 256     // the largest d
#define MAX_BATCH 65535  // the limit of gridDim.y

// ---- GPU kernels ---------------------------------------------------------------------------

// S = scale Q K^T                                                                  (README eq. 1)
__global__ void scores_kernel(float* S,                    // (B, N_q, N_k) packed
                              const fp16* __restrict__ Q,  // (B, N_q, d)
                              const fp16* __restrict__ K,  // (B, N_k, d)
                              int N_q, int N_k, int d, int64_t stride_qb, int64_t stride_qn,
                              int64_t stride_kb, int64_t stride_kn, float scale) {
    int64_t batch = blockIdx.z;                             // [0, B)
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.y;  // [0, N_q)
    int64_t j = (int64_t)blockIdx.y * BLOCK + threadIdx.x;  // [0, N_k)
    const fp16* q = Q + batch * stride_qb + i * stride_qn;
    const fp16* k = K + batch * stride_kb + j * stride_kn;

    // S[i][j] = scale * sum_x Q[i][x] K[j][x]
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += __half2float(q[x]) * __half2float(k[x]);
    S[(batch * N_q + i) * N_k + j] = scale * sum;
}

// P = softmax(S), LSE = m + ln l                                                   (README eq. 2)
__global__ void softmax_kernel(float* P,                     // (B, N_q, N_k) packed
                               float* LSE,                   // (B, N_q)
                               const float* __restrict__ S,  // (B, N_q, N_k) packed
                               int N_q, int N_k, int64_t stride_lb) {
    int64_t batch = blockIdx.y;
    int i = blockIdx.x * ROWS + threadIdx.x;
    if (i >= N_q) return;  // no barrier below
    const float* s = S + (batch * N_q + i) * N_k;
    float* p = P + (batch * N_q + i) * N_k;

    // Three passes over the row: its maximum, the sum, the division.
    float m = -INFINITY;
    for (int j = 0; j < N_k; j++) m = fmaxf(m, s[j]);
    float l = 0.0f;
    for (int j = 0; j < N_k; j++) l += expf(s[j] - m);
    for (int j = 0; j < N_k; j++) p[j] = expf(s[j] - m) / l;
    LSE[batch * stride_lb + i] = m + logf(l);
}

// O = P V                                                                          (README eq. 3)
__global__ void output_kernel(fp16* O,                      // (B, N_q, d)
                              const float* __restrict__ P,  // (B, N_q, N_k) packed
                              const fp16* __restrict__ V,   // (B, N_k, d)
                              int N_q, int N_k, int64_t stride_ob, int64_t stride_on,
                              int64_t stride_vb, int64_t stride_vn) {
    int64_t batch = blockIdx.z;
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.y;  // [0, N_q)
    int x = blockIdx.y * BLOCK + threadIdx.x;               // [0, d)
    const float* p = P + (batch * N_q + i) * N_k;
    const fp16* v = V + batch * stride_vb + x;

    // O[i][x] = sum_j P[i][j] V[j][x]
    float sum = 0.0f;
    for (int j = 0; j < N_k; j++) sum += p[j] * __half2float(v[j * stride_vn]);
    O[batch * stride_ob + i * stride_on + x] = __float2half(sum);
}

// ---- launcher ------------------------------------------------------------------------------

// n is 16, 32, 64, ...
static int is_supported_length(int n) {
    return n >= MIN_LENGTH && (n & (n - 1)) == 0;
}

// d is 16, 32, 64, 128 or 256.
static int is_supported_head(int d) {
    return is_supported_length(d) && d <= MAX_HEAD;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (B > MAX_BATCH || !is_supported_length(N_q) || !is_supported_length(N_k))
        return COURSE_UNSUPPORTED;
    if (!is_supported_head(d)) return COURSE_UNSUPPORTED;
    if (B == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;

    size_t elements = (size_t)B * N_q * N_k;
    float* S_gpu;
    COURSE_TRY(cudaMalloc(&S_gpu, 2 * elements * sizeof(float)));
    float* P_gpu = S_gpu + elements;

    // Every size is a multiple of BLOCK: no block hangs over an edge.
    dim3 block(BLOCK, BLOCK);
    dim3 grid_scores(N_q / BLOCK, N_k / BLOCK, B);
    dim3 grid_softmax(CEIL_DIV(N_q, ROWS), B);
    dim3 grid_output(N_q / BLOCK, d / BLOCK, B);
    scores_kernel<<<grid_scores, block>>>(S_gpu, Q_gpu, K_gpu, N_q, N_k, d, stride_qb, stride_qn,
                                          stride_kb, stride_kn, scale);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        softmax_kernel<<<grid_softmax, ROWS>>>(P_gpu, LSE_gpu, S_gpu, N_q, N_k, stride_lb);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        output_kernel<<<grid_output, block>>>(O_gpu, P_gpu, V_gpu, N_q, N_k, stride_ob, stride_on,
                                              stride_vb, stride_vn);
        error = cudaGetLastError();
    }
    if (cudaFree(S_gpu) != cudaSuccess || error != cudaSuccess) return COURSE_CUDA_ERROR;
    return COURSE_OK;
}
