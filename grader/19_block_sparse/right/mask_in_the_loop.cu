// mask_in_the_loop.cu: no lists. A block of threads looks at each byte of its row, or its column,
// of the mask before it sends for a tile.
#include "block_sparse.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum { DELTA_ROWS = 16 };  // per block of delta_kernel

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14)
typedef forward_tiles<64, 128, 64, 4, 0, 2> forward_64;
typedef forward_tiles<128, 128, 64, 4, 0, 2> forward_128;
// BLOCK_K, TILE_Q, shares, blocks; BLOCK_Q, TILE_K, blocks (lesson 16)
typedef backward_tiles<64, 128, 32, 1, 2, 128, 64, 2> backward_64;
typedef backward_tiles<128, 64, 64, 2, 2, 128, 32, 2> backward_128;
typedef backward_tiles<128, 32, 64, 4, 2, 128, 32, 2> backward_128_99KB;

// ---- the walk ------------------------------------------------------------------------------

// A row, or a column, of a head's mask: byte `block * step` says if that block is active.
struct walk {
    const uint8_t* mask;
    int64_t step;
};

// The last active tile before this one; -1 if there is none. A block's first tile has an even
// number, its last one an odd number.
template <int TILE> __device__ __forceinline__ int tile_before(const struct walk& w, int tile) {
    const int PER = SPARSE_BLOCK / TILE;
    for (tile--; tile >= 0; tile = tile / PER * PER - 1)
        if (w.mask[tile / PER * w.step]) return tile;
    return -1;
}

__device__ __forceinline__ const uint8_t* mask_of(const uint8_t* mask, int head, int N_q, int N_k) {
    return mask + head * SPARSE_BLOCKS(N_q) * SPARSE_BLOCKS(N_k);
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads,
                   const uint8_t* __restrict__ mask_bytes) {  // (B, H, T_q, T_k)
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

    struct walk w = {mask_of(mask_bytes, head, p.N_q, p.N_k) +
                         first_row / SPARSE_BLOCK * SPARSE_BLOCKS(p.N_k),
                     1};

    // The state before any key was seen (lesson 12, eq. 4). Every row sees every key of a tile.
    struct state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        warp.m[i / 2][i % 2] = -INFINITY;
        warp.visible[i / 2][i % 2] = p.N_k;
    }

    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    cp_async_commit();
    int tile = tile_before<BLOCK_K>(w, CEIL_DIV(p.N_k, BLOCK_K));
    if (tile >= 0)
        copy_tile<d, BLOCK_K, T::THREADS>(smem.K[tile % 2], p.K, tile * BLOCK_K,
                                          p.N_k - tile * BLOCK_K);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();  // Q of all threads is here before anybody reads it
    bf16* Q_warp = smem.Q + warp_row * d;
    float c = p.scale * LOG2_E;

