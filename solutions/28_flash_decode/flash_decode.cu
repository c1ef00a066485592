// flash_decode.cu: attention of 1 to 8 new queries over a long cache of keys in pages.
//
//     O = softmax(scale Q K^T) V        and of parts s of the keys:
//
//     O = sum_s w_s O_s / sum_s w_s,    LSE = M + ln sum_s w_s,    w_s = exp(LSE_s - M)
//
// A block takes some of the keys of one key head of one sequence, and all query heads that share
// them: these are the rows of its tiles (lesson 17). Its warps take turns at tiles of KEYS keys,
// each with copies, softmax and sums of its own, so that nobody waits for anybody in the loop:
//
//     keys       0 ........................................................ length
//     blocks     |  split 0          |  split 1          |  split 2        |
//     warps      |0 1 2 3 0 1 2 3 0 1|0 1 2 3 0 1 2 3 0 1|0 1 2 3 0 1 2 3 0|
//                          v                  v                 v
//     merged     warps: in shared memory, by the block; blocks: in the workspace, by that block
//                of a head which finishes last. It draws the last ticket.
//
// The versions on the way, in steps/:
//     1_one_block.cu     a block for each key head: it walks through all keys (lesson 17)
//     2_two_kernels.cu   the keys are split; a second kernel merges
//
// Flash-Decoding (Dao and others 2023), PagedAttention (Kwon and others 2023). Equation numbers are
// those of the lesson's README.
#include "flash_decode.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum {
    ROWS_OF_TILE = 16,  // (query, head of the group) pairs, the M of mma.sync
    PAGE_UNIT = 16,     // a page has a multiple of so many keys
    MAX_QUERIES = 8,
    MAX_SLOTS = 1 << 30,  // of a sequence: indices of keys fit into an int
};

// The sizes of a kernel. The state of a warp is that of lesson 14 for 16 rows and KEYS keys.
template <int head_dim, int keys, int warps, int stages, int blocks> struct decode_tiles {
    enum {
        d = head_dim,
        KEYS = keys,      // of a tile, which belongs to one warp
        WARPS = warps,    // of a block
        STAGES = stages,  // tiles of a warp in shared memory, all but one on their way
        BLOCKS = blocks,  // on a multiprocessor
        THREADS = 32 * WARPS,
    };
    typedef forward_tiles<head_dim, ROWS_OF_TILE, keys, 1, 1, blocks> tile;
    static_assert(KEYS % PAGE_UNIT == 0, "16 keys of a tile are in one page");
};

typedef decode_tiles<64, 32, 4, 3, 3> decode_64;
typedef decode_tiles<128, 16, 4, 3, 2> decode_128;

// What the kernel works on: the launcher's arguments.
struct decode {
    bf16* O;                     // (B, N_q, H_q, d)
    float* LSE;                  // (B, H_q, N_q)
    const bf16* Q;               // (B, N_q, H_q, d)
    const bf16 *K, *V;           // (pages, H_k, page_size, d)
    const int *table, *lengths;  // (B, max_pages), (B)
    int page_size, max_pages, N_q, H_q, H_k;
    float scale;
    int* tickets;    // (B, H_q)
    float* O_parts;  // (B, H_q, N_q, splits, d)
    float* m_parts;  // (B, H_q, N_q, splits): LSE in base 2
};

// Tiles of the two stages of a warp; when the loop is done, what the warps have found takes their
// place.
template <class T> struct decode_smem {
    bf16 K[T::WARPS][T::STAGES][T::KEYS * T::d];
    bf16 V[T::WARPS][T::STAGES][T::KEYS * T::d];
};
template <class T> struct parts_smem {
    float O[ROWS_OF_TILE][T::WARPS][T::d];
    float m[ROWS_OF_TILE][T::WARPS];
};

// ---- device helpers ------------------------------------------------------------------------

// What a block works on: tiles [first, end) of one key head of a sequence, for packed rows from
// first_row on.
struct work {
    int batch, key_head, length;
    int first_row, n_rows;  // of the tile's rows n_rows exist
    int first, end;         // tiles
    int split, splits;      // which part of how many that have any keys; at least one
};

// Row r of the tile is this query of this head: a group's heads of a query are neighbours.
__device__ __forceinline__ int query_of(const struct work& w, int group, int r) {
    return (w.first_row + r) / group;
}
__device__ __forceinline__ int head_of_row(const struct work& w, int group, int r) {
    return w.key_head * group + (w.first_row + r) % group;
}

