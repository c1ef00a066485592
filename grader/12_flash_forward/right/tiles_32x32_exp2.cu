// Tiles of 32 queries and 32 keys; K and V take turns in one buffer, and P overwrites S.
// exp2 with log2(e) folded into the scale.
#include "flash_forward.h"

#include <cuda_fp16.h>
#include <math.h>

#define BLOCK_Q 32
#define BLOCK_K 32
#define WIDTH 16  // threads per query row
#define THREADS (WIDTH * BLOCK_Q)
#define PAD 2
#define MIN_LENGTH 16    // N_q, N_k and d are powers of two from here on
#define MAX_HEAD 256     // the largest d
#define MAX_BATCH 65535  // the limit of gridDim.y

// Rows from n_rows on become zeros: a tile at the end of a short sequence is not full.
template <int d>
__device__ void load_tile(fp16 tile[][d + PAD], int size, const fp16* rows, int64_t n_rows,
                          int64_t stride_n, int thread) {
    for (int e = thread; e < size * d; e += THREADS) {
        int n = e / d, x = e % d;
        tile[n][x] = n < n_rows ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

template <int d>
__global__ void flash_forward_kernel(fp16* O, float* LSE, const fp16* __restrict__ Q,
                                     const fp16* __restrict__ K, const fp16* __restrict__ V,
                                     int N_q, int N_k, int64_t stride_ob, int64_t stride_on,
                                     int64_t stride_lb, int64_t stride_qb, int64_t stride_qn,
                                     int64_t stride_kb, int64_t stride_kn, int64_t stride_vb,
                                     int64_t stride_vn, float scale) {
    __shared__ fp16 Q_smem[BLOCK_Q][d + PAD];
    __shared__ fp16 KV_smem[BLOCK_K][d + PAD];
    __shared__ float P_smem[BLOCK_Q][BLOCK_K];
    int j = threadIdx.x, i = threadIdx.y, thread = i * WIDTH + j;
    int64_t batch = blockIdx.y, first_row = (int64_t)blockIdx.x * BLOCK_Q;
    Q += batch * stride_qb + first_row * stride_qn;
    K += batch * stride_kb;
    V += batch * stride_vb;
    O += batch * stride_ob + first_row * stride_on;
    LSE += batch * stride_lb + first_row;
    scale *= 1.44269504f;  // log2(e)

    float m = -INFINITY, l = 0.0f, O_reg[d / WIDTH] = {0.0f};
    load_tile<d>(Q_smem, BLOCK_Q, Q, N_q - first_row, stride_qn, thread);
    for (int64_t first_key = 0; first_key < N_k; first_key += BLOCK_K) {
        int64_t keys = N_k - first_key;  // [1, BLOCK_K] of them are in this tile
        load_tile<d>(KV_smem, BLOCK_K, K + first_key * stride_kn, keys, stride_kn, thread);
        __syncthreads();  // Q and K are written before they are read
        for (int k = j; k < BLOCK_K; k += WIDTH) {
            float sum = 0.0f;
            for (int x = 0; x < d; x++)
                sum += __half2float(Q_smem[i][x]) * __half2float(KV_smem[k][x]);
            P_smem[i][k] = k < keys ? scale * sum : -INFINITY;
        }
        __syncthreads();  // S is written and K is read before they are read and overwritten
        load_tile<d>(KV_smem, BLOCK_K, V + first_key * stride_vn, keys, stride_vn, thread);
        float m_new = m;
        for (int k = 0; k < BLOCK_K; k++) m_new = fmaxf(m_new, P_smem[i][k]);
        float alpha = exp2f(m - m_new);
        m = m_new;
        __syncthreads();  // every maximum is taken before P overwrites S; V is written
        for (int k = j; k < BLOCK_K; k += WIDTH) P_smem[i][k] = exp2f(P_smem[i][k] - m_new);
        __syncthreads();  // P is written before it is read
        l *= alpha;
        for (int c = 0; c < d / WIDTH; c++) O_reg[c] *= alpha;
        for (int k = 0; k < BLOCK_K; k++) {
            l += P_smem[i][k];
            for (int c = 0; c < d / WIDTH; c++)
                O_reg[c] += P_smem[i][k] * __half2float(KV_smem[k][j + c * WIDTH]);
        }
        __syncthreads();  // V and P are read before the next round overwrites them
    }
    if (first_row + i >= N_q) return;  // no barrier below
    for (int c = 0; c < d / WIDTH; c++)
        O[i * stride_on + j + c * WIDTH] = __float2half(O_reg[c] / l);
    if (j == 0) LSE[i] = 0.693147181f * m + logf(l);  // m is in base 2
}

// ---- launcher ------------------------------------------------------------------------------

// n is 16, 32, 64, ...
static int is_supported_length(int n) {
    return n >= MIN_LENGTH && (n & (n - 1)) == 0;
}

// d is 16, 32, 64, 128 or 256.
static int is_supported_head(int d) {
    return is_supported_length(d) && d <= MAX_HEAD;
}

extern "C" int flash_forward(fp16* O_gpu, float* LSE_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                             const fp16* V_gpu, int B, int N_q, int N_k, int d, int64_t stride_ob,
                             int64_t stride_on, int64_t stride_lb, int64_t stride_qb,
                             int64_t stride_qn, int64_t stride_kb, int64_t stride_kn,
                             int64_t stride_vb, int64_t stride_vn, float scale) {
    if (B < 0 || N_q < 1 || N_k < 1 || d < 1) return COURSE_BAD_ARGUMENT;
    if (B > MAX_BATCH || !is_supported_length(N_q) || !is_supported_length(N_k))
        return COURSE_UNSUPPORTED;
    if (!is_supported_head(d)) return COURSE_UNSUPPORTED;
    if (B == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !K_gpu || !V_gpu) return COURSE_BAD_ARGUMENT;
    if (stride_on < d || stride_qn < d || stride_kn < d || stride_vn < d)
        return COURSE_BAD_ARGUMENT;
    if (stride_ob < 0 || stride_lb < 0 || stride_qb < 0 || stride_kb < 0 || stride_vb < 0)
        return COURSE_BAD_ARGUMENT;

    dim3 grid(CEIL_DIV(N_q, BLOCK_Q), B), block(WIDTH, BLOCK_Q);
    decltype(&flash_forward_kernel<16>) kernel = d == 16    ? flash_forward_kernel<16>
                                                 : d == 32  ? flash_forward_kernel<32>
                                                 : d == 64  ? flash_forward_kernel<64>
                                                 : d == 128 ? flash_forward_kernel<128>
                                                            : flash_forward_kernel<256>;
    kernel<<<grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, stride_ob, stride_on,
                            stride_lb, stride_qb, stride_qn, stride_kb, stride_kn, stride_vb,
                            stride_vn, scale);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
