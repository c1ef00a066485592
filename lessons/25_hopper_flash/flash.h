// flash.h: what all versions of lesson 25 share: the call, which keys a query sees, a warpgroup's
// products and softmax, and the maps. Given.
#ifndef FLASH_H
#define FLASH_H

#include <math.h>

#include "arrays.h"
#include "hopper.h"
#include "hopper_flash.h"

#define LOG2_E 1.44269504f
#define LN_2 0.69314718f

enum {
    BLOCK_K = LIST_BLOCK,  // keys of a block
    ROWS = 64,             // queries of a warpgroup: the M of wgmma
    WARP_ROWS = 16,        // of one of its warps
    WARPGROUP = 128,
};

// What a kernel works on. Zeros and NULL where it does not need them.
struct flash {
    CUtensorMap Q_map, K_map, V_map, O_map;
    struct rows Q, K, V, O;  // Q and K: for scores that are computed again
    float* LSE;
    int* tickets;  // tiles taken beyond each block's first; how many blocks are done
    const int *cu_seqlens, *lists;
    int B, N_q, N_k, H_q, H_k, causal, window, documents;
    int tiles, tiles_of_head, section;  // section: heads that are worked on together
    float c;                            // scale * log2(e)
};

// ---- which keys a query sees

// Numbers [from, to).
struct range {
    int from, to;
};

// A tile of queries: its first row, its head; the walk over blocks of keys from last to first. They
// are blocks, or places in the tile's list; at least one. live: there is such a tile.
struct __align__(16) place {
    int row0, head, batch, live, first, last;
    struct range documents;  // that its queries lie in
};

// The number of the document, of those in `among`, that begins last at this position or before it.
__device__ __forceinline__ int document_of(const int* cu_seqlens, struct range among,
                                           int position) {
    while (among.to - among.from > 1) {
        int middle = among.from + (among.to - among.from) / 2;
        bool is_before = cu_seqlens[middle] <= position;
        among.from = is_before ? middle : among.from;
        among.to = is_before ? among.to : middle;
    }
    return among.from;
}

// The keys of the document of a query at this position: none, if it lies in no document.
__device__ __forceinline__ struct range keys_of_document(const struct flash& p,
                                                         const struct place& place, int position) {
    const int* cu_seqlens = p.cu_seqlens + place.batch * ((int64_t)p.documents + 1);
    int document = document_of(cu_seqlens, place.documents, position);
    struct range keys = {cu_seqlens[document], cu_seqlens[document + 1]};
    if (position < keys.from) keys.to = keys.from;
    if (position >= keys.to) keys.from = keys.to;
    return keys;
}

// Query i of the tile sees keys [from, to); none, if from >= to. Both grow with i. window: there
// may be a window or documents. i is unsigned: a tile may end behind what an int counts.
template <bool window>
__device__ __forceinline__ struct range visible(const struct flash& p, const struct place& place,
                                                unsigned i) {
    int q = (int)min(i, (unsigned)p.N_q - 1) + (p.N_k - p.N_q);
    struct range keys = {0, p.N_k};
    if (window && p.documents) keys = keys_of_document(p, place, q);
    if (p.causal) keys.to = min(keys.to, q + 1);
    if (window && p.window) keys.from = max(keys.from, q - min(p.window, p.N_k) + 1);
    return keys;
}

// A block behind the last key. TMA brings zeros and loads nothing, and a mask hides them.
__device__ __forceinline__ int empty_block(const struct flash& p) {
    return p.N_k / BLOCK_K + 1;
}

// The list of the tile: how many blocks, then their numbers.
__device__ __forceinline__ const int* list_of(const struct flash& p, const struct place& place) {
    int64_t head = (int64_t)place.batch * p.H_q + place.head;
    int64_t list = head * CEIL_DIV(p.N_q, LIST_BLOCK) + place.row0 / LIST_BLOCK;
    return p.lists + list * (1 + CEIL_DIV(p.N_k, LIST_BLOCK));
}

// The number of the block at place j of the walk. lists: there may be lists.
template <bool lists>
__device__ __forceinline__ int block_of(const struct flash& p, const struct place& place, int j) {
    if (!lists || !p.lists) return j;
    return j < 0 ? empty_block(p) : list_of(p, place)[1 + j];
}

