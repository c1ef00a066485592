// check.c: lesson 26, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: heads share keys
// in "heads that share keys" alone, keys and queries fill whole tiles of 128 but in "any number of
// queries and keys" and "no races", `deterministic` is 0 but in "the same bits". d is 64 where
// nothing is said.
#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/reach.h"
#include "cpu/cards/cards.h"
#include "hopper_backward.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)hopper_backward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H, (int)p->d);
}

// The launcher's own arguments. Documents are those of p->own, of each batch one number more than
// there are; they live as long as the case.
struct own {
    int deterministic;
    const int64_t* cu_seqlens;
};

static void declare_more(struct problem* p) {
    struct check* c = p->check;
    const struct own* own = p->own;
    struct tensor* cu_seqlens = NULL;
    check_int(c, "window", p->index.window);
    check_int(c, "documents", p->index.documents);
    if (p->index.documents) {
        cu_seqlens = check_input(c, "cu_seqlens", I32, SHAPE(p->B, p->index.documents + 1));
        if (cu_seqlens) check_begin_later(cu_seqlens, p->later >> ARRAYS & 1);
        for (int64_t e = 0; cu_seqlens && e < cu_seqlens->count; e++)
            cu_seqlens->value[e] = (double)own->cu_seqlens[e];
    } else {
        check_null(c, "cu_seqlens");
    }
    p->index.cu_seqlens = cu_seqlens;
    check_int(c, "deterministic", own ? own->deterministic : 0);
}

// Rows begin at multiples of 16 bytes: gaps are multiples of 8 elements.
static const struct contract contract = {.backward = true,
                                         .dtype = BF16,
                                         .rounded_weights = true,
                                         .any_heads = true,
                                         .by_wgmma = true,
                                         .d = 64,
                                         .gap = {16, 24, 40, 48, 8, 56, 32, 64},
                                         .workspace_bytes = workspace_bytes,
                                         .declare_more = declare_more};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

// H heads, of which `group` share a head of keys.
static struct problem grouped(struct problem p, int64_t H, int64_t group) {
    p.H = H;
    p.group = group;
    return p;
}

static struct problem windowed(struct check* c, int64_t N_q, int64_t N_k, int64_t window) {
    struct problem p = causal(c, N_q, N_k);
    p.index = (struct index_mask){.used = true, .causal = true, .window = window};
    return p;
}

// The problem with documents; own->cu_seqlens has one number more than there are for each batch.
static struct problem with_documents(struct problem p, int64_t documents, const struct own* own) {
    p.index.used = true, p.index.causal = p.causal, p.index.documents = documents;
    p.own = (void*)own;
    return p;
}
#define DOCUMENTS(...) (&(struct own){.cu_seqlens = (const int64_t[]){__VA_ARGS__}})

// The problem with `deterministic`; any number but 0 asks for it.
static struct problem same_bits(struct problem p) {
    static const struct own yes = {.deterministic = -65536};
    p.own = (void*)&yes;
    return p;
}

// ---- items ---------------------------------------------------------------------------------

// One round of a block, and more than its rings have places, Q and dO, and three of dS: more often
// around them than in any other item, so that their fourth phase is awaited.
static void whole_tiles(struct check* c) {
    backward_case(all_keys(c, 128, 128));
    backward_case(all_keys(c, 128 * check_pick(c, 8, 9), 128));
    backward_case(all_keys(c, 128, 256));
    backward_case(with_d(all_keys(c, 384, 128), 128));
}

static void heads(struct check* c) {
    static const double factors[] = {0.45, 0.6};
    struct problem p = with_heads(all_keys(c, 128, 128), 2, check_pick(c, 2, 3));
    backward_case(with_scale(p, factors[check_pick(c, 0, 1)]));
    // Heads of two blocks: their sums may be cleared by others' blocks.
    backward_case(with_scale(with_heads(all_keys(c, 128, 256), 2, 2), -0.8));
    backward_case(with_scale(all_keys(c, 128, 128), 0));
}

