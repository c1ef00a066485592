// check.c: lesson 17, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. Of the forward
// pass, only the second item has a group that is no power of two; the rows of a group fill a tile
// of 128 or half of it, or less than one tile, except in the item about other rows; a mask meets a
// group in the item about masks alone. Of the backward pass, only "any length" has an N_q that is
// not whole tiles. The item on safety has all these traps.
#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "gqa.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)gqa_backward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H);
}

// Rows begin at multiples of 16 bytes: gaps are multiples of 8 elements.
static const struct contract of_forward = {
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
};

static const struct contract of_backward = {
    .backward = true,
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {16, 24, 40, 48, 8, 56, 32, 64},
    .workspace_bytes = workspace_bytes,
};

// One batch of H query heads, `group` of which share a key head.
static struct problem sizes(struct check* c, const struct contract* contract, int64_t H,
                            int64_t group, int64_t N_q, int64_t N_k, bool causal) {
    struct problem p = problem_of(c, contract, N_q, N_k, causal);
    p.H = H;
    p.group = group;
    return p;
}

// A multi-query problem of either pass: all heads share a key head.
static struct problem forward_of(struct check* c, int64_t H, int64_t N_q, int64_t N_k,
                                 bool causal) {
    return sizes(c, &of_forward, H, H, N_q, N_k, causal);
}

static struct problem backward_of(struct check* c, int64_t H, int64_t N_q, int64_t N_k,
                                  bool causal) {
    return sizes(c, &of_backward, H, H, N_q, N_k, causal);
}

static void judge_O(struct problem p) {
    forward_case(p, PACKED, "", JUDGE_O);
}

// ---- forward -------------------------------------------------------------------------------

static void forward_groups(struct check* c) {
    const int64_t H_q_and_group[][2] = {{4, 2}, {3, 1}, {16, 8}, {8, 8}, {64, 64}};
    for (size_t n = 0; n < sizeof H_q_and_group / sizeof H_q_and_group[0]; n++)
        judge_O(sizes(c, &of_forward, H_q_and_group[n][0], H_q_and_group[n][1], 16,
                      64 * check_pick(c, n == 0 ? 2 : 1, 2), false));
    judge_O(with_d(sizes(c, &of_forward, 4, 2, 64, 64, false), 128));
    judge_O(forward_of(c, 320, 1, 64, false));  // heads are more than a byte counts
}

static void forward_group_of_three(struct check* c) {
    const int64_t group[] = {3, check_pick(c, 5, 7)};
    judge_O(forward_of(c, group[0], 16, 64, false));
    judge_O(forward_of(c, group[1], 16, 64, false));
    // In fp32 41 times the reciprocal of 41 is below 1.
    judge_O(sizes(c, &of_forward, 82, 41, 2, 64, false));
    // A group that fills a block of 128 rows, and one row more: blocks begin inside of queries.
    judge_O(sizes(c, &of_forward, 129, 129, 65, 65, true));
    // A block of 128 rows that begins and ends inside of a query; its last row alone sees key 128.
    forward_case_growing(forward_of(c, 3, 90, 133, true), PACKED, ": the last row alone", 4, 1);
    // Its first rows alone do not see key 127: the next query does.
    forward_case_growing(forward_of(c, 3, 90, 174, true), PACKED, ": the first row alone", 4, 1);
}

static void forward_causal(struct check* c) {
    judge_O(forward_of(c, 2, 128, 128, true));
    judge_O(with_flag(forward_of(c, 4, 64, 64 + check_pick(c, 2, 62), true), INT32_MIN));
    judge_O(with_d(forward_of(c, 8, 16, check_pick(c, 65, 90), true), 128));
    // The first row of each tile of queries lacks one key of a whole tile of keys.
    forward_case_growing(forward_of(c, 2, 72, 72 + 126, true), PACKED,
                         ": one key less than whole tiles", 4, 1);
    forward_case(forward_of(c, 2, 64, check_pick(c, 17, 31), true), PACKED, "",
                 JUDGE_O | JUDGE_LSE);
    // More key heads than pick_work() takes at a time, and some left, of several blocks.
    judge_O(with_heads(sizes(c, &of_forward, 4, 2, 72, 24, true), 9, 4));
    // Several blocks of several key heads, which are dealt in another order.
    judge_O(sizes(c, &of_forward, 6, 2, 80, 80, true));
}