// The walk of a tile of `rows` queries, whose row0, head and batch are set: the blocks that some of
// them see. If they see none, it is the empty block.
template <bool window, bool lists>
__device__ __forceinline__ void find_walk(const struct flash& p, struct place& place, int rows) {
    if (lists && p.lists) {
        place.last = list_of(p, place)[0] - 1;
        place.first = min(0, place.last);
        return;
    }
    if (window && p.documents) {
        const int* cu_seqlens = p.cu_seqlens + place.batch * ((int64_t)p.documents + 1);
        int first = place.row0 + (p.N_k - p.N_q);
        int last = first + min(rows, p.N_q - place.row0) - 1;
        place.documents.from = document_of(cu_seqlens, {0, p.documents}, first);
        place.documents.to = document_of(cu_seqlens, {0, p.documents}, last) + 1;
    }
    struct range first = visible<window>(p, place, place.row0);
    struct range last = visible<window>(p, place, place.row0 + rows - 1);
    place.first = first.from / BLOCK_K, place.last = (last.to - 1) / BLOCK_K;
    if (last.to <= first.from) place.first = place.last = empty_block(p);
}

// The tile of a block in a grid of all tiles, p.tiles_of_head of each head.
template <class T> __device__ __forceinline__ struct place place_of_block(const struct flash& p) {
    struct place place = {};
    int head = blockIdx.x / p.tiles_of_head;
    place.row0 = (int)(blockIdx.x % p.tiles_of_head) * T::BLOCK_Q;
    place.head = head % p.H_q, place.batch = head / p.H_q;
    find_walk<true, true>(p, place, T::BLOCK_Q);
    return place;
}

// ---- products of a warpgroup. T has the sizes of its kernel: d, BLOCK_Q, WINDOW.

// S = Q K^T for its rows: Q and K are descriptors.                                (README eq. 2)
template <class T>
__device__ __forceinline__ void issue_QK(float S[BLOCK_K / 2], unsigned Q, unsigned K) {
    const int IN_PANEL = PANEL / 16;
    wgmma_fence();
#pragma unroll
    for (int x = 0; x < T::d / 16; x++)
        wgmma_bf16<BLOCK_K, K_MAJOR, K_MAJOR>(
            S, Q + x / IN_PANEL * (T::BLOCK_Q * 128 / 16) + x % IN_PANEL * 2,
            K + x / IN_PANEL * (BLOCK_K * 128 / 16) + x % IN_PANEL * 2, x > 0);
    wgmma_commit();
}

// O += P V. P is in registers.                                                    (README eq. 2)
template <class T>
__device__ __forceinline__ void issue_PV(float O[T::d / 2], const unsigned P[BLOCK_K / 4],
                                         unsigned V) {
    wgmma_fence();
#pragma unroll
    for (int n = 0; n < BLOCK_K / 16; n++)
        wgmma_bf16_registers<T::d, MN_MAJOR>(O, &P[4 * n], V + n * (16 * 128 / 16), 1);
    wgmma_commit();
}

// ---- softmax of its rows. A lane has two rows of S: S[i] is of row i / 2 % 2, of key
//      i / 4 * 8 + i % 2 from its first key on.

template <class T>
__device__ __forceinline__ void mask(float S[BLOCK_K / 2], const struct range keys[2],
                                     int first_key) {
#pragma unroll
    for (int i = 0; i < BLOCK_K / 2; i++) {
        int n = first_key + i / 4 * 8 + i % 2;
        if (n >= keys[i / 2 % 2].to || (T::WINDOW && n < keys[i / 2 % 2].from)) S[i] = -INFINITY;
    }
}

// The same, if there is a key to hide.
template <class T>
__device__ __forceinline__ void mask_edges(float S[BLOCK_K / 2], const struct range keys[2],
                                           int first_key) {
    bool from_begin = !T::WINDOW || first_key >= max(keys[0].from, keys[1].from);
    bool to_end = first_key <= min(keys[0].to, keys[1].to) - BLOCK_K;
    if (!from_begin || !to_end) mask<T>(S, keys, first_key + threadIdx.x % 4 * 2);
}

// m becomes the larger of itself and the rows' maximum; what was summed is to be multiplied by
// alpha.
__device__ __forceinline__ void raise_maximum(const float S[BLOCK_K / 2], float m[2],
                                              float alpha[2], float c) {
    float part[2][2] = {{S[0], S[1]}, {S[2], S[3]}};  // two of a row: a shorter chain
#pragma unroll
    for (int i = 4; i < BLOCK_K / 2; i++)
        part[i / 2 % 2][i % 2] = fmaxf(part[i / 2 % 2][i % 2], S[i]);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float M = fmaxf(part[r][0], part[r][1]);
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 1));
        M = fmaxf(M, __shfl_xor_sync(0xffffffff, M, 2));
        M = fmaxf(M, m[r]);
        alpha[r] = M == -INFINITY ? 1.0f : exp2_approx((m[r] - M) * c);
        m[r] = M;
    }
}