static void groups(struct check* c) {
    backward_case(grouped(all_keys(c, 128, 128), 6, 3));
    backward_case(with_d(grouped(all_keys(c, 64, 128), 4, 2), 128));
    const int64_t H = check_pick(c, 3, 5);
    backward_case(grouped(all_keys(c, 128, 128), H, H));
    backward_case(grouped(causal(c, 256, 256), 2, 2));
    // The last query that sees a block's keys is not the head's last one.
    backward_case(grouped(windowed(c, 384, 384, check_pick(c, 66, 90)), 2, 2));
}

static void strides(struct check* c) {
    const struct problem p = with_heads(all_keys(c, 64, 64), 2, 2);
    backward_case_named(with_nan_gaps(with_d(p, 128)), GAPS, "");
    backward_case_named(p, SHARED, "");
    backward_case_named(p, MIXED, "");
    backward_case_named(with_nan_gaps(all_keys(c, 17, 130)), GAPS, "");
    backward_case_far(p);
}

static void any_length(struct check* c) {
    // No single key: then dP is delta, whatever O's rounding, and dS what two sums differ in. Near
    // -130 a key that is none would have an infinite weight.
    static const int64_t lengths[][2] = {{1, 65}, {2, 2}, {5, 5}, {17, 17}};
    backward_case(all_keys(c, 72 + 16 * check_pick(c, 0, 1), 128 + 8 * check_pick(c, 1, 3)));
    backward_case(all_keys(c, 128 + pick_ragged(c, 2, 31, 8), 128 + pick_ragged(c, 2, 31, 8)));
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        backward_case(with_d(all_keys(c, lengths[n][0], lengths[n][1]), n % 2 ? 64 : 128));
    }
    backward_case(all_keys(c, 129, 129));  // one query has a tile alone, one key a block
    // ... with d = 64 also in a third tile of queries, which may be seen whole.
    backward_case_level(all_keys(c, 260, 71), -130);
    backward_case_level(all_keys(c, 70, 64), -130);
    backward_case_tested(all_keys(c, check_pick(c, 2, 3), check_pick(c, 2, 4)));
    attention_reaches(with_heads(causal(c, 1, 16), 2, 4), (1 << 27) - check_pick(c, 0, 9));
    attention_most_heads(all_keys(c, 16, 16));
    // Without a key dQ is zeros, of a little more than 2^32 pieces of 16 bytes.
    enum { HEADS = 7, PIECES = 8 * HEADS };  // of a query
    const int64_t beyond = ((int64_t)1 << 32) / PIECES + check_pick(c, 1, 9);
    attention_reaches_limit(with_heads(all_keys(c, 1, 0), 1, HEADS), beyond);
    // A grid of 65535 blocks, of 256 pieces each, has to go on long before so many.
    attention_goes_on(with_d(all_keys(c, 1, 0), 128), (1 << 23) - check_pick(c, 0, 9));
}

// N_q and N_k differ by two at least: so an index off by one differs from a wrong corner.
static void masked(struct check* c) {
    backward_case_growing(causal(c, 256, 256));
    backward_case_named(with_flag(causal(c, 128, 256 + 128 * check_pick(c, 0, 1)), INT32_MIN),
                        PACKED, "");
    backward_case(with_d(causal(c, 256, 384), 128));
    backward_case(with_d(causal(c, 192, 128 + 2 * check_pick(c, 33, 62)), 128));
    backward_case_named(causal(c, 1, 35), PACKED, ": one query sees all");
    // More heads than a section has, and some left, of several blocks.
    backward_case(with_heads(causal(c, 24, 200), 5, 3));
}

// No window begins or ends where a tile does, and N_q and N_k differ by 2 or more: so a window off
// by one differs from a wrong corner. The last but one reaches over tiles that are seen whole.
static void windows(struct check* c) {
    const int64_t more = 2 * check_pick(c, 10, 31), W = 2 * check_pick(c, 33, 45) + 1;
    backward_case(windowed(c, 384, 384, W));
    backward_case(with_d(windowed(c, 256, 256 + more, 128 + W), 128));
    backward_case(with_d(windowed(c, 384, 384, 192 + W), 128));
    backward_case(windowed(c, 64, 64, 2147483647));
    backward_case(windowed(c, 16, 34, 1));  // a query sees its own key alone
}

