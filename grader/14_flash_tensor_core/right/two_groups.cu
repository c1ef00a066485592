// two_groups.cu: 32 rows of Q a warp, so that each fragment of K and V serves twice; K and V have
// two buffers each, filled together; tiles of 32 keys from the first one on, rows swizzled.
#include "flash_tensor_core.h"

#include <math.h>

#include "tile.h"

#define BLOCK_Q 128      // query rows per block, 32 for each warp
#define BLOCK_K 32       // keys per tile
#define GROUPS 2         // of 16 rows, for each warp
#define THREADS BLOCK_Q  // 32 for every 32 rows

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS.
template <int d> __global__ void flash_tensor_core_kernel(const struct forward all_heads) {
    extern __shared__ uint4 smem[];
    bf16* Q_smem = (bf16*)smem;               // (BLOCK_Q, d)
    bf16* K_smem = Q_smem + BLOCK_Q * d;      // (2, BLOCK_K, d)
    bf16* V_smem = K_smem + 2 * BLOCK_K * d;  // (2, BLOCK_K, d)

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * 32;  // the warp's first row in the block
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;

    struct forward p = of_head(all_heads, blockIdx.y);
    int n_rows = p.N_q - first_row < BLOCK_Q ? (int)(p.N_q - first_row) : BLOCK_Q;
    // No row sees a key from `end` on.
    int end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);

    // This lane's rows are g + 16 r and g + 16 r + 8, h = 0 and 1; its columns 8n + 2t and 8n + 2t
    // + 1.
    int g = warp_row + lane / 4, t = lane % 4;
    int visible[GROUPS][2];
    for (int r = 0; r < GROUPS; r++)
        for (int h = 0; h < 2; h++)
            visible[r][h] = keys_seen(first_row + g + 16 * r + 8 * h, p.N_q, p.N_k, p.causal);
    float c = p.scale * LOG2_E;
    float m[GROUPS][2], l[GROUPS][2] = {};  // l: of this lane's columns
    for (int r = 0; r < GROUPS; r++) m[r][0] = m[r][1] = -INFINITY;
    float O_reg[GROUPS][d / 8][4] = {};

    copy_tile<d, BLOCK_Q, THREADS>(Q_smem, p.Q, first_row, n_rows);
    copy_tile<d, BLOCK_K, THREADS>(K_smem, p.K, 0, p.N_k);
    copy_tile<d, BLOCK_K, THREADS>(V_smem, p.V, 0, p.N_k);
    cp_async_commit();
    for (int first_key = 0; first_key < end; first_key += BLOCK_K) {
        int next_key = first_key + BLOCK_K;
        int at = first_key / BLOCK_K % 2 * BLOCK_K * d, next = BLOCK_K * d - at;
        if (next_key < end) {
            copy_tile<d, BLOCK_K, THREADS>(K_smem + next, p.K, next_key, p.N_k - next_key);
            copy_tile<d, BLOCK_K, THREADS>(V_smem + next, p.V, next_key, p.N_k - next_key);
        }
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();  // the tiles of all threads are here before anybody reads them

        // S = Q K^T: S[n] is the D of keys 8n .. 8n + 7
        float S[GROUPS][BLOCK_K / 8][4] = {};
#pragma unroll
        for (int x = 0; x < d; x += 16) {
            unsigned a[GROUPS][4];
            for (int r = 0; r < GROUPS; r++)
                ldmatrix_x4(a[r],
                            &Q_smem[swizzled<d>(warp_row + 16 * r + lane % 16, x + lane / 16 * 8)]);
#pragma unroll
            for (int j = 0; j < BLOCK_K; j += 16) {
                unsigned b[4];
                ldmatrix_x4(
                    b,
                    &K_smem[at + swizzled<d>(j + lane % 8 + lane / 16 * 8, x + lane / 8 % 2 * 8)]);
                for (int r = 0; r < GROUPS; r++) {
                    mma_m16n8k16_bf16(S[r][j / 8], a[r], b);
                    mma_m16n8k16_bf16(S[r][j / 8 + 1], a[r], b + 2);
                }
            }
        }

        // m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new),  P = exp2(c S - m_new)
#pragma unroll
        for (int r = 0; r < GROUPS; r++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float largest = -INFINITY;
#pragma unroll
                for (int n = 0; n < BLOCK_K / 8; n++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        float* s = &S[r][n][2 * h + e];
                        if (first_key + 8 * n + 2 * t + e >= visible[r][h]) *s = -INFINITY;
                        largest = fmaxf(largest, *s);
                    }
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
                float m_new = fmaxf(m[r][h], largest * c);
                float base = m_new == -INFINITY ? 0.0f : m_new;  // nothing seen yet
                float alpha = exp2_approx(m[r][h] - base);
                m[r][h] = m_new;
                l[r][h] *= alpha;
#pragma unroll
                for (int n = 0; n < d / 8; n++) {
                    O_reg[r][n][2 * h] *= alpha;
                    O_reg[r][n][2 * h + 1] *= alpha;
                }
#pragma unroll
                for (int n = 0; n < BLOCK_K / 8; n++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        float* s = &S[r][n][2 * h + e];
                        *s = exp2_approx(*s * c - base);
                        l[r][h] += *s;
                    }
            }

            // O += P V
#pragma unroll
        for (int j = 0; j < BLOCK_K; j += 16) {
            unsigned a[GROUPS][4];
            for (int r = 0; r < GROUPS; r++)
                for (int n = 0; n < 4; n++) {
                    const float* s = &S[r][j / 8 + n / 2][n % 2 * 2];
                    a[r][n] = pack_bf16(s[0], s[1]);
                }
#pragma unroll
            for (int x = 0; x < d; x += 16) {
                unsigned b[4];
                ldmatrix_x4_trans(b, &V_smem[at + swizzled<d>(j + lane % 16, x + lane / 16 * 8)]);
                for (int r = 0; r < GROUPS; r++) {
                    mma_m16n8k16_bf16(O_reg[r][x / 8], a[r], b);
                    mma_m16n8k16_bf16(O_reg[r][x / 8 + 1], a[r], b + 2);
                }
            }
        }
        __syncthreads();  // everybody has read K and V before the next round overwrites them
    }

    // O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key
#pragma unroll
    for (int r = 0; r < GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float sum = l[r][h] + __shfl_xor_sync(0xffffffffu, l[r][h], 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
            int row = g + 16 * r + 8 * h;
            if (row >= n_rows) continue;
#pragma unroll
            for (int n = 0; n < d / 8; n++)
                *(unsigned*)&p.O.elements[(first_row + row) * p.O.stride.n + 8 * n + 2 * t] =
                    pack_bf16(O_reg[r][n][2 * h] * factor, O_reg[r][n][2 * h + 1] * factor);
            if (t == 0) p.LSE[first_row + row] = (m[r][h] + log2f(sum)) * LN_2;
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
    int shared_bytes = (BLOCK_Q + 4 * BLOCK_K) * d * (int)sizeof(bf16);
    COURSE_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    kernel<<<grid, THREADS, shared_bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
