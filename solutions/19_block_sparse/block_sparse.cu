// block_sparse.cu: attention of which a mask names the blocks, 128 x 128 scores each, on tensor
// cores, forward and backward.
//
//     S  = scale Q K^T       P  = softmax(S) over the active blocks     O  = P V
//     dV = P^T dO     dS = P * (dO V^T - delta)     dQ = scale dS K,  dK = scale dS^T Q
//
// list_kernel turns the mask into lists, and the other kernels walk over lists alone:
//
//             0 1 2 3          lists of rows      walked by forward_kernel and dq_kernel: who owns
//     row 0   # . . #          0 3                queries goes over the keys that they see
//     row 1   . # . .          1
//     row 2   . . . .          (empty)            lists of columns: 0 | 1 3 | (empty) | 0
//     row 3   . # . .          1                  walked by dk_dv_kernel: who owns keys goes over
//                                                 the queries that see them
//
// The tiles of lessons 14 and 16 have 128, 64 or 32 rows: each lies in one block of the mask, whose
// side they divide. So a list of blocks is a list of tiles, PER tiles a block, and the loops are
// those of lessons 14 and 16 (flash_tile.h) over the tiles of a list, from the last to the first.
//
// The versions on the way, in steps/:
//     1_ask_every_score.cu   a thread per row of each result; the mask is asked at every score
//     2_cuda_cores.cu        lists, and tiles of 16 x 16, each product made one by one
// What was wrong with step 1: each thread reads for itself what it needs, and looks at every score
// to leave out most.
//
//     make grade LESSON=19
//
// FlashAttention (Dao et al. 2022), section 3.3. Equation numbers are those of the lesson's README.
#include "block_sparse.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum {
    WARP = 32,
    LIST_WARPS = 8,     // per block of list_kernel: lists
    ORDER_LISTS = 128,  // per block of order_kernel
    ORDERED = 1024,     // more lists of a head keep the order of the mask
    DELTA_ROWS = 16,    // per block of delta_kernel
};

// The tiles are this lesson's own: they divide a block of the mask, and those that were found for
// lessons 14 and 16 need not.
// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, 128, 64, 4, 0, 2> forward_64;
typedef forward_tiles<128, 128, 64, 4, 0, 2> forward_128;
// BLOCK_K, TILE_Q, shares, blocks; BLOCK_Q, TILE_K, blocks (lesson 16)
typedef backward_tiles<64, 128, 32, 1, 2, 128, 64, 2> backward_64;
typedef backward_tiles<128, 64, 64, 2, 2, 128, 32, 2> backward_128;
typedef backward_tiles<128, 32, 64, 4, 2, 128, 32, 2> backward_128_99KB;

// ---- lists ---------------------------------------------------------------------------------

// The lists of all rows of blocks, or of all columns: n_lists for each of the heads, which are
// counted through all batches.
struct lists {
    int* entries;  // (B, H, n_lists, 1 + n_entries), see list_kernel
    int* order;    // (B, H, n_lists), see order_kernel
};

// What one of the kernels walks over: the tiles of the blocks that a list names, in order.
struct walk {
    const int* blocks;
    int tiles;
};

// The walk over tiles of TILE rows, of N rows in all. list[0] blocks are named from list[1] on.
// (README eq. 3)
template <int TILE> __device__ __forceinline__ struct walk walk_over(const int* list, int N) {
    const int PER = SPARSE_BLOCK / TILE;  // tiles of a block
    static_assert(PER * TILE == SPARSE_BLOCK && PER % 2 == 0, "buffers take turns over a list");
    struct walk w = {list + 1, 0};
    // BEGIN SOLUTION (about 4 lines): how many tiles? A last block of the mask may have fewer rows
    int active = list[0];
    if (active == 0) return w;
    int rows = N - list[active] * SPARSE_BLOCK;  // from the last block that is named on
    w.tiles = (active - 1) * PER + CEIL_DIV(rows < SPARSE_BLOCK ? rows : SPARSE_BLOCK, TILE);
    // END SOLUTION
    return w;
}

// The number of tile n of the walk: its rows begin at TILE times that. n and the number are both
// even, or both odd.                                                                (README eq. 3)
template <int TILE> __device__ __forceinline__ int tile_of(const struct walk& w, int n) {
    int tile = 0;
    // BEGIN SOLUTION (about 2 lines): which tile of which block?
    const int PER = SPARSE_BLOCK / TILE;
    tile = w.blocks[n / PER] * PER + n % PER;
    // END SOLUTION
    return tile;
}

