// check.c: lesson 25, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: heads share keys
// in "heads that share keys" and "lists of blocks" alone, tiles of keys that are not full where no
// mask hides their end are in "any number of queries and keys" and "lists of blocks", more queries
// than keys in "rows that see no key", and so on. Scores are ordinary except in "hard scores" and
// "scores that outgrow the shift". LSE is compared in "LSE" and the costs, and where no key is seen
// at all; the tickets in "called again" alone.
#include "25_hopper_flash/costs.h"
#include "25_hopper_flash/mistakes.h"
#include "attention/reach.h"

// ---- items ---------------------------------------------------------------------------------

// One block of keys, and more than a ring has stages: twice around it, and once more.
static void whole_tiles(struct check* c) {
    judge_O(all_keys(c, 128, 128));
    judge_O(all_keys(c, 128, 128 * check_pick(c, 5, 6)));
    judge_O(with_d(all_keys(c, 128, 384), 128));
    judge_O(all_keys(c, 192, 2048));  // from just so many on another kernel may be the faster one
}

// More tiles than a card has multiprocessors: blocks that stay take a second one and a third one.
// What a block uses for all of them is watched.
static void heads(struct check* c) {
    static const double factors[] = {0.5, 1.7, 2.5};
    struct problem p = with_heads(all_keys(c, 128, 256), 2, check_pick(c, 2, 3));
    p.scale = (double)(float)(p.scale * factors[check_pick(c, 0, 2)]);
    forward_case(p, PACKED, ", a scale of its own", JUDGE_O);
    check_watch(c, WATCH_CHECK);
    // A block takes a fourth tile, in the place of the second one's Q.
    p = with_heads(all_keys(c, 16, 128), 1, check_pick(c, 49, 54));
    p.card = "h100-1g";
    forward_case(p, PACKED, ", on a card of 16 multiprocessors", JUDGE_O);
}

static void groups(struct check* c) {
    judge_O(grouped(all_keys(c, 128, 128), 6, 3));
    judge_O(grouped(all_keys(c, 128, 128), 4, 2));
    judge_O(with_d(grouped(all_keys(c, 64, 128), check_pick(c, 4, 7), 1), 128));
    const int64_t H = check_pick(c, 5, 8);
    judge_O(grouped(all_keys(c, 64, 128), H, H));
    judge_O(grouped(windowed(c, 16, 16, 7), 4, 2));  // of the kernels for masks
    // Of those for many keys, and of both kinds of wide heads.
    judge_O(grouped(causal(c, 16, 2048 + check_pick(c, 2, 60)), 4, 2));
    judge_O(with_d(grouped(causal(c, 16, 2048), 4, 2), 128));
    judge_lists(with_d(grouped(all_keys(c, 16, 256), 4, 2), 128), "10 01 11 01");
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
    judge_O(all_keys(c, 129, 16));  // one row has a tile alone
    judge_O(with_d(all_keys(c, 200, 130), 128));
    judge_O(all_keys(c, 1, 4321));
    judge_O(all_keys(c, 200, 2048 + check_pick(c, 3, 60)));  // where tiles may be larger
    judge_O(with_d(all_keys(c, 33, 2048 + check_pick(c, 3, 60)), 128));
    // Blocks that stay begin with the last rows of both heads.
    attention_reaches_first(with_heads(causal(c, 1, 1), 1, 2), REACH_MOST - check_pick(c, 0, 9));
    // Of tiles of more than 128 rows, where there are many keys, the last ends behind 2^31.
    attention_reaches_last(causal(c, 1, 2048), REACH_MOST);
    attention_most_heads(all_keys(c, 16, 16));
}

