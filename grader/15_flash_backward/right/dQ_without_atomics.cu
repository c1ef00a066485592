// Tiles of 32 x 32 in dynamic shared memory, P and dS made twice: once by the block that owns the
// keys, once by a block that owns the queries and so needs no atomics. Blocks of keys walk
// forwards, blocks of queries backwards; delta is made where it is needed, and the workspace is not
// used at all.
#include "flash_backward.h"

#include <cuda_fp16.h>
#include <math.h>

#define TILE 32
#define SLICES 8  // warps; a thread has the rows y, y + 8, y + 16, y + 24 of a tile
#define THREADS (TILE * SLICES)

struct shared {
    fp16 *Q, *dO, *K, *V;                   // (TILE, width + 2)
    float (*P)[TILE + 1], (*dS)[TILE + 1];  // (query, key)
    float *LSE, *delta;
};

struct task {
    fp16 *dQ, *dK, *dV;
    const fp16 *Q, *K, *V, *O, *dO;
    const float* LSE;
    int N_q, N_k, H, d;
    struct strides stride_dq, stride_dk, stride_dv, stride_q, stride_k, stride_v, stride_o,
        stride_do;
    float scale;
    int causal;
};

static size_t shared_bytes(int width) {
    return (size_t)4 * TILE * (width + 2) * 2 + (size_t)2 * TILE * (TILE + 1) * 4 + 2 * TILE * 4;
}

__device__ struct shared divide(char* memory, int width) {
    struct shared s;
    s.Q = (fp16*)memory;
    s.dO = s.Q + TILE * (width + 2);
    s.K = s.dO + TILE * (width + 2);
    s.V = s.K + TILE * (width + 2);
    s.P = (float(*)[TILE + 1])(s.V + TILE * (width + 2));
    s.dS = s.P + TILE;
    s.LSE = (float*)(s.dS + TILE);
    s.delta = s.LSE + TILE;
    return s;
}

// This head's part of every array.
__device__ struct task of_head(struct task t) {
    int64_t b = blockIdx.y / t.H, h = blockIdx.y % t.H;
    t.dQ += b * t.stride_dq.b + h * t.stride_dq.h;
    t.dK += b * t.stride_dk.b + h * t.stride_dk.h;
    t.dV += b * t.stride_dv.b + h * t.stride_dv.h;
    t.Q += b * t.stride_q.b + h * t.stride_q.h;
    t.K += b * t.stride_k.b + h * t.stride_k.h;
    t.V += b * t.stride_v.b + h * t.stride_v.h;
    t.O += b * t.stride_o.b + h * t.stride_o.h;
    t.dO += b * t.stride_do.b + h * t.stride_do.h;
    t.LSE += (int64_t)blockIdx.y * t.N_q;
    return t;
}

template <int width>
__device__ void load(fp16* tile, const fp16* rows, int64_t n, int d, int64_t stride) {
    int x = threadIdx.x, y = threadIdx.y;
    for (int i = y; i < TILE; i += SLICES)
        for (int k = x; k < width; k += TILE)
            tile[i * (width + 2) + k] = i < n && k < d ? rows[i * stride + k] : __float2half(0.0f);
}

template <int width> __device__ void load_queries(struct shared s, struct task t, int64_t i0) {
    load<width>(s.Q, t.Q + i0 * t.stride_q.n, t.N_q - i0, t.d, t.stride_q.n);
    load<width>(s.dO, t.dO + i0 * t.stride_do.n, t.N_q - i0, t.d, t.stride_do.n);
    for (int i = threadIdx.y; i < TILE; i += SLICES) {
        float sum = 0.0f;
        for (int x = threadIdx.x; i0 + i < t.N_q && x < t.d; x += TILE)
            sum += __half2float(t.O[(i0 + i) * t.stride_o.n + x]) *
                   __half2float(t.dO[(i0 + i) * t.stride_do.n + x]);
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (threadIdx.x == 0) {
            s.delta[i] = sum;
            s.LSE[i] = i0 + i < t.N_q ? t.LSE[i0 + i] : 0.0f;
        }
    }
}

// The tiles of P and dS at query i0, key j0.
template <int width> __device__ void weigh(struct shared s, struct task t, int64_t i0, int64_t j0) {
    int j = threadIdx.x;
    for (int i = threadIdx.y; i < TILE; i += SLICES) {
        float score = 0.0f, dP = 0.0f;
        for (int k = width - 1; k >= 0; k--) {
            score +=
                __half2float(s.Q[i * (width + 2) + k]) * __half2float(s.K[j * (width + 2) + k]);
            dP += __half2float(s.dO[i * (width + 2) + k]) * __half2float(s.V[j * (width + 2) + k]);
        }
        bool seen =
            i0 + i < t.N_q && j0 + j < t.N_k && (!t.causal || j0 + j <= i0 + i + t.N_k - t.N_q);
        float p = seen ? expf(t.scale * score - s.LSE[i]) : 0.0f;
        s.P[i][j] = p;
        s.dS[i][j] = p * (dP - s.delta[i]);
    }
}

