// flash_backward_split.cu: the gradients of attention on tensor cores, each by the blocks that own it.
//
//     P  = exp2(c S - log2(e) LSE)      S = Q K^T,  c = scale log2(e)
//     dV = P^T dO
//     dS = P * (dP - delta)             dP = dO V^T,  delta_i = sum_x dO_ix O_ix
//     dK = scale dS^T Q,                dQ = scale dS K
//
// Three kernels: delta_kernel; dk_dv_kernel, whose blocks own keys and walk over the queries (four products);
// and dq_kernel, whose blocks own queries and walk over the keys (three products, two of them again). Nobody
// adds to what another block owns: no atomics, and the same inputs give the same bits.
//
// A warp has 32 rows in every product, so that each fragment from shared memory serves twice. In dq_kernel the
// 32 queries are its own, and dS stays in registers, as P does in lesson 14. In dk_dv_kernel that works for
// d = 64. For d = 128 dK and dV of 32 keys would be 256 registers a lane: two warps share 32 keys, and P^T
// and dS^T go through shared memory (here BLOCK_K = BLOCK_Q = 64):
//
//     warps                 queries                             columns
//                        0..31  32..63                       0..63  64..127
//     S^T =   keys 0..31   0      2        dV =   keys 0..31   0      2
//     K Q^T       32..63   1      3        P^T dO     32..63   1      3
//
// The versions on the way, in steps/:
//     1_split.cu       two kernels without atomics, without tensor cores
//     2_registers.cu   tensor cores; a warp has 16 keys, or 16 queries, of its own
// What was wrong with step 2: 512 bytes from shared memory feed two mma; and all wait for each copy.
//
// FlashAttention-2 (Dao 2023), algorithm 2. Equation numbers are those of the README.
#include "flash_backward_split.h"

#include <cuda_bf16.h>
#include <math.h>

#include "ptx.h"
#include "tiles.h"

#define ROWS 32           // of a warp, in each product: two groups of 16
#define GROUPS 2          // of 16 rows
#define HEADS 16          // that are worked on together
#define PIECE 8           // elements that are copied together: 16 bytes
#define DELTA_ROWS 16     // per block of delta_kernel
#define MAX_GRID_Y 65535  // the limit of gridDim.y
#define LOG2_E 1.44269504f

// An array of (B, N, H, d); or of one head of it, (N, d).
struct array {
    bf16* elements;
    struct strides stride;
};

// The arrays: four of keys, (B, N_k, H, d), and four of queries, (B, N_q, H, d).
enum { dK, dV, K, V, dQ, Q, O, dO, ARRAYS };

// What the kernels work on: the launcher's arguments. They write dQ, dK, dV and delta.
struct problem {
    struct array of[ARRAYS];
    const float* LSE;  // (B, H, N_q)
    float* delta;      // (B, H, N_q), the workspace
    int N_q, N_k, H, causal;
    float scale;
};

// ---- device helpers ------------------------------------------------------------------------

// How many keys query i sees: [0, keys_seen). From 0 to N_k, also for an i beyond N_q (lesson 13).
__device__ int keys_seen(int64_t i, int N_q, int N_k, int causal) {
    int64_t seen = causal ? i + 1 + N_k - N_q : N_k;
    return (int)(seen < 0 ? 0 : seen > N_k ? N_k : seen);
}

// The first query that sees key j: row i sees it if i >= seen_from. From 0 to N_q (lesson 15).
__device__ int seen_from(int64_t j, int N_q, int N_k, int causal) {
    int64_t first = causal ? j - N_k + N_q : 0;
    return (int)(first < 0 ? 0 : first > N_q ? N_q : first);
}

// The problem of one head of one batch, head = batch * H + the head's number in it.
__device__ __forceinline__ struct problem of_head(struct problem p, int head) {
#pragma unroll
    for (int a = 0; a < ARRAYS; a++)
        p.of[a].elements += head / p.H * p.of[a].stride.b + head % p.H * p.of[a].stride.h;
    p.LSE += (int64_t)head * p.N_q;
    p.delta += (int64_t)head * p.N_q;
    return p;
}

