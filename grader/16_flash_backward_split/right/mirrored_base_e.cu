// mirrored_base_e.cu: warps of 16 rows, exp instead of exp2, rows padded instead of swizzled, tiles walked over
// from the first one on, in both kernels; 128 rows a block.
#include "flash_backward_split.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"

#define WARPS 8
#define ROWS 16               // of a warp
#define BLOCK (WARPS * ROWS)  // rows that a block owns
#define TILE 32               // rows of a tile that it walks over
#define THREADS (32 * WARPS)
#define DELTA_WARPS WARPS  // per block of delta_kernel: rows
#define MAX_GRID_Y 65535   // the limit of gridDim.y
#define PIECE 8            // elements that are copied together: 16 bytes
#define PAD 8              // elements added to each row in shared memory: 16 bytes, 4 banks

// An array of (B, N, H, d).
struct array {
    bf16* elements;
    struct strides stride;
};

// What the kernels work on: the launcher's arguments. They write dQ, dK, dV and delta.
struct problem {
    struct array dK, dV, K, V;  // (B, N_k, H, d)
    struct array dQ, Q, O, dO;  // (B, N_q, H, d)
    const float* LSE;           // (B, H, N_q)
    float* delta;               // (B, H, N_q), the workspace
    int N_q, N_k, H, causal;
    float scale;
};

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q (lesson 13).
__device__ int keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return (int)(seen < 0 ? 0 : seen > N_k ? N_k : seen);
}

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q (lesson 15).
__device__ int seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    return (int)(first < 0 ? 0 : first > N_q ? N_q : first);
}

// Row n of this block's head: blockIdx.y counts batches and heads.
__device__ __forceinline__ bf16* row(struct array a, int H, int64_t n) {
    return a.elements + blockIdx.y / H * a.stride.b + blockIdx.y % H * a.stride.h + n * a.stride.n;
}

// Copies rows first to first + N_TILE - 1 of this head to a tile; rows from N on become zeros.
template <int d, int N_TILE>
__device__ void copy_tile(bf16* tile,      // (N_TILE, d), shared memory
                          struct array a,  // (B, N, H, d)
                          int H, int first, int N) {
    for (int e = threadIdx.x * PIECE; e < N_TILE * d; e += THREADS * PIECE) {
        int n = e / d, x = e % d;
        cp_async16_zfill(&tile[n * (d + PAD) + x], row(a, H, first + n) + x,
                         n < N - first ? 16 : 0);
    }
}

// ---- products of a warp: C[n][2h + e] is row g + 8 h, column 8 n + 2 t + e ---------------------

// C += A B^T
// C[i][j] += sum_x A[i][x] B[j][x], 16 columns x and 16 rows j of B at a time
template <int d>
__device__ __forceinline__ void multiply_transposed(float C[TILE / 8][4],
                                                    const bf16* A_smem,    // (ROWS, d)
                                                    const bf16* B_smem) {  // (TILE, d)
    int lane = threadIdx.x % 32;
    int A_at = lane % 16 * (d + PAD) + lane / 16 * 8;
    int B_at = (lane % 8 + lane / 16 * 8) * (d + PAD) + lane / 8 % 2 * 8;
#pragma unroll
    for (int x = 0; x < d; x += 16) {
        unsigned a[4], b[4];
        ldmatrix_x4(a, &A_smem[A_at + x]);
#pragma unroll
        for (int j = 0; j < TILE; j += 16) {
            ldmatrix_x4(b, &B_smem[B_at + x + j * (d + PAD)]);
            mma_m16n8k16_bf16(C[j / 8], a, b);
            mma_m16n8k16_bf16(C[j / 8 + 1], a, b + 2);
        }
    }
}

// C += A B, A in registers, in the layout of a C (lesson 14)
// C[i][x] += sum_j A[i][j] B[j][x], 16 columns j of A and 16 columns x at a time
template <int d>
__device__ __forceinline__ void multiply(float C[d / 8][4], const float A[TILE / 8][4],
                                         const bf16* B_smem) {  // (TILE, d)
    int lane = threadIdx.x % 32;
    int B_at = lane % 16 * (d + PAD) + lane / 16 * 8;
#pragma unroll
    for (int j = 0; j < TILE; j += 16) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = pack_bf16(A[j / 8 + i / 2][i % 2 * 2], A[j / 8 + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int x = 0; x < d; x += 16) {
            ldmatrix_x4_trans(b, &B_smem[B_at + x + j * (d + PAD)]);
            mma_m16n8k16_bf16(C[x / 8], a, b);
            mma_m16n8k16_bf16(C[x / 8 + 1], a, b + 2);
        }
    }
}

