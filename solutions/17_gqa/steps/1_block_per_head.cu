// 1_block_per_head.cu: lessons 14 and 16, in which query head h reads key head h / group.
//
//     O_h  = softmax(scale Q_h K_g^T) V_g       g = h / group
//     dV_g = sum_h P_h^T dO_h                   the sums run over the query heads of the group
//     dK_g = scale sum_h dS_h^T Q_h,            dQ_h = scale dS_h K_g
//
// What is wrong with it: in the forward pass each query head has blocks of its own, which read the
// keys of the group again. With one query, when a text is written token by token, these reads are
// all that costs time, and a tile has one row that does something. The backward pass is that of
// ../gqa.cu.
//
// FlashAttention-2 (Dao 2023), algorithms 1 and 2. Equation numbers are those of the README.
#include "gqa.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"
#include "tuned_tiles.h"

enum { DELTA_ROWS = 16 };  // per block of delta_kernel

// The tiles of lessons 14 and 16; those called 99KB where a block may have 99 KB at most.
typedef forward_tiles<64, FORWARD_64> forward_64;
typedef forward_tiles<128, FORWARD_128> forward_128;
typedef forward_tiles<128, FORWARD_128_99KB> forward_128_99KB;
typedef backward_tiles<64, BACKWARD_64> backward_64;
typedef backward_tiles<128, BACKWARD_128> backward_128;
typedef backward_tiles<128, BACKWARD_128_99KB> backward_128_99KB;

// ---- heads ---------------------------------------------------------------------------------

// The inputs of a key head, [0, B * H_k), and those of a query head, [0, B * H_q).
template <class pass> __device__ __forceinline__ pass of_key_head(pass p, int head, int H_k) {
    p.K = head_of(p.K, head, H_k), p.V = head_of(p.V, head, H_k);
    return p;
}
__device__ __forceinline__ struct backward of_query_head(struct backward p, int head, int H_q) {
    p.Q = head_of(p.Q, head, H_q), p.O = head_of(p.O, head, H_q), p.dO = head_of(p.dO, head, H_q);
    p.LSE += (int64_t)head * p.N_q, p.delta += (int64_t)head * p.N_q;
    return p;
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H_q), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads, int H_k, int group) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    int block;
    int head = pick_work(&block, all_heads.causal);                // [0, B * H_q)
    if (all_heads.causal) block = gridDim.x - 1 - block;           // the last rows see most keys
    int64_t first_row = (int64_t)block * T::BLOCK_Q;               // [0, N_q)
    struct forward p = of_key_head(all_heads, head / group, H_k);  // (README eq. 1)
    p.Q = head_of(p.Q, head, p.H);
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest
    // by none.
    int whole = keys_seen(first_row, p.N_q, p.N_k, p.causal) / T::BLOCK_K;
    int tiles = CEIL_DIV(keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal), T::BLOCK_K);

    // The state before any key was seen (lesson 12, eq. 4).
    struct state<T> warp = {};
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int64_t row = first_row + warp_row + 16 * r + threadIdx.x % 32 / 4 + 8 * h;
            warp.m[r][h] = -INFINITY;
            warp.visible[r][h] = keys_seen(row, p.N_q, p.N_k, p.causal);
        }

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    cp_async_commit();
    if (tiles > 0) {
        int first_key = (tiles - 1) * T::BLOCK_K;
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[(tiles - 1) % 2], p.K, first_key,
                                                p.N_k - first_key);
    }
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();  // Q of all threads is here before anybody reads it
    bf16* Q_warp = smem.Q + warp_row * T::d;
    load_Q(warp, Q_warp);

    float c = p.scale * LOG2_E;
    sweep<1>(warp, smem, Q_warp, p, c, tiles - 1, whole);
    sweep<0>(warp, smem, Q_warp, p, c, whole - 1, 0);

    p.O = head_of(p.O, head, p.H);
    p.LSE += (int64_t)head * p.N_q;
    __syncwarp();  // all lanes have read Q before O takes its place
    store_O(p, warp, Q_warp, first_row + warp_row);
}

