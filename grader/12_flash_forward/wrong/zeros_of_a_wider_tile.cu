// cause: inner_tail
// A tile has 32 keys, and with N_k = 16 the zeros behind them get weights.

#include "flash_forward.h"
#include <cuda_fp16.h>
#include <math.h>

#define WARPS 8
#define ROWS 16
#define KEYS 32

__device__ float warp_max(float x) {
    for (int s = 16; s > 0; s >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, s));
    return x;
}
__device__ float warp_sum(float x) {
    for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(~0u, x, s);
    return x;
}

template <int D>
__device__ void load_rows(half (*to)[D + 2], const half* from, int64_t stride, int n, int pairs) {
    for (int e = threadIdx.x; e < KEYS * D; e += WARPS * 32) {
        int r = e / D, x = e % D;
        to[r][x] = r < n ? from[r * stride + x] : __float2half(0.0f);
    }
}

template <int D>
__global__ void attend(half* O, float* LSE, const half* Q, const half* K, const half* V, int N_q,
                       int N_k, int64_t ob, int64_t on, int64_t lb, int64_t qb, int64_t qn,
                       int64_t kb, int64_t kn, int64_t vb, int64_t vn, float scale, int pairs,
                       int works) {
    const int C = (D + 31) / 32;
    __shared__ half Qs[ROWS][D];
    __shared__ half Ks[KEYS][D + 2];
    __shared__ half Vs[KEYS][D + 2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t b = blockIdx.y;
    int64_t row0 = (int64_t)blockIdx.x * ROWS;
    for (int e = threadIdx.x; e < ROWS * D; e += WARPS * 32)
        Qs[e / D][e % D] = Q[b * qb + (row0 + e / D) * qn + e % D];
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0}, acc[2][C] = {};
    for (int k0 = 0; k0 < N_k; k0 += KEYS) {
        int n = N_k - k0 < KEYS ? N_k - k0 : KEYS;
        __syncthreads();  // the tile before was read
        load_rows<D>(Ks, K + b * kb + k0 * kn, kn, n, pairs);
        load_rows<D>(Vs, V + b * vb + k0 * vn, vn, n, pairs);
        __syncthreads();  // the tile is here
        for (int r = 0; r < 2; r++) {
            const half* q = Qs[warp * 2 + r];
            float s = 0.0f;
            for (int x = 0; x < D; x++) s += __half2float(q[x]) * __half2float(Ks[lane][x]);
            s *= scale;
            float top = fmaxf(m[r], warp_max(s));
            float shrink = expf(m[r] - top);
            float p = expf(s - top);
            m[r] = top;
            l[r] = l[r] * shrink + warp_sum(p);
            for (int c = 0; c < C; c++) acc[r][c] *= shrink;
            for (int k = 0; k < n; k++) {
                float pk = __shfl_sync(~0u, p, k);
                for (int c = 0; c < C; c++)
                    if (lane + 32 * c < D) acc[r][c] += pk * __half2float(Vs[k][lane + 32 * c]);
            }
        }
    }
    for (int r = 0; r < 2; r++) {
        int64_t i = row0 + warp * 2 + r;
        for (int c = 0; c < C; c++)
            if (lane + 32 * c < D)
                O[b * ob + i * on + lane + 32 * c] = __float2half(acc[r][c] / l[r]);
        if (lane == 0) LSE[b * lb + i] = m[r] + logf(l[r]);
    }
}

static bool power(int n) {
    return n >= 16 && (n & (n - 1)) == 0;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (!power(N_q) || !power(N_k) || !power(d) || d > 256 || B > 65535) return COURSE_UNSUPPORTED;
    if (B == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    int pairs = 0, works = 0;
    dim3 grid(N_q / ROWS, B);
#define GO(D)                                                                                     \
    case D:                                                                                       \
        attend<D><<<grid, WARPS * 32>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, stride_ob, \
                                        stride_on, stride_lb, stride_qb, stride_qn, stride_kb,    \
                                        stride_kn, stride_vb, stride_vn, scale, pairs, works);    \
        break;
    switch (d) { GO(16) GO(32) GO(64) GO(128) GO(256) }
    if (cudaGetLastError() != cudaSuccess) return COURSE_CUDA_ERROR;
    return COURSE_OK;
}
