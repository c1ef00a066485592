// flash_backward_split.cu: attention's gradients on tensor cores, each by the blocks that own it.
//
//     P  = exp2(c S - log2(e) LSE)      S = Q K^T,  c = scale log2(e)
//     dV = P^T dO
//     dS = P * (dP - delta)             dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,                dQ = scale dS K
//
// Three kernels: delta_kernel; dk_dv_kernel, whose blocks own keys and walk over the queries (four
// products); and dq_kernel, whose blocks own queries and walk over the keys (three products, two of
// them again). Nobody adds to what another block owns: no atomics, and the same inputs give the
// same bits.
//
// A warp has 32 rows in every product, so that each fragment from shared memory serves twice. In
// dq_kernel the 32 queries are its own, and dS stays in registers, as P does in lesson 14. In
// dk_dv_kernel that works for d = 64; for 128, dK and dV of 32 keys would be 256 registers a lane:
// two warps share 32 keys, and P^T and dS^T go through shared memory (BLOCK_K = TILE_Q = 64):
//
//     warps                 queries                             columns
//                        0..31  32..63                       0..63  64..127
//     S^T =   keys 0..31   0      2        dV =   keys 0..31   0      2
//     K Q^T       32..63   1      3        P^T dO     32..63   1      3
//
// The versions on the way, in steps/:
//     1_split.cu       two kernels without atomics, without tensor cores
//     2_registers.cu   tensor cores; a warp has 16 keys, or 16 queries, of its own
// What was wrong with step 2: 512 bytes of shared memory feed two mma; and all wait for each copy.
//
// FlashAttention-2 (Dao 2023), algorithm 2. Equation numbers are those of the README.
#include "flash_backward_split.h"

#include <math.h>

#include "tile.h"
#include "tiles.h"

enum { DELTA_ROWS = 16 };  // per block of delta_kernel

// ---- the state and the stages of a tile (flash_backward_tile.h) -------------------------------

enum { GROUPS = 2, ROWS = 32 };  // of a warp in each product: groups of 16 rows, rows

// The sizes of dk_dv_kernel, which are known when compiling: d, and a part of a line of tiles.h.
template <int head_dim, int block_k, int tile_q, int shares, int blocks> struct keys_tiles {
    enum {
        d = head_dim,
        BLOCK_K = block_k,          // keys of a block
        TILE_Q = tile_q,            // queries in a tile
        SHARES = shares,            // warps that share 32 keys
        QUERIES = TILE_Q / SHARES,  // a warp's part of a tile for S and dP
        COLUMNS = d / SHARES,       // a warp's part of dK and dV
        THREADS = BLOCK_K * SHARES,
        BLOCKS = blocks,                             // on a multiprocessor
        PUT = SHARES > 1 ? BLOCK_K* TILE_Q : PIECE,  // elements of P in shared memory
    };
    static_assert(SHARES == 1 || TILE_Q % 64 == 0, "a row of P has the 8 pieces of a swizzle");
};

// The sizes of dq_kernel.
template <int head_dim, int block_q, int tile_k, int blocks> struct queries_tiles {
    enum {
        d = head_dim,
        BLOCK_Q = block_q,  // queries of a block
        TILE_K = tile_k,    // keys in a tile
        THREADS = BLOCK_Q,
        BLOCKS = blocks,  // on a multiprocessor
    };
};

// What a line of tiles.h says: the sizes of both kernels.
template <int d, int block_k, int tile_q, int shares, int blocks_k, int block_q, int tile_k,
          int blocks_q>
struct backward_tiles {
    typedef keys_tiles<d, block_k, tile_q, shares, blocks_k> keys;
    typedef queries_tiles<d, block_q, tile_k, blocks_q> queries;
};

// The shared memory of a block of dk_dv_kernel. Tiles of queries have two buffers: tile i is in
// half i % 2.
template <class T> struct keys_smem {
    bf16 K[T::BLOCK_K * T::d], V[T::BLOCK_K * T::d];
    bf16 Q[2][T::TILE_Q * T::d], dO[2][T::TILE_Q * T::d];
    float LSE[2][T::TILE_Q], delta[2][T::TILE_Q];
    bf16 P[T::PUT], dS[T::PUT];  // (BLOCK_K, TILE_Q), a row is a key; used if warps share keys
};

