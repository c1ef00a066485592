// One kernel, one thread per query, up to 128 of them in a block: whole pools. The first sweep over
// the keys gives O, m and l, the second P = exp(S - m) / l, pool by pool.
#include "pooled_scores.h"

#include <cuda_fp16.h>
#include <math.h>

#define THREADS 128  // the largest pool
#define KEYS 32      // of a tile
#define MAX_HEAD 128
#define MAX_GRID_Y 65535

__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return seen < 0 ? 0 : seen > N_k ? N_k : seen;
}

// Rows [0, n_rows) of a tile, columns from d on as zeros.
template <int d_tile>
__device__ void load_rows(fp16 tile[][d_tile], const fp16* rows, int64_t n_rows, int d,
                          int64_t stride_n) {
    for (int e = threadIdx.x; e < n_rows * d_tile; e += THREADS) {
        int n = e / d_tile, x = e % d_tile;
        tile[n][x] = x < d ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

template <int d_tile> __device__ float score(const float* q, const fp16* k, float scale) {
    float sum = 0.0f;
    for (int x = 0; x < d_tile; x++) sum += q[x] * __half2float(k[x]);
    return scale * sum;
}

// Grid (ceil(N_q / width), B * H), block (THREADS), where width is what whole pools fit into
// THREADS.
template <int d_tile>
__global__ void
pooled_scores_kernel(fp16* O, float* LSE, float* R, const fp16* __restrict__ Q,
                     const fp16* __restrict__ K, const fp16* __restrict__ V, int N_q, int N_k,
                     int H, int d, int pool, struct strides stride_o, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, float scale, int causal) {
    __shared__ fp16 K_smem[KEYS][d_tile], V_smem[KEYS][d_tile];
    __shared__ float W_smem[THREADS];
    int t = threadIdx.x, pools = THREADS / pool, width = pools * pool;
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    int64_t first = (int64_t)blockIdx.x * width, row = first + t;
    int64_t n_rows = N_q - first < width ? N_q - first : width;
    int64_t n_J = CEIL_DIV((int64_t)N_k, pool), n_I = CEIL_DIV((int64_t)N_q, pool);
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    R += ((batch * H + head) * n_I + first / pool) * n_J;
    bool exists = t < n_rows;
    int64_t visible = exists ? keys_seen(row, N_q, N_k, causal) : 0;
    int64_t end = keys_seen(first + n_rows - 1, N_q, N_k, causal);

    float q[d_tile], o[d_tile], m = -INFINITY, l = 0.0f;
    for (int x = 0; x < d_tile; x++) {
        q[x] = exists && x < d
                   ? __half2float(Q[batch * stride_q.b + head * stride_q.h + row * stride_q.n + x])
                   : 0.0f;
        o[x] = 0.0f;
    }
    for (int64_t first_key = 0; first_key < end; first_key += KEYS) {
        int64_t keys = end - first_key < KEYS ? end - first_key : KEYS;
        load_rows<d_tile>(K_smem, K + first_key * stride_k.n, keys, d, stride_k.n);
        load_rows<d_tile>(V_smem, V + first_key * stride_v.n, keys, d, stride_v.n);
        __syncthreads();  // K and V are written before they are read
        for (int k = 0; k < keys && first_key + k < visible; k++) {
            float s = score<d_tile>(q, K_smem[k], scale);
            float m_new = fmaxf(m, s), alpha = expf(m - m_new), p = expf(s - m_new);
            l = alpha * l + p;
            for (int x = 0; x < d_tile; x++) o[x] = alpha * o[x] + p * __half2float(V_smem[k][x]);
            m = m_new;
        }
        __syncthreads();  // K and V are read before the next tile overwrites them
    }
    if (exists) {
        for (int x = 0; x < d; x++)
            O[batch * stride_o.b + head * stride_o.h + row * stride_o.n + x] =
                __float2half(visible > 0 ? o[x] / l : 0.0f);
        LSE[(batch * H + head) * N_q + row] = visible > 0 ? m + logf(l) : -INFINITY;
    }

    for (int64_t J = 0; J < n_J; J++) {
        int64_t pool_end = (J + 1) * pool < N_k ? (J + 1) * pool : N_k;
        float w = 0.0f;
        for (int64_t first_key = J * pool; first_key < pool_end && first_key < end;
             first_key += KEYS) {
            int64_t last = pool_end < end ? pool_end : end;
            int64_t keys = last - first_key < KEYS ? last - first_key : KEYS;
            load_rows<d_tile>(K_smem, K + first_key * stride_k.n, keys, d, stride_k.n);
            __syncthreads();  // K is written before it is read
            for (int k = 0; k < keys && first_key + k < visible; k++)
                w += expf(score<d_tile>(q, K_smem[k], scale) - m) / l;
            __syncthreads();  // K is read before the next tile overwrites it
        }
        W_smem[t] = w;
        __syncthreads();  // the sums of all rows are written before they are added up
        int64_t rows = n_rows - t * pool < pool ? n_rows - t * pool : pool;
        if (t < pools && rows > 0) {
            float sum = 0.0f;
            for (int n = 0; n < rows; n++) sum += W_smem[t * pool + n];
            R[t * n_J + J] = sum / (float)(rows * (pool_end - J * pool));
        }
        __syncthreads();  // they are added up before the next pool's overwrite them
    }
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

extern "C" int pooled_scores(fp16* O_gpu, float* LSE_gpu, float* R_gpu, const fp16* Q_gpu,
                             const fp16* K_gpu, const fp16* V_gpu, int B, int N_q, int N_k, int H,
                             int d, int pool, struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || pool > THREADS || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!R_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;

    int64_t width = THREADS / pool * pool;
    dim3 grid(CEIL_DIV(N_q, width), B * H);
    decltype(&pooled_scores_kernel<16>) kernel = d <= 16   ? pooled_scores_kernel<16>
                                                 : d <= 64 ? pooled_scores_kernel<64>
                                                           : pooled_scores_kernel<128>;
    kernel<<<grid, THREADS>>>(O_gpu, LSE_gpu, R_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H, d, pool,
                              stride_o, stride_q, stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
