// flash_backward.cu: the gradients of attention, without the N_q x N_k matrices.
//
//     P  = exp(S - LSE)             S = scale Q K^T, made again, tile by tile
//     dV = P^T dO
//     dS = P * (dP - delta)         dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,            dQ = scale dS K
//
// Three kernels: delta_kernel makes delta and clears the sums of dQ; dk_dv_kernel does the work;
// dq_kernel rounds the sums of dQ. In the second a block owns BLOCK_K keys, with their dK and dV in
// registers, and walks over the queries that see them, from the last to the first:
//
//                       the block's keys
//     query 0               . . . .         never loaded
//                          +-------+
//     start                | . . . .        part 3: a key may be hidden, and a row missing   ^
//                          | # # . .                                                         |
//                          +-------+                                                         |
//     full_start           | # # # #        part 2: whole tiles, all seen: no test at all    |
//                          | # # # #                                                         |
//                          +-------+                                                         |
//     full_end             | # # # #        part 1: a row may be missing                   | begins
//     N_q                  +-------+                                                         | here
//
// dQ belongs to the queries, and every block has a share in it: atomicAdd, in fp32, in the
// workspace.
//
// The versions on the way, in steps/:
//     1_naive.cu             P and dS in global memory, one thread per element of each matrix
//     2_mask_every_tile.cu   the same tiles, but all of them, with every test at every score
// What was wrong with step 2: half of a causal square is loaded, computed and thrown away.
//
//     make grade LESSON=15
//
// FlashAttention-2 (Dao 2023), algorithm 2. Equation numbers are those of the lesson's README.
#include "flash_backward.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 16                   // queries per tile, B_r in the paper
#define BLOCK_K 16                   // keys per block, B_c in the paper
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

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q; N_q, nobody, for
// a j
// beyond N_k.                                                                      (README eq. 2)
__device__ int64_t seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = 0;
    // BEGIN SOLUTION (about 3 lines): lesson 13's rule, j <= i + N_k - N_q, solved for i
    if (causal) first = j - N_k + N_q;
    if (first < 0) first = 0;
    if (j >= N_k) first = N_q;
    // END SOLUTION
    return first;
}

