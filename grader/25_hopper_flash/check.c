// check.c: lesson 25, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: heads share keys
// in "heads that share keys" alone, only "any number of queries and keys" has tiles of keys that
// are not full where no mask hides their end, only "rows that see no key" has more queries than
// keys, and so on. Scores are ordinary except in "hard scores" and "scores that outgrow the shift".
// LSE is compared in "LSE" and the costs, and where no key is seen at all; the tickets in "called
// again" alone.
#include "25_hopper_flash/mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "wall/arena.h"

// ---- the launcher's own arguments

// The tickets are 0 before the call.
static void declare_more(struct problem* p) {
    check_int(p->check, "window", p->index.window);
    struct tensor* tickets = check_in_place(p->check, "tickets", I32, SHAPE(TICKETS));
    for (int64_t e = 0; e < tickets->count; e++) tickets->untouched[e] = true;
}

// So many tickets as if all later tiles were taken: who draws one is done with its first tile.
static void take_tickets(const struct problem* p, int64_t queries) {
    (void)queries;
    check_tensor(p->check, "tickets")->value[0] = 1 << 30;
}

// A block's last thread may set them back.
static int64_t bytes_of_tickets(const struct problem* p) {
    (void)p;
    return TICKETS * (int64_t)sizeof(int);
}

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
static const struct contract contract = {
    .dtype = BF16,
    .rounded_weights = true,
    .any_heads = true,
    .by_wgmma = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
    .declare_more = declare_more,
    .show_more = take_tickets,
    .more_bytes = bytes_of_tickets,
};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

static struct problem windowed(struct check* c, int64_t N_q, int64_t N_k, int64_t window) {
    struct problem p = causal(c, N_q, N_k);
    p.index = (struct index_mask){.used = true, .causal = true, .window = window};
    return p;
}

// H heads, of which `group` share a head of keys.
static struct problem grouped(struct problem p, int64_t H, int64_t group) {
    p.H = H;
    p.group = group;
    return p;
}

static void judge_O(struct problem p) {
    forward_case(p, PACKED, "", JUDGE_O);
}

// ---- items ---------------------------------------------------------------------------------

// One block of keys, and more than a ring has stages: twice around it, and once more.
static void whole_tiles(struct check* c) {
    judge_O(all_keys(c, 128, 128));
    judge_O(all_keys(c, 128, 128 * check_pick(c, 5, 6)));
    judge_O(with_d(all_keys(c, 128, 384), 128));
    judge_O(all_keys(c, 192, 2048));  // from just so many on another kernel may be the faster one
}

// More tiles than the card has multiprocessors: blocks that stay take a second one. What a block
// uses for both is watched.
static void heads(struct check* c) {
    static const double factors[] = {0.5, 1.7, 2.5};
    struct problem p = with_heads(all_keys(c, 128, 256), 2, check_pick(c, 2, 3));
    p.scale = (double)(float)(p.scale * factors[check_pick(c, 0, 2)]);
    forward_case(p, PACKED, ", a scale of its own", JUDGE_O);
    check_watch(c, WATCH_CHECK);
    judge_O(with_heads(all_keys(c, 16, 128), 7, 20));
}

static void groups(struct check* c) {
    judge_O(grouped(all_keys(c, 128, 128), 6, 3));
    judge_O(grouped(all_keys(c, 128, 128), 4, 2));
    judge_O(with_d(grouped(all_keys(c, 64, 128), check_pick(c, 4, 7), 1), 128));
    const int64_t H = check_pick(c, 5, 8);
    judge_O(grouped(all_keys(c, 64, 128), H, H));
}

static void strides(struct check* c) {
    struct problem p = with_heads(all_keys(c, 128, 128), 2, 2);
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++)
        forward_case(layout == GAPS ? with_nan_gaps(p) : p, layout, "", JUDGE_O);
    forward_case(p, ONE_BATCH, "", JUDGE_O);
    forward_case(p, MIXED, "", JUDGE_O);
    forward_case_far(p);
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged(struct check* c) {
    judge_O(all_keys(c, 64 + check_pick(c, 1, 15), 128));
    forward_case(with_nan_gaps(all_keys(c, 17, 128 + check_pick(c, 1, 9))), HEADS_OUTSIDE, "",
                 JUDGE_O);
    judge_O(all_keys(c, 33, 15));
    judge_O(with_d(all_keys(c, 200, 130), 128));
    judge_O(all_keys(c, 1, 4321));
    judge_O(all_keys(c, 200, 2048 + check_pick(c, 3, 60)));  // where tiles may be larger
    judge_O(with_d(all_keys(c, 33, 2048 + check_pick(c, 3, 60)), 128));
    // Blocks that stay begin with the last rows of both heads.
    attention_reaches_first(with_heads(causal(c, 1, 1), 1, 2), REACH_MOST - check_pick(c, 0, 9));
}