// Returns which of the B * H heads this block works on, and in *block which of the blocks of that head. Blocks
// start in the order x, then y. Without a mask: head by head. With one, block 0 has most to do: it starts first,
// of HEADS heads at a time, and the short ones fill the end (lesson 14).
__device__ __forceinline__ int pick_work(int* block, int causal) {
    unsigned heads = causal ? HEADS : 1;
    unsigned order = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = order / (heads * gridDim.x) * heads;  // of these heads
    unsigned rest = order % (heads * gridDim.x);
    heads = min(heads, gridDim.y - first);
    *block = rest / heads;
    return first + rest % heads;
}

// Where element (n, x) of a tile with rows of `width` elements is (lesson 14). The place is an xor of n and x:
// 16 j columns further and 8 i rows further is
//     swizzled(n + 8 i, x + 16 j) = (swizzled(n, x) ^ 16 j) + 8 i width    if x < 16
// one instruction, where another swizzled() would take many, or a register for each j.
template <int width> __device__ __forceinline__ int swizzled(int n, int x) {
    int piece = x / PIECE ^ n % 8;
    return n * width + piece * PIECE + x % PIECE;
}

// Starts to copy rows first, first + 1, ... to a tile; rows from N on become zeros and are not read. All THREADS
// threads take part, and each one waits by itself.
template <int d, int TILE, int THREADS>
__device__ __forceinline__ void copy_tile(bf16* tile,      // (TILE, d), shared memory
                                          struct array a,  // (N, d)
                                          int first, int N) {
    const int PIECES = d / PIECE;  // of a row
    const int ROWS_AT_ONCE = THREADS / PIECES;
    static_assert(THREADS % PIECES == 0 && TILE % ROWS_AT_ONCE == 0, "threads do as much");
    int n = threadIdx.x / PIECES;          // the first of this thread's rows
    int x = threadIdx.x % PIECES * PIECE;  // its column
    const bf16* from = a.elements + (int64_t)(first + n) * a.stride.n + x;
#pragma unroll
    for (int i = 0; i < TILE / ROWS_AT_ONCE; i++) {
        cp_async16_zfill(&tile[swizzled<d>(n, x)], from, n < N - first ? 16 : 0);
        n += ROWS_AT_ONCE;
        from += ROWS_AT_ONCE * a.stride.n;
    }
}

// ---- products of a warp --------------------------------------------------------------------
//
// A warp's rows are two groups r of 16. Of each, a lane has two rows, g and g + 8 (g = lane / 4), told apart by
// h = 0, 1; and of every 8 columns n two, 2t and 2t + 1 (t = lane % 4), told apart by e = 0, 1:
//
//     C[r][n][2h + e]    row 16 r + g + 8 h, column 8 n + 2 t + e

// C += A B^T
// C[i][j] += sum_x A[i][x] B[j][x], 16 columns x and 16 rows j of B at a time
template <int d, int COLUMNS>
__device__ __forceinline__ void multiply_transposed(float C[GROUPS][COLUMNS / 8][4],
                                                    const bf16* A_smem,    // (ROWS, d)
                                                    const bf16* B_smem) {  // (COLUMNS, d)
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

// C += A B, 16 columns of A and the 16 rows of B that begin at B_smem; B_at: where a lane's row of it is
// C[i][x] += sum_j A[i][j] B[j][x], 16 columns x at a time
template <int COLUMNS>
__device__ __forceinline__ void multiply_16(float C[GROUPS][COLUMNS / 8][4],
                                            const unsigned a[GROUPS][4], const bf16* B_smem,
                                            int B_at) {
#pragma unroll
    for (int x = 0; x < COLUMNS; x += 16) {
        // your code goes here (about 7 lines): B is stored with k as its rows: ldmatrix_x4_trans
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
            // your code goes here (about 2 lines): a[i / 4][i % 4]; columns j.. are A[][j / 8], A[][j / 8 + 1]
        }
        multiply_16<COLUMNS>(C, a, B_smem + j * d, B_at);
    }
}