// The diagonal crosses tiles at their corner, and in their middle.
static void masked(struct check* c) {
    judge_O(causal(c, 384, 384));
    judge_O(with_flag(causal(c, 192, 256 + check_pick(c, 2, 126)), INT32_MIN));
    judge_O(with_d(causal(c, 256, 256), 128));
    forward_case(causal(c, 1, 200), PACKED, ": one query sees all", JUDGE_O);
    // More heads than are worked on together, and some left, of several tiles.
    judge_O(with_heads(causal(c, 200, 24), 1, 19));
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
    judge_O(windowed(c, 16, 34, 1));  // a query sees its own key alone
    // With tiles of 192 rows: the last 64 rows do not see all of a block that the others do.
    judge_O(windowed(c, 200, 2048 + more, 1000 + more - check_pick(c, 2, 20)));
    judge_O(with_d(windowed(c, 70, 2048 + more, 400 + W), 128));
    // The last row of some tiles lacks the first key of a block that all others see whole. Scores
    // shrink: that key would weigh most.
    forward_case_growing(windowed(c, 384, 384, 191), PACKED, ": one key less than whole tiles", 4,
                         -1);
    check_watch(c, WATCH_CHECK);
    judge_O(with_d(windowed(c, 65, 300, 140), 128));
    // Where tiles may be larger a block takes a third one, too: in the place of the first one's Q.
    struct problem p = with_heads(windowed(c, 8, 2048 + more, W), check_pick(c, 36, 42), 1);
    p.card = "h100-1g";
    forward_case(p, ONE_BATCH, ", on a card of 16 multiprocessors", JUDGE_O);
}

// Empty documents and some of one key; more of them than a warp has rows. Batches differ, all heads
// of one have its documents, and in one case a query's number is not its position.
static void documents(struct check* c) {
    const int64_t a = check_pick(c, 35, 60), b = check_pick(c, 70, 90), e = check_pick(c, 200, 230);
    const int64_t two[] = {0, a, a, a + 1, e, 320, 0, b, b + 1, b + 1, 270, 320};
    judge_O(with_heads(with_documents(causal(c, 250, 320), 5, two), 2, 1));
    const int64_t first_empty[] = {0, 0, 0, b, 384};
    judge_O(with_documents(all_keys(c, 384, 384), 4, first_empty));
    const int64_t more_than_keys[] = {0, 0, 3, 3, 3, 3, 7, 7, 7, 7, 7, 12, 12, 12};
    judge_O(with_documents(all_keys(c, 12, 12), 13, more_than_keys));
    const int64_t many[] = {0, 1, 2, 5, 5, 6, 11, 21, 29, 33, 34, 62, 66, 80, 81, 81, 130, 160};
    judge_O(with_d(with_documents(causal(c, 160, 160), 17, many), 128));
    const int64_t windows[] = {0, e, 384};
    judge_O(with_documents(windowed(c, 384, 384, b), 2, windows));
    const int64_t end[] = {0, 2048 + a};  // where tiles may be larger
    judge_O(with_documents(causal(c, 200, 2048 + a), 1, end));
    judge_O(with_d(with_documents(all_keys(c, 33, 2048 + a), 1, end), 128));
    const int64_t of_heads[] = {0, 22, 40, 0, 9, 40};
    judge_O(with_heads(with_documents(all_keys(c, 40, 40), 2, of_heads), 2, 2));
    check_watch(c, WATCH_CHECK);
    const int64_t short_ones[] = {0, a, 150, 150, 193};
    struct problem late = causal(c, 150, 193);
    late.later = 1u << ARRAYS;  // cu_seqlens is aligned to its elements alone
    judge_O(with_documents(late, 4, short_ones));
}

// Masks that differ from their transposes; heads and batches with lists of their own, while they
// share keys; a last block that is short and is named, or not.
static void lists(struct check* c) {
    char mask[MASK_TEXT];
    mask_random(c, 3, 3, mask);
    judge_lists(all_keys(c, 384, 384), mask);
    mask_random(c, 2, 4, mask);
    judge_lists(with_d(all_keys(c, 200, 512), 128), mask);
    struct problem p = with_heads(all_keys(c, 150, 256), 2, 4);
    p.group = 2;
    judge_lists(p, "10/01 01/10 11/10 11/11 01/11 11/10 10/11 01/01");
    judge_lists(all_keys(c, 33, 384 + check_pick(c, 3, 60)), "0110");
    judge_lists(with_d(all_keys(c, 33, 384 + check_pick(c, 3, 60)), 128), "0101");
    // So many keys that tiles of other kernels have 192 rows, of two lists.
    judge_lists(all_keys(c, check_pick(c, 130, 140), 18 * LIST_BLOCK), "00010/10000");
    check_watch(c, WATCH_CHECK);
    struct problem late = all_keys(c, 140, 640 - check_pick(c, 3, 60));
    late.later = 1u << ARRAYS;  // lists are aligned to their elements alone
    judge_lists(late, "01101/10010");
}

