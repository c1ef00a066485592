// check.c: lesson 17, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. Of the forward
// pass, only the second item has a group that is no power of two; the rows of a group fill whole
// tiles of 16 (or half a tile) except in the item about other rows; a mask meets a group in the
// item about masks alone. Of the backward pass, only "any length" has an N_q that is not whole
// tiles. The item on safety has all these traps.
#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "gqa.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)gqa_backward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H, (int)p->d);
}

static const struct contract of_forward = {
    .dtype = F16,
    .d = 16,
    .gap = {[ARRAY_O] = 3, [ARRAY_Q] = 7, [ARRAY_K] = 5, [ARRAY_V] = 9},
    .row_gaps = 2,
};

static const struct contract of_backward = {
    .backward = true,
    .dtype = F16,
    .d = 16,
    .gap = {3, 5, 9, 11, 1, 13, 7, 15},
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
                      16 * check_pick(c, n == 0 ? 2 : 1, 2), false));
    judge_O(forward_of(c, 2048, 1, 16, false));
}

static void forward_group_of_three(struct check* c) {
    const int64_t group[] = {3, check_pick(c, 5, 7)};
    judge_O(forward_of(c, group[0], 16, 32, false));
    judge_O(forward_of(c, group[1], 16, 32, false));
    // In fp32 41 times the reciprocal of 41 is below 1.
    judge_O(sizes(c, &of_forward, 82, 41, 16, 16, false));
}

static void forward_causal(struct check* c) {
    judge_O(forward_of(c, 2, 32, 32, true));
    judge_O(with_flag(forward_of(c, 4, 16, 16 + check_pick(c, 2, 31), true), -256));
    judge_O(forward_of(c, 8, 4, check_pick(c, 33, 40), true));
    forward_case(forward_of(c, 2, 32, check_pick(c, 17, 31), true), PACKED, "",
                 JUDGE_O | JUDGE_LSE);
}

// One to three queries more than fill the tiles; keys that fill none; one query and a long cache.
static void forward_ragged(struct check* c) {
    const int64_t N_k[] = {32, 32 + check_pick(c, 1, 9), 15};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++)
        judge_O(forward_of(c, 2, 16 + check_pick(c, 1, 3), N_k[n], false));
    judge_O(with_d(forward_of(c, 8, 1, 4321, false), 8));
    attention_reaches(with_d(sizes(c, &of_forward, 8, 2, 1, 1, false), 2),
                      REACH_MOST - check_pick(c, 0, 9));
}

static void forward_logsumexp(struct check* c) {
    struct problem p = forward_of(c, 4, 16, 32, false);
    p.B = 2;
    forward_case(p, PACKED, "", JUDGE_LSE);
    p = sizes(c, &of_forward, 2, 1, 32, check_pick(c, 17, 31), true);
    forward_case(p, PACKED, ": rows that see no key", JUDGE_LSE);
    forward_case_one_key(forward_of(c, 2, 16, 1, false));
}

static void forward_places(struct check* c) {
    for (enum layout layout = PACKED; layout < LAYOUTS; layout++) {
        struct problem p = sizes(c, &of_forward, 4, 2, 16, 32, false);
        p.B = 2;
        p.scale = (double)(float)(p.scale * (check_pick(c, 0, 1) ? 0.4 : 1.8));
        forward_case(p, layout, ", a scale of its own", JUDGE_O);
    }
    struct problem mixed = with_scale(sizes(c, &of_forward, 4, 1, 16, 16, true), 0.4);
    forward_case(with_heads(mixed, 2, 4), MIXED, "", JUDGE_O);
    forward_case_far(with_heads(sizes(c, &of_forward, 4, 2, 16, 32, false), 2, 4));
}

