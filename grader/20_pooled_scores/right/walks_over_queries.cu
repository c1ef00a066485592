// The second pass the other way round: a block has the keys of its pools, and walks over the
// queries, as the backward pass does. All exponentials are powers of 2.
#include "pooled_scores.h"

#include <cuda_fp16.h>
#include <math.h>

#define TILE 16
#define THREADS (TILE * TILE)
#define MAX_POOL 128
#define MAX_HEAD 128
#define MAX_GRID_Y 65535
#define PAD 2
#define LOG2E 1.44269504f
#define LN2 0.693147181f

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q. Lesson 13.
__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    if (seen < 0) seen = 0;
    if (seen > N_k) seen = N_k;
    return seen;
}

// How many whole pools lie side by side in a tile; 1 if a pool fills it or is larger.
__host__ __device__ int pools_in_tile(int pool) {
    int pools = 1;
    if (pool < TILE) pools = TILE / pool;
    return pools;
}

// tile[n][x] = rows[n * stride_n + x] where n < n_rows and x < d, and 0 elsewhere: nothing else may
// be read. n_rows may be more than fit. All threads of the block take part.
template <int d_tile>
__device__ void load_tile(fp16 tile[][d_tile + PAD], const fp16* rows, int size, int64_t n_rows,
                          int d, int64_t stride_n, int thread) {
    for (int e = thread; e < size * d_tile; e += THREADS) {
        int n = e / d_tile;  // [0, size)
        int x = e % d_tile;  // [0, d_tile)
        bool exists = n < n_rows && x < d;
        tile[n][x] = exists ? rows[n * stride_n + x] : __float2half(0.0f);
    }
}

// S_ij = scale * sum_x Q_ix K_jx of a row of Q and one of K in shared memory.
// Both kernels call it, so both get the same bits.
template <int d_tile> __device__ float score(const fp16* q, const fp16* k, float scale) {
    float s = 0.0f;
    for (int x = 0; x < d_tile; x++) s += __half2float(q[x]) * __half2float(k[x]);
    return scale * s;
}