// The diagonal crosses tiles at their corner, and in their middle.
static void masked(struct check* c) {
    judge_O(causal(c, 384, 384));
    judge_O(with_flag(causal(c, 192, 256 + check_pick(c, 2, 126)), -65536));
    judge_O(with_d(causal(c, 256, 256), 128));
    forward_case(causal(c, 1, 200), PACKED, ": one query sees all", JUDGE_O);
    judge_O(with_heads(causal(c, 16, 16), 2, 19));
    judge_O(with_d(causal(c, 96, 2048 + check_pick(c, 2, 60)), 128));
}

// No window begins or ends where a tile does, and N_q and N_k differ by 2 or more: so a window off
// by one differs from a wrong corner.
static void windows(struct check* c) {
    const int64_t more = 2 * check_pick(c, 10, 31), W = 2 * check_pick(c, 33, 45) + 1;
    judge_O(windowed(c, 384, 384, W));
    judge_O(windowed(c, 384, 384, 128 + W));
    judge_O(with_d(windowed(c, 256, 256 + more, W), 128));
    judge_O(windowed(c, 1, 299, W));
    judge_O(windowed(c, 64, 64, 2147483647));
    judge_O(windowed(c, 200, 2048 + more, 1000 + W));
    judge_O(with_d(windowed(c, 70, 2048 + more, 400 + W), 128));
    check_watch(c, WATCH_CHECK);
    judge_O(with_d(windowed(c, 65, 300, 140), 128));
}

// LSE is -infinity where no key is seen; that of other rows is no matter of this item.
static void empty_rows(struct check* c) {
    judge_O(causal(c, 200, check_pick(c, 17, 31)));
    judge_O(causal(c, 300, check_pick(c, 140, 160)));
    judge_O(windowed(c, 160, 40, 64));
    forward_no_keys(all_keys(c, 16, 0));
    forward_no_keys(causal(c, 130, 0));
}

static void logsumexp(struct check* c) {
    forward_case(with_heads(causal(c, 128, 128), 2, 2), PACKED, "", JUDGE_LSE);
    forward_case(with_heads(all_keys(c, 64, 256), 1, 3), PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(all_keys(c, 64, 128));
}

// The walk begins with the last keys. Scores that grow towards the first ones are those that a
// shift of the last block does not survive (README eq. 4).
static void hard_scores(struct check* c) {
    struct problem p = all_keys(c, 64, 384);
    forward_case_large(p, ", scores of 30 times the usual size");
    forward_case_integers(p, ", scores around -20000", -128, 1024);
    forward_case_products_below(causal(c, 64, 256));
    forward_case_exact(all_keys(c, 64, 512));
    forward_case_tail(all_keys(c, 64, 1024));
    forward_case_divided(all_keys(c, 64, 256));
    forward_case_faint(all_keys(c, 64, 512));
    forward_case_ones(all_keys(c, 64, 256));
}

// Scores of `level` in base 2 above those of the block that comes first, in one key of an earlier
// block: below what the shift survives, at it, above it, and far above, where exp overflows.
static void growing_scores(struct check* c) {
    static const double levels[] = {8, 11.72, 12.1, 30, 126, 129, 1000};
    for (size_t n = 0; n < sizeof levels / sizeof levels[0]; n++)
        forward_case_jump(all_keys(c, 64, 384), levels[n], 1);
    forward_case_jump(all_keys(c, 64, 384), 60, 0x1p80);
    // Scores of 40 or 200 more than in the block before, once and again. What is computed again has
    // to be of the same rows, heads and batch.
    static const char grow[] = ", scores that grow from the last key on";
    forward_case_growing(all_keys(c, 64, 512), grow, -128, 40);
    forward_case_growing(causal(c, 384, 512), grow, -64, 9);
    forward_case_growing(with_d(all_keys(c, 128, 384), 128), grow, -128, 200);
    forward_case_growing(with_heads(all_keys(c, 16, 256), 2, 2), grow, -128, 40);
    forward_case_growing(grouped(all_keys(c, 16, 256), 2, 2), grow, -128, 40);
    // Where tiles may be larger.
    forward_case_jump(all_keys(c, 192, 2176), 200, 1);
    forward_case_jump(with_d(all_keys(c, 64, 2176), 128), 200, 1);
    check_watch(c, WATCH_CHECK);
    forward_case_jump(all_keys(c, check_pick(c, 9, 15), 384), 200, 1);
}

// New data in the same arrays, then calls of other sizes; the tickets are zeros again.
static void again(struct check* c) {
    enum { CALLS = 3 };
    struct problem p = all_keys(c, 128, 256);
    check_case(c, "N_q = 128, N_k = 256, d = 64, new data in the same arrays");
    check_rounds(c, CALLS);
    problem_declare(&p, PACKED);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        forward_fill(&p);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge_tickets(c);
        forward_judge(&p, JUDGE_O);
    }
    // The kernels of d = 128 need more shared memory than others may have unasked.
    forward_case_after(with_heads(with_d(causal(c, 256, 256), 128), 1, 2), all_keys(c, 64, 128),
                       NULL);
}

