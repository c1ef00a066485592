// check.c: lesson 13, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: only the item
// about such queries and the item on safety have an N_q that is not whole tiles; only one item has
// such an N_k without a mask. All items except "rows that see no key", "LSE" and the last compare O
// alone.
#include "attention/forward.h"
#include "attention/reach.h"
#include "wall/arena.h"

static const struct contract contract = {
    .dtype = F16,
    .d = 16,
    .gap = {[ARRAY_O] = 4, [ARRAY_Q] = 8, [ARRAY_K] = 6, [ARRAY_V] = 10},
    .row_gaps = 2,
};

// One gap for all arrays: where NaN stands in it, the stride of another array is no mistake.
static const struct contract same_gaps = {
    .dtype = F16,
    .d = 16,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 8, [ARRAY_K] = 8, [ARRAY_V] = 8},
    .row_gaps = 2,
};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

// ---- items ---------------------------------------------------------------------------------

static void heads(struct check* c) {
    struct problem p = all_keys(c, 32, 48);
    p.B = check_pick(c, 2, 3);
    p.H = check_pick(c, 2, 3);
    forward_case(p, PACKED, "", JUDGE_O);
    forward_case(with_heads(all_keys(c, 16, 16), 260, 2), PACKED, "", JUDGE_O);
    forward_case(with_heads(all_keys(c, 16, 16), 1, 1030), PACKED, "", JUDGE_O);
    // 41 times the float nearest to 1 / 41 is less than 1.
    forward_case(with_heads(all_keys(c, 16, 16), 3, 41), PACKED, "", JUDGE_O);
    attention_most_heads(with_d(all_keys(c, 16, 16), 2));
}

static void strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        struct problem p = with_heads(all_keys(c, 32, 32), 2, check_pick(c, 2, 3));
        forward_case(p, layout, "", JUDGE_O);
    }
    forward_case(with_heads(all_keys(c, 32, 32), 2, 2), ONE_BATCH, "", JUDGE_O);
    forward_case_far(with_heads(all_keys(c, 32, 32), 2, 2));
    forward_case_far(with_late_rows(with_heads(all_keys(c, 16, 16), 1, 2)));
    // A single query may have a kernel of its own.
    forward_case(with_heads(all_keys(c, 1, 32), 2, 2), GAPS, "", JUDGE_O);
}

