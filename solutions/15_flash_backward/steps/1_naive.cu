// 1_naive.cu: the gradients as the equations say them, with P and dS in global memory.
//
//     P, dS = P * (dP - delta)        one thread per element of both
//     dV = P^T dO,  dK = scale dS^T Q,  dQ = scale dS K       one thread per element
//
// The workspace of the contract has no room for P and dS: the launcher allocates 2 B H N_q N_k
// floats for them and frees them again. At N_q = N_k = 16384 with 32 heads these are 64 GiB, and at
// any size the GPU spends its time on writing them and on reading them back column by column.
#include "flash_backward.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK 16          // threads per side of a block
#define MAX_HEAD 256      // the largest d
#define MAX_GRID_Z 65535  // the limit of gridDim.z

// ---- GPU kernels ---------------------------------------------------------------------------

// P = exp(S - LSE), 0 where hidden;  dS = P * (dP - delta)              (README eq. 1 to 4, 6, 7)
// Grid (ceil(N_k / BLOCK), ceil(N_q / BLOCK), B * H).
__global__ void weights_kernel(float* P,                     // (B, H, N_q, N_k)
                               float* dS,                    // (B, H, N_q, N_k)
                               const fp16* __restrict__ Q,   // (B, N_q, H, d)
                               const fp16* __restrict__ K,   // (B, N_k, H, d)
                               const fp16* __restrict__ V,   // (B, N_k, H, d)
                               const fp16* __restrict__ O,   // (B, N_q, H, d)
                               const float* LSE,             // (B, H, N_q)
                               const fp16* __restrict__ dO,  // (B, N_q, H, d)
                               int N_q, int N_k, int H, int d, struct strides stride_q,
                               struct strides stride_k, struct strides stride_v,
                               struct strides stride_o, struct strides stride_do, float scale,
                               int causal) {
    int64_t batch = blockIdx.z / H;                         // [0, B)
    int64_t head = blockIdx.z % H;                          // [0, H)
    int64_t i = (int64_t)blockIdx.y * BLOCK + threadIdx.y;  // [0, N_q)
    int64_t j = (int64_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, N_k)
    if (i >= N_q || j >= N_k) return;
    const fp16* q = Q + batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    const fp16* k = K + batch * stride_k.b + head * stride_k.h + j * stride_k.n;
    const fp16* v = V + batch * stride_v.b + head * stride_v.h + j * stride_v.n;
    const fp16* o = O + batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    const fp16* g = dO + batch * stride_do.b + head * stride_do.h + i * stride_do.n;
    int64_t row = (batch * H + head) * N_q + i;

    // S[i][j] = scale * sum_x Q[i][x] K[j][x],  dP[i][j] = sum_x dO[i][x] V[j][x]
    // delta[i] = sum_x dO[i][x] O[i][x], by every thread of the row
    float s = 0.0f;
    float dP = 0.0f;
    float delta = 0.0f;
    for (int x = 0; x < d; x++) {
        s += __half2float(q[x]) * __half2float(k[x]);
        dP += __half2float(g[x]) * __half2float(v[x]);
        delta += __half2float(g[x]) * __half2float(o[x]);
    }
    bool seen = !causal || j <= i + N_k - N_q;
    float p = seen ? expf(scale * s - LSE[row]) : 0.0f;
    P[row * N_k + j] = p;
    dS[row * N_k + j] = p * (dP - delta);
}

// out[j][x] = factor * sum_i W[i][j] in[i][x]: dV from P and dO, dK from dS and Q (README eq. 5, 8)
// Grid (ceil(d / BLOCK), ceil(N_k / BLOCK), B * H).
__global__ void columns_kernel(fp16* out,                    // (B, N_k, H, d)
                               const float* __restrict__ W,  // (B, H, N_q, N_k)
                               const fp16* __restrict__ in,  // (B, N_q, H, d)
                               int N_q, int N_k, int H, int d, struct strides stride_out,
                               struct strides stride_in, float factor) {
    int64_t batch = blockIdx.z / H;
    int64_t head = blockIdx.z % H;
    int64_t j = (int64_t)blockIdx.y * BLOCK + threadIdx.y;  // [0, N_k)
    int x = blockIdx.x * BLOCK + threadIdx.x;               // [0, d)
    if (j >= N_k || x >= d) return;
    W += (batch * H + head) * N_q * N_k + j;
    in += batch * stride_in.b + head * stride_in.h + x;
    float sum = 0.0f;
    for (int64_t i = 0; i < N_q; i++) sum += W[i * N_k] * __half2float(in[i * stride_in.n]);
    out[batch * stride_out.b + head * stride_out.h + j * stride_out.n + x] =
        __float2half(factor * sum);
}

