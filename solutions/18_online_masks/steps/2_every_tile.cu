// 2_every_tile.cu: attention whose mask is computed from indices, tile by tile: no mask is stored,
// but every tile of S is loaded, computed and masked, also where nobody sees anything.
//
//     S  = C(scale Q K^T)    P = softmax(S) over what is seen    O = P V
//     dV = P^T dO    dS = P * (dO V^T - delta) * C'    dQ = scale dS K,  dK = scale dS^T Q
//
// What is wrong with it: work grows with N_q x N_k, whatever the window is; and each score of each
// tile is asked whether it is seen.
#include "online_masks.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"
#include "tuned_tiles.h"

enum { DELTA_ROWS = 16 };  // per block of delta_kernel

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor (lesson 14). Where the mask
// takes registers the tiles are this lesson's own.
typedef forward_tiles<64, FORWARD_64> forward_64;
typedef forward_tiles<128, 64, 64, 4, 1, 2> forward_128;
// BLOCK_K, TILE_Q, shares, blocks; BLOCK_Q, TILE_K, blocks (lesson 16)
typedef backward_tiles<64, 128, 32, 1, 2, 128, 48, 2> backward_64;
typedef backward_tiles<128, BACKWARD_128> backward_128;
typedef backward_tiles<128, BACKWARD_128_99KB> backward_128_99KB;

// ---- the mask ------------------------------------------------------------------------------

// What a block of threads has to know of the mask. A score is c S in base 2, S = Q K^T; with a
// softcap t = tanh(inside S) takes the place of S, inside = scale / softcap.
struct sequence {
    struct online_mask mask;
    int batch, N_q, N_k;
    float c, inside;
};

__device__ __forceinline__ struct sequence sequence_of(const struct online_mask& mask, int batch,
                                                       int N_q, int N_k, float scale) {
    if (mask.softcap == 0.0f) return {mask, batch, N_q, N_k, scale * LOG2_E, 0.0f};
    return {mask, batch, N_q, N_k, mask.softcap * LOG2_E, scale / mask.softcap};
}

// Indices [from, to).
struct range {
    int from, to;
};

// What a query sees: the keys [start, sinks) and [from, to), where start <= sinks <= from <= to.
struct keys {
    int start, sinks, from, to;
};

// The document that a position lies in. If that is none: an empty one, at 0 or behind the last.
__device__ __forceinline__ struct range document_of(const struct sequence& s, int64_t position) {
    if (position < 0) return {0, 0};
    if (s.mask.documents == 0) return {0, s.N_k};
    const int* begin = s.mask.cu_seqlens_gpu + s.batch * ((int64_t)s.mask.documents + 1);
    int low = 0, high = s.mask.documents;
    if (position >= begin[high]) return {begin[high], begin[high]};
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        bool is_before = begin[middle] <= position;
        low = is_before ? middle : low;
        high = is_before ? high : middle;
    }
    return {begin[low], begin[high]};
}

// What the query at this position sees.
__device__ __forceinline__ struct keys keys_of(const struct sequence& s, int64_t position) {
    struct range document = document_of(s, position);
    int64_t start = document.from, end = document.to, from = start, to = end, sinks = start;
    int64_t window = s.mask.window, after = s.mask.causal ? 0 : window;
    if (s.mask.causal || window > 0)
        to = min(end, max(position + after + 1, start + s.mask.prefix));
    if (window > 0 && start < end) {
        from = max(start, position - window + (s.mask.causal ? 1 : 0));
        sinks = min(start + s.mask.sinks, from);
    }
    return {(int)start, (int)sinks, (int)from, (int)to};
}

// Does the query see this key?
__device__ __forceinline__ bool sees(const struct keys& seen, int key) {
    bool answer = false;
    answer = (key >= seen.from && key < seen.to) || (key >= seen.start && key < seen.sinks);
    return answer;
}

