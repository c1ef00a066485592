// Three kernels, no atomics: delta; a warp owns two keys; a warp owns two queries. Blocks of 16.
#include "flash_backward.h"
#include <cuda_fp16.h>
#include <math.h>

#define WARPS 8
#define OWN 16  // keys, or queries, of a block

struct job {
    half *dQ, *dK, *dV;
    const half *Q, *K, *V, *O, *dO;
    const float* LSE;
    float* delta;
    int N_q, N_k, H, d, causal;
    struct strides dq, dk, dv, q, k, v, o, g;
    float scale;
};

__device__ float f(half x) {
    return __half2float(x);
}
__device__ float weight(float x) {
    return expf(x);
}

__global__ void deltas(struct job a) {
    int lane = threadIdx.x % 32;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32, z = blockIdx.y, b = z / a.H,
            h = z % a.H;
    if (i >= a.N_q) return;
    const half *o = a.O + b * a.o.b + h * a.o.h + i * a.o.n,
               *g = a.dO + b * a.g.b + h * a.g.h + i * a.g.n;
    float sum = 0;
    for (int x = lane; x < a.d; x += 32) sum += f(o[x]) * f(g[x]);
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
    if (lane == 0) a.delta[z * a.N_q + i] = sum;
}

template <int D, int T>
__device__ void rows_to(half (*to)[D + 2], const half* from, int64_t stride, int64_t n, int d) {
    for (int e = threadIdx.x; e < T * D; e += WARPS * 32) {
        int r = e / D, x = e % D;
        to[r][x] = r < n && x < d ? from[r * stride + x] : __float2half(0.0f);
    }
}

template <int D, int T> __global__ void keys(struct job a) {
    const int C = D / 32;
    __shared__ half Qs[T][D + 2], Gs[T][D + 2], Ks[OWN][D + 2], Vs[OWN][D + 2];
    __shared__ float Ls[T], Ds[T];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t z = blockIdx.y, b = z / a.H, h = z % a.H, k0 = (int64_t)blockIdx.x * OWN;
    const half *Q = a.Q + b * a.q.b + h * a.q.h, *G = a.dO + b * a.g.b + h * a.g.h;
    rows_to<D, OWN>(Ks, a.K + b * a.k.b + h * a.k.h + k0 * a.k.n, a.k.n, a.N_k - k0, a.d);
    rows_to<D, OWN>(Vs, a.V + b * a.v.b + h * a.v.h + k0 * a.v.n, a.v.n, a.N_k - k0, a.d);
    float dk[2][C] = {}, dv[2][C] = {};
    int64_t shift =
        a.causal ? (int64_t)a.N_q - a.N_k : -(int64_t)a.N_k;  // key j: from query j + shift
    int64_t start = k0 + shift > 0 ? (k0 + shift) / 16 * 16 : 0;
    for (int64_t i0 = start; i0 < a.N_q; i0 += T) {
        int n = a.N_q - i0 < T ? (int)(a.N_q - i0) : T;
        __syncthreads();
        rows_to<D, T>(Qs, Q + i0 * a.q.n, a.q.n, n, a.d);
        rows_to<D, T>(Gs, G + i0 * a.g.n, a.g.n, n, a.d);
        if (threadIdx.x < n) {
            Ls[threadIdx.x] = a.LSE[z * a.N_q + i0 + threadIdx.x];
            Ds[threadIdx.x] = a.delta[z * a.N_q + i0 + threadIdx.x];
        }
        __syncthreads();
        bool all = i0 >= k0 + OWN - 1 + shift && n == T;
        for (int r = 0; r < 2; r++) {
            int own = warp * 2 + r;
            if (k0 + own >= a.N_k) continue;  // all lanes
            float p = 0, ds = 0;
            if (lane < n && (all || i0 + lane >= k0 + own + shift)) {
                float s = 0, dp = 0;
                for (int x = 0; x < a.d; x++) {
                    s += f(Qs[lane][x]) * f(Ks[own][x]);
                    dp += f(Gs[lane][x]) * f(Vs[own][x]);
                }
                p = weight(s * a.scale - Ls[lane]);
                ds = p * (dp - Ds[lane]);
            }
            for (int i = 0; i < n; i++) {
                float pi = __shfl_sync(~0u, p, i), di = __shfl_sync(~0u, ds, i);
                for (int c = 0; c < C; c++) {
                    dv[r][c] += pi * f(Gs[i][lane + 32 * c]);
                    dk[r][c] += di * f(Qs[i][lane + 32 * c]);
                }
            }
        }
    }
    for (int r = 0; r < 2; r++) {
        int64_t j = k0 + warp * 2 + r;
        if (j >= a.N_k) continue;
        half *dK = a.dK + b * a.dk.b + h * a.dk.h + j * a.dk.n,
             *dV = a.dV + b * a.dv.b + h * a.dv.h + j * a.dv.n;
        for (int c = 0; c < C; c++) {
            int x = lane + 32 * c;
            if (x >= a.d) continue;
            dK[x] = __float2half(a.scale * dk[r][c]);
            dV[x] = __float2half(dv[r][c]);
        }
    }
}