// The shared memory of a block of dq_kernel. Tiles of keys have two buffers: tile j is in half j %
// 2.
template <class T> struct queries_smem {
    bf16 Q[T::BLOCK_Q * T::d], dO[T::BLOCK_Q * T::d];
    bf16 K[2][T::TILE_K * T::d], V[2][T::TILE_K * T::d];
};

// On the host: may a block have so much shared memory on the current device?
static inline bool block_may_have(size_t bytes) {
    return bytes <= most_shared_memory();
}

// The same for a block of either kernel.
template <class T> static inline bool tiles_fit(void) {
    return block_may_have(sizeof(struct keys_smem<typename T::keys>)) &&
           block_may_have(sizeof(struct queries_smem<typename T::queries>));
}

// What a warp keeps in registers, in the layout of mma.sync. Its rows are two groups r of 16. Of
// each, a lane has two rows, g and g + 8 (g = lane / 4), told apart by h = 0, 1; and of every 8
// columns n two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     C[r][n][2h + e]    row 16 r + g + 8 h, column 8 n + 2 t + e
//
// In dk_dv_kernel rows are keys: S and dP are transposed. S becomes P, and dP becomes dS.
template <class T> struct keys_state {
    float S[GROUPS][T::QUERIES / 8][4], dP[GROUPS][T::QUERIES / 8][4];
    float dK[GROUPS][T::COLUMNS / 8][4], dV[GROUPS][T::COLUMNS / 8][4];
};

// In dq_kernel rows are queries. What belongs to a row has the number 2r + h.
template <class T> struct queries_state {
    float S[GROUPS][T::TILE_K / 8][4], dP[GROUPS][T::TILE_K / 8][4];
    float dQ[GROUPS][T::d / 8][4];
    float base[2 * GROUPS], delta[2 * GROUPS];  // base = log2(e) LSE
    int visible[2 * GROUPS];                    // the row sees the keys before this one
};

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q (lesson 15).
__device__ __forceinline__ int seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    return (int)(first < 0 ? 0 : first > N_q ? N_q : first);
}

// C = A B^T
// C[i][j] = sum_x A[i][x] B[j][x], 16 columns x and 16 rows j of B at a time
template <int d, int COLUMNS>
__device__ __forceinline__ void multiply_transposed(float C[GROUPS][COLUMNS / 8][4],
                                                    const bf16* A_smem,    // (ROWS, d)
                                                    const bf16* B_smem) {  // (COLUMNS, d)
#pragma unroll
    for (int r = 0; r < GROUPS; r++)
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) C[r][n][i] = 0.0f;
    int lane = threadIdx.x % 32;
    int A_at = swizzled<d>(lane % 16, lane / 16 * 8);
    int B_at = swizzled<d>(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
#pragma unroll
    for (int x = 0; x < d; x += 16) {
        unsigned a[GROUPS][4], b[4];
#pragma unroll
        for (int r = 0; r < GROUPS; r++) ldmatrix_x4(a[r], &A_smem[(A_at ^ x) + 16 * r * d]);
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 16) {
            ldmatrix_x4(b, &B_smem[(B_at ^ x) + j * d]);
#pragma unroll
            for (int r = 0; r < GROUPS; r++) {
                mma_m16n8k16_bf16(C[r][j / 8], a[r], b);
                mma_m16n8k16_bf16(C[r][j / 8 + 1], a[r], b + 2);
            }
        }
    }
}

// C += A B for 16 columns of A and the 16 rows of B from B_smem on; B_at: where a lane's row is
// C[i][x] += sum_j A[i][j] B[j][x], 16 columns x at a time
template <int COLUMNS>
__device__ __forceinline__ void multiply_16(float C[GROUPS][COLUMNS / 8][4],
                                            const unsigned a[GROUPS][4], const bf16* B_smem,
                                            int B_at) {
#pragma unroll
    for (int x = 0; x < COLUMNS; x += 16) {
        // BEGIN SOLUTION (about 7 lines): B is stored with k as its rows: ldmatrix_x4_trans
        unsigned b[4];
        ldmatrix_x4_trans(b, &B_smem[B_at ^ x]);
#pragma unroll
        for (int r = 0; r < GROUPS; r++) {
            mma_m16n8k16_bf16(C[r][x / 8], a[r], b);
            mma_m16n8k16_bf16(C[r][x / 8 + 1], a[r], b + 2);
        }
        // END SOLUTION
    }
}

