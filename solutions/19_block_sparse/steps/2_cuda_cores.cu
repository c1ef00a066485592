// 2_cuda_cores.cu: ../block_sparse.cu without tensor cores: every product is made one by one.
//
//     S  = scale Q K^T       P  = softmax(S) over the active blocks     O  = P V
//     dV = P^T dO     dS = P * (dO V^T - delta)     dQ = scale dS K,  dK = scale dS^T Q
//
// The lists are those of ../block_sparse.cu. A block of the mask is walked in tiles of 16 x 16, one
// thread for each score, as in lessons 13 and 15. This is the kernel that `make trace` shows.
//
// What is wrong with it: lesson 14 makes the same products forty times as fast.
//
// FlashAttention (Dao et al. 2022), section 3.3. Equation numbers are those of the README.
#include "block_sparse.h"

#include <math.h>

#include "tile.h"

#define BLOCK_Q 16                   // queries per tile, B_r in the papers
#define BLOCK_K 16                   // keys per tile, B_c in the papers
#define THREADS (BLOCK_Q * BLOCK_K)  // one thread per element of a tile of S
#define WARP 32
#define WARPS 8  // per block of list_kernel and delta_kernel
#define ALL_LANES 0xffffffffu

// Elements added to each row in shared memory: 4 bytes, one bank (lesson 12).
#define PAD 2

static_assert(BLOCK_Q == BLOCK_K, "a thread's y is a row of S, of dK and dV, and of dQ");
static_assert(SPARSE_BLOCK % BLOCK_Q == 0, "a tile lies in one block of the mask");

// ---- device helpers ------------------------------------------------------------------------

// tile[n][x] = rows[n * stride_n + x] where n < n_rows and x < d, and 0 elsewhere: nothing else may
// be read, and a 0 adds nothing to a dot product (lesson 13).
template <int d_tile>
__device__ void load_tile(bf16 tile[][d_tile + PAD], const bf16* rows, int size, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile;  // [0, size)
        int x = e % d_tile;  // [0, d_tile)
        tile[n][x] = n < n_rows && x < d ? rows[n * stride_n + x] : __float2bfloat16(0.0f);
    }
}

// The rows of a block of the mask, [*begin, *end), of N rows in all.                (README eq. 3)
__device__ void rows_of_block(int block, int N, int64_t* begin, int64_t* end) {
    *begin = *end = (int64_t)block * SPARSE_BLOCK;
    *end += SPARSE_BLOCK;
    if (*end > N) *end = N;
}

// Element (y, x) of the tiles of P and dS: query y, key x. `exists`: both do.  (README eq. 1, 5, 6)
template <int d_tile>
__device__ __forceinline__ void weigh(float* p, float* dS,
                                      bf16 Q_smem[][d_tile + PAD],   // (BLOCK_Q, d_tile)
                                      bf16 dO_smem[][d_tile + PAD],  // (BLOCK_Q, d_tile)
                                      bf16 K_smem[][d_tile + PAD],   // (BLOCK_K, d_tile)
                                      bf16 V_smem[][d_tile + PAD],   // (BLOCK_K, d_tile)
                                      float LSE, float delta, float scale, int y, int x,
                                      bool exists) {
    // S[i][j] = scale * sum_c Q[i][c] K[j][c],  dP[i][j] = sum_c dO[i][c] V[j][c];  i = y, j = x
    float s = 0.0f;
    float dP = 0.0f;
    for (int c = 0; c < d_tile; c++) {
        s += __bfloat162float(Q_smem[y][c]) * __bfloat162float(K_smem[x][c]);
        dP += __bfloat162float(dO_smem[y][c]) * __bfloat162float(V_smem[x][c]);
    }
    s *= scale;

    // P[i][j] = exp(S[i][j] - LSE[i]),  dS[i][j] = P[i][j] * (dP[i][j] - delta[i])
    *p = 0.0f;
    *dS = 0.0f;
    if (exists) *p = expf(s - LSE);
    *dS = *p * (dP - delta);
}

// ---- GPU kernels ---------------------------------------------------------------------------