// Empty documents and some of one key; more of them than a warp has rows. Batches differ, all heads
// of one have its documents, also those that share keys, and in one case a query's number is not
// its position.
static void documents(struct check* c) {
    const int64_t a = check_pick(c, 35, 60), b = check_pick(c, 70, 90), e = check_pick(c, 200, 230);
    backward_case(
        with_heads(with_documents(causal(c, 250, 320), 5,
                                  DOCUMENTS(0, a, a, a + 1, e, 320, 0, b, b + 1, b + 1, 270, 320)),
                   2, 1));
    backward_case(with_documents(all_keys(c, 384, 384), 4, DOCUMENTS(0, 0, 0, b, 384)));
    backward_case(with_documents(all_keys(c, 12, 12), 13,  // more than there are keys
                                 DOCUMENTS(0, 0, 3, 3, 3, 3, 7, 7, 7, 7, 7, 12, 12, 12)));
    backward_case(with_d(with_documents(causal(c, 160, 160), 17,
                                        DOCUMENTS(0, 1, 2, 5, 5, 6, 11, 21, 29, 33, 34, 62, 66, 80,
                                                  81, 81, 130, 160)),
                         128));
    backward_case(with_documents(windowed(c, 384, 384, b), 2, DOCUMENTS(0, e, 384)));
    struct problem of_heads =
        with_documents(all_keys(c, 40, 40), 2, DOCUMENTS(0, 22, 40, 0, 9, 40));
    of_heads = with_heads(of_heads, 2, 4);
    of_heads.group = 2;
    backward_case(with_scale(of_heads, -0.7));
}

static void unseen(struct check* c) {
    backward_case(causal(c, 384, check_pick(c, 33, 62)));
    backward_case(with_d(causal(c, 128, check_pick(c, 33, 62)), 128));
    // Keys that no query sees, too: whole blocks of them, and beside others.
    backward_case(with_documents(all_keys(c, 300, 300), 2, DOCUMENTS(0, 70, 150)));
    backward_case(with_d(windowed(c, 64, 300, check_pick(c, 20, 40)), 128));
    backward_case_named(windowed(c, 1, 299, 81), PACKED, ": one query");
    backward_case(with_documents(windowed(c, 200, 100, 30), 2, DOCUMENTS(0, 20, 90)));
}

static void extreme(struct check* c) {
    backward_case_large_scores(causal(c, 128, 128));
    backward_case_level(all_keys(c, 128, 128), 120);
    backward_case_level(all_keys(c, 128, 128), -130);
    backward_case_level(all_keys(c, 128, 128), 6000);
    backward_case_lowest(all_keys(c, 128, 1));
}

static void gradients_of_any_size(struct check* c) {
    backward_case_large_dP(all_keys(c, 128, 128));
    backward_case_faint(all_keys(c, 32, 64));
    backward_case_cancel(all_keys(c, 256, 128), 128, 0, 128, 64, 0);
    backward_case_cancel_keys(all_keys(c, 128, 256), 64, 0);
    backward_case_rounded_once(all_keys(c, 128, 128));
    backward_case_alike(all_keys(c, 128, 255));  // bf16 rounds 1 / 255 up by 0.4 %
    backward_case_rounded_once(with_d(causal(c, 64, 128), 128));
}

// Each query sees the keys of several blocks, whose terms cancel: the order of the sum shows. dK
// and dV have one order whatever `deterministic` is.
static void repeatable(struct check* c) {
    backward_case_repeatable(same_bits(grouped(all_keys(c, 64, 512), 6, 1)));
    backward_case(same_bits(with_d(causal(c, 128, 256), 128)));
    backward_case(same_bits(causal(c, 128, 256)));
    // Not all blocks before one add to its tiles; and behind a head's tiles come those of the next.
    backward_case(same_bits(with_scale(grouped(windowed(c, 384, 384, 90), 2, 2), -0.8)));
    // With windows, too, kernels of both d, which look at both ends; keys behind all documents.
    const struct own both = {1, (const int64_t[]){0, 180, 370}};
    backward_case_repeatable(same_bits(windowed(c, 16, 256, 300)));
    const struct own of_all = {1, (const int64_t[]){0, 256}};
    backward_case_repeatable(with_documents(all_keys(c, 16, 256), 1, &of_all));
    backward_case(with_d(with_documents(all_keys(c, 384, 384), 2, &both), 128));
    backward_case_heads_alike(with_heads(all_keys(c, 384, 128), 1, 3), 128);
}