// C += A B, A from shared memory; of B the COLUMNS columns from first_column on
template <int d, int INNER, int COLUMNS>
__device__ __forceinline__ void multiply_shared(float C[GROUPS][COLUMNS / 8][4],
                                                const bf16* A_smem,  // (ROWS, INNER)
                                                const bf16* B_smem,  // (INNER, d)
                                                int first_column) {
    int lane = threadIdx.x % 32;
    int A_at = swizzled<INNER>(lane % 16, lane / 16 * 8);
    int B_at = swizzled<d>(lane % 16, first_column + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < INNER; j += 16) {
        unsigned a[GROUPS][4];
#pragma unroll
        for (int r = 0; r < GROUPS; r++) ldmatrix_x4(a[r], &A_smem[(A_at ^ j) + 16 * r * INNER]);
        multiply_16<COLUMNS>(C, a, B_smem + j * d, B_at);
    }
}

// C += A B, A in registers, in the layout of a C (lesson 14)
template <int d, int INNER, int COLUMNS>
__device__ __forceinline__ void multiply_registers(float C[GROUPS][COLUMNS / 8][4],
                                                   const float A[GROUPS][INNER / 8][4],
                                                   const bf16* B_smem) {  // (INNER, d)
    int lane = threadIdx.x % 32;
    int B_at = swizzled<d>(lane % 16, lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < INNER; j += 16) {
        unsigned a[GROUPS][4];
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            // BEGIN SOLUTION (about 2 lines): a[i / 4][i % 4]; columns j..: A[][j / 8] and the next
            const float* pair = &A[i / 4][j / 8 + i % 4 / 2][i % 2 * 2];
            a[i / 4][i % 4] = pack_bf16(pair[0], pair[1]);
            // END SOLUTION
        }
        multiply_16<COLUMNS>(C, a, B_smem + j * d, B_at);
    }
}

// tile[n][first_column + x] = factor C[n][x], rounded: the warp's part of a swizzled tile with rows
// of `width` elements, which begins at the warp's first row.
template <int width, int COLUMNS>
__device__ __forceinline__ void put(bf16* tile, int first_column,
                                    const float C[GROUPS][COLUMNS / 8][4], float factor) {
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int i = 0; i < 2 * GROUPS; i++) {
            // BEGIN SOLUTION (about 5 lines): for r = i / 2, h = i % 2 a pair, packed, to its place
            int lane = threadIdx.x % 32;
            const float* pair = &C[i / 2][n][i % 2 * 2];
            int row = lane / 4 + 8 * i, x = first_column + 8 * n + lane % 4 * 2;
            *(unsigned*)&tile[swizzled<width>(row, x)] =
                pack_bf16(factor * pair[0], factor * pair[1]);
            // END SOLUTION
        }
}

// Row first + n of `a` becomes factor C[n], rounded, for rows before N; its columns from
// first_column on. By way of the tile, which nobody else uses there, so that rows are stored in
// pieces of 16 bytes.
template <int d, int COLUMNS>
__device__ __forceinline__ void store(struct array a, int first, int N, int first_column,
                                      bf16* tile, const float C[GROUPS][COLUMNS / 8][4],
                                      float factor) {
    put<d, COLUMNS>(tile, first_column, C, factor);
    __syncwarp();  // the warp's part is in the tile before other lanes store it
#pragma unroll
    for (int e = threadIdx.x % 32 * PIECE; e < ROWS * COLUMNS; e += 32 * PIECE) {
        int n = e / COLUMNS, x = first_column + e % COLUMNS;
        if (n < N - first)
            *(uint4*)&a.elements[(int64_t)(first + n) * a.stride.n + x] =
                *(const uint4*)&tile[swizzled<d>(n, x)];
    }
}

