// The second pass the other way round: a block has the keys of its pools, and walks over the
// queries, as the backward pass does. P is transposed: its rows are keys.
#include "pooled_scores.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum { MAX_POOL = 128 };

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, 128, 64, 4, 0, 2> forward_64;
typedef forward_tiles<128, 128, 64, 4, 0, 2> forward_128;  // spills 84 bytes
typedef forward_tiles<64, MAX_POOL, 64, 4, 0, 2> pool_64;
typedef forward_tiles<128, MAX_POOL, 64, 4, 0, 2> pool_128;

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Lesson 14's. Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS, a struct buffers of dynamic shared
// memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    int block;
    int head = pick_work(&block, all_heads.causal);
    if (all_heads.causal) block = gridDim.x - 1 - block;  // the last rows see most keys
    struct forward p = of_head(all_heads, head);
    int64_t first_row = (int64_t)block * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part.
    int whole = keys_seen(first_row, p.N_q, p.N_k, p.causal) / T::BLOCK_K;
    int end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);
    int tiles = CEIL_DIV((int64_t)end, T::BLOCK_K);
    struct state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        int64_t row = first_row + warp_row + threadIdx.x % 32 / 4 + 8 * i;
        warp.visible[i / 2][i % 2] = keys_seen(row, p.N_q, p.N_k, p.causal);
        warp.m[i / 2][i % 2] = -INFINITY;
    }

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    if (tiles > 0) {
        int first_key = (tiles - 1) * T::BLOCK_K;
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[(tiles - 1) % 2], p.K, first_key,
                                                p.N_k - first_key);
    }
    cp_async_commit();
    bf16* Q_warp = smem.Q + warp_row * T::d;
    float c = p.scale * LOG2_E;
    sweep<1>(warp, smem, Q_warp, p, c, tiles - 1, whole);
    sweep<0>(warp, smem, Q_warp, p, c, whole - 1, 0);
    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before O takes its place
    store_O(p, warp, Q_warp, first_row + warp_row);
}

// ---- GPU kernel: R -------------------------------------------------------------------------

template <class T> struct pool_smem {
    bf16 K[T::BLOCK_Q * T::d];  // BLOCK_Q keys, and tiles of BLOCK_K queries
    bf16 Q[2][T::BLOCK_K * T::d];
    float base[2][T::BLOCK_K];            // log2(e) LSE
    float P[T::BLOCK_Q][T::BLOCK_K + 3];  // a row is a key
};

__host__ __device__ __forceinline__ int pools_in(int size, int pool) {
    return pool < size ? size / pool : 1;
}

// Queries from `first` on, of those before `end`.
template <class T>
__device__ __forceinline__ void copy_queries(struct pool_smem<T>& smem, int half,
                                             const struct forward& p, int64_t first, int64_t end) {
    int count = (int)min(end - first, (int64_t)T::BLOCK_K);
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.Q[half], p.Q, first, count);
    if ((int)threadIdx.x < T::BLOCK_K)
        cp_async4_zfill(&smem.base[half][threadIdx.x], &p.LSE[first + threadIdx.x],
                        (int)threadIdx.x < count ? 4 : 0);
}