// Splits the keys evenly, in whole tiles; the last splits of a short sequence may have none.
//                                                                                   (README eq. 3)
template <class T> __device__ __forceinline__ struct work work_of(const struct decode& p) {
    struct work w = {};
    int group = p.H_q / p.H_k;
    w.batch = blockIdx.y / p.H_k;
    w.key_head = blockIdx.y % p.H_k;
    w.length = p.lengths[w.batch];
    w.first_row = blockIdx.z * ROWS_OF_TILE;
    w.n_rows = min(p.N_q * group - w.first_row, (int)ROWS_OF_TILE);
    w.split = blockIdx.x;
    int tiles = CEIL_DIV(w.length, T::KEYS);
    int of_a_split = CEIL_DIV(tiles, (int)gridDim.x);
    w.first = w.split * of_a_split;
    w.end = min(w.first + of_a_split, tiles);
    w.splits = tiles > 0 ? CEIL_DIV(tiles, of_a_split) : 1;
    return w;
}

// Starts to copy a tile of K and of V into a warp's stage, by its lanes: 16 keys lie in one page.
// What is behind the last key becomes zeros and is not read: NaN there times a weight of 0 is NaN.
//                                                                                   (README eq. 1)
template <class T>
__device__ __forceinline__ void copy_keys(bf16* K_tile, bf16* V_tile, const struct decode& p,
                                          const struct work& w, int tile) {
    const int PIECES = T::d / PIECE;  // in a row
    const int ROWS_AT_ONCE = 32 / PIECES;
    int lane = threadIdx.x % 32;
    int n = lane / PIECES, x = lane % PIECES * PIECE;
    const int* pages = p.table + (int64_t)w.batch * p.max_pages;
#pragma unroll
    for (int first = 0; first < T::KEYS; first += PAGE_UNIT) {
        int key = tile * T::KEYS + first;
        if (key >= w.length) key = 0;  // any that exists: nothing is read
        int page = pages[key / p.page_size], slot = key % p.page_size;
        int64_t at = (((int64_t)page * p.H_k + w.key_head) * p.page_size + slot + n) * T::d + x;
#pragma unroll
        for (int r = 0; r < PAGE_UNIT; r += ROWS_AT_ONCE) {
            int used = tile * T::KEYS + first + r + n < w.length ? 16 : 0;
            int to = swizzled<T::d>(first + r + n, x);
            cp_async16_zfill(&K_tile[to], p.K + at + r * T::d, used);
            cp_async16_zfill(&V_tile[to], p.V + at + r * T::d, used);
        }
    }
}

// What `count` parts of a row add up to, in four of its columns; their LSE, in base 2, is *m.
//     M = max_s m_s,  w_s = 2^(m_s - M)
//     O = sum_s w_s O_s / sum_s w_s,  m = M + log2 sum_s w_s                        (README eq. 2)
// A part that saw no key has m_s = -infinity and no weight; if none saw any, O is 0.
__device__ __forceinline__ float4 merge(const float* O,       // (count, d), from the first column
                                        const float* m_part,  // (count)
                                        int count, int d, float* m) {
    float M = -INFINITY, sum = 0.0f;
    float4 total = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int s = 0; s < count; s++) M = fmaxf(M, m_part[s]);
#pragma unroll 4
    for (int s = 0; s < count; s++) {
        float weight = M == -INFINITY ? 0.0f : exp2_approx(m_part[s] - M);
        float4 part = *(const float4*)&O[(int64_t)s * d];
        sum += weight;
        total.x += weight * part.x, total.y += weight * part.y;
        total.z += weight * part.z, total.w += weight * part.w;
    }
    float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
    *m = M + log2f(sum);
    return {total.x * factor, total.y * factor, total.z * factor, total.w * factor};
}