// O and LSE, as in the solution, in powers of 2. Grid (ceil(N_q / TILE), B * H), block (TILE,
// TILE). d_tile is d rounded up to the next size that there is a kernel for; the columns from d on
// are zeros.
template <int d_tile>
__global__ void forward_kernel(fp16* O,                     // (B, N_q, H, d)
                               float* LSE,                  // (B, H, N_q)
                               const fp16* __restrict__ Q,  // (B, N_q, H, d)
                               const fp16* __restrict__ K,  // (B, N_k, H, d)
                               const fp16* __restrict__ V,  // (B, N_k, H, d)
                               int N_q, int N_k, int H, int d, struct strides stride_o,
                               struct strides stride_q, struct strides stride_k,
                               struct strides stride_v, float scale, int causal) {
    static_assert(d_tile % TILE == 0, "the threads of a row share its columns evenly");
    __shared__ fp16 Q_smem[TILE][d_tile + PAD];
    __shared__ fp16 K_smem[TILE][d_tile + PAD];
    __shared__ fp16 V_smem[TILE][d_tile + PAD];
    __shared__ float S_smem[TILE][TILE];
    __shared__ float P_smem[TILE][TILE];

    int j = threadIdx.x;                             // [0, TILE): this thread's column of S
    int i = threadIdx.y;                             // [0, TILE): its row of S and O
    int thread = i * TILE + j;                       // [0, THREADS)
    int64_t first_row = (int64_t)blockIdx.x * TILE;  // [0, N_q)
    int64_t batch = blockIdx.y / H;                  // [0, B)
    int64_t head = blockIdx.y % H;                   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    V += batch * stride_v.b + head * stride_v.h;
    O += batch * stride_o.b + head * stride_o.h + first_row * stride_o.n;
    LSE += (batch * H + head) * N_q + first_row;

    int64_t visible = keys_seen(first_row + i, N_q, N_k, causal);
    int64_t end =
        keys_seen(first_row + TILE - 1, N_q, N_k, causal);  // no row sees any from there on
    float m = -INFINITY;
    float l = 0.0f;
    float O_reg[d_tile / TILE] = {0.0f};  // of the row of O: x = j, j + TILE, ...
    load_tile<d_tile>(Q_smem, Q, TILE, N_q - first_row, d, stride_q.n, thread);

    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        int64_t n_keys = N_k - first_key;
        load_tile<d_tile>(K_smem, K + first_key * stride_k.n, TILE, n_keys, d, stride_k.n, thread);
        load_tile<d_tile>(V_smem, V + first_key * stride_v.n, TILE, n_keys, d, stride_v.n, thread);
        __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

        float s = score<d_tile>(Q_smem[i], K_smem[j], scale);
        S_smem[i][j] = first_key + j < visible ? s : -INFINITY;
        __syncthreads();  // row i of S is written before its maximum is taken

        // m_new = max(m, max_j S[i][j]),  alpha = exp(m - m_new),  P[i][j] = exp(S[i][j] - m_new)
        // Any finite number instead of m_new will do while the row has seen nothing.
        float m_new = m;
        for (int k = 0; k < TILE; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        float base = m_new == -INFINITY ? 0.0f : m_new;
        float alpha = exp2f(m - base);
        P_smem[i][j] = exp2f(S_smem[i][j] - base);
        m = m_new;
        __syncthreads();  // row i of P is written before it is summed and multiplied with V

        // l = alpha l + sum_k P[i][k]
        // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],  x = j + c TILE
        l *= alpha;
        for (int c = 0; c < d_tile / TILE; c++) O_reg[c] *= alpha;
        for (int k = 0; k < TILE; k++) {
            float p = P_smem[i][k];
            l += p;
            for (int c = 0; c < d_tile / TILE; c++)
                O_reg[c] += p * __half2float(V_smem[k][j + c * TILE]);
        }
        __syncthreads();  // everybody has read K, V, S and P before the next round overwrites them
    }

    if (first_row + i >= N_q) return;  // no barrier below
    for (int c = 0; c < d_tile / TILE; c++) {
        int x = j + c * TILE;
        if (x < d) O[i * stride_o.n + x] = __float2half(l > 0.0f ? O_reg[c] / l : 0.0f);
    }
    if (j == 0) LSE[i] = m * LN2 + logf(l);
}

