// 3_contiguous.cu: the keys of a head are split over blocks if they lie one behind the other.
//
// A cache of one page for each sequence is an array with room for the longest text: Flash-Decoding
// without pages. The page is looked up once, and key j is d elements behind key j - 1. A second
// kernel merges the parts. A sequence of several pages is not split: one block walks through them,
// as in step 2. Step 4 looks the page up for every 16 keys, and then pages are split as well.
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
    static_assert(keys >= ROWS_OF_TILE, "Q has room where a tile of K will be");
    static_assert(stages * keys >= 2 * ROWS_OF_TILE, "so have the parts of the warps, in fp32");
};

typedef decode_tiles<64, 32, 4, 3, 2> decode_64;
typedef decode_tiles<128, 16, 4, 3, 2> decode_128;

// What the kernel works on: the launcher's arguments.
struct decode {
    bf16* O;                     // (B, N_q, H_q, d)
    float* LSE;                  // (B, H_q, N_q)
    const bf16* Q;               // (B, N_q, H_q, d)
    const bf16 *K, *V;           // (pages, H_k, page_size, d)
    const int *table, *lengths;  // (B, max_pages), (B)
    int page_size, max_pages, N_q, H_q, H_k, splits;
    float scale;
    float* O_parts;  // (B, H_q, N_q, splits, d)
    float* m_parts;  // (B, H_q, N_q, splits): LSE in base 2
};

// The tiles of the warps. In the beginning Q is in the place of a tile that is not on its way yet.
// When the loop is done, what the warps have found takes the place of all.
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
    int first, end;
    int split, splits;     // which part of how many that have keys; at least one
    int64_t first_key_at;  // in K and V: where key 0 begins, if the keys lie in one page
};

// Row r of the tile is this query of this head: a group's heads of a query are neighbours.
__device__ __forceinline__ int query_of(const struct decode& p, const struct work& w, int r) {
    return (w.first_row + r) / (p.H_q / p.H_k);
}
__device__ __forceinline__ int head_of_row(const struct decode& p, const struct work& w, int r) {
    int group = p.H_q / p.H_k;
    return w.key_head * group + (w.first_row + r) % group;
}

// Which row of Q and O it is, and where its LSE is.
__device__ __forceinline__ int64_t place_of_row(const struct decode& p, const struct work& w,
                                                int r) {
    return ((int64_t)w.batch * p.N_q + query_of(p, w, r)) * p.H_q + head_of_row(p, w, r);
}
__device__ __forceinline__ int64_t place_of_LSE(const struct decode& p, const struct work& w,
                                                int r) {
    return ((int64_t)w.batch * p.H_q + head_of_row(p, w, r)) * p.N_q + query_of(p, w, r);
}

// Every split has as many tiles, so many for each warp; the last ones of a short sequence may have
// none.                                                                             (README eq. 3)
template <class T>
__device__ __forceinline__ struct work work_of(const struct decode& p, int split, int head,
                                               int row_tile) {
    struct work w = {};
    int group = p.H_q / p.H_k;
    w.batch = head / p.H_k;
    w.key_head = head % p.H_k;
    w.length = p.lengths[w.batch];
    w.first_row = row_tile * ROWS_OF_TILE;
    w.n_rows = min(p.N_q * group - w.first_row, (int)ROWS_OF_TILE);
    w.split = split;
    w.splits = 1;
    int tiles = CEIL_DIV(w.length, T::KEYS);
    int share = CEIL_DIV(tiles, p.splits * T::WARPS) * T::WARPS;
    if (tiles > 0) w.splits = CEIL_DIV(tiles, share);
    w.first = w.split * share;
    w.end = min(w.first + share, tiles);
    return w;
}

// The number of part s of row r, of all parts of all rows.
__device__ __forceinline__ int64_t part_of(const struct decode& p, const struct work& w, int r,
                                           int s) {
    int first_head = w.batch * p.H_q + w.key_head * (p.H_q / p.H_k);
    return ((int64_t)first_head * p.N_q + w.first_row + r) * p.splits + s;
}

// Starts to copy the rows of Q; those that do not exist become zeros.
template <class T>
__device__ __forceinline__ void copy_queries(bf16* Q_tile, const struct decode& p,
                                             const struct work& w) {
    for (int e = threadIdx.x * PIECE; e < ROWS_OF_TILE * T::d; e += T::THREADS * PIECE) {
        int r = e / T::d, x = e % T::d;
        cp_async16_zfill(&Q_tile[swizzled<T::d>(r, x)], p.Q + place_of_row(p, w, r) * T::d + x,
                         r < w.n_rows ? 16 : 0);
    }
}

// Where key `key` of the sequence begins in K and V.                                (README eq. 1)
template <int IN_ONE_PAGE>
__device__ __forceinline__ int64_t place_of_key(const struct decode& p, const struct work& w, int d,
                                                int key) {
    if (IN_ONE_PAGE) return w.first_key_at + (int64_t)key * d;
    int page = p.table[(int64_t)w.batch * p.max_pages + key / p.page_size];
    return (((int64_t)page * p.H_k + w.key_head) * p.page_size + key % p.page_size) * d;
}

