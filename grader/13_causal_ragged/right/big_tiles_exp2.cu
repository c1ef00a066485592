// Tiles of 32 queries and 64 keys; K and V take turns in one buffer, P overwrites S. exp2 with
// log2(e) folded into the scale. One loop: a tile is masked if it needs it.
#include "causal_ragged.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 32
#define BLOCK_K 64
#define WIDTH 16  // threads per query row
#define THREADS (WIDTH * BLOCK_Q)
#define PAD 2
#define MAX_HEAD 256
#define MAX_GRID_Y 65535

__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return seen < 0 ? 0 : seen > N_k ? N_k : seen;
}

// Rows from n_rows on and columns from d on become zeros.
template <int d_tile>
__device__ void load_tile(fp16 tile[][d_tile + PAD], int size, const fp16* rows, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile, x = e % d_tile;
        tile[n][x] = n < n_rows && x < d ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

template <int d_tile>
__global__ void causal_ragged_kernel(fp16* O, float* LSE, const fp16* __restrict__ Q,
                                     const fp16* __restrict__ K, const fp16* __restrict__ V,
                                     int N_q, int N_k, int H, int d, struct strides stride_o,
                                     struct strides stride_q, struct strides stride_k,
                                     struct strides stride_v, float scale, int causal) {
    extern __shared__ float P_smem[];  // (BLOCK_Q, BLOCK_K), and behind it the other two
    fp16(*KV_smem)[d_tile + PAD] = (fp16(*)[d_tile + PAD])(P_smem + BLOCK_Q * BLOCK_K);
    fp16(*Q_smem)[d_tile + PAD] = KV_smem + BLOCK_K;
    int j = threadIdx.x, i = threadIdx.y, thread = i * WIDTH + j;
    float* P_row = P_smem + i * BLOCK_K;
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * H + head) * N_q + first_row;
    int64_t visible = keys_seen(first_row + i, N_q, N_k, causal);
    int64_t all_see = keys_seen(first_row, N_q, N_k, causal);
    int64_t end = keys_seen(first_row + BLOCK_Q - 1, N_q, N_k, causal);
    scale *= 1.44269504f;  // log2(e)

    float m = -INFINITY, l = 0.0f, O_reg[d_tile / WIDTH] = {0.0f};
    load_tile<d_tile>(Q_smem, BLOCK_Q, Q, N_q - first_row, d, stride_q.n, thread);
    for (int64_t first_key = 0; first_key < end; first_key += BLOCK_K) {
        int64_t keys = N_k - first_key;
        bool masked = first_key + BLOCK_K > all_see;
        load_tile<d_tile>(KV_smem, BLOCK_K, K + first_key * stride_k.n, keys, d, stride_k.n,
                          thread);
        __syncthreads();  // Q and K are written before they are read
        for (int k = j; k < BLOCK_K; k += WIDTH) {
            float sum = 0.0f;
            for (int x = 0; x < d_tile; x++)
                sum += __half2float(Q_smem[i][x]) * __half2float(KV_smem[k][x]);
            P_row[k] = masked && first_key + k >= visible ? -INFINITY : scale * sum;
        }
        __syncthreads();  // S is written and K is read before they are read and overwritten
        load_tile<d_tile>(KV_smem, BLOCK_K, V + first_key * stride_v.n, keys, d, stride_v.n,
                          thread);
        float m_new = m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, P_row[k]);
        float alpha = m == -INFINITY ? 0.0f : exp2f(m - m_new);
        m = m_new;
        __syncthreads();  // every maximum is taken before P overwrites S; V is written
        for (int k = j; k < BLOCK_K; k += WIDTH)
            P_row[k] = P_row[k] == -INFINITY ? 0.0f : exp2f(P_row[k] - m_new);
        __syncthreads();  // P is written before it is read
        l *= alpha;
        for (int c = 0; c < d_tile / WIDTH; c++) O_reg[c] *= alpha;
        for (int k = 0; k < BLOCK_K; k++) {
            l += P_row[k];
            for (int c = 0; c < d_tile / WIDTH; c++)
                O_reg[c] += P_row[k] * __half2float(KV_smem[k][j + c * WIDTH]);
        }
        __syncthreads();  // V and P are read before the next round overwrites them
    }
    if (first_row + i >= N_q) return;  // no barrier below
    for (int c = 0; c < d_tile / WIDTH; c++)
        if (j + c * WIDTH < d)
            O[i * stride_o.n + j + c * WIDTH] = __float2half(visible > 0 ? O_reg[c] / l : 0.0f);
    if (j == 0) LSE[i] = visible > 0 ? 0.693147181f * m + logf(l) : -INFINITY;  // m is in base 2
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int causal_ragged(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int H, int d,
                             struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), B * H);
    dim3 block(WIDTH, BLOCK_Q);
    decltype(&causal_ragged_kernel<16>) kernel = d <= 16    ? causal_ragged_kernel<16>
                                                 : d <= 32  ? causal_ragged_kernel<32>
                                                 : d <= 64  ? causal_ragged_kernel<64>
                                                 : d <= 128 ? causal_ragged_kernel<128>
                                                            : causal_ragged_kernel<256>;
    int d_tile = d <= 16 ? 16 : d <= 32 ? 32 : d <= 64 ? 64 : d <= 128 ? 128 : 256;
    size_t bytes =
        sizeof(float) * BLOCK_Q * BLOCK_K + sizeof(fp16) * (BLOCK_K + BLOCK_Q) * (d_tile + PAD);
    COURSE_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    kernel<<<grid, block, bytes>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H, d, stride_o,
                                   stride_q, stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
