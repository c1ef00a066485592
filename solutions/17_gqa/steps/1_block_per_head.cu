// 1_block_per_head.cu: lesson 13's kernel, with the key head of each query head.
//
// The smallest change that is right: key head = head / group in the line that moves K and V. But
// each query head has blocks of its own, and the blocks of a group read the same keys and values,
// each for itself. With one query (decoding) a tile of 16 rows has 1, and the other 15 wait. The
// backward pass is gqa.cu's.
#include "gqa.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 16                   // rows per tile, B_r in the paper
#define BLOCK_K 16                   // keys per tile, B_c in the paper
#define THREADS (BLOCK_Q * BLOCK_K)  // one thread per element of a tile of S
#define MAX_HEAD 256                 // the largest d
#define MAX_GRID_Y 65535             // the limit of gridDim.y
#define WARP 32
#define WARPS 8              // per block of delta_kernel: rows
#define CONVERT_THREADS 256  // per block of dq_kernel: elements

// Elements added to each row in shared memory: 4 bytes, one bank (lesson 12).
#define PAD 2

static_assert(BLOCK_Q == BLOCK_K, "a thread's y is a row of S, of dK and dV, and of dQ");

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q. (lesson 13,
// eq. 1)
__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    if (seen < 0) seen = 0;
    if (seen > N_k) seen = N_k;
    return seen;
}

// The first query that sees key j. From 0 to N_q; N_q for a j beyond N_k (lesson 15, eq. 2)
__device__ int64_t seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    if (first < 0) first = 0;
    if (j >= N_k) first = N_q;
    return first;
}

// tile[n][x] = rows[n * stride_n + x] where n < n_rows and x < d, and 0 elsewhere     (lesson 13).
template <int d_tile>
__device__ void load_tile(fp16 tile[][d_tile + PAD], const fp16* rows, int size, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile;  // [0, size)
        int x = e % d_tile;  // [0, d_tile)
        tile[n][x] = n < n_rows && x < d ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

// Adds to dK and dV of this block's keys what the queries of one head add, and to the head's dQ
// what these keys add. Thread (x, y) holds element (y, x) of the tiles of S, P and dS; of key y,
// the columns x, x + BLOCK_K, ...
// of dK and dV; and the same columns of query y of dQ                                  (lesson 15).
template <int d_tile>
__device__ __forceinline__ void walk(float* dK_reg,                // (d_tile / BLOCK_K)
                                     float* dV_reg,                // (d_tile / BLOCK_K)
                                     float* dQ_sum,                // (N_q, d), of this head
                                     fp16 K_smem[][d_tile + PAD],  // (BLOCK_K, d_tile)
                                     fp16 V_smem[][d_tile + PAD],  // (BLOCK_K, d_tile)
                                     const fp16* Q,                // (N_q, d), of this head
                                     const fp16* dO,               // (N_q, d), of this head
                                     const float* LSE,             // (N_q), of this head
                                     const float* delta,           // (N_q), of this head
                                     int N_q, int N_k, int d, int64_t stride_qn, int64_t stride_don,
                                     float scale, int causal, int64_t first_key) {
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ fp16 dO_smem[BLOCK_Q][d_tile + PAD];
    __shared__ float LSE_smem[BLOCK_Q];
    __shared__ float delta_smem[BLOCK_Q];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    __shared__ float dS_smem[BLOCK_Q][BLOCK_K];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;

    // Queries before `start` see no key of the block; key x is seen from `visible_from` on.
    int64_t visible_from = seen_from(first_key + x, N_q, N_k, causal);
    int64_t start = seen_from(first_key, N_q, N_k, causal) / BLOCK_Q * BLOCK_Q;
    for (int64_t first_row = start; first_row < N_q; first_row += BLOCK_Q) {
        int64_t n_rows = N_q - first_row;  // in this tile; may be more than fit
        load_tile<d_tile>(Q_smem, Q + first_row * stride_qn, BLOCK_Q, n_rows, d, stride_qn, thread);
        load_tile<d_tile>(dO_smem, dO + first_row * stride_don, BLOCK_Q, n_rows, d, stride_don,
                          thread);
        if (thread < BLOCK_Q) {
            LSE_smem[thread] = thread < n_rows ? LSE[first_row + thread] : 0.0f;
            delta_smem[thread] = thread < n_rows ? delta[first_row + thread] : 0.0f;
        }
        __syncthreads();  // the tiles of K, V, Q and dO are written before anybody reads them

        // S = scale Q K^T,  dP = dO V^T                                            (README eq. 5)
        // S[i][j] = scale * sum_k Q[i][k] K[j][k], dP[i][j] = sum_k dO[i][k] V[j][k]; i = y, j = x
        float s = 0.0f;
        float dP = 0.0f;
        for (int k = 0; k < d_tile; k++) {
            s += __half2float(Q_smem[y][k]) * __half2float(K_smem[x][k]);
            dP += __half2float(dO_smem[y][k]) * __half2float(V_smem[x][k]);
        }

        // P = exp(S - LSE), 0 where hidden;  dS = P * (dP - delta)                 (README eq. 5)
        // P[i][j] = exp(S[i][j] - LSE[i]),  dS[i][j] = P[i][j] * (dP[i][j] - delta[i])
        bool seen = first_row + y >= visible_from && y < n_rows;
        float p = seen ? expf(scale * s - LSE_smem[y]) : 0.0f;
        P_smem[y][x] = p;
        dS_smem[y][x] = p * (dP - delta_smem[y]);
        __syncthreads();  // the tiles of P and dS are written before anybody reads them

        // dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                    (README eq. 6)
        // dV[j][k] += sum_i P[i][j] dO[i][k],  dK[j][k] += sum_i dS[i][j] Q[i][k];  j = y
        for (int i = 0; i < BLOCK_Q; i++) {
            float p_iy = P_smem[i][y];
            float dS_iy = dS_smem[i][y];
            for (int c = 0; c < d_tile / BLOCK_K; c++) {
                dV_reg[c] += p_iy * __half2float(dO_smem[i][x + c * BLOCK_K]);
                dK_reg[c] += dS_iy * __half2float(Q_smem[i][x + c * BLOCK_K]);
            }
        }

        // dQ += dS K  (scale comes at the end). Other blocks add to the same row.  (README eq. 7)
        // dQ[i][k] += sum_j dS[i][j] K[j][k];  i = y
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int k = x + c * BLOCK_K;
            float sum = 0.0f;
            for (int j = 0; j < BLOCK_K; j++) sum += dS_smem[y][j] * __half2float(K_smem[j][k]);
            if (y < n_rows && k < d) atomicAdd(&dQ_sum[(first_row + y) * d + k], sum);
        }
        __syncthreads();  // everybody has read Q, dO, P and dS before the next tile overwrites them
    }
}

