// One thread owns a key, its K, V, dK and dV; a block is one warp of keys. Queries are walked
// forwards in tiles of 8, with the mask tested at every score; base 2 inside; dQ is summed over the
// warp by shuffles, and cleared by cudaMemsetAsync.
#include "flash_backward.h"

#include <cuda_fp16.h>
#include <math.h>

#define KEYS 32
#define QUERIES 8
#define LOG2E 1.44269504088896340736f

__global__ void delta_kernel(float* delta, const fp16* O, const fp16* dO, int N_q, int H, int d,
                             struct strides stride_o, struct strides stride_do) {
    int i = blockIdx.x * 64 + threadIdx.x;
    int b = blockIdx.y / H, h = blockIdx.y % H;
    if (i >= N_q) return;
    const fp16* o = O + b * stride_o.b + h * stride_o.h + i * stride_o.n;
    const fp16* g = dO + b * stride_do.b + h * stride_do.h + i * stride_do.n;
    float sum = 0.0f;
    for (int x = d - 1; x >= 0; x--) sum = fmaf(__half2float(g[x]), __half2float(o[x]), sum);
    delta[(int64_t)blockIdx.y * N_q + i] = sum;
}

template <int width>
__global__ void key_kernel(float* dQ_sum, fp16* dK, fp16* dV, const fp16* __restrict__ Q,
                           const fp16* __restrict__ K, const fp16* __restrict__ V,
                           const fp16* __restrict__ dO, const float* LSE, const float* delta,
                           int N_q, int N_k, int H, int d, struct strides stride_dk,
                           struct strides stride_dv, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v,
                           struct strides stride_do, float scale, int causal) {
    __shared__ float Q_smem[QUERIES][width], dO_smem[QUERIES][width];
    __shared__ float LSE_smem[QUERIES], delta_smem[QUERIES];
    float k[width], v[width], gk[width], gv[width];
    int lane = threadIdx.x, b = blockIdx.y / H, h = blockIdx.y % H;
    int64_t j = (int64_t)blockIdx.x * KEYS + lane;
    bool mine = j < N_k;
    Q += b * stride_q.b + h * stride_q.h;
    dO += b * stride_do.b + h * stride_do.h;
    K += b * stride_k.b + h * stride_k.h + j * stride_k.n;
    V += b * stride_v.b + h * stride_v.h + j * stride_v.n;
    LSE += (int64_t)blockIdx.y * N_q;
    delta += (int64_t)blockIdx.y * N_q;
    dQ_sum += (int64_t)blockIdx.y * N_q * d;
    for (int x = 0; x < width; x++) {
        k[x] = mine && x < d ? __half2float(K[x]) : 0.0f;
        v[x] = mine && x < d ? __half2float(V[x]) : 0.0f;
        gk[x] = gv[x] = 0.0f;
    }
    int64_t first = (int64_t)blockIdx.x * KEYS + N_q - N_k;
    if (!causal || first < 0) first = 0;
    for (int64_t i0 = first / QUERIES * QUERIES; i0 < N_q; i0 += QUERIES) {
        int n = N_q - i0 < QUERIES ? (int)(N_q - i0) : QUERIES;
        for (int e = lane; e < n * width; e += KEYS) {
            int i = e / width, x = e % width;
            Q_smem[i][x] = x < d ? __half2float(Q[(i0 + i) * stride_q.n + x]) : 0.0f;
            dO_smem[i][x] = x < d ? __half2float(dO[(i0 + i) * stride_do.n + x]) : 0.0f;
        }
        if (lane < n) {
            LSE_smem[lane] = LSE[i0 + lane] * LOG2E;
            delta_smem[lane] = delta[i0 + lane];
        }
        __syncthreads();
        for (int i = 0; i < n; i++) {
            float s = 0.0f, dP = 0.0f, p = 0.0f;
            for (int x = 0; x < width; x++) {
                s = fmaf(Q_smem[i][x], k[x], s);
                dP = fmaf(dO_smem[i][x], v[x], dP);
            }
            if (mine && (!causal || j <= i0 + i + N_k - N_q))
                p = exp2f(s * (scale * LOG2E) - LSE_smem[i]);
            float dS = p * (dP - delta_smem[i]) * scale;
            for (int x = 0; x < width; x++) {
                gv[x] = fmaf(p, dO_smem[i][x], gv[x]);
                gk[x] = fmaf(dS, Q_smem[i][x], gk[x]);
            }
            for (int x = 0; x < d; x++) {
                float part = dS * k[x];
                for (int step = 16; step > 0; step /= 2)
                    part += __shfl_down_sync(0xffffffffu, part, step);
                if (lane == 0) atomicAdd(&dQ_sum[(i0 + i) * d + x], part);
            }
        }
        __syncthreads();
    }
    if (!mine) return;
    dK += b * stride_dk.b + h * stride_dk.h + j * stride_dk.n;
    dV += b * stride_dv.b + h * stride_dv.h + j * stride_dv.n;
    for (int x = 0; x < width; x++) {
        if (x >= d) break;
        dK[x] = __float2half(gk[x]);
        dV[x] = __float2half(gv[x]);
    }
}