// The lists of all rows of the mask, or of all its columns: how many blocks are active, then which,
// in
// order. Entry e of list n is byte n * step_list + e * step_entry of a head's mask.  (README eq. 2)
// Grid (ceil(n_lists / WARPS), B * H), block (WARP, WARPS): one warp per list.
__global__ void list_kernel(int* lists,                        // (B, H, n_lists, 1 + n_entries)
                            const uint8_t* __restrict__ mask,  // (B, H, T_q, T_k)
                            int64_t n_lists, int64_t n_entries, int64_t step_list,
                            int64_t step_entry) {
    int lane = threadIdx.x;
    int64_t n = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    if (n >= n_lists) return;  // a whole warp
    mask += blockIdx.y * n_lists * n_entries;
    int* list = lists + (blockIdx.y * n_lists + n) * (1 + n_entries);

    int length = 0;
    for (int64_t first = 0; first < n_entries; first += WARP) {
        int64_t e = first + lane;
        bool active = e < n_entries && mask[n * step_list + e * step_entry] != 0;
        unsigned lanes = __ballot_sync(ALL_LANES, active);  // bit l: the block of lane l is active
        if (active) list[1 + length + __popc(lanes & ((1u << lane) - 1))] = (int)e;
        length += __popc(lanes);
    }
    if (lane == 0) list[0] = length;
}

// O and LSE.                                                                 (README eq. 1, 2, 4)
// Grid (ceil(N_q / BLOCK_Q), B * H), block (BLOCK_K, BLOCK_Q). d_tile is d, here and below.
template <int d_tile>
__global__ void forward_kernel(bf16* O,                     // (B, N_q, H, d)
                               float* LSE,                  // (B, H, N_q)
                               const bf16* __restrict__ Q,  // (B, N_q, H, d)
                               const bf16* __restrict__ K,  // (B, N_k, H, d)
                               const bf16* __restrict__ V,  // (B, N_k, H, d)
                               const int* row_lists,        // (B, H, T_q, 1 + T_k)
                               int N_q, int N_k, int H, int d, struct strides stride_o,
                               struct strides stride_q, struct strides stride_k,
                               struct strides stride_v, float scale) {
    static_assert(d_tile % BLOCK_K == 0, "the threads of a row share its columns evenly");
    __shared__ bf16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ bf16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ bf16 V_smem[BLOCK_K][d_tile + PAD];
    __shared__ float S_smem[BLOCK_Q][BLOCK_K];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];

    int j = threadIdx.x;           // [0, BLOCK_K): this thread's column of S and P
    int i = threadIdx.y;           // [0, BLOCK_Q): its row of S, P and O
    int thread = i * BLOCK_K + j;  // [0, THREADS)
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;  // [0, N_q)
    int64_t T_q = SPARSE_BLOCKS(N_q);
    int64_t T_k = SPARSE_BLOCKS(N_k);

    // From here on every pointer starts where this block's work starts.
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * H + head) * N_q + first_row;
    row_lists += (batch * H + head) * T_q * (1 + T_k);

    row_lists += first_row / SPARSE_BLOCK * (1 + T_k);
    int active = row_lists[0];  // how many blocks of keys the queries see
    const int* blocks = row_lists + 1;

    // The state of row i before any key was seen (lesson 12, eq. 4).
    float m = -INFINITY;
    float l = 0.0f;
    float O_reg[d_tile / BLOCK_K] = {0.0f};  // of the row of O: x = j, j + BLOCK_K, ...

    load_tile<d_tile>(Q_smem, Q, BLOCK_Q, N_q - first_row, d, stride_q.n, thread);

    for (int n = 0; n < active; n++) {
        int64_t first_key, end;
        rows_of_block(blocks[n], N_k, &first_key, &end);
        for (; first_key < end; first_key += BLOCK_K) {
            int64_t n_keys = end - first_key;  // in this tile; may be more than fit
            load_tile<d_tile>(K_smem, K + first_key * stride_k.n, BLOCK_K, n_keys, d, stride_k.n,
                              thread);
            load_tile<d_tile>(V_smem, V + first_key * stride_v.n, BLOCK_K, n_keys, d, stride_v.n,
                              thread);
            __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

            // S = scale Q K^T, and -infinity for a key that does not exist          (README eq. 1)
            // S[i][j] = scale * sum_x Q[i][x] K[j][x]
            float s = 0.0f;
            for (int x = 0; x < d_tile; x++)
                s += __bfloat162float(Q_smem[i][x]) * __bfloat162float(K_smem[j][x]);
            s *= scale;
            if (j >= n_keys) s = -INFINITY;
            S_smem[i][j] = s;
            __syncthreads();  // row i of S is written before its maximum is taken

            // m_new = max(m, max_j S[i][j]), alpha = exp(m - m_new), P[i][j] = exp(S[i][j] - m_new)
            // m_new is finite: the first key of a tile always exists.
            float m_new = m;
            for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, S_smem[i][k]);
            float alpha = expf(m - m_new);
            P_smem[i][j] = expf(s - m_new);
            m = m_new;
            __syncthreads();  // row i of P is written before it is summed and multiplied with V

            // l = alpha l + sum_k P[i][k],  O = alpha O + P V
            // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],   x = j + c BLOCK_K
            l *= alpha;
            for (int c = 0; c < d_tile / BLOCK_K; c++) O_reg[c] *= alpha;
            for (int k = 0; k < BLOCK_K; k++) {
                float p = P_smem[i][k];
                l += p;
                for (int c = 0; c < d_tile / BLOCK_K; c++)
                    O_reg[c] += p * __bfloat162float(V_smem[k][j + c * BLOCK_K]);
            }
            // everybody has read K, V, S and P before the next round overwrites them
            __syncthreads();
        }
    }

    // O = O / l,  LSE = m + ln l;  0 and -infinity for a row that saw no key         (README eq. 4)
    if (first_row + i < N_q) {
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int x = j + c * BLOCK_K;
            float o = l > 0.0f ? O_reg[c] / l : 0.0f;
            if (x < d) O[i * stride_o.n + x] = __float2bfloat16(o);
        }
        if (j == 0) LSE[i] = m + logf(l);  // if m = -infinity and l = 0: -infinity, by itself
    }
}

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 6)
// Grid (ceil(N_q / WARPS), B * H), block (WARP, WARPS): one warp per query.
__global__ void delta_kernel(float* delta,                 // (B, H, N_q)
                             const bf16* __restrict__ O,   // (B, N_q, H, d)
                             const bf16* __restrict__ dO,  // (B, N_q, H, d)
                             int N_q, int H, int d, struct strides stride_o,
                             struct strides stride_do) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    if (i >= N_q) return;            // a whole warp
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    dO += batch * stride_do.b + head * stride_do.h + i * stride_do.n;
    float sum = 0.0f;
    for (int x = lane; x < d; x += WARP) sum += __bfloat162float(dO[x]) * __bfloat162float(O[x]);
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    if (lane == 0) delta[(batch * H + head) * N_q + i] = sum;
}