// Stores row g + 8 h of factor C as row first + g + 8 h of this head, if that is before N.
template <int d>
__device__ __forceinline__ void store(struct array a, int H, int first, int N,
                                      const float C[d / 8][4], float factor) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < d / 8; n++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (first + lane / 4 + 8 * h < N)
                *(unsigned*)&row(a, H, first + lane / 4 + 8 * h)[8 * n + lane % 4 * 2] =
                    pack_bf16(factor * C[n][2 * h], factor * C[n][2 * h + 1]);
}

// ---- GPU kernel: delta ---------------------------------------------------------------------

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Grid (ceil(N_q / DELTA_WARPS), B * H), block 32 DELTA_WARPS: a warp per query (lesson 15).
__global__ void delta_kernel(const struct problem p, int d) {
    int64_t i = (int64_t)blockIdx.x * DELTA_WARPS + threadIdx.x / 32;
    if (i >= p.N_q) return;  // a whole warp
    const bf16 *O = row(p.O, p.H, i), *dO = row(p.dO, p.H, i);
    float sum = 0.0f;
    for (int x = threadIdx.x % 32 * 2; x < d; x += 64) {
        float2 o = __bfloat1622float2(*(const __nv_bfloat162*)&O[x]);
        float2 g = __bfloat1622float2(*(const __nv_bfloat162*)&dO[x]);
        sum += o.x * g.x + o.y * g.y;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) p.delta[(int64_t)blockIdx.y * p.N_q + i] = sum;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (ceil(N_k / BLOCK), B * H), block THREADS.
template <int d> __global__ void __launch_bounds__(THREADS) dk_dv_kernel(const struct problem p) {
    extern __shared__ uint4 memory[];
    bf16* K_smem = (bf16*)memory;               // (BLOCK, d)
    bf16* V_smem = K_smem + BLOCK * (d + PAD);  // (BLOCK, d)
    bf16* Q_smem = V_smem + BLOCK * (d + PAD);  // (TILE, d)
    bf16* dO_smem = Q_smem + TILE * (d + PAD);  // (TILE, d)
    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * ROWS;
    int first_key = blockIdx.x * BLOCK;             // [0, N_k)
    int own_key = first_key + warp_row + lane / 4;  // and own_key + 8
    int visible_from[2] = {seen_from(own_key, p.N_q, p.N_k, p.causal),
                           seen_from(own_key + 8, p.N_q, p.N_k, p.causal)};
    int start = seen_from(first_key, p.N_q, p.N_k, p.causal) / TILE * TILE;
    float c = p.scale;
    float dK[d / 8][4] = {}, dV[d / 8][4] = {};
    copy_tile<d, BLOCK>(K_smem, p.K, p.H, first_key, p.N_k);
    copy_tile<d, BLOCK>(V_smem, p.V, p.H, first_key, p.N_k);

    for (int first_query = start; first_query < p.N_q; first_query += TILE) {
        float S[TILE / 8][4] = {}, dP[TILE / 8][4] = {};
        copy_tile<d, TILE>(Q_smem, p.Q, p.H, first_query, p.N_q);
        copy_tile<d, TILE>(dO_smem, p.dO, p.H, first_query, p.N_q);
        cp_async_wait_all();
        __syncthreads();  // the tiles are written before anybody reads them
        // S^T = K Q^T,  dP^T = V dO^T                                           (README eq. 1, 4)
        multiply_transposed<d>(S, K_smem + warp_row * (d + PAD), Q_smem);
        multiply_transposed<d>(dP, V_smem + warp_row * (d + PAD), dO_smem);
        // P[i][j] = exp(scale S[i][j] - LSE[i]),  dS = P * (dP - delta)    (README eq. 3, 5)
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int query = first_query + 8 * n + lane % 4 * 2 + i % 2;
                int64_t at = (int64_t)blockIdx.y * p.N_q + query;
                bool seen = query >= visible_from[i / 2] && query < p.N_q;
                S[n][i] = seen ? expf(c * S[n][i] - p.LSE[at]) : 0.0f;
                dP[n][i] = seen ? S[n][i] * (dP[n][i] - p.delta[at]) : 0.0f;
            }
        // dV += P^T dO,  dK += dS^T Q                                          (README eq. 6, 7)
        multiply<d>(dV, S, dO_smem);
        multiply<d>(dK, dP, Q_smem);
        __syncthreads();  // everybody has read the tiles before the next ones overwrite them
    }
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    store<d>(p.dK, p.H, first_key + warp_row, p.N_k, dK, p.scale);
    store<d>(p.dV, p.H, first_key + warp_row, p.N_k, dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK), B * H), block THREADS.
