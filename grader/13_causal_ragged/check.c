// check.c: lesson 13, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: only "queries in
// a tile that is not full" has an N_q beside whole tiles (and the item on safety, with a tail that
// is nearly full), only "keys in a tile that is not full" has such an N_k without a mask, and so
// on. All items but "rows that see no key", "LSE" and the last compare O alone.
#include "attention/forward.h"

static const struct contract contract = {
    .dtype = F16,
    .d = 16,
    .gap = {[ARRAY_O] = 4, [ARRAY_Q] = 8, [ARRAY_K] = 6, [ARRAY_V] = 10},
    .row_gaps = 2,
};

static struct problem sizes(struct check* c, int64_t N_q, int64_t N_k, bool causal) {
    return problem_of(c, &contract, N_q, N_k, causal);
}

static void judge_d(struct check* c, int64_t N_q, int64_t N_k, int64_t d) {
    struct problem p = sizes(c, N_q, N_k, false);
    problem_set_d(&p, d);
    forward_case(&p, PACKED, "", JUDGE_O);
}

static void judge_O(struct check* c, int64_t N_q, int64_t N_k, bool causal, const char* what) {
    struct problem p = sizes(c, N_q, N_k, causal);
    forward_case(&p, PACKED, what, JUDGE_O);
}

// ---- items ---------------------------------------------------------------------------------

static void heads(struct check* c) {
    struct problem p = sizes(c, 32, 48, false);
    p.B = check_pick(c, 2, 3);
    p.H = check_pick(c, 2, 3);
    forward_case(&p, PACKED, "", JUDGE_O);
}

static void strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        struct problem p = sizes(c, 32, 32, false);
        p.H = check_pick(c, 2, 3);
        forward_case(&p, layout, "", JUDGE_O);
    }
}

static void ragged_queries(struct check* c) {
    judge_O(c, 16 + check_pick(c, 1, 7), 32, false, "");
    judge_O(c, 1, 32, false, "");
    judge_O(c, 129, 129, true, "");
    judge_d(c, 4321, 16, 8);
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged_keys(struct check* c) {
    judge_O(c, 16, 32 + check_pick(c, 1, 9), false, "");
    judge_O(c, 16, 15, false, "");
    struct problem p = sizes(c, 16, 4321, false);
    problem_set_d(&p, 8);
    forward_begin(&p, PACKED, "");
    set_column(&p, ARRAY_Q, 0, 8);  // few keys have most weight, the last one among them
    row_of(&p, ARRAY_K, 0, 0, 4320)[0] = 4;
    forward_run(&p, JUDGE_O);
}

static void causal(struct check* c) {
    judge_O(c, 64, 64, true, "");
    judge_O(c, 32, 32 + 16 * check_pick(c, 1, 3), true, "");
    judge_O(c, 48, 48 + check_pick(c, 1, 15), true, ": the diagonal crosses two tiles of a block");
}

static void empty_rows(struct check* c) {
    struct problem p = sizes(c, 64, check_pick(c, 17, 31), true), one_key = sizes(c, 32, 1, true);
    forward_case(&p, PACKED, "", JUDGE_O | JUDGE_LSE);
    forward_case(&one_key, PACKED, "", JUDGE_O | JUDGE_LSE);
    forward_no_keys(&p);
}

static void logsumexp(struct check* c) {
    struct problem p = sizes(c, 32, 32, true);
    p.H = check_pick(c, 2, 3);
    forward_case(&p, PACKED, "", JUDGE_LSE);
}

static void head_dimensions(struct check* c) {
    int64_t d = check_pick(c, 129, 255);
    judge_d(c, 32, 32, 59);
    judge_d(c, 32, 32, 1);
    judge_d(c, 32, 32, d);
}

static void hard_scores(struct check* c) {
    struct problem p = sizes(c, 48, 48, true);
    forward_begin(&p, PACKED, ", scores of 30 times the usual size");
    forward_grow(&p, 30);
    forward_run(&p, JUDGE_O);

    // Hidden keys have scores far above those of the keys that are seen; two keys a level.
    forward_begin(&p, PACKED, ", scores that grow from key to key");
    set_column(&p, ARRAY_Q, 0, 1);
    for (int64_t j = 0; j < 48; j++) set_level(&p, j, (double)(j / 2 * 150));
    forward_run(&p, JUDGE_O);

    // Integers: fp32 holds even these scores exactly. -10000 is no -infinity beside them.
    forward_begin(&p, PACKED, ", scores around -20000");
    forward_integers(&p, -100, 800);
    forward_run(&p, JUDGE_O);
}

static void again(struct check* c) {
    struct problem p = sizes(c, 32, 32, false);
    forward_again(&p, "N_q = N_k = 32", NULL);
}

static void arguments(struct check* c) {
    static const struct bad_argument bad[] = {
        {"d", 257, COURSE_UNSUPPORTED},
        {"H", 65536, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -16, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 15, COURSE_BAD_ARGUMENT},
        {"V", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    struct problem p = sizes(c, 32, 32, false);
    forward_arguments(&p, bad);
}

// Every array ends in a tile that is not full, in rows and in columns, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 16 + check_pick(c, 9, 15);
    struct problem p = sizes(c, N, N, true);
    p.H = 2;
    problem_set_d(&p, 24);
    forward_case(&p, PACKED, "", JUDGE_O);
    judge_O(c, N, 32, false, "");
}

// Without a mask every tile of queries reads all keys and values once, 4 N_k d bytes: N / BLOCK_Q
// times in all, here at least 8 queries at a time. With one it ends at the diagonal. With tiles of
// n queries and n keys that is (N + n) / 2N of them: 0.56 for n = 16, 0.75 for n = 64, 1 if nothing
// is left out.
static void cheap(struct check* c) {
    enum { N = 128, SMALLEST_TILE = 8 };
    struct problem p = sizes(c, N, N, false);
    const struct forward_traffic t = forward_traffic(&p);
    check_at_most(c, CAUSE_quadratic_memory, "bytes of scratch memory per query", t.scratch,
                  4.0 * (double)p.d);
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", t.reads,
                  N / SMALLEST_TILE);
    check_at_most(c, CAUSE_masked_read, "bytes of K and V loaded with a mask, of those without",
                  t.masked, 0.8);
}

static const struct item items[] = {
    {9, "heads and batches", heads},
    {9, "strides", strides},
    {8, "queries in a tile that is not full", ragged_queries},
    {10, "keys in a tile that is not full", ragged_keys},
    {16, "causal", causal},
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

const struct lesson lesson = {"13_causal_ragged", items, .explain = forward_explain};
