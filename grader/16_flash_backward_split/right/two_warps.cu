// two_warps.cu: blocks of two warps, 32 rows, and tiles of 64, from the last one to the first; by
// while and goto.
#include "flash_backward_split.h"

#include <math.h>

#include "tile.h"

#define WARPS 2
#define ROWS 16               // of a warp
#define BLOCK (WARPS * ROWS)  // rows that a block owns
#define TILE 64               // rows of a tile that it walks over
#define THREADS (32 * WARPS)
#define DELTA_WARPS WARPS  // per block of delta_kernel: rows

// ---- device helpers ------------------------------------------------------------------------

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q (lesson 15).
__device__ int seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    return (int)(first < 0 ? 0 : first > N_q ? N_q : first);
}

// ---- products of a warp: C[n][2h + e] is row g + 8 h, column 8 n + 2 t + e ---------------------

// C += A B^T
// C[i][j] += sum_x A[i][x] B[j][x], 16 columns x and 16 rows j of B at a time
template <int d>
__device__ __forceinline__ void multiply_transposed(float C[TILE / 8][4],
                                                    const bf16* A_smem,    // (ROWS, d)
                                                    const bf16* B_smem) {  // (TILE, d)
    int lane = threadIdx.x % 32;
    int A_at = swizzled<d>(lane % 16, lane / 16 * 8);
    int B_at = swizzled<d>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
#pragma unroll
    for (int x = 0; x < d; x += 16) {
        unsigned a[4], b[4];
        ldmatrix_x4(a, &A_smem[A_at ^ x]);
#pragma unroll
        for (int j = 0; j < TILE; j += 16) {
            ldmatrix_x4(b, &B_smem[(B_at ^ x) + j * d]);
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
    int B_at = swizzled<d>(lane % 16, lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < TILE; j += 16) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = pack_bf16(A[j / 8 + i / 2][i % 2 * 2], A[j / 8 + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int x = 0; x < d; x += 16) {
            ldmatrix_x4_trans(b, &B_smem[(B_at ^ x) + j * d]);
            mma_m16n8k16_bf16(C[x / 8], a, b);
            mma_m16n8k16_bf16(C[x / 8 + 1], a, b + 2);
        }
    }
}

// Stores row g + 8 h of factor C as row first + g + 8 h of one head, if that is before N.
template <int d>
__device__ __forceinline__ void store(struct array a, int first, int N, const float C[d / 8][4],
                                      float factor) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < d / 8; n++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int64_t row = first + lane / 4 + 8 * h;
            if (row < N)
                *(unsigned*)&a.elements[row * a.stride.n + 8 * n + lane % 4 * 2] =
                    pack_bf16(factor * C[n][2 * h], factor * C[n][2 * h + 1]);
        }
}

// ---- GPU kernel: delta ---------------------------------------------------------------------

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Grid (ceil(N_q / DELTA_WARPS), B * H), block 32 DELTA_WARPS: a warp per query (lesson 15).
__global__ void delta_kernel(const struct backward all_heads, int d) {
    struct backward p = of_head(all_heads, blockIdx.y);
    int64_t i = (int64_t)blockIdx.x * DELTA_WARPS + threadIdx.x / 32;
    if (i >= p.N_q) return;  // a whole warp
    const bf16 *O = p.O.elements + i * p.O.stride.n, *dO = p.dO.elements + i * p.dO.stride.n;
    float sum = 0.0f;
    for (int x = threadIdx.x % 32 * 2; x < d; x += 64) {
        float2 o = __bfloat1622float2(*(const __nv_bfloat162*)&O[x]);
        float2 g = __bfloat1622float2(*(const __nv_bfloat162*)&dO[x]);
        sum += o.x * g.x + o.y * g.y;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) p.delta[i] = sum;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (ceil(N_k / BLOCK), B * H), block THREADS.
template <int d>
__global__ void __launch_bounds__(THREADS, 2) dk_dv_kernel(const struct backward all_heads) {
    struct backward p = of_head(all_heads, blockIdx.y);
    extern __shared__ uint4 memory[];
    bf16* K_smem = (bf16*)memory;       // (BLOCK, d)
    bf16* V_smem = K_smem + BLOCK * d;  // (BLOCK, d)
    bf16* Q_smem = V_smem + BLOCK * d;  // (TILE, d)
    bf16* dO_smem = Q_smem + TILE * d;  // (TILE, d)
    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * ROWS;
    int first_key = blockIdx.x * BLOCK;             // [0, N_k)
    int own_key = first_key + warp_row + lane / 4;  // and own_key + 8
    int visible_from[2] = {seen_from(own_key, p.N_q, p.N_k, p.causal),
                           seen_from(own_key + 8, p.N_q, p.N_k, p.causal)};
    int start = seen_from(first_key, p.N_q, p.N_k, p.causal) / TILE * TILE;
    float c = p.scale * LOG2_E;
    float dK[d / 8][4] = {}, dV[d / 8][4] = {};
    int first_query;
    copy_tile<d, BLOCK, THREADS>(K_smem, p.K, first_key, p.N_k - first_key);
    copy_tile<d, BLOCK, THREADS>(V_smem, p.V, first_key, p.N_k - first_key);

    first_query = start + (p.N_q - 1 - start) / TILE * TILE;
    if (start >= p.N_q) goto done;
    while (true) {
        float S[TILE / 8][4] = {}, dP[TILE / 8][4] = {};
        copy_tile<d, TILE, THREADS>(Q_smem, p.Q, first_query, p.N_q - first_query);
        copy_tile<d, TILE, THREADS>(dO_smem, p.dO, first_query, p.N_q - first_query);
        cp_async_wait_all();
        __syncthreads();  // the tiles are written before anybody reads them
        // S^T = K Q^T,  dP^T = V dO^T                                           (README eq. 1, 4)
        multiply_transposed<d>(S, K_smem + warp_row * d, Q_smem);
        multiply_transposed<d>(dP, V_smem + warp_row * d, dO_smem);
        // P[i][j] = exp2(c S[i][j] - log2(e) LSE[i]),  dS = P * (dP - delta)    (README eq. 3, 5)
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int query = first_query + 8 * n + lane % 4 * 2 + i % 2;
                bool seen = query >= visible_from[i / 2] && query < p.N_q;
                S[n][i] = seen ? exp2_approx(c * S[n][i] - LOG2_E * p.LSE[query]) : 0.0f;
                dP[n][i] = seen ? S[n][i] * (dP[n][i] - p.delta[query]) : 0.0f;
            }
        // dV += P^T dO,  dK += dS^T Q                                          (README eq. 6, 7)
        multiply<d>(dV, S, dO_smem);
        multiply<d>(dK, dP, Q_smem);
        first_query -= TILE;
        if (first_query < start) goto done;
        __syncthreads();  // everybody has read the tiles before the next ones overwrite them
    }
done:
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    store<d>(p.dK, first_key + warp_row, p.N_k, dK, p.scale);
    store<d>(p.dV, first_key + warp_row, p.N_k, dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK), B * H), block THREADS.