static void again(struct check* c) {
    backward_case_again(all_keys(c, 128, 128), 3, NULL);
    // Each kernel needs more shared memory than others may have unasked.
    backward_case_after(with_d(all_keys(c, 64, 256), 128), causal(c, 64, 128));
    backward_case_moved(with_heads(all_keys(c, 16, 16), 2, 2));
}

// H_q = 0 and keys: no query meets them, and their gradients are 0.
static void no_query_heads(struct check* c) {
    struct problem p = with_heads(all_keys(c, 64, 64), 1, 2);
    problem_begin(&p, GAPS, ", but H_q = 0");
    backward_fill(&p);
    check_vary(c, "H", 0, 0);
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    for (enum which a = ARRAY_dQ; a <= ARRAY_dV; a++) {
        struct tensor* t = p.array[a].tensor;
        guard_gaps(&p, a);
        for (int64_t e = 0; e < t->count; e++) t->want[e] = 0, t->untouched[e] |= a == ARRAY_dQ;
        check_compare(c, t, budget_exact());
    }
}

// The workspace has bytes for counters also where there is no query to count; NULL will do.
static void no_workspace(struct problem p) {
    problem_begin(&p, PACKED, "; the workspace is NULL");
    check_vary_null(p.check, "workspace", 0);
    check_expect(p.check, COURSE_OK, CAUSE_empty_input);
    backward_fill(&p);
    backward_run(&p);
}

static void arguments(struct check* c) {
    static const int64_t too_far = (int64_t)1 << 39, most = (int64_t)1 << 30;
    const int64_t too_many = most + 1;
    // What comes first in the contract's list counts.
    const struct idle_call others[] = {
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"window", -1}}},
        {COURSE_BAD_ARGUMENT, {{"documents", -1}}},
        {COURSE_BAD_ARGUMENT, {{"documents", 1}}},
        {COURSE_UNSUPPORTED, {{"window", 8}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"N_q", too_many}}},
        {COURSE_UNSUPPORTED, {{"N_k", too_many}}},
        {COURSE_UNSUPPORTED, {{"stride_k.n", too_far}}},
        {COURSE_UNSUPPORTED, {{"stride_dv.h", too_far}}},
        {COURSE_BAD_ARGUMENT, {{"d", 80}, {"N_k", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"stride_q.n", 68}, {"Q", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_OK, {{"B", 0}, {"stride_k.n", 8}, {"dQ", 0}}},
        {COURSE_OK, {{"B", 0}, {"N_q", most}, {"N_k", most}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}, {"stride_k.n", 68}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}, {"stride_o.n", 68}, {"dK", 0}}},
        {0},
    };
    const struct problem p = all_keys(c, 128, 128);
    check_ordinary(c);
    backward_case(p);
    backward_cases_empty(grouped(with_heads(p, 2, 4), 4, 2));
    backward_case_empty(with_d(all_keys(c, 16, 0), 128));
    backward_case_empty(with_d(all_keys(c, 0, 16), 128));
    no_query_heads(c);
    no_workspace(all_keys(c, 0, 16));
    problem_bad_arguments(p, (struct strides){.n = 56, .h = -64, .b = -64});
    problem_strides_refused(p, COURSE_UNSUPPORTED, (struct strides){.n = 68, .h = 100, .b = 4100});
    problem_refused(p, others);
    problem_misaligned_refused(p);
    problem_launches_fail(p);
    backward_on_two_devices(p, "h100", COURSE_OK);
    backward_on_two_devices(p, CARD_NEWER, COURSE_UNSUPPORTED);
}