// tile[n][x] = rows[n * stride_n + x] where n < n_rows and x < d, and 0 elsewhere: nothing else may
// be read, and a 0 adds nothing to a dot product (lesson 13).
template <int d_tile>
__device__ void load_tile(fp16 tile[][d_tile + PAD], const fp16* rows, int size, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile;  // [0, size)
        int x = e % d_tile;  // [0, d_tile)
        tile[n][x] = n < n_rows && x < d ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

// A part of the main loop: the tiles of queries from `start` to before `end`, the last one first,
// and what they add to dK, dV (of this block's keys) and dQ. `start` is a multiple of BLOCK_Q.
// `masked` (a key may be hidden) and `ragged` (a row may be missing) are written out at each call,
// and the function is inlined: in part 2 the compiler finds no test at all.
//
// Thread (x, y) holds rows and columns of several matrices: element (y, x) of the tiles of S, P and
// dS; of key y, the columns x, x + BLOCK_K, ... of dK and dV; and the same columns of query y of
// dQ.
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
                                     int N_q, int d, int64_t stride_qn, int64_t stride_don,
                                     float scale, int64_t start, int64_t end, int64_t visible_from,
                                     bool masked, bool ragged) {
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ fp16 dO_smem[BLOCK_Q][d_tile + PAD];
    __shared__ float LSE_smem[BLOCK_Q];
    __shared__ float delta_smem[BLOCK_Q];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    __shared__ float dS_smem[BLOCK_Q][BLOCK_K];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;

    int64_t tiles = end > start ? CEIL_DIV(end - start, BLOCK_Q) : 0;
    for (int64_t tile = tiles - 1; tile >= 0; tile--) {
        int64_t first_row = start + tile * BLOCK_Q;
        int64_t n_rows = ragged ? N_q - first_row : BLOCK_Q;  // in this tile
        load_tile<d_tile>(Q_smem, Q + first_row * stride_qn, BLOCK_Q, n_rows, d, stride_qn, thread);
        load_tile<d_tile>(dO_smem, dO + first_row * stride_don, BLOCK_Q, n_rows, d, stride_don,
                          thread);
        if (thread < BLOCK_Q) {
            bool exists = !ragged || thread < n_rows;
            LSE_smem[thread] = exists ? LSE[first_row + thread] : 0.0f;
            delta_smem[thread] = exists ? delta[first_row + thread] : 0.0f;
        }
        __syncthreads();  // the tiles of K, V, Q and dO are written before anybody reads them

        // S = scale Q K^T,  dP = dO V^T                                         (README eq. 1, 6)
        // S[i][j] = scale * sum_k Q[i][k] K[j][k], dP[i][j] = sum_k dO[i][k] V[j][k]; i = y, j = x
        float s = 0.0f;
        float dP = 0.0f;
        for (int k = 0; k < d_tile; k++) {
            s += __half2float(Q_smem[y][k]) * __half2float(K_smem[x][k]);
            dP += __half2float(dO_smem[y][k]) * __half2float(V_smem[x][k]);
        }
        s *= scale;

        // P = exp(S - LSE), 0 where hidden;  dS = P * (dP - delta)              (README eq. 4, 7)
        // P[i][j] = exp(S[i][j] - LSE[i]),  dS[i][j] = P[i][j] * (dP[i][j] - delta[i])
        float p = 0.0f;
        float dS = 0.0f;
        // BEGIN SOLUTION (about 5 lines): p and dS; in a masked or ragged tile, does it count?
        bool seen = true;
        if (masked) seen = first_row + y >= visible_from;
        if (ragged) seen = seen && y < n_rows;
        if (seen) p = expf(s - LSE_smem[y]);
        dS = p * (dP - delta_smem[y]);
        // END SOLUTION
        P_smem[y][x] = p;
        dS_smem[y][x] = dS;
        __syncthreads();  // the tiles of P and dS are written before anybody reads them

        // dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                 (README eq. 5, 8)
        // dV[j][k] += sum_i P[i][j] dO[i][k],  dK[j][k] += sum_i dS[i][j] Q[i][k];  j = y
        // BEGIN SOLUTION (about 8 lines): add to dV_reg[c] and dK_reg[c], k = x + c BLOCK_K
        for (int i = 0; i < BLOCK_Q; i++) {
            float p_iy = P_smem[i][y];
            float dS_iy = dS_smem[i][y];
            for (int c = 0; c < d_tile / BLOCK_K; c++) {
                dV_reg[c] += p_iy * __half2float(dO_smem[i][x + c * BLOCK_K]);
                dK_reg[c] += dS_iy * __half2float(Q_smem[i][x + c * BLOCK_K]);
            }
        }
        // END SOLUTION

        // dQ += dS K  (scale comes at the end)                                     (README eq. 9)
        // dQ[i][k] += sum_j dS[i][j] K[j][k];  i = y. Other blocks add to the same row.
        // BEGIN SOLUTION (about 7 lines): one atomicAdd to dQ_sum an element, (first_row + y, k)
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int k = x + c * BLOCK_K;
            float sum = 0.0f;
            for (int j = 0; j < BLOCK_K; j++) sum += dS_smem[y][j] * __half2float(K_smem[j][k]);
            if ((!ragged || y < n_rows) && k < d) atomicAdd(&dQ_sum[(first_row + y) * d + k], sum);
        }
        // END SOLUTION
        // everybody has read Q, dO, P and dS before the next round overwrites them
        __syncthreads();
    }
}

// ---- GPU kernels ---------------------------------------------------------------------------

