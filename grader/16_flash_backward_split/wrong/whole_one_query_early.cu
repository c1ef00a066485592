// cause: diagonal_unmasked
// A tile counts as whole if all its queries but the first see the last key of the block.

#include "flash_backward_split.h"
#include <cuda_bf16.h>
#include <math.h>
#include "ptx.h"

#define OWN 64
#define T 32
#define THREADS 128
#define PAD 8
#define LOG2E 1.44269504f

struct job {
    bf16 *dQ, *dK, *dV;
    const bf16 *Q, *K, *V, *O, *dO;
    const float* LSE;
    float* delta;
    int N_q, N_k, H, causal;
    struct strides dq, dk, dv, q, k, v, o, g;
    float scale;
};

__device__ unsigned pack(float lo, float hi) {
    return pack_bf16(lo, hi);
}

template <int D>
__device__ void fetch(bf16 (*to)[D + PAD], const bf16* from, int64_t stride, int rows, int64_t n) {
    for (int e = threadIdx.x; e < rows * (D / 8); e += THREADS) {
        int r = e / (D / 8), x = e % (D / 8) * 8;
        cp_async16_zfill(&to[r][x], from + (r < n ? r * stride + x : 0), r < n ? 16 : 0);
    }
}

template <int D> __global__ void deltas(struct job a) {
    int lane = threadIdx.x % 32;
    int64_t i = (int64_t)blockIdx.x * 4 + threadIdx.x / 32, z = blockIdx.y, b = z / a.H,
            h = z % a.H;
    if (i >= a.N_q) return;
    const bf16 *o = a.O + b * a.o.b + h * a.o.h + i * a.o.n,
               *g = a.dO + b * a.g.b + h * a.g.h + i * a.g.n;
    float sum = 0;
    for (int x = 2 * lane; x < D; x += 64) {
        __nv_bfloat162 oo = *(const __nv_bfloat162*)&o[x], gg = *(const __nv_bfloat162*)&g[x];
        sum += __low2float(oo) * __low2float(gg) + __high2float(oo) * __high2float(gg);
    }
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0) a.delta[z * a.N_q + i] = sum;
}

// c[16 own rows][T] = A B^T
template <int D>
__device__ void scores(float c[T / 8][4], const bf16 (*A)[D + PAD], const bf16 (*B)[D + PAD]) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int j = 0; j < T / 8; j++)
        for (int e = 0; e < 4; e++) c[j][e] = 0;
    for (int x = 0; x < D; x += 16) {
        unsigned av[4], bv[4];
        ldmatrix_x4(av, &A[warp * 16 + lane % 16][x + lane / 16 * 8]);
        for (int j = 0; j < T; j += 16) {
            ldmatrix_x4(bv, &B[j + lane % 8 + lane / 16 * 8][x + lane / 8 % 2 * 8]);
            mma_m16n8k16_bf16(c[j / 8], av, bv);
            mma_m16n8k16_bf16(c[j / 8 + 1], av, bv + 2);
        }
    }
}
// c[16 own rows][D] += P B
template <int D>
__device__ void add(float c[D / 8][4], const float p[T / 8][4], const bf16 (*B)[D + PAD]) {
    int lane = threadIdx.x % 32;
    for (int j = 0; j < T; j += 16) {
        const float *lo = p[j / 8], *hi = p[j / 8 + 1];
        unsigned av[4] = {pack(lo[0], lo[1]), pack(lo[2], lo[3]), pack(hi[0], hi[1]),
                          pack(hi[2], hi[3])};
        for (int x = 0; x < D; x += 16) {
            unsigned bv[4];
            ldmatrix_x4_trans(bv, &B[j + lane % 16][x + lane / 16 * 8]);
            mma_m16n8k16_bf16(c[x / 8], av, bv);
            mma_m16n8k16_bf16(c[x / 8 + 1], av, bv + 2);
        }
    }
}
template <int D>
__device__ void give(bf16* to, struct strides s, int64_t first, int N, const float c[D / 8][4],
                     float factor) {
    int lane = threadIdx.x % 32, t = lane % 4;
    for (int r = 0; r < 2; r++) {
        int64_t n = first + threadIdx.x / 32 * 16 + lane / 4 + 8 * r;
        if (n >= N) continue;
        for (int x = 0; x < D / 8; x++)
            *(unsigned*)&to[n * s.n + 8 * x + 2 * t] =
                pack_bf16(factor * c[x][2 * r], factor * c[x][2 * r + 1]);
    }
}