// tile[n][first_column + x] = factor C[n][x], rounded: the warp's part of a swizzled tile with rows of `width`
// elements, which begins at the warp's first row.
template <int width, int COLUMNS>
__device__ __forceinline__ void put(bf16* tile, int first_column,
                                    const float C[GROUPS][COLUMNS / 8][4], float factor) {
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int i = 0; i < 2 * GROUPS; i++) {
            // your code goes here (about 5 lines): for r = i / 2, h = i % 2 a pair, packed, to its place
        }
}

// Row first + n of `a` becomes factor C[n], rounded, for rows before N; its columns from first_column on. By way
// of the tile, which nobody else uses there, so that rows are stored in pieces of 16 bytes.
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

// ---- GPU kernel: delta ---------------------------------------------------------------------

// delta_i = sum_x dO_ix O_ix                                                        (README eq. 2)
// Grid (ceil(N_q / DELTA_ROWS), B * H), block 16 DELTA_ROWS: half a warp per query, 16 bytes per lane and turn.
__global__ void delta_kernel(const struct problem all_heads, int d) {
    struct problem p = of_head(all_heads, blockIdx.y);
    int lane = threadIdx.x % 16;
    int64_t i = (int64_t)blockIdx.x * DELTA_ROWS + threadIdx.x / 16;
    float sum = 0.0f;
    for (int x = lane * PIECE; x < d && i < p.N_q; x += 16 * PIECE) {
        // your code goes here (about 7 lines): this lane's share, 16 bytes of each, two columns at a time
    }
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0 && i < p.N_q) p.delta[i] = sum;
}

// ---- GPU kernel: dK and dV -----------------------------------------------------------------

// The shared memory of a block. Tiles of queries have two buffers: tile i is in half i % 2.
struct keys_smem {
    bf16 *K, *V;         // (BLOCK_K, d)
    bf16 *Q, *dO;        // (2, BLOCK_Q, d)
    float *LSE, *delta;  // (2, BLOCK_Q)
    bf16 *P, *dS;        // (BLOCK_K, BLOCK_Q), transposed: a row is a key; if warps share keys
};

// Starts to copy a tile of queries into its buffers. Rows beyond N_q become zeros, LSE and delta too: their
// P is 1 and their dS 0, and P is multiplied by a dO of 0.
template <int d, int BLOCK_Q, int THREADS>
__device__ __forceinline__ void copy_queries(struct keys_smem smem, const struct problem& p,
                                             int tile) {
    int half = tile % 2 * BLOCK_Q;
    int first = tile * BLOCK_Q, i = threadIdx.x;
    copy_tile<d, BLOCK_Q, THREADS>(smem.Q + half * d, p.of[Q], first, p.N_q);
    copy_tile<d, BLOCK_Q, THREADS>(smem.dO + half * d, p.of[dO], first, p.N_q);
    if (i < BLOCK_Q) {
        int used = i < p.N_q - first ? 4 : 0;
        cp_async4_zfill(&smem.LSE[half + i], &p.LSE[first + i], used);
        cp_async4_zfill(&smem.delta[half + i], &p.delta[first + i], used);
    }
}

// P^T = exp2(c S^T - log2(e) LSE), 0 where hidden;  dS^T = P^T * (dP^T - delta)   (README eq. 3, 5)
// Rows are keys, columns are queries: S[r][n][2h + e] is of key 16 r + g + 8 h, query 8 n + 2 t + e. S becomes P,
// dP becomes dS. Query x sees key n if x + ahead >= n.
template <int COLUMNS, int masked>
__device__ __forceinline__ void weigh_keys(float S[GROUPS][COLUMNS / 8][4],
                                           float dP[GROUPS][COLUMNS / 8][4],
                                           const float* LSE,    // (COLUMNS), shared memory
                                           const float* delta,  // (COLUMNS), shared memory
                                           float c, int ahead) {
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++) {
        // your code goes here (about 11 lines): of both queries LSE and delta; then for i = 4r + 2h + e
    }
}

