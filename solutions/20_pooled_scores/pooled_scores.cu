// pooled_scores.cu: attention that also says, pool by pool, who looked at whom, on tensor cores.
//
//     S = scale Q K^T      P = softmax(S) by rows      O = P V      LSE = ln of the sum of exp(S)
//     R[I][J] = mean of P over pool I of the queries and pool J of the keys
//
// P is never there as a whole, and while the first kernel sweeps over the keys no element of it is
// known: what it has is exp(S - m) with the m of the moment, and l is still growing. Afterwards LSE
// is all that is needed, so a second kernel makes S again and has P = exp(S - LSE) at once (lesson
// 12), adds it up, and forgets it.
//
// The first kernel is lesson 14's. In the second a block has 128 rows, and goes over the keys 64 at
// a time. Both begin where pools begin, and what is too small for one more pool stays empty:
//
//     pool = 40: 3 pools of queries, and of keys    pool = 100: one of queries; its keys
//     1 in a round of one tile                      are a round of two tiles, 64 and 36
//
//      0        40     64                            0              64             100  128
//      +--------+------+                             +--------------+--------------+-----+
//      |        |      |                             |              |              |     |
//  40  +--------+      |                             |              |              |     |
//      |        |      |                             |              |              |     |
//  80  +--------+      |                             |              |              |     |
//      |        |      |                         100 +--------------+--------------+     |
// 120  +--------+      |                             |                                   |
// 128  +---------------+                         128 +-----------------------------------+
//
// The versions on the way, in steps/:
//     1_store_P.cu               writes P, N_q x N_k numbers, and pools it afterwards
//     2_every_tile.cu            stores nothing, but pools what the mask hides as well
//     3_without_tensor_cores.cu  pools what is seen alone, in products of single numbers
// What was wrong with step 3: it makes about 5 TFLOP/s where lesson 14 makes more than 300.
//
//     make grade LESSON=20
//
// FlashAttention-2 (Dao 2023), algorithms 1 and 2. Equation numbers are those of the README.
#include "pooled_scores.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum { MAX_POOL = 128 };

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, 128, 64, 4, 0, 2> forward_64;
typedef forward_tiles<128, 128, 64, 4, 0, 2> forward_128;  // spills 84 bytes
typedef forward_tiles<64, MAX_POOL, 64, 4, 0, 3> pool_64;  // spills 8 bytes
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

// The shared memory of a block. Tiles are swizzled.
template <class T> struct pool_smem {
    bf16 Q[T::BLOCK_Q * T::d];
    bf16 K[2][T::BLOCK_K * T::d];
    // Sums of P, of each row and key or of each 8 x 8; then W. 3 more in a row: in a column all 32
    // banks are different, and a fragment's 8 rows share at most two lanes a bank.
    float P[T::BLOCK_Q][T::BLOCK_K + 3];
};

// How many whole pools lie side by side in `size` rows or keys; 1 if a pool is larger.
__host__ __device__ __forceinline__ int pools_in(int size, int pool) {
    return pool < size ? size / pool : 1;
}

// Starts to copy the keys from `first` on into a buffer: those of its round, of `width` keys, and
// of these the ones before `end`. Zeros fill the rest.
template <class T>
__device__ __forceinline__ void copy_keys(bf16* K_smem, const struct forward& p, int first, int end,
                                          int width) {
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(K_smem, p.K, first,
                                            min(end - first, width - first % width));
}

// The sums of the 32 pieces of 8 rows and 8 keys that a warp's fragments are, one for each lane:
// lane 16 r + 8 h + n gets that of the rows 16 r + 8 h + g and the keys 8 n + 2 t + e. In each step
// a lane gives half of its numbers away, and adds what it is given to the others.
template <class T>
__device__ __forceinline__ float sum_of_piece(const float sum[T::GROUPS][T::BLOCK_K / 8][4]) {
    static_assert(T::GROUPS == 2 && T::BLOCK_K == 64, "as many pieces as lanes");
    float piece[32];
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const float* pair = &sum[i / 16][i % 8][i / 8 % 2 * 2];
        piece[i] = pair[0] + pair[1];
    }
#pragma unroll
    for (int step = 0; step < 5; step++)
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int half = 16 >> step;  // that a lane keeps: i < half
            if (i >= half) continue;
            bool upper = threadIdx.x & half;
            float given = upper ? piece[i] : piece[i + half];
            piece[i] = upper ? piece[i + half] : piece[i];
            piece[i] += __shfl_xor_sync(0xffffffffu, given, half);
        }
    return piece[0];
}