// Stores four columns of a row of O, and LSE with the first of them.
__device__ __forceinline__ void store(const struct decode& p, const struct work& w, int r, int x,
                                      int d, float4 O, float m) {
    int group = p.H_q / p.H_k, query = query_of(w, group, r), head = head_of_row(w, group, r);
    int64_t row = ((int64_t)w.batch * p.N_q + query) * p.H_q + head;
    *(uint2*)&p.O[row * d + x] = {pack_bf16(O.x, O.y), pack_bf16(O.z, O.w)};
    if (x == 0) p.LSE[((int64_t)w.batch * p.H_q + head) * p.N_q + query] = m * LN_2;
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (splits, B * H_k, ceil(N_q * group / 16)), block THREADS, shared memory: a struct
// decode_smem.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) decode_kernel(const struct decode p) {
    extern __shared__ uint4 memory[];
    struct decode_smem<T>& smem = *(struct decode_smem<T>*)memory;
    struct parts_smem<T>& parts = *(struct parts_smem<T>*)memory;
    __shared__ bf16 Q_smem[ROWS_OF_TILE * T::d];
    __shared__ int is_last;
    const int d = T::d, WARPS = T::WARPS, STAGES = T::STAGES;
    const int COLUMNS = d / 4;  // threads that share a row when parts are merged
    const struct work w = work_of<T>(p);
    if (w.split >= w.splits) return;  // the whole block: nobody waits for its ticket
    int lane = threadIdx.x % 32, warp_index = threadIdx.x / 32;
    int group = p.H_q / p.H_k;

    for (int e = threadIdx.x * PIECE; e < ROWS_OF_TILE * d; e += T::THREADS * PIECE) {
        int r = e / d, x = e % d;
        int64_t row =
            ((int64_t)w.batch * p.N_q + query_of(w, group, r)) * p.H_q + head_of_row(w, group, r);
        uint4 piece = {0, 0, 0, 0};
        if (r < w.n_rows) piece = *(const uint4*)&p.Q[row * d + x];
        *(uint4*)&Q_smem[swizzled<d>(r, x)] = piece;
    }

    // This warp's tiles are w.first + warp_index, and every WARPS-th after it.
    bf16(*K)[T::KEYS * d] = smem.K[warp_index];
    bf16(*V)[T::KEYS * d] = smem.V[warp_index];
    int tile = w.first + warp_index;
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        int ahead = tile + stage * WARPS;
        if (ahead < w.end) copy_keys<T>(K[stage], V[stage], p, w, ahead);
        cp_async_commit();
    }
    __syncthreads();  // Q is written before anybody reads it

    struct state<typename T::tile> warp = {};
    int hidden_from = w.length + 1 - p.N_q;  // query 0 sees the keys before this one
#pragma unroll
    for (int h = 0; h < 2; h++) {
        warp.m[0][h] = -INFINITY;
        warp.visible[0][h] = hidden_from + query_of(w, group, lane / 4 + 8 * h);
    }
#pragma unroll
    for (int x = 0; x < d; x += 16) load_A<d>(warp.Q[0][x / 16], Q_smem, 0, x);

    float c = p.scale * LOG2_E;
    int stage = 0;
#pragma unroll 1
    for (; tile < w.end; tile += WARPS) {
        cp_async_wait<STAGES - 2>();
        // K and V of the tile are here, of all lanes; and all lanes have read the tile before,
        // whose place is filled next
        __syncwarp();
        int next = stage == 0 ? STAGES - 1 : stage - 1, ahead = tile + (STAGES - 1) * WARPS;
        if (ahead < w.end) copy_keys<T>(K[next], V[next], p, w, ahead);
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, Q_smem, K[stage]);
        if ((tile + 1) * T::KEYS > hidden_from) mask(warp, tile * T::KEYS);
        rescale<1>(warp, c);
        multiply_PV(warp, c, V[stage]);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    cp_async_wait_all();
    __syncthreads();  // all warps have read their tiles before parts take their place

    // O_s = O / l,  m_s = m + log2 l of this warp's keys
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int r = lane / 4 + 8 * h;
        float l = quad_sum(warp.l[0][h]);
        float factor = l > 0.0f ? 1.0f / l : 0.0f;
        if (r >= w.n_rows) continue;
#pragma unroll
        for (int n = 0; n < d / 8; n++)
            *(float2*)&parts.O[r][warp_index][8 * n + lane % 4 * 2] = {
                warp.O[0][n][2 * h] * factor, warp.O[0][n][2 * h + 1] * factor};
        if (lane % 4 == 0) parts.m[r][warp_index] = warp.m[0][h] + log2f(l);
    }
    __syncthreads();  // the parts of all warps are there before anybody merges them

    // The parts of the warps become one part of the row; if it is the only one, that is all.
    int64_t unit = ((int64_t)w.batch * p.H_q + w.key_head * group) * p.N_q + w.first_row;
    int x = threadIdx.x % COLUMNS * 4;
    for (int r = threadIdx.x / COLUMNS; r < w.n_rows; r += T::THREADS / COLUMNS) {
        float m;
        float4 O = merge(&parts.O[r][0][x], parts.m[r], WARPS, d, &m);
        if (w.splits == 1) {
            store(p, w, r, x, d, O, m);
            continue;
        }
        int64_t at = (unit + r) * gridDim.x + w.split;
        *(float4*)&p.O_parts[at * d + x] = O;
        if (x == 0) p.m_parts[at] = m;
    }
    if (w.splits == 1) return;

    // Whose ticket is the last one merges the parts of all.                         (README eq. 2)
    __threadfence();  // this thread's part is seen by all blocks before the block's ticket is
    __syncthreads();  // all threads of the block have come so far before one draws the ticket
    int* ticket = &p.tickets[(int64_t)w.batch * p.H_q + w.key_head * group + blockIdx.z];
    if (threadIdx.x == 0) {
        is_last = atomicAdd(ticket, 1) == w.splits - 1;
        if (is_last) *ticket = 0;  // for the next call
    }
    __syncthreads();  // is_last is written before anybody reads it
    if (!is_last) return;
    __threadfence();  // the tickets of the others come before the parts that are read now
    for (int r = threadIdx.x / COLUMNS; r < w.n_rows; r += T::THREADS / COLUMNS) {
        float m;
        int64_t at = (unit + r) * gridDim.x;
        float4 O = merge(&p.O_parts[at * d + x], &p.m_parts[at], w.splits, d, &m);
        store(p, w, r, x, d, O, m);
    }
}