// A part of the main loop: what the tiles of queries last_tile, last_tile - 1, ..., first_tile add to dK and
// dV. When it begins, tile last_tile is on its way; it sends for the next ones, down to `start`.
// `masked` is a template parameter: where it is 0 the compiler finds no mask at all.
// SHARES warps share 32 keys: each takes as large a part of the queries, and then of the columns.
template <int d, int BLOCK_K, int BLOCK_Q, int SHARES, int masked>
__device__ __forceinline__ void
walk_queries(float dK_reg[GROUPS][d / SHARES / 8][4], float dV_reg[GROUPS][d / SHARES / 8][4],
             struct keys_smem smem, const struct problem& p, int first_key, int last_tile,
             int first_tile, int start) {
    const int QUERIES = BLOCK_Q / SHARES, COLUMNS = d / SHARES;
    int key = threadIdx.x / 32 % (BLOCK_K / ROWS) * ROWS;  // the first of this warp's; and so on
    int query = threadIdx.x / BLOCK_K * QUERIES;
    // Query query + x of tile 0 sees key key + n if x + ahead >= n.
    int64_t ahead = (int64_t)p.N_k - p.N_q + query - first_key - key;
    float c = p.scale * LOG2_E;

#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2 * BLOCK_Q;
        float S[GROUPS][QUERIES / 8][4] = {};
        float dP[GROUPS][QUERIES / 8][4] = {};

        // your code goes here (about 2 lines): wait for this tile and for all threads
        // S^T = K Q^T,  dP^T = V dO^T. The next tile travels while this one is used.  (README eq. 1, 4)
        multiply_transposed<d, QUERIES>(S, smem.K + key * d, smem.Q + (half + query) * d);
        if (tile > start) copy_queries<d, BLOCK_Q, BLOCK_K * SHARES>(smem, p, tile - 1);
        multiply_transposed<d, QUERIES>(dP, smem.V + key * d, smem.dO + (half + query) * d);
        weigh_keys<QUERIES, masked>(S, dP, smem.LSE + half + query, smem.delta + half + query, c,
                                    (int)(ahead + (int64_t)tile * BLOCK_Q));
        // dV += P^T dO,  dK += dS^T Q  (scale comes at the end)                (README eq. 6, 7)
        const bf16 *Q_tile = smem.Q + half * d, *dO_tile = smem.dO + half * d;
        if (SHARES == 1) {
            multiply_registers<d, QUERIES, COLUMNS>(dV_reg, S, dO_tile);
            multiply_registers<d, QUERIES, COLUMNS>(dK_reg, dP, Q_tile);
        } else {
            put<BLOCK_Q, QUERIES>(smem.P + key * BLOCK_Q, query, S, 1.0f);
            put<BLOCK_Q, QUERIES>(smem.dS + key * BLOCK_Q, query, dP, 1.0f);
            // your code goes here (about 4 lines): all queries of this warp's keys, its columns
        }
    }
}