// dQ[i][x] = scale * sum_j dS[i][j] K[j][x]                                        (README eq. 9)
// Grid (ceil(d / BLOCK), ceil(N_q / BLOCK), B * H).
__global__ void rows_kernel(fp16* dQ,                      // (B, N_q, H, d)
                            const float* __restrict__ dS,  // (B, H, N_q, N_k)
                            const fp16* __restrict__ K,    // (B, N_k, H, d)
                            int N_q, int N_k, int H, int d, struct strides stride_dq,
                            struct strides stride_k, float scale) {
    int64_t batch = blockIdx.z / H;
    int64_t head = blockIdx.z % H;
    int64_t i = (int64_t)blockIdx.y * BLOCK + threadIdx.y;  // [0, N_q)
    int x = blockIdx.x * BLOCK + threadIdx.x;               // [0, d)
    if (i >= N_q || x >= d) return;
    dS += ((batch * H + head) * N_q + i) * N_k;
    K += batch * stride_k.b + head * stride_k.h + x;
    float sum = 0.0f;
    for (int64_t j = 0; j < N_k; j++) sum += dS[j] * __half2float(K[j * stride_k.n]);
    dQ[batch * stride_dq.b + head * stride_dq.h + i * stride_dq.n + x] = __float2half(scale * sum);
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and a row is not longer than the way to the next.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int flash_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu,
                              const fp16* K_gpu, const fp16* V_gpu, const fp16* O_gpu,
                              const float* LSE_gpu, const fp16* dO_gpu, int B, int N_q, int N_k,
                              int H, int d, struct strides stride_dq, struct strides stride_dk,
                              struct strides stride_dv, struct strides stride_q,
                              struct strides stride_k, struct strides stride_v,
                              struct strides stride_o, struct strides stride_do, float scale,
                              int causal, void* workspace_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Z) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    if (!is_valid(stride_dq, d) || !is_valid(stride_dk, d) || !is_valid(stride_dv, d) ||
        !is_valid(stride_q, d) || !is_valid(stride_k, d) || !is_valid(stride_v, d) ||
        !is_valid(stride_o, d) || !is_valid(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    int64_t count = (int64_t)B * H * N_q * N_k;  // elements of P; 0: the sums below have no terms
    float* P_gpu = NULL;
    if (count > 0) COURSE_TRY(cudaMalloc((void**)&P_gpu, 2 * (size_t)count * sizeof(float)));
    float* dS_gpu = P_gpu ? P_gpu + count : NULL;

    dim3 block(BLOCK, BLOCK);
    if (count > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_k, BLOCK), CEIL_DIV((int64_t)N_q, BLOCK), B * H);
        weights_kernel<<<grid, block>>>(P_gpu, dS_gpu, Q_gpu, K_gpu, V_gpu, O_gpu, LSE_gpu, dO_gpu,
                                        N_q, N_k, H, d, stride_q, stride_k, stride_v, stride_o,
                                        stride_do, scale, causal);
    }
    if (N_k > 0) {
        dim3 grid(CEIL_DIV(d, BLOCK), CEIL_DIV((int64_t)N_k, BLOCK), B * H);
        columns_kernel<<<grid, block>>>(dV_gpu, P_gpu, dO_gpu, N_q, N_k, H, d, stride_dv, stride_do,
                                        1.0f);
        columns_kernel<<<grid, block>>>(dK_gpu, dS_gpu, Q_gpu, N_q, N_k, H, d, stride_dk, stride_q,
                                        scale);
    }
    if (N_q > 0) {
        dim3 grid(CEIL_DIV(d, BLOCK), CEIL_DIV((int64_t)N_q, BLOCK), B * H);
        rows_kernel<<<grid, block>>>(dQ_gpu, dS_gpu, K_gpu, N_q, N_k, H, d, stride_dq, stride_k,
                                     scale);
    }
    cudaError_t launched = cudaGetLastError();
    cudaError_t freed = cudaFree(P_gpu);  // waits for the kernels; NULL is fine
    return launched == cudaSuccess && freed == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