// The queries that see key k.
__device__ __forceinline__ struct range queries_of(const struct sequence& s, int64_t k) {
    struct range document = document_of(s, k);
    int64_t start = document.from, from = start, to = document.to;  // positions
    int64_t window = s.mask.window, before = s.mask.causal ? 0 : window;
    if (s.mask.causal || window > 0) from = max(start, k - before);
    if (k < start + s.mask.prefix) from = start;
    if (window > 0 && k >= start + s.mask.sinks) to = min(to, k + window + (before > 0 ? 1 : 0));
    int64_t shift = (int64_t)s.N_k - s.N_q;  // from a query's index to its position
    to = min(max(to - shift, (int64_t)0), (int64_t)s.N_q);
    from = min(max(from - shift, (int64_t)0), to);  // of a key in no document: an empty range
    return {(int)from, (int)to};
}

// ---- scores --------------------------------------------------------------------------------

// tanh x = 1 - 2 / (exp(2 x) + 1), off by about 2^-22: of a score, as much of softcap.
__device__ __forceinline__ float tanh_of(float x) {
    return 1.0f - __fdividef(2.0f, exp2_approx(2.0f * LOG2_E * x) + 1.0f);
}

// S = t
template <class T> __device__ __forceinline__ void cap_scores(struct state<T>& warp, float inside) {
    float* S = warp.S[0][0];
#pragma unroll
    for (int e = 0; e < T::GROUPS * T::BLOCK_K / 2; e++) S[e] = tanh_of(S[e] * inside);
}

// P = exp2(c S - log2(e) LSE),  dS = P * (dP - delta) * C'
// of one pair: *S becomes P, *dP becomes dS. base = log2(e) LSE.
template <int capped>
__device__ __forceinline__ void weigh(float* S, float* dP, float base, float delta,
                                      const struct sequence& s) {
    float slope = 1.0f;
    if (capped) {
        *S = tanh_of(*S * s.inside);
        slope = 1.0f - *S * *S;
    }
    *S = exp2_approx(*S * s.c - base);
    *dP = *S * (*dP - delta) * slope;
}

// Rows are keys, columns are queries: see weigh_keys() of lesson 16.
template <int capped, class T>
__device__ __forceinline__ void weigh_tile_of_queries(struct keys_state<T>& warp, const float* LSE,
                                                      const float* delta,
                                                      const struct sequence& s) {
#pragma unroll
    for (int n = 0; n < T::QUERIES / 8; n++) {
        int x = 8 * n + threadIdx.x % 4 * 2;  // and x + 1
        float2 LSE_x = *(const float2*)&LSE[x], delta_x = *(const float2*)&delta[x];
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++)
            weigh<capped>(&warp.S[i / 4][n][i % 4], &warp.dP[i / 4][n][i % 4],
                          LOG2_E * (i % 2 ? LSE_x.y : LSE_x.x), i % 2 ? delta_x.y : delta_x.x, s);
    }
}

// P = dS = 0 where a query does not see the key of row 2r + h.
template <class T>
__device__ __forceinline__ void
hide_queries(struct keys_state<T>& warp, const struct range seen_by[2 * GROUPS], int first_query) {
#pragma unroll
    for (int n = 0; n < T::QUERIES / 8; n++)
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            int query = first_query + 8 * n + threadIdx.x % 4 * 2 + i % 2;
            if (query < seen_by[i / 2].from || query >= seen_by[i / 2].to)
                warp.S[i / 4][n][i % 4] = warp.dP[i / 4][n][i % 4] = 0.0f;
        }
}

// Rows are queries, columns are keys: see weigh_queries() of lesson 16. What is hidden gets dS = 0.
template <int capped, class T>
__device__ __forceinline__ void weigh_tile_of_keys(struct queries_state<T>& warp,
                                                   const struct sequence& s) {
#pragma unroll
    for (int n = 0; n < T::TILE_K / 8; n++)
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++)
            weigh<capped>(&warp.S[i / 4][n][i % 4], &warp.dP[i / 4][n][i % 4], warp.base[i / 2],
                          warp.delta[i / 2], s);
}

