// backward.h: what all versions of lesson 26 share: the call, which queries see a key, the maps.
// Given.
#ifndef BACKWARD_H
#define BACKWARD_H

#include <cuda_bf16.h>
#include <limits.h>

#include "arrays.h"
#include "course.h"
#include "hopper.h"

#define LOG2_E 1.44269504f

enum {
    ROWS = 64,        // keys of a consumer: the M of wgmma
    WARP_ROWS = 16,   // of one of its warps
    WARPGROUP = 128,  // threads
    CONSUMERS = 2,
    HALF = 4096,         // sums of dQ that a consumer makes in a round: 32 of each thread
    COLUMNS = 16,        // of 64 queries, a lane's
    MOST_HEADS = 8,      // of a section
    SECTION = 40 << 20,  // bytes of Q, dO and sums of the heads that are worked on together, in L2
};

// What the kernels work on. A head of queries has `tiles_q` tiles of BLOCK_Q rows, the last one
// filled up; a tile's number is (batch * H_q + head) * tiles_q + its place in the head. For
// a tile there are
//
//     sums       [CONSUMERS][8][128 threads][4]: what consumer w's thread has of dQ / scale, its
//                numbers 4 i ... 4 i + 3 at [w][i][thread]. So 128 threads move 2048 bytes in a row
//     LSE, delta [BLOCK_Q]: -LSE log2(e), which is -infinity for rows that see no key or are none;
//                and -delta. Row i is at place_of_row(i)
//     turns      [CONSUMERS]: the number of the block of keys that adds next, for the same bits
//
// and for a section of heads
//
//     cleared    how many halves of tiles have been cleared ahead; NULL: all were, by the kernel
//                before
struct backward {
    CUtensorMap Q_map, K_map, V_map, dO_map, dQ_map, dK_map, dV_map;
    struct rows O, dO;
    const float* LSE_in;
    float *sums, *LSE, *delta;
    int *turns, *cleared;
    const int* cu_seqlens;
    int B, N_q, N_k, H_q, H_k, group, causal, window, documents, same_bits;
    int tiles_q, tiles_k;  // of a head
    int block_k;           // keys of a block
    int section;           // heads of keys that are worked on together
    float scale, c;        // c = scale log2(e)
};

// ---- which queries see a key

// Numbers [from, to).
struct range {
    int from, to;
};

// The number of the document that begins last at this position or before it.
__device__ __forceinline__ int document_of(const int* cu_seqlens, int documents, int position) {
    int from = 0, to = documents;
    while (to - from > 1) {
        const int middle = from + (to - from) / 2;
        const bool is_before = cu_seqlens[middle] <= position;
        from = is_before ? middle : from;
        to = is_before ? to : middle;
    }
    return from;
}

// Positions of the document around this position, which is in one; of all if there are none.
__device__ __forceinline__ struct range document_around(const struct backward& p, int batch,
                                                        int position) {
    if (!p.documents) return {0, p.N_k};
    const int* cu_seqlens = p.cu_seqlens + batch * ((int64_t)p.documents + 1);
    const int document = document_of(cu_seqlens, p.documents, position);
    return {cu_seqlens[document], cu_seqlens[document + 1]};
}

// How many keys there are, but for those behind the last document, which nobody sees. window: there
// may be a window or documents.
template <bool window> __device__ __forceinline__ int keys_of(const struct backward& p, int batch) {
    if (!window || !p.documents) return p.N_k;
    return p.cu_seqlens[batch * ((int64_t)p.documents + 1) + p.documents];
}