// dK and dV of BLOCK_K keys, over the queries in the list of their column.      (README eq. 5 to 8)
// Grid (ceil(N_k / BLOCK_K), B * H), block (BLOCK_K, BLOCK_Q).
//
// Thread (x, y) holds element (y, x) of the tiles of P and dS, query y and key x; and of dK and dV
// the columns x, x + BLOCK_K, ... of key y.
template <int d_tile>
__global__ void dk_dv_kernel(bf16* dK,                     // (B, N_k, H, d)
                             bf16* dV,                     // (B, N_k, H, d)
                             const bf16* __restrict__ Q,   // (B, N_q, H, d)
                             const bf16* __restrict__ K,   // (B, N_k, H, d)
                             const bf16* __restrict__ V,   // (B, N_k, H, d)
                             const bf16* __restrict__ dO,  // (B, N_q, H, d)
                             const float* LSE,             // (B, H, N_q)
                             const float* delta,           // (B, H, N_q)
                             const int* column_lists,      // (B, H, T_k, 1 + T_q)
                             int N_q, int N_k, int H, int d, struct strides stride_dk,
                             struct strides stride_dv, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v,
                             struct strides stride_do, float scale) {
    __shared__ bf16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ bf16 V_smem[BLOCK_K][d_tile + PAD];
    __shared__ bf16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ bf16 dO_smem[BLOCK_Q][d_tile + PAD];
    __shared__ float LSE_smem[BLOCK_Q];
    __shared__ float delta_smem[BLOCK_Q];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    __shared__ float dS_smem[BLOCK_Q][BLOCK_K];

    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;                       // [0, THREADS)
    int64_t first_key = (int64_t)blockIdx.x * BLOCK_K;  // [0, N_k)
    int64_t n_keys = N_k - first_key;                   // in this block; may be more than fit
    int64_t T_q = SPARSE_BLOCKS(N_q);
    int64_t T_k = SPARSE_BLOCKS(N_k);

    // From here on every pointer starts where this block's work starts.
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h;
    K += batch * stride_k.b + head * stride_k.h + first_key * stride_k.n;
    V += batch * stride_v.b + head * stride_v.h + first_key * stride_v.n;
    dO += batch * stride_do.b + head * stride_do.h;
    dK += batch * stride_dk.b + head * stride_dk.h + first_key * stride_dk.n;
    dV += batch * stride_dv.b + head * stride_dv.h + first_key * stride_dv.n;
    LSE += (batch * H + head) * N_q;
    delta += (batch * H + head) * N_q;
    column_lists += (batch * H + head) * T_k * (1 + T_q);

    column_lists += first_key / SPARSE_BLOCK * (1 + T_q);
    int active = column_lists[0];  // how many blocks of queries see the keys
    const int* blocks = column_lists + 1;

    float dK_reg[d_tile / BLOCK_K] = {0.0f};  // of key y: x, x + BLOCK_K, ...
    float dV_reg[d_tile / BLOCK_K] = {0.0f};

    load_tile<d_tile>(K_smem, K, BLOCK_K, n_keys, d, stride_k.n, thread);
    load_tile<d_tile>(V_smem, V, BLOCK_K, n_keys, d, stride_v.n, thread);

    for (int n = 0; n < active; n++) {
        int64_t first_row, end;
        rows_of_block(blocks[n], N_q, &first_row, &end);
        for (; first_row < end; first_row += BLOCK_Q) {
            int64_t n_rows = end - first_row;  // in this tile; may be more than fit
            load_tile<d_tile>(Q_smem, Q + first_row * stride_q.n, BLOCK_Q, n_rows, d, stride_q.n,
                              thread);
            load_tile<d_tile>(dO_smem, dO + first_row * stride_do.n, BLOCK_Q, n_rows, d,
                              stride_do.n, thread);
            if (thread < BLOCK_Q) {
                LSE_smem[thread] = thread < n_rows ? LSE[first_row + thread] : 0.0f;
                delta_smem[thread] = thread < n_rows ? delta[first_row + thread] : 0.0f;
            }
            __syncthreads();  // the tiles of K, V, Q and dO are written before anybody reads them

            float p;
            float dS;
            weigh<d_tile>(&p, &dS, Q_smem, dO_smem, K_smem, V_smem, LSE_smem[y], delta_smem[y],
                          scale, y, x, y < n_rows && x < n_keys);
            P_smem[y][x] = p;
            dS_smem[y][x] = dS;
            __syncthreads();  // the tiles of P and dS are written before anybody reads them

            // dV += P^T dO,  dK += dS^T Q  (scale comes at the end)               (README eq. 7, 8)
            // dV[j][c] += sum_i P[i][j] dO[i][c],  dK[j][c] += sum_i dS[i][j] Q[i][c];  j = y
            for (int i = 0; i < BLOCK_Q; i++) {
                for (int c = 0; c < d_tile / BLOCK_K; c++) {
                    dV_reg[c] += P_smem[i][y] * __bfloat162float(dO_smem[i][x + c * BLOCK_K]);
                    dK_reg[c] += dS_smem[i][y] * __bfloat162float(Q_smem[i][x + c * BLOCK_K]);
                }
            }
            // everybody has read Q, dO, P and dS before the next round overwrites them
            __syncthreads();
        }
    }

    // dK and dV of key y, rounded. dS^T Q lacks its factor scale.                 (README eq. 7, 8)
    for (int c = 0; c < d_tile / BLOCK_K; c++) {
        int k = x + c * BLOCK_K;
        if (y >= n_keys || k >= d) continue;
        dK[y * stride_dk.n + k] = __float2bfloat16(scale * dK_reg[c]);
        dV[y * stride_dv.n + k] = __float2bfloat16(dV_reg[c]);
    }
}