template <int D> __global__ void __launch_bounds__(THREADS) keys(struct job a) {
    extern __shared__ uint4 memory[];
    bf16(*Ks)[D + PAD] = (bf16(*)[D + PAD]) memory, (*Vs)[D + PAD] = Ks + OWN,
                  (*Qs)[D + PAD] = Vs + OWN, (*Gs)[D + PAD] = Qs + T;
    __shared__ float Ls[T], ds[T];
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int64_t z = blockIdx.y, b = z / a.H, h = z % a.H, k0 = (int64_t)blockIdx.x * OWN;
    fetch<D>(Ks, a.K + b * a.k.b + h * a.k.h + k0 * a.k.n, a.k.n, OWN, a.N_k - k0);
    fetch<D>(Vs, a.V + b * a.v.b + h * a.v.h + k0 * a.v.n, a.v.n, OWN, a.N_k - k0);
    const bf16 *Q = a.Q + b * a.q.b + h * a.q.h, *G = a.dO + b * a.g.b + h * a.g.h;
    float dk[D / 8][4] = {}, dv[D / 8][4] = {}, s[T / 8][4], dp[T / 8][4];
    int64_t shift = a.causal ? (int64_t)a.N_q - a.N_k : -(int64_t)a.N_k;
    int64_t start = k0 + shift > 0 ? (k0 + shift) / T * T : 0;
    int64_t last_key = k0 + OWN < a.N_k ? k0 + OWN - 1 : a.N_k - 1;
    for (int64_t i0 = start; i0 < a.N_q; i0 += T) {
        int64_t n = a.N_q - i0;
        __syncthreads();
        fetch<D>(Qs, Q + i0 * a.q.n, a.q.n, T, n);
        fetch<D>(Gs, G + i0 * a.g.n, a.g.n, T, n);
        if (threadIdx.x < T) {
            Ls[threadIdx.x] = threadIdx.x < n ? a.LSE[z * a.N_q + i0 + threadIdx.x] * LOG2E : 0.0f;
            ds[threadIdx.x] = threadIdx.x < n ? a.delta[z * a.N_q + i0 + threadIdx.x] : 0.0f;
        }
        cp_async_wait_all();
        __syncthreads();
        bool masked = i0 + 1 < last_key + shift || n < T;
        scores<D>(s, Ks, Qs);
        scores<D>(dp, Vs, Gs);
        for (int j = 0; j < T / 8; j++)
            for (int e = 0; e < 4; e++) {
                int i = 8 * j + 2 * t + e % 2;
                int64_t key = k0 + warp * 16 + g + e / 2 * 8;
                float p = exp2_approx(s[j][e] * a.scale * LOG2E - Ls[i]);
                if (masked && (i0 + i < key + shift || i >= n)) p = 0.0f;
                s[j][e] = p;
                dp[j][e] = p * (dp[j][e] - ds[i]);
            }
        add<D>(dv, s, Gs);
        add<D>(dk, dp, Qs);
    }
    cp_async_wait_all();
    give<D>(a.dK + b * a.dk.b + h * a.dk.h, a.dk, k0, a.N_k, dk, a.scale);
    give<D>(a.dV + b * a.dv.b + h * a.dv.h, a.dv, k0, a.N_k, dv, 1.0f);
}

