// 2_every_tile.cu: two passes, and P never leaves a tile.
//
// What was wrong with 1_store_P.cu: it writes N_q x N_k numbers and reads them again, three times,
// to keep one number for each pool. Here LSE is all that one kernel leaves for the other, and P is
// made again.
//
// What is still wrong: with a causal mask the second pass loads and multiplies tiles that nobody
// sees, to add up zeros.
#include "pooled_scores.h"

#include <cuda_bf16.h>
#include <math.h>

#define TILE 16                // queries, and keys, of a tile: BLOCK_Q and BLOCK_K of lesson 13
#define THREADS (TILE * TILE)  // one thread per element of a tile of S
#define MAX_POOL 128           // the largest pool
#define MAX_GRID_Y 65535       // the limit of gridDim.y

// Elements added to each row of Q, K and V in shared memory: 4 bytes, one bank (lesson 12).
#define PAD 2

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q.  (lesson 13)
__device__ int64_t keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    if (seen < 0) seen = 0;
    if (seen > N_k) seen = N_k;
    return seen;
}

// How many whole pools lie side by side in a tile; 1 if a pool fills it or is larger.
__host__ __device__ int pools_in_tile(int pool) {
    return pool < TILE ? TILE / pool : 1;
}

// tile[n][x] = rows[n * stride_n + x] where n < n_rows, and 0 elsewhere: nothing else may be read.
// n_rows may be more than fit. All threads of the block take part.
template <int d>
__device__ void load(bf16 tile[][d + PAD], const bf16* rows, int size, int64_t n_rows,
                     int64_t stride_n, int thread) {
    for (int e = thread; e < size * d; e += THREADS) {
        int n = e / d;  // [0, size)
        int x = e % d;  // [0, d)
        tile[n][x] = n < n_rows ? rows[n * stride_n + x] : __float2bfloat16(0.0f);
    }
}

// S_ij = scale * sum_x Q_ix K_jx of a row of Q and one of K in shared memory.        (README eq. 1)
// Both kernels call it, so both get the same bits.
template <int d> __device__ float score(const bf16* q, const bf16* k, float scale) {
    float s = 0.0f;
    for (int x = 0; x < d; x++) s += __bfloat162float(q[x]) * __bfloat162float(k[x]);
    return scale * s;
}

// ---- GPU kernels ---------------------------------------------------------------------------

// O and LSE, as in lesson 13, the mask in every tile. Grid (ceil(N_q / TILE), B * H), block (TILE,
// TILE).
template <int d>
__global__ void forward_kernel(bf16* O,                     // (B, N_q, H, d)
                               float* LSE,                  // (B, H, N_q)
                               const bf16* __restrict__ Q,  // (B, N_q, H, d)
                               const bf16* __restrict__ K,  // (B, N_k, H, d)
                               const bf16* __restrict__ V,  // (B, N_k, H, d)
                               int N_q, int N_k, int H, struct strides stride_o,
                               struct strides stride_q, struct strides stride_k,
                               struct strides stride_v, float scale, int causal) {
    static_assert(d % TILE == 0, "the threads of a row share its columns evenly");
    __shared__ bf16 Q_smem[TILE][d + PAD];
    __shared__ bf16 K_smem[TILE][d + PAD];
    __shared__ bf16 V_smem[TILE][d + PAD];
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
    float O_reg[d / TILE] = {0.0f};  // of the row of O: x = j, j + TILE, ...
    load<d>(Q_smem, Q, TILE, N_q - first_row, stride_q.n, thread);

    for (int64_t first_key = 0; first_key < end; first_key += TILE) {
        int64_t n_keys = N_k - first_key;
        load<d>(K_smem, K + first_key * stride_k.n, TILE, n_keys, stride_k.n, thread);
        load<d>(V_smem, V + first_key * stride_v.n, TILE, n_keys, stride_v.n, thread);
        __syncthreads();  // the tiles of Q, K and V are written before anybody reads them

        float s = score<d>(Q_smem[i], K_smem[j], scale);
        S_smem[i][j] = first_key + j < visible ? s : -INFINITY;
        __syncthreads();  // row i of S is written before its maximum is taken

        // m_new = max(m, max_j S[i][j]),  alpha = exp(m - m_new),  P[i][j] = exp(S[i][j] - m_new)
        // Any finite number instead of m_new will do while the row has seen nothing.
        float m_new = m;
        for (int k = 0; k < TILE; k++) m_new = fmaxf(m_new, S_smem[i][k]);
        float base = m_new == -INFINITY ? 0.0f : m_new;
        float alpha = expf(m - base);
        P_smem[i][j] = expf(S_smem[i][j] - base);
        m = m_new;
        __syncthreads();  // row i of P is written before it is summed and multiplied with V

        // l = alpha l + sum_k P[i][k]
        // O[i][x] = alpha O[i][x] + sum_k P[i][k] V[k][x],  x = j + c TILE
        l *= alpha;
        for (int c = 0; c < d / TILE; c++) O_reg[c] *= alpha;
        for (int k = 0; k < TILE; k++) {
            float p = P_smem[i][k];
            l += p;
            for (int c = 0; c < d / TILE; c++)
                O_reg[c] += p * __bfloat162float(V_smem[k][j + c * TILE]);
        }
        __syncthreads();  // everybody has read K, V, S and P before the next round overwrites them
    }

    if (first_row + i >= N_q) return;  // no barrier below
    for (int c = 0; c < d / TILE; c++) {
        int x = j + c * TILE;
        O[i * stride_o.n + x] = __float2bfloat16(l > 0.0f ? O_reg[c] / l : 0.0f);
    }
    if (j == 0) LSE[i] = m + logf(l);  // -infinity, by itself, if the row saw no key
}