// Starts to copy a tile of queries into its buffers. Rows beyond N_q become zeros, LSE and delta
// too: their P is 1 and their dS 0, and P is multiplied by a dO of 0.
template <class T>
__device__ __forceinline__ void copy_queries(struct keys_smem<T>& smem, const struct backward& p,
                                             int tile) {
    int half = tile % 2, first = tile * T::TILE_Q, i = threadIdx.x;
    copy_tile<T::d, T::TILE_Q, T::THREADS>(smem.Q[half], p.Q, first, p.N_q - first);
    copy_tile<T::d, T::TILE_Q, T::THREADS>(smem.dO[half], p.dO, first, p.N_q - first);
    if (i < T::TILE_Q) {
        int used = i < p.N_q - first ? 4 : 0;
        cp_async4_zfill(&smem.LSE[half][i], &p.LSE[first + i], used);
        cp_async4_zfill(&smem.delta[half][i], &p.delta[first + i], used);
    }
}

// P^T = exp2(c S^T - log2(e) LSE), 0 where hidden;  dS^T = P^T * (dP^T - delta)   (README eq. 3, 5)
// Rows are keys, columns are queries: S[r][n][2h + e] is of key 16 r + g + 8 h, query 8 n + 2 t +
// e. S becomes P, dP becomes dS. Query x sees key n if x + ahead >= n.
template <int masked, class T>
__device__ __forceinline__ void weigh_keys(struct keys_state<T>& warp,
                                           const float* LSE,    // (QUERIES), shared memory
                                           const float* delta,  // (QUERIES), shared memory
                                           float c, int ahead) {
#pragma unroll
    for (int n = 0; n < T::QUERIES / 8; n++) {
        // BEGIN SOLUTION (about 11 lines): of both queries LSE and delta; then for i = 4r + 2h + e
        int lane = threadIdx.x % 32;
        int x = 8 * n + lane % 4 * 2;  // and x + 1
        float2 LSE_x = *(const float2*)&LSE[x], delta_x = *(const float2*)&delta[x];
        float base[2] = {LSE_x.x * LOG2_E, LSE_x.y * LOG2_E};
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            float *s = &warp.S[i / 4][n][i % 4], *g = &warp.dP[i / 4][n][i % 4];
            *s = exp2_approx(*s * c - base[i % 2]);
            if (masked && x + i % 2 + ahead < lane / 4 + i / 2 * 8) *s = 0.0f;
            *g = *s * (*g - (i % 2 ? delta_x.y : delta_x.x));
        }
        // END SOLUTION
    }
}

// dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                        (README eq. 6, 7)
// Of a tile of queries, and the 32 keys from `key` on of the block. SHARES warps share them: each
// has made P and dS of QUERIES queries, from `query` on, and adds to COLUMNS columns of dV and dK.
template <class T>
__device__ __forceinline__ void add_keys(struct keys_state<T>& warp, struct keys_smem<T>& smem,
                                         int key, int query,
                                         const bf16* Q_tile,     // (TILE_Q, d)
                                         const bf16* dO_tile) {  // (TILE_Q, d)
    const int d = T::d, QUERIES = T::QUERIES, COLUMNS = T::COLUMNS, TILE_Q = T::TILE_Q;
    if (T::SHARES == 1) {
        multiply_registers<d, QUERIES, COLUMNS>(warp.dV, warp.S, dO_tile);
        multiply_registers<d, QUERIES, COLUMNS>(warp.dK, warp.dP, Q_tile);
    } else {
        bf16 *P_rows = smem.P + key * TILE_Q, *dS_rows = smem.dS + key * TILE_Q;
        put<TILE_Q, QUERIES>(P_rows, query, warp.S, 1.0f);
        put<TILE_Q, QUERIES>(dS_rows, query, warp.dP, 1.0f);
        // BEGIN SOLUTION (about 4 lines): all queries of this warp's keys, its columns
        int column = threadIdx.x / T::BLOCK_K * COLUMNS;
        __syncthreads();  // P and dS are written before other warps read them
        multiply_shared<d, TILE_Q, COLUMNS>(warp.dV, P_rows, dO_tile, column);
        multiply_shared<d, TILE_Q, COLUMNS>(warp.dK, dS_rows, Q_tile, column);
        // END SOLUTION
    }
}

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Of query i of a head, for the half warp that calls it: 16 bytes per lane and turn. All its lanes
// get the sum; 0 if i is no query.
__device__ __forceinline__ float delta_of_row(const struct backward& p, int64_t i, int d) {
    float sum = 0.0f;
    for (int x = threadIdx.x % 16 * PIECE; x < d && i < p.N_q; x += 16 * PIECE) {
        // BEGIN SOLUTION (about 7 lines): this lane's 16 bytes of each, two columns at a time
        uint4 o8 = *(const uint4*)&p.O.elements[i * p.O.stride.n + x];
        uint4 dO8 = *(const uint4*)&p.dO.elements[i * p.dO.stride.n + x];
        for (int pair = 0; pair < PIECE / 2; pair++) {
            float2 o = __bfloat1622float2(((const __nv_bfloat162*)&o8)[pair]);
            float2 g = __bfloat1622float2(((const __nv_bfloat162*)&dO8)[pair]);
            sum += o.x * g.x + o.y * g.y;
        }
        // END SOLUTION
    }
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

// ---- the loops over tiles (flash_backward_tile.h) --------------------------------------------

// A part of the main loop: what the tiles of queries last_tile, last_tile - 1, ..., first_tile add
// to dK and dV. When it begins, tile last_tile is on its way; it sends for the next ones, down to
// `start`. `masked` is a template parameter: where it is 0 the compiler finds no mask at all.
template <int masked, class T>
__device__ __forceinline__ void walk_queries(struct keys_state<T>& warp, struct keys_smem<T>& smem,
                                             const struct backward& p, int first_key, int last_tile,
                                             int first_tile, int start) {
    const int d = T::d, QUERIES = T::QUERIES, TILE_Q = T::TILE_Q;
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / T::BLOCK_K * QUERIES;
    // Query query + x of tile 0 sees key key + n if x + ahead >= n.
    int64_t ahead = (int64_t)p.N_k - p.N_q + query - first_key - key;
    float c = p.scale * LOG2_E;

#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2;
        const bf16 *Q_tile = smem.Q[half], *dO_tile = smem.dO[half];
        // BEGIN SOLUTION (about 2 lines): wait for this tile and for all threads
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read tile + 1, P and dS, whose
        // places are written next.
        __syncthreads();
        // END SOLUTION
        // S^T = K Q^T,  dP^T = V dO^T; the next tile travels meanwhile         (README eq. 1, 4)
        multiply_transposed<d, QUERIES>(warp.S, smem.K + key * d, Q_tile + query * d);
        if (tile > start) copy_queries(smem, p, tile - 1);
        multiply_transposed<d, QUERIES>(warp.dP, smem.V + key * d, dO_tile + query * d);
        weigh_keys<masked>(warp, smem.LSE[half] + query, smem.delta[half] + query, c,
                           (int)(ahead + (int64_t)tile * TILE_Q));
        add_keys(warp, smem, key, query, Q_tile, dO_tile);
    }
}

// Starts to copy a tile of keys into its buffers.
template <class T>
__device__ __forceinline__ void copy_keys(struct queries_smem<T>& smem, const struct backward& p,
                                          int tile) {
    int half = tile % 2, first = tile * T::TILE_K;
    copy_tile<T::d, T::TILE_K, T::THREADS>(smem.K[half], p.K, first, p.N_k - first);
    copy_tile<T::d, T::TILE_K, T::THREADS>(smem.V[half], p.V, first, p.N_k - first);
}

// dS = P * (dP - delta),  P = exp2(c S - log2(e) LSE), 0 where hidden             (README eq. 3, 5)
// Rows are queries, columns are keys: dP[r][n][2h + e] is of query (r, h) and key first_key + 8 n +
// 2 t + e, and becomes dS.
template <int masked, class T>
__device__ __forceinline__ void weigh_queries(struct queries_state<T>& warp, float c,
                                              int first_key) {
#pragma unroll
    for (int n = 0; n < T::TILE_K / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            // BEGIN SOLUTION (about 4 lines): as in weigh_keys(); row (r, h) is number i / 2
            int key = first_key + 8 * n + threadIdx.x % 4 * 2;  // and key + 1
            float weight = exp2_approx(warp.S[i / 4][n][i % 4] * c - warp.base[i / 2]);
            if (masked && key + i % 2 >= warp.visible[i / 2]) weight = 0.0f;
            warp.dP[i / 4][n][i % 4] = weight * (warp.dP[i / 4][n][i % 4] - warp.delta[i / 2]);
            // END SOLUTION
        }
    }
}

