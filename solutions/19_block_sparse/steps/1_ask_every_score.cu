// 1_ask_every_score.cu: the equations as they stand, a thread per row of each result, no shared
// memory.
//
// Every thread asks the mask before every score, and reads for itself each row of K and V (or Q and
// dO) that it needs: 128 queries that see a block read its keys 128 times. Hidden scores cost a
// look at the mask; still N_q N_k of them are looked at.
#include "block_sparse.h"

#include <cuda_fp16.h>
#include <math.h>

#define THREADS 32        // rows per block
#define MAX_HEAD 256      // the largest d
#define MAX_GRID_Y 65535  // the limit of gridDim.y

// ---- device helpers ------------------------------------------------------------------------

__device__ bool is_active(const uint8_t* mask, int64_t i, int64_t j, int N_k) {
    return mask[i / SPARSE_BLOCK * SPARSE_BLOCKS(N_k) + j / SPARSE_BLOCK] != 0;
}

__device__ float dot(const fp16* a, const fp16* b, int d) {
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += __half2float(a[x]) * __half2float(b[x]);
    return sum;
}

// P_ij and dS_ij.                                                              (README eq. 1, 5, 6)
__device__ void weigh(float* p, float* dS, const fp16* q, const fp16* k, const fp16* v,
                      const fp16* o, const fp16* g, float LSE, int d, float scale) {
    *p = expf(scale * dot(q, k, d) - LSE);
    *dS = *p * (dot(g, v, d) - dot(g, o, d));
}

// ---- GPU kernels ---------------------------------------------------------------------------

// O_i and LSE_i of one query.                                                  (README eq. 1, 2, 4)
// Grid (ceil(N_q / THREADS), B * H).
__global__ void forward_kernel(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V,
                               const uint8_t* mask, int N_q, int N_k, int H, int d,
                               struct strides stride_o, struct strides stride_q,
                               struct strides stride_k, struct strides stride_v, float scale) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;  // [0, N_q)
    int64_t batch = blockIdx.y / H;
    int64_t head = blockIdx.y % H;
    if (i >= N_q) return;
    mask += blockIdx.y * SPARSE_BLOCKS(N_q) * SPARSE_BLOCKS(N_k);
    Q += batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;

    // m, l and O, key by key: alpha = exp(m - m_new), p = exp(S[i][j] - m_new)
    float m = -INFINITY;
    float l = 0.0f;
    float sum[MAX_HEAD];
    for (int x = 0; x < d; x++) sum[x] = 0.0f;
    for (int64_t j = 0; j < N_k; j++) {
        if (!is_active(mask, i, j, N_k)) continue;
        float s = scale * dot(Q, K + j * stride_k.n, d);
        float m_new = fmaxf(m, s);
        float alpha = expf(m - m_new);
        float p = expf(s - m_new);
        l = alpha * l + p;
        for (int x = 0; x < d; x++)
            sum[x] = alpha * sum[x] + p * __half2float(V[j * stride_v.n + x]);
        m = m_new;
    }
    for (int x = 0; x < d; x++) O[x] = __float2half(l > 0.0f ? sum[x] / l : 0.0f);
    LSE[blockIdx.y * (int64_t)N_q + i] = m + logf(l);
}

// dK_j and dV_j of one key.                                                       (README eq. 7, 8)
// Grid (ceil(N_k / THREADS), B * H).
__global__ void dk_dv_kernel(fp16* dK, fp16* dV, const fp16* Q, const fp16* K, const fp16* V,
                             const fp16* O, const float* LSE, const fp16* dO, const uint8_t* mask,
                             int N_q, int N_k, int H, int d, struct strides stride_dk,
                             struct strides stride_dv, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v,
                             struct strides stride_o, struct strides stride_do, float scale) {
    int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;  // [0, N_k)
    int64_t batch = blockIdx.y / H;
    int64_t head = blockIdx.y % H;
    if (j >= N_k) return;
    mask += blockIdx.y * SPARSE_BLOCKS(N_q) * SPARSE_BLOCKS(N_k);
    K += batch * stride_k.b + head * stride_k.h + j * stride_k.n;
    V += batch * stride_v.b + head * stride_v.h + j * stride_v.n;
    dK += batch * stride_dk.b + head * stride_dk.h + j * stride_dk.n;
    dV += batch * stride_dv.b + head * stride_dv.h + j * stride_dv.n;
    float dK_sum[MAX_HEAD];
    float dV_sum[MAX_HEAD];
    for (int x = 0; x < d; x++) dK_sum[x] = dV_sum[x] = 0.0f;
    for (int64_t i = 0; i < N_q; i++) {
        if (!is_active(mask, i, j, N_k)) continue;
        const fp16* q = Q + batch * stride_q.b + head * stride_q.h + i * stride_q.n;
        const fp16* o = O + batch * stride_o.b + head * stride_o.h + i * stride_o.n;
        const fp16* g = dO + batch * stride_do.b + head * stride_do.h + i * stride_do.n;
        float p;
        float dS;
        weigh(&p, &dS, q, K, V, o, g, LSE[blockIdx.y * (int64_t)N_q + i], d, scale);
        for (int x = 0; x < d; x++) {
            dK_sum[x] += dS * __half2float(q[x]);
            dV_sum[x] += p * __half2float(g[x]);
        }
    }
    for (int x = 0; x < d; x++) {
        dK[x] = __float2half(scale * dK_sum[x]);
        dV[x] = __float2half(dV_sum[x]);
    }
}