// S = hidden, or dS, where the query of a row does not see the key: S[r][n][2h + e] is of row
// 16 r + g + 8 h and key 8 n + 2 t + e of the tile (lesson 14). What rows see is in shared memory:
// there is no room for it in registers.
template <int ROW_GROUPS, int COLUMNS>
__device__ __forceinline__ void hide_keys(float S[ROW_GROUPS][COLUMNS / 8][4],
                                          const struct keys* seen,  // of this warp's rows
                                          int first_key, float hidden) {
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) {
        const struct keys row = seen[threadIdx.x % 32 / 4 + 8 * i];
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int key = 0;
                key = first_key + 8 * n + threadIdx.x % 4 * 2 + e;
                if (!sees(row, key)) S[i / 2][n][i % 2 * 2 + e] = hidden;
            }
    }
}

// seen[n] becomes what row n of the block sees: nothing, if it does not exist. A block has at least
// as many threads as rows.
template <int BLOCK_Q>
__device__ __forceinline__ void write_seen(struct keys* seen, const struct sequence& s,
                                           int64_t first_row, int n_rows) {
    int n = threadIdx.x;
    if (n < BLOCK_Q) seen[n] = n < n_rows ? keys_of(s, first_row + n + s.N_k - s.N_q) : keys{};
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS; shared memory: a struct buffers, and a struct
// keys for each row.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    forward_kernel(const struct forward all_heads, const struct online_mask mask) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    struct keys* seen = (struct keys*)(&smem + 1);  // (BLOCK_Q)
    int block;  // with a causal mask the last queries may see most keys
    int head = pick_work(&block, mask.causal);
    struct forward p = of_head(all_heads, head);
    const struct sequence s = sequence_of(mask, head / p.H, p.N_q, p.N_k, p.scale);
    int64_t first_row = (int64_t)(gridDim.x - 1 - block) * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? (int)(p.N_q - first_row) : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first row in the block

    struct state<T> warp = {};
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) warp.m[i / 2][i % 2] = -INFINITY;
    write_seen<T::BLOCK_Q>(seen, s, first_row, n_rows);

    copy_tile<T::d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    cp_async_commit();
    int n = CEIL_DIV(p.N_k, T::BLOCK_K) - 1;  // from the last tile to the first
    if (n >= 0) {
        int first_key = n * T::BLOCK_K;
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[n % 2], p.K, first_key, p.N_k - first_key);
    }
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();  // Q of all threads is here before anybody reads it
    bf16* Q_warp = smem.Q + warp_row * T::d;
    load_Q(warp, Q_warp);

#pragma unroll 1
    for (; n >= 0; n--) {
        int first_key = n * T::BLOCK_K;
        cp_async_wait<0>();
        // K of this tile is here, of all threads; and all have read V of the tile before, and its
        // K, whose places are filled next
        __syncthreads();
        copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, p.N_k - first_key);
        cp_async_commit();
        if (n > 0) {
            int next = first_key - T::BLOCK_K;
            copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K[(n + 1) % 2], p.K, next, p.N_k - next);
        }
        cp_async_commit();
        multiply_QK(warp, Q_warp, smem.K[n % 2]);
        if (s.mask.softcap != 0.0f) cap_scores(warp, s.inside);
        hide_keys<T::GROUPS, T::BLOCK_K>(warp.S, seen + warp_row, first_key, -INFINITY);
        rescale<1>(warp, s.c);
        cp_async_wait<1>();
        __syncthreads();  // V of all threads is here before anybody reads it
        multiply_PV(warp, s.c, smem.V);
    }
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