// O lies above the middle of two numbers of fp16 by 5e-7 of its size, and is rounded up: what
// divides by l + 1e-6 lands below. The first key has the score 0, the second one of which V is
// 4096 more a weight w: O = V + 4096 w / (1 + w), and that is 1.00175. One column more of K holds
// what fp16 leaves of its score.
static void between_two_numbers(struct problem p) {
    const double above = 1.00175, w = above / (4096 - above), q = 8;
    problem_begin(&p, PACKED, ", O between two numbers of fp16");
    forward_fill(&p);
    const double score = log(w) / p.scale, first = dtype_round(F16, score / q);
    for (int64_t i = 0; i < p.N_q; i++) {
        double* Q = row_of(&p, ARRAY_Q, 0, 0, i);
        Q[0] = q, Q[1] = 1;
    }
    for (int64_t x = 0; x < p.d; x++) {
        row_of(&p, ARRAY_K, 0, 0, 0)[x] = row_of(&p, ARRAY_K, 0, 0, 1)[x] = 0;
        row_of(&p, ARRAY_V, 0, 0, 0)[x] = (double)(4 * check_pick(p.check, 800, 950));
        row_of(&p, ARRAY_V, 0, 0, 1)[x] = row_of(&p, ARRAY_V, 0, 0, 0)[x] + 4096;
    }
    row_of(&p, ARRAY_K, 0, 0, 1)[0] = first;
    row_of(&p, ARRAY_K, 0, 0, 1)[1] = score - q * first;
    check_run(p.check);
    struct tensor* O = p.array[ARRAY_O].tensor;
    int64_t below = 0;
    forward_want(&p);
    for (int64_t e = 0; e < O->count; e++) {
        below += fabs(O->got[e] - (O->want[e] - above)) < 0.5;
        O->want[e] = dtype_round(F16, O->want[e]);
    }
    if (below > O->count / 2)
        check_fail(p.check, CAUSE_epsilon_added, "O is too small by a millionth");
    check_compare(p.check, O, budget_exact());
}

static void forward_hard(struct check* c) {
    const int64_t d[] = {59, check_pick(c, 129, 255)};
    struct problem wide = with_nan_gaps(with_d(forward_of(c, 2, 16, 32, false), d[0]));
    forward_case(wide, GAPS, "", JUDGE_O);
    judge_O(with_d(forward_of(c, 2, 16, 16, false), d[1]));
    forward_no_keys(forward_of(c, 1, 16, 16, false));
    forward_case_large(forward_of(c, 1, 32, check_pick(c, 17, 31), true),
                       ", scores of 30 times the usual size, rows that see no key");
    forward_case_integers(forward_of(c, 2, 32, 32, false), ", scores around -20000", -100, 800);
    forward_case_below(forward_of(c, 2, 16, 32, true), -0x1p127);
    forward_case_cancel(forward_of(c, 1, 16, 128, false));
    forward_case_exact(forward_of(c, 2, 16, 1024, false));
    forward_case_tail(forward_of(c, 2, 16, 2048, false));
    between_two_numbers(forward_of(c, 1, 16, 2, false));
    // The largest score is that of the smallest product.
    judge_O(with_scale(forward_of(c, 2, 16, 32, false), -30));
}

// One query: except for Q, only K and V are read. Tiles of at least 8 rows, each a head of the
// group, read them ceil(group / 8) times; a block for each query head, group times. Each of 8 warps
// that share the keys of a block may read Q: that is less than half of K and V for each 8 heads.
// Heads share them in a group of any size, beside other key heads and batches, with a mask, too.
static void forward_decoding(struct check* c) {
    enum { SMALLEST_TILE = 8, WARPS = 8 };
    static const struct {
        int64_t B, H_k, group, d, fewest, most;
        bool causal;
    } sizes_of[] = {
        {1, 1, 8, 16, 65, 90, false}, {1, 1, 16, 16, 257, 300, false}, {2, 2, 7, 72, 65, 90, true}};
    check_watch(c, WATCH_PROFILE);
    for (size_t n = 0; n < sizeof sizes_of / sizeof sizes_of[0]; n++) {
        int64_t group = sizes_of[n].group, H_k = sizes_of[n].H_k;
        int64_t N_k = check_pick(c, sizes_of[n].fewest, sizes_of[n].most);
        struct problem p = sizes(c, &of_forward, H_k * group, group, 1, N_k, sizes_of[n].causal);
        p = with_d(with_heads(p, sizes_of[n].B, H_k * group), sizes_of[n].d);
        forward_case(p, PACKED, "", JUDGE_O | JUDGE_LSE);
        const struct arena_traffic* t = check_traffic(c);
        double K_and_V = 4.0 * (double)(p.B * H_k * N_k * p.d);
        double Q = 2.0 * (double)(p.B * p.H * p.d);
        check_kept(c, CAUSE_expanded, "byte of K and V", K_and_V, 1, 7000);
        double limit = (double)CEIL_DIV(group, SMALLEST_TILE);
        double reads = ((double)t->global_load_bytes - Q) / K_and_V;
        double least = reads - (WARPS - 1) * Q / K_and_V;
        check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                      least <= limit ? least : reads, limit);
    }
}

