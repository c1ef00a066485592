// flash8.h: what all versions of lesson 27 share: which keys a tile sees, a warpgroup's products,
// the masks, and the maps. Given.
#ifndef FLASH8_H
#define FLASH8_H

#include <limits.h>
#include <math.h>

#include "arrays.h"
#include "hopper.h"
#include "low_precision.h"

#define LOG2_E 1.44269504f
#define LN_2 0.69314718f

enum {
    ROWS = 64,       // queries of a warpgroup: the M of wgmma
    WARP_ROWS = 16,  // of one of its warps
    WARPGROUP = 128,
};

// The sizes of a kernel, T below: a head's d, BLOCK_Q queries of a tile, BLOCK_K keys of a block.
// A block of V^T is panels, whose rows are KEYS_OF_PANEL bytes.
template <int head_dim, int queries, int keys> struct block_sizes {
    enum {
        d = head_dim,
        BLOCK_Q = queries,
        BLOCK_K = keys,
        KEYS_OF_PANEL = keys % 128 ? 64 : 128,
    };
    static_assert(keys % KEYS_OF_PANEL == 0, "a block is whole panels");
};

// What a kernel works on.
struct flash {
    CUtensorMap Q_map, K_map, V_map, O_map;
    struct rows O;
    float* LSE;
    int* tickets;  // tiles taken beyond each block's first; how many blocks are done
    const float *Q_scales, *K_scales, *V_scales;
    int B, N_q, N_k, H_q, H_k, causal, per_block;
    int tiles, tiles_of_head, section;  // section: heads that are worked on together
    float c;                            // scale * log2(e)
};

// ---- which keys a query sees

// A tile of queries: its first row, its head; the walk over blocks of keys from last to first, at
// least one. live: there is such a tile.
struct __align__(16) place {
    int row0, head, batch, live, first, last;
};

// Query i sees so many of the first keys; none, if it is not above 0. It grows with i. i is
// unsigned: a tile may end behind what an int counts.
__device__ __forceinline__ int keys_seen(const struct flash& p, unsigned i) {
    int q = (int)min(i, (unsigned)p.N_q - 1) + (p.N_k - p.N_q);
    return p.causal ? min(q + 1, p.N_k) : p.N_k;
}

// The walk of a tile of queries whose row0 is set. If they see no key, it is a block behind the
// last key: TMA brings zeros and loads nothing, and a mask hides them.
template <class T>
__device__ __forceinline__ void find_walk(const struct flash& p, struct place& place) {
    int seen = keys_seen(p, place.row0 + T::BLOCK_Q - 1);
    place.first = 0, place.last = (seen - 1) / T::BLOCK_K;
    if (seen <= 0) place.first = place.last = p.N_k / T::BLOCK_K + 1;
}

// The tile of a block in a grid of all tiles, p.tiles_of_head of each head.
template <class T> __device__ __forceinline__ struct place place_of_block(const struct flash& p) {
    struct place place = {};
    int head = blockIdx.x / p.tiles_of_head;
    place.row0 = (int)(blockIdx.x % p.tiles_of_head) * T::BLOCK_Q;
    place.head = head % p.H_q, place.batch = head / p.H_q;
    find_walk<T>(p, place);
    return place;
}

// The head of K and V, of all batches' together.
__device__ __forceinline__ int key_head(const struct flash& p, const struct place& place) {
    return place.batch * p.H_k + place.head / (p.H_q / p.H_k);
}

// ---- products of a warpgroup

// S = Q K^T for its rows: Q and K are descriptors. A row of both is d bytes.       (README eq. 3)
template <class T>
__device__ __forceinline__ void issue_QK(float S[T::BLOCK_K / 2], unsigned Q, unsigned K) {
    wgmma_fence();
#pragma unroll
    for (int x = 0; x < T::d / 32; x++)
        wgmma_e4m3<T::BLOCK_K, T::d>(S, Q + x * 2, K + x * 2, x > 0);
    wgmma_commit();
}

// O += P V. P is in registers. The first steps, of 32 keys each, can be waited for apart.
//                                                                                 (README eq. 6)
template <class T, int first_steps = 0>
__device__ __forceinline__ void issue_PV(float O[T::d / 2], const unsigned P[T::BLOCK_K / 8],
                                         unsigned V) {
    const int panel = T::KEYS_OF_PANEL;
    wgmma_fence();
#pragma unroll
    for (int n = 0; n < T::BLOCK_K / 32; n++) {
        if (first_steps > 0 && n == first_steps) wgmma_commit(), wgmma_fence();
        wgmma_e4m3_registers<T::d, panel>(
            O, &P[4 * n], V + (n * 32 / panel * panel * T::d + n * 32 % panel) / 16, 1);
    }
    wgmma_commit();
}

// Asks for a block of V^T, from key0 on.
template <class T>
__device__ __forceinline__ void load_V(e4m3* to, const struct flash& p, mbarrier* full, int key0,
                                       int head) {
    for (int key = 0; key < T::BLOCK_K; key += T::KEYS_OF_PANEL)
        tma_load_3d(to + key * T::d, &p.V_map, full, L2_EVICT_LAST, key0 + key, 0, head);
}

// ---- masks. A lane has two rows of S: S[i] is of row i / 2 % 2, of key i / 4 * 8 + i % 2 from its
//      first key on.

