// naive.cu: right, without the idea: a thread for each query makes dQ, a thread for each key of a
// head of K makes dK and dV, in fp32. Every number comes from global memory, every pair of a query
// and a key is made twice, and no tensor core is used.
#include "hopper_backward.h"

#include <cuda_bf16.h>
#include <math.h>

#include "before_after.h"
#include "hopper.h"

enum { THREADS = 32, LARGEST = 128 };

struct gradients {
    struct rows Q, K, V, O, dO, dQ, dK, dV;
    const float* LSE;
    int B, N_q, N_k, H_q, H_k, d, causal;
    float scale;
};

__device__ float product(const bf16* a, const bf16* b, int d) {
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += __bfloat162float(a[x]) * __bfloat162float(b[x]);
    return sum;
}

__device__ const bf16* row(struct rows a, int b, int h, int64_t n) {
    return head_of(a, b, h) + n * a.stride.n;
}

__device__ float rounded(float x) {
    return __bfloat162float(__float2bfloat16_rn(x));
}

// P and dS of query i of head h and key j, rounded; false if the query does not see the key.
__device__ bool weigh(const struct gradients& p, int b, int h, int i, int j, float* P, float* dS) {
    if (p.causal && j > (int64_t)i + p.N_k - p.N_q) return false;
    const int g = h / (p.H_q / p.H_k);
    const bf16 *Q = row(p.Q, b, h, i), *dO = row(p.dO, b, h, i);
    const float S = p.scale * product(Q, row(p.K, b, g, j), p.d);
    const float delta = product(dO, row(p.O, b, h, i), p.d);
    const float weight = expf(S - p.LSE[((int64_t)b * p.H_q + h) * p.N_q + i]);
    *dS = rounded(weight * (product(dO, row(p.V, b, g, j), p.d) - delta));
    *P = rounded(weight);
    return true;
}

__global__ void queries_kernel(struct gradients p) {
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= (int64_t)p.B * p.H_q * p.N_q) return;
    const int i = (int)(e % p.N_q), h = (int)(e / p.N_q % p.H_q), b = (int)(e / p.N_q / p.H_q);
    float dQ[LARGEST] = {}, P, dS;
    for (int j = 0; j < p.N_k; j++) {
        if (!weigh(p, b, h, i, j, &P, &dS)) continue;
        const bf16* K = row(p.K, b, h / (p.H_q / p.H_k), j);
        for (int x = 0; x < p.d; x++) dQ[x] += dS * __bfloat162float(K[x]);
    }
    bf16* out = (bf16*)row(p.dQ, b, h, i);
    for (int x = 0; x < p.d; x++) out[x] = __float2bfloat16_rn(p.scale * dQ[x]);
}

__global__ void keys_kernel(struct gradients p) {
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= (int64_t)p.B * p.H_k * p.N_k) return;
    const int j = (int)(e % p.N_k), g = (int)(e / p.N_k % p.H_k), b = (int)(e / p.N_k / p.H_k);
    float dK[LARGEST] = {}, dV[LARGEST] = {}, P, dS;
    for (int h = g * (p.H_q / p.H_k); h < (g + 1) * (p.H_q / p.H_k); h++)
        for (int i = 0; i < p.N_q; i++) {
            if (!weigh(p, b, h, i, j, &P, &dS)) continue;
            const bf16 *Q = row(p.Q, b, h, i), *dO = row(p.dO, b, h, i);
            for (int x = 0; x < p.d; x++) {
                dK[x] += dS * __bfloat162float(Q[x]);
                dV[x] += P * __bfloat162float(dO[x]);
            }
        }
    bf16 *dK_row = (bf16*)row(p.dK, b, g, j), *dV_row = (bf16*)row(p.dV, b, g, j);
    for (int x = 0; x < p.d; x++) {
        dK_row[x] = __float2bfloat16_rn(p.scale * dK[x]);
        dV_row[x] = __float2bfloat16_rn(dV[x]);
    }
}

extern "C" int hopper_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                               const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                               const float* LSE_gpu, const bf16* dO_gpu, int B, int N_q, int N_k,
                               int H_q, int H_k, int d, struct strides stride_dq,
                               struct strides stride_dk, struct strides stride_dv,
                               struct strides stride_q, struct strides stride_k,
                               struct strides stride_v, struct strides stride_o,
                               struct strides stride_do, float scale, int causal, int deterministic,
                               void* workspace_gpu) {
    const struct rows array[8] = {{Q_gpu, stride_q},   {K_gpu, stride_k},   {V_gpu, stride_v},
                                  {O_gpu, stride_o},   {dO_gpu, stride_do}, {dQ_gpu, stride_dq},
                                  {dK_gpu, stride_dk}, {dV_gpu, stride_dv}};
    int status = check_backward(array, LSE_gpu, workspace_gpu, B, N_q, N_k, H_q, H_k, d);
    if (status != COURSE_OK) return status;
    (void)deterministic;  // always
    const struct gradients p = {array[0], array[1], array[2], array[3], array[4], array[5],
                                array[6], array[7], LSE_gpu,  B,        N_q,      N_k,
                                H_q,      H_k,      d,        causal,   scale};
    const int64_t queries = (int64_t)B * H_q * N_q, keys = (int64_t)B * H_k * N_k;
    if (queries) {
        queries_kernel<<<(unsigned)CEIL_DIV(queries, THREADS), THREADS>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    if (keys) {
        keys_kernel<<<(unsigned)CEIL_DIV(keys, THREADS), THREADS>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
