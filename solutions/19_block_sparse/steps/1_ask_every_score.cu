// 1_ask_every_score.cu: the equations as they stand, a thread per row of each result, no shared
// memory.
//
// Every thread asks the mask before every score, and reads for itself each row of K and V (or Q and
// dO) that it needs: 128 queries that see a block read its keys 128 times. Hidden scores cost a
// look at the mask; still N_q N_k of them are looked at.
#include "block_sparse.h"

#include <math.h>

#include "tile.h"

#define THREADS 32    // rows per block
#define MAX_HEAD 128  // the largest d

// ---- device helpers ------------------------------------------------------------------------

__device__ bool is_active(const uint8_t* mask, int64_t i, int64_t j, int N_k) {
    return mask[i / SPARSE_BLOCK * SPARSE_BLOCKS(N_k) + j / SPARSE_BLOCK] != 0;
}

__device__ float dot(const bf16* a, const bf16* b, int d) {
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += __bfloat162float(a[x]) * __bfloat162float(b[x]);
    return sum;
}

// P_ij and dS_ij.                                                              (README eq. 1, 5, 6)
__device__ void weigh(float* p, float* dS, const bf16* q, const bf16* k, const bf16* v,
                      const bf16* o, const bf16* g, float LSE, int d, float scale) {
    *p = expf(scale * dot(q, k, d) - LSE);
    *dS = *p * (dot(g, v, d) - dot(g, o, d));
}

// ---- GPU kernels ---------------------------------------------------------------------------

// O_i and LSE_i of one query.                                                  (README eq. 1, 2, 4)
// Grid (ceil(N_q / THREADS), B * H).
__global__ void forward_kernel(bf16* O, float* LSE, const bf16* Q, const bf16* K, const bf16* V,
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
            sum[x] = alpha * sum[x] + p * __bfloat162float(V[j * stride_v.n + x]);
        m = m_new;
    }
    for (int x = 0; x < d; x++) O[x] = __float2bfloat16(l > 0.0f ? sum[x] / l : 0.0f);
    LSE[blockIdx.y * (int64_t)N_q + i] = m + logf(l);
}

// dK_j and dV_j of one key.                                                       (README eq. 7, 8)
// Grid (ceil(N_k / THREADS), B * H).
__global__ void dk_dv_kernel(bf16* dK, bf16* dV, const bf16* Q, const bf16* K, const bf16* V,
                             const bf16* O, const float* LSE, const bf16* dO, const uint8_t* mask,
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
        const bf16* q = Q + batch * stride_q.b + head * stride_q.h + i * stride_q.n;
        const bf16* o = O + batch * stride_o.b + head * stride_o.h + i * stride_o.n;
        const bf16* g = dO + batch * stride_do.b + head * stride_do.h + i * stride_do.n;
        float p;
        float dS;
        weigh(&p, &dS, q, K, V, o, g, LSE[blockIdx.y * (int64_t)N_q + i], d, scale);
        for (int x = 0; x < d; x++) {
            dK_sum[x] += dS * __bfloat162float(q[x]);
            dV_sum[x] += p * __bfloat162float(g[x]);
        }
    }
    for (int x = 0; x < d; x++) {
        dK[x] = __float2bfloat16(scale * dK_sum[x]);
        dV[x] = __float2bfloat16(dV_sum[x]);
    }
}

// dQ_i of one query.                                                                 (README eq. 9)
// Grid (ceil(N_q / THREADS), B * H).
__global__ void dq_kernel(bf16* dQ, const bf16* Q, const bf16* K, const bf16* V, const bf16* O,
                          const float* LSE, const bf16* dO, const uint8_t* mask, int N_q, int N_k,
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
        const bf16* k = K + batch * stride_k.b + head * stride_k.h + j * stride_k.n;
        const bf16* v = V + batch * stride_v.b + head * stride_v.h + j * stride_v.n;
        float p;
        float dS;
        weigh(&p, &dS, Q, k, v, O, dO, LSE[blockIdx.y * (int64_t)N_q + i], d, scale);
        for (int x = 0; x < d; x++) sum[x] += dS * __bfloat162float(k[x]);
    }
    for (int x = 0; x < d; x++) dQ[x] = __float2bfloat16(scale * sum[x]);
}

// ---- launchers -----------------------------------------------------------------------------

extern "C" int block_sparse_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, const uint8_t* mask_gpu,
                                    int B, int N_q, int N_k, int H, int d, struct strides stride_o,
                                    struct strides stride_q, struct strides stride_k,
                                    struct strides stride_v, float scale, void* workspace_gpu) {
    struct forward p = {};
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE is refused without these.
    if (!workspace_gpu || (N_k > 0 && !mask_gpu)) p.LSE = NULL;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || N_q == 0) return status;
    dim3 grid(CEIL_DIV((int64_t)N_q, THREADS), B * H);
    forward_kernel<<<grid, THREADS>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, mask_gpu, N_q, N_k, H, d,
                                      stride_o, stride_q, stride_k, stride_v, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int block_sparse_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                                     const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                                     const float* LSE_gpu, const bf16* dO_gpu,
                                     const uint8_t* mask_gpu, int B, int N_q, int N_k, int H, int d,
                                     struct strides stride_dq, struct strides stride_dk,
                                     struct strides stride_dv, struct strides stride_q,
                                     struct strides stride_k, struct strides stride_v,
                                     struct strides stride_o, struct strides stride_do, float scale,
                                     void* workspace_gpu) {
    struct backward p = {};
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE and K is refused without these.
    if (!workspace_gpu || (N_q > 0 && N_k > 0 && !mask_gpu)) p.LSE = NULL, p.K.elements = NULL;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return status;
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
