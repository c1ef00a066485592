// unordered_lists.cu: blocks enter their lists by atomicAdd, in the order of chance. A block that
// is short may come anywhere, and all of its tiles are visited. Blocks of 64 rows.
#include "block_sparse.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum { DELTA_ROWS = 16 };  // per block of delta_kernel

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, 64, 64, 4, 0, 2> forward_64;
typedef forward_tiles<128, 64, 32, 4, 0, 2> forward_128;
// BLOCK_K, TILE_Q, shares, blocks; BLOCK_Q, TILE_K, blocks (lesson 16)
typedef backward_tiles<64, 64, 64, 2, 2, 64, 64, 2> backward_64;
typedef backward_tiles<128, 32, 64, 4, 2, 64, 32, 2> backward_128;

// ---- lists ---------------------------------------------------------------------------------

// What one of the kernels walks over: the tiles of the blocks that a list names, in order.
struct walk {
    const int* blocks;
    int tiles;
};

// All tiles of the blocks of a list: of a block that is short some hold no rows.
template <int TILE> __device__ __forceinline__ struct walk walk_over(const int* list) {
    return {list + 1, list[0] * (SPARSE_BLOCK / TILE)};
}

template <int TILE> __device__ __forceinline__ int tile_of(const struct walk& w, int n) {
    const int PER = SPARSE_BLOCK / TILE;
    static_assert(PER * TILE == SPARSE_BLOCK && PER % 2 == 0, "buffers take turns over a list");
    return w.blocks[n / PER] * PER + n % PER;
}

// List n of a head, of lists (B, H, n_lists, 1 + n_entries): see list_kernel. Heads are counted
// through all batches.
__device__ __forceinline__ const int* list_of(const int* lists, int head, int64_t n,
                                              int64_t n_lists, int64_t n_entries) {
    const int* list = lists;
    list += (head * n_lists + n) * (1 + n_entries);
    return list;
}

// ---- GPU kernel: lists -----------------------------------------------------------------------

// The length of each of the n_lists lists becomes 0.
// Grid (ceil(n_lists / 128), B * H), block 128.
__global__ void clear_kernel(int* lists, int64_t n_lists, int64_t n_entries) {
    int64_t n = (int64_t)blockIdx.x * 128 + threadIdx.x;
    if (n < n_lists) lists[(blockIdx.y * n_lists + n) * (1 + n_entries)] = 0;
}

// Active blocks enter their list in the order of chance: a thread for each byte of the mask.
// Grid (ceil(n_lists * n_entries / 128), B * H), block 128.
__global__ void list_kernel(int* lists, const uint8_t* __restrict__ mask, int64_t n_lists,
                            int64_t n_entries, int64_t step_list, int64_t step_entry) {
    int64_t e = (int64_t)blockIdx.x * 128 + threadIdx.x, n = e / n_entries, entry = e % n_entries;
    mask += blockIdx.y * n_lists * n_entries;
    if (n >= n_lists || !mask[n * step_list + entry * step_entry]) return;
    int* list = lists + (blockIdx.y * n_lists + n) * (1 + n_entries);
    list[1 + atomicAdd(list, 1)] = (int)entry;
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads,
                   const int* __restrict__ row_lists) {  // (B, H, T_q, 1 + T_k)
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    const int d = T::d, BLOCK_K = T::BLOCK_K;
    int block;
    int head = pick_work(&block, 0);                  // [0, B * H)
    int64_t first_row = (int64_t)block * T::BLOCK_Q;  // [0, N_q)
    struct forward p = all_heads;
    p.Q = head_of(p.Q, head, p.H), p.K = head_of(p.K, head, p.H), p.V = head_of(p.V, head, p.H);
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    const int* list = list_of(row_lists, head, first_row / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_q),
                              SPARSE_BLOCKS(p.N_k));
    struct walk w = walk_over<BLOCK_K>(list);

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
            copy_tile<d, BLOCK_K, T::THREADS>(smem.K[(n + 1) % 2], p.K, tile * BLOCK_K,
                                              p.N_k - tile * BLOCK_K);
        }
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, Q_warp, smem.K[n % 2]);
        if (n_keys < BLOCK_K) mask(warp, first_key);
        rescale<1>(warp, c);  // a tile may have no key
        cp_async_wait<1>();
        __syncthreads();  // V of all threads is here before anybody reads it
        multiply_PV(warp, c, smem.V);
    }

    // O = O / l,  LSE = m + ln l;  0 and -infinity for a row that saw no key
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
    float delta = delta_of_row(p, i, d);  // sum_x dO_ix O_ix
    if (threadIdx.x % 16 == 0 && i < p.N_q) p.delta[i] = delta;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (ceil(N_k / BLOCK_K), B * H), block THREADS, a struct keys_smem of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dk_dv_kernel(const struct backward all_heads,
                 const int* __restrict__ column_lists) {  // (B, H, T_k, 1 + T_q)
    extern __shared__ uint4 memory[];
    struct keys_smem<T>& smem = *(struct keys_smem<T>*)memory;
    const int d = T::d, QUERIES = T::QUERIES, COLUMNS = T::COLUMNS, TILE_Q = T::TILE_Q;
    int block;
    int head = pick_work(&block, 0);  // [0, B * H)
    struct backward p = of_head(all_heads, head);
    int first_key = block * T::BLOCK_K;  // [0, N_k)
    int n_keys = p.N_k - first_key < T::BLOCK_K ? p.N_k - first_key : T::BLOCK_K;
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / T::BLOCK_K * QUERIES, column = threadIdx.x / T::BLOCK_K * COLUMNS;

    const int* list = list_of(column_lists, head, first_key / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_k),
                              SPARSE_BLOCKS(p.N_q));
    struct walk w = walk_over<TILE_Q>(list);

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
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (n > 0) copy_queries(smem, p, tile_of<TILE_Q>(w, n - 1));
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        // P^T, dS^T. A missing query has P = 1 and a dO of 0 (lesson 16).
        weigh_keys<0>(warp, smem.LSE[n % 2] + query, smem.delta[n % 2] + query, p.scale * LOG2_E,
                      0);
        add_keys(warp, smem, key, query, Q_tile, dO_tile);  // dV += P^T dO,  dK += dS^T Q
    }

    // dK and dV take the places of K and V.
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    store<d, COLUMNS>(p.dK, first_key + key, p.N_k, column, smem.K + key * d, warp.dK, p.scale);
    store<d, COLUMNS>(p.dV, first_key + key, p.N_k, column, smem.V + key * d, warp.dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS, a struct queries_smem of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dq_kernel(const struct backward all_heads,
              const int* __restrict__ row_lists) {  // (B, H, T_q, 1 + T_k)
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    const int d = T::d, TILE_K = T::TILE_K;
    int block;
    int head = pick_work(&block, 0);  // [0, B * H)
    struct backward p = of_head(all_heads, head);
    int first_row = block * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS, at = warp_row * d;

    const int* list = list_of(row_lists, head, first_row / SPARSE_BLOCK, SPARSE_BLOCKS(p.N_q),
                              SPARSE_BLOCKS(p.N_k));
    struct walk w = walk_over<TILE_K>(list);
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
        // dP = dO V^T,  S = Q K^T
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[n % 2]);
        if (n > 0) copy_keys(smem, p, next);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[n % 2]);
        // dS, in the place of dP. A missing key would have a P that may be infinite.
        if (p.N_k - tile * TILE_K < TILE_K)
            weigh_queries<1>(warp, p.scale * LOG2_E, tile * TILE_K);
        else
            weigh_queries<0>(warp, p.scale * LOG2_E, tile * TILE_K);
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[n % 2]);  // dQ += dS K
        tile = next;
    }

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    store<d, d>(p.dQ, first_row + warp_row, p.N_q, 0, smem.Q + at, warp.dQ, p.scale);
}