// S becomes 2^((S - m) c), and sum its rows' sums. A row that has seen no key yet has m = -infinity
// and only scores of -infinity: with guard it is shifted by 0.
__device__ __forceinline__ void exponentials(float S[BLOCK_K / 2], const float m[2], float sum[2],
                                             float c, bool guard) {
    float shift[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        shift[r] = guard && m[r] == -INFINITY ? 0.0f : m[r] * c;
        sum[r] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < BLOCK_K / 2; i++) {
        S[i] = exp2_approx(fmaf(S[i], c, -shift[i / 2 % 2]));
        sum[i / 2 % 2] += S[i];
    }
}

__device__ __forceinline__ void pack(unsigned P[BLOCK_K / 4], const float S[BLOCK_K / 2]) {
#pragma unroll
    for (int i = 0; i < BLOCK_K / 4; i++) P[i] = pack_bf16(S[2 * i], S[2 * i + 1]);
}

template <class T>
__device__ __forceinline__ void multiply_rows(float O[T::d / 2], const float factor[2]) {
#pragma unroll
    for (int i = 0; i < T::d / 2; i++) O[i] *= factor[i / 2 % 2];
}

// Of steps 1 to 4: what is left to do for a warp's 16 rows of the tile, from its row `first` on, in
// a block that ends with them: LSE, and O / l by way of shared memory.            (README eq. 5)
//     LSE = m scale + ln l;  O = 0 and LSE = -infinity for a row that sees no key
template <class T>
__device__ __forceinline__ void finish_rows(const struct flash& p, const struct place& place,
                                            int first, float O[T::d / 2], const float m[2],
                                            const float l[2], bf16 tile[][T::BLOCK_Q * PANEL]) {
    int lane = threadIdx.x % 32, row = place.row0 + first + lane / 4;
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = l[r];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        // Unsigned: the last tile may end behind what an int counts.
        if (lane % 4 == 0 && (unsigned)row + 8 * r < (unsigned)p.N_q)
            p.LSE[((int64_t)place.batch * p.H_q + place.head) * p.N_q + row + 8 * r] =
                sum > 0 ? (m[r] * p.c + __log2f(sum)) * LN_2 : -INFINITY;
        factor[r] = sum > 0 ? __fdividef(1.0f, sum) : 0.0f;
    }
    multiply_rows<T>(O, factor);
#pragma unroll
    for (int x = 0; x < T::d; x += 16) {
        const float* o = &O[x / 2];
        unsigned word[4] = {pack_bf16(o[0], o[1]), pack_bf16(o[2], o[3]), pack_bf16(o[4], o[5]),
                            pack_bf16(o[6], o[7])};
        int to = first + lane % 16, piece = (x % PANEL / 8 + lane / 16) ^ to % 8;
        stmatrix_x4(&tile[x / PANEL][to * PANEL + piece * 8], word);
    }
    fence_proxy_async();  // the lane's stores come before TMA's reads
    __syncwarp();         // ... all lanes'
    if (lane != 0) return;
    for (int panel = 0; panel < T::d / PANEL && first < p.N_q - place.row0; panel++)
        tma_store_5d(&p.O_map, tile[panel] + first * PANEL, 0, place.row0 + first, panel,
                     place.head, place.batch);
    bulk_commit();
    bulk_wait<0>();  // shared memory must live until it is read
}

// ---- on the host

// Makes the maps of p's arrays, for tiles of block_q queries. Returns 0, or not.
static inline int make_maps(struct flash* p, int d, int block_q) {
    // An array without rows has no map. Without a key it is that of a row of Q, and the empty block
    // lies behind it.
    if (p->N_k == 0) p->K = p->V = p->Q;
    int rows = p->N_k > 0 ? p->N_k : 1, panels = d / PANEL;
    return encode(&p->Q_map, p->Q, p->B, p->N_q, p->H_q, d, block_q, panels) ||
           encode(&p->O_map, p->O, p->B, p->N_q, p->H_q, d, WARP_ROWS, 1) ||
           encode(&p->K_map, p->K, p->B, rows, p->H_k, d, BLOCK_K, panels) ||
           encode(&p->V_map, p->V, p->B, rows, p->H_k, d, BLOCK_K, panels);
}

#endif