// A few rows more than fill the tiles; keys that fill none; one query and a long cache.
static void forward_ragged(struct check* c) {
    const int64_t N_k[] = {64, 128 + check_pick(c, 1, 9), 15};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++)
        judge_O(forward_of(c, 2, 64 + check_pick(c, 1, 3), N_k[n], false));
    judge_O(forward_of(c, 8, 1, 4321, false));
    // Of a group of 4, LSE of the last head begins behind what 32 bits count.
    attention_reaches(forward_of(c, 4, 1, 1, false), REACH_MOST - check_pick(c, 0, 9));
    attention_reaches(forward_of(c, 3, 1, 1, false), REACH_MOST - check_pick(c, 0, 9));
    attention_most_heads(forward_of(c, 1, 16, 16, true));
}

// The scale is no power of 2: who multiplies Q by it rounds.
static void forward_logsumexp(struct check* c) {
    struct problem p = with_scale(forward_of(c, 4, 16, 64, false), 0.7);
    p.B = 2;
    forward_case(p, PACKED, "", JUDGE_LSE);
    p = sizes(c, &of_forward, 2, 1, 64, check_pick(c, 17, 31), true);
    forward_case(p, PACKED, ": rows that see no key", JUDGE_LSE);
    forward_case_one_weighs(forward_of(c, 2, 64, 64, false));
}

static void forward_places(struct check* c) {
    for (enum layout layout = PACKED; layout < LAYOUTS; layout++) {
        const int64_t group = layout == HEADS_OUTSIDE ? 4 : 2;  // all heads: of each batch its own
        struct problem p = sizes(c, &of_forward, 4, group, 16, 64, false);
        p.B = 2;
        p.scale = (double)(float)(p.scale * (check_pick(c, 0, 1) ? 0.4 : 1.8));
        forward_case(p, layout, ", a scale of its own", JUDGE_O);
    }
    struct problem mixed = with_scale(sizes(c, &of_forward, 4, 1, 64, 64, true), 0.4);
    forward_case(with_heads(mixed, 2, 4), MIXED, "", JUDGE_O);
    // All heads of a query lie side by side, and share a key head: yet queries do not.
    forward_case(with_heads(forward_of(c, 4, 16, 64, false), 2, 4), ROWS_APART, "", JUDGE_O);
    // The kernels of wide heads are others.
    forward_case(with_heads(with_d(forward_of(c, 2, 16, 32, true), 128), 2, 4), GAPS, "", JUDGE_O);
    forward_case(with_heads(forward_of(c, 2, 16, 32, false), 2, 4), ONE_BATCH, "", JUDGE_O);
    forward_case_far(with_heads(sizes(c, &of_forward, 4, 2, 16, 64, false), 2, 4));
}

static void forward_hard(struct check* c) {
    struct problem wide = with_nan_gaps(with_d(forward_of(c, 2, 16, 64, false), 128));
    forward_case(wide, GAPS, "", JUDGE_O);
    forward_no_keys(forward_of(c, 1, 16, 16, false));
    forward_case_large(forward_of(c, 1, 64, check_pick(c, 17, 31), true),
                       ", scores of 30 times the usual size, rows that see no key");
    // Here some rows see one tile, and others several.
    forward_case_integers(forward_of(c, 2, 128, 128, true), ", scores around -20000", -128, 1024);
    forward_case_integers(forward_of(c, 2, 32, 64, false), ", scores around -20000", -128, 1024);
    forward_case_below(forward_of(c, 2, 64, 128, true), -0x1p127);
    forward_case_exact(forward_of(c, 2, 16, 1088, true));
    forward_case_tail(forward_of(c, 2, 16, 2048, false));
    forward_case_divided(forward_of(c, 2, 32, 64, false));
    forward_case_faint(forward_of(c, 1, 64, 512, false));
    forward_case_ones(forward_of(c, 2, 32, 128, false));
}

