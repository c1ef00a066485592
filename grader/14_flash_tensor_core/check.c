// check.c: lesson 14, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: only "any number of
// queries and keys" has tiles of keys that are not full where no mask hides their end, only "rows that
// see no key" has more queries than keys, and so on. All items but "rows that see no key", "LSE" and the
// costs compare O alone.
#include "check/check.h"

#include "14_flash_tensor_core/fragments.h"
#include "wall/arena.h"

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
#define ELEMENT BF16
enum { USUAL_D = 64, GAP_O = 8, GAP_Q = 16, GAP_K = 24, GAP_V = 40 };
#include "attention/forward_cases.h"

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    sizes(64, 128, false);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(128, 128, false);
    set_d(128);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

static void heads(struct check* c) {
    static const double factors[] = {0.5, 1.7, 2.5};
    sizes(64, 128, false);
    now.B = 2;
    now.H = check_pick(c, 2, 3);
    now.scale = (double)(float)(now.scale * factors[check_pick(c, 0, 2)]);
    begin(c, PACKED, ", a scale of its own");
    run_and_judge(c, JUDGE_O);
}

static void strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        sizes(64, 64, false);
        now.H = 2;
        begin(c, layout, "");
        run_and_judge(c, JUDGE_O);
    }
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged(struct check* c) {
    const int64_t N_q[] = {64 + check_pick(c, 1, 15), 17, 33},
                  N_k[] = {64, 128 + check_pick(c, 1, 9), 15};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++) {
        sizes(N_q[n], N_k[n], false);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
    sizes(1, 4321, false);
    begin(c, PACKED, "");
    at(&now.Q, 0, 0, 0)[0] = 8;  // few keys have most weight, the last one among them
    at(&now.K, 0, 4320, 0)[0] = 4;
    run_and_judge(c, JUDGE_O);
}

// More rows than a block of 128 has: if one did as it likes, a mask ignored would look the same.
static void causal(struct check* c) {
    sizes(192, 192, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(192, 192 + check_pick(c, 2, 62), true);  // by 1 the corners look like an off by one
    begin(c, PACKED, ": the diagonal is no tile's");
    run_and_judge(c, JUDGE_O);
}

static void empty_rows(struct check* c) {
    sizes(96, check_pick(c, 17, 31), true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
    judge_no_keys(c);
}

static void logsumexp(struct check* c) {
    sizes(96, 96, true);
    now.H = 2;
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_LSE);
}

static void hard_scores(struct check* c) {
    sizes(64, 128, false);
    begin(c, PACKED, ", scores of 30 times the usual size");
    for (int64_t e = 0; e < now.Q.tensor->count; e++) now.Q.tensor->value[e] *= 30;
    run_and_judge(c, JUDGE_O);

    begin(c, PACKED, ", scores that grow from key to key");
    for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i, 0)[0] = 1;
    for (int64_t j = 0; j < now.N_k; j++) set_level(j, (double)(j / 4));
    run_and_judge(c, JUDGE_O);

    // Integers: fp32 holds even these scores exactly.
    begin(c, PACKED, ", scores around -20000");
    fill_integers(c, now.Q.tensor, -2, 2);
    fill_integers(c, now.K.tensor, -2, 2);
    for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i, 0)[0] = -128;
    for (int64_t j = 0; j < now.N_k; j++) at(&now.K, 0, j, 0)[0] = 1024;
    run_and_judge(c, JUDGE_O);
}

static void arguments(struct check* c) {
    static const struct bad bad[] = {
        {"d", 80, COURSE_UNSUPPORTED},
        {"H", 65536, COURSE_UNSUPPORTED},
        {"scale", 0, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -64, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 56, COURSE_BAD_ARGUMENT},
        {"stride_q.n", 68, COURSE_UNSUPPORTED},
        {"stride_o.h", 100, COURSE_UNSUPPORTED},
        {"V", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    judge_arguments(c, 64, bad);
}

// Every array ends in a tile that is not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 64 + check_pick(c, 33, 63);
    sizes(N, N, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(N, 128, false);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

// Without a mask every tile of queries reads all keys and values once, 4 N_k d bytes: N / BLOCK_Q times
// in all, here at least 32 queries at a time. With one it ends at the diagonal: with tiles of n queries
// and n keys that is (N + n) / 2N of them: 0.63 for n = 64, 0.75 for n = 128, 1 if nothing is left out.
static void cheap(struct check* c) {
    enum { N = 256, SMALLEST_TILE = 32 };
    check_watch(c, WATCH_PROFILE);
    const struct arena_traffic* t;
    double keys[2];  // bytes loaded of K and V
    for (int causal = 1; causal >= 0; causal--) {
        sizes(N, N, causal);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O | JUDGE_LSE);
        t = check_traffic(c);
        keys[causal] = (double)t->global_load_bytes - 2.0 * N * (double)now.d;
    }
    double products = 2.0 * N * N * (double)now.d;
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - (double)t->mma * 2048 / products, 0);
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                  keys[0] / (4.0 * N * (double)now.d), N / SMALLEST_TILE);
    check_at_most(c, CAUSE_masked_read, "bytes of K and V loaded with a mask, of those without",
                  keys[1] / keys[0], 0.8);
}

// Rows one below the other in the same banks cost seven wavefronts for each useful one.
static void no_conflicts(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    sizes(64, 64, false);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    const struct arena_traffic* t = check_traffic(c);
    double lost = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to bank conflicts for each useful one",
                  all > lost ? lost / (all - lost) : 0, 0.1);
}

static const struct item items[] = {
    {16, "whole tiles, d = 64 and 128", whole_tiles},
    {8, "heads and batches, any scale", heads},
    {8, "strides", strides},
    {12, "any number of queries and keys", ragged},
    {14, "causal", causal},
    {8, "rows that see no key", empty_rows},
    {6, "LSE", logsumexp},
    {7, "hard scores", hard_scores},
    {4, "empty inputs and bad arguments", arguments},
    {7, "no races, no stray accesses", safe},
    {5, "tensor cores, and nothing loaded past the diagonal", cheap},
    {5, "no bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "14_flash_tensor_core", .items = items, .explain = explain_fragments};