// ---- GPU kernels ---------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H_q), block (BLOCK_K, BLOCK_Q). d_tile is d rounded up to the next
// size that there is a kernel for; the columns from d on are zeros.
template <int d_tile>
__global__ void forward_kernel(fp16* O,                     // (B, N_q, H_q, d)
                               float* LSE,                  // (B, H_q, N_q)
                               const fp16* __restrict__ Q,  // (B, N_q, H_q, d)
                               const fp16* __restrict__ K,  // (B, N_k, H_k, d)
                               const fp16* __restrict__ V,  // (B, N_k, H_k, d)
                               int N_q, int N_k, int H_q, int group, int d, struct strides stride_o,
                               struct strides stride_q, struct strides stride_k,
                               struct strides stride_v, float scale, int causal) {
    static_assert(d_tile % BLOCK_K == 0, "the threads of a row share its columns evenly");
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ fp16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ fp16 V_smem[BLOCK_K][d_tile + PAD];
    __shared__ float S_smem[BLOCK_Q][BLOCK_K];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];

    int j = threadIdx.x;           // [0, BLOCK_K): this thread's column of S and P
    int i = threadIdx.y;           // [0, BLOCK_Q): its row of S, P and O
    int thread = i * BLOCK_K + j;  // [0, THREADS)
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;  // [0, N_q)

    // From here on every pointer starts where this block's work starts. K and V are those of the
    // key head that
    // this query head shares with others, whose blocks read them as well.            (README eq. 1)
    int64_t batch = blockIdx.y / H_q;  // [0, B)
    int64_t head = blockIdx.y % H_q;   // [0, H_q)
    int64_t key_head = head / group;   // [0, H_k)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + key_head * stride_k.h;
    V += batch * stride_v.b + key_head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * H_q + head) * N_q + first_row;

    // Row i of the tile sees the keys [0, visible), no row any from `end` on.        (README eq. 3)
    int64_t visible = keys_seen(first_row + i, N_q, N_k, causal);
    int64_t end = keys_seen(first_row + BLOCK_Q - 1, N_q, N_k, causal);

    float m = -INFINITY;
    float l = 0.0f;
    float O_reg[d_tile / BLOCK_K] = {0.0f};  // of the row of O: x = j, j + BLOCK_K, ...

    load_tile<d_tile>(Q_smem, Q, BLOCK_Q, N_q - first_row, d, stride_q.n, thread);
    for (int64_t first_key = 0; first_key < end; first_key += BLOCK_K) {
        int64_t n_keys = N_k - first_key;  // in this tile; may be more than fit
        load_tile<d_tile>(K_smem, K + first_key * stride_k.n, BLOCK_K, n_keys, d, stride_k.n,
                          thread);
        load_tile<d_tile>(V_smem, V + first_key * stride_v.n, BLOCK_K, n_keys, d, stride_v.n,
                          thread);
        __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

        // S = scale Q K^T, and -infinity where row i does not see key j            (README eq. 3)
        // S[i][j] = scale * sum_x Q[i][x] K[j][x]
        float s = 0.0f;
        for (int x = 0; x < d_tile; x++)
            s += __half2float(Q_smem[i][x]) * __half2float(K_smem[j][x]);
        S_smem[i][j] = first_key + j < visible ? s * scale : -INFINITY;
        __syncthreads();  // row i of S is written before its maximum is taken

        // m_new = max(m, max_j S[i][j]),  alpha = exp(m - m_new),  P[i][j] = exp(S[i][j] - m_new)
        // While row i has seen no key any finite base will do.                  (lesson 13, eq. 4)
        float m_new = m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        float base = m_new == -INFINITY ? 0.0f : m_new;
        float alpha = expf(m - base);
        P_smem[i][j] = expf(S_smem[i][j] - base);
        m = m_new;
        __syncthreads();  // row i of P is written before it is summed and multiplied with V

        // l = alpha l + sum_k P[i][k],  O = alpha O + P V                          (README eq. 4)
        // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],   x = j + c BLOCK_K
        l *= alpha;
        for (int c = 0; c < d_tile / BLOCK_K; c++) O_reg[c] *= alpha;
        for (int k = 0; k < BLOCK_K; k++) {
            float p = P_smem[i][k];
            l += p;
            for (int c = 0; c < d_tile / BLOCK_K; c++)
                O_reg[c] += p * __half2float(V_smem[k][j + c * BLOCK_K]);
        }
        __syncthreads();  // everybody has read K, V, S and P before the next tile overwrites them
    }

    // O = O / l,  LSE = m + ln l;  0 and -infinity for a row that saw no key         (README eq. 4)
    if (first_row + i < N_q) {
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int x = j + c * BLOCK_K;
            float o = l > 0.0f ? O_reg[c] / l : 0.0f;
            if (x < d) O[i * stride_o.n + x] = __float2half(o);
        }
        if (j == 0) LSE[i] = m + logf(l);
    }
}