// R from S and LSE. A block has the queries of as many pools as BLOCK_Q holds, and goes over the
// keys in rounds of as many pools as BLOCK_K holds. n_I and n_J count the pools, of the queries and
// of the keys. Grid (ceil(N_q / rows of a block), B * H), block THREADS, a struct pool_smem of
// dynamic shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    pool_kernel(float* R,  // (B, H, n_I, n_J)
                const struct forward all_heads, int pool) {
    extern __shared__ uint4 memory[];
    struct pool_smem<T>& smem = *(struct pool_smem<T>*)memory;
    int block;
    int head = pick_work(&block, all_heads.causal);
    if (all_heads.causal) block = gridDim.x - 1 - block;  // the last rows see most keys
    struct forward p = of_head(all_heads, head);
    int pools_q = pools_in(T::BLOCK_Q, pool), pools = pools_in(T::BLOCK_K, pool);
    int width = pools * pool;                             // keys of a round
    int unit = pool % 8 == 0 ? 8 : 1;                     // rows, and keys, that P has as one
    int part = min(pool, T::BLOCK_K) / unit;              // columns of P of a pool
    int64_t first_row = (int64_t)block * pools_q * pool;  // [0, N_q)
    int n_rows = (int)min(p.N_q - first_row, (int64_t)pools_q * pool);
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block
    int lane = threadIdx.x % 32;
    // BEGIN SOLUTION (about 3 lines): n_I, n_J; move R to the row of this block's first pool
    int64_t n_I = CEIL_DIV((int64_t)p.N_q, pool);  // pools of all queries
    int64_t n_J = CEIL_DIV((int64_t)p.N_k, pool);  // pools of all keys
    R += (head * n_I + first_row / pool) * n_J;
    // END SOLUTION

    // No row of the block sees a key from `end` on.
    int end = p.N_k;
    // BEGIN SOLUTION (about 1 line): with keys_seen(); which row sees most?
    end = keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal);
    // END SOLUTION

    struct state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        int row = warp_row + threadIdx.x % 32 / 4 + 8 * i;
        if (row >= n_rows) continue;  // sees nothing
        warp.visible[i / 2][i % 2] = keys_seen(first_row + row, p.N_q, p.N_k, p.causal);
        warp.base[i / 2][i % 2] = p.LSE[first_row + row] * LOG2_E;
    }
    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    if (end > 0) copy_keys<T>(smem.K[0], p, 0, end, width);

    int half = 0;         // the buffer of K that is read next
    int64_t first_J = 0;  // of the round
    for (; first_J * pool < end; first_J += pools) {
        int first_key = (int)first_J * pool;
        int last = first_key + min(width, end - first_key);  // keys before it count

        // Elements of all the tiles of this round, one upon the other.               (README eq. 3)
        float sum[T::GROUPS][T::BLOCK_K / 8][4] = {};
        for (int at = 0; at < last - first_key; at += T::BLOCK_K) {
            cp_async_wait_all();
            // K of all threads is here, and Q; and all have read the tile before, whose place is
            // filled next, and the sums of the round before
            __syncthreads();
            int64_t next = first_key + min((int64_t)at + T::BLOCK_K, (int64_t)width);
            if (next < end) copy_keys<T>(smem.K[half ^ 1], p, (int)next, end, width);
            multiply_QK(warp, smem.Q + warp_row * T::d, smem.K[half]);
            half ^= 1;
            // P = exp2(c S - log2(e) LSE), 0 where the query does not see the key    (README eq. 2)
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
                for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        // BEGIN SOLUTION (about 4 lines): add P of S[r][n][2h + e], if it counts
                        const float c = p.scale * LOG2_E;
                        int j = first_key + at + 8 * n + threadIdx.x % 4 * 2 + i % 2;
                        if (j < min(last, warp.visible[r][i / 2]))
                            sum[r][n][i] += exp2_approx(warp.S[r][n][i] * c - warp.base[r][i / 2]);
                        // END SOLUTION
                    }
        }
        // Where pools are whole pieces of 8 x 8, a lane stores one of 32 pieces; else all numbers.
        if (unit == 8)
            smem.P[warp_row / 8 + lane / 8][lane % 8] = sum_of_piece<T>(sum);
        else
#pragma unroll
            for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
                for (int n = 0; n < T::BLOCK_K / 8; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        smem.P[warp_row + 16 * r + lane / 4 + i / 2 * 8]
                              [8 * n + lane % 4 * 2 + i % 2] = sum[r][n][i];
        __syncwarp();  // the warp's rows are written before each lane adds up one of them

        // W[i][J] = sum of P[i][j] over the keys j of pool J, in place of P[i][J]    (README eq. 4)
        int i = warp_row / unit + lane;  // this lane's row of P
        for (int J = 0; J < pools && lane < T::ROWS / unit; J++) {
            float w = 0.0f;
            for (int k = 0; k < part; k++) {
                // BEGIN SOLUTION (about 1 line): the k-th column of pool J, in this lane's row
                w += smem.P[i][J * part + k];
                // END SOLUTION
            }
            smem.P[i][J] = w;
        }
        __syncthreads();  // W is written before its rows are added up

        // R[I][J] = sum of W[i][J] over the rows i of pool I, by how many exist      (README eq. 5)
        for (int e = threadIdx.x; e < pools_q * pools; e += T::THREADS) {
            // BEGIN SOLUTION (about 8 lines): which two pools are e? The mean, if they exist
            int I = e / pools, J = e % pools;  // of the block, of the round
            int rows = min(n_rows - I * pool, pool);
            int columns = (int)min(p.N_k - (first_J + J) * pool, (int64_t)pool);
            if (rows > 0 && columns > 0) {
                float total = 0.0f;
#pragma unroll 8  // who waits for a row of W waits for eight
                for (int k = 0; k < rows; k += unit) total += smem.P[(I * pool + k) / unit][J];
                R[I * n_J + first_J + J] = total / (float)(rows * columns);
            }
            // END SOLUTION
        }
    }
    // BEGIN SOLUTION (about 3 lines): pools from first_J on; who else stores them?
    for (int64_t I = 0; I * pool < n_rows; I++)
        for (int64_t J = first_J + threadIdx.x; J < n_J; J += T::THREADS) R[I * n_J + J] = 0.0f;
    // END SOLUTION
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
    dim3 pool_blocks(CEIL_DIV((int64_t)p->N_q, pools_in(of_pools::BLOCK_Q, pool) * pool), heads);
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
