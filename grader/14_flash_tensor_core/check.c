// check.c: lesson 14, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: only "any number
// of queries and keys" has tiles of keys that are not full where no mask hides their end, only
// "rows that see no key" has more queries than keys, and so on. All items but "rows that see no
// key", "LSE" and the costs compare O alone.
#include "attention/forward.h"
#include "attention/reach.h"
#include "wall/arena.h"

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
static const struct contract contract = {
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
};

// One gap for all arrays: the stride of another array is no mistake here, as it is in "strides".
static const struct contract same_gaps = {
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {[ARRAY_O] = 24, [ARRAY_Q] = 24, [ARRAY_K] = 24, [ARRAY_V] = 24},
    .row_gaps = 2,
};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    forward_case(all_keys(c, 64, 128), PACKED, "", JUDGE_O);
    forward_case(with_d(all_keys(c, 128, 128), 128), PACKED, "", JUDGE_O);
}

static void heads(struct check* c) {
    static const double factors[] = {0.5, 1.7, 2.5};
    struct problem p = all_keys(c, 64, 128);
    p.B = 2;
    p.H = check_pick(c, 2, 3);
    p.scale = (double)(float)(p.scale * factors[check_pick(c, 0, 2)]);
    forward_case(p, PACKED, ", a scale of its own", JUDGE_O);
    forward_case(with_heads(all_keys(c, 16, 64), 34, 2), PACKED, "", JUDGE_O);
    attention_most_heads(causal(c, 16, 16));
}

static void strides(struct check* c) {
    struct problem p = with_heads(all_keys(c, 64, 64), 2, 2);
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++)
        forward_case(p, layout, "", JUDGE_O);
    forward_case(p, ONE_BATCH, "", JUDGE_O);
    forward_case(with_heads(with_d(all_keys(c, 64, 64), 128), 2, 2), GAPS, "", JUDGE_O);
    forward_case_far(p);
    // A single query may have a kernel of its own.
    forward_case(with_heads(all_keys(c, 1, 64), 2, 2), GAPS, "", JUDGE_O);
}

