// costs.h: the items of lesson 25 that count: products of wgmma, bytes by TMA, and bytes at all.
// For check.c.
#ifndef COSTS_H
#define COSTS_H

#include "25_hopper_flash/cases.h"
#include "wall/arena.h"

static const double ONCE = 1.01;

// What threads load besides, at most: 32 numbers of cu_seqlens for each row of a tile, a few bounds
// in several lanes; of lists all numbers, each thread.
static double loaded_besides(const struct problem* p) {
    enum { ROWS_OF_TILE = 192, THREADS = 512 };
    const double tiles = (double)(p->B * p->H * CEIL_DIV(p->N_q, 64)), number = sizeof(int);
    if (p->mask) return tiles * number * THREADS * (double)(1 + CEIL_DIV(p->N_k, LIST_BLOCK));
    return p->index.documents ? tiles * number * 32 * ROWS_OF_TILE : 0;
}

// A case of what a launcher may have other kernels for. All products are counted, and what moves by
// TMA. Tiles have 64 queries or more, and each reads this part of K and V, once.
static void judge_elsewhere(struct problem p, enum layout layout, double part) {
    struct check* c = p.check;
    check_watch(c, WATCH_PROFILE);
    forward_begin(&p, layout, has_lists(&p) ? ", lists" : "");
    problem_skips_unseen(&p);  // nor has anybody to read gaps
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    const double of_Q = 2.0 * (double)(p.B * p.H * p.N_q * p.d);
    const double tiles = (double)(p.B * p.H * CEIL_DIV(p.N_q, 64));
    const double of_keys = 4.0 * (double)(p.N_k * p.d);
    const double loads = (double)t->global_load_bytes - loaded_besides(&p);
    check_at_most(c, CAUSE_narrow_access, "part of the loads from global memory not made by TMA",
                  (loads - (double)t->tma_load_bytes) / loads, 0.1);
    if (p.N_q % 64 == 0 && p.N_q <= p.N_k)  // others may leave otherwise
        check_at_most(c, CAUSE_narrow_access, "part of O not stored by TMA",
                      1 - (double)t->tma_store_bytes / of_Q, 0);
    check_at_most(c,
                  part == ONCE ? CAUSE_too_much_read
                  : p.mask     ? CAUSE_inactive_read
                               : CAUSE_masked_read,
                  "times that a tile of queries reads K and V", (loads - of_Q) / (tiles * of_keys),
                  part);
}

// Whole tiles, tiles that are not full, of several heads, and the other head dimension.
static void by_wgmma(struct check* c) {
    forward_by_mma(all_keys(c, 128, 256));
    const struct problem tails = all_keys(c, check_pick(c, 9, 40), 32 + check_pick(c, 1, 31));
    forward_by_mma(with_drawn_heads(grouped(tails, 0, check_pick(c, 1, 2))));
    forward_by_mma(with_d(all_keys(c, 64, 256), 128));
    // Kernels for masks, none of which hides anything.
    static const int64_t one_document[] = {0, 128};
    forward_by_mma(windowed(c, 16, 16, 100));
    forward_by_mma(with_documents(all_keys(c, 16, 128), 1, one_document));
    forward_by_mma(with_d(with_documents(all_keys(c, 16, 128), 1, one_document), 128));
    forward_by_mma(with_lists(all_keys(c, 16, 128), "1"));
    forward_by_mma(with_d(with_lists(all_keys(c, 16, 128), "1"), 128));
}

// Rows with gaps and heads that share keys; wide heads; many keys; documents. Tiles are full, or
// nearly: what they multiply beyond the case would hide what wgmma does not make.
static void moved_elsewhere(struct check* c) {
    enum { MANY = 2048 };
    static const int64_t one[] = {0, 384};
    judge_elsewhere(with_drawn_heads(grouped(all_keys(c, 64, 120), 0, 2)), GAPS, ONCE);
    judge_elsewhere(with_d(causal(c, 128, 250), 128), GAPS, ONCE);
    judge_elsewhere(with_d(causal(c, 128, MANY), 128), PACKED, ONCE);
    judge_elsewhere(with_documents(all_keys(c, 128, one[1]), 1, one), PACKED, ONCE);
}

// All of Q, K, V and O moves by TMA: but for what a launcher may load besides.
static void moved_by_tma(struct check* c) {
    const struct arena_traffic* t = forward_by_mma(all_keys(c, 128, 256));
    check_at_most(c, CAUSE_narrow_access, "part of the loads from global memory not made by TMA",
                  1 - (double)t->tma_load_bytes / (double)t->global_load_bytes, 0.01);
    // LSE and the tickets, 4 bytes for each query.
    const double outputs = 2.0 * 128 * 64;
    check_at_most(c, CAUSE_narrow_access, "part of O not stored by TMA",
                  1 - (double)t->tma_store_bytes / outputs, 0);
    moved_elsewhere(c);
}