// Every array ends in a tile that is not full; around the rings more than once, and two blocks that
// add to the same sums, in any order and in their own.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    const int64_t N_q = 512 + 4 * check_pick(c, 9, 15);
    struct problem p = causal(c, N_q, 128 + pick_ragged(c, 33, 63, 8));
    p.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone
    backward_case(p);
    backward_case(same_bits(with_d(all_keys(c, 65 + 128, 130), 128)));
    backward_case(grouped(with_d(all_keys(c, 64, 16), 128), 3, 3));
    const struct own own = {1, (const int64_t[]){0, 41, 41, 150, 193}};
    p = with_documents(windowed(c, 150, 193, 60), 4, &own);
    p.later = 1u << ARRAYS;  // so is cu_seqlens
    backward_case(p);
    // No block has anything to do, but what comes after has to wait for what came before.
    backward_case(with_documents(all_keys(c, 16, 16), 1, DOCUMENTS(0, 0)));
    // Sums of the second head may be cleared by blocks of the first one.
    backward_case(with_drawn_heads(all_keys(c, check_pick(c, 9, 16), 130)));
}

// ---- costs, each of kernels that multiply by wgmma

// Tiles that are not full, of several heads, and the other head dimension.
static void by_wgmma(struct check* c) {
    const int64_t N = pick_ragged(c, 9, 40, 8);
    // Two are of kernels for masks, which hide nothing, and one of those for the same bits.
    const struct problem cases[] = {with_drawn_heads(all_keys(c, N, 17)),
                                    with_d(causal(c, 48, 80), 128), windowed(c, 16, 16, 100),
                                    with_d(windowed(c, 16, 16, 100), 128),
                                    same_bits(all_keys(c, 16, 16))};
    for (int n = 0; n < 5; n++) {
        backward_by_mma(cases[n]);
        backward_by_mma_of_dO(cases[n]);
    }
}

// What a launcher may have other kernels for: the same bits, d = 128, groups, lengths that differ,
// rows with gaps. All products are counted, and the bytes by TMA.
static void judge_elsewhere(struct problem p) {
    struct check* c = p.check;
    check_watch(c, WATCH_PROFILE);
    problem_begin(&p, GAPS, "");
    problem_skips_unseen(&p);  // nobody has to read gaps
    backward_fill(&p);
    backward_run(&p);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    const double needed = 4.0 * (double)(p.B * p.d * (p.N_q * p.H + p.N_k * p.H / p.group));
    check_at_most(c, CAUSE_narrow_access, "part of Q, K, V and dO not loaded by TMA",
                  1 - (double)t->tma_load_bytes / needed, 0);
}

// What threads load themselves is read once: O and dO for delta, LSE, the sums of dQ; and LSE and
// delta again, if a kernel makes dQ by itself. All of Q, K, V and dO that the products are made of
// comes by TMA.
static void moved_by_tma(struct check* c) {
    const struct problem p = all_keys(c, 128, 256);
    const struct arena_traffic* t = backward_by_mma(p);
    const double once = (4.0 + 4.0) * (double)(p.N_q * p.d) + 12.0 * (double)p.N_q;
    check_at_most(c, CAUSE_narrow_access, "times that O, dO, LSE and sums are loaded, not by TMA",
                  (double)(t->global_load_distinct_bytes - t->tma_load_bytes) / once, 1.01);
    const double needed = 4.0 * (double)((p.N_q + p.N_k) * p.d);
    check_at_most(c, CAUSE_narrow_access, "part of Q, K, V and dO not loaded by TMA",
                  1 - (double)t->tma_load_bytes / needed, 0);
    judge_elsewhere(same_bits(with_drawn_heads(grouped(all_keys(c, 24, 33), 0, 2))));
    judge_elsewhere(with_d(causal(c, 24, 33), 128));
}

// The bytes of a judged case but for what a kernel reads once: K and V, O and dO for delta, and the
// sums of dQ in fp32.
static double read_again(struct problem p) {
    check_watch(p.check, WATCH_PROFILE);
    problem_begin(&p, PACKED, "");
    if (p.index.used || p.N_q > p.N_k) problem_skips_unseen(&p);
    backward_fill(&p);
    backward_run(&p);
    const struct arena_traffic* t = problem_traffic(&p);
    judge_mma_count(&p, t);
    const double once = 4.0 * (double)p.d * (double)(p.N_k * p.H / p.group + 2 * p.N_q * p.H);
    return (double)t->global_load_distinct_bytes - once;
}

