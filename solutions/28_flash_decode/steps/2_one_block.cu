// 2_one_block.cu: a block for each key head of each sequence walks through all its keys.
//
// All heads of a group share what the block reads, as in step 1. A tile has 16 rows, the fewest
// that mma.sync takes, and belongs to one warp: no warp waits for another, and each has two tiles
// of keys under way. But with 4 sequences and 8 key heads there are 32 blocks for the 132
// multiprocessors of an H200: three of four have nothing to do, and a block alone cannot ask for as
// many bytes as its multiprocessor could receive.
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
    int page_size, max_pages, N_q, H_q, H_k;
    float scale;
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

// What a block works on: all tiles of one key head of a sequence, for packed rows from
// first_row on. Its warps take turns at them.
struct work {
    int batch, key_head, length;
    int first_row, n_rows;  // of the tile's rows n_rows exist
    int end;                // tiles [0, end)
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

template <class T> __device__ __forceinline__ struct work work_of(const struct decode& p) {
    struct work w = {};
    int group = p.H_q / p.H_k;
    w.batch = blockIdx.x / p.H_k;
    w.key_head = blockIdx.x % p.H_k;
    w.length = p.lengths[w.batch];
    w.first_row = blockIdx.y * ROWS_OF_TILE;
    w.n_rows = min(p.N_q * group - w.first_row, (int)ROWS_OF_TILE);
    w.end = CEIL_DIV(w.length, T::KEYS);
    return w;
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
#pragma unroll
    for (int first = 0; first < T::KEYS; first += PAGE_UNIT) {
        int key = tile * T::KEYS + first;
        int64_t at = 0;  // of key n of these 16, in K and V
        if (key < w.length) {
            const int* pages = p.table + (int64_t)w.batch * p.max_pages;
            int page = pages[key / p.page_size], slot = key % p.page_size;
            at = (((int64_t)page * p.H_k + w.key_head) * p.page_size + slot + n) * T::d + x;
        }
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

// Grid (B * H_k, ceil(N_q * group / 16)), block THREADS, shared memory: a struct decode_smem.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) decode_kernel(const struct decode p) {
    extern __shared__ uint4 memory[];
    struct decode_smem<T>& smem = *(struct decode_smem<T>*)memory;
    struct parts_smem<T>& parts = *(struct parts_smem<T>*)memory;
    const int d = T::d, WARPS = T::WARPS, STAGES = T::STAGES;
    const int COLUMNS = d / 4;  // threads that share a row when parts are merged
    const struct work w = work_of<T>(p);
    int lane = threadIdx.x % 32, warp_index = threadIdx.x / 32;

    bf16(*K)[T::KEYS * d] = smem.K[warp_index];
    bf16(*V)[T::KEYS * d] = smem.V[warp_index];
    int tile = warp_index;
    bf16* Q_smem = smem.K[0][STAGES - 1];
    copy_queries<T>(Q_smem, p, w);
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        int ahead = tile + stage * WARPS;
        if (ahead < w.end) copy_keys<T>(K[stage], V[stage], p, w, ahead);
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
        if (ahead < w.end) copy_keys<T>(K[next], V[next], p, w, ahead);
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

    int x = threadIdx.x % COLUMNS * 4;
    for (int r = threadIdx.x / COLUMNS; r < w.n_rows; r += T::THREADS / COLUMNS) {
        float m;
        float4 O = merge(&parts.O[r][0][x], parts.m[r], WARPS, d, &m);
        store(p, w, r, x, d, O, m);
    }
}

// ---- launcher ------------------------------------------------------------------------------

template <class T> static int launch(const struct decode& p, int B) {
    int bytes = sizeof(struct decode_smem<T>);
    COURSE_TRY(
        cudaFuncSetAttribute(decode_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 grid(B * p.H_k, CEIL_DIV(p.N_q * (p.H_q / p.H_k), ROWS_OF_TILE));
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

    struct decode p = {O_gpu,       LSE_gpu,        Q_gpu,      K_pages_gpu,
                       V_pages_gpu, page_table_gpu, lengths_gpu};
    p.page_size = page_size, p.max_pages = max_pages, p.N_q = N_q, p.H_q = H_q, p.H_k = H_k;
    p.scale = scale;
    return d == 64 ? launch<decode_64>(p, B) : launch<decode_128>(p, B);
}