// LSE is -infinity where no key is seen; that of other rows is no matter of this item. Rows of no
// document and of empty lists are in whole tiles and beside others.
static void empty_rows(struct check* c) {
    static const int64_t short_one[] = {0, 70, 150}, shorter[] = {0, 22, 90};
    forward_case(with_documents(all_keys(c, 400, 400), 2, short_one), PACKED, "",
                 JUDGE_O | JUDGE_LSE);
    forward_case(with_documents(windowed(c, 400, 100, 30), 2, shorter), PACKED, "",
                 JUDGE_O | JUDGE_LSE);
    forward_case(with_documents(all_keys(c, 150, 100), 2, shorter), PACKED, "",
                 JUDGE_O | JUDGE_LSE);
    forward_case(with_lists(all_keys(c, 384, 256), "00/01/00"), PACKED, ", blocks 00/01/00",
                 JUDGE_O | JUDGE_LSE);
    forward_no_keys(with_lists(all_keys(c, 16, 0), "0"));
    judge_O(causal(c, 200, check_pick(c, 17, 31)));
    judge_O(causal(c, 300, check_pick(c, 140, 160)));
    judge_O(windowed(c, 160, 40, 64));
    forward_no_keys(all_keys(c, 16, 0));
    forward_no_keys(causal(c, 130, 0));
    judge_O(windowed(c, 70, 40, 2147483647));  // the window begins before what an int holds
}

