// warp_per_query.cu: 16 keys a block in dynamic shared memory, 8 queries at a time: a warp for each
// query, and of its lanes one for each key. delta by a thread for each row. A flat grid.
#include "flash_backward.h"

#include <cuda_fp16.h>
#include <math.h>

#define KEYS 16  // 82 KB with d = 256, of 99 that every card has
#define QUERIES 8
#define CHECK(call)                   \
    do {                              \
        if ((call) != cudaSuccess) {  \
            (void)cudaGetLastError(); \
            return COURSE_CUDA_ERROR; \
        }                             \
    } while (0)

struct job {
    fp16 *dQ, *dK, *dV;
    const fp16 *Q, *K, *V, *O, *dO;
    const float* LSE;
    float *delta, *sums;
    int N_q, N_k, H, d, causal, tiles;
    float scale;
    struct strides sdq, sdk, sdv, sq, sk, sv, so, sdo;
};

__device__ int64_t offset(struct strides s, int64_t bh, int H, int64_t n) {
    return bh / H * s.b + bh % H * s.h + n * s.n;
}

// delta, and zeros for the sums: one thread for each row, d columns in a loop
__global__ void prepare(struct job p, int64_t rows) {
    for (int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; r < rows;
         r += (int64_t)gridDim.x * blockDim.x) {
        const fp16* o = p.O + offset(p.so, r / p.N_q, p.H, r % p.N_q);
        const fp16* g = p.dO + offset(p.sdo, r / p.N_q, p.H, r % p.N_q);
        float sum = 0;
        for (int x = 0; x < p.d; x++) {
            sum += __half2float(o[x]) * __half2float(g[x]);
            p.sums[r * p.d + x] = 0;
        }
        p.delta[r] = sum;
    }
}

__global__ void gradients(struct job p) {
    extern __shared__ float memory[];
    const int w = p.d + 1;           // padded: lanes in different banks
    float* k = memory;               // (KEYS, w)
    float* v = k + KEYS * w;         // (KEYS, w)
    float* q = v + KEYS * w;         // (QUERIES, w)
    float* g = q + QUERIES * w;      // (QUERIES, w)
    float* dk = g + QUERIES * w;     // (KEYS, w)
    float* dv = dk + KEYS * w;       // (KEYS, w)
    float* P = dv + KEYS * w;        // (QUERIES, KEYS)
    float* dS = P + QUERIES * KEYS;  // (QUERIES, KEYS)
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int64_t bh = blockIdx.x / p.tiles, first = (int64_t)(blockIdx.x % p.tiles) * KEYS;
    const int keys = p.N_k - first < KEYS ? (int)(p.N_k - first) : KEYS;

    for (int n = warp; n < KEYS; n += QUERIES)
        for (int x = lane; x < p.d; x += 32) {
            k[n * w + x] = n < keys ? __half2float(p.K[offset(p.sk, bh, p.H, first + n) + x]) : 0;
            v[n * w + x] = n < keys ? __half2float(p.V[offset(p.sv, bh, p.H, first + n) + x]) : 0;
            dk[n * w + x] = dv[n * w + x] = 0;
        }
    int64_t start = 0;
    if (p.causal && first - p.N_k + p.N_q > 0) start = first - p.N_k + p.N_q;
    for (int64_t base = start; base < p.N_q; base += QUERIES) {
        int64_t i = base + warp;
        bool exists = i < p.N_q;
        __syncthreads();
        for (int x = lane; x < p.d; x += 32) {
            q[warp * w + x] = exists ? __half2float(p.Q[offset(p.sq, bh, p.H, i) + x]) : 0;
            g[warp * w + x] = exists ? __half2float(p.dO[offset(p.sdo, bh, p.H, i) + x]) : 0;
        }
        __syncthreads();
        float s = 0, dp = 0;
        for (int x = 0; x < p.d && lane < KEYS; x++) {
            s = fmaf(q[warp * w + x], k[lane * w + x], s);
            dp = fmaf(g[warp * w + x], v[lane * w + x], dp);
        }
        bool seen = exists && lane < keys && (!p.causal || first + lane <= i + p.N_k - p.N_q);
        float pr = seen ? expf(s * p.scale - p.LSE[bh * p.N_q + i]) : 0;
        float ds = seen ? pr * (dp - p.delta[bh * p.N_q + i]) : 0;
        if (lane < KEYS) P[warp * KEYS + lane] = pr, dS[warp * KEYS + lane] = ds;
        for (int x0 = 0; x0 < p.d; x0 += 32) {
            int x = x0 + lane;
            float sum = 0;
            for (int j = 0; j < KEYS; j++) {
                float share = __shfl_sync(0xffffffffu, ds, j);
                if (x < p.d) sum += share * k[j * w + x];
            }
            if (exists && x < p.d) atomicAdd(p.sums + (bh * p.N_q + i) * p.d + x, sum);
        }
        __syncthreads();
        for (int n = warp; n < KEYS; n += QUERIES)
            for (int x = lane; x < p.d; x += 32) {
                float a = 0, b = 0;
                for (int r = 0; r < QUERIES; r++)
                    a += P[r * KEYS + n] * g[r * w + x], b += dS[r * KEYS + n] * q[r * w + x];
                dv[n * w + x] += a;
                dk[n * w + x] += b;
            }
    }
    __syncthreads();
    for (int n = warp; n < keys; n += QUERIES)
        for (int x = lane; x < p.d; x += 32) {
            p.dK[offset(p.sdk, bh, p.H, first + n) + x] = __float2half(p.scale * dk[n * w + x]);
            p.dV[offset(p.sdv, bh, p.H, first + n) + x] = __float2half(dv[n * w + x]);
        }
}