// A decoding case of one or of some queries, of B batches, each of H_k key heads.
static void forward_shares(struct check* c, int64_t B, int64_t H_k, struct problem p) {
    enum { SMALLEST_TILE = 8, WARPS = 8 };
    p = with_heads(p, B, H_k * p.group);
    forward_case(p, PACKED, "", p.N_q == 1 ? JUDGE_O | JUDGE_LSE : JUDGE_O);
    const struct arena_traffic* t = check_traffic(c);
    double K_and_V = 4.0 * (double)(p.B * H_k * p.N_k * p.d);
    double Q = 2.0 * (double)(p.B * p.H * p.N_q * p.d);
    check_kept(c, CAUSE_expanded, "byte of K and V", K_and_V, 1, 7000);
    double limit = (double)CEIL_DIV(p.group * p.N_q, SMALLEST_TILE);
    double reads = ((double)t->global_load_bytes - Q) / K_and_V;
    double least = reads - (WARPS - 1) * Q / K_and_V;
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                  least <= limit ? least : reads, limit);
}

// Few queries: except for Q, only K and V are read. Tiles of at least 8 rows, each a query of a
// head of the group, read them once for each 8 rows; a block for each head, group times. Each of 8
// warps that share the keys of a block may read Q: less than half of K and V for each 8 rows.
// Heads share them in a group of any size, beside other key heads and batches, with a mask, too,
// and where the cache is long. So do the heads of several queries, at most 6: there even tiles of 8
// rows read less than a block for each query head does.
static void forward_decoding(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    const int64_t batches = check_pick(c, 1, 2);
    forward_shares(c, 1, 1, sizes(c, &of_forward, 8, 8, 1, check_pick(c, 1030, 1100), false));
    forward_shares(c, batches, 1, sizes(c, &of_forward, 16, 16, 1, check_pick(c, 257, 300), true));
    forward_shares(c, 3, 2,
                   with_d(sizes(c, &of_forward, 7, 7, 1, check_pick(c, 40, 60), true), 128));
    const int64_t key_heads = check_pick(c, 1, 2);
    for (int causal = 0; causal <= 1; causal++) {
        const int64_t group = check_pick(c, 8, 12), N_q = check_pick(c, 2, 6);
        const int64_t N_k = check_pick(c, 150, 180);
        forward_shares(c, check_pick(c, 1, 3), causal ? key_heads : 3 - key_heads,
                       sizes(c, &of_forward, group, group, N_q, N_k, causal));
    }
}

// ---- backward ------------------------------------------------------------------------------

static void groups(struct check* c) {
    const int64_t H_q_and_group[][2] = {{4, 2}, {2, 1}, {6, 3}, {16, 8}, {4, 4}, {34, 34}, {10, 5}};
    for (size_t n = 0; n < sizeof H_q_and_group / sizeof H_q_and_group[0]; n++)
        backward_case(sizes(c, &of_backward, H_q_and_group[n][0], H_q_and_group[n][1],
                            n < 4 ? 64 : 32, n == 0 ? 128 : 64, false));
    backward_case(with_d(sizes(c, &of_backward, 4, 2, 64, 64, false), 128));
}

// N_q and N_k differ by two at least: so an index off by one differs from a wrong corner.
static void causal(struct check* c) {
    backward_case_growing(sizes(c, &of_backward, 1, 1, 128, 128, true));
    backward_case(backward_of(c, 2, 128, 128, true));
    backward_case(
        with_flag(backward_of(c, 2, 64, 128 + 2 * check_pick(c, 1, 31), true), INT32_MIN));
    // A card whose blocks may have more memory than the grade's: a launcher may have other kernels.
    backward_case(
        on_card(with_d(backward_of(c, 2, 128, check_pick(c, 33, 62), true), 128), "h100"));
    backward_case_tested(backward_of(c, 3, 3, check_pick(c, 5, 6), true));
    // That one key may be about as good as the others: so for more than one head.
    backward_case_one_key_less(sizes(c, &of_backward, 4, 2, 130, 130 + 126, true));
    backward_case(sizes(c, &of_backward, 4, 2, 130, 130, true));  // several blocks of several heads
    backward_case(with_heads(sizes(c, &of_backward, 2, 2, 24, 136, true), 17, 2));  // ... and of 17
}