template <int D, int T> __global__ void queries(struct job a) {
    const int C = D / 32;
    __shared__ half Ks[T][D + 2], Vs[T][D + 2], Qs[OWN][D + 2], Gs[OWN][D + 2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t z = blockIdx.y, b = z / a.H, h = z % a.H, i0 = (int64_t)blockIdx.x * OWN;
    const half *K = a.K + b * a.k.b + h * a.k.h, *V = a.V + b * a.v.b + h * a.v.h;
    rows_to<D, OWN>(Qs, a.Q + b * a.q.b + h * a.q.h + i0 * a.q.n, a.q.n, a.N_q - i0, a.d);
    rows_to<D, OWN>(Gs, a.dO + b * a.g.b + h * a.g.h + i0 * a.g.n, a.g.n, a.N_q - i0, a.d);
    float dq[2][C] = {}, L[2], delta[2];
    for (int r = 0; r < 2; r++) {
        int64_t i = i0 + warp * 2 + r;
        L[r] = i < a.N_q ? a.LSE[z * a.N_q + i] : 0.0f;
        delta[r] = i < a.N_q ? a.delta[z * a.N_q + i] : 0.0f;
    }
    int64_t last = i0 + OWN < a.N_q ? i0 + OWN : a.N_q;
    int64_t end = a.causal && last + a.N_k - a.N_q < a.N_k ? last + a.N_k - a.N_q : a.N_k;
    for (int64_t k0 = 0; k0 < end; k0 += T) {
        int n = end - k0 < T ? (int)(end - k0) : T;
        __syncthreads();
        rows_to<D, T>(Ks, K + k0 * a.k.n, a.k.n, n, a.d);
        rows_to<D, T>(Vs, V + k0 * a.v.n, a.v.n, n, a.d);
        __syncthreads();
        for (int r = 0; r < 2; r++) {
            int own = warp * 2 + r;
            int64_t i = i0 + own;
            if (i >= a.N_q) continue;  // all lanes
            float ds = 0;
            if (lane < n && (!a.causal || k0 + lane <= i + a.N_k - a.N_q)) {
                float s = 0, dp = 0;
                for (int x = 0; x < a.d; x++) {
                    s += f(Qs[own][x]) * f(Ks[lane][x]);
                    dp += f(Gs[own][x]) * f(Vs[lane][x]);
                }
                ds = weight(s * a.scale - L[r]) * (dp - delta[r]);
            }
            for (int j = 0; j < n; j++) {
                float dj = __shfl_sync(~0u, ds, j);
                for (int c = 0; c < C; c++) dq[r][c] += dj * f(Ks[j][lane + 32 * c]);
            }
        }
    }
    for (int r = 0; r < 2; r++) {
        int64_t i = i0 + warp * 2 + r;
        if (i >= a.N_q) continue;
        half* dQ = a.dQ + b * a.dq.b + h * a.dq.h + i * a.dq.n;
        for (int c = 0; c < C; c++)
            if (lane + 32 * c < a.d) dQ[lane + 32 * c] = __float2half(a.scale * dq[r][c]);
    }
}

static bool bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

template <int D, int T> static void go(struct job a, int heads) {
    dim3 rows(CEIL_DIV((int64_t)a.N_q, WARPS), heads), ks(CEIL_DIV((int64_t)a.N_k, OWN), heads),
        qs(CEIL_DIV((int64_t)a.N_q, OWN), heads);
    if (a.N_q > 0) deltas<<<rows, WARPS * 32>>>(a);
    if (a.N_k > 0) keys<D, T><<<ks, WARPS * 32>>>(a);
    if (a.N_q > 0) queries<D, T><<<qs, WARPS * 32>>>(a);
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
    if (d > 256 || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (bad(stride_dq, d) || bad(stride_dk, d) || bad(stride_dv, d) || bad(stride_q, d) ||
        bad(stride_k, d) || bad(stride_v, d) || bad(stride_o, d) || bad(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    struct job a = {dQ_gpu, dK_gpu, dV_gpu, Q_gpu,   K_gpu,
                    V_gpu,  O_gpu,  dO_gpu, LSE_gpu, (float*)workspace_gpu,
                    N_q,    N_k,    H,      d,       causal};
    a.dq = stride_dq, a.dk = stride_dk, a.dv = stride_dv, a.q = stride_q, a.k = stride_k;
    a.v = stride_v, a.o = stride_o, a.g = stride_do, a.scale = scale;
    if (d <= 32)
        go<32, 32>(a, B * H);
    else if (d <= 64)
        go<64, 32>(a, B * H);
    else if (d <= 128)
        go<128, 32>(a, B * H);
    else
        go<256, 16>(a, B * H);
    if (cudaGetLastError() != cudaSuccess) return COURSE_CUDA_ERROR;
    return COURSE_OK;
}