// delta_i = sum_x dO_ix O_ix, and dQ_sum = 0                                      (README eq. 5, 7)
// Grid (ceil(N_q / WARPS), B * H_q), block (WARP, WARPS): one warp per query.
__global__ void delta_kernel(float* delta,                 // (B, H_q, N_q)
                             float* dQ_sum,                // (B, H_q, N_q, d)
                             const fp16* __restrict__ O,   // (B, N_q, H_q, d)
                             const fp16* __restrict__ dO,  // (B, N_q, H_q, d)
                             int N_q, int H_q, int d, struct strides stride_o,
                             struct strides stride_do) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H_q;  // [0, B)
    int64_t head = blockIdx.y % H_q;   // [0, H_q)
    int64_t row = (batch * H_q + head) * N_q + i;
    if (i >= N_q) return;  // a whole warp
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    dO += batch * stride_do.b + head * stride_do.h + i * stride_do.n;

    float sum = 0.0f;
    for (int x = lane; x < d; x += WARP) {
        sum += __half2float(dO[x]) * __half2float(O[x]);
        dQ_sum[row * d + x] = 0.0f;
    }
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) delta[row] = sum;
}

// Grid (ceil(N_k / BLOCK_K), B * H_k), block (BLOCK_K, BLOCK_Q). d_tile as in forward_kernel.
template <int d_tile>
__global__ void dk_dv_kernel(float* dQ_sum,                // (B, H_q, N_q, d)
                             fp16* dK,                     // (B, N_k, H_k, d)
                             fp16* dV,                     // (B, N_k, H_k, d)
                             const fp16* __restrict__ Q,   // (B, N_q, H_q, d)
                             const fp16* __restrict__ K,   // (B, N_k, H_k, d)
                             const fp16* __restrict__ V,   // (B, N_k, H_k, d)
                             const fp16* __restrict__ dO,  // (B, N_q, H_q, d)
                             const float* LSE,             // (B, H_q, N_q)
                             const float* delta,           // (B, H_q, N_q)
                             int N_q, int N_k, int H_k, int group, int d, struct strides stride_dk,
                             struct strides stride_dv, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v,
                             struct strides stride_do, float scale, int causal) {
    static_assert(d_tile % BLOCK_K == 0, "the threads of a row share its columns evenly");
    __shared__ fp16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ fp16 V_smem[BLOCK_K][d_tile + PAD];

    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;                       // [0, THREADS)
    int64_t first_key = (int64_t)blockIdx.x * BLOCK_K;  // [0, N_k)
    int64_t n_keys = N_k - first_key;                   // in this block; may be more than fit
    int64_t batch = blockIdx.y / H_k;                   // [0, B)
    int64_t key_head = blockIdx.y % H_k;                // [0, H_k)
    K += batch * stride_k.b + key_head * stride_k.h + first_key * stride_k.n;
    V += batch * stride_v.b + key_head * stride_v.h + first_key * stride_v.n;
    dK += batch * stride_dk.b + key_head * stride_dk.h + first_key * stride_dk.n;
    dV += batch * stride_dv.b + key_head * stride_dv.h + first_key * stride_dv.n;

    float dK_reg[d_tile / BLOCK_K] = {0.0f};  // of key y: x, x + BLOCK_K, ...
    float dV_reg[d_tile / BLOCK_K] = {0.0f};

    load_tile<d_tile>(K_smem, K, BLOCK_K, n_keys, d, stride_k.n, thread);
    load_tile<d_tile>(V_smem, V, BLOCK_K, n_keys, d, stride_v.n, thread);

    // dV_g = sum_h P_h^T dO_h,  dK_g = sum_h dS_h^T Q_h, on from head to head.     (README eq. 6)
    for (int g = 0; g < group; g++) {
        int64_t head = key_head * group + g;               // [0, H_q)
        int64_t row = (batch * H_k * group + head) * N_q;  // of its first query in LSE and delta
        walk<d_tile>(dK_reg, dV_reg, dQ_sum + row * d, K_smem, V_smem,
                     Q + batch * stride_q.b + head * stride_q.h,
                     dO + batch * stride_do.b + head * stride_do.h, LSE + row, delta + row, N_q,
                     N_k, d, stride_q.n, stride_do.n, scale, causal, first_key);
    }

    // dK and dV of key y, rounded once. dS^T Q lacks its factor scale.               (README eq. 6)
    for (int c = 0; c < d_tile / BLOCK_K; c++) {
        int k = x + c * BLOCK_K;
        if (y >= n_keys || k >= d) continue;
        dK[y * stride_dk.n + k] = __float2half(scale * dK_reg[c]);
        dV[y * stride_dv.n + k] = __float2half(dV_reg[c]);
    }
}