// ---- backward ------------------------------------------------------------------------------

static void groups(struct check* c) {
    const int64_t H_q_and_group[][2] = {{4, 2}, {2, 1},   {6, 3},  {16, 8},
                                        {4, 4}, {64, 64}, {82, 41}};
    for (size_t n = 0; n < sizeof H_q_and_group / sizeof H_q_and_group[0]; n++)
        backward_case(sizes(c, &of_backward, H_q_and_group[n][0], H_q_and_group[n][1],
                            16 * check_pick(c, n == 0 ? 2 : 1, 2), n == 0 ? 32 : 16, false));
}

// N_q and N_k differ by two at least: so an index off by one differs from a wrong corner.
static void causal(struct check* c) {
    backward_case(backward_of(c, 2, 32, 32, true));
    backward_case(with_flag(backward_of(c, 2, 16, 16 + check_pick(c, 17, 33), true), -256));
    backward_case(backward_of(c, 2, 48, check_pick(c, 17, 30), true));
    int64_t d = check_pick(c, 2, 4), N_k = check_pick(c, 5, 6);
    backward_case_tested(with_d(backward_of(c, 3, 3, N_k, true), d));
}

static void any_length(struct check* c) {
    int64_t N_k = 16 + check_pick(c, 1, 15), N_q = 16 + check_pick(c, 1, 15);
    backward_case(backward_of(c, 2, N_q, N_k, false));
    backward_case(backward_of(c, 3, 1, check_pick(c, 17, 30), false));
    int64_t d = check_pick(c, 129, 256);
    struct problem wide = with_d(backward_of(c, 2, check_pick(c, 17, 20), 15, false), d);
    backward_case_named(with_nan_gaps(wide), GAPS, "");
}

static void places(struct check* c) {
    static const double factors[] = {0.3, 0.5, 1.7, 2.5};
    for (enum layout layout = PACKED; layout <= SHARED; layout++) {
        struct problem p = sizes(c, &of_backward, 4, 2, 32, 32, false);
        p.B = 2;
        p = with_scale(p, factors[check_pick(c, 0, 3)]);
        backward_case_named(p, layout, "");
    }
    struct problem mixed = with_heads(sizes(c, &of_backward, 4, 2, 16, 16, true), 2, 4);
    backward_case_named(with_scale(mixed, 0.5), MIXED, "");
    backward_case(with_scale(backward_of(c, 2, 16, 16, false), -1.3));
    backward_case_far(with_heads(sizes(c, &of_backward, 4, 2, 16, 32, false), 2, 4));
}

// Head 1 has the queries of head 0: the two shares of dK and dV are large, and cancel.
static void cancelling(struct check* c) {
    backward_case_cancel(backward_of(c, 2, 32, 32, false), 32, 1, 0, 512, 1.0 / 16);
    backward_case_cancel_keys(backward_of(c, 1, 16, 128, false), 256, 1.0 / 16);
    backward_case(with_d(backward_of(c, 2, 4320, 16, false), 4));
    backward_case(with_d(backward_of(c, 2, 16, 4320, false), 4));
    backward_case_rounded_once(with_d(sizes(c, &of_backward, 4, 2, 32, 32, false), 48));
    backward_case_large_scores(with_scale(backward_of(c, 2, 16, 16, false), 0.7));
    backward_case_level(backward_of(c, 1, 16, 21, false), -130);
    backward_case_level(backward_of(c, 1, 21, 16, false), -130);
    backward_case_level(backward_of(c, 1, 16, 21, false), 6000);
}

// The workspace has no room for gradients of N_k rows for each query head: they would have to be
// allocated.
static void no_copies(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct problem p = backward_of(c, 8, 32, 48, false);
    backward_case(p);
    check_kept(c, CAUSE_expanded, "byte of dK and dV", 4.0 * (double)(p.N_k * p.d), 1, 7000);
    backward_kept(backward_of(c, 1, 16, 16, false));
    forward_kept(forward_of(c, 1, 16, 16, false));
}