// The queries that see key j < keys_of(): rows [from, to) of its batch; none, if from >= to. Both
// grow with j, and no query lies between those of two keys. Query i is at position i + N_k - N_q.
template <bool window>
__device__ __forceinline__ struct range queries_of_key(const struct backward& p, int batch, int j) {
    const int shift = p.N_k - p.N_q;
    struct range rows = {p.causal ? max(0, j - shift) : 0, p.N_q};
    if (window && p.documents) {
        const struct range positions = document_around(p, batch, j);
        rows.from = max(rows.from, positions.from - shift);
        rows.to = min(rows.to, positions.to - shift);
    }
    if (window && p.window) rows.to = min(rows.to, j - p.N_k + min(p.window, p.N_k) + p.N_q);
    return rows;
}

// The other way round: query i sees keys [from, to); none, if from >= to. Both grow with i.
__device__ __forceinline__ struct range keys_of_query(const struct backward& p, int batch, int i) {
    const int q = min(i, p.N_q - 1) + (p.N_k - p.N_q), all = keys_of<true>(p, batch);
    struct range keys = {0, all};
    if (p.documents && q >= all) return {all, all};
    if (p.documents && q < 0) return {0, 0};
    if (p.documents) keys = document_around(p, batch, q);
    if (p.causal) keys.to = min(keys.to, q + 1);
    if (p.window) keys.from = max(keys.from, q - min(p.window, p.N_k) + 1);
    return keys;
}

// ---- blocks of keys

// A block's keys: their first one, their head; the tiles of queries [first, end) that see some of
// them, maybe none. Those of [plain_from, plain_to) see all of them, and all are there.
struct place {
    int block, row0, head, batch, first, end, plain_from, plain_to;
};

// The section of this block, and the heads of keys of a section, of all batches.
__device__ __forceinline__ int section_of_block(const struct backward& p) {
    return blockIdx.x / (p.section * p.tiles_k);
}
__device__ __forceinline__ struct range heads_of(const struct backward& p, int section) {
    return {section * p.section, min((section + 1) * p.section, p.B * p.H_k)};
}

// A section of heads at a time, whose Q, dO and sums stay in L2; in a section the first keys first:
// with a causal mask most queries see them, and what comes last should be short.
template <class T> __device__ __forceinline__ struct place place_of(const struct backward& p) {
    struct place place;
    const struct range of_section = heads_of(p, section_of_block(p));
    const int heads = of_section.to - of_section.from, t = blockIdx.x - of_section.from * p.tiles_k;
    const int head = of_section.from + t % heads;
    place.block = t / heads, place.row0 = place.block * p.block_k;
    place.batch = head / p.H_k, place.head = head % p.H_k;
    place.first = place.end = 0;
    int last = min(place.row0 + p.block_k, keys_of<T::WINDOW>(p, place.batch)) - 1;
    if (T::WINDOW && last < place.row0) return place;  // behind the last document
    struct range of_first = queries_of_key<T::WINDOW>(p, place.batch, place.row0);
    struct range of_last = queries_of_key<T::WINDOW>(p, place.batch, last);
    place.first = of_first.from / T::BLOCK_Q;
    place.end = CEIL_DIV(max(0, of_last.to), (int)T::BLOCK_Q);
    place.plain_from = CEIL_DIV(of_last.from, (int)T::BLOCK_Q);
    place.plain_to = of_first.to / T::BLOCK_Q;
    if (last < place.row0 + p.block_k - 1) place.plain_from = p.tiles_q;
    return place;
}

// The end of a block's tiles. Without a window the same for all blocks.
template <class T>
__device__ __forceinline__ int end_of(const struct place& place, const struct backward& p) {
    return T::WINDOW ? place.end : p.tiles_q;
}

// ---- on the host