// dQ_i of one query.                                                                 (README eq. 9)
// Grid (ceil(N_q / THREADS), B * H).
__global__ void dq_kernel(fp16* dQ, const fp16* Q, const fp16* K, const fp16* V, const fp16* O,
                          const float* LSE, const fp16* dO, const uint8_t* mask, int N_q, int N_k,
                          int H, int d, struct strides stride_dq, struct strides stride_q,
                          struct strides stride_k, struct strides stride_v, struct strides stride_o,
                          struct strides stride_do, float scale) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;  // [0, N_q)
    int64_t batch = blockIdx.y / H;
    int64_t head = blockIdx.y % H;
    if (i >= N_q) return;
    mask += blockIdx.y * SPARSE_BLOCKS(N_q) * SPARSE_BLOCKS(N_k);
    Q += batch * stride_q.b + head * stride_q.h + i * stride_q.n;
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    dO += batch * stride_do.b + head * stride_do.h + i * stride_do.n;
    dQ += batch * stride_dq.b + head * stride_dq.h + i * stride_dq.n;
    float sum[MAX_HEAD];
    for (int x = 0; x < d; x++) sum[x] = 0.0f;
    for (int64_t j = 0; j < N_k; j++) {
        if (!is_active(mask, i, j, N_k)) continue;
        const fp16* k = K + batch * stride_k.b + head * stride_k.h + j * stride_k.n;
        const fp16* v = V + batch * stride_v.b + head * stride_v.h + j * stride_v.n;
        float p;
        float dS;
        weigh(&p, &dS, Q, k, v, O, dO, LSE[blockIdx.y * (int64_t)N_q + i], d, scale);
        for (int x = 0; x < d; x++) sum[x] += dS * __half2float(k[x]);
    }
    for (int x = 0; x < d; x++) dQ[x] = __float2half(scale * sum[x]);
}

// ---- launchers -----------------------------------------------------------------------------

// No stride is negative, and a row is not longer than the way to the next.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int block_sparse_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu,
                                    const fp16* K_gpu, const fp16* V_gpu, const uint8_t* mask_gpu,
                                    int B, int N_q, int N_k, int H, int d, struct strides stride_o,
                                    struct strides stride_q, struct strides stride_k,
                                    struct strides stride_v, float scale, void* workspace_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || N_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !workspace_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu || !mask_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    dim3 grid(CEIL_DIV((int64_t)N_q, THREADS), B * H);
    forward_kernel<<<grid, THREADS>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, mask_gpu, N_q, N_k, H, d,
                                      stride_o, stride_q, stride_k, stride_v, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int block_sparse_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu,
                                     const fp16* K_gpu, const fp16* V_gpu, const fp16* O_gpu,
                                     const float* LSE_gpu, const fp16* dO_gpu,
                                     const uint8_t* mask_gpu, int B, int N_q, int N_k, int H, int d,
                                     struct strides stride_dq, struct strides stride_dk,
                                     struct strides stride_dv, struct strides stride_q,
                                     struct strides stride_k, struct strides stride_v,
                                     struct strides stride_o, struct strides stride_do, float scale,
                                     void* workspace_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    if (!workspace_gpu) return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu)) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && N_k > 0 && !mask_gpu) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_dq, d) || !is_valid(stride_dk, d) || !is_valid(stride_dv, d) ||
        !is_valid(stride_q, d) || !is_valid(stride_k, d) || !is_valid(stride_v, d) ||
        !is_valid(stride_o, d) || !is_valid(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_k, THREADS), B * H);
        dk_dv_kernel<<<grid, THREADS>>>(dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu, O_gpu, LSE_gpu, dO_gpu,
                                        mask_gpu, N_q, N_k, H, d, stride_dk, stride_dv, stride_q,
                                        stride_k, stride_v, stride_o, stride_do, scale);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, THREADS), B * H);
        dq_kernel<<<grid, THREADS>>>(dQ_gpu, Q_gpu, K_gpu, V_gpu, O_gpu, LSE_gpu, dO_gpu, mask_gpu,
                                     N_q, N_k, H, d, stride_dq, stride_q, stride_k, stride_v,
                                     stride_o, stride_do, scale);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
