// 2_mask_every_tile.cu: the tiles of the solution, but one loop over all of them, with every test
// at every score.
//
// What was wrong with step 1: P and dS went through global memory, four times N_q x N_k floats.
// Here a block owns BLOCK_K keys, with dK and dV in registers, and makes each tile of P and dS from
// Q, K, V, dO, LSE and delta when it needs it. dQ, which all blocks have a share in, is summed by
// atomicAdd.
//
// What is still wrong: with a causal mask half of the tiles hold nothing but zeros, and this loop
// loads and computes them all the same; and in the others nearly all tests are for nothing.
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
    if (causal) first = j - N_k + N_q;
    if (first < 0) first = 0;
    if (j >= N_k) first = N_q;
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

// The main loop: the tiles of queries from 0 to before N_q, the last one first, and what they add
// to dK, dV (of this block's keys) and dQ.
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
                                     float scale, int64_t visible_from) {
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ fp16 dO_smem[BLOCK_Q][d_tile + PAD];
    __shared__ float LSE_smem[BLOCK_Q];
    __shared__ float delta_smem[BLOCK_Q];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    __shared__ float dS_smem[BLOCK_Q][BLOCK_K];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * BLOCK_K + x;

    for (int64_t tile = CEIL_DIV((int64_t)N_q, BLOCK_Q) - 1; tile >= 0; tile--) {
        int64_t first_row = tile * BLOCK_Q;
        int64_t n_rows = N_q - first_row;  // in this tile; may be more than fit
        load_tile<d_tile>(Q_smem, Q + first_row * stride_qn, BLOCK_Q, n_rows, d, stride_qn, thread);
        load_tile<d_tile>(dO_smem, dO + first_row * stride_don, BLOCK_Q, n_rows, d, stride_don,
                          thread);
        if (thread < BLOCK_Q) {
            bool exists = thread < n_rows;
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
        bool seen = first_row + y >= visible_from && y < n_rows;
        float p = 0.0f;
        if (seen) p = expf(s - LSE_smem[y]);  // where hidden, LSE may be -infinity
        P_smem[y][x] = p;
        dS_smem[y][x] = p * (dP - delta_smem[y]);
        __syncthreads();  // the tiles of P and dS are written before anybody reads them

        // dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                 (README eq. 5, 8)
        // dV[j][k] += sum_i P[i][j] dO[i][k],  dK[j][k] += sum_i dS[i][j] Q[i][k];  j = y
        for (int i = 0; i < BLOCK_Q; i++) {
            float p_iy = P_smem[i][y];
            float dS_iy = dS_smem[i][y];
            for (int c = 0; c < d_tile / BLOCK_K; c++) {
                dV_reg[c] += p_iy * __half2float(dO_smem[i][x + c * BLOCK_K]);
                dK_reg[c] += dS_iy * __half2float(Q_smem[i][x + c * BLOCK_K]);
            }
        }

        // dQ += dS K  (scale comes at the end)                                     (README eq. 9)
        // dQ[i][k] += sum_j dS[i][j] K[j][k];  i = y. Other blocks add to the same row.
        for (int c = 0; c < d_tile / BLOCK_K; c++) {
            int k = x + c * BLOCK_K;
            float sum = 0.0f;
            for (int j = 0; j < BLOCK_K; j++) sum += dS_smem[y][j] * __half2float(K_smem[j][k]);
            if (y < n_rows && k < d) atomicAdd(&dQ_sum[(first_row + y) * d + k], sum);
        }
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
        sum += __half2float(dO[x]) * __half2float(O[x]);
        dQ_sum[row * d + x] = 0.0f;
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

    int64_t visible_from = seen_from(first_key + x, N_q, N_k, causal);  // key x: from here on

    float dK_reg[d_tile / BLOCK_K] = {0.0f};  // of key y: x, x + BLOCK_K, ...
    float dV_reg[d_tile / BLOCK_K] = {0.0f};

    load_tile<d_tile>(K_smem, K, BLOCK_K, n_keys, d, stride_k.n, thread);
    load_tile<d_tile>(V_smem, V, BLOCK_K, n_keys, d, stride_v.n, thread);

    walk<d_tile>(dK_reg, dV_reg, dQ_sum, K_smem, V_smem, Q, dO, LSE, delta, N_q, d, stride_q.n,
                 stride_do.n, scale, visible_from);

    // dK and dV of key y, rounded. dS^T Q lacks its factor scale.               (README eq. 5, 8)
    for (int c = 0; c < d_tile / BLOCK_K; c++) {
        int k = x + c * BLOCK_K;
        if (y >= n_keys || k >= d) continue;
        dK[y * stride_dk.n + k] = __float2half(scale * dK_reg[c]);
        dV[y * stride_dv.n + k] = __float2half(dV_reg[c]);
    }
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
    *dQ = __float2half(scale * *dQ_sum);
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
