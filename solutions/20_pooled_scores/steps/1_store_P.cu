// 1_store_P.cu: the equations as they stand, with P in global memory.
//
//     S = scale Q K^T              one thread per element
//     P = softmax(S), LSE          one thread per row
//     O = P V                      one thread per element
//     R = mean of P over a pool    one thread per element
//
// There is no workspace: the launcher allocates B H N_q N_k floats for S, which become P, and frees
// them again. At N_q = N_k = 16384 with 32 heads these are 32 GiB, to get an R that, for pools of
// 64, has 8 MiB. And the GPU spends its time on writing and reading them.
#include "pooled_scores.h"

#include <cuda_bf16.h>
#include <math.h>

#define BLOCK 16          // threads per side of a block
#define THREADS 256       // threads of a block that has one side
#define MAX_POOL 128      // the largest pool
#define MAX_GRID_Z 65535  // the limit of gridDim.z

// ---- GPU kernels ---------------------------------------------------------------------------

// S, and -infinity where query i does not see key j                                  (README eq. 1)
// Grid (ceil(N_q / BLOCK), ceil(N_k / BLOCK), B * H).
__global__ void scores_kernel(float* S,                    // (B, H, N_q, N_k)
                              const bf16* __restrict__ Q,  // (B, N_q, H, d)
                              const bf16* __restrict__ K,  // (B, N_k, H, d)
                              int N_q, int N_k, int H, int d, struct strides stride_q,
                              struct strides stride_k, float scale, int causal) {
    int64_t batch = blockIdx.z / H;                         // [0, B)
    int64_t head = blockIdx.z % H;                          // [0, H)
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.y;  // [0, N_q)
    int64_t j = (int64_t)blockIdx.y * BLOCK + threadIdx.x;  // [0, N_k)
    if (i >= N_q || j >= N_k) return;
    const bf16* q = Q + batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    const bf16* k = K + batch * stride_k.b + head * stride_k.h + j * stride_k.n;
    float s = 0.0f;
    for (int x = 0; x < d; x++) s += __bfloat162float(q[x]) * __bfloat162float(k[x]);
    bool seen = !causal || j <= i + N_k - N_q;
    S[((batch * H + head) * N_q + i) * N_k + j] = seen ? scale * s : -INFINITY;
}

// P = exp(S - LSE) over S, row by row; all 0 in a row that sees no key
// Grid (ceil(rows / THREADS)).
__global__ void softmax_kernel(float* P,    // in S, out P: (rows, N_k)
                               float* LSE,  // (rows)
                               int64_t rows, int N_k) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;  // [0, rows)
    if (row >= rows) return;
    P += row * N_k;
    float m = -INFINITY;
    for (int j = 0; j < N_k; j++) m = fmaxf(m, P[j]);
    float l = 0.0f;
    for (int j = 0; j < N_k; j++) l += m == -INFINITY ? 0.0f : expf(P[j] - m);
    for (int j = 0; j < N_k; j++) P[j] = m == -INFINITY ? 0.0f : expf(P[j] - m) / l;
    LSE[row] = m + logf(l);
}

// O = P V
// Grid (ceil(N_q / BLOCK), ceil(d / BLOCK), B * H).
__global__ void output_kernel(bf16* O,                      // (B, N_q, H, d)
                              const float* __restrict__ P,  // (B, H, N_q, N_k)
                              const bf16* __restrict__ V,   // (B, N_k, H, d)
                              int N_q, int N_k, int H, int d, struct strides stride_o,
                              struct strides stride_v) {
    int64_t batch = blockIdx.z / H;                         // [0, B)
    int64_t head = blockIdx.z % H;                          // [0, H)
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.y;  // [0, N_q)
    int x = blockIdx.y * BLOCK + threadIdx.x;               // [0, d)
    if (i >= N_q || x >= d) return;
    P += ((batch * H + head) * N_q + i) * N_k;
    V += batch * stride_v.b + head * stride_v.h + x;
    float o = 0.0f;
    for (int64_t j = 0; j < N_k; j++) o += P[j] * __bfloat162float(V[j * stride_v.n]);
    O[batch * stride_o.b + head * stride_o.h + i * stride_o.n + x] = __float2bfloat16(o);
}

// R[I][J] = mean of P[i][j] over the rows i and columns j that the pool has          (README eq. 2)
// Grid (ceil(n_I / BLOCK), ceil(n_J / BLOCK), B * H).
__global__ void pool_kernel(float* R,                     // (B, H, n_I, n_J)
                            const float* __restrict__ P,  // (B, H, N_q, N_k)
                            int N_q, int N_k, int64_t n_I, int64_t n_J, int pool) {
    int64_t I = (int64_t)blockIdx.x * BLOCK + threadIdx.y;  // [0, n_I)
    int64_t J = (int64_t)blockIdx.y * BLOCK + threadIdx.x;  // [0, n_J)
    if (I >= n_I || J >= n_J) return;
    int64_t head = blockIdx.z;  // of all heads of all batches
    int64_t rows = N_q - I * pool < pool ? N_q - I * pool : pool;
    int64_t columns = N_k - J * pool < pool ? N_k - J * pool : pool;
    P += (head * N_q + I * pool) * N_k + J * pool;
    float total = 0.0f;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) total += P[i * N_k + j];
    R[(head * n_I + I) * n_J + J] = total / (float)(rows * columns);
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Each row begins at a multiple of 16 bytes.
static int is_aligned(const bf16* rows, struct strides stride) {
    return (uintptr_t)rows % 16 == 0 && (stride.b | stride.n | stride.h) % 8 == 0;
}

extern "C" int pooled_scores(bf16* O_gpu, float* LSE_gpu, float* R_gpu, const bf16* Q_gpu,
                             const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k, int H,
                             int d, int pool, struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (pool > MAX_POOL || (d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Z || !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!R_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    int64_t rows = (int64_t)B * H * N_q;
    int64_t count = rows * N_k;  // elements of P; 0: the sums below have no terms
    float* P_gpu = NULL;
    if (count > 0) COURSE_TRY(cudaMalloc((void**)&P_gpu, (size_t)count * sizeof(float)));

    dim3 block(BLOCK, BLOCK);
    dim3 P_grid(CEIL_DIV((int64_t)N_q, BLOCK), CEIL_DIV((int64_t)N_k, BLOCK), B * H);
    dim3 O_grid(CEIL_DIV((int64_t)N_q, BLOCK), CEIL_DIV(d, BLOCK), B * H);
    int64_t n_I = CEIL_DIV((int64_t)N_q, pool);
    int64_t n_J = CEIL_DIV((int64_t)N_k, pool);
    dim3 R_grid(CEIL_DIV(n_I, BLOCK), CEIL_DIV(n_J, BLOCK), B * H);
    if (count > 0)
        scores_kernel<<<P_grid, block>>>(P_gpu, Q_gpu, K_gpu, N_q, N_k, H, d, stride_q, stride_k,
                                         scale, causal);
    softmax_kernel<<<CEIL_DIV(rows, THREADS), THREADS>>>(P_gpu, LSE_gpu, rows, N_k);
    output_kernel<<<O_grid, block>>>(O_gpu, P_gpu, V_gpu, N_q, N_k, H, d, stride_o, stride_v);
    if (count > 0) pool_kernel<<<R_grid, block>>>(R_gpu, P_gpu, N_q, N_k, n_I, n_J, pool);

    cudaError_t launched = cudaGetLastError();
    cudaError_t freed = cudaFree(P_gpu);  // waits for the kernels; NULL is fine
    return launched == cudaSuccess && freed == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
