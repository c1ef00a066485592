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
    int d;
    float scale;
    struct backward mask;  // its sizes, and who sees whom
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
    const struct range keys = keys_of_query(p.mask, b, i);
    if (j < keys.from || j >= keys.to) return false;
    const int g = h / p.mask.group;
    const bf16 *Q = row(p.Q, b, h, i), *dO = row(p.dO, b, h, i);
    const float S = p.scale * product(Q, row(p.K, b, g, j), p.d);
    const float delta = product(dO, row(p.O, b, h, i), p.d);
    const float weight = expf(S - p.LSE[((int64_t)b * p.mask.H_q + h) * p.mask.N_q + i]);
    *dS = rounded(weight * (product(dO, row(p.V, b, g, j), p.d) - delta));
    *P = rounded(weight);
    return true;
}

__global__ void queries_kernel(const __grid_constant__ struct gradients p) {
    const struct backward& m = p.mask;
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= (int64_t)m.B * m.H_q * m.N_q) return;
    const int i = (int)(e % m.N_q), h = (int)(e / m.N_q % m.H_q), b = (int)(e / m.N_q / m.H_q);
    float dQ[LARGEST] = {}, P, dS;
    for (int j = 0; j < m.N_k; j++) {
        if (!weigh(p, b, h, i, j, &P, &dS)) continue;
        const bf16* K = row(p.K, b, h / (m.group), j);
        for (int x = 0; x < p.d; x++) dQ[x] += dS * __bfloat162float(K[x]);
    }
    bf16* out = (bf16*)row(p.dQ, b, h, i);
    for (int x = 0; x < p.d; x++) out[x] = __float2bfloat16_rn(p.scale * dQ[x]);
}

__global__ void keys_kernel(const __grid_constant__ struct gradients p) {
    const struct backward& m = p.mask;
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= (int64_t)m.B * m.H_k * m.N_k) return;
    const int j = (int)(e % m.N_k), g = (int)(e / m.N_k % m.H_k), b = (int)(e / m.N_k / m.H_k);
    float dK[LARGEST] = {}, dV[LARGEST] = {}, P, dS;
    for (int h = g * (m.group); h < (g + 1) * (m.group); h++)
        for (int i = 0; i < m.N_q; i++) {
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

extern "C" int
hopper_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                int B, int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
                struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                struct strides stride_k, struct strides stride_v, struct strides stride_o,
                struct strides stride_do, float scale, int causal, int window, int documents,
                const int* cu_seqlens_gpu, int deterministic, void* workspace_gpu) {
    const struct rows array[8] = {{Q_gpu, stride_q},   {K_gpu, stride_k},   {V_gpu, stride_v},
                                  {O_gpu, stride_o},   {dO_gpu, stride_do}, {dQ_gpu, stride_dq},
                                  {dK_gpu, stride_dk}, {dV_gpu, stride_dv}};
    int status = check_backward(array, LSE_gpu, workspace_gpu, B, N_q, N_k, H_q, H_k, d, causal,
                                window, documents, cu_seqlens_gpu);
    if (status != COURSE_OK) return status;
    (void)deterministic;  // always
    struct gradients p = {array[0], array[1], array[2], array[3], array[4], array[5],
                          array[6], array[7], LSE_gpu,  d,        scale};
    p.mask.B = B, p.mask.N_q = N_q, p.mask.N_k = N_k, p.mask.H_q = H_q, p.mask.H_k = H_k;
    p.mask.group = H_k ? H_q / H_k : 0, p.mask.causal = causal != 0, p.mask.window = window;
    p.mask.documents = documents, p.mask.cu_seqlens = cu_seqlens_gpu;
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
