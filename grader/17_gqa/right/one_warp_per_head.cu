// Forward, a block owns one query of a key head; each of its 8 warps has a head of the group, and
// lanes are keys. Backward, without atomics, workspace or shared memory: a thread owns a key of a
// key head and goes over the queries of the whole group, in another kernel a thread owns a query
// and goes over the keys. delta is made again each time.
#include "gqa.h"

#include <cuda_fp16.h>
#include <math.h>

#define WARPS 8
#define WARP 32
#define MAX_HEAD 256
#define ALL 0xffffffffu

__device__ float value(const fp16* a, struct strides s, int64_t b, int64_t n, int64_t h, int x) {
    return __half2float(a[b * s.b + n * s.n + h * s.h + x]);
}

__global__ void query_kernel(fp16* O, float* LSE, const fp16* __restrict__ Q,
                             const fp16* __restrict__ K, const fp16* __restrict__ V, int N_q,
                             int N_k, int H_k, int group, int d, struct strides stride_o,
                             struct strides stride_q, struct strides stride_k,
                             struct strides stride_v, float scale, int causal) {
    __shared__ fp16 K_smem[WARP][MAX_HEAD + 2], V_smem[WARP][MAX_HEAD];
    __shared__ float q_smem[WARPS][MAX_HEAD];
    int lane = threadIdx.x, warp = threadIdx.y, thread = warp * WARP + lane;
    int64_t b = blockIdx.y / H_k, kh = blockIdx.y % H_k, i = blockIdx.x;
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    for (int first = 0; first < group; first += WARPS) {
        bool mine = first + warp < group;
        int64_t h = kh * group + first + warp;
        float m = -INFINITY, l = 0.0f, o[MAX_HEAD / WARP] = {0.0f};
        for (int x = lane; mine && x < d; x += WARP)
            q_smem[warp][x] = value(Q, stride_q, b, i, h, x);
        for (int64_t j0 = 0; j0 < seen; j0 += WARP) {
            for (int e = thread; e < WARP * d; e += WARP * WARPS) {
                int j = e / d, x = e % d;
                bool exists = j0 + j < seen;
                int64_t at = (j0 + j) * stride_k.n, of = (j0 + j) * stride_v.n;
                K_smem[j][x] =
                    exists ? K[b * stride_k.b + kh * stride_k.h + at + x] : __float2half(0.0f);
                V_smem[j][x] =
                    exists ? V[b * stride_v.b + kh * stride_v.h + of + x] : __float2half(0.0f);
            }
            __syncthreads();
            if (mine) {
                float s = 0.0f;
                for (int x = 0; x < d; x++)
                    s = fmaf(q_smem[warp][x], __half2float(K_smem[lane][x]), s);
                s = j0 + lane < seen ? s * scale : -INFINITY;
                float m_new = fmaxf(m, s);
                for (int step = WARP / 2; step > 0; step /= 2)
                    m_new = fmaxf(m_new, __shfl_xor_sync(ALL, m_new, step));
                float p = expf(s - m_new), alpha = expf(m - m_new), sum = p;
                for (int step = WARP / 2; step > 0; step /= 2)
                    sum += __shfl_xor_sync(ALL, sum, step);
                l = fmaf(l, alpha, sum);
                m = m_new;
                for (int c = 0; c * WARP < d; c++) o[c] *= alpha;
                for (int j = 0; j < WARP; j++) {
                    float p_j = __shfl_sync(ALL, p, j);
                    for (int c = 0; c * WARP < d; c++)
                        if (lane + c * WARP < d)
                            o[c] = fmaf(p_j, __half2float(V_smem[j][lane + c * WARP]), o[c]);
                }
            }
            __syncthreads();
        }
        for (int c = 0; mine && c * WARP < d; c++)
            if (lane + c * WARP < d)
                O[b * stride_o.b + i * stride_o.n + h * stride_o.h + lane + c * WARP] =
                    __float2half(l > 0.0f ? o[c] / l : 0.0f);
        if (mine && lane == 0) LSE[(b * H_k * group + h) * N_q + i] = m + logf(l);
        __syncthreads();
    }
}

struct gradient {
    const fp16 *Q, *K, *V, *O, *dO;
    const float* LSE;
    struct strides stride_q, stride_k, stride_v, stride_o, stride_do;
    int N_q, N_k, H_k, group, d, causal;
    float scale;
};

// P and dS of query i of head h and key j of head kh.
__device__ float weigh(struct gradient g, int64_t b, int64_t h, int64_t kh, int64_t i, int64_t j,
                       float* dS) {
    float s = 0.0f, dP = 0.0f, delta = 0.0f;
    *dS = 0.0f;
    if (g.causal && j > i + g.N_k - g.N_q) return 0.0f;
    for (int x = 0; x < g.d; x++) {
        float dO = value(g.dO, g.stride_do, b, i, h, x);
        s = fmaf(value(g.Q, g.stride_q, b, i, h, x), value(g.K, g.stride_k, b, j, kh, x), s);
        dP = fmaf(dO, value(g.V, g.stride_v, b, j, kh, x), dP);
        delta = fmaf(dO, value(g.O, g.stride_o, b, i, h, x), delta);
    }
    float p = expf(s * g.scale - g.LSE[(b * g.H_k * g.group + h) * g.N_q + i]);
    *dS = p * (dP - delta);
    return p;
}