// Grid (ceil(N_k / BLOCK_K), B * H), block BLOCK_K * SHARES threads: 32 for every 32 keys, SHARES times; a
// struct keys_smem of dynamic shared memory. The template parameters: tiles.h.
template <int d, int BLOCK_K, int BLOCK_Q, int SHARES, int BLOCKS>
__global__ void __launch_bounds__(BLOCK_K* SHARES, BLOCKS)
    dk_dv_kernel(const struct problem all_heads) {
    const int THREADS = BLOCK_K * SHARES;
    static_assert(SHARES == 1 || BLOCK_Q % 64 == 0, "a row of P has the 8 pieces of a swizzle");
    extern __shared__ uint4 memory[];
    struct keys_smem smem;
    smem.K = (bf16*)memory;
    smem.V = smem.K + BLOCK_K * d;
    smem.Q = smem.V + BLOCK_K * d;
    smem.dO = smem.Q + 2 * BLOCK_Q * d;
    smem.LSE = (float*)(smem.dO + 2 * BLOCK_Q * d);
    smem.delta = smem.LSE + 2 * BLOCK_Q;
    smem.P = (bf16*)(smem.delta + 2 * BLOCK_Q);
    smem.dS = smem.P + BLOCK_K * BLOCK_Q;

    int block;  // with a mask the first keys are seen by most queries
    struct problem p = of_head(all_heads, pick_work(&block, all_heads.causal));
    int first_key = block * BLOCK_K;  // [0, N_k)

    // Tiles of queries: none before `start` sees a key of the block; from `full` on all see all of its keys.
    int start = 0, full = 0;
    int tiles = CEIL_DIV(p.N_q, BLOCK_Q);
    // your code goes here (about 5 lines): with seen_from(); how many keys has the block?

    copy_tile<d, BLOCK_K, THREADS>(smem.K, p.of[K], first_key, p.N_k);
    copy_tile<d, BLOCK_K, THREADS>(smem.V, p.of[V], first_key, p.N_k);
    if (tiles > start) copy_queries<d, BLOCK_Q, THREADS>(smem, p, tiles - 1);

    // From the last tile to the first: blocks that run together read the same tiles (lesson 15).
    float dK_reg[GROUPS][d / SHARES / 8][4] = {}, dV_reg[GROUPS][d / SHARES / 8][4] = {};
    walk_queries<d, BLOCK_K, BLOCK_Q, SHARES, 0>(dK_reg, dV_reg, smem, p, first_key, tiles - 1,
                                                 full, start);
    walk_queries<d, BLOCK_K, BLOCK_Q, SHARES, 1>(dK_reg, dV_reg, smem, p, first_key, full - 1,
                                                 start, start);

    // dK and dV take the places of K and V.                                    (README eq. 6, 7)
    cp_async_wait_all();  // with no tile at all, K and V are still on their way
    __syncthreads();      // all have read K and V before anybody overwrites them
    int key = threadIdx.x / 32 % (BLOCK_K / ROWS) * ROWS;
    int column = threadIdx.x / BLOCK_K * (d / SHARES);
    store<d, d / SHARES>(p.of[dK], first_key + key, p.N_k, column, smem.K + key * d, dK_reg,
                         p.scale);
    store<d, d / SHARES>(p.of[dV], first_key + key, p.N_k, column, smem.V + key * d, dV_reg, 1.0f);
}

// ---- GPU kernel: dQ ------------------------------------------------------------------------

// The shared memory of a block. Tiles of keys have two buffers: tile j is in half j % 2.
struct queries_smem {
    bf16 *Q, *dO;  // (BLOCK_Q, d)
    bf16 *K, *V;   // (2, BLOCK_K, d)
};

// What a lane knows of its rows: number 2r + h is row 16 r + g + 8 h of the warp.
struct rows {
    float base[2 * GROUPS], delta[2 * GROUPS];  // base = log2(e) LSE
    int visible[2 * GROUPS];                    // it sees the keys before this one
};

// dS = P * (dP - delta),  P = exp2(c S - log2(e) LSE), 0 where hidden             (README eq. 3, 5)
// Rows are queries, columns are keys: dP[r][n][2h + e] is of query (r, h) and key first_key + 8 n + 2 t + e,
// and becomes dS.
template <int BLOCK_K, int masked>
__device__ __forceinline__ void weigh_queries(float dP[GROUPS][BLOCK_K / 8][4],
                                              const float S[GROUPS][BLOCK_K / 8][4],
                                              const struct rows& of, float c, int first_key) {
#pragma unroll
    for (int n = 0; n < BLOCK_K / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            // your code goes here (about 4 lines): as in weigh_keys(); row (r, h) is number i / 2
        }
    }
}

// A part of the main loop: what the tiles of keys last_tile, ..., first_tile add to dQ. When it begins,
// tile last_tile is on its way.
template <int d, int BLOCK_K, int THREADS, int masked>
__device__ __forceinline__ void walk_keys(float dQ_reg[GROUPS][d / 8][4],
                                          struct queries_smem smem,  // Q and dO of this warp
                                          const struct problem& p, const struct rows& of,
                                          int last_tile, int first_tile) {
#pragma unroll 1
    for (int tile = last_tile; tile >= first_tile; tile--) {
        int half = tile % 2 * BLOCK_K;
        float S[GROUPS][BLOCK_K / 8][4] = {};
        float dP[GROUPS][BLOCK_K / 8][4] = {};
        // your code goes here (about 2 lines): wait for this tile and for all threads
        // S = Q K^T,  dP = dO V^T                                               (README eq. 1, 4)
        multiply_transposed<d, BLOCK_K>(S, smem.Q, smem.K + half * d);
        if (tile > 0) {
            int other = (tile - 1) % 2 * BLOCK_K, first = (tile - 1) * BLOCK_K;
            copy_tile<d, BLOCK_K, THREADS>(smem.K + other * d, p.of[K], first, p.N_k);
            copy_tile<d, BLOCK_K, THREADS>(smem.V + other * d, p.of[V], first, p.N_k);
        }
        multiply_transposed<d, BLOCK_K>(dP, smem.dO, smem.V + half * d);
        weigh_queries<BLOCK_K, masked>(dP, S, of, p.scale * LOG2_E, tile * BLOCK_K);
        // dQ += dS K  (scale comes at the end)                                      (README eq. 8)
        multiply_registers<d, BLOCK_K, d>(dQ_reg, dP, smem.K + half * d);
    }
}