static void any_length(struct check* c) {
    int64_t N_q[LENGTHS], N_k[LENGTHS];
    pick_lengths(c, N_q, N_k);
    for (int n = 0; n < LENGTHS; n++)
        backward_case_of_length(backward_of(c, n == 3 ? 3 : 2, N_q[n], N_k[n], false));
    backward_case(backward_of(c, 2, 1090, 17, false));
    backward_case(backward_of(c, 2, 17, 1090, false));
    struct problem p = sizes(c, &of_backward, 1, 1, 1, 16, true);
    attention_reaches(with_heads(p, 2, 4), (1 << 29) - check_pick(c, 0, 9));
    attention_reaches_keys(sizes(c, &of_backward, 1, 1, 17, 1, true), REACH_MOST);
}

static void places(struct check* c) {
    static const double factors[] = {0.45, 0.6};
    for (enum layout layout = PACKED; layout <= SHARED; layout++) {
        const int64_t group = layout == HEADS_OUTSIDE ? 4 : 2;
        struct problem p = sizes(c, &of_backward, 4, group, 64, 64, false);
        p.B = 2;
        p = with_scale(p, factors[check_pick(c, 0, 1)]);
        backward_case_named(p, layout, "");
    }
    struct problem mixed = with_heads(sizes(c, &of_backward, 4, 2, 64, 64, true), 2, 4);
    backward_case_named(with_scale(mixed, 0.6), MIXED, "");
    backward_case_named(backward_of(c, 4, 32, 64, false), ROWS_APART, "");
    // The kernels of wide heads are others, those of a card with more memory than the grade's, too.
    mixed = with_heads(with_d(sizes(c, &of_backward, 2, 1, 16, 32, true), 128), 2, 2);
    backward_case_named(mixed, GAPS, "");
    backward_case_named(on_card(mixed, "h100"), GAPS, "");
    backward_case(with_scale(backward_of(c, 2, 17, 17, false), -0.8));
    backward_case(with_scale(backward_of(c, 2, 49, 65, false), 0));
    backward_case_far(with_heads(sizes(c, &of_backward, 4, 2, 64, 64, false), 2, 4));
}

// Head 1 has the queries of head 0: the two shares of dK and dV are large, and cancel.
static void cancelling(struct check* c) {
    backward_case_cancel(backward_of(c, 2, 64, 64, false), 64, 1, 0, 64, 0);
    backward_case_cancel_keys(backward_of(c, 1, 64, 256, false), 64, 0);
    backward_case_large_dP(backward_of(c, 1, 64, 64, false));
    backward_case_faint(backward_of(c, 1, 32, 64, false));
    backward_case_rounded_once(sizes(c, &of_backward, 4, 2, 64, 64, false));
    backward_case_alike(backward_of(c, 1, 64, 255, false));  // bf16 rounds 1 / 255 up by 0.4 %
    backward_case_large_scores(backward_of(c, 2, 64, 64, false));
    backward_case_level(backward_of(c, 1, 64, 71, false), 120);
    backward_case_level(backward_of(c, 1, 64, 71, false), -130);
    backward_case_level(backward_of(c, 1, 60, 64, false), -130);
    backward_case_level(backward_of(c, 1, 64, 71, false), 6000);
    backward_case_lowest(backward_of(c, 2, 32, 1, false));
}

static void repeatable(struct check* c) {
    backward_case_repeatable(sizes(c, &of_backward, 8, 2, 32, 130, false));
}

// The workspace has no room for gradients of N_k rows for each query head: they would have to be
// allocated.
static void no_copies(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct problem p = with_drawn_heads(sizes(c, &of_backward, 0, 3, 16, 48, false));
    backward_case(p);
    check_kept(c, CAUSE_expanded, "byte of dK and dV",
               4.0 * (double)(p.B * p.H / p.group * p.N_k * p.d), 1, 7000);
    // Neither pass keeps something for each pair of a query and a key.
    for (int many_keys = 0; many_keys <= 1; many_keys++) {
        p = backward_of(c, 1, many_keys ? 17 : 577, many_keys ? 577 : 17, false);
        backward_case(p);
        problem_traffic(&p);
    }
    forward_long_rows(forward_of(c, 1, 16, 16, false), 1 << 14);
}