template <int D> __global__ void __launch_bounds__(THREADS) queries(struct job a) {
    extern __shared__ uint4 memory[];
    bf16(*Qs)[D + PAD] = (bf16(*)[D + PAD]) memory, (*Gs)[D + PAD] = Qs + OWN,
                  (*Ks)[D + PAD] = Gs + OWN, (*Vs)[D + PAD] = Ks + T;
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int64_t z = blockIdx.y, b = z / a.H, h = z % a.H, i0 = (int64_t)blockIdx.x * OWN;
    fetch<D>(Qs, a.Q + b * a.q.b + h * a.q.h + i0 * a.q.n, a.q.n, OWN, a.N_q - i0);
    fetch<D>(Gs, a.dO + b * a.g.b + h * a.g.h + i0 * a.g.n, a.g.n, OWN, a.N_q - i0);
    const bf16 *K = a.K + b * a.k.b + h * a.k.h, *V = a.V + b * a.v.b + h * a.v.h;
    float dq[D / 8][4] = {}, s[T / 8][4], dp[T / 8][4], base[2], delta[2];
    int64_t seen[2];
    for (int r = 0; r < 2; r++) {
        int64_t i = i0 + warp * 16 + g + 8 * r;
        base[r] = i < a.N_q ? a.LSE[z * a.N_q + i] * LOG2E : 0.0f;
        delta[r] = i < a.N_q ? a.delta[z * a.N_q + i] : 0.0f;
        seen[r] = a.causal ? i + 1 + a.N_k - a.N_q : a.N_k;
        if (seen[r] > a.N_k) seen[r] = a.N_k;
    }
    int64_t last = i0 + OWN < a.N_q ? i0 + OWN : a.N_q;
    int64_t end = a.causal && last + a.N_k - a.N_q < a.N_k ? last + a.N_k - a.N_q : a.N_k;
    for (int64_t k0 = 0; k0 < end; k0 += T) {
        __syncthreads();
        fetch<D>(Ks, K + k0 * a.k.n, a.k.n, T, a.N_k - k0);
        fetch<D>(Vs, V + k0 * a.v.n, a.v.n, T, a.N_k - k0);
        cp_async_wait_all();
        __syncthreads();
        scores<D>(s, Qs, Ks);
        scores<D>(dp, Gs, Vs);
        for (int j = 0; j < T / 8; j++)
            for (int e = 0; e < 4; e++) {
                float p = exp2_approx(s[j][e] * a.scale * LOG2E - base[e / 2]);
                if (k0 + 8 * j + 2 * t + e % 2 >= seen[e / 2]) p = 0.0f;
                dp[j][e] = p * (dp[j][e] - delta[e / 2]);
            }
        add<D>(dq, dp, Ks);
    }
    cp_async_wait_all();
    give<D>(a.dQ + b * a.dq.b + h * a.dq.h, a.dq, i0, a.N_q, dq, a.scale);
}

static bool bad(struct strides s, int d) {
    return s.b < 0 || s.h < 0 || s.n < d;
}
static bool odd(const void* p, struct strides s) {
    return (uintptr_t)p % 16 || s.b % 8 || s.h % 8 || s.n % 8;
}

template <int D> static int go(struct job a, int heads) {
    int bytes = 2 * (OWN + T) * (D + PAD) * (int)sizeof(bf16);
    COURSE_TRY(cudaFuncSetAttribute(keys<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    COURSE_TRY(
        cudaFuncSetAttribute(queries<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 rows(CEIL_DIV((int64_t)a.N_q, 4), heads), ks(CEIL_DIV((int64_t)a.N_k, OWN), heads),
        qs(CEIL_DIV((int64_t)a.N_q, OWN), heads);
    if (a.N_q > 0) deltas<D><<<rows, THREADS>>>(a);
    if (a.N_k > 0) keys<D><<<ks, THREADS, bytes>>>(a);
    if (a.N_q > 0) queries<D><<<qs, THREADS, bytes>>>(a);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > 65535) return COURSE_UNSUPPORTED;
    if (bad(stride_dq, d) || bad(stride_dk, d) || bad(stride_dv, d) || bad(stride_q, d) ||
        bad(stride_k, d) || bad(stride_v, d) || bad(stride_o, d) || bad(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (odd(dQ_gpu, stride_dq) || odd(dK_gpu, stride_dk) || odd(dV_gpu, stride_dv) ||
        odd(Q_gpu, stride_q) || odd(K_gpu, stride_k) || odd(V_gpu, stride_v) ||
        odd(O_gpu, stride_o) || odd(dO_gpu, stride_do))
        return COURSE_UNSUPPORTED;
    struct job a = {dQ_gpu, dK_gpu, dV_gpu, Q_gpu,   K_gpu,
                    V_gpu,  O_gpu,  dO_gpu, LSE_gpu, (float*)workspace_gpu,
                    N_q,    N_k,    H,      causal};
    a.dq = stride_dq, a.dk = stride_dk, a.dv = stride_dv, a.q = stride_q, a.k = stride_k;
    a.v = stride_v, a.o = stride_o, a.g = stride_do, a.scale = scale;
    return d == 64 ? go<64>(a, B * H) : go<128>(a, B * H);
}
