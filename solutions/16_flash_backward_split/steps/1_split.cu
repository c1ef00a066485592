// 1_split.cu: lesson 15 in two kernels, one for dK and dV and one for dQ, without tensor cores.
//
//     P  = exp(S - LSE)             S = scale Q K^T, made in both kernels
//     dV = P^T dO
//     dS = P * (dP - delta)         dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,            dQ = scale dS K
//
// Both kernels are the same walk: a block owns TILE rows (keys, or queries), keeps their gradients
// in registers, and walks over the tiles of the other side. Nobody adds to what another block owns:
// the same inputs give the same bits.
//
// What is wrong with it: every product is made one by one, and S and dP are made twice.
//
// FlashAttention-2 (Dao 2023), algorithm 2. Equation numbers are those of the README.
#include "flash_backward_split.h"

#include <math.h>

#include "tile.h"

#define TILE 16                // rows of a block, and rows per tile that it walks over
#define THREADS (TILE * TILE)  // one per element of a tile of S
#define PAD 2                  // elements added to each row in shared memory: 4 bytes, one bank

// ---- device helpers ------------------------------------------------------------------------

// Does query i exist, and key j, and does i see j? Query i sees j <= i + N_k - N_q with a mask.
__device__ bool sees(const struct backward& p, int64_t i, int64_t j) {
    return i < p.N_q && j < p.N_k && (!p.causal || j <= i + p.N_k - p.N_q);
}

// tile[n][x] = a[first + n][x], zeros from row N on.
template <int d>
__device__ void load_tile(bf16 tile[][d + PAD], struct array a, int64_t first, int64_t N) {
    for (int e = threadIdx.y * TILE + threadIdx.x; e < TILE * d; e += THREADS) {
        int n = e / d, x = e % d;
        tile[n][x] =
            first + n < N ? a.elements[(first + n) * a.stride.n + x] : __float2bfloat16(0.0f);
    }
}

// The tiles of a block, and one element of P and dS for each of its threads.
template <int d> struct tiles {
    bf16 Q[TILE][d + PAD], K[TILE][d + PAD], V[TILE][d + PAD], dO[TILE][d + PAD];
    float P[TILE][TILE], dS[TILE][TILE];
};

// P and dS of query first_query + y and key first_key + x, rounded to bf16 as tensor cores take
// them.
// P[i][j] = exp(scale sum_x Q[i][x] K[j][x] - LSE[i])                            (README eq. 1, 3)
// dS[i][j] = P[i][j] (sum_x dO[i][x] V[j][x] - delta[i])                         (README eq. 4, 5)
template <int d>
__device__ void weigh(struct tiles<d>& t, const struct backward& p, int64_t first_query,
                      int64_t first_key) {
    int x = threadIdx.x, y = threadIdx.y;
    float s = 0.0f, dP = 0.0f, weight = 0.0f, dS = 0.0f;
    for (int k = 0; k < d; k++) {
        s += __bfloat162float(t.Q[y][k]) * __bfloat162float(t.K[x][k]);
        dP += __bfloat162float(t.dO[y][k]) * __bfloat162float(t.V[x][k]);
    }
    if (sees(p, first_query + y, first_key + x)) {
        weight = expf(p.scale * s - p.LSE[first_query + y]);
        dS = weight * (dP - p.delta[first_query + y]);
    }
    t.P[y][x] = __bfloat162float(__float2bfloat16(weight));
    t.dS[y][x] = __bfloat162float(__float2bfloat16(dS));
}

// ---- GPU kernels ---------------------------------------------------------------------------

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Grid (ceil(N_q / THREADS), B * H), block THREADS: one thread per query.
__global__ void delta_kernel(const struct backward all_heads, int d) {
    struct backward p = of_head(all_heads, blockIdx.y);
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.N_q) return;
    float sum = 0.0f;
    for (int x = 0; x < d; x++)
        sum += __bfloat162float(p.O.elements[i * p.O.stride.n + x]) *
               __bfloat162float(p.dO.elements[i * p.dO.stride.n + x]);
    p.delta[i] = sum;
}