template <int width>
__global__ void key_kernel(fp16* dK, fp16* dV, struct strides stride_dk, struct strides stride_dv,
                           struct gradient g) {
    int64_t b = blockIdx.y / g.H_k, kh = blockIdx.y % g.H_k;
    int64_t j = (int64_t)blockIdx.x * WARP + threadIdx.x;
    float gk[width] = {0.0f}, gv[width] = {0.0f}, dS;
    if (j >= g.N_k) return;
    for (int64_t row = 0; row < (int64_t)g.N_q * g.group; row++) {
        int64_t i = row / g.group, h = kh * g.group + row % g.group;
        float p = weigh(g, b, h, kh, i, j, &dS);
        for (int x = 0; x < width && x < g.d; x++) {
            gv[x] = fmaf(p, value(g.dO, g.stride_do, b, i, h, x), gv[x]);
            gk[x] = fmaf(dS, value(g.Q, g.stride_q, b, i, h, x), gk[x]);
        }
    }
    for (int x = 0; x < width && x < g.d; x++) {
        dK[b * stride_dk.b + j * stride_dk.n + kh * stride_dk.h + x] =
            __float2half(g.scale * gk[x]);
        dV[b * stride_dv.b + j * stride_dv.n + kh * stride_dv.h + x] = __float2half(gv[x]);
    }
}

template <int width>
__global__ void dq_kernel(fp16* dQ, struct strides stride_dq, struct gradient g) {
    int64_t b = blockIdx.y / (g.H_k * g.group), h = blockIdx.y % (g.H_k * g.group);
    int64_t i = (int64_t)blockIdx.x * WARP + threadIdx.x;
    float gq[width] = {0.0f}, dS;
    if (i >= g.N_q) return;
    for (int64_t j = 0; j < g.N_k; j++) {
        (void)weigh(g, b, h, h / g.group, i, j, &dS);
        for (int x = 0; x < width && x < g.d; x++)
            gq[x] = fmaf(dS, value(g.K, g.stride_k, b, j, h / g.group, x), gq[x]);
    }
    for (int x = 0; x < width && x < g.d; x++)
        dQ[b * stride_dq.b + i * stride_dq.n + h * stride_dq.h + x] = __float2half(g.scale * gq[x]);
}

static int bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

static int status_of(int B, int N_q, int N_k, int H_q, int H_k, int d) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((H_k == 0 && H_q > 0) || (H_k > 0 && H_q % H_k)) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * (H_q > H_k ? H_q : H_k) > 65535) return COURSE_UNSUPPORTED;
    return COURSE_OK;
}

extern "C" int gqa_forward(fp16* O, float* LSE, const fp16* Q, const fp16* K, const fp16* V, int B,
                           int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_o,
                           struct strides stride_q, struct strides stride_k,
                           struct strides stride_v, float scale, int causal) {
    int status = status_of(B, N_q, N_k, H_q, H_k, d);
    if (status || B == 0 || N_q == 0 || H_q == 0) return status;
    if (!O || !LSE || !Q || (N_k && (!K || !V))) return COURSE_BAD_ARGUMENT;
    if (bad(stride_o, d) || bad(stride_q, d) || bad(stride_k, d) || bad(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    query_kernel<<<dim3(N_q, B * H_k), dim3(WARP, WARPS)>>>(O, LSE, Q, K, V, N_q, N_k, H_k,
                                                            H_q / H_k, d, stride_o, stride_q,
                                                            stride_k, stride_v, scale, causal);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}

extern "C" int gqa_backward(fp16* dQ, fp16* dK, fp16* dV, const fp16* Q, const fp16* K,
                            const fp16* V, const fp16* O, const float* LSE, const fp16* dO, int B,
                            int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
                            struct strides stride_dk, struct strides stride_dv,
                            struct strides stride_q, struct strides stride_k,
                            struct strides stride_v, struct strides stride_o,
                            struct strides stride_do, float scale, int causal, void* workspace) {
    int status = status_of(B, N_q, N_k, H_q, H_k, d);
    int rows = N_q > 0 && H_q > 0;
    if (status || B == 0 || H_k == 0 || (!rows && N_k == 0)) return status;
    if (rows && (!dQ || !Q || !O || !LSE || !dO || !workspace)) return COURSE_BAD_ARGUMENT;
    if (N_k && (!dK || !dV || !K || !V)) return COURSE_BAD_ARGUMENT;
    if (bad(stride_dq, d) || bad(stride_dk, d) || bad(stride_dv, d) || bad(stride_q, d) ||
        bad(stride_k, d) || bad(stride_v, d) || bad(stride_o, d) || bad(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    struct gradient g = {Q,        K,        V,         O,        dO,        LSE,
                         stride_q, stride_k, stride_v,  stride_o, stride_do, N_q,
                         N_k,      H_k,      H_q / H_k, d,        causal,    scale};
    dim3 keys(CEIL_DIV(N_k, WARP), B * H_k), queries(CEIL_DIV(N_q, WARP), B * H_q);
    if (N_k && d <= 32) key_kernel<32><<<keys, WARP>>>(dK, dV, stride_dk, stride_dv, g);
    if (N_k && d > 32) key_kernel<256><<<keys, WARP>>>(dK, dV, stride_dk, stride_dv, g);
    if (rows && d <= 32) dq_kernel<32><<<queries, WARP>>>(dQ, stride_dq, g);
    if (rows && d > 32) dq_kernel<256><<<queries, WARP>>>(dQ, stride_dq, g);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