// ---- both ----------------------------------------------------------------------------------

// Whole tiles, tiles that are not full, of groups, and the other head dimension. Backward there are
// twice as many queries as keys: gradients for each query head, which another item is about, are no
// more than a row of fp32 for each query.
static void on_tensor_cores(struct check* c) {
    const int64_t tail = check_pick(c, 1, 9), group = check_pick(c, 2, 3);
    const struct problem cases[] = {
        forward_of(c, 1, 64, 128, false),
        with_drawn_heads(sizes(c, &of_forward, 0, group, check_pick(c, 9, 24), 40, true)),
        with_d(forward_of(c, 1, 64, 64, false), 128),
        backward_of(c, 1, 128, 64, false),
        with_drawn_heads(sizes(c, &of_backward, 0, 2, check_pick(c, 16, 24), 8, false)),
        with_d(backward_of(c, 1, 128, 64, false), 128),
    };
    for (int n = 0; n < 3; n++) forward_by_mma(cases[n]);
    for (int n = 3; n < 6; n++) {
        backward_by_mma(cases[n]);
        backward_by_mma_of_dO(cases[n]);
    }
    // Where heads share keys, for one query and for many keys, a launcher may have other kernels.
    const struct problem shared[] = {
        forward_of(c, 8, 1, 64 + tail, false), with_d(forward_of(c, 3, 20, 64 + tail, true), 128),
        forward_of(c, 1, 16, 2048, false), backward_of(c, 2, 40, 40, true)};
    for (int n = 0; n < 4; n++) {
        if (n < 3) forward_case(shared[n], PACKED, "", JUDGE_O);
        if (n == 3) backward_case(shared[n]);
        judge_mma_count(&shared[n], check_traffic(c));
    }
}

static void again(struct check* c) {
    struct problem p = forward_of(c, 2, 32, 64, false);
    forward_again(p, "forward, H_q = 2, H_k = 1, N_q = 32, N_k = 64", NULL);
    // What is wrong with the last call alone has no other reason than the calls before.
    // Heads, key heads and groups are others.
    forward_case_after(with_d(sizes(c, &of_forward, 4, 2, 64, 64, false), 128),
                       forward_of(c, 1, 32, 32, false), NULL);
    backward_case_again(backward_of(c, 2, 64, 64, false), 3, NULL);
    backward_case_after(with_d(sizes(c, &of_backward, 4, 2, 64, 72, false), 128),
                        backward_of(c, 1, 64, 64, true));
}

// The launcher is told of no query heads: dK and dV of the key heads are 0, and dQ is nobody's.
static void no_query_heads(struct problem p) {
    check_case(p.check, "H_q = 0, H_k = %d, N_q = N_k = %d", (int)p.H, (int)p.N_k);
    check_replace(p.check, "H", 0);
    problem_declare(&p, PACKED);
    check_expect(p.check, COURSE_OK, CAUSE_empty_input);
    backward_fill(&p);
    check_run(p.check);
    struct tensor* dQ = p.array[ARRAY_dQ].tensor;
    for (int64_t e = 0; e < dQ->count; e++) dQ->untouched[e] = true;
    for (enum which a = ARRAY_dQ; a <= ARRAY_dV; a++)
        check_compare(p.check, p.array[a].tensor, budget_exact());
}

