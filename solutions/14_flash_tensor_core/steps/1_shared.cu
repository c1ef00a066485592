// 1_shared.cu: tensor cores for the two products, shared memory for all that is between them.
//
//     S = Q K^T        P = exp2(c S - m)        O = P V        c = scale log2(e)
//
// A warp owns 16 rows. Its S leaves the registers for shared memory, where two lanes a row find the
// maximum, make P in bf16 and leave alpha; from there P comes back as the A of the second product.
// What was wrong with lesson 13: every product ran on the fp32 units, an element of Q K^T at a time,
// with two loads from shared memory for each multiplication.
#include "flash_tensor_core.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"

#define BLOCK_Q 64             // query rows per block, 16 for each warp
#define BLOCK_K 64             // keys per tile
#define THREADS (BLOCK_Q * 2)  // 32 for every 16 rows
#define MAX_GRID_Y 65535       // the limit of gridDim.y
#define PIECE 8                // elements that are copied together: 16 bytes
#define LOG2_E 1.44269504f
#define LN_2 0.693147181f

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q (lesson 13).
__device__ int keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return (int)(seen < 0 ? 0 : seen > N_k ? N_k : seen);
}

// Starts to copy tile[n][x] = rows[n * stride_n + x], n < 64, x < d; rows from n_rows on become zeros
// and are not read.
template <int d>
__device__ void copy_tile(bf16* tile, const bf16* rows, int64_t stride_n, int n_rows) {
    for (int e = threadIdx.x * PIECE; e < 64 * d; e += THREADS * PIECE) {
        int n = e / d, x = e % d;
        cp_async16_zfill(&tile[n * d + x], rows + n * stride_n + x, n < n_rows ? 16 : 0);
    }
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS.
template <int d>
__global__ void flash_tensor_core_kernel(bf16* O,                     // (B, N_q, H, d)
                                         float* LSE,                  // (B, H, N_q)
                                         const bf16* __restrict__ Q,  // (B, N_q, H, d)
                                         const bf16* __restrict__ K,  // (B, N_k, H, d)
                                         const bf16* __restrict__ V,  // (B, N_k, H, d)
                                         int N_q, int N_k, int H, struct strides stride_o,
                                         struct strides stride_q, struct strides stride_k,
                                         struct strides stride_v, float scale, int causal) {
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

    // From here on every pointer starts where this block's work starts.
    int batch = blockIdx.y / H, head = blockIdx.y % H;
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += ((int64_t)batch * H + head) * N_q + first_row;
    int n_rows = N_q - first_row < BLOCK_Q ? (int)(N_q - first_row) : BLOCK_Q;
    int end =
        keys_seen(first_row + n_rows - 1, N_q, N_k, causal);  // no row sees a key from here on

    // Two kinds of rows: i is the one whose softmax this lane does half of; g and g + 8 are those of the
    // fragments that it holds, columns 8n + 2t and 8n + 2t + 1.
    int i = warp_row + lane / 2, half = lane % 2 * (BLOCK_K / 2);
    int g = warp_row + lane / 4, t = lane % 4;
    int visible = keys_seen(first_row + i, N_q, N_k, causal);
    float c = scale * LOG2_E;
    float m = -INFINITY, l = 0.0f;  // of row i
    float O_reg[d / 8][4] = {};

    copy_tile<d>(Q_smem, Q, stride_q.n, n_rows);
    for (int first_key = 0; first_key < end; first_key += BLOCK_K) {
        copy_tile<d>(K_smem, K + first_key * stride_k.n, stride_k.n, N_k - first_key);
        copy_tile<d>(V_smem, V + first_key * stride_v.n, stride_v.n, N_k - first_key);
        cp_async_wait_all();
        __syncthreads();  // the tiles of all threads are here before anybody reads them

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
    if (half == 0 && i < n_rows) LSE[i] = (m + log2f(l)) * LN_2;
    __syncwarp();  // l of the warp's rows is written before other lanes read it
#pragma unroll
    for (int n = 0; n < d / 8; n++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int row = g + 8 * h;
            float factor = row_smem[row] > 0.0f ? 1.0f / row_smem[row] : 0.0f;
            if (row < n_rows)
                *(unsigned*)&O[row * stride_o.n + 8 * n + 2 * t] =
                    pack_bf16(O_reg[n][2 * h] * factor, O_reg[n][2 * h + 1] * factor);
        }
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Every row begins at a multiple of 16 bytes.
static int is_aligned(const bf16* p, struct strides stride) {
    return (uintptr_t)p % 16 == 0 && (stride.b | stride.n | stride.h) % PIECE == 0;
}

extern "C" int flash_tensor_core(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                                 const bf16* V_gpu, int B, int N_q, int N_k, int H, int d,
                                 struct strides stride_o, struct strides stride_q,
                                 struct strides stride_k, struct strides stride_v, float scale,
                                 int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    decltype(&flash_tensor_core_kernel<64>) kernel =
        d == 64 ? flash_tensor_core_kernel<64> : flash_tensor_core_kernel<128>;
    int shared_bytes = (int)sizeof(bf16) * ((BLOCK_Q + 2 * BLOCK_K) * d + BLOCK_Q * BLOCK_K) +
                       (int)sizeof(float) * (BLOCK_Q * BLOCK_K + BLOCK_Q);
    COURSE_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    kernel<<<grid, THREADS, shared_bytes>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H,
                                            stride_o, stride_q, stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
