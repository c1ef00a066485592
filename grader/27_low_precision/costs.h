// costs.h: the items of lesson 27 that count: products of wgmma, bytes by TMA, and bytes at all.
// For check.c.
#ifndef COSTS_H
#define COSTS_H

#include "27_low_precision/by_wgmma.h"
#include "27_low_precision/step_cases.h"
#include "wall/arena.h"

static const double ONCE = 1.1;  // each warp may load the scales of each block

static void by_wgmma(struct check* c) {
    low_by_wgmma(all_keys(c, 128, 256));
    const int64_t group = check_pick(c, 1, 2), H = group == 2 ? 4 : check_pick(c, 3, 4);
    low_by_wgmma(of_heads(all_keys(c, check_pick(c, 9, 40), 32 + check_pick(c, 1, 31)),
                          check_pick(c, 2, 3), H, group));
    low_by_wgmma(of_d(all_keys(c, 64, 256), 128));
    low_by_wgmma(of_blocks(causal(c, 96, 128), 0));
}

// Bytes that are loaded. A scale that all lanes of a warp load is one sector.
static double bytes_loaded(const struct arena_traffic* t) {
    return fmin((double)t->global_load_bytes, 32.0 * (double)t->global_load_sectors);
}

// A case of what a launcher may have other kernels for. All products are counted, and what moves by
// TMA, but for scales. Tiles have 64 queries or more, and each reads this part of K and V, once.
static void judge_elsewhere(struct low l, struct strides of_O, double part) {
    const struct problem* p = &l.p;
    struct check* c = p->check;
    check_watch(c, WATCH_PROFILE);
    low_begin_with(&l, of_O.n ? ", gaps in O" : "", of_O);
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) needless(l.bytes[a]);  // not all are seen
    check_run(c);
    low_judge(&l, JUDGE_O | JUDGE_LSE);
    const struct arena_traffic* t = problem_traffic(p);
    judge_mma_count(p, t);
    const double of_Q = (double)(p->B * p->H * p->N_q * p->d);
    const double of_keys = 2.0 * (double)(PADDED(p->N_k) * p->d);
    const double tiles = (double)(p->B * p->H * CEIL_DIV(p->N_q, 64)), loads = bytes_loaded(t);
    if (part == ONCE)  // a few keys may weigh less than the scales
        check_at_most(c, CAUSE_narrow_access,
                      "part of the loads from global memory not made by TMA",
                      1 - (double)t->tma_load_bytes / loads, 0.15);
    if (p->N_q % 64 == 0 && p->N_q <= p->N_k)  // others may leave otherwise
        check_at_most(c, CAUSE_narrow_access, "part of O not stored by TMA",
                      1 - (double)t->tma_store_bytes / (2 * of_Q), 0);
    check_at_most(c, part == ONCE ? CAUSE_too_much_read : CAUSE_masked_read,
                  "times that a tile of queries reads K and V", (loads - of_Q) / (tiles * of_keys),
                  part);
}

// Rows of O with gaps and heads that share keys; wide heads, with scales of blocks and one for all;
// many keys. Tiles are full, or nearly: what they multiply beyond the case would hide what wgmma
// does not make.
static void moved_elsewhere(struct check* c) {
    const struct strides packed = {0}, gaps = {.b = 64 * 296 + 8, .n = 296, .h = 72};
    judge_elsewhere(of_blocks(of_heads(all_keys(c, 64, 120), check_pick(c, 2, 3), 4, 2), 0), gaps,
                    ONCE);
    judge_elsewhere(of_blocks(of_d(causal(c, 128, 250), 128), 0), packed, ONCE);
    judge_elsewhere(of_d(all_keys(c, 128, 1536), 128), packed, ONCE);
}