__global__ void round_kernel(fp16* dQ, const float* dQ_sum, int H, int d, struct strides stride_dq,
                             int N_q) {
    int64_t i = blockIdx.x;
    int b = blockIdx.y / H, h = blockIdx.y % H;
    for (int x = threadIdx.x; x < d; x += 32)
        dQ[b * stride_dq.b + h * stride_dq.h + i * stride_dq.n + x] =
            __float2half(dQ_sum[((int64_t)blockIdx.y * N_q + i) * d + x]);
}

static int bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

extern "C" int flash_backward(fp16* dQ, fp16* dK, fp16* dV, const fp16* Q, const fp16* K,
                              const fp16* V, const fp16* O, const float* LSE, const fp16* dO, int B,
                              int N_q, int N_k, int H, int d, struct strides stride_dq,
                              struct strides stride_dk, struct strides stride_dv,
                              struct strides stride_q, struct strides stride_k,
                              struct strides stride_v, struct strides stride_o,
                              struct strides stride_do, float scale, int causal, void* workspace) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    if (N_q && (!dQ || !Q || !O || !LSE || !dO || !workspace)) return COURSE_BAD_ARGUMENT;
    if (N_k && (!dK || !dV || !K || !V)) return COURSE_BAD_ARGUMENT;
    if (bad(stride_dq, d) || bad(stride_dk, d) || bad(stride_dv, d) || bad(stride_q, d) ||
        bad(stride_k, d) || bad(stride_v, d) || bad(stride_o, d) || bad(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    int64_t rows = (int64_t)B * H * N_q;
    float* delta = (float*)workspace;
    float* dQ_sum = delta ? delta + rows : NULL;
    if (N_q) {
        COURSE_TRY(cudaMemsetAsync(dQ_sum, 0, (size_t)rows * d * sizeof(float), 0));
        delta_kernel<<<dim3(CEIL_DIV(N_q, 64), B * H), 64>>>(delta, O, dO, N_q, H, d, stride_o,
                                                             stride_do);
    }
    dim3 grid(CEIL_DIV(N_k, KEYS), B * H);
    if (N_k && d <= 32)
        key_kernel<32><<<grid, KEYS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, N_q, N_k, H, d,
                                       stride_dk, stride_dv, stride_q, stride_k, stride_v,
                                       stride_do, scale, causal);
    if (N_k && d > 32)
        key_kernel<256><<<grid, KEYS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, N_q, N_k, H, d,
                                        stride_dk, stride_dv, stride_q, stride_k, stride_v,
                                        stride_do, scale, causal);
    if (N_q) round_kernel<<<dim3(N_q, B * H), 32>>>(dQ, dQ_sum, H, d, stride_dq, N_q);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
