// check.c: lesson 15, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. N_q is a multiple
// of 16 in the first item only; keys beyond the last tile matter where LSE is very negative; and so
// on.
#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "cpu/cards/cards.h"
#include "flash_backward.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)flash_backward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H, (int)p->d);
}

static const struct contract contract = {.backward = true,
                                         .dtype = F16,
                                         .d = 16,
                                         .gap = {5, 6, 11, 13, 3, 15, 8, 17},
                                         .workspace_bytes = workspace_bytes};

// Rows of all arrays begin at any element, equally far apart: the stride of another array is no
// mistake here, as it is in "rows with strides".
static const struct contract one_gap = {.backward = true,
                                        .dtype = F16,
                                        .gap = {1, 1, 1, 1, 1, 1, 1, 1},
                                        .workspace_bytes = workspace_bytes};

// One batch of one head, d = 16.
static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    backward_case(causal(c, 64, 64));
    backward_case(all_keys(c, 32, 16 * check_pick(c, 1, 3)));
}

static void any_length(struct check* c) {
    int64_t N_k = pick_ragged(c, 17, 63, 16), N_q = pick_ragged(c, 17, 63, 16);
    backward_case(all_keys(c, N_q, N_k));
    backward_case(all_keys(c, 1, pick_ragged(c, 17, 40, 16)));
    backward_case(all_keys(c, pick_ragged(c, 17, 31, 16), 1));
    backward_case(causal(c, 1, 19));  // the query sees all keys
    int64_t d = check_pick(c, 2, 4);
    N_k = check_pick(c, 2, 5), N_q = check_pick(c, 2, 4);
    backward_case_tested(with_d(all_keys(c, N_q, N_k), d));
}

// N_q and N_k differ by two at least: so an index off by one differs from a wrong corner.
static void masked(struct check* c) {
    int64_t N = pick_ragged(c, 33, 79, 16);
    backward_case(causal(c, N, N));
    N = pick_ragged(c, 17, 31, 16);
    backward_case(with_flag(causal(c, N, N + check_pick(c, 17, 33)), -256));
    backward_case_one_key_less(causal(c, 47, 47 + 62));
    backward_case_tested(with_d(causal(c, 17, check_pick(c, 19, 21)), 2));
}

static void unseen(struct check* c) {
    int64_t N_q = pick_ragged(c, 36, 63, 16);
    backward_case(causal(c, N_q, N_q - check_pick(c, 17, 19)));
    backward_case_named(with_heads(causal(c, 40, 20), 2, 2), GAPS, "");
    backward_case(with_d(causal(c, 37, 19), 136));
    // One block of keys, and a tile of queries that it has nothing to do with.
    backward_case(causal(c, N_q, check_pick(c, 9, 16)));
    backward_case_tested(with_d(causal(c, 19, 16), 2));
}

static void heads(struct check* c) {
    for (int layout = PACKED; layout <= HEADS_OUTSIDE; layout += HEADS_OUTSIDE) {
        int64_t N_k = check_pick(c, 17, 32), N_q = pick_ragged(c, 17, 31, 16);
        struct problem p = with_heads(all_keys(c, N_q, N_k), 2, layout == PACKED ? 3 : 2);
        backward_case_named(p, (enum layout)layout, "");
    }
    backward_case(with_heads(with_d(causal(c, 17, 17), 4), 34, 2));
    backward_case(with_heads(with_d(all_keys(c, 17, 17), 4), 1, 130));
    // 41 times the float nearest to 1 / 41 is less than 1.
    backward_case(with_heads(with_d(all_keys(c, 3, 3), 4), 3, 41));
    attention_most_heads(with_d(causal(c, 8, 8), 4));
}

static void strides(struct check* c) {
    int64_t N_k = pick_ragged(c, 17, 31, 16), N_q = pick_ragged(c, 17, 31, 16);
    backward_case_named(with_heads(all_keys(c, N_q, N_k), 2, 2), GAPS, "");
    backward_case_named(with_heads(all_keys(c, N_q, N_k), 2, 2), SHARED, "");
    backward_case_named(with_heads(all_keys(c, N_q, N_k), 2, 2), ONE_BATCH, "");
    backward_case(with_unused_strides(all_keys(c, N_q, N_k)));
    struct problem mixed = with_heads(with_d(causal(c, N_q, N_q), 40), 2, 3);
    backward_case_named(with_scale(mixed, 0.6), MIXED, "");
    backward_case_far(with_heads(all_keys(c, N_q, N_k), 2, 2));
}

static void any_head(struct check* c) {
    // One more than a tile's width, too.
    const int64_t d[] = {59, check_pick(c, 130, 240), check_pick(c, 241, 255), 256, 17, 33, 65,
                         129};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        struct problem p = with_d(all_keys(c, pick_ragged(c, 17, 19, 16), 16), d[n]);
        backward_case_named(n == 0 ? with_nan_gaps(p) : p, n == 0 ? GAPS : PACKED, "");
    }
    struct problem heads = with_heads(with_d(causal(c, 17, 17), check_pick(c, 66, 128)), 2, 2);
    heads.contract = &one_gap;
    backward_case_named(heads, GAPS, "");
    const int64_t wide = check_pick(c, 130, 160);
    backward_case_named(with_heads(with_d(causal(c, 17, 18), wide), 2, 2), GAPS, "");
}