// All of Q, K, V and O moves by TMA: but for scales, and what a launcher may load besides.
static void moved_by_tma(struct check* c) {
    const struct arena_traffic* t = low_by_wgmma(all_keys(c, 128, 256));
    check_at_most(c, CAUSE_narrow_access, "part of the loads from global memory not made by TMA",
                  1 - (double)t->tma_load_bytes / bytes_loaded(t), 0.06);
    const double outputs = 2.0 * 128 * 64;
    check_at_most(c, CAUSE_narrow_access, "part of O not stored by TMA",
                  1 - (double)t->tma_store_bytes / outputs, 0);
    moved_elsewhere(c);
}

// The bytes of K and V that a case loads.
static double low_loads(struct low l) {
    check_watch(l.p.check, WATCH_PROFILE);
    low_case(l, "", JUDGE_O | JUDGE_LSE);
    return bytes_loaded(problem_traffic(&l.p)) - (double)(l.p.N_q * l.p.d);
}

// X is read once for scales of blocks, and once more for one scale; what comes out is stored once.
static void judge_step_traffic(struct check* c, struct step s) {
    check_watch(c, WATCH_PROFILE);
    struct step_case q = begin_step(c, s, "");
    q.is_counted = true;
    declare_step(c, &q);
    fill_step(&q);
    judge_step(&q);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "times that X is read",
                  (double)t->global_load_bytes / (2.0 * (double)q.X->count), s.per_block ? 1 : 2.1);
    check_at_most(c, CAUSE_too_much_written, "times that the bytes are stored",
                  (double)(t->global_store_bytes + t->filled_bytes) /
                      (double)(q.to->count + 4 * q.scales->count),
                  1.05);
}

// What the mask hides where a launcher may have other kernels: with wide heads, and with one scale,
// where blocks may have 256 keys. The queries that see something may lie in one tile more.
static void hidden_elsewhere(struct check* c) {
    enum { N = 256, MANY = 384, FEW = 64 };
    const double few_of_many = 2.5 * FEW / MANY;
    const double hidden = low_loads(of_blocks(of_d(causal(c, N, N), 128), 0));
    const double more = low_loads(of_blocks(of_d(causal(c, N, N + MORE_KEYS), 128), 0));
    judge_masked_reads(c, N, hidden, more, 0.8);
    judge_elsewhere(causal(c, MANY, FEW), (struct strides){0}, few_of_many);
    judge_elsewhere(of_d(causal(c, MANY, FEW), 128), (struct strides){0}, few_of_many);
}

// Every tile of queries reads all keys and values that it sees, a byte each: in tiles of 192
// queries and 128 keys 0.75 of what it would read without a mask; 1 if none is left out. Tiles have
// 64 queries or more.
static void read_once_per_tile(struct check* c) {
    enum { N = 256, TILE = 64 };
    const double of_a_key = 2.0 * (double)low_contract.d, of_Q = N * (double)low_contract.d;
    const double read = bytes_loaded(low_by_wgmma(all_keys(c, N, N))) - of_Q;
    const double scales = 1.05;  // each warp of a tile may load those of each block of keys
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", read / (of_a_key * N),
                  scales * N / TILE);
    double hidden = low_loads(of_blocks(causal(c, 2 * N, 2 * N), 0));
    double more = low_loads(of_blocks(causal(c, 2 * N, 2 * N + MORE_KEYS), 0));
    judge_masked_reads(c, 2 * N, hidden, more, 0.8);                    // scales are read, too
    judge_elsewhere(all_keys(c, 16, 4096), (struct strides){0}, ONCE);  // and no scores are kept
    hidden_elsewhere(c);
    judge_step_traffic(c, rows_of_X(1, 256, 2, 64));
    judge_step_traffic(c, of_all(transposed(rows_of_X(1, 256, 2, 64))));
    // Rows may be wide, rotated, and no multiple of 128.
    judge_step_traffic(c, rotated(rows_of_X(1, 140, 1, 128)));
    judge_step_traffic(c, transposed(rows_of_X(1, 140, 1, 128)));
    judge_step_traffic(c, of_all(rotated(rows_of_X(1, 256, 1, 128))));
}

#endif