// A part of the main loop: what the tiles of keys last_tile, ..., first_tile add to dQ. When it
// begins, tile last_tile is on its way.
template <int masked, class T>
__device__ __forceinline__ void walk_keys(struct queries_state<T>& warp,
                                          struct queries_smem<T>& smem, const struct backward& p,
                                          int last_tile, int first_tile) {
    const int d = T::d, TILE_K = T::TILE_K;
    int at = threadIdx.x / 32 * ROWS * d;  // of this warp's rows in Q and dO
#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2;
        // BEGIN SOLUTION (about 2 lines): wait for this tile and for all threads
        cp_async_wait_all();
        // The tile's copies of all threads are here; and all have read tile + 1, whose place is
        // filled next.
        __syncthreads();
        // END SOLUTION
        // dP = dO V^T,  S = Q K^T                                               (README eq. 4, 1)
        multiply_transposed<d, TILE_K>(warp.dP, smem.dO + at, smem.V[half]);
        if (tile > 0) copy_keys(smem, p, tile - 1);
        multiply_transposed<d, TILE_K>(warp.S, smem.Q + at, smem.K[half]);
        weigh_queries<masked>(warp, p.scale * LOG2_E, tile * TILE_K);
        // dQ += dS K  (scale comes at the end)                                      (README eq. 8)
        multiply_registers<d, TILE_K, d>(warp.dQ, warp.dP, smem.K[half]);
    }
}

// ---- GPU kernel: delta ---------------------------------------------------------------------

// Grid (ceil(N_q / DELTA_ROWS), B * H), block 16 DELTA_ROWS: half a warp per query.
__global__ void delta_kernel(const struct backward all_heads, int d) {
    struct backward p = of_head(all_heads, blockIdx.y);
    int64_t i = (int64_t)blockIdx.x * DELTA_ROWS + threadIdx.x / 16;
    float delta = delta_of_row(p, i, d);
    if (threadIdx.x % 16 == 0 && i < p.N_q) p.delta[i] = delta;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// Grid (ceil(N_k / BLOCK_K), B * H), block THREADS: 32 for every 32 keys, SHARES times; a struct
// keys_smem of dynamic shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dk_dv_kernel(const struct backward all_heads) {
    extern __shared__ uint4 memory[];
    struct keys_smem<T>& smem = *(struct keys_smem<T>*)memory;
    int block;  // with a mask the first keys are seen by most queries
    struct backward p = of_head(all_heads, pick_work(&block, all_heads.causal));
    int first_key = block * T::BLOCK_K;  // [0, N_k)
    int n_keys = p.N_k - first_key < T::BLOCK_K ? p.N_k - first_key : T::BLOCK_K;

    // Tiles of queries: none before `start` sees a key of the block; from `full` on all see all of
    // its keys.
    int start = 0, full = 0;
    int tiles = CEIL_DIV(p.N_q, T::TILE_Q);
    // BEGIN SOLUTION (about 2 lines): with seen_from(), of the first key and of the last
    start = seen_from(first_key, p.N_q, p.N_k, p.causal) / T::TILE_Q;
    full = CEIL_DIV(seen_from(first_key + n_keys - 1, p.N_q, p.N_k, p.causal), T::TILE_Q);
    // END SOLUTION

    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.K, p.K, first_key, n_keys);
    copy_tile<T::d, T::BLOCK_K, T::THREADS>(smem.V, p.V, first_key, n_keys);
    if (tiles > start) copy_queries(smem, p, tiles - 1);

    // From the last tile to the first: blocks that run together read the same tiles (lesson 15).
    struct keys_state<T> warp = {};
    walk_queries<0>(warp, smem, p, first_key, tiles - 1, full, start);
    walk_queries<1>(warp, smem, p, first_key, full - 1, start, start);

    // dK and dV take the places of K and V.                                    (README eq. 6, 7)
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    int key = threadIdx.x / 32 % (T::BLOCK_K / ROWS) * ROWS;
    int column = threadIdx.x / T::BLOCK_K * T::COLUMNS;
    bf16 *K_rows = smem.K + key * T::d, *V_rows = smem.V + key * T::d;
    store<T::d, T::COLUMNS>(p.dK, first_key + key, p.N_k, column, K_rows, warp.dK, p.scale);
    store<T::d, T::COLUMNS>(p.dV, first_key + key, p.N_k, column, V_rows, warp.dV, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// Grid (ceil(N_q / BLOCK_Q), B * H), block THREADS: 32 for every 32 queries; a struct
// queries_smem of dynamic shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    dq_kernel(const struct backward all_heads) {
    extern __shared__ uint4 memory[];
    struct queries_smem<T>& smem = *(struct queries_smem<T>*)memory;
    int block;  // with a mask the last queries see most keys
    struct backward p = of_head(all_heads, pick_work(&block, all_heads.causal));
    int first_row = (gridDim.x - 1 - block) * T::BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < T::BLOCK_Q ? p.N_q - first_row : T::BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS;  // the warp's first row in the block

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest
    // by none.
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
    store<T::d, T::d>(p.dQ, first_row + warp_row, p.N_q, 0, Q_rows, warp.dQ, p.scale);
}