// dQ of BLOCK_Q queries, over the keys in the list of their row.               (README eq. 5, 6, 9)
// Grid (ceil(N_q / BLOCK_Q), B * H), block (BLOCK_K, BLOCK_Q).
//
// Thread (x, y) holds element (y, x) of the tile of dS, query y and key x; and of dQ the columns
// x, x + BLOCK_K, ... of query y.
template <int d_tile>
__global__ void dq_kernel(bf16* dQ,                     // (B, N_q, H, d)
                          const bf16* __restrict__ Q,   // (B, N_q, H, d)
                          const bf16* __restrict__ K,   // (B, N_k, H, d)
                          const bf16* __restrict__ V,   // (B, N_k, H, d)
                          const bf16* __restrict__ dO,  // (B, N_q, H, d)
                          const float* LSE,             // (B, H, N_q)
                          const float* delta,           // (B, H, N_q)
                          const int* row_lists,         // (B, H, T_q, 1 + T_k)
                          int N_q, int N_k, int H, int d, struct strides stride_dq,
                          struct strides stride_q, struct strides stride_k, struct strides stride_v,
                          struct strides stride_do, float scale) {
    __shared__ bf16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ bf16 dO_smem[BLOCK_Q][d_tile + PAD];
    __shared__ bf16 K_smem[BLOCK_K][d_tile + PAD];
    __shared__ bf16 V_smem[BLOCK_K][d_tile + PAD];
    __shared__ float dS_smem[BLOCK_Q][BLOCK_K];

    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;                       // [0, THREADS)
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;  // [0, N_q)
    int64_t n_rows = N_q - first_row;                   // in this block; may be more than fit
    int64_t T_q = SPARSE_BLOCKS(N_q);
    int64_t T_k = SPARSE_BLOCKS(N_k);

    // From here on every pointer starts where this block's work starts.
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    dO += batch * stride_do.b + head * stride_do.h + first_row * stride_do.n;
    dQ += batch * stride_dq.b + head * stride_dq.h + first_row * stride_dq.n;
    LSE += (batch * H + head) * N_q + first_row;
    delta += (batch * H + head) * N_q + first_row;
    row_lists += ((batch * H + head) * T_q + first_row / SPARSE_BLOCK) * (1 + T_k);
    int active = row_lists[0];  // how many blocks of keys the queries see

    float LSE_y = y < n_rows ? LSE[y] : 0.0f;
    float delta_y = y < n_rows ? delta[y] : 0.0f;
    float dQ_reg[d_tile / BLOCK_K] = {0.0f};  // of query y: x, x + BLOCK_K, ...

    load_tile<d_tile>(Q_smem, Q, BLOCK_Q, n_rows, d, stride_q.n, thread);
    load_tile<d_tile>(dO_smem, dO, BLOCK_Q, n_rows, d, stride_do.n, thread);

    for (int n = 0; n < active; n++) {
        int64_t first_key, end;
        rows_of_block(row_lists[1 + n], N_k, &first_key, &end);
        for (; first_key < end; first_key += BLOCK_K) {
            int64_t n_keys = end - first_key;  // in this tile; may be more than fit
            load_tile<d_tile>(K_smem, K + first_key * stride_k.n, BLOCK_K, n_keys, d, stride_k.n,
                              thread);
            load_tile<d_tile>(V_smem, V + first_key * stride_v.n, BLOCK_K, n_keys, d, stride_v.n,
                              thread);
            __syncthreads();  // the tiles of Q, dO, K and V are written before anybody reads them

            float p;
            weigh<d_tile>(&p, &dS_smem[y][x], Q_smem, dO_smem, K_smem, V_smem, LSE_y, delta_y,
                          scale, y, x, y < n_rows && x < n_keys);
            __syncthreads();  // the tile of dS is written before anybody reads it

            // dQ += dS K  (scale comes at the end)                                   (README eq. 9)
            // dQ[i][c] += sum_j dS[i][j] K[j][c];  i = y
            for (int j = 0; j < BLOCK_K; j++) {
                for (int c = 0; c < d_tile / BLOCK_K; c++)
                    dQ_reg[c] += dS_smem[y][j] * __bfloat162float(K_smem[j][x + c * BLOCK_K]);
            }
            // everybody has read K, V and dS before the next round overwrites them
            __syncthreads();
        }
    }

    // dQ of query y, rounded. dS K lacks its factor scale.                           (README eq. 9)
    for (int c = 0; c < d_tile / BLOCK_K; c++) {
        int k = x + c * BLOCK_K;
        if (y >= n_rows || k >= d) continue;
        dQ[y * stride_dq.n + k] = __float2bfloat16(scale * dQ_reg[c]);
    }
}

