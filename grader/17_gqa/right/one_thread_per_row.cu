// Forward, a thread owns a packed row, head after head: row r is query r % N_q of the group's head
// r / N_q; all keys are swept, base 2 inside. Backward, a thread owns a key with its dK and dV; dQ
// is summed over the warp by shuffles, and cleared by cudaMemsetAsync.
#include "gqa.h"

#include <cuda_fp16.h>
#include <math.h>

#define ROWS 32
#define KEYS 32
#define KEYS_A_TILE 16
#define QUERIES 8
#define LOG2E 1.44269504088896340736f
#define LN2 0.69314718055994530942f

template <int width>
__global__ void row_kernel(fp16* O, float* LSE, const fp16* __restrict__ Q,
                           const fp16* __restrict__ K, const fp16* __restrict__ V, int N_q, int N_k,
                           int H_k, int group, int d, struct strides stride_o,
                           struct strides stride_q, struct strides stride_k,
                           struct strides stride_v, float scale, int causal) {
    __shared__ float K_smem[KEYS_A_TILE][width], V_smem[KEYS_A_TILE][width];
    int lane = threadIdx.x, b = blockIdx.y / H_k, kh = blockIdx.y % H_k;
    int64_t r = (int64_t)blockIdx.x * ROWS + lane, i = r % N_q, h = kh * group + r / N_q;
    bool mine = r < (int64_t)N_q * group;
    float q[width], o[width], m = -INFINITY, l = 0.0f;
    for (int x = 0; x < width; x++) {
        o[x] = q[x] = 0.0f;
        if (mine && x < d)
            q[x] = __half2float(Q[b * stride_q.b + h * stride_q.h + i * stride_q.n + x]);
    }
    K += b * stride_k.b + kh * stride_k.h;
    V += b * stride_v.b + kh * stride_v.h;
    int64_t visible = causal ? i + 1 + N_k - N_q : N_k;
    for (int64_t j0 = 0; j0 < N_k; j0 += KEYS_A_TILE) {
        int n = N_k - j0 < KEYS_A_TILE ? (int)(N_k - j0) : KEYS_A_TILE;
        for (int e = lane; e < n * width; e += ROWS) {
            int j = e / width, x = e % width;
            K_smem[j][x] = x < d ? __half2float(K[(j0 + j) * stride_k.n + x]) : 0.0f;
            V_smem[j][x] = x < d ? __half2float(V[(j0 + j) * stride_v.n + x]) : 0.0f;
        }
        __syncthreads();
        for (int j = 0; mine && j < n && j0 + j < visible; j++) {
            float s = 0.0f;
            for (int x = 0; x < width; x++) s = fmaf(q[x], K_smem[j][x], s);
            s *= scale;
            float m_new = fmaxf(m, s), alpha = exp2f((m - m_new) * LOG2E);
            float p = exp2f((s - m_new) * LOG2E);
            l = fmaf(l, alpha, p);
            for (int x = 0; x < width; x++) o[x] = fmaf(o[x], alpha, p * V_smem[j][x]);
            m = m_new;
        }
        __syncthreads();
    }
    if (!mine) return;
    for (int x = 0; x < width; x++) {
        if (x >= d) break;
        O[b * stride_o.b + h * stride_o.h + i * stride_o.n + x] =
            __float2half(l > 0.0f ? o[x] / l : 0.0f);
    }
    LSE[((int64_t)b * H_k * group + h) * N_q + i] = m + log2f(l) * LN2;
}

