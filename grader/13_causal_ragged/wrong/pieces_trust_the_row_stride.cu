// cause: misaligned
// Rows of 64, 128 and 256 elements are loaded in pieces of 8 bytes if the row stride is a multiple
// of 8: where the array, a head or a batch begins, nobody asks.

#include "causal_ragged.h"
#include <cuda_fp16.h>
#include <math.h>

#define WARPS 8
#define ROWS 16
#define KEYS 32

struct job {
    half* O;
    float* LSE;
    const half *Q, *K, *V;
    int N_q, N_k, H, d, causal, works;
    struct strides o, q, k, v;
    float scale;
};

__device__ float warp_max(float x) {
    for (int s = 16; s > 0; s >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, s));
    return x;
}
__device__ float warp_sum(float x) {
    for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(~0u, x, s);
    return x;
}

template <int D>
__device__ void load_rows(half (*to)[D + 2], const half* from, struct strides st, int n, int d) {
    int64_t stride = st.n;
    if (d == D && stride % 8 == 0) {
        for (int e = threadIdx.x; e < KEYS * D / 4; e += WARPS * 32) {
            int r = e / (D / 4), x = e % (D / 4) * 4;
            uint2 w = {0, 0};
            if (r < n) w = *(const uint2*)&from[r * stride + x];
            for (int i = 0; i < 4; i++) to[r][x + i] = ((const half*)&w)[i];
        }
        return;
    }
    for (int e = threadIdx.x; e < KEYS * D; e += WARPS * 32) {
        int r = e / D, x = e % D;
        to[r][x] = r < n && x < d ? from[r * stride + x] : __float2half(0.0f);
    }
}

__device__ int64_t sees(const struct job& a, int64_t i) {
    if (!a.causal) return a.N_k;
    int64_t n = i + 1 + a.N_k - a.N_q;
    return n < 0 ? 0 : n > a.N_k ? a.N_k : n;
}

template <int D> __global__ void attend(struct job a) {
    const int C = D / 32;
    __shared__ half Qs[ROWS][D];
    __shared__ half Ks[KEYS][D + 2];
    __shared__ half Vs[KEYS][D + 2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t head_of_all = blockIdx.y;
    int64_t row0 = (int64_t)blockIdx.x * ROWS;
    int64_t b = head_of_all / a.H, h = head_of_all % a.H;
    const half* Q = a.Q + b * a.q.b + h * a.q.h;
    const half* K = a.K + b * a.k.b + h * a.k.h;
    const half* V = a.V + b * a.v.b + h * a.v.h;
    half* O = a.O + b * a.o.b + h * a.o.h;
    for (int e = threadIdx.x; e < ROWS * D; e += WARPS * 32) {
        int64_t i = row0 + e / D;
        int x = e % D;
        Qs[e / D][x] = i < a.N_q && x < a.d ? Q[i * a.q.n + x] : __float2half(0.0f);
    }
    int64_t last = row0 + ROWS - 1 < a.N_q ? row0 + ROWS - 1 : a.N_q - 1;
    int64_t end = sees(a, last), all_see = sees(a, row0);
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0}, acc[2][C] = {};
    for (int64_t k0 = 0; k0 < end; k0 += KEYS) {
        int n = end - k0 < KEYS ? (int)(end - k0) : KEYS;
        bool whole = k0 + KEYS <= all_see;
        __syncthreads();  // the tile before was read
        load_rows<D>(Ks, K + k0 * a.k.n, a.k, n, a.d);
        load_rows<D>(Vs, V + k0 * a.v.n, a.v, n, a.d);
        __syncthreads();  // the tile is here
        for (int r = 0; r < 2; r++) {
            const half* q = Qs[warp * 2 + r];
            float s = 0.0f;
            for (int x = 0; x < a.d; x++) s += __half2float(q[x]) * __half2float(Ks[lane][x]);
            s *= a.scale;
            if (!whole && (lane >= n || k0 + lane >= sees(a, row0 + warp * 2 + r))) s = -INFINITY;
            float top = fmaxf(m[r], warp_max(s));
            if (top == -INFINITY) continue;  // all lanes
            float shrink = expf(m[r] - top);
            float p = expf(s - top);
            m[r] = top;
            l[r] = l[r] * shrink + warp_sum(p);
            for (int c = 0; c < C; c++) acc[r][c] *= shrink;
            for (int k = 0; k < n; k++) {
                float pk = __shfl_sync(~0u, p, k);
                for (int c = 0; c < C; c++) acc[r][c] += pk * __half2float(Vs[k][lane + 32 * c]);
            }
        }
    }
    for (int r = 0; r < 2; r++) {
        int64_t i = row0 + warp * 2 + r;
        if (i >= a.N_q) continue;
        for (int c = 0; c < C; c++)
            if (lane + 32 * c < a.d)
                O[i * a.o.n + lane + 32 * c] = __float2half(l[r] > 0 ? acc[r][c] / l[r] : 0.0f);
        if (lane == 0) a.LSE[head_of_all * a.N_q + i] = m[r] + logf(l[r]);
    }
}

static bool bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}

extern "C" int causal_ragged(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int H, int d,
                             struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (bad(stride_o, d) || bad(stride_q, d) || bad(stride_k, d) || bad(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    struct job a = {O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H, d, causal, 0};
    a.o = stride_o, a.q = stride_q, a.k = stride_k, a.v = stride_v, a.scale = scale;
    dim3 grid(CEIL_DIV((int64_t)N_q, ROWS), B * H);
    if (d <= 64)
        attend<64><<<grid, WARPS * 32>>>(a);
    else if (d <= 128)
        attend<128><<<grid, WARPS * 32>>>(a);
    else
        attend<256><<<grid, WARPS * 32>>>(a);
    if (cudaGetLastError() != cudaSuccess) return COURSE_CUDA_ERROR;
    return COURSE_OK;
}