static void extreme(struct check* c) {
    backward_case_large_scores(causal(c, 35, 35));
    backward_case_level(all_keys(c, 21, 23), 120);
    backward_case_level(all_keys(c, 21, 23), -130);
    backward_case_level(with_d(all_keys(c, 21, 23), 136), -130);
    backward_case_level(all_keys(c, 21, 23), 6000);
    backward_case_lowest(all_keys(c, 21, 1));
}

static void gradients_of_any_size(struct check* c) {
    backward_case_large_dP(all_keys(c, 19, 16));
    backward_case_too_large(all_keys(c, 19, 2));
    backward_case_faint(all_keys(c, 19, 16));
    struct problem p = with_d(all_keys(c, 16 + pick_ragged(c, 49, 63, 16), 64), 48);
    backward_case_rounded_once(p);
    p = all_keys(c, 19, 16);
    problem_begin(&p, PACKED, ", Q and dO of 1/64 of the usual size");
    backward_fill(&p);
    backward_fill_rows(&p, ARRAY_dO, 1.0 / 64);
    backward_fill_rows(&p, ARRAY_Q, 1.0 / 64);
    backward_run(&p);
    backward_case_cancel(all_keys(c, 129, 16), 64, 0, 64, 512, 1.0 / 16);
    backward_case_cancel_keys(all_keys(c, 17, 128), 256, 1.0 / 16);
    // What cancels is a thousand queries apart.
    backward_case_cancel(all_keys(c, 1089, 16), 64, 0, 1024, 512, 1.0 / 16);
    backward_case(with_d(all_keys(c, 17, 4321), 4));
    backward_case(with_d(all_keys(c, 4321, 17), 4));
}

static void own_scale(struct check* c) {
    static const double factors[] = {0.3, 0.6, 1.7, 2.5};
    struct problem p = all_keys(c, pick_ragged(c, 17, 31, 16), 16);
    backward_case(with_scale(p, factors[check_pick(c, 0, 3)]));
    backward_case(with_scale(all_keys(c, 17, 16), -1.3));
    backward_case(with_scale(all_keys(c, 17, 16), 0));
}

static void again(struct check* c) {
    int64_t N = pick_ragged(c, 17, 31, 16);
    struct problem calls = causal(c, N, N);
    calls.first_card = CARD_NEWER;  // the first call is on another GPU than the others
    backward_case_again(calls, 3, NULL);
    struct problem last = with_heads(with_d(all_keys(c, N, 35), 24), 1, 2);
    backward_case_after(last, with_d(causal(c, 17, 17), 24));
}

static void arguments(struct check* c) {
    static const struct idle_call too_wide[] = {{COURSE_UNSUPPORTED, {{"d", 257}}}, {0}};
    static const struct idle_call others[] = {{COURSE_OK, {{"H", 0}}}, PROBLEM_ORDER(257), {0}};
    check_ordinary(c);
    backward_case(causal(c, 19, 19));
    backward_cases_empty(with_heads(all_keys(c, 19, 17), 2, 2));
    const struct problem p = all_keys(c, 16, 16);
    problem_bad_arguments(p, (struct strides){.n = 15, .h = -1, .b = -1});
    problem_refused(with_d(p, 257), too_wide);
    problem_refused(p, others);
    problem_too_many_heads(p);
    problem_many_keys(p);
    problem_most_heads(p);
    problem_launches_fail(p);
}

static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    for (int is_causal = 0; is_causal <= 1; is_causal++) {
        int64_t N_q = pick_ragged(c, 17, 23, 16), N_k = is_causal ? N_q : check_pick(c, 17, 23);
        struct problem p = problem_of(c, &contract, N_q, N_k, is_causal);
        backward_case(with_drawn_heads(with_d(p, is_causal ? 16 : 5)));
    }
    backward_case_far(with_d(all_keys(c, 17, 17), 21));  // nothing may be read behind a row
    // With a d for which a kernel may have pieces of its own.
    backward_misaligned(with_d(all_keys(c, 3, 3), 64));
    struct problem odd = all_keys(c, 17, 17);
    odd.contract = &one_gap;
    backward_case_named(odd, GAPS, "");
}

// The bytes of a case but for arrays that are read once: K and V; O and dO, for delta; the sums of
// dQ. Lanes that load the same number, LSE or delta, load it once.
static double read_again(struct problem p) {
    double d = (double)(p.B * p.H * p.d), once = d * (4.0 * (double)p.N_k + 8.0 * (double)p.N_q);
    check_watch(p.check, WATCH_PROFILE);
    backward_case(p);
    const struct arena_traffic* t = problem_traffic(&p);
    int64_t different = 32 * (t->global_load_sectors - t->global_load_excess_sectors);
    return fmin((double)t->global_load_bytes, (double)different) - once;
}