// Grid (ceil(N_k / keys of a block), B * H), block THREADS = BLOCK_Q.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    pool_kernel(float* R,  // (B, H, n_I, n_J)
                const struct forward all_heads, int pool) {
    extern __shared__ uint4 memory[];
    struct pool_smem<T>& smem = *(struct pool_smem<T>*)memory;
    int block;
    int head = pick_work(&block, all_heads.causal);
    struct forward p = of_head(all_heads, head);
    int pools_k = pools_in(T::BLOCK_Q, pool), pools = pools_in(T::BLOCK_K, pool);
    int width = pools * pool, part = min(pool, T::BLOCK_K);
    int64_t n_I = CEIL_DIV((int64_t)p.N_q, pool), n_J = CEIL_DIV((int64_t)p.N_k, pool);
    int64_t first_key = (int64_t)block * pools_k * pool;
    int n_keys = (int)min(p.N_k - first_key, (int64_t)pools_k * pool);
    int warp_row = threadIdx.x / 32 * T::ROWS;
    R += head * n_I * n_J + first_key / pool;

    // Queries before it see none of the keys: the rounds before its own are 0.
    int64_t from = seen_from(first_key, p.N_q, p.N_k, p.causal);
    int64_t begin = from / width * width, first_seen = begin / pool;
    for (int64_t e = threadIdx.x; e < min(first_seen, n_I) * pools_k; e += T::THREADS)
        if (e % pools_k * pool < n_keys) R[e / pools_k * n_J + e % pools_k] = 0.0f;

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.K, p.K, first_key, n_keys);
    if (begin < p.N_q) copy_queries(smem, 0, p, begin, min(begin + width, (int64_t)p.N_q));
    float c = p.scale * LOG2_E;
    int half = 0;
    for (int64_t first_I = first_seen; first_I < n_I; first_I += pools) {
        int64_t first_row = first_I * pool;
        int n_rows = (int)min((int64_t)width, p.N_q - first_row);
        float sum[GROUPS][T::BLOCK_K / 8][4] = {};
        for (int at = 0; at < n_rows; at += T::BLOCK_K) {
            cp_async_wait_all();
            __syncthreads();  // the tile is here; all have read the one before, and its sums
            int64_t next = first_row + min(at + T::BLOCK_K, width);
            int64_t end = next < first_row + width ? first_row + width : next + width;
            if (next < p.N_q) copy_queries(smem, half ^ 1, p, next, min(end, (int64_t)p.N_q));
            float S[GROUPS][T::BLOCK_K / 8][4];
            multiply_transposed<T::d, T::BLOCK_K>(S, smem.K + warp_row * T::d, smem.Q[half]);
#pragma unroll
            for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
                for (int i = 0; i < 4 * GROUPS; i++) {
                    int column = 8 * n + threadIdx.x % 4 * 2 + i % 2;
                    int key = warp_row + threadIdx.x % 32 / 4 + i / 2 * 8;
                    int seen = keys_seen(first_row + at + column, p.N_q, p.N_k, p.causal);
                    float P =
                        exp2_approx(S[i / 4][n][i % 4] * c - smem.base[half][column] * LOG2_E);
                    if (at + column < n_rows && key < n_keys && first_key + key < seen)
                        sum[i / 4][n][i % 4] += P;
                }
            half ^= 1;
        }
#pragma unroll
        for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
            for (int i = 0; i < 4 * GROUPS; i++)
                smem.P[warp_row + threadIdx.x % 32 / 4 + i / 2 * 8]
                      [8 * n + threadIdx.x % 4 * 2 + i % 2] = sum[i / 4][n][i % 4];
        __syncwarp();  // the warp's rows are written before each lane adds up one of them
        for (int I = 0; I < pools; I++) {
            float w = 0.0f;
            for (int k = 0; k < part; k++) w += smem.P[threadIdx.x][I * part + k];
            smem.P[threadIdx.x][I] = w;
        }
        __syncthreads();  // all rows' sums are written before they are added up
        for (int e = threadIdx.x; e < pools * pools_k; e += T::THREADS) {
            int I = e / pools_k, J = e % pools_k;
            int rows = min(n_rows - I * pool, pool), columns = min(n_keys - J * pool, pool);
            if (rows <= 0 || columns <= 0) continue;
            float total = 0.0f;
            for (int k = 0; k < columns; k++) total += smem.P[J * pool + k][I];
            R[(first_I + I) * n_J + J] = total / (float)rows / (float)columns;
        }
    }
}

// ---- launcher ------------------------------------------------------------------------------

// Both kernels for B * H heads, one after the other in the default stream.
template <class T, class of_pools>
static int launch(const struct forward* p, float* R_gpu, int pool, int heads) {
    void (*forward)(struct forward) = forward_kernel<T>;
    void (*pooled)(float*, struct forward, int) = pool_kernel<of_pools>;
    const int bytes = sizeof(struct buffers<T>), pool_bytes = sizeof(struct pool_smem<of_pools>);
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(forward, limit, bytes));
    COURSE_TRY(cudaFuncSetAttribute(pooled, limit, pool_bytes));
    dim3 blocks(CEIL_DIV((int64_t)p->N_q, T::BLOCK_Q), heads);
    dim3 pool_blocks(CEIL_DIV((int64_t)p->N_k, pools_in(of_pools::BLOCK_Q, pool) * pool), heads);
    forward<<<blocks, T::THREADS, bytes>>>(*p);
    if (p->N_k > 0) pooled<<<pool_blocks, of_pools::THREADS, pool_bytes>>>(R_gpu, *p, pool);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int pooled_scores(bf16* O_gpu, float* LSE_gpu, float* R_gpu, const bf16* Q_gpu,
                             const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k, int H,
                             int d, int pool, struct strides stride_o, struct strides stride_q,
                             struct strides stride_k, struct strides stride_v, float scale,
                             int causal) {
    struct forward p;
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q), p.LSE = LSE_gpu;
    p.K = array_of(R_gpu ? K_gpu : NULL, stride_k);  // no R is refused where no K is
    p.V = array_of(V_gpu, stride_v);
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (pool > MAX_POOL) return COURSE_UNSUPPORTED;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || N_q == 0 || H == 0) return status;
    return d == 64 ? launch<forward_64, pool_64>(&p, R_gpu, pool, B * H)
                   : launch<forward_128, pool_128>(&p, R_gpu, pool, B * H);
}
