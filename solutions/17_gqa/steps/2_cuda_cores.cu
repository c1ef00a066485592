// 2_cuda_cores.cu: ../gqa.cu without tensor cores: every product is made one by one.
//
//     O_h  = softmax(scale Q_h K_g^T) V_g       g = h / group; rows of a group are packed
//     dV_g = sum_h P_h^T dO_h                   the sums run over the query heads of the group
//     dK_g = scale sum_h dS_h^T Q_h,            dQ_h = scale dS_h K_g
//
// A block has a tile of TILE rows (packed queries, keys, or queries) and walks over tiles of TILE
// rows of the other side, one thread for each score, as in lessons 13 and 15. P and dS are rounded
// to bf16, as tensor cores take them.
//
// What is wrong with it: lesson 14 makes the same products forty times as fast.
//
// FlashAttention-2 (Dao 2023), algorithms 1 and 2. Equation numbers are those of the README.
#include "gqa.h"

#include <math.h>

#include "tile.h"

#define TILE 16                // rows of a block, and rows per tile that it walks over
#define THREADS (TILE * TILE)  // one per element of a tile of S
#define PAD 2                  // elements added to each row in shared memory: 4 bytes, one bank

// ---- heads ---------------------------------------------------------------------------------

// The inputs of a key head, [0, B * H_k), and those of a query head, [0, B * H_q).
template <class pass> __device__ __forceinline__ pass of_key_head(pass p, int head, int H_k) {
    p.K = head_of(p.K, head, H_k), p.V = head_of(p.V, head, H_k);
    return p;
}
__device__ __forceinline__ struct backward of_query_head(struct backward p, int head, int H_q) {
    p.Q = head_of(p.Q, head, H_q), p.O = head_of(p.O, head, H_q), p.dO = head_of(p.dO, head, H_q);
    p.LSE += (int64_t)head * p.N_q, p.delta += (int64_t)head * p.N_q;
    return p;
}

// ---- packed rows ---------------------------------------------------------------------------

// A packed row: a query, [0, N_q), and a head of the group, [0, group).
struct row {
    int64_t query;
    unsigned head;
};

// The packed row n rows after this one.                                             (README eq. 2)
__device__ __forceinline__ struct row row_after(struct row row, unsigned n, unsigned group) {
    unsigned heads = row.head + n;  // of row.query and the queries after it
    row.query += heads / group;
    row.head = heads % group;
    return row;
}

// Where column x of the row is in an array that begins at the group's first query head.
__device__ __forceinline__ bf16* place(struct array a, struct row row, int x) {
    return a.elements + row.query * a.stride.n + row.head * a.stride.h + x;
}

// ---- tiles ---------------------------------------------------------------------------------

// Does query i exist, and key j, and does i see j?
__device__ bool sees(int64_t i, int64_t j, int N_q, int N_k, int causal) {
    return i < N_q && j < keys_seen(i, N_q, N_k, causal);
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

// x as tensor cores take it.
__device__ float rounded(float x) {
    return __bfloat162float(__float2bfloat16(x));
}

// sum_x a[x] b[x]
template <int d> __device__ float dot(const bf16* a, const bf16* b) {
    float sum = 0.0f;
    for (int x = 0; x < d; x++) sum += __bfloat162float(a[x]) * __bfloat162float(b[x]);
    return sum;
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q * group / TILE), B * H_k), block (TILE, TILE). Thread (x, y) keeps columns x, x +
// TILE, ... of packed row y.
template <int d>
__global__ void forward_kernel(const struct forward all_heads, int H_k, int group) {
    __shared__ bf16 Q[TILE][d + PAD], K[TILE][d + PAD], V[TILE][d + PAD];
    __shared__ float S[TILE][TILE], P[TILE][TILE];
    struct forward p = of_key_head(all_heads, blockIdx.y, H_k);
    p.Q = head_of(p.Q, blockIdx.y * group, p.H), p.O = head_of(p.O, blockIdx.y * group, p.H);
    p.LSE += (int64_t)blockIdx.y * group * p.N_q;
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_row = (int64_t)blockIdx.x * TILE, n_rows = (int64_t)p.N_q * group;
    struct row first = {first_row / group, (unsigned)(first_row % group)};
    struct row row = row_after(first, y, group), last = row_after(first, TILE - 1, group);
    int end = keys_seen(last.query, p.N_q, p.N_k, p.causal);
    float m = -INFINITY, l = 0.0f, O[d / TILE] = {};

    for (int e = y * TILE + x; e < TILE * d; e += THREADS) {
        bool exists = first_row + e / d < n_rows;
        Q[e / d][e % d] =
            exists ? *place(p.Q, row_after(first, e / d, group), e % d) : __float2bfloat16(0.0f);
    }
    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        load_tile<d>(K, p.K, first_key, p.N_k);
        load_tile<d>(V, p.V, first_key, p.N_k);
        __syncthreads();  // the tiles are written before anybody reads them
        bool seen = sees(row.query, first_key + x, p.N_q, p.N_k, p.causal);
        S[y][x] = seen ? p.scale * dot<d>(Q[y], K[x]) : -INFINITY;
        __syncthreads();  // S is written before its maximum is taken
        float m_new = m;
        for (int j = 0; j < TILE; j++) m_new = fmaxf(m_new, S[y][j]);
        float base = m_new == -INFINITY ? 0.0f : m_new, alpha = expf(m - base);
        P[y][x] = expf(S[y][x] - base);
        m = m_new;
        __syncthreads();  // P is written before it is summed and multiplied
        // l = alpha l + sum_j P[i][j],  O = alpha O + P V                          (README eq. 4)
        l *= alpha;
        for (int c = 0; c < d / TILE; c++) O[c] *= alpha;
        for (int j = 0; j < TILE; j++) {
            l += P[y][j];
            for (int c = 0; c < d / TILE; c++)
                O[c] += rounded(P[y][j]) * __bfloat162float(V[j][x + c * TILE]);
        }
        __syncthreads();  // everybody has read the tiles before the next round overwrites them
    }
    if (first_row + y >= n_rows) return;
    for (int c = 0; c < d / TILE; c++)
        *place(p.O, row, x + c * TILE) = __float2bfloat16(l > 0.0f ? O[c] / l : 0.0f);
    if (x == 0) p.LSE[(int64_t)row.head * p.N_q + row.query] = m + logf(l);
}