// ---- launcher ------------------------------------------------------------------------------

// Into how many parts the keys of a head are split: as few as fill the multiprocessors. `blocks`
// have to run for each split, `at_once` blocks can run at a time, and no more than `most` splits
// are possible.                                                                     (README eq. 4)
static int splits_of(int64_t blocks, int64_t at_once, int64_t most) {
    int64_t best = 1;
    double best_share = 0.0;  // of the time in which a multiprocessor has work
    for (int64_t splits = 1; splits <= most && splits * blocks <= 4 * at_once + blocks; splits++) {
        int64_t waves = CEIL_DIV(splits * blocks, at_once);
        double share = (double)(splits * blocks) / (double)(waves * at_once);
        if (share > best_share + 0.03) best = splits, best_share = share;
    }
    return (int)best;
}

template <class T> static int launch(const struct decode& arguments, int B) {
    struct decode p = arguments;
    int bytes = sizeof(struct decode_smem<T>), device = 0, multiprocessors = 0, blocks = 0;
    COURSE_TRY(
        cudaFuncSetAttribute(decode_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    COURSE_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, decode_kernel<T>, T::THREADS,
                                                             bytes));
    int row_tiles = CEIL_DIV(p.N_q * (p.H_q / p.H_k), ROWS_OF_TILE);
    int64_t tiles = CEIL_DIV((int64_t)p.page_size * p.max_pages, T::KEYS * T::WARPS);
    int64_t most = min((int64_t)flash_decode_most_splits(B, p.H_k), max(tiles, (int64_t)1));
    int splits = splits_of((int64_t)B * p.H_k * row_tiles, (int64_t)multiprocessors * blocks, most);
    p.m_parts = p.O_parts + (int64_t)B * p.H_q * p.N_q * splits * T::d;
    dim3 grid(splits, B * p.H_k, row_tiles);
    decode_kernel<T><<<grid, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}

extern "C" int flash_decode(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_pages_gpu,
                            const bf16* V_pages_gpu, const int* page_table_gpu,
                            const int* lengths_gpu, int page_size, int max_pages, int B, int N_q,
                            int H_q, int H_k, int d, float scale, int* tickets_gpu,
                            void* workspace_gpu) {
    if (B < 0 || N_q < 0 || H_q < 0 || H_k < 0 || max_pages < 0 || d < 1 || page_size < 1)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || page_size % PAGE_UNIT != 0 || N_q > MAX_QUERIES ||
        (int64_t)B * H_q > MAX_GRID_Y || (int64_t)page_size * max_pages > MAX_SLOTS || !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !lengths_gpu || !tickets_gpu || !workspace_gpu)
        return COURSE_BAD_ARGUMENT;
    if (max_pages > 0 && (!K_pages_gpu || !V_pages_gpu || !page_table_gpu))
        return COURSE_BAD_ARGUMENT;
    if (((uintptr_t)O_gpu | (uintptr_t)LSE_gpu | (uintptr_t)Q_gpu | (uintptr_t)K_pages_gpu |
         (uintptr_t)V_pages_gpu | (uintptr_t)workspace_gpu) %
        16)
        return COURSE_UNSUPPORTED;

    const struct decode p = {O_gpu,       LSE_gpu,     Q_gpu,
                             K_pages_gpu, V_pages_gpu, page_table_gpu,
                             lengths_gpu, page_size,   max_pages,
                             N_q,         H_q,         H_k,
                             scale,       tickets_gpu, (float*)workspace_gpu,
                             NULL};
    return d == 64 ? launch<decode_64>(p, B) : launch<decode_128>(p, B);
}