// delta_i = sum_x dO_ix O_ix, and dQ_sum = 0                                    (README eq. 3, 9)
// Grid (ceil(N_q / WARPS), B * H), block (WARP, WARPS): one warp per query.
__global__ void delta_kernel(float* delta,                 // (B, H, N_q)
                             float* dQ_sum,                // (B, H, N_q, d)
                             const fp16* __restrict__ O,   // (B, N_q, H, d)
                             const fp16* __restrict__ dO,  // (B, N_q, H, d)
                             int N_q, int H, int d, struct strides stride_o,
                             struct strides stride_do) {
    int lane = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    int64_t row = (batch * H + head) * N_q + i;
    if (i >= N_q) return;  // a whole warp
    O += batch * stride_o.b + head * stride_o.h + i * stride_o.n;
    dO += batch * stride_do.b + head * stride_do.h + i * stride_do.n;

    float sum = 0.0f;
    for (int x = lane; x < d; x += WARP) {
        // BEGIN SOLUTION (about 2 lines): this lane's share of delta; clear the row of dQ_sum
        sum += __half2float(dO[x]) * __half2float(O[x]);
        dQ_sum[row * d + x] = 0.0f;
        // END SOLUTION
    }
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) delta[row] = sum;
}

// Grid (ceil(N_k / BLOCK_K), B * H), block (BLOCK_K, BLOCK_Q). d_tile is d rounded up to the next
// size that there is a kernel for; the columns from d on are zeros.
template <int d_tile>
__global__ void dk_dv_kernel(float* dQ_sum,                // (B, H, N_q, d)
                             fp16* dK,                     // (B, N_k, H, d)
                             fp16* dV,                     // (B, N_k, H, d)
                             const fp16* __restrict__ Q,   // (B, N_q, H, d)
                             const fp16* __restrict__ K,   // (B, N_k, H, d)
                             const fp16* __restrict__ V,   // (B, N_k, H, d)
                             const fp16* __restrict__ dO,  // (B, N_q, H, d)
                             const float* LSE,             // (B, H, N_q)
                             const float* delta,           // (B, H, N_q)
                             int N_q, int N_k, int H, int d, struct strides stride_dk,
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
    dQ_sum += (batch * H + head) * N_q * d;

    // The queries, in order: none before `start` sees a key of the block; all in [full_start,
    // full_end)
    // see all of them, in whole tiles; key x is seen from `visible_from` on.   (README eq. 10)
    int64_t visible_from = 0;
    int64_t start = 0;
    int64_t full_start = 0;
    int64_t full_end = 0;
    int64_t end = 0;
    // BEGIN SOLUTION (about 5 lines): with seen_from(); which key is seen first, which last?
    visible_from = seen_from(first_key + x, N_q, N_k, causal);
    start = seen_from(first_key, N_q, N_k, causal) / BLOCK_Q * BLOCK_Q;
    full_start = CEIL_DIV(seen_from(first_key + BLOCK_K - 1, N_q, N_k, causal), BLOCK_Q) * BLOCK_Q;
    full_end = N_q / BLOCK_Q * BLOCK_Q;
    end = N_q;
    // END SOLUTION
    int64_t tail_start = full_end > full_start ? full_end : full_start;

    float dK_reg[d_tile / BLOCK_K] = {0.0f};  // of key y: x, x + BLOCK_K, ...
    float dV_reg[d_tile / BLOCK_K] = {0.0f};

    load_tile<d_tile>(K_smem, K, BLOCK_K, n_keys, d, stride_k.n, thread);
    load_tile<d_tile>(V_smem, V, BLOCK_K, n_keys, d, stride_v.n, thread);

    // Part 1: the last rows, if they fill no tile.
    walk<d_tile>(dK_reg, dV_reg, dQ_sum, K_smem, V_smem, Q, dO, LSE, delta, N_q, d, stride_q.n,
                 stride_do.n, scale, tail_start, end, visible_from, false, true);
    // Part 2: whole tiles that see every key of the block.
    walk<d_tile>(dK_reg, dV_reg, dQ_sum, K_smem, V_smem, Q, dO, LSE, delta, N_q, d, stride_q.n,
                 stride_do.n, scale, full_start, full_end, visible_from, false, false);
    // Part 3: tiles that the diagonal crosses; all of them in a block that has keys beyond N_k.
    walk<d_tile>(dK_reg, dV_reg, dQ_sum, K_smem, V_smem, Q, dO, LSE, delta, N_q, d, stride_q.n,
                 stride_do.n, scale, start, full_start < end ? full_start : end, visible_from, true,
                 true);

    // dK and dV of key y, rounded. dS^T Q lacks its factor scale.               (README eq. 5, 8)
    // BEGIN SOLUTION (about 5 lines): store what exists of the two rows
    for (int c = 0; c < d_tile / BLOCK_K; c++) {
        int k = x + c * BLOCK_K;
        if (y >= n_keys || k >= d) continue;
        dK[y * stride_dk.n + k] = __float2half(scale * dK_reg[c]);
        dV[y * stride_dv.n + k] = __float2half(dV_reg[c]);
    }
    // END SOLUTION
}