// ---- both ----------------------------------------------------------------------------------

static void again(struct check* c) {
    struct problem p = forward_of(c, 2, 16, 32, false);
    forward_again(p, "forward, H_q = 2, H_k = 1, N_q = 16, N_k = 32", NULL);
    // What is wrong with the last call alone has no other reason than the calls before.
    forward_case_after(with_d(forward_of(c, 4, 32, 32, false), 64), forward_of(c, 2, 16, 16, false),
                       NULL);
    backward_case_again(backward_of(c, 2, 16, 16, false), 3, NULL);
    backward_case_after(with_d(sizes(c, &of_backward, 4, 2, 32, 32, false), 24),
                        sizes(c, &of_backward, 2, 2, 16, 16, true));
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
    static const struct idle_call too_wide[] = {{COURSE_UNSUPPORTED, {{"d", 257}}}, {0}};
    static const struct idle_call of_heads[] = {
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_UNSUPPORTED, {{"H", 0}, {"H_k", 65536}}},
        {0},
    };
    static const struct idle_call no_heads[] = {{COURSE_OK, {{"H", 0}}}, {0}};
    const struct strides bad_strides = {.n = 15, .h = -1, .b = -1};
    struct problem p = sizes(c, &of_forward, 4, 1, 16, 16, false);
    forward_arguments(forward_of(c, 1, 32, 32, false), too_wide);
    problem_bad_arguments(p, bad_strides);
    problem_refused(p, of_heads);
    problem_refused(p, no_heads);
    check_ordinary(c);
    backward_case(backward_of(c, 2, 32, 32, true));
    backward_cases_empty(with_heads(backward_of(c, 2, 16, 16, false), 2, 2));
    no_query_heads(sizes(c, &of_backward, 2, 1, 16, 16, false));
    p = sizes(c, &of_backward, 4, 1, 16, 16, false);
    problem_bad_arguments(p, bad_strides);
    problem_refused(p, of_heads);
    problem_too_many_heads(backward_of(c, 2, 16, 16, false));
    problem_most_heads(backward_of(c, 2, 16, 16, false));
    problem_launches_fail(backward_of(c, 2, 16, 16, false));
}

// Every array ends in a tile that is not full, in rows and in columns.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N_k = 16 + check_pick(c, 9, 15), N_q = 16 + check_pick(c, 5, 7);
    judge_O(with_d(forward_of(c, 2, N_q, N_k, false), 24));
    int64_t N = 16 + check_pick(c, 9, 15);
    judge_O(forward_of(c, 1, N, N, true));
    for (int is_causal = 0; is_causal <= 1; is_causal++) {
        N = check_pick(c, 17, 23);
        backward_case(with_d(backward_of(c, 2, N, is_causal ? N : 26, is_causal), 21));
    }
    forward_misaligned(forward_of(c, 1, 16, 16, false));
    backward_misaligned(backward_of(c, 1, 16, 16, false));
}

static const struct item items[] = {
    {6, "forward: heads that share keys", forward_groups},
    {4, "forward: a group of three", forward_group_of_three},
    {5, "forward: causal", forward_causal},
    {4, "forward: any length", forward_ragged},
    {3, "forward: LSE", forward_logsumexp},
    {3, "forward: batches, strides, scale", forward_places},
    {3, "forward: hard scores, any head dimension", forward_hard},
    {40, "decoding reads K and V once", forward_decoding},
    {7, "backward: sums over the heads of a group", groups},
    {4, "backward: causal", causal},
    {3, "backward: any length", any_length},
    {3, "backward: batches, strides, scale", places},
    {3, "backward: hard numbers", cancelling},
    {1, "called again with new data", again},
    {2, "empty inputs and bad arguments", arguments},
    {4, "no races, no stray accesses", safe},
    {5, "no gradients for each query head", no_copies},
    {0},
};

const struct lesson lesson = {.name = "17_gqa",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .idea = {.what = "heads of a group share what is read of K and V",
                                       .paid_by = {forward_decoding, no_copies},
                                       .naive = "solutions/17_gqa/steps/1_block_per_head.cu"},
                              .explain = backward_or_forward_explain};