// List n of a head.
__device__ __forceinline__ const int* list_of(const struct lists& lists, int head, int64_t n,
                                              int64_t n_lists, int64_t n_entries) {
    const int* list = lists.entries;
    // BEGIN SOLUTION (about 1 line): where does list n of this head begin?
    list += (head * n_lists + n) * (1 + n_entries);
    // END SOLUTION
    return list;
}

// ---- GPU kernel: lists -----------------------------------------------------------------------

// The lists of all rows of the mask, or of all its columns: how many blocks are active, then which,
// in order. Entry e of list n is byte n * step_list + e * step_entry of a head's mask.
// (README eq. 2)
// Grid (ceil(n_lists / LIST_WARPS), B * H), block (WARP, LIST_WARPS): one warp per list.
__global__ void list_kernel(const struct lists lists,
                            const uint8_t* __restrict__ mask,  // (B, H, T_q, T_k)
                            int64_t n_lists, int64_t n_entries, int64_t step_list,
                            int64_t step_entry) {
    int lane = threadIdx.x;
    int64_t n = (int64_t)blockIdx.x * LIST_WARPS + threadIdx.y;
    if (n >= n_lists) return;  // a whole warp
    mask += blockIdx.y * n_lists * n_entries;
    int* list = lists.entries + (blockIdx.y * n_lists + n) * (1 + n_entries);

    int length = 0;
    for (int64_t first = 0; first < n_entries; first += WARP) {
        // BEGIN SOLUTION (about 5 lines): append the active blocks of the WARP from `first` on
        int64_t e = first + lane;
        bool active = e < n_entries && mask[n * step_list + e * step_entry] != 0;
        unsigned lanes = __ballot_sync(0xffffffffu, active);  // bit l: that of lane l is active
        if (active) list[1 + length + __popc(lanes & ((1u << lane) - 1))] = (int)e;
        length += __popc(lanes);
        // END SOLUTION
    }
    if (lane == 0) list[0] = length;
}

// ---- GPU kernel: who comes first -------------------------------------------------------------

// order[h] = the numbers of the head's lists, the longest first; of equal ones the first. A list's
// place is how many come before it. Blocks of threads start in this order, and the short ones fill
// the end.                                                                       (README eq. 10)
// Grid (ceil(n_lists / ORDER_LISTS), B * H), block ORDER_LISTS: a thread per list.
__global__ void order_kernel(const struct lists lists, int64_t n_lists, int64_t n_entries) {
    int64_t n = (int64_t)blockIdx.x * ORDER_LISTS + threadIdx.x, place = n;
    if (n >= n_lists) return;
    const int* __restrict__ lengths = lists.entries + blockIdx.y * n_lists * (1 + n_entries);
    if (n_lists <= ORDERED) {  // of more they would be compared for too long
        int length = lengths[n * (1 + n_entries)];
        place = 0;
#pragma unroll 8
        for (int64_t m = 0; m < n_lists; m++) {
            int other = lengths[m * (1 + n_entries)];
            place += other > length || (other == length && m < n);
        }
    }
    lists.order[blockIdx.y * n_lists + place] = (int)n;
}

// Which of the B * H heads this block works on, and in *block which BLOCK rows of it, or columns.
// The grid has room for whole lists: the last block may have no rows at all.
template <int BLOCK>
__device__ __forceinline__ int pick_list(int* block, const struct lists& lists) {
    const int PER = SPARSE_BLOCK / BLOCK;  // blocks of a list
    int place;
    int head = pick_work(&place, 1);
    *block = lists.order[(int64_t)head * (gridDim.x / PER) + place / PER] * PER + place % PER;
    return head;
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (128 T_q / BLOCK_Q, B * H), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads, const struct lists row_lists) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    const int d = T::d, BLOCK_K = T::BLOCK_K;
    int block;
    int head = pick_list<T::BLOCK_Q>(&block, row_lists);  // [0, B * H)
    int64_t first_row = (int64_t)block * T::BLOCK_Q;      // [0, N_q)
    struct forward p = all_heads;
    p.Q = head_of(p.Q, head, p.H), p.K = head_of(p.K, head, p.H), p.V = head_of(p.V, head, p.H);
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    const int* list = list_of(row_lists, head, first_row / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_q),
                              SPARSE_BLOCKS(p.N_k));
    struct walk w = walk_over<BLOCK_K>(list, p.N_k);

    // The state before any key was seen (lesson 12, eq. 4). Every row sees every key of a tile.
    struct state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        warp.m[i / 2][i % 2] = -INFINITY;
        warp.visible[i / 2][i % 2] = p.N_k;
    }

    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    cp_async_commit();
    int n = w.tiles - 1, tile = n >= 0 ? tile_of<BLOCK_K>(w, n) : 0;
    if (n >= 0)
        copy_tile<d, BLOCK_K, T::THREADS>(smem.K[n % 2], p.K, tile * BLOCK_K,
                                          p.N_k - tile * BLOCK_K);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();  // Q of all threads is here before anybody reads it
    bf16* Q_warp = smem.Q + warp_row * d;
    float c = p.scale * LOG2_E;