// Grid (ceil(N_q / BLOCK_Q), B * H), block BLOCK_Q threads: 32 for every 32 queries; a struct queries_smem of
// dynamic shared memory. The template parameters: tiles.h.
template <int d, int BLOCK_Q, int BLOCK_K, int BLOCKS>
__global__ void __launch_bounds__(BLOCK_Q, BLOCKS) dq_kernel(const struct problem all_heads) {
    extern __shared__ uint4 memory[];
    struct queries_smem smem;
    smem.Q = (bf16*)memory;
    smem.dO = smem.Q + BLOCK_Q * d;
    smem.K = smem.dO + BLOCK_Q * d;
    smem.V = smem.K + 2 * BLOCK_K * d;

    int block;  // with a mask the last queries see most keys
    struct problem p = of_head(all_heads, pick_work(&block, all_heads.causal));
    int first_row = (gridDim.x - 1 - block) * BLOCK_Q;  // [0, N_q)
    int n_rows = p.N_q - first_row < BLOCK_Q ? p.N_q - first_row : BLOCK_Q;
    int warp_row = threadIdx.x / 32 * ROWS;  // the warp's first row in the block

    // Tiles [0, whole) are seen by all rows of the block, [whole, tiles) by some in part, the rest by none.
    int whole = keys_seen(first_row, p.N_q, p.N_k, p.causal) / BLOCK_K;
    int tiles = CEIL_DIV(keys_seen(first_row + n_rows - 1, p.N_q, p.N_k, p.causal), BLOCK_K);
    struct rows of;
#pragma unroll
    for (int i = 0; i < 2 * GROUPS; i++) {
        int n = warp_row + threadIdx.x % 32 / 4 + 8 * i;
        of.visible[i] = keys_seen(first_row + n, p.N_q, p.N_k, p.causal);
        of.base[i] = n < n_rows ? p.LSE[first_row + n] * LOG2_E : 0.0f;
        of.delta[i] = n < n_rows ? p.delta[first_row + n] : 0.0f;
    }

    copy_tile<d, BLOCK_Q, BLOCK_Q>(smem.Q, p.of[Q], first_row, p.N_q);
    copy_tile<d, BLOCK_Q, BLOCK_Q>(smem.dO, p.of[dO], first_row, p.N_q);
    int half = (tiles + 1) % 2 * BLOCK_K, first = (tiles - 1) * BLOCK_K;  // of the last tile
    if (tiles > 0) copy_tile<d, BLOCK_K, BLOCK_Q>(smem.K + half * d, p.of[K], first, p.N_k);
    if (tiles > 0) copy_tile<d, BLOCK_K, BLOCK_Q>(smem.V + half * d, p.of[V], first, p.N_k);

    float dQ_reg[GROUPS][d / 8][4] = {};
    smem.Q += warp_row * d;
    smem.dO += warp_row * d;
    walk_keys<d, BLOCK_K, BLOCK_Q, 1>(dQ_reg, smem, p, of, tiles - 1, whole);
    walk_keys<d, BLOCK_K, BLOCK_Q, 0>(dQ_reg, smem, p, of, whole - 1, 0);

    cp_async_wait_all();  // with no tile at all, Q is still on its way
    __syncthreads();      // all threads' copies of Q are here before dQ takes its place
    store<d, d>(p.of[dQ], first_row + warp_row, p.N_q, 0, smem.Q, dQ_reg, p.scale);
}

// ---- launcher ------------------------------------------------------------------------------