static void arguments(struct check* c) {
    static const int64_t too_far = (int64_t)1 << 39;
    const struct idle_call bad[] = {
        {COURSE_BAD_ARGUMENT, {{"H", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"window", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"tickets", 0}}},
        {COURSE_UNSUPPORTED, {{"window", 8}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"scale", 0}}},
        {COURSE_UNSUPPORTED, {{"scale", -1}}},
        {COURSE_UNSUPPORTED, {{"stride_k.n", too_far}}},
        {COURSE_UNSUPPORTED, {{"stride_o.h", too_far}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}}},
        PROBLEM_ORDER(80),
        {0},
    };
    struct problem p = all_keys(c, 64, 128);
    forward_arguments(p, bad);
    problem_bad_arguments(p, (struct strides){.n = 63, .h = -64, .b = -512});
    problem_strides_refused(p, COURSE_UNSUPPORTED, (struct strides){.n = 68, .h = 100, .b = 4100});
    problem_misaligned_refused(all_keys(c, 64, 128));
    p.scale = NAN;
    problem_must_return(p, COURSE_UNSUPPORTED, ": not above 0");
}

// Every array ends in a tile that is not full; around the ring more than once, and by the kernel of
// many keys, too. Other kernels are watched in "heads and batches", "windows", "scores that outgrow
// the shift" and in the costs.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    judge_O(causal(c, 128 + check_pick(c, 33, 63), 384 + check_pick(c, 33, 63)));
    judge_O(with_d(all_keys(c, 65, 2048), 128));
}

// ---- costs, each of kernels that multiply by wgmma

// Whole tiles, tiles that are not full, and the other head dimension.
static void by_wgmma(struct check* c) {
    forward_by_mma(all_keys(c, 128, 256));
    forward_by_mma(all_keys(c, 64 + check_pick(c, 1, 31), 128 + check_pick(c, 1, 31)));
    forward_by_mma(with_d(all_keys(c, 64, 256), 128));
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
    // With a window of 100 of 512 keys 0.7 of what a causal mask alone reads: in tiles of 128 x 128
    // 7 of 10, of 64 x 128 14 of 20, of 192 x 128 7 of 9; and all where none is left out.
    double in_window = forward_loads(windowed(c, 2 * N, 2 * N, 100));
    double all = forward_loads(causal(c, 2 * N, 2 * N));
    check_at_most(c, CAUSE_masked_read, "bytes read with a window, of those read without",
                  in_window / all, 0.8);
    forward_kept(all_keys(c, 16, 16));
}

static const struct item items[] = {
    {8, "whole tiles, around the ring", whole_tiles},
    {4, "heads and batches, any scale", heads},
    {4, "heads that share keys", groups},
    {4, "strides", strides},
    {5, "any number of queries and keys", ragged},
    {6, "causal", masked},
    {5, "windows", windows},
    {3, "rows that see no key", empty_rows},
    {3, "LSE", logsumexp},
    {3, "hard scores", hard_scores},
    {5, "scores that outgrow the shift", growing_scores},
    {2, "called again with new data", again},
    {2, "empty inputs and bad arguments", arguments},
    {6, "no races, no stray accesses, order with TMA and wgmma", safe},
    {24, "wgmma makes both products", by_wgmma},
    {8, "TMA brings every tile", moved_by_tma},
    {8, "nothing loaded that the mask hides", read_once_per_tile},
    {0},
};

const struct lesson lesson = {
    .name = "25_hopper_flash",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "TMA brings the tiles, and wgmma makes both products",
             .paid_by = {by_wgmma, moved_by_tma, read_once_per_tile},
             .naive = "grader/25_hopper_flash/naive.cu"},
    .explain = explain};