static void ragged_queries(struct check* c) {
    forward_case(all_keys(c, 16 + check_pick(c, 1, 7), 32), PACKED, "", JUDGE_O);
    forward_case(all_keys(c, 1, 32), PACKED, "", JUDGE_O);
    forward_case(causal(c, 129, 129), PACKED, "", JUDGE_O);
    // The kernels of wide heads may be others.
    for (int64_t wide = 128; wide <= 256; wide *= 2)
        forward_case(with_heads(with_d(all_keys(c, 19, 32), wide), 2, 2), GAPS, "", JUDGE_O);
    forward_case_sinking(with_d(all_keys(c, 4321, 16), 8));
    attention_reaches(with_heads(with_d(all_keys(c, 1, 1), 2), 2, 4),
                      REACH_MOST - check_pick(c, 0, 9));
    // The number of a query and that of the keys are more together than an int counts.
    attention_reaches_last(with_heads(with_d(causal(c, 1, 17), 2), 2, 4), REACH_MOST);
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged_keys(struct check* c) {
    forward_case(all_keys(c, 16, 32 + check_pick(c, 1, 9)), PACKED, "", JUDGE_O);
    forward_case(all_keys(c, 16, 15), PACKED, "", JUDGE_O);
    for (int64_t wide = 128; wide <= 256; wide *= 2)
        forward_case(with_heads(with_d(all_keys(c, 16, 37), wide), 2, 2), GAPS, "", JUDGE_O);
    forward_case_long(with_d(all_keys(c, 16, 4321), 8));
}

static void masked(struct check* c) {
    forward_case(causal(c, 64, 64), PACKED, "", JUDGE_O);
    struct problem p = causal(c, 32, 32 + 16 * check_pick(c, 1, 3));
    forward_case(with_flag(p, INT32_MIN), PACKED, "", JUDGE_O);
    forward_case(causal(c, 48, 48 + check_pick(c, 1, 15)), PACKED,
                 ": the diagonal crosses two tiles of a block", JUDGE_O);
    // The first row of each tile of queries lacks one key of a whole tile of keys.
    forward_case_growing(causal(c, 48, 48 + 62), PACKED, ": one key less than whole tiles", 4, 1);
    forward_case(causal(c, 1, 35), PACKED, ": one query sees all", JUDGE_O);
    // The kernels of wide heads may be others.
    for (int64_t d = 128; d <= 256; d *= 2)
        forward_case(with_d(causal(c, 32, 32), d), PACKED, "", JUDGE_O);
}

static void empty_rows(struct check* c) {
    forward_case(causal(c, 64, check_pick(c, 17, 31)), PACKED, "", JUDGE_O | JUDGE_LSE);
    forward_case(causal(c, 32, 1), PACKED, "", JUDGE_O | JUDGE_LSE);
    // The first tile of queries sees nothing, of no head.
    forward_case(with_heads(causal(c, 48, 20), 2, 2), GAPS, "", JUDGE_O | JUDGE_LSE);
    for (int64_t wide = 128; wide <= 256; wide *= 2)
        forward_case(with_heads(with_d(causal(c, 32, 19), wide), 2, 2), GAPS, "",
                     JUDGE_O | JUDGE_LSE);
    forward_no_keys(all_keys(c, 16, 0));
    forward_no_keys(with_heads(causal(c, 17, 0), 2, 2));
}

static void logsumexp(struct check* c) {
    struct problem p = causal(c, 32, 32);
    p.B = 2;
    p.H = check_pick(c, 2, 3);
    forward_case(p, PACKED, "", JUDGE_LSE);
    forward_case(with_d(all_keys(c, 16, 32), 256), PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(all_keys(c, 16, 32));
    forward_case_far_levels(with_scale(all_keys(c, 16, 32), -1));
}

static void head_dimensions(struct check* c) {
    // One more than a tile's width, too.
    const int64_t d[] = {59,
                         1,
                         check_pick(c, 130, 240),
                         check_pick(c, 241, 255),
                         check_pick(c, 66, 127),
                         256,
                         17,
                         33,
                         65,
                         129};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        struct problem p = with_d(problem_of(c, &same_gaps, 16, 32, false), d[n]);
        forward_case(n == 0 ? with_nan_gaps(p) : p, n == 0 ? GAPS : PACKED, "", JUDGE_O);
    }
}

static void hard_scores(struct check* c) {
    struct problem p = causal(c, 48, 48);
    forward_case_apart(all_keys(c, 16, 32));
    forward_case_large(p, ", scores of 30 times the usual size");
    // Hidden keys have scores far above those of the keys that are seen.
    forward_case_growing(p, PACKED, ", scores that grow from key to key", 2, 150);
    // -10000 is no -infinity beside these.
    forward_case_integers(p, ", scores around -20000", -100, 800);
    forward_case_below(p, -0x1p127);
    forward_case_cancel(all_keys(c, 16, 128));
    forward_case_exact(causal(c, 16, 1072));
    forward_case_tail(all_keys(c, 16, 2048));
    forward_case_divided(all_keys(c, 16, 64));
    forward_case_faint(all_keys(c, 16, 512));
    forward_case_rising(all_keys(c, 16, 384));
    forward_case_slow(all_keys(c, 16, 4096));
    // The largest score is that of the smallest product, and no hidden one is multiplied.
    forward_case(with_scale(causal(c, 32, 32), -30), PACKED, "", JUDGE_O);
    forward_case(with_scale(all_keys(c, 16, 32), 0), PACKED, "", JUDGE_O);
    forward_case_small(all_keys(c, 16, 32));
    forward_case_falling(all_keys(c, 16, 384));
}

static void again(struct check* c) {
    forward_again(all_keys(c, 32, 32), "N_q = N_k = 32", NULL);
    struct problem p = with_heads(causal(c, 64, 64), 2, 2);
    forward_case_after(with_d(p, 64), all_keys(c, 16, 32), NULL);
}

static void arguments(struct check* c) {
    static const struct idle_call too_wide[] = {{COURSE_UNSUPPORTED, {{"d", 257}}},
                                                {COURSE_OK, {{"N_q", 0}, {"stride_q.b", -1}}},
                                                PROBLEM_ORDER(257),
                                                {0}};
    forward_arguments(all_keys(c, 32, 32), too_wide);
    problem_bad_arguments(all_keys(c, 32, 32), (struct strides){.n = 15, .h = -64, .b = -512});
}

// Every array ends in a tile that is not full, in rows and in columns, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 16 + check_pick(c, 9, 15);
    struct problem p = with_d(causal(c, N, N), 24);
    p.H = 2;
    forward_case(p, PACKED, "", JUDGE_O);
    forward_case(with_drawn_heads(all_keys(c, check_pick(c, 9, 20), 20)), PACKED, "", JUDGE_O);
    // Nothing may be read behind a row, neither in pieces of 4 or 8 elements nor in pairs.
    forward_case_far(with_d(all_keys(c, 16, 32), 22));
    forward_case_far(with_d(all_keys(c, 8, 8), 21));
    // With a d for which a kernel may have pieces of its own.
    forward_misaligned(with_d(all_keys(c, 16, 16), 64));
    problem_uneven_each(with_heads(all_keys(c, 16, 16), 2, 2), forward_fill);
}