// Grid (ceil(N_k / BLOCK_K), B * H), block THREADS_K, a struct keys_smem of dynamic shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dk_dv_kernel(const struct backward all_heads, const struct online_mask mask) {
    extern __shared__ uint4 memory[];
    struct keys_smem<T>& smem = *(struct keys_smem<T>*)memory;
    const int d = T::d, QUERIES = T::QUERIES, COLUMNS = T::COLUMNS, TILE_Q = T::TILE_Q;
    int block;  // with a causal mask, or with sinks, the first keys are seen by most queries
    int head = pick_work(&block, mask.causal || mask.sinks);
    struct backward p = of_head(all_heads, head);
    const struct sequence s = sequence_of(mask, head / p.H, p.N_q, p.N_k, p.scale);
    int first_key = block * T::BLOCK_K;  // [0, N_k)
    int n_keys = p.N_k - first_key < T::BLOCK_K ? p.N_k - first_key : T::BLOCK_K;
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / T::BLOCK_K * QUERIES, column = threadIdx.x / T::BLOCK_K * COLUMNS;

    int tiles = CEIL_DIV(p.N_q, TILE_Q);
    struct keys_state<T> warp = {};
    struct range seen_by[2 * GROUPS] = {};  // by nobody, keys that do not exist
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++) {
        int row = key + threadIdx.x % 32 / 4 + 8 * i;
        if (row < n_keys) seen_by[i] = queries_of(s, (int64_t)first_key + row);
    }

    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
    if (tiles > 0) copy_queries(smem, p, tiles - 1);

#pragma unroll 1
    for (int tile = tiles - 1; tile >= 0; tile--) {
        int half = tile % 2;
        const bf16 *Q_tile = smem.Q[half], *dO_tile = smem.dO[half];
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read tile + 1, P and dS, whose
        // places are written next.
        __syncthreads();
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (tile > 0) copy_queries(smem, p, tile - 1);
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        if (s.mask.softcap != 0.0f)
            weigh_tile_of_queries<1>(warp, smem.LSE[half] + query, smem.delta[half] + query, s);
        else
            weigh_tile_of_queries<0>(warp, smem.LSE[half] + query, smem.delta[half] + query, s);
        hide_queries(warp, seen_by, tile * TILE_Q + query);
        add_keys(warp, smem, key, query, Q_tile, dO_tile);  // dV += P^T dO,  dK += dS^T Q
    }

    // dK and dV take the places of K and V.
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    store<d, COLUMNS>(p.dK, first_key + key, p.N_k, column, smem.K + key * d, warp.dK, p.scale);
    store<d, COLUMNS>(p.dV, first_key + key, p.N_k, column, smem.V + key * d, warp.dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS_Q; shared memory: a queries_smem, and a struct
// keys for each row.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dq_kernel(const struct backward all_heads, const struct online_mask mask) {
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    struct keys* seen = (struct keys*)(&smem + 1);  // (BLOCK_Q)
    const int d = T::d, TILE_K = T::TILE_K;
    int block;  // with a causal mask the last queries may see most keys
    int head = pick_work(&block, mask.causal);
    struct backward p = of_head(all_heads, head);
    const struct sequence s = sequence_of(mask, head / p.H, p.N_q, p.N_k, p.scale);
    int first_row = (gridDim.x - 1 - block) * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS, at = warp_row * d;

    struct queries_state<T> warp = {};
    write_seen<T::BLOCK_Q>(seen, s, first_row, n_rows);
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++) {
        int row = warp_row + threadIdx.x % 32 / 4 + 8 * i;
        if (row >= n_rows) continue;
        warp.base[i] = p.LSE[first_row + row] * LOG2_E;
        warp.delta[i] = p.delta[first_row + row];
    }

    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.Q, p.Q, first_row, n_rows);
    copy_tile<d, T::BLOCK_Q, T::THREADS>(smem.dO, p.dO, first_row, n_rows);
    int n = CEIL_DIV(p.N_k, TILE_K) - 1;
    if (n >= 0) copy_keys(smem, p, n);

#pragma unroll 1
    for (; n >= 0; n--) {
        cp_async_wait_all();
        // The tile's copies of all threads are here, and seen[] is written; and all have read the
        // tile before, whose place is filled next.
        __syncthreads();
        // dP = dO V^T,  S = Q K^T
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[n % 2]);
        if (n > 0) copy_keys(smem, p, n - 1);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[n % 2]);
        if (s.mask.softcap != 0.0f)
            weigh_tile_of_keys<1>(warp, s);
        else
            weigh_tile_of_keys<0>(warp, s);
        hide_keys<GROUPS, TILE_K>(warp.dP, seen + warp_row, n * TILE_K, 0.0f);
        // dQ += dS K  (scale comes at the end)
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[n % 2]);
    }

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    store<d, d>(p.dQ, first_row + warp_row, p.N_q, 0, smem.Q + at, warp.dQ, p.scale);
}

