// gqa.cu: attention whose query heads share heads of keys and values, on tensor cores, both passes.
//
//     O_h  = softmax(scale Q_h K_g^T) V_g       query head h uses key head g = h / group
//     dV_g = sum_h P_h^T dO_h                   the sums run over the query heads of the group
//     dK_g = scale sum_h dS_h^T Q_h,            dQ_h = scale dS_h K_g
//
// Forward: the rows of a tile are (query, head of the group) pairs, so that all heads of a group
// use the K and V that a block has loaded. With group = 3 and tiles of 128 rows:
//
//     row of the tile    0  1  2  3  4  5  6  7  8 ... 125 126 127 |   0   1   2 ...
//     query              0  0  0  1  1  1  2  2  2 ...  41  42  42 |  42  43  43 ...
//     head of the group  0  1  2  0  1  2  0  1  2 ...   2   0   1 |   2   0   1 ...
//                       +-- block 0: reads K_g and V_g once -------+-- block 1 ---
//
// Backward: a block owns some keys of a key head, with their dK and dV in registers, and walks over
// the queries of every head of the group, one head after the other. dQ has a kernel of its own.
//
// The loops over the tiles are those of lessons 14 and 16 (flash_tile.h): a row is a row. The
// versions on the way, in steps/:
//     1_block_per_head.cu        forward: each query head reads K and V for itself
//     2_cuda_cores.cu            packed and summed like this file, each product made one by one
//     3_expanded_gradients.cu    backward: dK and dV for each query head, in memory, then summed
// What was wrong with step 1: decoding reads the cache of keys and values group times. With step 3:
// it allocates and moves gradients group times as large as the result.
//
//     make grade LESSON=17
//
// GQA (Ainslie and others 2023). FlashAttention-2 (Dao 2023), algorithms 1 and 2. Equation numbers
// are those of the lesson's README.
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

// ---- packed rows ---------------------------------------------------------------------------

// A packed row: a query, [0, N_q), and a head of the group, [0, group).
struct row {
    int64_t query;
    unsigned head;
};

// The packed row n rows after this one.                                             (README eq. 2)
__device__ __forceinline__ struct row row_after(struct row row, unsigned n, unsigned group) {
    // your code goes here (about 3 lines): heads are counted up to the group's last, then queries
    return row;
}

// Where column x of the row is in an array that begins at the group's first query head.
__device__ __forceinline__ bf16* place(struct array a, struct row row, int x) {
    return a.elements + row.query * a.stride.n + row.head * a.stride.h + x;
}

// Starts to copy the n_rows packed rows from `first` on; the rows behind them become zeros.
template <class T>
__device__ __forceinline__ void copy_packed(bf16* tile,      // (BLOCK_Q, d), swizzled
                                            struct array Q,  // from the group's first head on
                                            struct row first, int n_rows, int group) {
#pragma unroll
    for (int e = threadIdx.x * PIECE; e < T::BLOCK_Q * T::d; e += T::THREADS * PIECE) {
        int n = e / T::d, x = e % T::d;
        cp_async16_zfill(&tile[swizzled<T::d>(n, x)], place(Q, row_after(first, n, group), x),
                         n < n_rows ? 16 : 0);
    }
}

// O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key   (README eq. 4)
// The packed rows from `first` on, n_rows of them: store_O() of lesson 14 with other places.
template <class T>
__device__ __forceinline__ void store_packed(const struct forward& p, const struct state<T>& warp,
                                             bf16* O_smem,  // (ROWS, d), of this warp
                                             struct row first, int n_rows, int group) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int n = 16 * r + lane / 4 + 8 * h;
            float sum = quad_sum(warp.l[r][h]);
            float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
            for (int c = 0; c < T::d / 8; c++)
                *(unsigned*)&O_smem[swizzled<T::d>(n, 8 * c + lane % 4 * 2)] =
                    pack_bf16(warp.O[r][c][2 * h] * factor, warp.O[r][c][2 * h + 1] * factor);
            if (lane % 4 == 0 && n < n_rows) {
                // your code goes here (about 3 lines): store LSE, (B, H_q, N_q): where does row n lie?
            }
        }
    __syncwarp();  // the warp's rows are in O_smem before other lanes store them
#pragma unroll
    for (int e = lane * PIECE; e < T::ROWS * T::d; e += 32 * PIECE) {
        // your code goes here (about 4 lines): store 16 bytes of row n of O, if that row exists
    }
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q * group / BLOCK_Q), B * H_k), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads, int H_k, int group) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    int block;
    int key_head = pick_work(&block, all_heads.causal);         // [0, B * H_k)
    if (all_heads.causal) block = gridDim.x - 1 - block;        // the last rows see most keys
    int64_t first_row = (int64_t)block * T::BLOCK_Q;            // of the group's packed rows
    int64_t rows = (int64_t)all_heads.N_q * group - first_row;  // may be more than fit
    int n_rows = rows < T::BLOCK_Q ? (int)rows : T::BLOCK_Q;    // [1, BLOCK_Q]
    int warp_row = threadIdx.x / 32 * T::ROWS;                  // the warp's first in the block

    struct forward p = of_key_head(all_heads, key_head, H_k);
    int first_head = 0;     // of the group, [0, B * H_q)
    struct row first = {};  // of the block
    int whole = 0, end = 0;
    // your code goes here (about 2 lines): the first head that uses this key head; what row first_row is

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest
    // by none.                                                                      (README eq. 3)
    // your code goes here (about 3 lines): with keys_seen(), of the query of the first row, of the last
    int tiles = CEIL_DIV(end, T::BLOCK_K);

    // The state before any key was seen (lesson 12, eq. 4).
    struct state<T> warp = {};
#pragma unroll
    for (int r = 0; r < T::GROUPS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            warp.m[r][h] = -INFINITY;
            // your code goes here (about 3 lines): how many keys does row (r, h) of the warp see?
        }

    copy_packed<T>(smem.Q, head_of(p.Q, first_head, H_k * group), first, n_rows, group);
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

    p.O = head_of(p.O, first_head, H_k * group);
    p.LSE += (int64_t)first_head * p.N_q;
    __syncwarp();  // all lanes have read Q before O takes its place
    store_packed(p, warp, Q_warp, row_after(first, warp_row, group), n_rows - warp_row, group);
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

    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);

    // dV_g = sum_h P_h^T dO_h,  dK_g = sum_h dS_h^T Q_h, on from head to head       (README eq. 6)
    struct keys_state<T> warp = {};
    // your code goes here (about 9 lines): copy_queries() and walk_queries(), of each head of the group

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
    // your code goes here (about 1 line): which key head, [0, B * H_k), does query head `head` use?
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
    dim3 grid(CEIL_DIV((int64_t)p->N_q * group, T::BLOCK_Q), B * H_k);
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
