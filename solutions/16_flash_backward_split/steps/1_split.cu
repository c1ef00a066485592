// 1_split.cu: lesson 15 in two kernels, one for dK and dV and one for dQ, without tensor cores.
//
//     P  = exp(S - LSE)             S = scale Q K^T, made in both kernels
//     dV = P^T dO
//     dS = P * (dP - delta)         dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,            dQ = scale dS K
//
// Both kernels are the same walk: a block owns TILE rows (keys, or queries), keeps their gradients in
// registers, and walks over the tiles of the other side. Nobody adds to what another block owns: the same
// inputs give the same bits.
//
// What is wrong with it: every product is made one by one, and S and dP are made twice.
//
// FlashAttention-2 (Dao 2023), algorithm 2. Equation numbers are those of the README.
#include "flash_backward_split.h"

#include <cuda_bf16.h>
#include <math.h>

#define TILE 16                // rows of a block, and rows per tile that it walks over
#define THREADS (TILE * TILE)  // one per element of a tile of S
#define MAX_GRID_Y 65535       // the limit of gridDim.y
#define PIECE 8                // elements in 16 bytes
#define PAD 2                  // elements added to each row in shared memory: 4 bytes, one bank

// What the kernels work on: the launcher's arguments.
struct problem {
    bf16* dQ;          // (B, N_q, H, d)
    bf16* dK;          // (B, N_k, H, d)
    bf16* dV;          // (B, N_k, H, d)
    const bf16* Q;     // (B, N_q, H, d)
    const bf16* K;     // (B, N_k, H, d)
    const bf16* V;     // (B, N_k, H, d)
    const bf16* O;     // (B, N_q, H, d)
    const bf16* dO;    // (B, N_q, H, d)
    const float* LSE;  // (B, H, N_q)
    float* delta;      // (B, H, N_q), the workspace
    int N_q, N_k, H;
    struct strides stride_dq, stride_dk, stride_dv, stride_q, stride_k, stride_v, stride_o,
        stride_do;
    float scale;
    int causal;
};

// ---- device helpers ------------------------------------------------------------------------

// The problem of one head, of those that blockIdx.y counts: the pointers begin at its rows.
__device__ struct problem of_head(struct problem p) {
    int64_t b = blockIdx.y / p.H;  // batch, [0, B)
    int64_t h = blockIdx.y % p.H;  // head, [0, H)
    p.dQ += b * p.stride_dq.b + h * p.stride_dq.h;
    p.dK += b * p.stride_dk.b + h * p.stride_dk.h;
    p.dV += b * p.stride_dv.b + h * p.stride_dv.h;
    p.Q += b * p.stride_q.b + h * p.stride_q.h;
    p.K += b * p.stride_k.b + h * p.stride_k.h;
    p.V += b * p.stride_v.b + h * p.stride_v.h;
    p.O += b * p.stride_o.b + h * p.stride_o.h;
    p.dO += b * p.stride_do.b + h * p.stride_do.h;
    p.LSE += (b * p.H + h) * p.N_q;
    p.delta += (b * p.H + h) * p.N_q;
    return p;
}

// Does query i exist, and key j, and does i see j? Query i sees j <= i + N_k - N_q with a mask.
__device__ bool sees(const struct problem& p, int64_t i, int64_t j) {
    return i < p.N_q && j < p.N_k && (!p.causal || j <= i + p.N_k - p.N_q);
}

// tile[n][x] = rows[(first + n) * stride_n + x], zeros from row N on.
template <int d>
__device__ void load_tile(bf16 tile[][d + PAD], const bf16* rows, int64_t first, int64_t N,
                          int64_t stride_n) {
    for (int e = threadIdx.y * TILE + threadIdx.x; e < TILE * d; e += THREADS) {
        int n = e / d, x = e % d;
        tile[n][x] = first + n < N ? rows[(first + n) * stride_n + x] : __float2bfloat16(0.0f);
    }
}

// The tiles of a block, and one element of P and dS for each of its threads.
template <int d> struct tiles {
    bf16 Q[TILE][d + PAD], K[TILE][d + PAD], V[TILE][d + PAD], dO[TILE][d + PAD];
    float P[TILE][TILE], dS[TILE][TILE];
};