__global__ void delta_kernel(float* delta, const fp16* O, const fp16* dO, int N_q, int H_q, int d,
                             struct strides stride_o, struct strides stride_do) {
    int i = blockIdx.x * 64 + threadIdx.x;
    int b = blockIdx.y / H_q, h = blockIdx.y % H_q;
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
                           int N_q, int N_k, int H_k, int group, int d, struct strides stride_dk,
                           struct strides stride_dv, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v,
                           struct strides stride_do, float scale, int causal) {
    __shared__ float Q_smem[QUERIES][width], dO_smem[QUERIES][width];
    __shared__ float LSE_smem[QUERIES], delta_smem[QUERIES];
    float k[width], v[width], gk[width], gv[width];
    int lane = threadIdx.x, b = blockIdx.y / H_k, kh = blockIdx.y % H_k;
    int64_t j = (int64_t)blockIdx.x * KEYS + lane;
    bool mine = j < N_k;
    K += b * stride_k.b + kh * stride_k.h + j * stride_k.n;
    V += b * stride_v.b + kh * stride_v.h + j * stride_v.n;
    for (int x = 0; x < width; x++) {
        k[x] = mine && x < d ? __half2float(K[x]) : 0.0f;
        v[x] = mine && x < d ? __half2float(V[x]) : 0.0f;
        gk[x] = gv[x] = 0.0f;
    }
    int64_t first = (int64_t)blockIdx.x * KEYS + N_q - N_k;
    if (!causal || first < 0) first = 0;
    for (int64_t h = (int64_t)kh * group; h < (kh + 1) * (int64_t)group; h++) {
        const fp16* Q_h = Q + b * stride_q.b + h * stride_q.h;
        const fp16* dO_h = dO + b * stride_do.b + h * stride_do.h;
        int64_t row = ((int64_t)b * H_k * group + h) * N_q;
        for (int64_t i0 = first / QUERIES * QUERIES; i0 < N_q; i0 += QUERIES) {
            int n = N_q - i0 < QUERIES ? (int)(N_q - i0) : QUERIES;
            for (int e = lane; e < n * width; e += KEYS) {
                int i = e / width, x = e % width;
                Q_smem[i][x] = x < d ? __half2float(Q_h[(i0 + i) * stride_q.n + x]) : 0.0f;
                dO_smem[i][x] = x < d ? __half2float(dO_h[(i0 + i) * stride_do.n + x]) : 0.0f;
            }
            if (lane < n) {
                LSE_smem[lane] = LSE[row + i0 + lane];
                delta_smem[lane] = delta[row + i0 + lane];
            }
            __syncthreads();
            for (int i = 0; i < n; i++) {
                float s = 0.0f, dP = 0.0f, p = 0.0f;
                for (int x = 0; x < width; x++) {
                    s = fmaf(Q_smem[i][x], k[x], s);
                    dP = fmaf(dO_smem[i][x], v[x], dP);
                }
                if (mine && (!causal || j <= i0 + i + N_k - N_q))
                    p = exp2f((s * scale - LSE_smem[i]) * LOG2E);
                float dS = p * (dP - delta_smem[i]) * scale;
                for (int x = 0; x < width; x++) {
                    gv[x] = fmaf(p, dO_smem[i][x], gv[x]);
                    gk[x] = fmaf(dS, Q_smem[i][x], gk[x]);
                }
                for (int x = 0; x < d; x++) {
                    float part = dS * k[x];
                    for (int step = 16; step > 0; step /= 2)
                        part += __shfl_down_sync(0xffffffffu, part, step);
                    if (lane == 0) atomicAdd(&dQ_sum[(row + i0 + i) * d + x], part);
                }
            }
            __syncthreads();
        }
    }
    if (!mine) return;
    dK += b * stride_dk.b + kh * stride_dk.h + j * stride_dk.n;
    dV += b * stride_dv.b + kh * stride_dv.h + j * stride_dv.n;
    for (int x = 0; x < width; x++) {
        if (x >= d) break;
        dK[x] = __float2half(gk[x]);
        dV[x] = __float2half(gv[x]);
    }
}

__global__ void round_kernel(fp16* dQ, const float* dQ_sum, int H_q, int d,
                             struct strides stride_dq, int N_q) {
    int64_t i = blockIdx.x;
    int b = blockIdx.y / H_q, h = blockIdx.y % H_q;
    for (int x = threadIdx.x; x < d; x += 32)
        dQ[b * stride_dq.b + h * stride_dq.h + i * stride_dq.n + x] =
            __float2half(dQ_sum[((int64_t)blockIdx.y * N_q + i) * d + x]);
}

static int bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

static int status_of(int B, int N_q, int N_k, int H_q, int H_k, int d) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((H_k == 0 && H_q > 0) || (H_k > 0 && H_q % H_k)) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (int64_t)B * (H_q > H_k ? H_q : H_k) > 65535) return COURSE_UNSUPPORTED;
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
    dim3 grid(CEIL_DIV((int64_t)N_q * (H_q / H_k), ROWS), B * H_k);
    if (d <= 32)
        row_kernel<32><<<grid, ROWS>>>(O, LSE, Q, K, V, N_q, N_k, H_k, H_q / H_k, d, stride_o,
                                       stride_q, stride_k, stride_v, scale, causal);
    else
        row_kernel<256><<<grid, ROWS>>>(O, LSE, Q, K, V, N_q, N_k, H_k, H_q / H_k, d, stride_o,
                                        stride_q, stride_k, stride_v, scale, causal);
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
    int64_t rows = (int64_t)B * H_q * N_q;
    if (status || (rows == 0 && (int64_t)B * H_k * N_k == 0)) return status;
    if (rows && (!dQ || !Q || !O || !LSE || !dO || !workspace)) return COURSE_BAD_ARGUMENT;
    if (N_k && (!dK || !dV || !K || !V)) return COURSE_BAD_ARGUMENT;
    if (bad(stride_dq, d) || bad(stride_dk, d) || bad(stride_dv, d) || bad(stride_q, d) ||
        bad(stride_k, d) || bad(stride_v, d) || bad(stride_o, d) || bad(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    float* delta = (float*)workspace;
    float* dQ_sum = delta ? delta + rows : NULL;
    if (rows) {
        COURSE_TRY(cudaMemsetAsync(dQ_sum, 0, (size_t)rows * d * sizeof(float), 0));
        delta_kernel<<<dim3(CEIL_DIV(N_q, 64), B * H_q), 64>>>(delta, O, dO, N_q, H_q, d, stride_o,
                                                               stride_do);
    }
    dim3 grid(CEIL_DIV(N_k, KEYS), B * H_k);
    if (N_k && d <= 32)
        key_kernel<32><<<grid, KEYS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, N_q, N_k, H_k,
                                       H_q / H_k, d, stride_dk, stride_dv, stride_q, stride_k,
                                       stride_v, stride_do, scale, causal);
    if (N_k && d > 32)
        key_kernel<256><<<grid, KEYS>>>(dQ_sum, dK, dV, Q, K, V, dO, LSE, delta, N_q, N_k, H_k,
                                        H_q / H_k, d, stride_dk, stride_dv, stride_q, stride_k,
                                        stride_v, stride_do, scale, causal);
    if (rows) round_kernel<<<dim3(N_q, B * H_q), 32>>>(dQ, dQ_sum, H_q, d, stride_dq, N_q);
    return cudaGetLastError() == cudaSuccess ? COURSE_OK : COURSE_CUDA_ERROR;
}