__global__ void finish(struct job p) {
    int64_t bh = blockIdx.y, n = blockIdx.x;
    for (int x = threadIdx.x; x < p.d; x += blockDim.x)
        p.dQ[offset(p.sdq, bh, p.H, n) + x] =
            __float2half(p.scale * p.sums[(bh * p.N_q + n) * p.d + x]);
}

extern "C" int flash_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu,
                              const fp16* K_gpu, const fp16* V_gpu, const fp16* O_gpu,
                              const float* LSE_gpu, const fp16* dO_gpu, int B, int N_q, int N_k,
                              int H, int d, struct strides stride_dq, struct strides stride_dk,
                              struct strides stride_dv, struct strides stride_q,
                              struct strides stride_k, struct strides stride_v,
                              struct strides stride_o, struct strides stride_do, float scale,
                              int causal, void* workspace_gpu) {
    const struct strides all[8] = {stride_dq, stride_dk, stride_dv, stride_q,
                                   stride_k,  stride_v,  stride_o,  stride_do};
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > 256 || (long long)B * H > 65535) return COURSE_UNSUPPORTED;
    const int64_t heads = (int64_t)B * H;
    if (heads == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    for (int a = 0; a < 8; a++)
        if (all[a].b < 0 || all[a].h < 0 || all[a].n < d) return COURSE_BAD_ARGUMENT;
    if (N_q && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    struct job p = {};
    p.dQ = dQ_gpu, p.dK = dK_gpu, p.dV = dV_gpu, p.Q = Q_gpu, p.K = K_gpu, p.V = V_gpu;
    p.O = O_gpu, p.dO = dO_gpu, p.LSE = LSE_gpu;
    p.delta = (float*)workspace_gpu;
    p.sums = p.delta ? p.delta + heads * N_q : NULL;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.d = d, p.causal = causal, p.scale = scale;
    p.tiles = (int)(((int64_t)N_k + KEYS - 1) / KEYS);
    p.sdq = stride_dq, p.sdk = stride_dk, p.sdv = stride_dv, p.sq = stride_q, p.sk = stride_k,
    p.sv = stride_v, p.so = stride_o, p.sdo = stride_do;
    if (N_q) {
        prepare<<<64, 64>>>(p, heads * N_q);
        CHECK(cudaGetLastError());
    }
    if (N_k) {
        size_t bytes =
            sizeof(float) * ((size_t)(4 * KEYS + 2 * QUERIES) * (d + 1) + 2 * QUERIES * KEYS);
        CHECK(cudaFuncSetAttribute(gradients, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)bytes));
        gradients<<<(unsigned)(p.tiles * heads), 32 * QUERIES, bytes>>>(p);
        CHECK(cudaGetLastError());
    }
    if (N_q) {
        finish<<<dim3(N_q, (unsigned)heads), 64>>>(p);
        CHECK(cudaGetLastError());
    }
    return COURSE_OK;
}