// ---- GPU kernels of the backward pass --------------------------------------------------------

// The tiles of a block, and one element of P and dS for each of its threads.
template <int d> struct tiles {
    bf16 Q[TILE][d + PAD], K[TILE][d + PAD], V[TILE][d + PAD], dO[TILE][d + PAD];
    float P[TILE][TILE], dS[TILE][TILE];
};

// P and dS of query first_query + y and key first_key + x                          (README eq. 5)
template <int d>
__device__ void weigh(struct tiles<d>& t, const struct backward& p, int64_t first_query,
                      int64_t first_key) {
    int x = threadIdx.x, y = threadIdx.y;
    int64_t i = first_query + y;
    float weight = 0.0f, dS = 0.0f;
    if (sees(i, first_key + x, p.N_q, p.N_k, p.causal)) {
        weight = expf(p.scale * dot<d>(t.Q[y], t.K[x]) - p.LSE[i]);
        dS = weight * (dot<d>(t.dO[y], t.V[x]) - p.delta[i]);
    }
    t.P[y][x] = rounded(weight);
    t.dS[y][x] = rounded(dS);
}

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 5)
// Grid (ceil(N_q / THREADS), B * H_q), block THREADS: one thread per query.
__global__ void delta_kernel(const struct backward all_heads, int H_q, int d) {
    struct backward p = of_query_head(all_heads, blockIdx.y, H_q);
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.N_q) return;
    float sum = 0.0f;
    for (int x = 0; x < d; x++)
        sum += __bfloat162float(p.O.elements[i * p.O.stride.n + x]) *
               __bfloat162float(p.dO.elements[i * p.dO.stride.n + x]);
    p.delta[i] = sum;
}

// Grid (ceil(N_k / TILE), B * H_k), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE,
// ... of key y.
template <int d> __global__ void dk_dv_kernel(const struct backward all_heads, int H_k, int group) {
    __shared__ struct tiles<d> t;
    struct backward keys = of_key_head(all_heads, blockIdx.y, H_k);
    keys.dK = head_of(keys.dK, blockIdx.y, H_k), keys.dV = head_of(keys.dV, blockIdx.y, H_k);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_key = (int64_t)blockIdx.x * TILE;  // [0, N_k)
    int64_t start = keys.causal ? first_key - keys.N_k + keys.N_q : 0;
    start = start < 0 ? 0 : start / TILE * TILE;
    float dK[d / TILE] = {}, dV[d / TILE] = {};
    load_tile<d>(t.K, keys.K, first_key, keys.N_k);
    load_tile<d>(t.V, keys.V, first_key, keys.N_k);
    for (int g = 0; g < group; g++) {
        struct backward p = of_query_head(keys, blockIdx.y * group + g, H_k * group);
        for (int64_t first_query = start; first_query < p.N_q; first_query += TILE) {
            load_tile<d>(t.Q, p.Q, first_query, p.N_q);
            load_tile<d>(t.dO, p.dO, first_query, p.N_q);
            __syncthreads();  // the tiles are written before anybody reads them
            weigh<d>(t, p, first_query, first_key);
            __syncthreads();  // P and dS are written before anybody reads them
            // dV += P^T dO,  dK += dS^T Q                                          (README eq. 6)
            // dV[j][k] += sum_i P[i][j] dO[i][k],  dK[j][k] += sum_i dS[i][j] Q[i][k];  j = y
            for (int i = 0; i < TILE; i++)
                for (int c = 0; c < d / TILE; c++) {
                    dV[c] += t.P[i][y] * __bfloat162float(t.dO[i][x + c * TILE]);
                    dK[c] += t.dS[i][y] * __bfloat162float(t.Q[i][x + c * TILE]);
                }
            __syncthreads();  // everybody has read the tiles before the next round overwrites them
        }
    }
    if (first_key + y >= keys.N_k) return;
    for (int c = 0; c < d / TILE; c++) {
        keys.dK.elements[(first_key + y) * keys.dK.stride.n + x + c * TILE] =
            __float2bfloat16(keys.scale * dK[c]);
        keys.dV.elements[(first_key + y) * keys.dV.stride.n + x + c * TILE] =
            __float2bfloat16(dV[c]);
    }
}

