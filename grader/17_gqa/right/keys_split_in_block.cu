// keys_split_in_block.cu: four warps share the keys of a block of 16 packed rows, each with an m, l
// and O of its own, merged in shared memory; each warp reads Q. Backward a block walks over tiles
// of queries, and for each of them over the heads of the group.
#include "gqa.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum {
    PARTS = 4,        // warps of a block, forward: shares of the keys
    DELTA_ROWS = 16,  // per block of delta_kernel
};

typedef forward_tiles<64, 16, 16, 1, 0, 1> forward_64;  // of a warp
typedef forward_tiles<128, 16, 16, 1, 0, 1> forward_128;
// BLOCK_K, TILE_Q, shares, blocks; BLOCK_Q, TILE_K, blocks (lesson 16)
typedef backward_tiles<64, 128, 32, 1, 2, 128, 64, 2> backward_64;
typedef backward_tiles<128, 64, 64, 2, 2, 128, 32, 2> backward_128;
typedef backward_tiles<128, 32, 64, 4, 2, 128, 32, 2> backward_128_99KB;

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

// The packed row n rows after this one.
__device__ __forceinline__ struct row row_after(struct row row, unsigned n, unsigned group) {
    unsigned heads = row.head + n;  // of row.query and the queries after it
    row.query += heads / group;
    row.head = heads % group;
    return row;
}

// Where column x of the row is in an array that begins at the group's first query head.
__device__ __forceinline__ bf16* place(struct array a, struct row row, int x) {
    return a.elements + row.query * a.stride.n + row.head * a.stride.h + x;
}

// ---- GPU kernel: O and LSE -----------------------------------------------------------------

// tile[n][x] = row n of a warp's own tile, zeros for rows that do not exist.
template <int d>
__device__ __forceinline__ void load_row_piece(bf16* tile, int n, int x, const bf16* from,
                                               bool exists) {
    uint4 piece = {0, 0, 0, 0};
    if (exists) piece = *(const uint4*)from;
    *(uint4*)&tile[swizzled<d>(n, x)] = piece;
}

// What the warps of a block share at the end, and the tiles that each has for itself.
template <int d> struct parts {
    bf16 Q[PARTS][16 * d], K[PARTS][16 * d], V[PARTS][16 * d];
    float O[PARTS][16][d], m[PARTS][16], l[PARTS][16];
};