// The three kernels, with a line of tiles.h.
template <int d, int BLOCK_K, int TILE_Q, int SHARES, int BLOCKS_K, int BLOCK_Q, int TILE_K,
          int BLOCKS_Q>
static int launch(const struct problem* p, int heads) {
    void (*dk_dv)(struct problem) = dk_dv_kernel<d, BLOCK_K, TILE_Q, SHARES, BLOCKS_K>;
    void (*dq)(struct problem) = dq_kernel<d, BLOCK_Q, TILE_K, BLOCKS_Q>;
    int bytes_k = 2 * (2 * BLOCK_K + 4 * TILE_Q) * d + 16 * TILE_Q +
                  (SHARES > 1 ? 4 * BLOCK_K * TILE_Q : 0);  // struct keys_smem
    int bytes_q = 2 * (2 * BLOCK_Q + 4 * TILE_K) * d;       // struct queries_smem
    enum cudaFuncAttribute limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    COURSE_TRY(cudaFuncSetAttribute(dk_dv, limit, bytes_k));
    COURSE_TRY(cudaFuncSetAttribute(dq, limit, bytes_q));
    dim3 rows(CEIL_DIV(p->N_q, DELTA_ROWS), heads);
    dim3 keys(CEIL_DIV(p->N_k, BLOCK_K), heads);
    dim3 queries(CEIL_DIV(p->N_q, BLOCK_Q), heads);
    if (p->N_q > 0) delta_kernel<<<rows, 16 * DELTA_ROWS>>>(*p, d);
    if (p->N_k > 0) dk_dv<<<keys, BLOCK_K * SHARES, bytes_k>>>(*p);
    if (p->N_q > 0) dq<<<queries, BLOCK_Q, bytes_q>>>(*p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int
flash_backward_split(bf16* dQ_gpu, bf16* dK_gpu, bf16* dV_gpu, const bf16* Q_gpu, const bf16* K_gpu,
                     const bf16* V_gpu, const bf16* O_gpu, const float* LSE_gpu, const bf16* dO_gpu,
                     int B, int N_q, int N_k, int H, int d, struct strides stride_dq,
                     struct strides stride_dk, struct strides stride_dv, struct strides stride_q,
                     struct strides stride_k, struct strides stride_v, struct strides stride_o,
                     struct strides stride_do, float scale, int causal, void* workspace_gpu) {
    const bf16* const arrays[] = {dK_gpu, dV_gpu, K_gpu, V_gpu, dQ_gpu, Q_gpu, O_gpu, dO_gpu};
    const struct strides strides[] = {stride_dk, stride_dv, stride_k, stride_v,
                                      stride_dq, stride_q,  stride_o, stride_do};
    if (B < 0 || N_q < 0 || N_k < 0 || H < 0 || d < 1) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || (int64_t)B * H > MAX_GRID_Y) return COURSE_UNSUPPORTED;
    for (int a = 0; a < ARRAYS; a++)  // no stride is negative, and rows do not overlap
        if (strides[a].b < 0 || strides[a].h < 0 || strides[a].n < d) return COURSE_BAD_ARGUMENT;
    if (B == 0 || H == 0) return COURSE_OK;
    if (N_q > 0 && (!LSE_gpu || !workspace_gpu)) return COURSE_BAD_ARGUMENT;
    for (int a = 0; a < ARRAYS; a++)
        if ((a <= V ? N_k : N_q) > 0 && !arrays[a]) return COURSE_BAD_ARGUMENT;
    struct problem p = {{}, LSE_gpu, (float*)workspace_gpu, N_q, N_k, H, causal, scale};
    for (int a = 0; a < ARRAYS; a++) {
        p.of[a] = {(bf16*)arrays[a], strides[a]};
        if ((uintptr_t)arrays[a] % 16 || (strides[a].b | strides[a].n | strides[a].h) % PIECE)
            return COURSE_UNSUPPORTED;  // a row that does not begin at a multiple of 16 bytes
    }
    if (d == 64)
        return causal ? launch<64, TILES_64_CAUSAL>(&p, B * H) : launch<64, TILES_64>(&p, B * H);
    return causal ? launch<128, TILES_128_CAUSAL>(&p, B * H) : launch<128, TILES_128>(&p, B * H);
}