// ---- launcher ------------------------------------------------------------------------------

// The three kernels, for B * H heads.
template <class T> static int launch(const struct backward* p, int heads) {
    typedef typename T::keys of_keys;
    typedef typename T::queries of_queries;
    const int bytes_k = sizeof(struct keys_smem<of_keys>);
    const int bytes_q = sizeof(struct queries_smem<of_queries>);
    void (*dk_dv)(struct backward) = dk_dv_kernel<of_keys>;
    void (*dq)(struct backward) = dq_kernel<of_queries>;
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), heads);
    dim3 keys(CEIL_DIV(p->N_k, of_keys::BLOCK_K), heads);
    dim3 queries(CEIL_DIV(p->N_q, of_queries::BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, of_keys::d);
    if (p->N_k > 0) dk_dv<<<keys, of_keys::THREADS, bytes_k>>>(*p);
    if (p->N_q > 0) dq<<<queries, of_queries::THREADS, bytes_q>>>(*p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

// As launch(), with tiles T where a block may have their shared memory, else with tiles SMALL.
template <class T, class SMALL> static int launch_that_fits(const struct backward* p, int heads) {
    return tiles_fit<T>() ? launch<T>(p, heads) : launch<SMALL>(p, heads);
}

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    struct backward p;
    p.dK = array_of(dK_gpu, stride_dk), p.dV = array_of(dV_gpu, stride_dv);
    p.K = array_of(K_gpu, stride_k), p.V = array_of(V_gpu, stride_v);
    p.dQ = array_of(dQ_gpu, stride_dq), p.Q = array_of(Q_gpu, stride_q);
    p.O = array_of(O_gpu, stride_o), p.dO = array_of(dO_gpu, stride_do);
    p.LSE = LSE_gpu, p.delta = (float*)workspace_gpu;
    p.N_q = N_q, p.N_k = N_k, p.H = H, p.causal = causal, p.scale = scale;
    int status = check_backward(&p, B, d);
    if (status != COURSE_OK || B == 0 || H == 0) return status;
    if (d == 64)
        return causal ? launch<backward_tiles<64, TILES_64_CAUSAL>>(&p, B * H)
                      : launch<backward_tiles<64, TILES_64>>(&p, B * H);
    typedef backward_tiles<128, TILES_128> tiles;
    typedef backward_tiles<128, TILES_128_99KB> small;
    typedef backward_tiles<128, TILES_128_CAUSAL> tiles_causal;
    typedef backward_tiles<128, TILES_128_CAUSAL_99KB> small_causal;
    return causal ? launch_that_fits<tiles_causal, small_causal>(&p, B * H)
                  : launch_that_fits<tiles, small>(&p, B * H);
}