static void arguments(struct check* c) {
    static const struct idle_call of_forward_alone[] = {
        PROBLEM_UNSUPPORTED(80),
        PROBLEM_ORDER(80),
        {0},
    };
    static const struct idle_call of_heads[] = {
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        // what comes first in the contract's list counts
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"H", 0}, {"H_k", 65536}}},
        {COURSE_UNSUPPORTED, {{"H", 0}, {"H_k", 65536}, {"B", 65536}}},
        {0},
    };
    static const struct idle_call no_heads[] = {{COURSE_OK, {{"H", 0}}}, {0}};
    static const struct idle_call of_backward_alone[] = {
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"d", 80}, {"N_k", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_BAD_ARGUMENT, {{"B", 0}, {"stride_k.n", 8}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}, {"stride_k.n", 68}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}, {"stride_o.n", 68}, {"dK", 0}}},
        {0},
    };
    const struct strides bad = {.n = 56, .h = -64, .b = -64},
                         odd = {.n = 260, .h = 100, .b = 33284};
    struct problem p = sizes(c, &of_forward, 4, 1, 32, 64, false);
    forward_arguments(forward_of(c, 1, 64, 64, false), of_forward_alone);
    problem_bad_arguments(p, bad);
    problem_strides_refused(p, COURSE_UNSUPPORTED, odd);
    problem_misaligned_refused(p);
    problem_refused(p, of_heads);
    problem_refused(p, no_heads);
    p.scale = NAN;
    problem_must_return(p, COURSE_UNSUPPORTED, ": not above 0");
    check_ordinary(c);
    backward_case(backward_of(c, 2, 64, 64, true));
    backward_cases_empty(with_heads(backward_of(c, 2, 64, 64, false), 2, 2));
    no_query_heads(sizes(c, &of_backward, 2, 1, 64, 64, false));
    p = sizes(c, &of_backward, 4, 1, 32, 64, false);
    problem_bad_arguments(p, bad);
    problem_strides_refused(p, COURSE_UNSUPPORTED, odd);
    problem_misaligned_refused(p);
    problem_refused(p, of_heads);
    problem_refused(p, of_backward_alone);
    problem_too_many_heads(backward_of(c, 2, 64, 64, false));
    problem_most_heads(backward_of(c, 2, 64, 64, false));
    problem_launches_fail(backward_of(c, 2, 64, 64, false));
    backward_on_two_devices(with_d(backward_of(c, 2, 64, 64, false), 128), "h100", COURSE_OK);
}

// Every array ends in a tile that is not full.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 96 + pick_ragged(c, 17, 29, 8);
    judge_O(with_drawn_heads(sizes(c, &of_forward, 0, 3, check_pick(c, 9, 24), 72, false)));
    judge_O(with_d(forward_of(c, 1, N, N, true), 128));
    struct problem p = backward_of(c, 2, 4 * check_pick(c, 26, 30), 72, false);
    p.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone, though rows have fours
    backward_case(p);
    backward_case(with_d(backward_of(c, 2, N, N, true), 128));
    backward_case(with_drawn_heads(sizes(c, &of_backward, 0, 2, check_pick(c, 9, 16), 17, true)));
    // Queries that see nothing, and keys that nobody sees: copies for nobody.
    judge_O(forward_of(c, 1, 160, 24, true));
    backward_case(backward_of(c, 1, 160, 24, true));
    backward_case_empty(backward_of(c, 1, 0, 24, false));
    // The kernels of wide heads are others, those of a card with more memory than the grade's, too.
    backward_accesses(with_d(backward_of(c, 1, 136, 8, true), 128));
    p = with_d(backward_of(c, 1, 0, 24, false), 128);
    backward_case_empty(p);
    backward_case_empty(on_card(p, "h100"));
}

static const struct item items[] = {
    {5, "forward: heads that share keys", forward_groups},
    {3, "forward: a group of three", forward_group_of_three},
    {4, "forward: causal", forward_causal},
    {3, "forward: any length", forward_ragged},
    {3, "forward: LSE", forward_logsumexp},
    {3, "forward: batches, strides, scale", forward_places},
    {3, "forward: hard scores", forward_hard},
    {40, "decoding reads K and V once", forward_decoding},
    {6, "backward: sums over the heads of a group", groups},
    {3, "backward: causal", causal},
    {3, "backward: any length", any_length},
    {3, "backward: batches, strides, scale", places},
    {3, "backward: hard numbers", cancelling},
    {2, "the same bits for the same inputs", repeatable},
    {1, "called again with new data", again},
    {2, "empty inputs and bad arguments", arguments},
    {3, "no races, no stray accesses", safe},
    {5, "no gradients for each query head", no_copies},
    {5, "the tensor cores make every product", on_tensor_cores},
    {0},
};

const struct lesson lesson = {.name = "17_gqa",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .idea = {.what = "heads of a group share what is read of K and V",
                                       .paid_by = {forward_decoding, no_copies},
                                       .naive = "solutions/17_gqa/steps/1_block_per_head.cu"},
                              .explain = backward_or_forward_explain};