// R from S and LSE. A block has the queries of the pools that lie side by side in a tile, or of one
// pool, and goes over all keys in rounds of as many. n_I and n_J count the pools, of the queries
// and of the keys. Grid (ceil(N_q / (pools * pool)), B * H) with pools = pools_in_tile(pool), block
// (TILE, TILE).
template <int d>
__global__ void pool_kernel(float* R,                       // (B, H, n_I, n_J)
                            const float* __restrict__ LSE,  // (B, H, N_q)
                            const bf16* __restrict__ Q,     // (B, N_q, H, d)
                            const bf16* __restrict__ K,     // (B, N_k, H, d)
                            int N_q, int N_k, int H, int pool, struct strides stride_q,
                            struct strides stride_k, float scale, int causal) {
    __shared__ bf16 Q_smem[MAX_POOL][d + PAD];
    __shared__ float LSE_smem[MAX_POOL];
    __shared__ bf16 K_smem[TILE][d + PAD];
    // One element more in a row: the elements of a column lie in different banks.
    __shared__ float P_smem[TILE][TILE + 1];  // of all tiles of a round, summed
    __shared__ float W_smem[TILE][TILE + 1];  // of P, summed over the keys of a pool

    int j = threadIdx.x;                         // [0, TILE): this thread's column of a tile
    int i = threadIdx.y;                         // [0, TILE): its row
    int thread = i * TILE + j;                   // [0, THREADS)
    int pools = pools_in_tile(pool);             // of this block, and of the keys of a round
    int width = pools * pool;                    // queries of this block, and keys of a round
    int part = pool < TILE ? pool : TILE;        // rows, and columns, of a pool in a tile
    int64_t n_J = CEIL_DIV((int64_t)N_k, pool);  // pools of all keys

    int64_t first_row = (int64_t)blockIdx.x * width;  // [0, N_q)
    int64_t n_rows = N_q - first_row < width ? N_q - first_row : width;
    int64_t batch = blockIdx.y / H;  // [0, B)
    int64_t head = blockIdx.y % H;   // [0, H)
    Q += batch * stride_q.b + head * stride_q.h + first_row * stride_q.n;
    K += batch * stride_k.b + head * stride_k.h;
    LSE += (batch * H + head) * N_q + first_row;
    int64_t n_I = CEIL_DIV((int64_t)N_q, pool);  // pools of all queries
    R += ((batch * H + head) * n_I + first_row / pool) * n_J;

    load<d>(Q_smem, Q, CEIL_DIV(width, TILE) * TILE, n_rows, stride_q.n, thread);
    for (int n = thread; n < n_rows; n += THREADS) LSE_smem[n] = LSE[n];

    for (int64_t first_J = 0; first_J < n_J; first_J += pools) {
        int64_t first_key = first_J * pool;
        int64_t n_keys = N_k - first_key < width ? N_k - first_key : width;

        // Elements (i, j) of all the tiles of this round, one upon the other.        (README eq. 3)
        float sum = 0.0f;
        for (int key = 0; key < n_keys; key += TILE) {
            load<d>(K_smem, K + (first_key + key) * stride_k.n, TILE, n_keys - key, stride_k.n,
                    thread);
            // K, and before the first round Q and LSE, are written before they are read
            __syncthreads();
            for (int row = 0; row < n_rows; row += TILE) {
                int64_t visible = keys_seen(first_row + row + i, N_q, N_k, causal) - first_key;
                bool seen = row + i < n_rows && key + j < n_keys && key + j < visible;
                float s = score<d>(Q_smem[row + i], K_smem[j], scale);
                if (seen) sum += expf(s - LSE_smem[row + i]);
            }
            __syncthreads();  // everybody has read K before the next tile overwrites it
        }
        P_smem[i][j] = sum;
        __syncthreads();  // the sums are written before others add them up

        // W[i][J] = sum of P[i][j] over the columns j of pool J, by thread j = J     (README eq. 4)
        if (j < pools) {
            float w = 0.0f;
            for (int k = 0; k < part; k++) {
                w += P_smem[i][j * part + k];
            }
            W_smem[i][j] = w;
        }
        __syncthreads();  // W is written before its rows are added up

        // R[I][J] = sum of W[i][J] over the rows i of pool I, divided by all that exist (README eq.
        // 5)
        int64_t J = first_J + j;
        int64_t rows = n_rows - i * pool < pool ? n_rows - i * pool : pool;
        int64_t columns = N_k - J * pool < pool ? N_k - J * pool : pool;
        if (i < pools && j < pools && rows > 0 && columns > 0) {
            float total = 0.0f;
            for (int k = 0; k < part; k++) total += W_smem[i * part + k][j];
            R[i * n_J + J] = total / (float)(rows * columns);
        }
    }
}