// dQ = scale * dQ_sum, rounded                                                       (README eq. 7)
// Grid (ceil(N_q * d / CONVERT_THREADS), B * H_q), block (CONVERT_THREADS): one thread per element.
__global__ void dq_kernel(fp16* dQ,             // (B, N_q, H_q, d)
                          const float* dQ_sum,  // (B, H_q, N_q, d)
                          int N_q, int H_q, int d, struct strides stride_dq, float scale) {
    int64_t e = (int64_t)blockIdx.x * CONVERT_THREADS + threadIdx.x;
    int64_t batch = blockIdx.y / H_q;  // [0, B)
    int64_t head = blockIdx.y % H_q;   // [0, H_q)
    if (e >= (int64_t)N_q * d) return;
    int64_t i = e / d;  // [0, N_q)
    int64_t x = e % d;  // [0, d)
    dQ += batch * stride_dq.b + head * stride_dq.h + i * stride_dq.n + x;
    *dQ = __float2half(scale * dQ_sum[(batch * H_q + head) * N_q * d + e]);
}

// ---- launchers -----------------------------------------------------------------------------

// No stride is negative, and a row is not longer than the way to the next.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// What both launchers ask of the sizes.
static int check_sizes(int B, int N_q, int N_k, int H_q, int H_k, int d) {
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H_q > MAX_GRID_Y || (int64_t)B * H_k > MAX_GRID_Y)
        return COURSE_UNSUPPORTED;
    return COURSE_OK;
}