// Grid (ceil(N_k / TILE), B * H), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE, ...
// of key y.
template <int d> __global__ void dk_dv_kernel(const struct backward all_heads) {
    __shared__ struct tiles<d> t;
    struct backward p = of_head(all_heads, blockIdx.y);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_key = (int64_t)blockIdx.x * TILE;  // [0, N_k)
    int64_t start = p.causal ? first_key - p.N_k + p.N_q : 0;
    start = start < 0 ? 0 : start / TILE * TILE;
    float dK[d / TILE] = {}, dV[d / TILE] = {};
    load_tile<d>(t.K, p.K, first_key, p.N_k);
    load_tile<d>(t.V, p.V, first_key, p.N_k);
    for (int64_t first_query = start; first_query < p.N_q; first_query += TILE) {
        load_tile<d>(t.Q, p.Q, first_query, p.N_q);
        load_tile<d>(t.dO, p.dO, first_query, p.N_q);
        __syncthreads();  // the tiles are written before anybody reads them
        weigh<d>(t, p, first_query, first_key);
        __syncthreads();  // P and dS are written before anybody reads them
        // dV += P^T dO,  dK += dS^T Q                                          (README eq. 6, 7)
        // dV[j][k] += sum_i P[i][j] dO[i][k],  dK[j][k] += sum_i dS[i][j] Q[i][k];  j = y
        for (int i = 0; i < TILE; i++)
            for (int c = 0; c < d / TILE; c++) {
                dV[c] += t.P[i][y] * __bfloat162float(t.dO[i][x + c * TILE]);
                dK[c] += t.dS[i][y] * __bfloat162float(t.Q[i][x + c * TILE]);
            }
        __syncthreads();  // everybody has read the tiles before the next round overwrites them
    }
    if (first_key + y >= p.N_k) return;
    for (int c = 0; c < d / TILE; c++) {
        p.dK.elements[(first_key + y) * p.dK.stride.n + x + c * TILE] =
            __float2bfloat16(p.scale * dK[c]);
        p.dV.elements[(first_key + y) * p.dV.stride.n + x + c * TILE] = __float2bfloat16(dV[c]);
    }
}

// Grid (ceil(N_q / TILE), B * H), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE, ...
// of query y.
template <int d> __global__ void dq_kernel(const struct backward all_heads) {
    __shared__ struct tiles<d> t;
    struct backward p = of_head(all_heads, blockIdx.y);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_query = (int64_t)blockIdx.x * TILE;  // [0, N_q)
    int64_t end = p.causal ? first_query + TILE + p.N_k - p.N_q : p.N_k;
    if (end > p.N_k) end = p.N_k;
    float dQ[d / TILE] = {};
    load_tile<d>(t.Q, p.Q, first_query, p.N_q);
    load_tile<d>(t.dO, p.dO, first_query, p.N_q);
    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        load_tile<d>(t.K, p.K, first_key, p.N_k);
        load_tile<d>(t.V, p.V, first_key, p.N_k);
        __syncthreads();  // the tiles are written before anybody reads them
        weigh<d>(t, p, first_query, first_key);
        __syncthreads();  // dS is written before anybody reads it
        // dQ += dS K                                                              (README eq. 8)
        // dQ[i][k] += sum_j dS[i][j] K[j][k];  i = y
        for (int j = 0; j < TILE; j++)
            for (int c = 0; c < d / TILE; c++)
                dQ[c] += t.dS[y][j] * __bfloat162float(t.K[j][x + c * TILE]);
        __syncthreads();  // everybody has read the tiles before the next round overwrites them
    }
    if (first_query + y >= p.N_q) return;
    for (int c = 0; c < d / TILE; c++)
        p.dQ.elements[(first_query + y) * p.dQ.stride.n + x + c * TILE] =
            __float2bfloat16(p.scale * dQ[c]);
}

// ---- launcher ------------------------------------------------------------------------------

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    struct backward p;
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0) return status;

    void (*dk_dv)(struct backward) = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
    void (*dq)(struct backward) = d == 64 ? dq_kernel<64> : dq_kernel<128>;
    dim3 block(TILE, TILE);
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, THREADS), B * H);
        delta_kernel<<<grid, THREADS>>>(p, d);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_k > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_k, TILE), B * H);
        dk_dv<<<grid, block>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, TILE), B * H);
        dq<<<grid, block>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