template <int width> __global__ void keys_kernel(struct task all) {
    extern __shared__ char memory[];
    struct shared s = divide(memory, width);
    struct task t = of_head(all);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t j0 = (int64_t)blockIdx.x * TILE, first = j0 + t.N_q - t.N_k;
    float dK[TILE / SLICES][width / TILE] = {{0.0f}}, dV[TILE / SLICES][width / TILE] = {{0.0f}};
    load<width>(s.K, t.K + j0 * t.stride_k.n, t.N_k - j0, t.d, t.stride_k.n);
    load<width>(s.V, t.V + j0 * t.stride_v.n, t.N_k - j0, t.d, t.stride_v.n);
    if (!t.causal || first < 0) first = 0;
    for (int64_t i0 = first / TILE * TILE; i0 < t.N_q; i0 += TILE) {
        load_queries<width>(s, t, i0);
        __syncthreads();
        weigh<width>(s, t, i0, j0);
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            for (int r = 0; r < TILE / SLICES; r++)
                for (int c = 0; c < width / TILE; c++) {
                    int at = i * (width + 2) + x + c * TILE;
                    dV[r][c] += s.P[i][y + r * SLICES] * __half2float(s.dO[at]);
                    dK[r][c] += s.dS[i][y + r * SLICES] * __half2float(s.Q[at]);
                }
        __syncthreads();
    }
    for (int r = 0; r < TILE / SLICES; r++)
        for (int c = 0; c < width / TILE; c++) {
            int64_t j = j0 + y + r * SLICES;
            int k = x + c * TILE;
            if (j >= t.N_k || k >= t.d) continue;
            t.dK[j * t.stride_dk.n + k] = __float2half(dK[r][c] * t.scale);
            t.dV[j * t.stride_dv.n + k] = __float2half(dV[r][c]);
        }
}

template <int width> __global__ void queries_kernel(struct task all) {
    extern __shared__ char memory[];
    struct shared s = divide(memory, width);
    struct task t = of_head(all);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t i0 = (int64_t)blockIdx.x * TILE, end = t.N_k;
    if (t.causal && i0 + TILE + t.N_k - t.N_q < end) end = i0 + TILE + t.N_k - t.N_q;
    float dQ[TILE / SLICES][width / TILE] = {{0.0f}};
    load_queries<width>(s, t, i0);
    for (int64_t j0 = (end - 1) / TILE * TILE; end > 0 && j0 >= 0; j0 -= TILE) {
        load<width>(s.K, t.K + j0 * t.stride_k.n, t.N_k - j0, t.d, t.stride_k.n);
        load<width>(s.V, t.V + j0 * t.stride_v.n, t.N_k - j0, t.d, t.stride_v.n);
        __syncthreads();
        weigh<width>(s, t, i0, j0);
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            for (int r = 0; r < TILE / SLICES; r++)
                for (int c = 0; c < width / TILE; c++)
                    dQ[r][c] +=
                        s.dS[y + r * SLICES][j] * __half2float(s.K[j * (width + 2) + x + c * TILE]);
        __syncthreads();
    }
    for (int r = 0; r < TILE / SLICES; r++)
        for (int c = 0; c < width / TILE; c++) {
            int64_t i = i0 + y + r * SLICES;
            int k = x + c * TILE;
            if (i < t.N_q && k < t.d)
                t.dQ[i * t.stride_dq.n + k] = __float2half(dQ[r][c] * t.scale);
        }
}

template <int width> static int launch(struct task t, int heads) {
    size_t bytes = shared_bytes(width);
    dim3 block(TILE, SLICES);
    COURSE_TRY(cudaFuncSetAttribute(keys_kernel<width>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes));
    COURSE_TRY(cudaFuncSetAttribute(queries_kernel<width>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    if (t.N_k > 0) keys_kernel<width><<<dim3(CEIL_DIV(t.N_k, TILE), heads), block, bytes>>>(t);
    if (t.N_q > 0) queries_kernel<width><<<dim3(CEIL_DIV(t.N_q, TILE), heads), block, bytes>>>(t);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
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
    struct task t = {dQ,       dK,        dV,        Q,         K,        V,
                     O,        dO,        LSE,       N_q,       N_k,      H,
                     d,        stride_dq, stride_dk, stride_dv, stride_q, stride_k,
                     stride_v, stride_o,  stride_do, scale,     causal};
    return d <= 32 ? launch<32>(t, B * H) : d <= 64 ? launch<64>(t, B * H) : launch<256>(t, B * H);
}