// Grid (ceil(N_q * group / 16), B * H_k), block 32 PARTS. Every warp has the same 16 packed rows
// and each PARTS-th tile of 16 keys.
template <class T>
__global__ void forward_kernel(const struct forward all_heads, int H_k, int group) {
    extern __shared__ uint4 memory[];
    const int d = T::d;
    struct parts<d>& smem = *(struct parts<d>*)memory;
    int lane = threadIdx.x % 32, part = threadIdx.x / 32;
    struct forward p = of_key_head(all_heads, blockIdx.y, H_k);
    p.Q = head_of(p.Q, blockIdx.y * group, H_k * group);
    p.O = head_of(p.O, blockIdx.y * group, H_k * group);
    p.LSE += (int64_t)blockIdx.y * group * p.N_q;
    int64_t first_row = (int64_t)blockIdx.x * 16, rows = (int64_t)p.N_q * group - first_row;
    int n_rows = rows < 16 ? (int)rows : 16;
    struct row first = {first_row / group, (unsigned)(first_row % group)};
    int end = keys_seen(row_after(first, n_rows - 1, group).query, p.N_q, p.N_k, p.causal);

    struct state<T> warp = {};
    for (int h = 0; h < 2; h++) {
        int64_t query = row_after(first, lane / 4 + 8 * h, group).query;
        warp.visible[0][h] = keys_seen(query, p.N_q, p.N_k, p.causal);
        warp.m[0][h] = -INFINITY;
    }
    bf16 *Q = smem.Q[part], *K = smem.K[part], *V = smem.V[part];
    for (int e = lane * PIECE; e < 16 * d; e += 32 * PIECE) {
        int n = e / d, x = e % d;
        load_row_piece<d>(Q, n, x, place(p.Q, row_after(first, n, group), x), n < n_rows);
    }
    float c = p.scale * LOG2_E;
    for (int64_t first_key = 16 * part; first_key < end; first_key += 16 * PARTS) {
        for (int e = lane * PIECE; e < 16 * d; e += 32 * PIECE) {
            int n = e / d, x = e % d;
            bool exists = first_key + n < p.N_k;
            load_row_piece<d>(K, n, x, p.K.elements + (first_key + n) * p.K.stride.n + x, exists);
            load_row_piece<d>(V, n, x, p.V.elements + (first_key + n) * p.V.stride.n + x, exists);
        }
        __syncwarp();  // the tiles are written before other lanes read them
        multiply_QK(warp, Q, K);
        mask(warp, (int)first_key);
        rescale<1>(warp, c);
        multiply_PV(warp, c, V);
        __syncwarp();  // all lanes have read the tiles before the next ones take their place
    }
    for (int h = 0; h < 2; h++) {
        int n = lane / 4 + 8 * h;
        float sum = quad_sum(warp.l[0][h]);
        for (int i = 0; i < d / 4; i++)
            smem.O[part][n][i / 2 * 8 + lane % 4 * 2 + i % 2] = warp.O[0][i / 2][2 * h + i % 2];
        if (lane % 4 == 0) smem.m[part][n] = warp.m[0][h], smem.l[part][n] = sum;
    }
    __syncthreads();  // the parts of all warps are there before they are merged
    for (int e = threadIdx.x; e < n_rows * d; e += 32 * PARTS) {
        int n = e / d, x = e % d;
        float m = -INFINITY, l = 0.0f, O = 0.0f;
        for (int i = 0; i < PARTS; i++) m = fmaxf(m, smem.m[i][n]);
        for (int i = 0; i < PARTS && m != -INFINITY; i++) {
            float weight = exp2f(smem.m[i][n] - m);
            l += weight * smem.l[i][n];
            O += weight * smem.O[i][n][x];
        }
        struct row row = row_after(first, n, group);
        *place(p.O, row, x) = __float2bfloat16(l > 0.0f ? O / l : 0.0f);
        if (x == 0) p.LSE[(int64_t)row.head * p.N_q + row.query] = (m + log2f(l)) * LN_2;
    }
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

    // Tiles of queries of each head: none before `start` sees a key of the block.
    int start = seen_from(first_key, p.N_q, p.N_k, p.causal) / T::TILE_Q;
    int tiles = CEIL_DIV(p.N_q, T::TILE_Q);

    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);

    // dV_g = sum_h P_h^T dO_h,  dK_g = sum_h dS_h^T Q_h, on from head to head
    struct keys_state<T> warp = {};
    // Tile by tile, and in each of them head by head.
    for (int tile = tiles - 1; tile >= start; tile--)
        for (int g = 0; g < group; g++) {
            struct backward one = of_query_head(p, key_head * group + g, H_k * group);
            __syncthreads();  // all have read the tile of the head before, P and dS: they are next
            copy_queries(smem, one, tile);
            if (p.causal)
                walk_queries<1>(warp, smem, one, first_key, tile, tile, tile);
            else
                walk_queries<0>(warp, smem, one, first_key, tile, tile, tile);
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
    const int bytes = sizeof(struct parts<T::d>), group = p->H / H_k;
    COURSE_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 grid(CEIL_DIV((int64_t)p->N_q * group, 16), B * H_k);
    kernel<<<grid, 32 * PARTS, bytes>>>(*p, H_k, group);
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
    return d == 64 ? launch_forward<forward_64>(&p, B, H_k)
                   : launch_forward<forward_128>(&p, B, H_k);
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
    return block_may_have(sizeof(struct keys_smem<backward_128::keys>))
               ? launch_backward<backward_128>(&p, B, H_k, group)
               : launch_backward<backward_128_99KB>(&p, B, H_k, group);
}