#pragma unroll 1
    while (tile >= 0) {
        int next = tile_before<BLOCK_K>(w, tile);
        int first_key = tile * BLOCK_K, n_keys = p.N_k - first_key;  // may be more than fit
        cp_async_wait<0>();
        // K of this tile is here, of all threads; and all have read V of the tile before, and its
        // K, whose places are filled next
        __syncthreads();
        copy_tile<d, BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
        cp_async_commit();
        if (next >= 0) {
            copy_tile<d, BLOCK_K, T::THREADS>(smem.K[next % 2], p.K, next * BLOCK_K, BLOCK_K);
        }
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, Q_warp, smem.K[tile % 2]);
        if (n_keys < BLOCK_K) mask(warp, first_key);
        rescale<0>(warp, c);  // m is finite: the first key of a tile always exists
        cp_async_wait<1>();
        __syncthreads();  // V of all threads is here before anybody reads it
        multiply_PV(warp, c, smem.V);
        tile = next;
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
                 const uint8_t* __restrict__ mask_bytes) {  // (B, H, T_q, T_k)
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

    struct walk w = {mask_of(mask_bytes, head, p.N_q, p.N_k) + first_key / SPARSE_BLOCK,
                     SPARSE_BLOCKS(p.N_k)};

    struct keys_state<T> warp = {};
    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
    int tile = tile_before<TILE_Q>(w, CEIL_DIV(p.N_q, TILE_Q));
    if (tile >= 0) copy_queries(smem, p, tile);

#pragma unroll 1
    while (tile >= 0) {
        int half = tile % 2, next = tile_before<TILE_Q>(w, tile);
        const bf16 *Q_tile = smem.Q[half], *dO_tile = smem.dO[half];
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read the tile before, P and dS,
        // whose places are written next.
        __syncthreads();
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (next >= 0) copy_queries(smem, p, next);
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        // P^T, dS^T. A missing query has P = 1 and a dO of 0 (lesson 16).
        weigh_keys<0>(warp, smem.LSE[half] + query, smem.delta[half] + query, p.scale * LOG2_E, 0);
        add_keys(warp, smem, key, query, Q_tile, dO_tile);  // dV += P^T dO,  dK += dS^T Q
        tile = next;
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
              const uint8_t* __restrict__ mask_bytes) {  // (B, H, T_q, T_k)
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    const int d = T::d, TILE_K = T::TILE_K;
    int block;
    int head = pick_work(&block, 0);  // [0, B * H)
    struct backward p = of_head(all_heads, head);
    int first_row = block * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS, at = warp_row * d;

    struct walk w = {mask_of(mask_bytes, head, p.N_q, p.N_k) +
                         first_row / SPARSE_BLOCK * SPARSE_BLOCKS(p.N_k),
                     1};
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
    int tile = tile_before<TILE_K>(w, CEIL_DIV(p.N_k, TILE_K));
    if (tile >= 0) copy_keys(smem, p, tile);

#pragma unroll 1
    while (tile >= 0) {
        int half = tile % 2, next = tile_before<TILE_K>(w, tile);
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read the tile before, whose
        // place is filled next.
        __syncthreads();
        // dP = dO V^T,  S = Q K^T
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[half]);
        if (next >= 0) copy_keys(smem, p, next);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[half]);
        // dS, in the place of dP. A missing key would have a P that may be infinite.
        if (p.N_k - tile * TILE_K < TILE_K)
            weigh_queries<1>(warp, p.scale * LOG2_E, tile * TILE_K);
        else
            weigh_queries<0>(warp, p.scale * LOG2_E, tile * TILE_K);
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[half]);  // dQ += dS K
        tile = next;
    }

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    store<d, d>(p.dQ, first_row + warp_row, p.N_q, 0, smem.Q + at, warp.dQ, p.scale);
}

// ---- launchers -----------------------------------------------------------------------------

// For B * H heads.
template <class T>
static int launch_forward(const struct forward* p, const uint8_t* mask_gpu, int heads) {
    void (*kernel)(struct forward, const uint8_t*) = forward_kernel<T>;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sizeof(struct buffers<T>)));
    dim3 grid(CEIL_DIV((int64_t)p->N_q, T::BLOCK_Q), heads);
    kernel<<<grid, T::THREADS, sizeof(struct buffers<T>)>>>(*p, mask_gpu);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels, for B * H heads.
template <class T>
static int launch_backward(const struct backward* p, const uint8_t* mask_gpu, int heads) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>);
    const int bytes_q = sizeof(struct queries_smem<of_queries>);
    void (*dk_dv)(struct backward, const uint8_t*) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward, const uint8_t*) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), heads);
    dim3 keys(CEIL_DIV(p->N_k, of_keys::BLOCK_K), heads);
    dim3 queries(CEIL_DIV(p->N_q, of_queries::BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p, mask_gpu);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p, mask_gpu);
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

    return d == 64 ? launch_forward<forward_64>(&p, mask_gpu, B * H)
                   : launch_forward<forward_128>(&p, mask_gpu, B * H);
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

    if (d == 64) return launch_backward<backward_64>(&p, mask_gpu, B * H);
    return block_may_have(sizeof(struct keys_smem<backward_128::keys>))
               ? launch_backward<backward_128>(&p, mask_gpu, B * H)
               : launch_backward<backward_128_99KB>(&p, mask_gpu, B * H);
}