// Starts to copy a tile of K and of V into a warp's stage, by its lanes: 16 keys lie in one page.
// What is behind the last key becomes zeros and is not read: NaN there times a weight of 0 is NaN.
template <class T, int IN_ONE_PAGE>
__device__ __forceinline__ void copy_keys(bf16* K_tile, bf16* V_tile, const struct decode& p,
                                          const struct work& w, int tile) {
    const int PIECES = T::d / PIECE;  // in a row
    const int ROWS_AT_ONCE = 32 / PIECES;
    int lane = threadIdx.x % 32;
    int n = lane / PIECES, x = lane % PIECES * PIECE;
#pragma unroll
    for (int first = 0; first < T::KEYS; first += PAGE_UNIT) {
        int key = tile * T::KEYS + first;
        int64_t at = 0;  // of key n of these 16, in K and V
        if (key < w.length) at = place_of_key<IN_ONE_PAGE>(p, w, T::d, key) + n * T::d + x;
#pragma unroll
        for (int operand = 0; operand < 2; operand++)
#pragma unroll
            for (int r = 0; r < PAGE_UNIT; r += ROWS_AT_ONCE)
                cp_async16_zfill(&(operand ? V_tile : K_tile)[swizzled<T::d>(first + r + n, x)],
                                 (operand ? p.V : p.K) + at + r * T::d,
                                 key + n + r < w.length ? 16 : 0);
    }
}

// What `count` parts of a row add up to, in four of its columns; their LSE, in base 2, is *m.
//     M = max_s m_s,  w_s = 2^(m_s - M)
//     O = sum_s w_s O_s / sum_s w_s,  m = M + log2 sum_s w_s                        (README eq. 2)
// In one pass: what was summed is moved to each new M (lesson 10). A part that saw no key has
// m_s = -infinity and no weight; if none saw any, O is 0.
__device__ __forceinline__ float4 merge(const float* O,       // (count, d), from the first column
                                        const float* m_part,  // (count)
                                        int count, int d, float* m) {
    float M = -INFINITY, sum = 0.0f;
    float4 total = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 8
    for (int s = 0; s < count; s++) {
        float4 part = *(const float4*)&O[(int64_t)s * d];
        float old = 1.0f, weight = 0.0f;
        float M_new = fmaxf(M, m_part[s]);
        float base = M_new == -INFINITY ? 0.0f : M_new;
        old = exp2_approx(M - base);
        weight = exp2_approx(m_part[s] - base);
        M = M_new;
        sum = old * sum + weight;
        total.x = old * total.x + weight * part.x, total.y = old * total.y + weight * part.y;
        total.z = old * total.z + weight * part.z, total.w = old * total.w + weight * part.w;
    }
    float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
    *m = M + log2f(sum);
    return {total.x * factor, total.y * factor, total.z * factor, total.w * factor};
}

// Stores four columns of a row of O, and LSE with the first of them.
__device__ __forceinline__ void store(const struct decode& p, const struct work& w, int r, int x,
                                      int d, float4 O, float m) {
    *(uint2*)&p.O[place_of_row(p, w, r) * d + x] = {pack_bf16(O.x, O.y), pack_bf16(O.z, O.w)};
    if (x == 0) p.LSE[place_of_LSE(p, w, r)] = m * LN_2;
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (splits, B * H_k, ceil(N_q * group / 16)), block THREADS, shared memory: a struct
// decode_smem.
template <class T, int IN_ONE_PAGE>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) decode_kernel(const struct decode p) {
    extern __shared__ uint4 memory[];
    struct decode_smem<T>& smem = *(struct decode_smem<T>*)memory;
    struct parts_smem<T>& parts = *(struct parts_smem<T>*)memory;
    const int d = T::d, WARPS = T::WARPS, STAGES = T::STAGES;
    const int COLUMNS = d / 4;  // threads that share a row when parts are merged
    struct work w = work_of<T>(p, blockIdx.x, blockIdx.y, blockIdx.z);
    if (w.split >= w.splits) return;  // the whole block
    if (IN_ONE_PAGE && w.length > 0) w.first_key_at = place_of_key<0>(p, w, d, 0);
    int lane = threadIdx.x % 32, warp_index = threadIdx.x / 32;

    bf16(*K)[T::KEYS * d] = smem.K[warp_index];
    bf16(*V)[T::KEYS * d] = smem.V[warp_index];
    int tile = w.first + warp_index;
    bf16* Q_smem = smem.K[0][STAGES - 1];
    copy_queries<T>(Q_smem, p, w);
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        int ahead = tile + stage * WARPS;
        if (ahead < w.end) copy_keys<T, IN_ONE_PAGE>(K[stage], V[stage], p, w, ahead);
        cp_async_commit();
    }
    cp_async_wait<STAGES - 2>();
    __syncthreads();  // Q of all threads is here before anybody reads it

    struct state<typename T::tile> warp = {};
    int hidden_from = w.length + 1 - p.N_q;  // query 0 sees the keys before this one