// A document of half the keys, which ends where tiles of 64, 128 and 192 rows do: half of the tiles
// read half of the keys, and the rows behind the document none. Without it they read four times
// what half as many rows and keys cost. Not counted are 32 numbers of cu_seqlens for each row: a
// few bounds, in several lanes.
static void read_of_documents(struct check* c) {
    enum { HALF = 384, N = 2 * HALF };
    static const int64_t half[] = {0, HALF};
    const double all = 4 * forward_loads(all_keys(c, HALF, HALF)), bounds = 32.0 * sizeof(int) * N;
    check_at_most(c, CAUSE_masked_read, "bytes read with half the rows in no document",
                  (forward_loads(with_documents(all_keys(c, N, N), 1, half)) - bounds) / all, 0.25);
}

// One block of four, wherever it is, costs a quarter of all four, and none nothing; but for the
// numbers of the lists, which each thread may read.
static void read_of_lists(struct check* c) {
    enum { N_q = 128, N_k = 4 * LIST_BLOCK };
    static const char* const one[] = {"1000", "0100", "0010", "0001"};
    const struct problem p = all_keys(c, N_q, N_k);
    const double all = forward_loads(with_lists(p, "1"));
    check_at_most(c, CAUSE_inactive_read, "bytes read for one block of four, of those for all four",
                  forward_loads(with_lists(p, one[check_pick(c, 0, 3)])) / all, 0.3);
    check_at_most(c, CAUSE_inactive_read, "bytes read without a block, of those for all four",
                  forward_loads(with_lists(p, "0")) / all, 0.05);
}

// What a mask hides where a launcher may have other kernels. Blocks have up to 256 keys. A window
// of few keys is in one block or two. A document or a list leaves out half of the keys or more. The
// 64 queries that see something may lie in one tile more.
static void hidden_elsewhere(struct check* c) {
    enum { MANY = 2048, N = 1024, SQUARE = 256 };
    static const int64_t last_of_two[] = {0, 700, N}, one_of_all[] = {0, N};
    judge_elsewhere(windowed(c, 16, N, 100), PACKED, 0.3);
    judge_elsewhere(with_d(windowed(c, 16, N, 100), 128), PACKED, 0.3);
    judge_elsewhere(with_d(windowed(c, 16, MANY, 100), 128), PACKED, 0.3);
    judge_elsewhere(windowed(c, 16, MANY, 100), PACKED, 0.3);
    // A window in a document, for which a walk may begin elsewhere.
    judge_elsewhere(with_documents(windowed(c, 16, N, 100), 1, one_of_all), PACKED, 0.3);
    judge_elsewhere(with_d(with_documents(windowed(c, 16, N, 100), 1, one_of_all), 128), PACKED,
                    0.3);
    judge_elsewhere(with_d(with_documents(all_keys(c, 16, N), 2, last_of_two), 128), PACKED, 0.55);
    judge_elsewhere(with_lists(with_d(all_keys(c, 16, N), 128), "01010001"), PACKED, 0.5);
    const double wide = forward_loads(with_d(causal(c, SQUARE, SQUARE), 128));
    const double more = forward_loads(with_d(causal(c, SQUARE, SQUARE + MORE_KEYS), 128));
    judge_masked_reads(c, SQUARE, wide, more, 0.765);
    judge_elsewhere(causal(c, 384, 64), PACKED, 2.5 * 64 / 384);
    judge_elsewhere(with_d(causal(c, 384, 64), 128), PACKED, 2.5 * 64 / 384);
}

// Every tile of queries reads all keys and values that it sees: in tiles of 128 keys 0.75 of what
// it would read without a mask; 1 if none is left out. Tiles have 64 queries or more.
static void read_once_per_tile(struct check* c) {
    enum { N = 256, TILE = 64 };
    const double of_a_key = 4.0 * (double)contract.d, of_Q = 2.0 * N * (double)contract.d;
    double read = (double)forward_by_mma(all_keys(c, N, N))->global_load_bytes - of_Q;
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", read / (of_a_key * N),
                  (double)N / TILE);
    double masked = (double)forward_by_mma(causal(c, N, N))->global_load_bytes - of_Q;
    double more = forward_loads(causal(c, N, N + MORE_KEYS));
    judge_masked_reads(c, N, masked, more, 0.765);
    read_of_documents(c);
    read_of_lists(c);
    hidden_elsewhere(c);
    judge_elsewhere(all_keys(c, 16, 4096), PACKED, ONCE);  // and no scores are kept
}

#endif