template <int d>
__global__ void __launch_bounds__(THREADS, 2) dq_kernel(const struct backward all_heads) {
    struct backward p = of_head(all_heads, blockIdx.y);
    extern __shared__ uint4 memory[];
    bf16* Q_smem = (bf16*)memory;        // (BLOCK, d)
    bf16* dO_smem = Q_smem + BLOCK * d;  // (BLOCK, d)
    bf16* K_smem = dO_smem + BLOCK * d;  // (TILE, d)
    bf16* V_smem = K_smem + TILE * d;    // (TILE, d)
    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * ROWS;
    int first_row = blockIdx.x * BLOCK;  // [0, N_q)
    int end = keys_seen(first_row + BLOCK - 1, p.N_q, p.N_k, p.causal);
    int visible[2];
    float base[2], delta[2];
    for (int h = 0; h < 2; h++) {
        int query = first_row + warp_row + lane / 4 + 8 * h;
        visible[h] = keys_seen(query, p.N_q, p.N_k, p.causal);
        base[h] = query < p.N_q ? p.LSE[query] * LOG2_E : 0.0f;
        delta[h] = query < p.N_q ? p.delta[query] : 0.0f;
    }
    float c = p.scale * LOG2_E;
    float dQ[d / 8][4] = {};
    copy_tile<d, BLOCK, THREADS>(Q_smem, p.Q, first_row, p.N_q - first_row);
    copy_tile<d, BLOCK, THREADS>(dO_smem, p.dO, first_row, p.N_q - first_row);

    int first_key = end > 0 ? (end - 1) / TILE * TILE : -1;
    while (first_key >= 0) {
        float S[TILE / 8][4] = {}, dP[TILE / 8][4] = {};
        copy_tile<d, TILE, THREADS>(K_smem, p.K, first_key, p.N_k - first_key);
        copy_tile<d, TILE, THREADS>(V_smem, p.V, first_key, p.N_k - first_key);
        cp_async_wait_all();
        __syncthreads();  // the tiles are written before anybody reads them
        // S = Q K^T,  dP = dO V^T                                               (README eq. 1, 4)
        multiply_transposed<d>(S, Q_smem + warp_row * d, K_smem);
        multiply_transposed<d>(dP, dO_smem + warp_row * d, V_smem);
        // dS[i][j] = exp2(c S[i][j] - log2(e) LSE[i]) * (dP[i][j] - delta[i])   (README eq. 3, 5)
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                bool seen = first_key + 8 * n + lane % 4 * 2 + i % 2 < visible[i / 2];
                float weight = seen ? exp2_approx(c * S[n][i] - base[i / 2]) : 0.0f;
                dP[n][i] = weight * (dP[n][i] - delta[i / 2]);
            }
        // dQ += dS K                                                                (README eq. 8)
        multiply<d>(dQ, dP, K_smem);
        first_key -= TILE;
        __syncthreads();  // everybody has read the tiles before the next ones overwrite them
    }
    cp_async_wait_all();
    store<d>(p.dQ, first_row + warp_row, p.N_q, dQ, p.scale);
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
    int bytes = 2 * (BLOCK + TILE) * d * (int)sizeof(bf16);
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