// 1 .. most, but of 8 keys not one less: then a mask that takes a lane for another lets one key
// more through, as one that is off by one does.
static int64_t pick_tail(struct check* c, int64_t most) {
    int64_t n = check_pick(c, 1, most);
    return n % 8 == 7 ? n - 1 : n;
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged(struct check* c) {
    int64_t N_q = 64 + check_pick(c, 1, 15), N_k = 128 + pick_tail(c, 9);
    forward_case(all_keys(c, N_q, 64), PACKED, "", JUDGE_O);
    forward_case(with_nan_gaps(problem_of(c, &same_gaps, 17, N_k, false)), GAPS, "", JUDGE_O);
    forward_case(all_keys(c, 33, 13), PACKED, "", JUDGE_O);
    forward_case(with_d(all_keys(c, 33, 13), 128), PACKED, "", JUDGE_O);
    forward_case_long(all_keys(c, 1, 4321));
    attention_reaches(with_heads(all_keys(c, 1, 1), 1, 3), REACH_MOST - check_pick(c, 0, 9));
}

// More rows than a block of 128 has, so that one wrong block does not look like a mask ignored.
static void masked(struct check* c) {
    forward_case(causal(c, 192, 192), PACKED, "", JUDGE_O);
    // by 1 the corners look like an error by one
    struct problem p = with_flag(causal(c, 192, 192 + check_pick(c, 2, 62)), INT32_MIN);
    forward_case(p, PACKED, ": the diagonal is no tile's", JUDGE_O);
    // The kernel of wide heads is another.
    forward_case(with_d(causal(c, 192, 192), 128), PACKED, "", JUDGE_O);
    forward_case(causal(c, 1, 75), PACKED, ": one query sees all", JUDGE_O);
    // More heads than pick_work() takes at a time, and some left.
    forward_case(with_heads(causal(c, 16, 16), 1, 19), PACKED, "", JUDGE_O);
    forward_case(with_heads(causal(c, 136, 136), 1, 17), PACKED, ": several blocks", JUDGE_O);
    // The first row of each tile of queries lacks one key of a whole tile of keys.
    forward_case_growing(causal(c, 144, 144 + 126), PACKED, ": one key less than whole tiles", 4,
                         1);
}

static void empty_rows(struct check* c) {
    forward_case(causal(c, 96, check_pick(c, 17, 31)), PACKED, "", JUDGE_O | JUDGE_LSE);
    // A block of 128 queries sees nothing, of no head; and the kernel of wide heads.
    forward_case(with_heads(causal(c, 160, 20), 2, 2), GAPS, "", JUDGE_O | JUDGE_LSE);
    forward_case(with_d(causal(c, 48, 20), 128), PACKED, "", JUDGE_O | JUDGE_LSE);
    forward_no_keys(all_keys(c, 16, 0));
    forward_no_keys(with_heads(causal(c, 17, 0), 2, 2));
}

// The scale is no power of 2: who multiplies Q by it rounds.
static void logsumexp(struct check* c) {
    forward_case(with_heads(with_scale(causal(c, 96, 96), 0.7), 2, 2), PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(all_keys(c, 64, 64));
    forward_case_far_levels(all_keys(c, 64, 64));
}

static void hard_scores(struct check* c) {
    struct problem p = all_keys(c, 64, 128);
    forward_case_apart(all_keys(c, 16, 64));
    forward_case_large(p, ", scores of 30 times the usual size");
    forward_case_growing(p, PACKED, ", scores that grow from key to key", 4, 1);
    // The first row sees one tile of 64 keys, the others see more.
    forward_case_integers(causal(c, 128, 191), ", scores around -20000", -128, 1024);
    forward_case_integers(p, ", scores around -20000", -128, 1024);
    forward_case_below(causal(c, 64, 128), -0x1p127);
    forward_case_exact(causal(c, 16, 1088));
    forward_case_tail(all_keys(c, 64, 2048));
    forward_case_divided(all_keys(c, 64, 64));
    forward_case_faint(all_keys(c, 64, 512));
    forward_case_rising(all_keys(c, 16, 384));
    forward_case_slow(all_keys(c, 16, 4096));
    forward_case_ones(all_keys(c, 64, 128));
    forward_case_falling(all_keys(c, 64, 384));
    forward_case_ones_grown(all_keys(c, 16, 384));
}

static void again(struct check* c) {
    forward_again(all_keys(c, 64, 64), "N_q = N_k = 64, d = 64", NULL);
    // The kernels of d = 128 need more shared memory than others may have unasked.
    struct problem p = with_heads(with_d(causal(c, 192, 192), 128), 1, 2);
    forward_case_after(p, all_keys(c, 64, 128), NULL);
}

static void arguments(struct check* c) {
    static const struct idle_call bad[] = {
        {COURSE_BAD_ARGUMENT, {{"H", -1}, {"d", 80}}},
        PROBLEM_UNSUPPORTED(80),
        {COURSE_OK, {{"N_q", 0}, {"stride_q.b", -1}}},
        PROBLEM_ORDER(80),
        {0},
    };
    struct problem p = all_keys(c, 64, 64);
    forward_arguments(p, bad);
    problem_bad_arguments(p, (struct strides){.n = 63, .h = -64, .b = -512});
    problem_strides_refused(p, COURSE_UNSUPPORTED, (struct strides){.n = 68, .h = 100, .b = 4100});
    p.scale = 0x1p-140;
    forward_case(p, PACKED, "", JUDGE_O);
    p.scale = NAN;
    problem_must_return(p, COURSE_UNSUPPORTED, ": not above 0");
    problem_misaligned_refused(all_keys(c, 64, 64));
}

// Every array ends in a tile that is not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 64 + check_pick(c, 33, 63);
    forward_case(causal(c, N, N), PACKED, "", JUDGE_O);
    forward_case(with_drawn_heads(all_keys(c, N / 4, 80)), PACKED, "", JUDGE_O);
    struct problem unseen = causal(c, 160, 24);  // 128 queries see nothing
    unseen.later = 1u << ARRAY_LSE;              // which is aligned to its elements alone
    forward_case(unseen, PACKED, "", JUDGE_O);
}

// ---- costs, each of kernels that multiply on the tensor cores

// Whole tiles, tiles that are not full, of several heads, and the other head dimension. For few
// queries a launcher may have a kernel of its own.
static void on_tensor_cores(struct check* c) {
    forward_by_mma(all_keys(c, 64, 128));
    forward_by_mma(with_drawn_heads(all_keys(c, 16 + check_pick(c, 1, 23), pick_tail(c, 31))));
    forward_by_mma(with_d(all_keys(c, 64, 64), 128));
    forward_by_mma(with_d(causal(c, check_pick(c, 2, 7), 64 + pick_tail(c, 15)), 128));
}

// Every tile of queries reads all keys and values that it sees, 4 d bytes for each: N / BLOCK_Q
// times in all where nothing is hidden, here at least 32 queries at a time. With a mask it ends at
// the diagonal: of the bytes 0.63 are left in tiles of 64, 0.75 in tiles of 128, 1 if nothing is
// left out, and at least 0.78 if that is so for one of K and V. With tiles of any size a key is
// loaded once for each.
static void nothing_past_the_diagonal(struct check* c) {
    enum { N = 256, SMALLEST_TILE = 32 };
    const double of_a_key = 4.0 * (double)contract.d, of_Q = 2.0 * N * (double)contract.d;
    const struct problem all = all_keys(c, N / 2, N / 2), more = causal(c, N, N + MORE_KEYS);
    double read = (double)forward_by_mma(all)->global_load_bytes - of_Q / 2;
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", read / (of_a_key * N / 2),
                  N / 2.0 / SMALLEST_TILE);
    double masked = (double)forward_by_mma(causal(c, N, N))->global_load_bytes - of_Q;
    double with_more = forward_loads(more);
    judge_mma_count(&more, check_traffic(c));
    judge_masked_reads(c, N, masked, with_more, 0.765);
    check_at_most(c, CAUSE_too_much_read, "times that keys are read that all queries see",
                  (with_more - masked) / (of_a_key * MORE_KEYS), N / SMALLEST_TILE);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    const struct problem long_rows = all_keys(c, 16, 1 << 14);
    judge_mma_count(&long_rows, forward_long_rows(long_rows, long_rows.N_k));
    // The other head dimension may have other tiles; several heads, with a mask or without, other
    // kernels.
    struct problem wide = with_drawn_heads(with_d(all_keys(c, check_pick(c, 9, 40), 40), 128));
    wide.causal = check_pick(c, 0, 1);
    const double of_wide = 4.0 * (double)(wide.B * wide.H * wide.N_k * wide.d);
    double of_keys = forward_loads(wide);
    of_keys -= (double)check_loaded_again(c, "Q");
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", of_keys / of_wide,
                  (double)CEIL_DIV(wide.N_q, SMALLEST_TILE));
    judge_mma_count(&wide, check_traffic(c));
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    double few = forward_loads(with_d(causal(c, 64, 64), 128));
    judge_unseen_reads(c, few, forward_loads(with_d(causal(c, 512, 64), 128)));
    struct problem heads = with_drawn_heads(causal(c, 48, 48));
    few = forward_loads(heads);
    heads.N_q = 256 + 48;
    judge_unseen_reads(c, few, forward_loads(heads));
}

