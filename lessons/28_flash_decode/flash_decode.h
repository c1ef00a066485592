// flash_decode.h: the contract of lesson 28.
#ifndef FLASH_DECODE_H
#define FLASH_DECODE_H

#include "course.h"

COURSE_BEGIN_C

// Attention of a few new queries over a long cache of keys and values that lies in pages: what a
// language model does for each token that it writes. For every sequence b and query head h:
//
//     S = scale * Q K^T,    P = softmax(S) row by row,    O = P V,    LSE_i = ln sum_j exp(S_ij)
//
// Query head h uses key head g = h / (H_q / H_k), rounded down (lesson 17). Sequence b has
// lengths[b] keys, the new queries' own among them: the queries are its last N_q positions. Query
// i, from 0 to N_q - 1, sees the keys
//
//     j < lengths[b] - N_q + 1 + i
//
// so the last one sees all, and one that sees none (lengths[b] < N_q) gets O = 0 and
// LSE = -infinity. FlashAttention-2 (Dao 2023); the split of the keys is Flash-Decoding's (Dao and
// others 2023); the pages are PagedAttention's (Kwon and others 2023).
//
// Pages: key j of sequence b is in slot j % page_size of page page_table[b][j / page_size], in
// which a head's slots lie side by side. Its elements begin at
//
//     ((page * H_k + g) * page_size + slot) * d        of K_pages, and of V_pages
//
// which may be far beyond 2^31. Only the first ceil(lengths[b] / page_size) numbers of a row of the
// table count; those behind them may be anything, and are not read. The table names pages in any
// order, and a page more than once: sequences that begin alike share pages. A page that no such
// number names need not exist, and slots behind the last key may hold anything, NaN as well:
// neither is read.
//
// Precision: bf16 in; S, m, l and the sums of O in fp32. exp(S - m), where m is the largest score
// of some of the row's keys, is rounded to bf16 for the product with V; l sums the value before
// this rounding. O is rounded to bf16 once, at the end: parts of it are kept in fp32. LSE is the
// natural logarithm, in fp32. Inputs are finite, and so is every dot product of a row of Q and K.
//
// Memory: all arrays belong to the caller and are in device memory, lengths and the table, too: the
// launcher cannot read them. Nothing is allocated. The workspace has
// flash_decode_workspace_bytes() bytes that hold anything, NaN as well, and may hold anything
// afterwards. tickets are zeros, and have to be zeros again afterwards: the caller cleared them
// once, for all calls. O, LSE, Q, K_pages, V_pages and the workspace begin at multiples of 16
// bytes. The kernels run in the default stream; the launcher does not wait for them.
//
// Returns, in this order
//     COURSE_BAD_ARGUMENT  a negative size; d < 1; page_size < 1; an H_q that is no multiple of
//                          H_k (H_k = 0 goes with H_q = 0 alone)
//     COURSE_UNSUPPORTED   d neither 64 nor 128; a page_size that is no multiple of 16; N_q > 8;
//                          B * H_q > 65535; more than 2^30 slots of a sequence, page_size *
//                          max_pages; a scale not above 0
//     COURSE_OK            B, N_q or H_q is 0: nothing is touched, pointers may be NULL
//     COURSE_BAD_ARGUMENT  a NULL pointer (with max_pages = 0, K_pages, V_pages and page_table may
//                          be NULL)
//     COURSE_UNSUPPORTED   O, LSE, Q, K_pages, V_pages or the workspace begins at no multiple of
//                          16 bytes
//     COURSE_CUDA_ERROR    a launch failed
//     COURSE_OK            launched
int flash_decode(bf16* O_gpu,                // (B, N_q, H_q, d)  out
                 float* LSE_gpu,             // (B, H_q, N_q)     out
                 const bf16* Q_gpu,          // (B, N_q, H_q, d)
                 const bf16* K_pages_gpu,    // (pages, H_k, page_size, d)
                 const bf16* V_pages_gpu,    // (pages, H_k, page_size, d)
                 const int* page_table_gpu,  // (B, max_pages)
                 const int* lengths_gpu,     // (B), each from 0 to page_size * max_pages
                 int page_size,              // keys in a page, a multiple of 16
                 int max_pages,              // of a sequence, from 0
                 int B,                      // sequences, from 0
                 int N_q,                    // new queries of each, from 0 to 8
                 int H_q, int H_k,           // heads of Q and O, of K and V
                 int d,                      // head dimension, 64 or 128
                 float scale,           // what Q K^T is multiplied by, > 0; usually 1 / sqrt(d)
                 int* tickets_gpu,      // (B, H_q)  zeros before and after
                 void* workspace_gpu);  // flash_decode_workspace_bytes(B, N_q, H_q, H_k, d) bytes

// Into how many parts the keys of one key head of one sequence may be split, at most: 2048 for all
// of them together, which is 8 blocks on each of 256 multiprocessors; and at least 1.
static inline int flash_decode_most_splits(int B, int H_k) {
    int64_t heads = (int64_t)B * H_k;
    return heads < 1 ? 2048 : heads < 2048 ? (int)(2048 / heads) : 1;
}

// Room for a row of O and an LSE of every query head in every part, in fp32. The kernels divide the
// room as they like. No size is negative.
static inline size_t flash_decode_workspace_bytes(int B, int N_q, int H_q, int H_k, int d) {
    size_t rows = (size_t)B * (size_t)N_q * (size_t)H_q;
    return rows * (size_t)flash_decode_most_splits(B, H_k) * ((size_t)d + 4) * sizeof(float);
}

COURSE_END_C

#endif