static void logsumexp(struct check* c) {
    forward_case(with_heads(with_scale(causal(c, 128, 128), 0.7), 2, 2), PACKED, "", JUDGE_LSE);
    forward_case(with_heads(all_keys(c, 64, 256), 1, 3), PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(all_keys(c, 64, 128));
}

// The walk begins with the last keys. Scores that grow towards the first ones are those that a
// shift of the last block does not survive (README eq. 4).
static void hard_scores(struct check* c) {
    struct problem p = all_keys(c, 64, 384);
    forward_case_large(p, ", scores of 30 times the usual size");
    forward_case_two_levels(all_keys(c, 32, 128));
    // Both blocks of keys are masked, and some rows see one of them.
    forward_case_integers(causal(c, 64, 164), ", scores around -20000", -128, 1024);
    forward_case_integers(p, ", scores around -20000", -128, 1024);
    forward_case_products_below(causal(c, 64, 256));
    forward_case_exact(causal(c, 64, 640));
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
    forward_case_jump_of_second(all_keys(c, 16, 384), 200);
    forward_case_many_above(all_keys(c, 16, 128 + 70 * 128), 34.98, 0x1p80);
    // Scores of 40 or 200 more than in the block before, once and again. What is computed again has
    // to be of the same rows, heads and batch.
    static const char grow[] = ", scores that grow from the last key on";
    forward_case_growing(all_keys(c, 64, 512), PACKED, grow, -128, 40);
    forward_case_growing(causal(c, 384, 512), PACKED, grow, -64, 9);
    forward_case_growing(with_d(all_keys(c, 128, 384), 128), PACKED, grow, -128, 200);
    forward_case_growing(with_heads(all_keys(c, 16, 256), 2, 2), PACKED, grow, -128, 40);
    forward_case_growing(grouped(all_keys(c, 16, 256), 4, 2), PACKED, grow, -128, 40);
    forward_case_growing(all_keys(c, 16, 256), FAR, grow, -128, 40);
    // Where tiles may be larger.
    forward_case_jump(all_keys(c, 192, 2176), 200, 1);
    forward_case_jump(with_d(all_keys(c, 64, 2176), 128), 200, 1);
    const int64_t all[] = {0, 384};
    forward_case_jump(with_documents(all_keys(c, 64, 384), 1, all), 200, 1);
    forward_case_jump(with_lists(all_keys(c, 64, 640), "01001"), 200, 1);
    forward_case_jump(with_lists(with_d(all_keys(c, 64, 640), 128), "01001"), 200, 1);
    check_watch(c, WATCH_CHECK);
    forward_case_jump(all_keys(c, check_pick(c, 9, 15), 384), 200, 1);
}

static void other_lists(struct problem* p, int round) {
    static const char* const masks[] = {"10/01", "01/10", "11/10"};
    forward_fill(p);
    set_lists(p, masks[round]);
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
    forward_again(with_lists(all_keys(c, 200, 256), "11"), "other lists", other_lists);
    // The kernels of d = 128 need more shared memory than others may have unasked.
    forward_case_after(with_heads(with_d(causal(c, 256, 256), 128), 1, 2), all_keys(c, 64, 128),
                       NULL);
    forward_case_moved(with_heads(all_keys(c, 16, 16), 2, 2));
}

static void arguments(struct check* c) {
    static const int64_t too_far = (int64_t)1 << 39;
    const struct idle_call bad[] = {
        {COURSE_BAD_ARGUMENT, {{"H", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"window", -1}}},
        {COURSE_BAD_ARGUMENT, {{"documents", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"tickets", 0}}},
        {COURSE_UNSUPPORTED, {{"window", 8}}},
        {COURSE_UNSUPPORTED, {{"window", 8}, {"B", 0}}},
        PROBLEM_UNSUPPORTED(80),
        {COURSE_UNSUPPORTED, {{"stride_k.n", too_far}}},
        {COURSE_UNSUPPORTED, {{"stride_o.h", too_far}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}}},
        PROBLEM_ORDER(80),
        {0},
    };
    static const struct idle_call bad_documents[] = {
        {COURSE_BAD_ARGUMENT, {{"cu_seqlens", 0}}},
        {COURSE_OK, {{"B", 0}, {"cu_seqlens", 0}}},
        {0},
    };
    static const struct idle_call bad_lists[] = {
        {COURSE_UNSUPPORTED, {{"causal", 1}}},
        {COURSE_UNSUPPORTED, {{"documents", 1}}},
        {COURSE_UNSUPPORTED, {{"causal", 1}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"documents", 1}, {"H", 0}, {"H_k", 0}}},
        {COURSE_UNSUPPORTED, {{"causal", 1}, {"O", 0}}},
        {0},
    };
    static const int64_t end[] = {0, 128};
    struct problem p = all_keys(c, 64, 128);
    problem_refused(with_documents(p, 1, end), bad_documents);
    problem_refused(with_lists(p, "1"), bad_lists);
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
    const int64_t N_q = 128 + 4 * check_pick(c, 9, 15);
    struct problem p = causal(c, N_q, 384 + check_pick(c, 33, 63));
    p.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone
    judge_O(p);
    judge_O(with_drawn_heads(all_keys(c, check_pick(c, 9, 40), 150)));
    judge_O(with_d(all_keys(c, 65, 2048), 128));
}

static const struct item items[] = {
    {6, "whole tiles, around the ring", whole_tiles},
    {4, "heads and batches, any scale", heads},
    {4, "heads that share keys", groups},
    {4, "strides", strides},
    {5, "any number of queries and keys", ragged},
    {5, "causal", masked},
    {4, "windows", windows},
    {5, "documents", documents},
    {5, "lists of blocks", lists},
    {3, "rows that see no key", empty_rows},
    {2, "LSE", logsumexp},
    {3, "hard scores", hard_scores},
    {4, "scores that outgrow the shift", growing_scores},
    {1, "called again with new data", again},
    {1, "empty inputs and bad arguments", arguments},
    {4, "no races, no stray accesses, order with TMA and wgmma", safe},
    {24, "wgmma makes both products", by_wgmma},
    {8, "TMA brings every tile", moved_by_tma},
    {8, "nothing loaded that the mask hides", read_once_per_tile},
    {0},
};

const struct lesson lesson = {
    .name = "25_hopper_flash",
    .card = "h200",
    .by_wgmma = true,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "TMA brings the tiles, and wgmma makes both products",
             .paid_by = {by_wgmma, moved_by_tma, read_once_per_tile},
             .naive = "grader/25_hopper_flash/naive.cu"},
    .explain = explain};