// ---- launcher ------------------------------------------------------------------------------

// No stride is negative, and rows do not overlap.
static int is_valid(struct strides stride, int d) {
    return stride.b >= 0 && stride.h >= 0 && stride.n >= d;
}

// Each row begins at a multiple of 16 bytes.
static int is_aligned(const bf16* rows, struct strides stride) {
    return (uintptr_t)rows % 16 == 0 && (stride.b | stride.n | stride.h) % 8 == 0;
}

// Both kernels for heads of d elements, one after the other in the default stream.
template <int d>
static void launch(bf16* O_gpu, float* LSE_gpu, float* R_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                   const bf16* V_gpu, int B, int N_q, int N_k, int H, int pool,
                   struct strides stride_o, struct strides stride_q, struct strides stride_k,
                   struct strides stride_v, float scale, int causal) {
    int64_t width = (int64_t)pools_in_tile(pool) * pool;
    dim3 block(TILE, TILE);
    dim3 forward_grid(CEIL_DIV((int64_t)N_q, TILE), B * H);
    dim3 pool_grid(CEIL_DIV(N_q, width), B * H);
    forward_kernel<d><<<forward_grid, block>>>(O_gpu, LSE_gpu, Q_gpu, K_gpu, V_gpu, N_q, N_k, H,
                                               stride_o, stride_q, stride_k, stride_v, scale,
                                               causal);
    pool_kernel<d><<<pool_grid, block>>>(R_gpu, LSE_gpu, Q_gpu, K_gpu, N_q, N_k, H, pool, stride_q,
                                         stride_k, scale, causal);
}

extern "C" int pooled_scores(bf16* O_gpu, float* LSE_gpu, float* R_gpu, const bf16* Q_gpu,
                             const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k, int H,
                             int d, int pool, struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (pool > MAX_POOL || (d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y || !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu) return COURSE_BAD_ARGUMENT;
    if (N_k > 0 && (!R_gpu || !K_gpu || !V_gpu)) return COURSE_BAD_ARGUMENT;
    if (!is_valid(stride_o, d) || !is_valid(stride_q, d) || !is_valid(stride_k, d) ||
        !is_valid(stride_v, d))
        return COURSE_BAD_ARGUMENT;
    if (!is_aligned(O_gpu, stride_o) || !is_aligned(Q_gpu, stride_q) ||
        !is_aligned(K_gpu, stride_k) || !is_aligned(V_gpu, stride_v))
        return COURSE_UNSUPPORTED;

    decltype(&launch<64>) kernels = d == 64 ? launch<64> : launch<128>;
    kernels(O_gpu, LSE_gpu, R_gpu, Q_gpu, K_gpu, V_gpu, B, N_q, N_k, H, pool, stride_o, stride_q,
            stride_k, stride_v, scale, causal);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