#pragma unroll 1
    for (; n >= 0; n--) {
        int first_key = tile * BLOCK_K, n_keys = p.N_k - first_key;  // may be more than fit
        cp_async_wait<0>();
        // K of this tile is here, of all threads; and all have read V of the tile before, and its
        // K, whose places are filled next
        __syncthreads();
        copy_tile<d, BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
        cp_async_commit();
        if (n > 0) {
            tile = tile_of<BLOCK_K>(w, n - 1);
            copy_tile<d, BLOCK_K, T::THREADS>(smem.K[(n + 1) % 2], p.K, tile * BLOCK_K, BLOCK_K);
        }
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, Q_warp, smem.K[n % 2]);
        // BEGIN SOLUTION (about 1 line): mask() where the last keys of the tile do not exist
        if (n_keys < BLOCK_K) mask(warp, first_key);
        // END SOLUTION
        rescale<0>(warp, c);  // m is finite: the first key of a tile always exists
        cp_async_wait<1>();
        __syncthreads();  // V of all threads is here before anybody reads it
        multiply_PV(warp, c, smem.V);
    }

    // O = O / l,  LSE = m + ln l;  0 and -infinity for a row that saw no key         (README eq. 4)
    p.O = head_of(p.O, head, p.H);
    p.LSE += (int64_t)head * p.N_q;
    __syncwarp();  // all lanes have read Q before O takes its place
    store_O(p, warp, Q_warp, first_row + warp_row);
}

// ---- GPU kernel: delta ---------------------------------------------------------------------