// ---- launchers -----------------------------------------------------------------------------

// No number of the mask is negative, softcap is finite, and documents have their numbers.
static bool is_mask(const struct online_mask* mask, int B) {
    return mask->window >= 0 && mask->sinks >= 0 && mask->prefix >= 0 && mask->documents >= 0 &&
           mask->softcap >= 0 && mask->softcap < INFINITY &&
           (mask->documents == 0 || B == 0 || mask->cu_seqlens_gpu);
}

template <class T>
static int launch_forward(const struct forward* p, struct online_mask mask, int heads) {
    void (*kernel)(struct forward, struct online_mask) = forward_kernel<T>;
    const int bytes = sizeof(struct buffers<T>) + T::BLOCK_Q * sizeof(struct keys);
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 grid(CEIL_DIV((int64_t)p->N_q, T::BLOCK_Q), heads);
    kernel<<<grid, T::THREADS, bytes>>>(*p, mask);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// The three kernels, for B * H heads.
template <class T>
static int launch_backward(const struct backward* p, struct online_mask mask, int heads) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>),
              bytes_q = sizeof(struct queries_smem<of_queries>) +
                        of_queries::BLOCK_Q * sizeof(struct keys);
    void (*dk_dv)(struct backward, struct online_mask) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward, struct online_mask) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV((int64_t)p->N_q, DELTA_ROWS), heads);
    dim3 keys(CEIL_DIV((int64_t)p->N_k, of_keys::BLOCK_K), heads);
    dim3 queries(CEIL_DIV((int64_t)p->N_q, of_queries::BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p, mask);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p, mask);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int online_masks_forward(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu,
                                    const bf16* K_gpu, const bf16* V_gpu, int B, int N_q, int N_k,
                                    int H, int d, struct strides stride_o, struct strides stride_q,
                                    struct strides stride_k, struct strides stride_v, float scale,
                                    struct online_mask mask) {
    struct forward p = {};
    p.O = array_of(O_gpu, stride_o), p.Q = array_of(Q_gpu, stride_q);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v), p.LSE = LSE_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    if (!is_mask(&mask, B)) return COURSE_BAD_ARGUMENT;
    int status = check_forward(&p, B, d);
    if (status != COURSE_OK || B == 0 || N_q == 0 || H == 0) return status;
    return d == 64 ? launch_forward<forward_64>(&p, mask, B * H)
                   : launch_forward<forward_128>(&p, mask, B * H);
}

extern "C" int online_masks_backward(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu,
                                     const bf16* K_gpu, const bf16* V_gpu, const bf16* O_gpu,
                                     const float* LSE_gpu, const bf16* dO_gpu, int B, int N_q,
                                     int N_k, int H, int d, struct strides stride_dq,
                                     struct strides stride_dk, struct strides stride_dv,
                                     struct strides stride_q, struct strides stride_k,
                                     struct strides stride_v, struct strides stride_o,
                                     struct strides stride_do, float scale, struct online_mask mask,
                                     void* workspace_gpu) {
    struct backward p = {};
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.scale = scale;
    if (!is_mask(&mask, B)) return COURSE_BAD_ARGUMENT;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0) return status;
    if (d == 64) return launch_backward<backward_64>(&p, mask, B * H);
    typedef backward_128::queries of_queries;
    size_t bytes_q =
        sizeof(struct queries_smem<of_queries>) + of_queries::BLOCK_Q * sizeof(struct keys);
    return tiles_fit<backward_128>() && block_may_have(bytes_q)
               ? launch_backward<backward_128>(&p, mask, B * H)
               : launch_backward<backward_128_99KB>(&p, mask, B * H);
}
