// The keys from the last to the first, as FlashAttention-2 goes: the tiles that need a mask come
// first. Heads have a grid axis of their own.
#include "causal_ragged.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 16
#define BLOCK_K 32
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
                                     int N_q, int N_k, int d, struct strides stride_o,
                                     struct strides stride_q, struct strides stride_k,
                                     struct strides stride_v, float scale, int causal) {
    __shared__ fp16 Q_smem[BLOCK_Q][d_tile + PAD];
    __shared__ fp16 KV_smem[BLOCK_K][d_tile + PAD];
    __shared__ float S_smem[BLOCK_Q][BLOCK_K];
    int j = threadIdx.x, i = threadIdx.y, thread = i * WIDTH + j;
    int64_t first_row = (int64_t)blockIdx.x * BLOCK_Q;
    int64_t batch = blockIdx.z, head = blockIdx.y;
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * gridDim.y + head) * N_q + first_row;
    int64_t visible = keys_seen(first_row + i, N_q, N_k, causal);
    int64_t all_see = keys_seen(first_row, N_q, N_k, causal);
    int64_t end = keys_seen(first_row + BLOCK_Q - 1, N_q, N_k, causal);

    float m = -INFINITY, l = 0.0f, O_reg[d_tile / WIDTH] = {0.0f};
    load_tile<d_tile>(Q_smem, BLOCK_Q, Q, N_q - first_row, d, stride_q.n, thread);
    for (int64_t first_key = (end - 1) / BLOCK_K * BLOCK_K; end > 0 && first_key >= 0;
         first_key -= BLOCK_K) {
        int64_t keys = N_k - first_key;
        bool masked = first_key + BLOCK_K > all_see;
        load_tile<d_tile>(KV_smem, BLOCK_K, K + first_key * stride_k.n, keys, d, stride_k.n,
                          thread);
        __syncthreads();  // Q and K are written before they are read
        for (int k = j; k < BLOCK_K; k += WIDTH) {
            float sum = 0.0f;
            for (int x = 0; x < d; x++)
                sum += __half2float(Q_smem[i][x]) * __half2float(KV_smem[k][x]);
            S_smem[i][k] = masked && first_key + k >= visible ? -INFINITY : scale * sum;
        }
        __syncthreads();  // S is written and K is read before they are read and overwritten
        load_tile<d_tile>(KV_smem, BLOCK_K, V + first_key * stride_v.n, keys, d, stride_v.n,
                          thread);
        float m_new = m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        // Going down, a row may see no key of the first tiles: then there is nothing to do.
        float alpha = m_new == -INFINITY ? 1.0f : expf(m - m_new);
        m = m_new;
        __syncthreads();  // V is written before it is read
        l *= alpha;
        for (int c = 0; c < d_tile / WIDTH; c++) O_reg[c] *= alpha;
        for (int k = 0; k < BLOCK_K; k++) {
            if (first_key + k >= visible) continue;
            float p =
                expf(S_smem[i][k] - m);  // every thread of the row for itself: no P, no barrier
            l += p;
            for (int c = 0; c < d_tile / WIDTH; c++)
                O_reg[c] += p * __half2float(KV_smem[k][j + c * WIDTH]);
        }
        __syncthreads();  // V and S are read before the next round overwrites them
    }
    if (first_row + i >= N_q) return;  // no barrier below
    for (int c = 0; c < d_tile / WIDTH; c++)
        if (j + c * WIDTH < d)
            O[i * stride_o.n + j + c * WIDTH] = __float2half(visible > 0 ? O_reg[c] / l : 0.0f);
    if (j == 0) LSE[i] = visible > 0 ? m + logf(l) : -INFINITY;
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

    dim3 grid(CEIL_DIV((int64_t)N_q, BLOCK_Q), H, B);
    dim3 block(WIDTH, BLOCK_Q);
    decltype(&causal_ragged_kernel<16>) kernel = d <= 16    ? causal_ragged_kernel<16>
                                                 : d <= 32  ? causal_ragged_kernel<32>
                                                 : d <= 64  ? causal_ragged_kernel<64>
                                                 : d <= 128 ? causal_ragged_kernel<128>
                                                            : causal_ragged_kernel<256>;
    kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, d, stride_o, stride_q,
                            stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