// Grid (ceil(N_q / DELTA_ROWS), B * H), block 16 DELTA_ROWS: half a warp per query (lesson 16).
__global__ void delta_kernel(const struct backward all_heads, int d) {
    struct backward p = of_head(all_heads, blockIdx.y);
    int64_t i = (int64_t)blockIdx.x * DELTA_ROWS + threadIdx.x / 16;
    float delta = delta_of_row(p, i, d);  // sum_x dO_ix O_ix                        (README eq. 6)
    if (threadIdx.x % 16 == 0 && i < p.N_q) p.delta[i] = delta;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (128 T_k / BLOCK_K, B * H), block THREADS, a struct keys_smem of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dk_dv_kernel(const struct backward all_heads, const struct lists column_lists) {
    extern __shared__ uint4 memory[];
    struct keys_smem<T>& smem = *(struct keys_smem<T>*)memory;
    const int d = T::d, QUERIES = T::QUERIES, COLUMNS = T::COLUMNS, TILE_Q = T::TILE_Q;
    int block;
    int head = pick_list<T::BLOCK_K>(&block, column_lists);  // [0, B * H)
    struct backward p = of_head(all_heads, head);
    int first_key = block * T::BLOCK_K;
    if (first_key >= p.N_k) return;  // a whole block that lies behind the last key
    int n_keys = p.N_k - first_key < T::BLOCK_K ? p.N_k - first_key : T::BLOCK_K;
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / T::BLOCK_K * QUERIES, column = threadIdx.x / T::BLOCK_K * COLUMNS;

    struct walk w = {};
    // BEGIN SOLUTION (about 3 lines): the walk over the queries that see the keys of this block
    const int* list = list_of(column_lists, head, first_key / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_k),
                              SPARSE_BLOCKS(p.N_q));
    w = walk_over<TILE_Q>(list, p.N_q);
    // END SOLUTION

    struct keys_state<T> warp = {};
    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
    int n = w.tiles - 1;
    if (n >= 0) copy_queries(smem, p, tile_of<TILE_Q>(w, n));

#pragma unroll 1
    for (; n >= 0; n--) {
        const bf16 *Q_tile = smem.Q[n % 2], *dO_tile = smem.dO[n % 2];
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read the tile before, P and dS,
        // whose places are written next.
        __syncthreads();
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile              (README eq. 1)
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (n > 0) copy_queries(smem, p, tile_of<TILE_Q>(w, n - 1));
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        // P^T, dS^T. A missing query has P = 1 and a dO of 0 (lesson 16).        (README eq. 5, 6)
        weigh_keys<0>(warp, smem.LSE[n % 2] + query, smem.delta[n % 2] + query, p.scale * LOG2_E,
                      0);
        add_keys(warp, smem, key, query, Q_tile, dO_tile);  // dV += P^T dO,  dK += dS^T Q
    }

    // dK and dV take the places of K and V.                                      (README eq. 7, 8)
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    store<d, COLUMNS>(p.dK, first_key + key, p.N_k, column, smem.K + key * d, warp.dK, p.scale);
    store<d, COLUMNS>(p.dV, first_key + key, p.N_k, column, smem.V + key * d, warp.dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (128 T_q / BLOCK_Q, B * H), block THREADS, a struct queries_smem of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dq_kernel(const struct backward all_heads, const struct lists row_lists) {
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    const int d = T::d, TILE_K = T::TILE_K;
    int block;
    int head = pick_list<T::BLOCK_Q>(&block, row_lists);  // [0, B * H)
    struct backward p = of_head(all_heads, head);
    int first_row = block * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS, at = warp_row * d;

    const int* list = list_of(row_lists, head, first_row / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_q),
                              SPARSE_BLOCKS(p.N_k));
    struct walk w = walk_over<TILE_K>(list, p.N_k);
    struct queries_state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++) {
        int row = warp_row + threadIdx.x % 32 / 4 + 8 * i;
        warp.visible[i] = p.N_k;
        warp.base[i] = row < n_rows ? p.LSE[first_row + row] * LOG2_E : 0.0f;
        warp.delta[i] = row < n_rows ? p.delta[first_row + row] : 0.0f;
    }

    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.dO, p.dO, first_row, n_rows);
    int n = w.tiles - 1, tile = n >= 0 ? tile_of<TILE_K>(w, n) : 0;
    if (n >= 0) copy_keys(smem, p, tile);

#pragma unroll 1
    for (; n >= 0; n--) {
        int next = n > 0 ? tile_of<TILE_K>(w, n - 1) : 0;
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read the tile before, whose
        // place is filled next.
        __syncthreads();
        // dP = dO V^T,  S = Q K^T                                                   (README eq. 1)
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[n % 2]);
        if (n > 0) copy_keys(smem, p, next);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[n % 2]);
        // dS, in the place of dP. A missing key would have a P that may be infinite. (README eq. 6)
        // BEGIN SOLUTION (about 4 lines): weigh_queries(), with a mask where keys do not exist
        if (p.N_k - tile * TILE_K < TILE_K)
            weigh_queries<1>(warp, p.scale * LOG2_E, tile * TILE_K);
        else
            weigh_queries<0>(warp, p.scale * LOG2_E, tile * TILE_K);
        // END SOLUTION
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[n % 2]);  // dQ += dS K
        tile = next;
    }

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    store<d, d>(p.dQ, first_row + warp_row, p.N_q, 0, smem.Q + at, warp.dQ, p.scale);
}

// ---- launchers -----------------------------------------------------------------------------

// Makes the n_lists lists of each of the heads, and their order.
static void make_lists(struct lists lists, const uint8_t* mask_gpu, int heads, int64_t n_lists,
                       int64_t n_entries, int64_t step_list, int64_t step_entry) {
    if (n_lists == 0) return;
    dim3 grid(CEIL_DIV(n_lists, LIST_WARPS), heads),
        order_grid(CEIL_DIV(n_lists, ORDER_LISTS), heads);
    list_kernel<<<grid, dim3(WARP, LIST_WARPS)>>>(lists, mask_gpu, n_lists, n_entries, step_list,
                                                  step_entry);
    order_kernel<<<order_grid, ORDER_LISTS>>>(lists, n_lists, n_entries);
}