template <class T>
__device__ __forceinline__ void mask(float S[T::BLOCK_K / 2], const int seen[2], int first_key) {
#pragma unroll
    for (int i = 0; i < T::BLOCK_K / 2; i++)
        if (first_key + i / 4 * 8 + i % 2 >= seen[i / 2 % 2]) S[i] = -INFINITY;
}

// The same, if there is a key to hide.
template <class T>
__device__ __forceinline__ void mask_edges(float S[T::BLOCK_K / 2], const int seen[2],
                                           int first_key) {
    if (first_key > min(seen[0], seen[1]) - T::BLOCK_K)
        mask<T>(S, seen, first_key + threadIdx.x % 4 * 2);
}

template <class T>
__device__ __forceinline__ void multiply_rows(float O[T::d / 2], const float factor[2]) {
#pragma unroll
    for (int i = 0; i < T::d / 2; i++) O[i] *= factor[i / 2 % 2];
}

// A warp's 16 rows of O, packed to bf16, go into the tile in shared memory from its row `first` on,
// and by TMA to global memory. Lane 0 waits before they are written again.
template <class T>
__device__ __forceinline__ void store_O(const struct flash& p, const struct place& place, int first,
                                        const float O[T::d / 2], bf16 tile[][T::BLOCK_Q * PANEL]) {
    int lane = threadIdx.x % 32, row = first + lane % 16;
#pragma unroll
    for (int x = 0; x < T::d; x += 16) {
        const float* o = &O[x / 2];
        unsigned word[4] = {pack_bf16(o[0], o[1]), pack_bf16(o[2], o[3]), pack_bf16(o[4], o[5]),
                            pack_bf16(o[6], o[7])};
        int piece = (x % PANEL / 8 + lane / 16) ^ row % 8;
        stmatrix_x4(&tile[x / PANEL][row * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    if (lane != 0) return;
    for (int panel = 0; panel < T::d / PANEL && first < p.N_q - place.row0; panel++)
        tma_store_5d(&p.O_map, tile[panel] + first * PANEL, 0, place.row0 + first, panel,
                     place.head, place.batch);
    bulk_commit();
}

// ---- on the host

// The map of `heads` matrices of rows of `columns` bytes, packed: a box is box_rows rows of
// box_columns bytes, swizzled. Returns 0, or a CUresult.
static inline int encode_bytes(CUtensorMap* map, const e4m3* first, int64_t columns, int64_t rows,
                               int64_t heads, int box_columns, int box_rows) {
    const cuuint64_t sizes[3] = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)heads};
    const cuuint64_t strides[2] = {(cuuint64_t)columns, (cuuint64_t)columns * (cuuint64_t)rows};
    const cuuint32_t box[3] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows, 1};
    return tensor_map_encode(map, first, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, sizes, strides, box,
                             box_columns);
}

// The bytes of a call of low_precision().
struct arrays8 {
    const e4m3 *Q, *K, *Vt;
};

// Makes the maps. Returns 0, or not.
template <class T> static inline int make_maps(struct flash* p, const struct arrays8* a) {
    const int d = T::d;
    // An array without rows has no map. Without a key it is that of rows of Q, and the block behind
    // the last key lies behind it.
    const bool keys = p->N_k > 0;
    const int64_t heads = (int64_t)p->B * p->H_q, key_heads = keys ? (int64_t)p->B * p->H_k : 1;
    return encode_bytes(&p->Q_map, a->Q, d, p->N_q, heads, d, T::BLOCK_Q) ||
           encode_bytes(&p->K_map, keys ? a->K : a->Q, d, keys ? p->N_k : 1, key_heads, d,
                        T::BLOCK_K) ||
           encode_bytes(&p->V_map, keys ? a->Vt : a->Q, keys ? PADDED(p->N_k) : 16, keys ? d : 1,
                        key_heads, T::KEYS_OF_PANEL, d) ||
           encode(&p->O_map, p->O, p->B, p->N_q, p->H_q, d, WARP_ROWS, 1);
}

// What the contract says of the arguments of low_precision(), in its order. Sets *multiprocessors.
// COURSE_OK with *multiprocessors = 0: there is nothing to do.
static inline int check_call(const struct arrays8* a, const struct flash* p, int d, float scale,
                             int* multiprocessors) {
    *multiprocessors = 0;
    if (p->B < 0 || p->N_q < 0 || p->N_k < 0 || p->H_q < 0 || p->H_k < 0 || d < 1)
        return COURSE_BAD_ARGUMENT;
    if (p->H_k == 0 ? p->H_q > 0 : p->H_q % p->H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || CEIL_DIV(p->N_q, ROWS) * ((int64_t)p->B * p->H_q) > INT_MAX ||
        !(scale > 0))
        return COURSE_UNSUPPORTED;
    if (p->B == 0 || p->N_q == 0 || p->H_q == 0) return COURSE_OK;
    if (!p->O.first || !p->LSE || !a->Q || !p->Q_scales || !p->tickets) return COURSE_BAD_ARGUMENT;
    if (p->N_k > 0 && (!a->K || !a->Vt || !p->K_scales || !p->V_scales)) return COURSE_BAD_ARGUMENT;
    int status = check_rows(&p->O, 1, d);
    if (status != COURSE_OK) return status;
    uintptr_t of_keys = p->N_k > 0 ? (uintptr_t)a->K | (uintptr_t)a->Vt : 0;
    if (((uintptr_t)a->Q | of_keys) % 16) return COURSE_UNSUPPORTED;
    return find_hopper(multiprocessors);
}

#endif