// What a launcher may have other kernels for. Of N_k = N_q + 128 keys 0.78 of the rows of Q and dO
// are read in tiles of 16, less in larger ones, and 1 if nothing is left out.
static void cheap_elsewhere(struct check* c, int64_t N_q, double of_rows, double fewer_queries) {
    const int64_t N_k = N_q + MORE_KEYS;
    double blocks_more = (read_again(causal(c, N_q, N_k + MORE_KEYS)) - fewer_queries) / of_rows;
    check_at_most(c, CAUSE_masked_read, "share of Q and dO that is read with fewer queries",
                  blocks_more > 0
                      ? fewer_queries / (blocks_more * of_rows * (double)N_k / MORE_KEYS)
                      : INFINITY,
                  0.9);
    // Blocks of 16 keys that leave nothing out read each query 4 times. Where what is hidden is
    // left out, each query is read once for a dQ of 0, at most, and a fifth of them for each block.
    check_at_most(c, CAUSE_masked_read, "times that queries are read of which few see a key",
                  read_again(causal(c, 333, 61)) / (333.0 * (4.0 * (double)contract.d + 8)), 3);
    struct problem odd = with_d(all_keys(c, 17, 35), 64);  // in rows of 65 elements
    odd.contract = &one_gap;
    problem_begin(&odd, GAPS, "");
    problem_skips_unseen(&odd);  // nobody has to read gaps
    backward_fill(&odd);
    backward_run(&odd);
    (void)problem_traffic(&odd);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
}

// Each block of keys reads Q and dO once, with LSE and delta, from the first query that sees one of
// its keys (README, what the hardware does). Blocks of 8 keys and more are allowed, and of 16 keys
// beside blocks of 16 queries that read K and V, for dQ without atomics: a little more. With the
// causal mask half of these rows see none of the keys: 0.51 of them are read in tiles of 8 to 128,
// 0.67 if the first query is that of a tile of 64, 1 if nothing is left out, 0.73 if that is so for
// one of Q and dO. How many blocks there are is seen where all queries see the keys, as in
// judge_masked_reads(): N keys make one block more than N / n.
static void cheap(struct check* c) {
    enum { N = 130, SMALLEST_TILE = 8 };
    const double of_rows = N * (4.0 * (double)contract.d + 8);
    (void)read_again(all_keys(c, 17, N));  // K and V are much of what a block loads
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    double read = 2 * read_again(all_keys(c, N / 2, N));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    double masked = read_again(causal(c, N, N)), of_more = read_again(causal(c, N, N + MORE_KEYS)),
           more = of_more - masked;
    check_at_most(c, CAUSE_too_much_read,
                  "times that a row of Q and dO is read, with LSE and delta", read / of_rows,
                  1.25 * CEIL_DIV(N, SMALLEST_TILE));
    check_at_most(c, CAUSE_too_much_read, "times that it is read for keys that all queries see",
                  more / of_rows, MORE_KEYS / SMALLEST_TILE);
    double blocks = ceil(more / of_rows * N / MORE_KEYS - 0.01);
    check_at_most(c, CAUSE_masked_read, "share of Q and dO that is read in spite of the mask",
                  blocks > 0 ? masked / (blocks * of_rows) : INFINITY, 0.7);
    // The kernels of wide heads may be others.
    enum { WIDE = 136 };
    (void)read_again(with_d(all_keys(c, 8, 32), WIDE));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    cheap_elsewhere(c, N, of_rows, of_more);
    backward_kept(all_keys(c, 16, 16));
    // A walk over hidden queries, which would take hours here, was found above.
    check_watch(c, WATCH_NONE);
    attention_reaches(with_heads(with_d(causal(c, 1, 8), 2), 2, 4),
                      REACH_MOST - check_pick(c, 0, 9));
    attention_reaches_keys(with_heads(with_d(causal(c, 17, 1), 2), 2, 4), REACH_MOST);
}

static const struct item items[] = {
    {8, "whole tiles", whole_tiles},
    {12, "any length", any_length},
    {14, "causal", masked},
    {7, "queries that see no key", unseen},
    {7, "several batches and heads", heads},
    {6, "rows with strides", strides},
    {5, "any head dimension", any_head},
    {8, "large and very negative scores", extreme},
    {6, "gradients of any size", gradients_of_any_size},
    {4, "a scale given by the caller", own_scale},
    {5, "called again with new data", again},
    {4, "bad arguments", arguments},
    {7, "no races, no stray accesses", safe},
    {7, "Q and dO are read where they are seen", cheap},
    {0},
};

const struct lesson lesson = {.name = "15_flash_backward",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .adds_by_atomics = true,
                              .items = items,
                              .idea = {.what = "the right answer: gradients from O and LSE alone"},
                              .explain = backward_explain};