// For B * H heads.
template <class T>
static int launch_forward(const struct forward* p, struct lists row_lists, int heads) {
    void (*kernel)(struct forward, struct lists) = forward_kernel<T>;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sizeof(struct buffers<T>)));
    dim3 grid(SPARSE_BLOCKS(p->N_q) * (SPARSE_BLOCK / T::BLOCK_Q), heads);
    kernel<<<grid, T::THREADS, sizeof(struct buffers<T>)>>>(*p, row_lists);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels, for B * H heads.
template <class T>
static int launch_backward(const struct backward* p, struct lists row_lists,
                           struct lists column_lists, int heads) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>);
    const int bytes_q = sizeof(struct queries_smem<of_queries>);
    void (*dk_dv)(struct backward, struct lists) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward, struct lists) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), heads);
    dim3 keys(SPARSE_BLOCKS(p->N_k) * (SPARSE_BLOCK / of_keys::BLOCK_K), heads);
    dim3 queries(SPARSE_BLOCKS(p->N_q) * (SPARSE_BLOCK / of_queries::BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p, column_lists);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p, row_lists);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int block_sparse_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, const uint8_t* mask_gpu,
                                    int B, int N_q, int N_k, int H, int d, struct strides stride_o,
                                    struct strides stride_q, struct strides stride_k,
                                    struct strides stride_v, float scale, void* workspace_gpu) {
    struct forward p = {};
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE is refused without these.
    if (!workspace_gpu || (N_k > 0 && !mask_gpu)) p.LSE = NULL;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || N_q == 0) return status;

    int64_t heads = (int64_t)B * H, T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    struct lists row_lists;
    row_lists.entries = (int*)workspace_gpu;
    row_lists.order = row_lists.entries + heads * T_q * (1 + T_k);
    make_lists(row_lists, mask_gpu, B * H, T_q, T_k, T_k, 1);
    COURSE_TRY(cudaGetLastError());
    return d == 64 ? launch_forward<forward_64>(&p, row_lists, B * H)
                   : launch_forward<forward_128>(&p, row_lists, B * H);
}

extern "C" int block_sparse_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                                     const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                                     const float* LSE_gpu, const bf16* dO_gpu,
                                     const uint8_t* mask_gpu, int B, int N_q, int N_k, int H, int d,
                                     struct strides stride_dq, struct strides stride_dk,
                                     struct strides stride_dv, struct strides stride_q,
                                     struct strides stride_k, struct strides stride_v,
                                     struct strides stride_o, struct strides stride_do, float scale,
                                     void* workspace_gpu) {
    // The workspace: lists of rows (B, H, T_q, 1 + T_k) and their order (B, H, T_q), lists of
    // columns (B, H, T_k, 1 + T_q) and their order (B, H, T_k), delta (B, H, N_q).
    int64_t heads = (int64_t)B * H, T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    struct lists row_lists, column_lists;
    row_lists.entries = row_lists.order = (int*)workspace_gpu;
    struct backward p = {};
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    // What is refused without LSE and K is refused without these.
    if (!workspace_gpu || (N_q > 0 && N_k > 0 && !mask_gpu)) p.LSE = NULL, p.K.elements = NULL;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0 || (N_q == 0 && N_k == 0)) return status;

    row_lists.order += heads * T_q * (1 + T_k);
    column_lists.entries = row_lists.order + heads * T_q;
    column_lists.order = column_lists.entries + heads * T_k * (1 + T_q);
    p.delta = (float*)(column_lists.order + heads * T_k);
    int64_t step_list = 0, step_entry = 0;
    // BEGIN SOLUTION (about 2 lines): in the mask, how far to the next column, to its next entry?
    step_list = 1;
    step_entry = T_k;
    // END SOLUTION
    make_lists(row_lists, mask_gpu, B * H, T_q, T_k, T_k, 1);
    make_lists(column_lists, mask_gpu, B * H, T_k, T_q, step_list, step_entry);
    COURSE_TRY(cudaGetLastError());
    if (d == 64) return launch_backward<backward_64>(&p, row_lists, column_lists, B * H);
    return block_may_have(sizeof(struct keys_smem<backward_128::keys>))
               ? launch_backward<backward_128>(&p, row_lists, column_lists, B * H)
               : launch_backward<backward_128_99KB>(&p, row_lists, column_lists, B * H);
}
