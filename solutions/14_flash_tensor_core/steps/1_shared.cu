// 1_shared.cu: tensor cores for the two products, shared memory for all that is between them.
//
//     S = Q K^T        P = exp2(c S - m)        O = P V        c = scale log2(e)
//
// A warp owns 16 rows. Its S leaves the registers for shared memory, where two lanes a row find the
// maximum, make P in bf16 and leave alpha; from there P comes back as the A of the second product.
// What was wrong with lesson 13: every product ran on the fp32 units, an element of Q K^T at a
// time, with two loads from shared memory for each multiplication.
#include "flash_tensor_core.h"

#include <math.h>

#include "tile.h"

#define BLOCK_Q 64             // query rows per block, 16 for each warp
#define BLOCK_K 64             // keys per tile
#define THREADS (BLOCK_Q * 2)  // 32 for every 16 rows

// ---- device helpers ------------------------------------------------------------------------

// tile[n][x] = a[first + n][x], n < 64, x < d; rows from n_rows on become zeros and are not read.
template <int d> __device__ void copy_rows(bf16* tile, struct array a, int64_t first, int n_rows) {
    for (int e = threadIdx.x * PIECE; e < 64 * d; e += THREADS * PIECE) {
        int n = e / d, x = e % d;
        uint4 piece = {};
        if (n < n_rows) piece = *(const uint4*)&a.elements[(first + n) * a.stride.n + x];
        *(uint4*)&tile[n * d + x] = piece;
    }
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS.
template <int d> __global__ void flash_tensor_core_kernel(const struct forward all_heads) {
    extern __shared__ uint4 smem[];
    bf16* Q_smem = (bf16*)smem;                            // (BLOCK_Q, d)
    bf16* K_smem = Q_smem + BLOCK_Q * d;                   // (BLOCK_K, d)
    bf16* V_smem = K_smem + BLOCK_K * d;                   // (BLOCK_K, d)
    bf16* P_smem = V_smem + BLOCK_K * d;                   // (BLOCK_Q, BLOCK_K)
    float* S_smem = (float*)(P_smem + BLOCK_Q * BLOCK_K);  // (BLOCK_Q, BLOCK_K)
    float* row_smem = S_smem + BLOCK_Q * BLOCK_K;          // (BLOCK_Q): alpha, and l at the end

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * 16;  // the warp's first row in the block
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;

    struct forward p = of_head(all_heads, blockIdx.y);
    int n_rows = p.N_q - first_row < BLOCK_Q ? (int)(p.N_q - first_row) : BLOCK_Q;
    // No row sees a key from `end` on.
    int end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);

    // Two kinds of rows: i is the one whose softmax this lane does half of; g and g + 8 are those
    // of the fragments that it holds, columns 8n + 2t and 8n + 2t + 1.
    int i = warp_row + lane / 2, half = lane % 2 * (BLOCK_K / 2);
    int g = warp_row + lane / 4, t = lane % 4;
    int visible = keys_seen(first_row + i, p.N_q, p.N_k, p.causal);
    float c = p.scale * LOG2_E;
    float m = -INFINITY, l = 0.0f;  // of row i
    float O_reg[d / 8][4] = {};

    copy_rows<d>(Q_smem, p.Q, first_row, n_rows);
    for (int first_key = 0; first_key < end; first_key += BLOCK_K) {
        copy_rows<d>(K_smem, p.K, first_key, p.N_k - first_key);
        copy_rows<d>(V_smem, p.V, first_key, p.N_k - first_key);
        __syncthreads();  // the tiles are written before anybody reads them

        // S = Q K^T: S[n] is the D of keys 8n .. 8n + 7
        float S[BLOCK_K / 8][4] = {};
#pragma unroll
        for (int x = 0; x < d; x += 16) {
            unsigned a[4];
            ldmatrix_x4(a, &Q_smem[(warp_row + lane % 16) * d + x + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < BLOCK_K; j += 16) {
                unsigned b[4];
                ldmatrix_x4(b, &K_smem[(j + lane % 8 + lane / 16 * 8) * d + x + lane / 8 % 2 * 8]);
                mma_m16n8k16_bf16(S[j / 8], a, b);
                mma_m16n8k16_bf16(S[j / 8 + 1], a, b + 2);
            }
        }

#pragma unroll
        for (int n = 0; n < BLOCK_K / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                S_smem[(g + e / 2 * 8) * BLOCK_K + 8 * n + 2 * t + e % 2] = S[n][e];
        __syncwarp();  // the warp's rows of S are written before other lanes read them

        // m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new)
        // P = exp2(c S - m_new),  l = alpha l + sum_j P[i][j]
        float* s = &S_smem[i * BLOCK_K + half];
        bf16* p = &P_smem[i * BLOCK_K + half];
        float largest = -INFINITY;
        for (int j = 0; j < BLOCK_K / 2; j++)
            if (first_key + half + j < visible) largest = fmaxf(largest, s[j]);
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        float m_new = fmaxf(m, largest * c);
        float base = m_new == -INFINITY ? 0.0f : m_new;  // nothing seen yet
        float alpha = exp2_approx(m - base);
        float sum = 0.0f;
        for (int j = 0; j < BLOCK_K / 2; j++) {
            float weight = first_key + half + j < visible ? exp2_approx(s[j] * c - base) : 0.0f;
            p[j] = __float2bfloat16(weight);
            sum += weight;
        }
        l = alpha * l + sum + __shfl_xor_sync(0xffffffffu, sum, 1);
        m = m_new;
        if (half == 0) row_smem[i] = alpha;
        __syncwarp();  // the warp's rows of P and alpha are written before other lanes read them

        // O = alpha O + P V
#pragma unroll
        for (int n = 0; n < d / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) O_reg[n][e] *= row_smem[g + e / 2 * 8];
#pragma unroll
        for (int j = 0; j < BLOCK_K; j += 16) {
            unsigned a[4];
            ldmatrix_x4(a, &P_smem[(warp_row + lane % 16) * BLOCK_K + j + lane / 16 * 8]);
#pragma unroll
            for (int x = 0; x < d; x += 16) {
                unsigned b[4];
                ldmatrix_x4_trans(b, &V_smem[(j + lane % 16) * d + x + lane / 16 * 8]);
                mma_m16n8k16_bf16(O_reg[x / 8], a, b);
                mma_m16n8k16_bf16(O_reg[x / 8 + 1], a, b + 2);
            }
        }
        __syncthreads();  // everybody has read K, V and alpha before the next round overwrites them
    }

    // O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key
    if (half == 0) row_smem[i] = l;
    if (half == 0 && i < n_rows) p.LSE[first_row + i] = (m + log2f(l)) * LN_2;
    __syncwarp();  // l of the warp's rows is written before other lanes read it
#pragma unroll
    for (int n = 0; n < d / 8; n++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int row = g + 8 * h;
            float factor = row_smem[row] > 0.0f ? 1.0f / row_smem[row] : 0.0f;
            if (row < n_rows)
                *(unsigned*)&p.O.elements[(first_row + row) * p.O.stride.n + 8 * n + 2 * t] =
                    pack_bf16(O_reg[n][2 * h] * factor, O_reg[n][2 * h + 1] * factor);
        }
}

// ---- launcher ------------------------------------------------------------------------------

extern "C" int flash_tensor_core(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                                 const bf16* V_gpu, int B, int N_q, int N_k, int H, int d,
                                 struct strides stride_o, struct strides stride_q,
                                 struct strides stride_k, struct strides stride_v, float scale,
                                 int causal) {
    struct forward p;
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || N_q == 0 || H == 0) return status;

    void (*kernel)(struct forward) =
        d == 64 ? flash_tensor_core_kernel<64> : flash_tensor_core_kernel<128>;
    int shared_bytes = (int)sizeof(bf16) * ((BLOCK_Q + 2 * BLOCK_K) * d + BLOCK_Q * BLOCK_K) +
                       (int)sizeof(float) * (BLOCK_Q * BLOCK_K + BLOCK_Q);
    COURSE_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    kernel<<<grid, THREADS, shared_bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
