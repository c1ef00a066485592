// cost.h: how many tiles of S the kernels of lesson 18 visit, from the bytes that they read and the
// mma.sync that they make.
//
// The tiles' sizes are the kernel's own. So each case has a budget for each pair of sizes, what a
// kernel with such tiles visits at least, and there must be one pair with which the kernel keeps
// all budgets. The tiles of a case without a mask are a number that says which sizes can be.
#ifndef ONLINE_MASKS_COST_H
#define ONLINE_MASKS_COST_H

#include <math.h>

#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "check/check.h"
#include "wall/arena.h"

enum { COST_CASES = 11, SMALLEST_TILE = 1 };  // index_tile(1) is 32 rows of those that own a block

struct cost {
    struct index_visits visits;
    double bytes;    // of what is read again for each tile
    double lookups;  // of which so many may be for cu_seqlens
    double scores;   // for which mma.sync made all products; 0: it made none
};

// The documents of the cases with some: whole tiles, a third of all; ends within tiles, one empty,
// one of a single row, and rows behind the last that are no whole tiles either; a long one that
// begins behind a tile of any size.
enum { COST_DOCUMENTS = 4 };
static const int64_t cost_ends[][COST_DOCUMENTS + 1] = {
    {0, 128, 256, 320, 320}, {0, 1, 1, 70, 90}, {0, 128, 128, 128, 384}};

// Bytes of LSE and delta that are counted for more lanes than four which share a row: all 32 may
// read them at one place, where a sector has them. Its bytes are less than the lanes'.
static double read_by_all_lanes(const struct arena_traffic* t, double rows) {
    const double more = (double)t->global_load_bytes - 32 * (double)t->global_load_sectors;
    const double of_4 = 32 - 8, of_32 = 256 - 64;  // bytes of a row less those of its sectors
    const double share = fmin(1, fmax(0, (more / rows - of_4) / (of_32 - of_4)));
    return share * (256 - 32) * rows;
}

// Runs a case, and counts. Every kernel reads once: Q forward; backward Q, O, dO twice, K, V; and
// LSE and delta in each of the four lanes that share a row, or in all. Atomics put sums of dQ in
// the order of chance.
static void count_cost_in(struct cost* at, struct problem p, enum layout layout,
                          const int64_t* documents) {
    const bool backward = p.contract->backward;
    const double d = (double)p.d, heads = (double)(p.B * p.H);
    const double N_q = heads * (double)p.N_q, N_k = heads * (double)p.N_k;
    check_watch(p.check, WATCH_PROFILE);
    problem_begin(&p, layout, "");
    if (p.index.documents) index_set_documents(&p, 0, documents);
    problem_skips_unseen(&p);
    if (backward) {
        backward_fill(&p);
        backward_run(&p);
    } else {
        forward_fill(&p);
        forward_run(&p, JUDGE_O);
    }
    const struct arena_traffic* t = problem_traffic(&p);
    if (backward)
        check_at_most(p.check, CAUSE_not_repeatable, "atomic operations for each element of dQ",
                      (double)(t->atomics - t->shared_atomics) / (N_q * d), 0.1);
    const double once = backward ? 4 * d * (N_k + 2 * N_q) + 32 * N_q : 2 * d * N_q;
    at->bytes = (double)t->global_load_bytes - once;
    // With documents there is room for lookups, which are read at one place, too.
    if (backward && !p.index.documents) at->bytes -= read_by_all_lanes(t, N_q);
    // A binary search of a few numbers, for each row and for both ends of a block, by each thread.
    at->lookups = p.index.documents ? 4.0 * 64 * (N_q + (backward ? N_k : 0)) : 0;
    at->scores = (double)t->mma * 2048 / d;
    index_visit(&p, &at->visits);
}

static void count_cost(struct cost* at, struct problem p, const int64_t* documents) {
    count_cost_in(at, p, PACKED, documents);
}

// What a case costs with these tiles, bytes and products; backward of the kernel for dQ, [q][k],
// and of that for dK and dV, [q_of_keys][k_of_keys].
static double cost_in_bytes(const struct cost* at, const struct contract* of, int q, int k,
                            int q_of_keys, int k_of_keys) {
    const double of_row = 4.0 * (double)of->d;
    double bytes = at->visits.keys[q][k] * of_row + at->lookups;
    if (of->backward) bytes += at->visits.queries[q_of_keys][k_of_keys] * (of_row + 8);
    return bytes;
}
static double cost_in_products(const struct cost* at, const struct contract* of, int q, int k,
                               int q_of_keys, int k_of_keys) {
    if (!of->backward) return 2 * at->visits.scores[q][k];
    return 3 * at->visits.scores[q][k] + 4 * at->visits.scores[q_of_keys][k_of_keys];
}

