// One kernel: a block of whole pools makes O, and then goes over the keys again, with m and l still
// in registers.
#include "pooled_scores.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum { MAX_POOL = 128 };

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, MAX_POOL, 64, 4, 0, 1> tiles_64;
typedef forward_tiles<128, MAX_POOL, 64, 4, 0, 1> tiles_128;

// ---- GPU kernel --------------------------------------------------------------------------

// The sums of P take the place of K[1] and V, and of what follows them. So d = 128 needs less than
// 99 KB.
template <class T> struct pool_smem {
    typedef float sums[T::BLOCK_Q][T::BLOCK_K + 3];
    union {
        struct buffers<T> tiles;
        unsigned char all[sizeof(bf16) * (T::BLOCK_Q + T::BLOCK_K) * T::d + sizeof(sums)];
    };
};

__host__ __device__ __forceinline__ int pools_in(int size, int pool) {
    return pool < size ? size / pool : 1;
}

// Grid (ceil(N_q / rows of a block), B * H), block THREADS, a struct pool_smem.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    pooled_kernel(float* R, const struct forward all_heads, int pool) {
    extern __shared__ uint4 memory[];
    struct pool_smem<T>& shared = *(struct pool_smem<T>*)memory;
    struct buffers<T>& smem = shared.tiles;
    typename pool_smem<T>::sums& P_smem = *(typename pool_smem<T>::sums*)smem.K[1];
    int pools_q = pools_in(T::BLOCK_Q, pool), pools = pools_in(T::BLOCK_K, pool);
    int block;
    int head = pick_work(&block, all_heads.causal);
    if (all_heads.causal) block = gridDim.x - 1 - block;  // the last rows see most keys
    struct forward p = of_head(all_heads, head);
    int64_t first_row = (int64_t)block * pools_q * pool;  // [0, N_q)
    int n_rows = (int)min(p.N_q - first_row, (int64_t)pools_q * pool);
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
    __syncthreads();      // all have read K before O takes its place
    static_assert(T::BLOCK_Q == 2 * T::BLOCK_K, "O has the room of two tiles of K");
    p.N_q = (int)(first_row + n_rows);  // the rows behind are another block's
    store_O(p, warp, smem.K[0] + warp_row * T::d, first_row + warp_row);
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        warp.base[i / 2][i % 2] = warp.m[i / 2][i % 2] + log2f(quad_sum(warp.l[i / 2][i % 2]));
        if (warp_row + (int)threadIdx.x % 32 / 4 + 8 * i >= n_rows) warp.visible[i / 2][i % 2] = 0;
    }

    int64_t n_I = CEIL_DIV((int64_t)all_heads.N_q, pool), n_J = CEIL_DIV((int64_t)p.N_k, pool);
    int width = pools * pool, part = min(pool, T::BLOCK_K);
    R += (head * n_I + first_row / pool) * n_J;
    for (int64_t first_J = 0; first_J < n_J; first_J += pools) {
        int64_t first_key = first_J * pool;
        int n_keys = (int)min((int64_t)width, end - first_key);  // 0 or less: nobody sees any
        float sum[T::GROUPS][T::BLOCK_K / 8][4] = {};
        for (int key = 0; key < n_keys; key += T::BLOCK_K) {
            __syncthreads();  // all have read O, or K, before the next tile takes its place
            copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[0], p.K, first_key + key, n_keys - key);
            cp_async_wait_all();
            __syncthreads();  // K of all threads is here
            multiply_QK(warp, Q_warp, smem.K[0]);
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
                for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        int j = key + 8 * n + threadIdx.x % 4 * 2 + i % 2;
                        float P = exp2_approx(warp.S[r][n][i] * c - warp.base[r][i / 2]);
                        if (j < n_keys && first_key + j < warp.visible[r][i / 2]) sum[r][n][i] += P;
                    }
        }
        __syncthreads();  // O, or the sums before these, are read before these take their place
#pragma unroll
        for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
            for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    P_smem[warp_row + 16 * r + threadIdx.x % 32 / 4 + i / 2 * 8]
                          [8 * n + threadIdx.x % 4 * 2 + i % 2] = sum[r][n][i];
        __syncthreads();  // P is written before it is added up
        for (int e = threadIdx.x; e < pools_q * pools; e += T::THREADS) {
            int I = e / pools, J = e % pools;
            int rows = min(n_rows - I * pool, pool);
            int64_t columns = min(p.N_k - (first_J + J) * pool, (int64_t)pool);
            if (rows <= 0 || columns <= 0) continue;
            float total = 0.0f;
            for (int n = 0; n < rows; n++) {
                float w = 0.0f;
                for (int k = 0; k < part; k++) w += P_smem[I * pool + n][J * part + k];
                total += w;
            }
            R[I * n_J + first_J + J] = total / (float)(rows * columns);
        }
    }
}

// ---- launcher ------------------------------------------------------------------------------

// The kernel for B * H heads.
template <class T> static int launch(const struct forward* p, float* R_gpu, int pool, int heads) {
    void (*kernel)(float*, struct forward, int) = pooled_kernel<T>;
    const int bytes = sizeof(struct pool_smem<T>);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 blocks(CEIL_DIV((int64_t)p->N_q, pools_in(T::BLOCK_Q, pool) * pool), heads);
    kernel<<<blocks, T::THREADS, bytes>>>(R_gpu, *p, pool);
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
    return d == 64 ? launch<tiles_64>(&p, R_gpu, pool, B * H)
                   : launch<tiles_128>(&p, R_gpu, pool, B * H);
}
