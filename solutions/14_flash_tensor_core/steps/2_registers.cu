// 2_registers.cu: what is between the two products stays in registers.
//
//     S = Q K^T        P = exp2(c S - m)        O = P V        c = scale log2(e)
//
// What was wrong with step 1: S, P and alpha went through shared memory, which is busy enough with
// K and V. A row of S is in four neighbouring lanes: two shuffles find its maximum. And two D of
// the first product, side by side, are an A of the second: P need not move at all.
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
    bf16* Q_smem = (bf16*)smem;           // (BLOCK_Q, d)
    bf16* K_smem = Q_smem + BLOCK_Q * d;  // (BLOCK_K, d)
    bf16* V_smem = K_smem + BLOCK_K * d;  // (BLOCK_K, d)

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * 16;  // the warp's first row in the block
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;

    struct forward p = of_head(all_heads, blockIdx.y);
    int n_rows = p.N_q - first_row < BLOCK_Q ? (int)(p.N_q - first_row) : BLOCK_Q;
    // No row sees a key from `end` on.
    int end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);

    // This lane's rows are g and g + 8, h = 0 and 1; its columns 8n + 2t and 8n + 2t + 1.
    int g = warp_row + lane / 4, t = lane % 4;
    int visible[2];
    for (int h = 0; h < 2; h++)
        visible[h] = keys_seen(first_row + g + 8 * h, p.N_q, p.N_k, p.causal);
    float c = p.scale * LOG2_E;
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {};  // l: of this lane's columns
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

        // m_new = max(m, c max_j S[i][j]),  alpha = exp2(m - m_new),  P = exp2(c S - m_new)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float largest = -INFINITY;
#pragma unroll
            for (int n = 0; n < BLOCK_K / 8; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    float* s = &S[n][2 * h + e];
                    if (first_key + 8 * n + 2 * t + e >= visible[h]) *s = -INFINITY;
                    largest = fmaxf(largest, *s);
                }
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
            float m_new = fmaxf(m[h], largest * c);
            float base = m_new == -INFINITY ? 0.0f : m_new;  // nothing seen yet
            float alpha = exp2_approx(m[h] - base);
            m[h] = m_new;
            l[h] *= alpha;
#pragma unroll
            for (int n = 0; n < d / 8; n++) {
                O_reg[n][2 * h] *= alpha;
                O_reg[n][2 * h + 1] *= alpha;
            }
#pragma unroll
            for (int n = 0; n < BLOCK_K / 8; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    float* s = &S[n][2 * h + e];
                    *s = exp2_approx(*s * c - base);
                    l[h] += *s;
                }
        }

        // O += P V
#pragma unroll
        for (int j = 0; j < BLOCK_K; j += 16) {
            const float *left = S[j / 8], *right = S[j / 8 + 1];
            unsigned a[4] = {pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3]),
                             pack_bf16(right[0], right[1]), pack_bf16(right[2], right[3])};
#pragma unroll
            for (int x = 0; x < d; x += 16) {
                unsigned b[4];
                ldmatrix_x4_trans(b, &V_smem[(j + lane % 16) * d + x + lane / 16 * 8]);
                mma_m16n8k16_bf16(O_reg[x / 8], a, b);
                mma_m16n8k16_bf16(O_reg[x / 8 + 1], a, b + 2);
            }
        }
        __syncthreads();  // everybody has read K and V before the next round overwrites them
    }

    // O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = l[h] + __shfl_xor_sync(0xffffffffu, l[h], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
        int row = g + 8 * h;
        if (row >= n_rows) continue;
#pragma unroll
        for (int n = 0; n < d / 8; n++)
            *(unsigned*)&p.O.elements[(first_row + row) * p.O.stride.n + 8 * n + 2 * t] =
                pack_bf16(O_reg[n][2 * h] * factor, O_reg[n][2 * h + 1] * factor);
        if (t == 0) p.LSE[first_row + row] = (m[h] + log2f(sum)) * LN_2;
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
    int shared_bytes = (BLOCK_Q + 2 * BLOCK_K) * d * (int)sizeof(bf16);
    COURSE_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    kernel<<<grid, THREADS, shared_bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