// ---- launchers -----------------------------------------------------------------------------

// The n_lists lists of each of the heads; see list_kernel.
static void make_lists(int* lists_gpu, const uint8_t* mask_gpu, int heads, int64_t n_lists,
                       int64_t n_entries, int64_t step_list, int64_t step_entry) {
    if (n_lists == 0) return;
    dim3 grid(CEIL_DIV(n_lists, WARPS), heads);
    list_kernel<<<grid, dim3(WARP, WARPS)>>>(lists_gpu, mask_gpu, n_lists, n_entries, step_list,
                                             step_entry);
}

extern "C" int block_sparse_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, const uint8_t* mask_gpu,
                                    int B, int N_q, int N_k, int H, int d, struct strides stride_o,
                                    struct strides stride_q, struct strides stride_k,
                                    struct strides stride_v, float scale, void* workspace_gpu) {
    struct forward p = {};
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE is refused without these.
    if (!workspace_gpu || (N_k > 0 && !mask_gpu)) p.LSE = NULL;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || N_q == 0) return status;
    int* row_lists_gpu = (int*)workspace_gpu;  // (B, H, T_q, 1 + T_k)
    int64_t T_q = SPARSE_BLOCKS(N_q);
    int64_t T_k = SPARSE_BLOCKS(N_k);
    make_lists(row_lists_gpu, mask_gpu, B * H, T_q, T_k, T_k, 1);
    COURSE_TRY(cudaGetLastError());

    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    decltype(&forward_kernel<64>) kernel = d == 64 ? forward_kernel<64> : forward_kernel<128>;
    kernel<<<grid, dim3(BLOCK_K, BLOCK_Q)>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, row_lists_gpu,
                                             N_q, N_k, H, d, stride_o, stride_q, stride_k, stride_v,
                                             scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int block_sparse_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                                     const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                                     const float* LSE_gpu, const bf16* dO_gpu,
                                     const uint8_t* mask_gpu, int B, int N_q, int N_k, int H, int d,
                                     struct strides stride_dq, struct strides stride_dk,
                                     struct strides stride_dv, struct strides stride_q,
                                     struct strides stride_k, struct strides stride_v,
                                     struct strides stride_o, struct strides stride_do, float scale,
                                     void* workspace_gpu) {
    struct backward p = {};
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE and K is refused without these.
    if (!workspace_gpu || (N_q > 0 && N_k > 0 && !mask_gpu)) p.LSE = NULL, p.K.elements = NULL;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return status;
    // The workspace: lists of rows (B, H, T_q, 1 + T_k), lists of columns (B, H, T_k, 1 + T_q),
    // delta (B, H, N_q).
    int64_t T_q = SPARSE_BLOCKS(N_q);
    int64_t T_k = SPARSE_BLOCKS(N_k);
    int* row_lists_gpu = (int*)workspace_gpu;
    int* column_lists_gpu = row_lists_gpu + (int64_t)B * H * T_q * (1 + T_k);
    float* delta_gpu = (float*)(column_lists_gpu + (int64_t)B * H * T_k * (1 + T_q));
    make_lists(row_lists_gpu, mask_gpu, B * H, T_q, T_k, T_k, 1);
    make_lists(column_lists_gpu, mask_gpu, B * H, T_k, T_q, 1, T_k);
    COURSE_TRY(cudaGetLastError());

    dim3 block(BLOCK_K, BLOCK_Q);
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, WARPS), B * H);
        delta_kernel<<<grid, dim3(WARP, WARPS)>>>(delta_gpu, O_gpu, dO_gpu, N_q, H, d, stride_o,
                                                  stride_do);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_k > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_k, BLOCK_K), B * H);
        decltype(&dk_dv_kernel<64>) kernel = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
        kernel<<<grid, block>>>(dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu, dO_gpu, LSE_gpu, delta_gpu,
                                column_lists_gpu, N_q, N_k, H, d, stride_dk, stride_dv, stride_q,
                                stride_k, stride_v, stride_do, scale);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
        decltype(&dq_kernel<64>) kernel = d == 64 ? dq_kernel<64> : dq_kernel<128>;
        kernel<<<grid, block>>>(dQ_gpu, Q_gpu, K_gpu, V_gpu, dO_gpu, LSE_gpu, delta_gpu,
                                row_lists_gpu, N_q, N_k, H, d, stride_dq, stride_q, stride_k,
                                stride_v, stride_do, scale);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