#pragma unroll
    for (int h = 0; h < 2; h++) {
        warp.m[0][h] = -INFINITY;
        warp.visible[0][h] = hidden_from + query_of(p, w, lane / 4 + 8 * h);
    }
#pragma unroll
    for (int x = 0; x < d; x += 16) load_A<d>(warp.Q[0][x / 16], Q_smem, 0, x);
    __syncthreads();  // all warps have read Q before a tile of K takes its place

    float c = p.scale * LOG2_E;
    int stage = 0;
#pragma unroll 1
    for (; tile < w.end; tile += WARPS) {
        cp_async_wait<STAGES - 2>();
        // K and V of the tile are here, of all lanes; and all lanes have read the tile before,
        // whose place is filled next
        __syncwarp();
        int next = stage == 0 ? STAGES - 1 : stage - 1, ahead = tile + (STAGES - 1) * WARPS;
        if (ahead < w.end) copy_keys<T, IN_ONE_PAGE>(K[next], V[next], p, w, ahead);
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, (const bf16*)NULL, K[stage]);  // Q is in registers
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
    int x = threadIdx.x % COLUMNS * 4;
    for (int r = threadIdx.x / COLUMNS; r < w.n_rows; r += T::THREADS / COLUMNS) {
        float m;
        float4 O = merge(&parts.O[r][0][x], parts.m[r], WARPS, d, &m);
        if (w.splits == 1) {
            store(p, w, r, x, d, O, m);
            continue;
        }
        int64_t part = part_of(p, w, r, w.split);
        *(float4*)&p.O_parts[part * d + x] = O;
        if (x == 0) p.m_parts[part] = m;
    }
}

// Grid (B * H_k, ceil(N_q * group / 16)), block THREADS: merges the parts of the rows of a tile.
template <class T> __global__ void merge_kernel(const struct decode p) {
    const int d = T::d, COLUMNS = d / 4;
    const struct work w = work_of<T>(p, 0, blockIdx.x, blockIdx.y);
    if (w.splits == 1) return;  // the first kernel has stored the results
    int x = threadIdx.x % COLUMNS * 4;
    for (int r = threadIdx.x / COLUMNS; r < w.n_rows; r += T::THREADS / COLUMNS) {
        float m;
        int64_t part = part_of(p, w, r, 0);
        float4 O = merge(&p.O_parts[part * d + x], &p.m_parts[part], w.splits, d, &m);
        store(p, w, r, x, d, O, m);
    }
}

// ---- launcher ------------------------------------------------------------------------------

// Into how many parts the keys of a head are split: `blocks` have to run for each part, and
// `wanted` shall run in all; from 1 to `most`.                                      (README eq. 4)
static int splits_of(int64_t blocks, int64_t wanted, int64_t most) {
    int64_t splits = 1;
    splits = wanted / blocks;
    if (splits > most) splits = most;
    if (splits < 1) splits = 1;
    return (int)splits;
}

template <class T, int IN_ONE_PAGE> static int launch(const struct decode& arguments, int B) {
    struct decode p = arguments;
    int bytes = sizeof(struct decode_smem<T>), device = 0, multiprocessors = 0, blocks = 0;
    COURSE_TRY(cudaFuncSetAttribute(decode_kernel<T, IN_ONE_PAGE>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    COURSE_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, decode_kernel<T, IN_ONE_PAGE>,
                                                             T::THREADS, bytes));
    int row_tiles = CEIL_DIV(p.N_q * (p.H_q / p.H_k), ROWS_OF_TILE);
    // Every warp of a part has a tile, if the sequence is as long as it may be.
    int64_t tiles = CEIL_DIV((int64_t)p.page_size * p.max_pages, T::KEYS * T::WARPS);
    int64_t most = min((int64_t)flash_decode_most_splits(B, p.H_k), max(tiles, (int64_t)1));
    int64_t at_once = (int64_t)multiprocessors * blocks;
    p.splits = IN_ONE_PAGE ? splits_of((int64_t)B * p.H_k * row_tiles, at_once, most) : 1;
    p.m_parts = p.O_parts + (int64_t)B * p.H_q * p.N_q * p.splits * T::d;
    dim3 grid(p.splits, B * p.H_k, row_tiles);
    decode_kernel<T, IN_ONE_PAGE><<<grid, T::THREADS, bytes>>>(p);
    COURSE_TRY(cudaGetLastError());
    if (p.splits == 1) return COURSE_OK;
    merge_kernel<T><<<dim3(B * p.H_k, row_tiles), T::THREADS>>>(p);
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

    struct decode p = {O_gpu,       LSE_gpu,        Q_gpu,      K_pages_gpu,
                       V_pages_gpu, page_table_gpu, lengths_gpu};
    p.page_size = page_size, p.max_pages = max_pages, p.N_q = N_q, p.H_q = H_q, p.H_k = H_k;
    p.scale = scale;
    p.O_parts = (float*)workspace_gpu;
    if (max_pages == 1) return d == 64 ? launch<decode_64, 1>(p, B) : launch<decode_128, 1>(p, B);
    return d == 64 ? launch<decode_64, 0>(p, B) : launch<decode_128, 0>(p, B);
}