// ---- GPU kernel: delta ---------------------------------------------------------------------

// Grid (ceil(N_q / DELTA_ROWS), B * H_q), block 16 DELTA_ROWS: half a warp per query (lesson 16).
__global__ void delta_kernel(const struct backward all_heads, int H_q, int d) {
    struct backward p = of_query_head(all_heads, blockIdx.y, H_q);
    int64_t i = (int64_t)blockIdx.x * DELTA_ROWS + threadIdx.x / 16;
    float delta = delta_of_row(p, i, d);  // sum_x dO_ix O_ix
    if (threadIdx.x % 16 == 0 && i < p.N_q) p.delta[i] = delta;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (ceil(N_k / BLOCK_K), B * H_k), block THREADS, a struct keys_smem of shared memory. A group
// may have no heads.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dk_dv_kernel(const struct backward all_heads, int H_k, int group) {
    extern __shared__ uint4 memory[];
    struct keys_smem<T>& smem = *(struct keys_smem<T>*)memory;
    int block;                                           // the first keys are seen by most
    int key_head = pick_work(&block, all_heads.causal);  // [0, B * H_k)
    struct backward p = of_key_head(all_heads, key_head, H_k);
    int first_key = block * T::BLOCK_K;  // [0, N_k)
    int n_keys = p.N_k - first_key < T::BLOCK_K ? p.N_k - first_key : T::BLOCK_K;

    // Tiles of queries of each head: none before `start` sees a key of the block; from `full` on
    // all see all of its keys.
    int start = seen_from(first_key, p.N_q, p.N_k, p.causal) / T::TILE_Q;
    int full = CEIL_DIV(seen_from(first_key + n_keys - 1, p.N_q, p.N_k, p.causal), T::TILE_Q);
    int tiles = CEIL_DIV(p.N_q, T::TILE_Q);

    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);

    // dV_g = sum_h P_h^T dO_h,  dK_g = sum_h dS_h^T Q_h, on from head to head       (README eq. 6)
    struct keys_state<T> warp = {};
    for (int g = 0; g < group && tiles > start; g++) {
        struct backward one = of_query_head(p, key_head * group + g, H_k * group);
        __syncthreads();  // all have read the tiles of the head before, P and dS: they are next
        copy_queries(smem, one, tiles - 1);
        walk_queries<0>(warp, smem, one, first_key, tiles - 1, full, start);
        walk_queries<1>(warp, smem, one, first_key, full - 1, start, start);
    }

    // dK and dV take the places of K and V.
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;
    int column = threadIdx.x / T::BLOCK_K * T::COLUMNS;
    bf16 *K_rows = smem.K + key * T::d, *V_rows = smem.V + key * T::d;
    p.dK = head_of(p.dK, key_head, H_k), p.dV = head_of(p.dV, key_head, H_k);
    store<T::d, T::COLUMNS>(p.dK, first_key + key, p.N_k, column, K_rows, warp.dK, p.scale);
    store<T::d, T::COLUMNS>(p.dV, first_key + key, p.N_k, column, V_rows, warp.dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H_q), block THREADS, a struct queries_smem of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dq_kernel(const struct backward all_heads, int H_k, int group) {
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    int block;  // with a mask the last queries see most keys
    int head = pick_work(&block, all_heads.causal), key_head = 0;
    key_head = head / group;
    struct backward p = of_key_head(all_heads, key_head, H_k);
    p = of_query_head(p, head, H_k * group);
    int first_row = (gridDim.x - 1 - block) * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS;  // the warp's first row in the block

    // Which tiles are seen, as in forward_kernel; here rows are queries.
    int whole = keys_seen(first_row, p.N_q, p.N_k, p.causal) / T::TILE_K;
    int tiles = CEIL_DIV(keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal), T::TILE_K);
    struct queries_state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++) {
        int n = warp_row + threadIdx.x % 32 / 4 + 8 * i;
        warp.visible[i] = keys_seen(first_row + n, p.N_q, p.N_k, p.causal);
        warp.base[i] = n < n_rows ? p.LSE[first_row + n] * LOG2_E : 0.0f;
        warp.delta[i] = n < n_rows ? p.delta[first_row + n] : 0.0f;
    }

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.dO, p.dO, first_row, n_rows);
    if (tiles > 0) copy_keys(smem, p, tiles - 1);
    walk_keys<1>(warp, smem, p, tiles - 1, whole);
    walk_keys<0>(warp, smem, p, whole - 1, 0);

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    bf16* Q_rows = smem.Q + warp_row * T::d;
    p.dQ = head_of(p.dQ, head, H_k * group);
    store<T::d, T::d>(p.dQ, first_row + warp_row, p.N_q, 0, Q_rows, warp.dQ, p.scale);
}