// forward_loads() of rows that begin anywhere, with gaps, which nobody has to read.
static double loads_of_late_rows(struct problem p) {
    p = with_late_rows(p);
    check_watch(p.check, WATCH_PROFILE);
    forward_begin(&p, GAPS, "");
    problem_skips_unseen(&p);
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    return (double)problem_traffic(&p)->global_load_bytes - 2.0 * (double)(p.N_q * p.d);
}

// Where a launcher may have other kernels: for rows that begin anywhere, for more keys than
// queries, for lone queries. With 64 keys more than queries 0.9 of the bytes are left in tiles of
// 64, 0.95 in tiles of 48, and 1 if nothing is left out.
static void cheap_elsewhere(struct check* c) {
    enum { N_q = 95, N_k = N_q + 64, MORE = 32, ODD = 5, SMALLEST_TILE = 8 };
    double masked = loads_of_late_rows(with_d(causal(c, N_q, N_k), ODD)),
           more = loads_of_late_rows(with_d(causal(c, N_q, N_k + MORE), ODD));
    double of_a_key = (more - masked) / MORE;
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    check_at_most(c, CAUSE_masked_read, "part of the bytes that is read with fewer queries",
                  of_a_key > 0 ? masked / N_k / of_a_key : INFINITY, 0.97);
    check_at_most(c, CAUSE_too_much_read, "times that keys are read, in rows of 5 elements",
                  of_a_key / (4.0 * ODD), CEIL_DIV(N_q, SMALLEST_TILE));
    const struct problem heads = with_drawn_heads(causal(c, check_pick(c, 9, 20), 33));
    double read = forward_loads(heads);
    read -= (double)check_loaded_again(c, "Q");
    check_at_most(c, CAUSE_too_much_read, "times that K and V of several heads are read",
                  read / (4.0 * (double)(heads.B * heads.H * heads.N_k * heads.d)),
                  (double)CEIL_DIV(heads.N_q, SMALLEST_TILE));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    (void)forward_loads(with_heads(all_keys(c, 1, 133), 1, 2));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
}

// Every tile of queries reads all keys and values that it sees, 4 d bytes for each: N / BLOCK_Q
// times in all where nothing is hidden, here at least 8 queries at a time. With a mask it ends at
// the diagonal: of the bytes 0.56 are left in tiles of 16, 0.75 in tiles of 64, 1 if nothing is
// left out, and at least 0.766 if that is so for one of K and V. With tiles of any size a key is
// loaded once for each.
static void cheap(struct check* c) {
    enum { N = 128, SMALLEST_TILE = 8 };
    const double of_a_key = 4.0 * (double)contract.d;
    double all = forward_loads(all_keys(c, N, N));
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", all / (of_a_key * N),
                  N / SMALLEST_TILE);
    double masked = forward_loads(causal(c, N, N)),
           more = forward_loads(causal(c, N, N + MORE_KEYS));
    judge_masked_reads(c, N, masked, more, 0.76);
    check_at_most(c, CAUSE_too_much_read, "times that keys are read that all queries see",
                  (more - masked) / (of_a_key * MORE_KEYS), N / SMALLEST_TILE);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    // The kernels of wide heads may be others; so may those of more queries than keys.
    double few = forward_loads(with_d(causal(c, 20, 16), 256));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    judge_unseen_reads(c, few, forward_loads(with_d(causal(c, 256 + 20, 16), 256)));
    forward_long_rows(all_keys(c, 16, 16), 1 << 14);
    cheap_elsewhere(c);
}

static const struct item items[] = {
    {9, "heads and batches", heads},
    {9, "strides", strides},
    {8, "queries in a tile that is not full", ragged_queries},
    {10, "keys in a tile that is not full", ragged_keys},
    {16, "causal", masked},
    {10, "rows that see no key", empty_rows},
    {6, "LSE", logsumexp},
    {6, "any d", head_dimensions},
    {5, "hard scores", hard_scores},
    {3, "called again with new data", again},
    {5, "empty inputs and bad arguments", arguments},
    {6, "no races, no stray accesses", safe},
    {7, "nothing is loaded past the diagonal", cheap},
    {0},
};

const struct lesson lesson = {.name = "13_causal_ragged",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .idea = {.what = "the right answer: masks, any length, any strides"},
                              .explain = forward_explain};