extern "C" int gqa_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                           const fp16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                           struct strides stride_o, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v, float scale,
                           int causal) {
    int status = check_sizes(B, N_q, N_k, H_q, H_k, d);
    if (status != COURSE_OK) return status;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    int group = H_q / H_k;
    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H_q);
    decltype(&forward_kernel<16>) kernel = d <= 16    ? forward_kernel<16>
                                           : d <= 64  ? forward_kernel<64>
                                           : d <= 128 ? forward_kernel<128>
                                                      : forward_kernel<256>;
    kernel<<<grid, dim3(BLOCK_K, BLOCK_Q)>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H_q,
                                             group, d, stride_o, stride_q, stride_k, stride_v,
                                             scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
gqa_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu, const fp16* K_gpu,
             const fp16* V_gpu, const fp16* O_gpu, const float* LSE_gpu, const fp16* dO_gpu, int B,
             int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
             struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
             struct strides stride_k, struct strides stride_v, struct strides stride_o,
             struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    int status = check_sizes(B, N_q, N_k, H_q, H_k, d);
    if (status != COURSE_OK) return status;
    int has_queries = B > 0 && N_q > 0 && H_q > 0;
    int has_keys = B > 0 && N_k > 0 && H_k > 0;
    if (!has_queries && !has_keys) return COURSE_OK;
    if (!is_valid(stride_dq, d) || !is_valid(stride_dk, d) || !is_valid(stride_dv, d) ||
        !is_valid(stride_q, d) || !is_valid(stride_k, d) || !is_valid(stride_v, d) ||
        !is_valid(stride_o, d) || !is_valid(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (has_queries && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (has_keys && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    // The workspace: the sums of dQ, then delta.
    float* dQ_sum_gpu = (float*)workspace_gpu;  // (B, H_q, N_q, d)
    float* delta_gpu =
        dQ_sum_gpu ? dQ_sum_gpu + (int64_t)B * H_q * N_q * d : NULL;  // (B, H_q, N_q)

    if (has_queries) {
        dim3 grid(CEIL_DIV((int64_t)N_q, WARPS), B * H_q);
        delta_kernel<<<grid, dim3(WARP, WARPS)>>>(delta_gpu, dQ_sum_gpu, O_gpu, dO_gpu, N_q, H_q, d,
                                                  stride_o, stride_do);
        COURSE_TRY(cudaGetLastError());
    }
    if (has_keys) {
        dim3 grid(CEIL_DIV((int64_t)N_k, BLOCK_K), B * H_k);
        decltype(&dk_dv_kernel<16>) kernel = d <= 16    ? dk_dv_kernel<16>
                                             : d <= 64  ? dk_dv_kernel<64>
                                             : d <= 128 ? dk_dv_kernel<128>
                                                        : dk_dv_kernel<256>;
        kernel<<<grid, dim3(BLOCK_K, BLOCK_Q)>>>(dQ_sum_gpu, dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu,
                                                 dO_gpu, LSE_gpu, delta_gpu, N_q, N_k, H_k,
                                                 H_q / H_k, d, stride_dk, stride_dv, stride_q,
                                                 stride_k, stride_v, stride_do, scale, causal);
        COURSE_TRY(cudaGetLastError());
    }
    if (has_queries) {
        dim3 grid(CEIL_DIV((int64_t)N_q * d, CONVERT_THREADS), B * H_q);
        dq_kernel<<<grid, CONVERT_THREADS>>>(dQ_gpu, dQ_sum_gpu, N_q, H_q, d, stride_dq, scale);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