// ---- launchers -----------------------------------------------------------------------------

// H_q is a multiple of H_k, neither is negative.
static bool are_heads(int H_q, int H_k) {
    return H_q >= 0 && H_k >= 0 && (H_k > 0 ? H_q % H_k == 0 : H_q == 0);
}

// B batches of H_k key heads.
template <class T> static int launch_forward(const struct forward* p, int B, int H_k) {
    void (*kernel)(struct forward, int, int) = forward_kernel<T>;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sizeof(struct buffers<T>)));
    int group = p->H / H_k;
    dim3 grid(CEIL_DIV((int64_t)p->N_q, T::BLOCK_Q), B * p->H);
    kernel<<<grid, T::THREADS, sizeof(struct buffers<T>)>>>(*p, H_k, group);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels. A group may have no heads: then there are no queries.
template <class T> static int launch_backward(const struct backward* p, int B, int H_k, int group) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>);
    const int bytes_q = sizeof(struct queries_smem<of_queries>);
    void (*dk_dv)(struct backward, int, int) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward, int, int) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    int H_q = H_k * group;
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), B * H_q);
    dim3 keys(CEIL_DIV(p->N_k, of_keys::BLOCK_K), B * H_k);
    dim3 queries(CEIL_DIV(p->N_q, of_queries::BLOCK_Q), B * H_q);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, H_q, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p, H_k, group);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p, H_k, group);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int gqa_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                           const bf16* V_gpu, int B, int N_q, int N_k, int H_q, int H_k, int d,
                           struct strides stride_o, struct strides stride_q,
                           struct strides stride_k, struct strides stride_v, float scale,
                           int causal) {
    struct forward p;
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H_q, p.causal = causal, p.scale = scale;
    if (!are_heads(H_q, H_k)) return COURSE_BAD_ARGUMENT;
    int status = check_forward(&p, B, d);
    if (status != COURSE_BAD_ARGUMENT && (int64_t)B * H_k > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    if (status != COURSE_OK || B == 0 || N_q == 0 || H_q == 0) return status;
    if (d == 64) return launch_forward<forward_64>(&p, B, H_k);
    return block_may_have(sizeof(struct buffers<forward_128>))
               ? launch_forward<forward_128>(&p, B, H_k)
               : launch_forward<forward_128_99KB>(&p, B, H_k);
}

extern "C" int
gqa_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
             const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu, int B,
             int N_q, int N_k, int H_q, int H_k, int d, struct strides stride_dq,
             struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
             struct strides stride_k, struct strides stride_v, struct strides stride_o,
             struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    struct backward p;
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.causal = causal, p.scale = scale;
    if (!are_heads(H_q, H_k)) return COURSE_BAD_ARGUMENT;
    p.H = H_q > 0 ? H_q : H_k;
    if (H_q == 0 && N_q > 0) p.N_q = 0;  // no heads, no queries; dK and dV become 0
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H_k == 0) return status;
    int group = H_q / H_k;
    if (d == 64) return launch_backward<backward_64>(&p, B, H_k, group);
    return tiles_fit<backward_128>() ? launch_backward<backward_128>(&p, B, H_k, group)
                                     : launch_backward<backward_128_99KB>(&p, B, H_k, group);
}