// ---- launchers -----------------------------------------------------------------------------

// The n_lists lists of each of the heads; see list_kernel.
static void make_lists(int* lists_gpu, const uint8_t* mask_gpu, int heads, int64_t n_lists,
                       int64_t n_entries, int64_t step_list, int64_t step_entry) {
    if (n_lists == 0) return;
    clear_kernel<<<dim3(CEIL_DIV(n_lists, 128), heads), 128>>>(lists_gpu, n_lists, n_entries);
    if (n_entries > 0)
        list_kernel<<<dim3(CEIL_DIV(n_lists * n_entries, 128), heads), 128>>>(
            lists_gpu, mask_gpu, n_lists, n_entries, step_list, step_entry);
}

// For B * H heads.
template <class T>
static int launch_forward(const struct forward* p, const int* row_lists_gpu, int heads) {
    void (*kernel)(struct forward, const int*) = forward_kernel<T>;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sizeof(struct buffers<T>)));
    dim3 grid(CEIL_DIV((int64_t)p->N_q, T::BLOCK_Q), heads);
    kernel<<<grid, T::THREADS, sizeof(struct buffers<T>)>>>(*p, row_lists_gpu);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels, for B * H heads.
template <class T>
static int launch_backward(const struct backward* p, const int* row_lists_gpu,
                           const int* column_lists_gpu, int heads) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>);
    const int bytes_q = sizeof(struct queries_smem<of_queries>);
    void (*dk_dv)(struct backward, const int*) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward, const int*) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), heads);
    dim3 keys(CEIL_DIV(p->N_k, of_keys::BLOCK_K), heads);
    dim3 queries(CEIL_DIV(p->N_q, of_queries::BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p, column_lists_gpu);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p, row_lists_gpu);
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

    int* row_lists_gpu = (int*)workspace_gpu;  // (B, H, T_q, 1 + T_k)
    int64_t T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    make_lists(row_lists_gpu, mask_gpu, B * H, T_q, T_k, T_k, 1);
    COURSE_TRY(cudaGetLastError());
    return d == 64 ? launch_forward<forward_64>(&p, row_lists_gpu, B * H)
                   : launch_forward<forward_128>(&p, row_lists_gpu, B * H);
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
    // The workspace: lists of rows (B, H, T_q, 1 + T_k), lists of columns (B, H, T_k, 1 + T_q),
    // delta (B, H, N_q).
    int64_t heads = (int64_t)B * H, T_q = SPARSE_BLOCKS(N_q), T_k = SPARSE_BLOCKS(N_k);
    int* row_lists_gpu = (int*)workspace_gpu;
    int* column_lists_gpu = row_lists_gpu;
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

    column_lists_gpu += heads * T_q * (1 + T_k);
    p.delta = (float*)(column_lists_gpu + heads * T_k * (1 + T_q));
    int64_t step_list = 0, step_entry = 0;
    step_list = 1;
    step_entry = T_k;
    make_lists(row_lists_gpu, mask_gpu, B * H, T_q, T_k, T_k, 1);
    make_lists(column_lists_gpu, mask_gpu, B * H, T_k, T_q, step_list, step_entry);
    COURSE_TRY(cudaGetLastError());
    if (d == 64) return launch_backward<backward_64>(&p, row_lists_gpu, column_lists_gpu, B * H);
    return launch_backward<backward_128>(&p, row_lists_gpu, column_lists_gpu, B * H);
}