// Grid (ceil(N_q / TILE), B * H_q), block (TILE, TILE). Thread (x, y) keeps columns x, x + TILE,
// ... of query y.
template <int d> __global__ void dq_kernel(const struct backward all_heads, int H_k, int group) {
    __shared__ struct tiles<d> t;
    struct backward p = of_key_head(all_heads, blockIdx.y / group, H_k);
    p = of_query_head(p, blockIdx.y, H_k * group);
    p.dQ = head_of(p.dQ, blockIdx.y, H_k * group);
    int x = threadIdx.x, y = threadIdx.y;
    int64_t first_query = (int64_t)blockIdx.x * TILE;  // [0, N_q)
    int end = keys_seen(first_query + TILE - 1, p.N_q, p.N_k, p.causal);
    float dQ[d / TILE] = {};
    load_tile<d>(t.Q, p.Q, first_query, p.N_q);
    load_tile<d>(t.dO, p.dO, first_query, p.N_q);
    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        load_tile<d>(t.K, p.K, first_key, p.N_k);
        load_tile<d>(t.V, p.V, first_key, p.N_k);
        __syncthreads();  // the tiles are written before anybody reads them
        weigh<d>(t, p, first_query, first_key);
        __syncthreads();  // dS is written before anybody reads it
        // dQ += dS K                                                              (README eq. 7)
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

// ---- launchers -----------------------------------------------------------------------------

// H_q is a multiple of H_k, neither is negative.
static bool are_heads(int H_q, int H_k) {
    return H_q >= 0 && H_k >= 0 && (H_k > 0 ? H_q % H_k == 0 : H_q == 0);
}

// B batches of H_k key heads.
static int launch_forward(const struct forward* p, int B, int H_k, int d) {
    int group = p->H / H_k;
    dim3 block(TILE, TILE), grid(CEIL_DIV((int64_t)p->N_q * group, TILE), B * H_k);
    void (*kernel)(struct forward, int, int) = d == 64 ? forward_kernel<64> : forward_kernel<128>;
    kernel<<<grid, block>>>(*p, H_k, group);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels. A group may have no heads: then there are no queries.
static int launch_backward(const struct backward* p, int B, int H_k, int group, int d) {
    void (*dk_dv)(struct backward, int, int) = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
    void (*dq)(struct backward, int, int) = d == 64 ? dq_kernel<64> : dq_kernel<128>;
    int H_q = H_k * group;
    dim3 block(TILE, TILE), rows(CEIL_DIV(p->N_q, THREADS), B * H_q);
    dim3 keys(CEIL_DIV(p->N_k, TILE), B * H_k), queries(CEIL_DIV(p->N_q, TILE), B * H_q);
    if (p->N_q > 0) delta_kernel<<<rows, THREADS>>>(*p, H_q, d);
    if (p->N_k > 0) dk_dv<<<keys, block>>>(*p, H_k, group);
    if (p->N_q > 0) dq<<<queries, block>>>(*p, H_k, group);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int gqa_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                           const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                           struct strides stride_o, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v, float scale,
                           int causal) {
    struct forward p;
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H_q, p.causal = causal, p.scale = scale;
    if (!are_heads(H_q, H_k)) return COURSE_BAD_ARGUMENT;
    int status = check_forward(&p, B, d);
    if (status != COURSE_BAD_ARGUMENT && (int64_t)B * H_k > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (status != COURSE_OK || B == 0 || N_q == 0 || H_q == 0) return status;
    return launch_forward(&p, B, H_k, d);
}

extern "C" int
gqa_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
             const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu, int B,
             int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
             struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
             struct strides stride_k, struct strides stride_v, struct strides stride_o,
             struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    struct backward p;
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.causal = causal, p.scale = scale;
    if (!are_heads(H_q, H_k)) return COURSE_BAD_ARGUMENT;
    p.H = H_q > 0 ? H_q : H_k;
    if (H_q == 0 && N_q > 0) p.N_q = 0;  // no heads, no queries; dK and dV become 0
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H_k == 0) return status;
    int group = H_q / H_k;
    return launch_backward(&p, B, H_k, group, d);
}