// Rows one below the other in the same banks cost seven wavefronts for each useful one. An mma
// whose operands no other shares takes 6; tiles may have four times the size of the case.
static void no_conflicts(struct check* c) {
    enum { N = 64, MMA = N * N * 64 / 2048 };  // of a product
    forward_by_mma(all_keys(c, N, N));
    judge_conflicts(c, 4 * 6 * 2 * MMA);
    forward_by_mma(with_d(all_keys(c, N, N), 128));
    judge_conflicts(c, 2 * 4 * 6 * 2 * MMA);
    // Tiles that are not full, masked ones, and those of several heads, may have another kernel.
    const struct problem heads = with_drawn_heads(causal(c, 21, 29));
    forward_loads(heads);
    judge_mma_count(&heads, check_traffic(c));
    judge_conflicts(c, (double)(heads.B * heads.H) * 4 * 6 * 2 * MMA);
}

static const struct item items[] = {
    {11, "whole tiles, d = 64 and 128", whole_tiles},
    {6, "heads and batches, any scale", heads},
    {6, "strides", strides},
    {8, "any number of queries and keys", ragged},
    {9, "causal", masked},
    {4, "rows that see no key", empty_rows},
    {4, "LSE", logsumexp},
    {4, "hard scores", hard_scores},
    {2, "called again with new data", again},
    {2, "empty inputs and bad arguments", arguments},
    {4, "no races, no stray accesses", safe},
    {25, "the tensor cores make both products", on_tensor_cores},
    {8, "nothing loaded past the diagonal", nothing_past_the_diagonal},
    {7, "no bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "14_flash_tensor_core",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "the tensor cores make every product",
             .paid_by = {on_tensor_cores, nothing_past_the_diagonal, no_conflicts},
             .naive = "grader/14_flash_tensor_core/naive.cu"},
    .explain = fragment_explain};