// R from S and LSE. A block has the keys of the pools that lie side by side in a tile, or of one
// pool, and goes over all queries, from the last to the first. Grid (ceil(N_k / (pools * pool)), B
// * H), block (TILE, TILE).
template <int d_tile>
__global__ void pool_kernel(float* R, const float* __restrict__ LSE, const fp16* __restrict__ Q,
                            const fp16* __restrict__ K, int N_q, int N_k, int H, int d, int pool,
                            struct strides stride_q, struct strides stride_k, float scale,
                            int causal) {
    __shared__ fp16 K_smem[MAX_POOL][d_tile + PAD];
    __shared__ fp16 Q_smem[TILE][d_tile + PAD];
    __shared__ float P_smem[TILE][TILE + 1], W_smem[TILE][TILE + 1];
    int j = threadIdx.x, i = threadIdx.y, thread = i * TILE + j;
    int pools = pools_in_tile(pool), width = pools * pool, part = pool < TILE ? pool : TILE;
    int64_t n_I = CEIL_DIV((int64_t)N_q, pool), n_J = CEIL_DIV((int64_t)N_k, pool);
    int64_t batch = blockIdx.y / H, head = blockIdx.y % H;
    int64_t first_key = (int64_t)blockIdx.x * width;
    int64_t n_keys = N_k - first_key < width ? N_k - first_key : width;
    Q += batch * stride_q.b + head * stride_q.h;
    K += batch * stride_k.b + head * stride_k.h + first_key * stride_k.n;
    LSE += (batch * H + head) * N_q;
    R += (batch * H + head) * n_I * n_J + first_key / pool;
    load_tile<d_tile>(K_smem, K, CEIL_DIV(width, TILE) * TILE, n_keys, d, stride_k.n, thread);

    for (int64_t first_I = (n_I - 1) / pools * pools; first_I >= 0; first_I -= pools) {
        int64_t first_row = first_I * pool;
        int64_t n_rows = N_q - first_row < width ? N_q - first_row : width;
        bool seen = keys_seen(first_row + n_rows - 1, N_q, N_k, causal) > first_key;
        float sum = 0.0f;
        for (int row = 0; seen && row < n_rows; row += TILE) {
            load_tile<d_tile>(Q_smem, Q + (first_row + row) * stride_q.n, TILE, n_rows - row, d,
                              stride_q.n, thread);
            __syncthreads();  // Q and K are written before they are read
            int64_t n = first_row + row + i;
            int64_t keys = keys_seen(n, N_q, N_k, causal) - first_key;
            if (keys > n_keys) keys = n_keys;
            for (int key = j; row + i < n_rows && key < keys; key += TILE)
                sum += exp2f(score<d_tile>(Q_smem[i], K_smem[key], scale) - LSE[n] * LOG2E);
            __syncthreads();  // Q is read before the next tile overwrites it
        }
        P_smem[i][j] = sum;
        __syncthreads();  // the sums are written before they are added up: queries first
        if (i < pools) {
            float w = 0.0f;
            for (int k = 0; k < part; k++) w += P_smem[i * part + k][j];
            W_smem[i][j] = w;
        }
        __syncthreads();  // then keys
        int64_t rows = n_rows - i * pool < pool ? n_rows - i * pool : pool;
        int64_t columns = n_keys - j * pool < pool ? n_keys - j * pool : pool;
        if (i < pools && j < pools && rows > 0 && columns > 0) {
            float total = 0.0f;
            for (int k = 0; k < part; k++) total += W_smem[i][j * part + k];
            R[(first_I + i) * n_J + j] = total / (float)rows / (float)columns;
        }
    }
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Both kernels for heads of up to d_tile elements, one after the other in the default stream.
template <int d_tile>
static void launch(fp16* O_gpu, float* LSE_gpu, float* R_gpu, const fp16* Q_gpu, const fp16* K_gpu,
                   const fp16* V_gpu, int B, int N_q, int N_k, int H, int d, int pool,
                   struct strides stride_o, struct strides stride_q, struct strides stride_k,
                   struct strides stride_v, float scale, int causal) {
    int64_t width = (int64_t)pools_in_tile(pool) * pool;
    dim3 block(TILE, TILE);
    dim3 forward_grid(CEIL_DIV((int64_t)N_q, TILE), B * H);
    dim3 pool_grid(CEIL_DIV(N_k, width), B * H);
    scale *= LOG2E;
    forward_kernel<d_tile><<<forward_grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k,
                                                    H, d, stride_o, stride_q, stride_k, stride_v,
                                                    scale, causal);
    if (N_k == 0) return;
    pool_kernel<d_tile><<<pool_grid, block>>>(R_gpu, LSE_gpu, Q_gpu, K_gpu, N_q, N_k, H, d, pool,
                                              stride_q, stride_k, scale, causal);
}

extern "C" int pooled_scores(fp16* O_gpu, float* LSE_gpu, float* R_gpu, const fp16* Q_gpu,
                             const fp16* K_gpu, const fp16* V_gpu, int B, int N_q, int N_k, int H,
                             int d, int pool, struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (d > MAX_HEAD || pool > MAX_POOL || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!R_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;

    decltype(&launch<16>) kernels = d <= 16 ? launch<16> : d <= 64 ? launch<64> : launch<128>;
    kernels(O_gpu, LSE_gpu, R_gpu, Q_gpu, K_gpu, V_gpu, B, N_q, N_k, H, d, pool, stride_o, stride_q,
            stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