// dQ = scale * dQ_sum, rounded                                                     (README eq. 9)
// Grid (ceil(N_q * d / CONVERT_THREADS), B * H), block (CONVERT_THREADS): one thread per element.
__global__ void dq_kernel(fp16* dQ,             // (B, N_q, H, d)
                          const float* dQ_sum,  // (B, H, N_q, d)
                          int N_q, int H, int d, struct strides stride_dq, float scale) {
    int64_t e = (int64_t)blockIdx.x * CONVERT_THREADS + threadIdx.x;
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    if (e >= (int64_t)N_q * d) return;
    int64_t i = e / d;  // [0, N_q)
    int64_t x = e % d;  // [0, d)
    dQ += batch * stride_dq.b + head * stride_dq.h + i * stride_dq.n + x;
    dQ_sum += (batch * H + head) * N_q * d + e;
    // BEGIN SOLUTION (about 1 line): store the element
    *dQ = __float2half(scale * *dQ_sum);
    // END SOLUTION
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and a row is not longer than the way to the next.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int flash_backward(fp16* dQ_gpu, fp16* dK_gpu, fp16* dV_gpu, const fp16* Q_gpu,
                              const fp16* K_gpu, const fp16* V_gpu, const fp16* O_gpu,
                              const float* LSE_gpu, const fp16* dO_gpu, int B, int N_q, int N_k,
                              int H, int d, struct strides stride_dq, struct strides stride_dk,
                              struct strides stride_dv, struct strides stride_q,
                              struct strides stride_k, struct strides stride_v,
                              struct strides stride_o, struct strides stride_do, float scale,
                              int causal, void* workspace_gpu) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return COURSE_OK;
    if (!is_valid(stride_dq, d) || !is_valid(stride_dk, d) || !is_valid(stride_dv, d) ||
        !is_valid(stride_q, d) || !is_valid(stride_k, d) || !is_valid(stride_v, d) ||
        !is_valid(stride_o, d) || !is_valid(stride_do, d))
        return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && (!dQ_gpu || !Q_gpu || !O_gpu || !LSE_gpu || !dO_gpu || !workspace_gpu))
        return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!dK_gpu || !dV_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;

    // The workspace: the sums of dQ, then delta.
    float* dQ_sum_gpu = (float*)workspace_gpu;                                     // (B, H, N_q, d)
    float* delta_gpu = dQ_sum_gpu ? dQ_sum_gpu + (int64_t)B * H * N_q * d : NULL;  // (B, H, N_q)

    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q, WARPS), B * H);
        delta_kernel<<<grid, dim3(WARP, WARPS)>>>(delta_gpu, dQ_sum_gpu, O_gpu, dO_gpu, N_q, H, d,
                                                  stride_o, stride_do);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_k > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_k, BLOCK_K), B * H);
        decltype(&dk_dv_kernel<16>) kernel = d <= 16    ? dk_dv_kernel<16>
                                             : d <= 64  ? dk_dv_kernel<64>
                                             : d <= 128 ? dk_dv_kernel<128>
                                                        : dk_dv_kernel<256>;
        kernel<<<grid, dim3(BLOCK_K, BLOCK_Q)>>>(
            dQ_sum_gpu, dK_gpu, dV_gpu, Q_gpu, K_gpu, V_gpu, dO_gpu, LSE_gpu, delta_gpu, N_q, N_k,
            H, d, stride_dk, stride_dv, stride_q, stride_k, stride_v, stride_do, scale, causal);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_q > 0) {
        dim3 grid(CEIL_DIV((int64_t)N_q * d, CONVERT_THREADS), B * H);
        dq_kernel<<<grid, CONVERT_THREADS>>>(dQ_gpu, dQ_sum_gpu, N_q, H, d, stride_dq, scale);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
