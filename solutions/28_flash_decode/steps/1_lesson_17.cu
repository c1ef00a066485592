// 1_lesson_17.cu: lesson 17's forward kernel, whose keys lie in pages, for one new query.
//
// A block for each key head of each sequence. All heads of the group are rows of its tile, so K and
// V are read once. But the tile has 64 rows, and one query with a group of 4 fills 4 of them: of
// the four warps three multiply zeros. All of them meet at two barriers for each tile of keys, and
// only one or two tiles are under way meanwhile.
#include "flash_decode.h"

#include <math.h>

#include "flash_tile.h"
#include "tile.h"

enum {
    PAGE_UNIT = 16,  // a page has a multiple of so many keys
    MAX_QUERIES = 8,
    MAX_SLOTS = 1 << 30,  // of a sequence: indices of keys fit into an int
};

// BLOCK_Q, BLOCK_K, warps, Q in registers, blocks on a multiprocessor: lesson 17's, with half as
// many rows, so that the addresses of pages find registers, too.
typedef forward_tiles<64, 64, 64, 4, 0, 2> decode_64;
typedef forward_tiles<128, 64, 64, 4, 0, 2> decode_128;

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

// ---- device helpers ------------------------------------------------------------------------

// What a block works on: all tiles of one key head of a sequence, for packed rows from
// first_row on.
struct work {
    int batch, key_head, length;
    int first_row, n_rows;  // of the tile's rows n_rows exist
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
    w.first_row = blockIdx.y * T::BLOCK_Q;
    w.n_rows = min(p.N_q * group - w.first_row, (int)T::BLOCK_Q);
    return w;
}

// Starts to copy the rows of Q; those that do not exist become zeros.
template <class T>
__device__ __forceinline__ void copy_rows(bf16* Q_tile, const struct decode& p,
                                          const struct work& w) {
#pragma unroll
    for (int e = threadIdx.x * PIECE; e < T::BLOCK_Q * T::d; e += T::THREADS * PIECE) {
        int r = e / T::d, x = e % T::d;
        int64_t row = r < w.n_rows ? place_of_row(p, w, r) : 0;
        cp_async16_zfill(&Q_tile[swizzled<T::d>(r, x)], p.Q + row * T::d + x,
                         r < w.n_rows ? 16 : 0);
    }
}

// Starts to copy a tile of K or V: 16 keys lie in one page. What is behind the last key becomes
// zeros and is not read: NaN there times a weight of 0 is NaN.                      (README eq. 1)
template <class T>
__device__ __forceinline__ void copy_keys(bf16* to,          // (BLOCK_K, d), swizzled
                                          const bf16* pool,  // K or V
                                          const struct decode& p, const struct work& w, int tile) {
    const int PIECES = T::d / PIECE;  // in a row
    const int ROWS_AT_ONCE = T::THREADS / PIECES;
    int n = threadIdx.x / PIECES, x = threadIdx.x % PIECES * PIECE;
#pragma unroll
    for (int first = 0; first < T::BLOCK_K; first += PAGE_UNIT) {
        int key = tile * T::BLOCK_K + first;
        const bf16* from = pool;
        if (key < w.length) {
            int page = p.table[(int64_t)w.batch * p.max_pages + key / p.page_size];
            int slot = key % p.page_size;
            from += (((int64_t)page * p.H_k + w.key_head) * p.page_size + slot + n) * T::d + x;
        }
#pragma unroll
        for (int r = 0; r < PAGE_UNIT; r += ROWS_AT_ONCE)
            cp_async16_zfill(&to[swizzled<T::d>(first + r + n, x)], from + r * T::d,
                             key + n + r < w.length ? 16 : 0);
    }
}

// O = O / l,  LSE = ln(2) (m + log2 l);  0 and -infinity for a row that saw no key
// The warp's rows are those from warp_row on. Few exist, so each pair is stored as it is.
template <class T>
__device__ __forceinline__ void store_rows(const struct decode& p, const struct work& w,
                                           const struct state<T>& warp, int warp_row) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        int r = warp_row + 8 * i + lane / 4;
        float sum = quad_sum(warp.l[i / 2][i % 2]);
        float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
        if (r >= w.n_rows) continue;
        bf16* O = p.O + place_of_row(p, w, r) * T::d + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < T::d / 8; n++) {
            const float* pair = &warp.O[i / 2][n][i % 2 * 2];
            *(unsigned*)&O[8 * n] = pack_bf16(pair[0] * factor, pair[1] * factor);
        }
        if (lane % 4 == 0)
            p.LSE[place_of_LSE(p, w, r)] = (warp.m[i / 2][i % 2] + log2f(sum)) * LN_2;
    }
}

// ---- GPU kernel ----------------------------------------------------------------------------

// Grid (B * H_k, ceil(N_q * group / BLOCK_Q)), block THREADS, a struct buffers of shared memory.
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) decode_kernel(const struct decode p) {
    extern __shared__ uint4 memory[];
    struct buffers<T>& smem = *(struct buffers<T>*)memory;
    const struct work w = work_of<T>(p);
    int tiles = CEIL_DIV(w.length, T::BLOCK_K);
    int warp_row = threadIdx.x / 32 * T::ROWS;  // the warp's first in the block

    struct state<T> warp = {};
    int hidden_from = w.length + 1 - p.N_q;  // query 0 sees the keys before this one
#pragma unroll
    for (int i = 0; i < 2 * T::GROUPS; i++) {
        int r = warp_row + 8 * i + threadIdx.x % 32 / 4;
        warp.m[i / 2][i % 2] = -INFINITY;
        warp.visible[i / 2][i % 2] = hidden_from + query_of(p, w, r);
    }

    copy_rows<T>(smem.Q, p, w);
    if (tiles > 0) copy_keys<T>(smem.K[(tiles - 1) % 2], p.K, p, w, tiles - 1);
    cp_async_commit();
    bf16* Q_warp = smem.Q + warp_row * T::d;

    float c = p.scale * LOG2_E;
#pragma unroll 1
    for (int tile = tiles - 1; tile >= 0; tile--) {
        cp_async_wait<0>();
        // Q and K(tile) of all threads are here; and all have read V(tile + 1) and K(tile + 1),
        // whose places are filled next
        __syncthreads();
        copy_keys<T>(smem.V, p.V, p, w, tile);
        cp_async_commit();
        if (tile > 0) copy_keys<T>(smem.K[(tile + 1) % 2], p.K, p, w, tile - 1);
        cp_async_commit();  // with no tile left a group of nothing: who waits counts groups
        multiply_QK(warp, Q_warp, smem.K[tile % 2]);
        if ((tile + 1) * T::BLOCK_K > hidden_from) mask(warp, tile * T::BLOCK_K);
        rescale<1>(warp, c);
        cp_async_wait<1>();
        __syncthreads();  // V(tile) of all threads is here before anybody reads it
        multiply_PV(warp, c, smem.V);
    }
    cp_async_wait_all();
    store_rows(p, w, warp, warp_row);
}

// ---- launcher ------------------------------------------------------------------------------

template <class T> static int launch(const struct decode& p, int B) {
    int bytes = sizeof(struct buffers<T>);
    COURSE_TRY(
        cudaFuncSetAttribute(decode_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 grid(B * p.H_k, CEIL_DIV(p.N_q * (p.H_q / p.H_k), T::BLOCK_Q));
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
