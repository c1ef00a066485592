// Pools lie where they are, tiles of 64 keys too: a pool that goes on is carried to the next tile.
// LSE is read again for each tile.
#include "pooled_scores.h"
#include <math.h>
#include "flash_tile.h"
#include "tile.h"

typedef forward_tiles<64, 128, 64, 4, 0, 2> tiles_64;
typedef forward_tiles<128, 128, 64, 4, 0, 2> tiles_128;

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

template <class T> struct room {
    bf16 Q[T::BLOCK_Q * T::d];
    bf16 K[T::BLOCK_K * T::d];
    float P[T::BLOCK_Q][T::BLOCK_K + 1];
    float carry[T::BLOCK_Q], next[T::BLOCK_Q];
};

template <class T>
__global__ void __launch_bounds__(T::THREADS)
    pool_kernel(float* R, const struct forward all, int pool) {
    extern __shared__ uint4 memory[];
    struct room<T>& smem = *(struct room<T>*)memory;
    struct forward p = of_head(all, blockIdx.y);
    int own = T::BLOCK_Q / pool;  // pools of queries
    int64_t row0 = (int64_t)blockIdx.x * own * pool;
    int n_rows = (int)min((int64_t)own * pool, p.N_q - row0);
    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * T::ROWS;
    int64_t n_I = CEIL_DIV((int64_t)p.N_q, pool), n_J = CEIL_DIV((int64_t)p.N_k, pool);
    R += ((int64_t)blockIdx.y * n_I + (int64_t)blockIdx.x * own) * n_J;
    int end = keys_seen(row0 + n_rows - 1, p.N_q, p.N_k, p.causal);
    struct state<T> warp = {};
    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, row0, n_rows);
    int64_t done = 0;  // pools of keys that are stored
    for (int k0 = 0; k0 < end; k0 += T::BLOCK_K) {
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K, p.K, k0, p.N_k - k0);
        cp_async_wait_all();
        __syncthreads();  // the tile is here
        multiply_QK(warp, smem.Q + warp_row * T::d, smem.K);
        for (int r = 0; r < T::GROUPS; r++)
            for (int i = 0; i < 4; i++) {
                int row = warp_row + 16 * r + lane / 4 + i / 2 * 8;
                int sees = row < n_rows ? keys_seen(row0 + row, p.N_q, p.N_k, p.causal) : 0;
                float base = sees > 0 ? p.LSE[row0 + row] * LOG2_E : 0.0f;
                for (int n = 0; n < T::BLOCK_K / 8; n++) {
                    int column = 8 * n + lane % 4 * 2 + i % 2;
                    float w = exp2_approx(warp.S[r][n][i] * (p.scale * LOG2_E) - base);
                    smem.P[row][column] = k0 + column < sees ? w : 0.0f;
                }
            }
        __syncthreads();  // P is here, and K was read
        int after = min(k0 + T::BLOCK_K, p.N_k);
        int64_t J0 = k0 / pool, J1 = CEIL_DIV(after, pool);
        int pools = (int)(J1 - J0);
        for (int e = threadIdx.x; e < own * pools; e += T::THREADS) {
            int I = e / pools;
            int64_t J = J0 + e % pools, first = J * pool;
            int64_t last = min(first + pool, (int64_t)p.N_k);
            int rows = min(pool, n_rows - I * pool);
            if (rows <= 0) continue;
            float total = first < k0 ? smem.carry[I] : 0.0f;
            for (int r = 0; r < rows; r++) {
                float of_row = 0.0f;
                for (int j = max((int)first, k0); j < min((int)last, after); j++)
                    of_row += smem.P[I * pool + r][j - k0];
                total += of_row;
            }
            if (last > after || J == J1 - 1) smem.next[I] = total;
            if (last <= after) R[I * n_J + J] = total / (float)(rows * (int)(last - first));
        }
        __syncthreads();  // the sums are made
        for (int I = threadIdx.x; I < own && I * pool < n_rows; I += T::THREADS)
            smem.carry[I] = smem.next[I];
        done = after / pool;
        if (after == p.N_k) done = n_J;
    }
    if (done < n_J && end > 0 && done * pool < CEIL_DIV(end, T::BLOCK_K) * (int64_t)T::BLOCK_K) {
        // the pool that goes on behind the last tile
        int64_t last = min((done + 1) * pool, (int64_t)p.N_k);
        __syncthreads();
        for (int I = threadIdx.x; I < own; I += T::THREADS) {
            int rows = min(pool, n_rows - I * pool);
            if (rows > 0)
                R[I * n_J + done] = smem.carry[I] / (float)(rows * (int)(last - done * pool));
        }
        done++;
    }
    for (int64_t I = 0; I * pool < n_rows; I++)
        for (int64_t J = done + threadIdx.x; J < n_J; J += T::THREADS) R[I * n_J + J] = 0.0f;
    cp_async_wait_all();
}

template <class T> static int go(struct forward p, float* R, int pool, int heads) {
    int bytes = sizeof(struct buffers<T>), pool_bytes = sizeof(struct room<T>);
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(forward_kernel<T>, limit, bytes));
    COURSE_TRY(cudaFuncSetAttribute(pool_kernel<T>, limit, pool_bytes));
    forward_kernel<T><<<dim3(CEIL_DIV((int64_t)p.N_q, T::BLOCK_Q), heads), T::THREADS, bytes>>>(p);
    int own = T::BLOCK_Q / pool * pool;
    if (p.N_k > 0)
        pool_kernel<T>
            <<<dim3(CEIL_DIV((int64_t)p.N_q, own), heads), T::THREADS, pool_bytes>>>(R, p, pool);
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
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1 || pool < 1) return COURSE_BAD_ARGUMENT;
    if (pool > 128) return COURSE_UNSUPPORTED;
    if ((d != 64 && d != 128) || (int64_t)B * H > 65535 || !(scale > 0)) return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H == 0) return COURSE_OK;
    if (N_k > 0 && !R_gpu) return COURSE_BAD_ARGUMENT;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK) return status;
    return d == 64 ? go<tiles_64>(p, R_gpu, pool, B * H) : go<tiles_128>(p, R_gpu, pool, B * H);
}
