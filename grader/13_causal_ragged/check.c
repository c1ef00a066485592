// check.c: lesson 13, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: only "queries in a
// tile that is not full" has an N_q beside whole tiles (and the item on safety, with a tail that is
// nearly full), only "keys in a tile that is not full" has such an N_k without a mask, and so on.
// All items but "rows that see no key", "LSE" and the last compare O alone.
#include "check/check.h"

#include "attention/forward_mistakes.h"
#include "wall/arena.h"

#define ELEMENT F16
enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };
#include "attention/forward_cases.h"

// ---- items ---------------------------------------------------------------------------------

static void heads(struct check* c) {
    sizes(32, 48, false);
    now.B = check_pick(c, 2, 3);
    now.H = check_pick(c, 2, 3);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

static void strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        sizes(32, 32, false);
        now.H = check_pick(c, 2, 3);
        begin(c, layout, "");
        run_and_judge(c, JUDGE_O);
    }
}

static void ragged_queries(struct check* c) {
    const int64_t N_q[] = {16 + check_pick(c, 1, 7), 1};
    for (size_t n = 0; n < sizeof N_q / sizeof N_q[0]; n++) {
        sizes(N_q[n], 32, false);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
    sizes(129, 129, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(4321, 16, false);
    set_d(8);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged_keys(struct check* c) {
    const int64_t N_k[] = {32 + check_pick(c, 1, 9), 15};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++) {
        sizes(16, N_k[n], false);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
    sizes(16, 4321, false);
    set_d(8);
    begin(c, PACKED, "");
    for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i, 0)[0] = 8;  // few keys have most weight,
    at(&now.K, 0, 4320, 0)[0] = 4;                                     // the last one among them
    run_and_judge(c, JUDGE_O);
}

static void causal(struct check* c) {
    sizes(64, 64, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(32, 32 + 16 * check_pick(c, 1, 3), true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(48, 48 + check_pick(c, 1, 15), true);
    begin(c, PACKED, ": the diagonal crosses two tiles of a block");
    run_and_judge(c, JUDGE_O);
}

static void empty_rows(struct check* c) {
    sizes(64, check_pick(c, 17, 31), true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
    sizes(32, 1, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
    judge_no_keys(c);
}

static void logsumexp(struct check* c) {
    sizes(32, 32, true);
    now.H = check_pick(c, 2, 3);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_LSE);
}

static void head_dimensions(struct check* c) {
    const int64_t d[] = {59, 1, check_pick(c, 129, 255)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        sizes(32, 32, false);
        set_d(d[n]);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
}

static void hard_scores(struct check* c) {
    sizes(48, 48, true);
    begin(c, PACKED, ", scores of 30 times the usual size");
    for (int64_t e = 0; e < now.Q.tensor->count; e++) now.Q.tensor->value[e] *= 30;
    run_and_judge(c, JUDGE_O);

    // Hidden keys have scores far above those of the keys that are seen; two keys a level.
    begin(c, PACKED, ", scores that grow from key to key");
    for (int64_t i = 0; i < 48; i++) {
        at(&now.Q, 0, i, 0)[0] = 1;
        set_level(i, (double)(i / 2 * 150));
    }
    run_and_judge(c, JUDGE_O);

    // Integers: fp32 holds even these scores exactly. -10000 is no -infinity beside them.
    begin(c, PACKED, ", scores around -20000");
    fill_integers(c, now.Q.tensor, -2, 2);
    fill_integers(c, now.K.tensor, -2, 2);
    for (int64_t i = 0; i < 48; i++) {
        at(&now.Q, 0, i, 0)[0] = -100;
        set_level(i, 200);
    }
    run_and_judge(c, JUDGE_O);
}

static void again(struct check* c) {
    enum { CALLS = 3 };
    sizes(32, 32, false);
    check_case(c, "N_q = N_k = 32, new data in the same arrays");
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        fill_normal(c, now.Q.tensor, 0, 1);
        fill_normal(c, now.K.tensor, 0, 1);
        fill_normal(c, now.V.tensor, 0, 1);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge(c, JUDGE_O);
    }
}

static void arguments(struct check* c) {
    static const struct bad bad[] = {
        {"d", 257, COURSE_UNSUPPORTED},
        {"H", 65536, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -16, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 15, COURSE_BAD_ARGUMENT},
        {"V", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    judge_arguments(c, 32, bad);
}

// Every array ends in a tile that is not full, in rows and in columns, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 16 + check_pick(c, 9, 15);
    sizes(N, N, true);
    now.H = 2;
    set_d(24);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(N, 32, false);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

// Without a mask every tile of queries reads all keys and values once, 4 N_k d bytes: N / BLOCK_Q times
// in all, here at least 8 queries at a time. With one it ends at the diagonal. With tiles of n queries
// and n keys that is (N + n) / 2N of them: 0.56 for n = 16, 0.75 for n = 64, 1 if nothing is left out.
static void cheap(struct check* c) {
    enum { N = 128, SMALLEST_TILE = 8 };
    check_watch(c, WATCH_PROFILE);
    double keys[2];  // bytes loaded of K and V
    for (int causal = 0; causal < 2; causal++) {
        sizes(N, N, causal);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O | JUDGE_LSE);
        const struct arena_traffic* t = check_traffic(c);
        check_at_most(c, CAUSE_quadratic_memory, "bytes of scratch memory per query",
                      (double)t->allocated_bytes / N, 4.0 * (double)now.d);
        keys[causal] = (double)t->global_load_bytes - 2.0 * N * (double)now.d;
    }
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                  keys[0] / (4.0 * N * (double)now.d), N / SMALLEST_TILE);
    check_at_most(c, CAUSE_masked_read, "bytes of K and V loaded with a mask, of those without",
                  keys[1] / keys[0], 0.8);
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

const struct lesson lesson = {.name = "13_causal_ragged", .items = items, .explain = explain};