// P and dS of query first_query + y and key first_key + x, rounded to bf16 as tensor cores take them.
// P[i][j] = exp(scale sum_x Q[i][x] K[j][x] - LSE[i])                            (README eq. 1, 3)
// dS[i][j] = P[i][j] (sum_x dO[i][x] V[j][x] - delta[i])                         (README eq. 4, 5)
template <int d>
__device__ void weigh(struct tiles<d>& t, const struct problem& p, int64_t first_query,
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
__global__ void delta_kernel(const struct problem all_heads, int d) {
    struct problem p = of_head(all_heads);
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.N_q) return;
    float sum = 0.0f;
    for (int x = 0; x < d; x++)
        sum += __bfloat162float(p.O[i * p.stride_o.n + x]) *
               __bfloat162float(p.dO[i * p.stride_do.n + x]);
    p.delta[i] = sum;
}

// Grid (ceil(N_k / TILE), B * H), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE, ... of key y.
template <int d> __global__ void dk_dv_kernel(const struct problem all_heads) {
    __shared__ struct tiles<d> t;
    struct problem p = of_head(all_heads);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_key = (int64_t)blockIdx.x * TILE;  // [0, N_k)
    int64_t start = p.causal ? first_key - p.N_k + p.N_q : 0;
    start = start < 0 ? 0 : start / TILE * TILE;
    float dK[d / TILE] = {}, dV[d / TILE] = {};
    load_tile<d>(t.K, p.K, first_key, p.N_k, p.stride_k.n);
    load_tile<d>(t.V, p.V, first_key, p.N_k, p.stride_v.n);
    for (int64_t first_query = start; first_query < p.N_q; first_query += TILE) {
        load_tile<d>(t.Q, p.Q, first_query, p.N_q, p.stride_q.n);
        load_tile<d>(t.dO, p.dO, first_query, p.N_q, p.stride_do.n);
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
        p.dK[(first_key + y) * p.stride_dk.n + x + c * TILE] = __float2bfloat16(p.scale * dK[c]);
        p.dV[(first_key + y) * p.stride_dv.n + x + c * TILE] = __float2bfloat16(dV[c]);
    }
}

// Grid (ceil(N_q / TILE), B * H), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE, ... of query y.
template <int d> __global__ void dq_kernel(const struct problem all_heads) {
    __shared__ struct tiles<d> t;
    struct problem p = of_head(all_heads);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_query = (int64_t)blockIdx.x * TILE;  // [0, N_q)
    int64_t end = p.causal ? first_query + TILE + p.N_k - p.N_q : p.N_k;
    if (end > p.N_k) end = p.N_k;
    float dQ[d / TILE] = {};
    load_tile<d>(t.Q, p.Q, first_query, p.N_q, p.stride_q.n);
    load_tile<d>(t.dO, p.dO, first_query, p.N_q, p.stride_do.n);
    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        load_tile<d>(t.K, p.K, first_key, p.N_k, p.stride_k.n);
        load_tile<d>(t.V, p.V, first_key, p.N_k, p.stride_v.n);
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
        p.dQ[(first_query + y) * p.stride_dq.n + x + c * TILE] = __float2bfloat16(p.scale * dQ[c]);
}

// ---- launcher ------------------------------------------------------------------------------

// What the contract says of an array of N rows, in the order of the statuses that it returns.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}
static int is_aligned(const bf16* pointer, struct strides stride) {
    return (uintptr_t)pointer % 16 == 0 && (stride.b | stride.n | stride.h) % PIECE == 0;
}

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    // dK, dV, K, V have rows of keys; dQ, Q, O, dO have rows of queries.
    const bf16* const arrays[8] = {dK_gpu, dV_gpu, K_gpu, V_gpu, dQ_gpu, Q_gpu, O_gpu, dO_gpu};
    const struct strides strides[8] = {stride_dk, stride_dv, stride_k, stride_v,
                                       stride_dq, stride_q,  stride_o, stride_do};
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    for (int a = 0; a < 8; a++)
        if (!is_valid(strides[a], d)) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    for (int a = 0; a < 8; a++)
        if ((a < 4 ? N_k : N_q) > 0 && !arrays[a]) return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && (!LSE_gpu || !workspace_gpu)) return COURSE_BAD_ARGUMENT;
    for (int a = 0; a < 8; a++)
        if (!is_aligned(arrays[a], strides[a])) return COURSE_UNSUPPORTED;

    const struct problem p = {dQ_gpu,    dK_gpu,   dV_gpu,   Q_gpu,     K_gpu,
                              V_gpu,     O_gpu,    dO_gpu,   LSE_gpu,   (float*)workspace_gpu,
                              N_q,       N_k,      H,        stride_dq, stride_dk,
                              stride_dv, stride_q, stride_k, stride_v,  stride_o,
                              stride_do, scale,    causal};
    void (*dk_dv)(struct problem) = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
    void (*dq)(struct problem) = d == 64 ? dq_kernel<64> : dq_kernel<128>;
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