// Fills in p's arrays, maps, tiles and workspace, for tiles of block_q queries and blocks of
// block_k keys. array: Q, K, V, O, dO, dQ, dK, dV. Returns 0, or not.
static inline int prepare(struct backward* p, const struct rows array[8], void* workspace, int d,
                          int block_q, int block_k) {
    const int panels = d / PANEL;
    p->O = array[3], p->dO = array[4];
    p->tiles_q = CEIL_DIV(p->N_q, block_q), p->tiles_k = CEIL_DIV(p->N_k, block_k);
    p->block_k = block_k;
    const int64_t rows = (int64_t)p->B * p->H_q * p->tiles_q * block_q;
    p->sums = (float*)workspace;
    p->LSE = p->sums + rows * d;
    p->delta = p->LSE + rows;
    p->turns = (int*)(p->delta + rows);
    p->cleared = NULL;
    // A section has up to two waves of blocks, for the long ones to begin before the short ones,
    // and few heads: with 32 of 1024 rows it was 3 % slower than with 8, on an H200. Without a mask
    // all blocks take as long, and one head after the other needs least L2. But with turns few
    // blocks of a head should begin together, and wait for each other.
    int multiprocessors;
    if (find_hopper(&multiprocessors) != COURSE_OK) return 1;
    p->section = 1;
    const int64_t bytes_of_head = (int64_t)p->group * p->N_q * d * 8;  // Q, dO and sums
    while (p->section < MOST_HEADS && p->section * 2 <= p->B * p->H_k &&
           (p->same_bits || (p->causal && 3 * p->section * p->tiles_k <= 4 * multiprocessors &&
                             p->section * 2 * bytes_of_head <= SECTION)))
        p->section *= 2;
    return encode(&p->Q_map, array[0], p->B, p->N_q, p->H_q, d, block_q, panels) ||
           encode(&p->K_map, array[1], p->B, p->N_k, p->H_k, d, block_k, panels) ||
           encode(&p->V_map, array[2], p->B, p->N_k, p->H_k, d, block_k, panels) ||
           encode(&p->dO_map, array[4], p->B, p->N_q, p->H_q, d, block_q, panels) ||
           encode(&p->dQ_map, array[5], p->B, p->N_q, p->H_q, d, WARP_ROWS, 1) ||
           encode(&p->dK_map, array[6], p->B, p->N_k, p->H_k, d, WARP_ROWS, 1) ||
           encode(&p->dV_map, array[7], p->B, p->N_k, p->H_k, d, WARP_ROWS, 1);
}

// What the contract says of the arguments, in its order: COURSE_OK, or what the launcher returns.
// array: Q, K, V, O, dO, dQ, dK, dV.
static inline int check_backward(const struct rows array[8], const float* LSE,
                                 const void* workspace, int B, int N_q, int N_k, int H_q, int H_k,
                                 int d, int causal, int window, int documents,
                                 const int* cu_seqlens) {
    const int64_t limit = INT_MAX, heads_q = (int64_t)B * H_q, heads_k = (int64_t)B * H_k;
    if (B < 0 || N_q < 0 || N_k < 0 || H_q < 0 || H_k < 0 || d < 1 || window < 0 || documents < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k == 0 ? H_q > 0 : H_q % H_k != 0) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || N_q > 1 << 30 || N_k > 1 << 30 || (window && !causal))
        return COURSE_UNSUPPORTED;
    // Quotients, not products: these could pass 2^63.
    if ((N_q && heads_q > limit / CEIL_DIV(N_q, ROWS)) ||
        (N_k && heads_k > limit / CEIL_DIV(N_k, ROWS)))
        return COURSE_UNSUPPORTED;
    if (B == 0 || H_k == 0) return COURSE_OK;
    const bool keys = N_k > 0, queries = N_q > 0 && H_q > 0;
    for (int a = 0; a < 8; a++) {
        const bool is_of_keys = a == 1 || a == 2 || a == 6 || a == 7;
        if (!array[a].first && (is_of_keys ? keys : queries)) return COURSE_BAD_ARGUMENT;
    }
    if (queries && (!LSE || !workspace)) return COURSE_BAD_ARGUMENT;
    if (documents && !cu_seqlens) return COURSE_BAD_ARGUMENT;
    int status = check_rows(array, 8, d), multiprocessors;
    return status == COURSE_OK ? find_hopper(&multiprocessors) : status;
}

#endif