// Tiles of queries that see nothing, where a launcher may have other kernels.
static void nothing_unseen_elsewhere(struct check* c) {
    enum { FEW = 64, MANY = FEW + 256, N_k = 64 };
    const double few = read_again(causal(c, FEW, N_k));
    judge_unseen_reads(c, few, read_again(causal(c, MANY, N_k)));
    const double in_order = read_again(same_bits(with_d(causal(c, FEW, N_k), 128)));
    judge_unseen_reads(c, in_order, read_again(same_bits(with_d(causal(c, MANY, N_k), 128))));
}

// Each block of keys reads Q and dO of the queries that see it, and no block reads K and V but its
// own. Blocks have 64 keys or more; a kernel of its own for dQ, whose blocks have 64 queries or
// more, reads K and V as often again; LSE and delta are a thirtieth more. With blocks of n keys a
// part of (N + n) / 2N of the rows is seen: 0.75 for n = 128, 0.87 if one of two kernels leaves
// nothing out. What is kept for each pair of a query and a key shows, too.
static void nothing_unseen(struct check* c) {
    enum { N = 256, FEW = 128, SMALLEST = 64 };
    const double of_row = 4.0 * (double)contract.d;  // of K and V, or of Q and dO
    const double all = read_again(all_keys(c, N, N));
    check_at_most(c, CAUSE_too_much_read, "times that Q, K, V and dO are read again",
                  all / (2 * of_row * N), 1.05 * N / SMALLEST);
    const double masked = read_again(causal(c, N, N));
    judge_masked_reads(c, N, masked, read_again(causal(c, N, N + MORE_KEYS)), 0.81);
    // The same of heads that share keys: a block may walk over their queries in another way.
    const double of_group = read_again(grouped(causal(c, N, N), 2, 2));
    check_at_most(c, CAUSE_masked_read,
                  "bytes read for two heads with a mask, of those for two without it",
                  of_group / (2 * all), 0.81);
    // The last 128 queries, and a window of 100: of 512 keys they see half, so half of the blocks
    // read them that do without a window, and half of K and V is not read.
    const double in_window = read_again(windowed(c, FEW, 2 * N, 100));
    check_at_most(c, CAUSE_masked_read, "bytes read with a window, of those read without",
                  in_window / read_again(causal(c, FEW, 2 * N)), 0.6);
    // With a document of half of the keys, and behind it none, a quarter: a third, if blocks read
    // their own rows nevertheless, and a half, if one side is not looked at. Without it twice as
    // many rows and keys cost four times as much.
    const double half = read_again(with_documents(all_keys(c, 2 * N, 2 * N), 1, DOCUMENTS(0, N)));
    check_at_most(c, CAUSE_masked_read, "bytes read with half the rows in no document",
                  half / (4 * all), 0.4);
    nothing_unseen_elsewhere(c);
}

static const struct item items[] = {
    {6, "whole tiles, around the rings", whole_tiles},
    {3, "heads and batches, any scale", heads},
    {5, "heads that share keys", groups},
    {4, "strides", strides},
    {4, "any number of queries and keys", any_length},
    {5, "causal", masked},
    {4, "windows", windows},
    {5, "documents", documents},
    {3, "queries that see no key", unseen},
    {3, "large and very negative scores", extreme},
    {3, "gradients of any size", gradients_of_any_size},
    {7, "the same bits, if asked for", repeatable},
    {1, "called again with new data", again},
    {1, "empty inputs and bad arguments", arguments},
    {6, "no races, no stray accesses, order with TMA and wgmma", safe},
    {24, "wgmma makes all five products", by_wgmma},
    {8, "TMA brings every tile", moved_by_tma},
    {8, "nothing read that is not seen", nothing_unseen},
    {0},
};

// Masks of indices have mistakes of their own.
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    return problem_of_case(c)->index.used ? index_explain(c, t, budget)
                                          : backward_explain_products(c, t, budget);
}

const struct lesson lesson = {
    .name = "26_hopper_backward",
    .card = "h200",
    .by_wgmma = true,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .adds_by_atomics = true,
    .items = items,
    .idea = {.what = "TMA brings the tiles, and wgmma makes all five products",
             .paid_by = {by_wgmma, moved_by_tma, nothing_unseen},
             .naive = "grader/26_hopper_backward/naive.cu"},
    .explain = explain};