template <int d> __global__ void __launch_bounds__(THREADS) dq_kernel(const struct problem p) {
    extern __shared__ uint4 memory[];
    bf16* Q_smem = (bf16*)memory;                // (BLOCK, d)
    bf16* dO_smem = Q_smem + BLOCK * (d + PAD);  // (BLOCK, d)
    bf16* K_smem = dO_smem + BLOCK * (d + PAD);  // (TILE, d)
    bf16* V_smem = K_smem + TILE * (d + PAD);    // (TILE, d)
    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * ROWS;
    int first_row = blockIdx.x * BLOCK;  // [0, N_q)
    int end = keys_seen(first_row + BLOCK - 1, p.N_q, p.N_k, p.causal);
    int visible[2];
    float base[2], delta[2];
    for (int h = 0; h < 2; h++) {
        int query = first_row + warp_row + lane / 4 + 8 * h;
        int64_t at = (int64_t)blockIdx.y * p.N_q + query;
        visible[h] = keys_seen(query, p.N_q, p.N_k, p.causal);
        base[h] = query < p.N_q ? p.LSE[at] : 0.0f;
        delta[h] = query < p.N_q ? p.delta[at] : 0.0f;
    }
    float c = p.scale;
    float dQ[d / 8][4] = {};
    copy_tile<d, BLOCK>(Q_smem, p.Q, p.H, first_row, p.N_q);
    copy_tile<d, BLOCK>(dO_smem, p.dO, p.H, first_row, p.N_q);

    for (int first_key = 0; first_key < end; first_key += TILE) {
        float S[TILE / 8][4] = {}, dP[TILE / 8][4] = {};
        copy_tile<d, TILE>(K_smem, p.K, p.H, first_key, p.N_k);
        copy_tile<d, TILE>(V_smem, p.V, p.H, first_key, p.N_k);
        cp_async_wait_all();
        __syncthreads();  // the tiles are written before anybody reads them
        // S = Q K^T,  dP = dO V^T                                               (README eq. 1, 4)
        multiply_transposed<d>(S, Q_smem + warp_row * (d + PAD), K_smem);
        multiply_transposed<d>(dP, dO_smem + warp_row * (d + PAD), V_smem);
        // dS[i][j] = exp(scale S[i][j] - LSE[i]) * (dP[i][j] - delta[i])   (README eq. 3, 5)
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                bool seen = first_key + 8 * n + lane % 4 * 2 + i % 2 < visible[i / 2];
                float weight = seen ? expf(c * S[n][i] - base[i / 2]) : 0.0f;
                dP[n][i] = weight * (dP[n][i] - delta[i / 2]);
            }
        // dQ += dS K                                                                (README eq. 8)
        multiply<d>(dQ, dP, K_smem);
        __syncthreads();  // everybody has read the tiles before the next ones overwrite them
    }
    cp_async_wait_all();
    store<d>(p.dQ, p.H, first_row + warp_row, p.N_q, dQ, p.scale);
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Every row begins at a multiple of 16 bytes.
static int is_aligned(struct array a) {
    return (uintptr_t)a.elements % 16 == 0 && (a.stride.b | a.stride.n | a.stride.h) % PIECE == 0;
}

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    const struct problem p = {{dK_gpu, stride_dk},
                              {dV_gpu, stride_dv},
                              {(bf16*)K_gpu, stride_k},
                              {(bf16*)V_gpu, stride_v},
                              {dQ_gpu, stride_dq},
                              {(bf16*)Q_gpu, stride_q},
                              {(bf16*)O_gpu, stride_o},
                              {(bf16*)dO_gpu, stride_do},
                              LSE_gpu,
                              (float*)workspace_gpu,
                              N_q,
                              N_k,
                              H,
                              causal,
                              scale};
    const struct array arrays[8] = {p.dK, p.dV, p.K, p.V, p.dQ, p.Q, p.O, p.dO};
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    for (int a = 0; a < 8; a++)
        if (!is_valid(arrays[a].stride, d)) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    for (int a = 0; a < 8; a++)
        if ((a < 4 ? N_k : N_q) > 0 && !arrays[a].elements) return COURSE_BAD_ARGUMENT;
    if (N_q > 0 && (!LSE_gpu || !workspace_gpu)) return COURSE_BAD_ARGUMENT;
    for (int a = 0; a < 8; a++)
        if (!is_aligned(arrays[a])) return COURSE_UNSUPPORTED;

    void (*dk_dv)(struct problem) = d == 64 ? dk_dv_kernel<64> : dk_dv_kernel<128>;
    void (*dq)(struct problem) = d == 64 ? dq_kernel<64> : dq_kernel<128>;
    int bytes = 2 * (BLOCK + TILE) * (d + PAD) * (int)sizeof(bf16);
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    COURSE_TRY(cudaFuncSetAttribute(dq, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    if (N_q > 0) {
        delta_kernel<<<dim3(CEIL_DIV((int64_t)N_q, DELTA_WARPS), B * H), THREADS>>>(p, d);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_k > 0) {
        dk_dv<<<dim3(CEIL_DIV((int64_t)N_k, BLOCK), B * H), THREADS, bytes>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    if (N_q > 0) {
        dq<<<dim3(CEIL_DIV((int64_t)N_q, BLOCK), B * H), THREADS, bytes>>>(p);
        COURSE_TRY(cudaGetLastError());
    }
    return COURSE_OK;
}