// The largest share of a budget that the cases need with these tiles. Case 0 has no mask: it needs
// its budget, but for what a kernel reads less of "once", or the kernel has other tiles.
static double share_needed(const struct cost* cases, int count, const struct contract* of, int q,
                           int k, int q_of_keys, int k_of_keys) {
    double worst = 0;
    for (int n = 0; n < count; n++) {
        double bytes = cost_in_bytes(&cases[n], of, q, k, q_of_keys, k_of_keys);
        double products = cost_in_products(&cases[n], of, q, k, q_of_keys, k_of_keys);
        if (n == 0 && cases[n].bytes < 0.92 * bytes) return INFINITY;
        worst = fmax(worst, fmax(cases[n].bytes / bytes, cases[n].scores / products));
    }
    return worst;
}

static double least_share(const struct cost* cases, int count, const struct contract* of) {
    const int of_keys = of->backward ? INDEX_TILES : SMALLEST_TILE + 1;
    double least = INFINITY;
    for (int q = SMALLEST_TILE; q < INDEX_TILES; q++)
        for (int k = 0; k < INDEX_TILES; k++)
            for (int k_of_keys = SMALLEST_TILE; k_of_keys < of_keys; k_of_keys++)
                for (int q_of_keys = 0; q_of_keys < of_keys; q_of_keys++)
                    least = fmin(least, share_needed(cases, count, of, q, k, q_of_keys, k_of_keys));
    return least;
}

// Ends of windows lie where tiles of all sizes end, so that one tile too many shows, and elsewhere.
// Queries before the first key, and rows of no document, see nothing: no tile of theirs is visited.
static void judge_visits(struct check* c, const struct contract* of) {
    const struct {
        int64_t N_q, N_k;
        struct index_mask mask;
        int ends;  // of the documents
    } wanted[COST_CASES] = {
        {256, 256, {.used = true}, 0},
        {192, 192, {.used = true, .window = 32}, 0},
        {128, 384, {.used = true, .causal = true, .window = 129}, 0},
        {16, 384, {.used = true, .causal = true, .window = 1}, 0},
        {128, 384, {.used = true, .causal = true, .window = 40, .sinks = 3}, 0},
        {192, 192, {.used = true, .causal = true, .window = 30, .prefix = 20}, 0},
        {320, 320, {.used = true, .documents = COST_DOCUMENTS}, 0},
        {192, 192, {.used = true, .causal = true, .documents = COST_DOCUMENTS}, 1},
        {192, 192, {.used = true, .window = 20, .sinks = 2, .documents = COST_DOCUMENTS}, 1},
        {192, 90, {.used = true, .causal = true}, 0},
        // Before a document's sinks lie tiles that nobody sees.
        {128,
         384,
         {.used = true, .causal = true, .window = 20, .sinks = 2, .documents = COST_DOCUMENTS},
         2},
    };
    struct cost cases[COST_CASES];
    for (int n = 0; n < COST_CASES; n++) {
        struct problem p = problem_of(c, of, wanted[n].N_q, wanted[n].N_k, false);
        p.index = wanted[n].mask;
        count_cost(&cases[n], p, cost_ends[wanted[n].ends]);
        // Few keys for each row: lookups in each masked tile weigh more, and products tell.
        if (wanted[n].ends == 2) cases[n].lookups *= 8;
        check_at_most(c, CAUSE_masked_read,
                      "bytes or products, of those that tiles of the best size would take",
                      least_share(cases, n + 1, of), 1);
    }
}

// What a launcher may have other kernels for: d = 128, several heads, gaps, a softcap, few
// queries, and many that see nothing. Tiles that are visited have at most 128 rows, and blocks at
// least 32. Eight queries see 39 keys: they read two tiles of these, and three blocks of keys read
// the queries. The last 32 queries see 32 keys: they read one tile, or two blocks of them half of
// one; and one block of keys reads a tile of them. Who visits all tiles reads more.
static void judge_visits_elsewhere(struct check* c, const struct contract* of) {
    enum { FEW = 8, LONG = 384, MANY = 1024, SEEN = 32, TILE = 128, CASES = 2 };
    struct problem p[CASES] = {with_drawn_heads(with_d(problem_of(c, of, FEW, LONG, false), 128)),
                               with_d(problem_of(c, of, MANY, SEEN, false), 128)};
    p[0].index = (struct index_mask){.used = true, .causal = true, .window = 32, .softcap = 20};
    p[1].index = (struct index_mask){.used = true, .causal = true};
    const double of_queries[CASES] = {2 * TILE, TILE}, of_keys[CASES] = {3 * FEW, TILE};
    for (int n = 0; n < CASES; n++) {
        const double rows = of_queries[n] + (of->backward ? of_keys[n] : 0);
        struct cost at;
        count_cost_in(&at, p[n], n == 0 ? GAPS : PACKED, NULL);
        check_at_most(c, CAUSE_masked_read, "rows read for tiles, of those that somebody sees",
                      at.bytes / (4 * (double)(p[n].d * p[n].B * p[n].H)) / rows, 1.1);
    }
}

#endif
