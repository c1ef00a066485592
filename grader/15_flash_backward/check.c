// check.c: lesson 15, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. All items compare dV,
// dK and dQ, in this order: a mistake in P shows in all three, one in dS in two. N_q is a multiple of 16
// in the first item only; keys beyond the last tile matter where LSE is very negative; and so on.
#include "check/check.h"

#include "flash_backward.h"
#include "wall/arena.h"

#define ELEMENT F16
#define ROUNDED_WEIGHTS false
#define GAP 2
#define WORKSPACE_BYTES \
    (int64_t) flash_backward_workspace_bytes((int)now.B, (int)now.N_q, (int)now.H, (int)now.d)
#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"

// low..high, but no multiple of 16
static int64_t pick_ragged(struct check* c, int64_t low, int64_t high) {
    int64_t n = check_pick(c, low, high);
    return n % 16 ? n : n - 1;
}

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    begin(c, 64, 64, 16, CAUSAL, "");
    fill_run_and_judge(c);
    begin(c, 32, 16 * check_pick(c, 1, 3), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
}

// As small as the reference is tested at, against differences of the forward pass.
static void tiny(struct check* c, int64_t N_q, int64_t N_k, int64_t d, enum mask mask) {
    begin(c, N_q, N_k, d, mask, "");
    fill(c);
    forward();
    test_reference();
    run_and_judge(c);
}

static void any_length(struct check* c) {
    begin(c, pick_ragged(c, 17, 63), pick_ragged(c, 17, 63), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    begin(c, 1, pick_ragged(c, 17, 40), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    begin(c, pick_ragged(c, 17, 31), 1, 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    tiny(c, check_pick(c, 2, 4), check_pick(c, 2, 5), check_pick(c, 2, 4), ALL_KEYS);
}

// N_q and N_k differ by two at least: what is one off is another mistake than a wrong corner.
static void causal(struct check* c) {
    int64_t N = pick_ragged(c, 33, 79);
    begin(c, N, N, 16, CAUSAL, "");
    fill_run_and_judge(c);
    N = pick_ragged(c, 17, 31);
    begin(c, N, N + check_pick(c, 17, 33), 16, CAUSAL, "");
    fill_run_and_judge(c);
    tiny(c, 17, check_pick(c, 19, 21), 2, CAUSAL);
}

static void unseen(struct check* c) {
    int64_t N_q = pick_ragged(c, 36, 63);
    begin(c, N_q, N_q - check_pick(c, 17, 19), 16, CAUSAL, "");
    fill_run_and_judge(c);
    tiny(c, 19, 16, 2, CAUSAL);
}

static void heads(struct check* c) {
    static const char* const names[] = {"(B, N, H, d)", "", "(B, H, N, d)"};
    for (int layout = PACKED; layout <= HEADS_OUTSIDE; layout += HEADS_OUTSIDE) {
        sizes(2, layout == PACKED ? 3 : 2, pick_ragged(c, 17, 31), check_pick(c, 17, 32), 16,
              ALL_KEYS);
        check_case(c, "B = 2, H = %d, N_q = %d, N_k = %d, d = 16, arrays of %s", (int)now.H,
                   (int)now.N_q, (int)now.N_k, names[layout]);
        declare(c, (enum layout)layout, &none);
        fill_run_and_judge(c);
    }
}

static void strides(struct check* c) {
    sizes(1, 2, pick_ragged(c, 17, 31), pick_ragged(c, 17, 31), 16, ALL_KEYS);
    check_case(c, "H = 2, N_q = %d, N_k = %d, d = 16, gaps between rows", (int)now.N_q,
               (int)now.N_k);
    declare(c, GAPS, &none);
    fill_run_and_judge(c);
}

static void any_head(struct check* c) {
    const int64_t d[] = {59, check_pick(c, 129, 256)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        begin(c, pick_ragged(c, 17, 19), 16, d[n], ALL_KEYS, "");
        fill_run_and_judge(c);
    }
}

// P is nearly one-hot; or all scores are near 120, or near -130, where exp(0 - LSE) is infinite: a key
// that does not exist must not count, not even times 0.
static void extreme(struct check* c) {
    begin(c, 35, 35, 16, CAUSAL, ", scores of 30 times the usual size");
    fill(c);
    grow_scores(30);
    run_and_judge(c);
    for (int sign = 1; sign >= -1; sign -= 2) {
        begin(c, 21, 23, 16, ALL_KEYS, sign > 0 ? ", scores near 120" : ", scores near -130");
        fill(c);
        shift_scores(sign > 0 ? 120 : -130);
        run_and_judge(c);
    }
}

// dP is out of fp16's range, or deep below it; dV sums numbers that cancel: query i + 64 is query i again,
// with another sign in what its dO has in common with all others.
static void gradients_of_any_size(struct check* c) {
    begin(c, 19, 16, 16, ALL_KEYS, ", dO of 4000 and V of 16 times the usual size");
    fill(c);
    fill_rows(c, ARRAY_dO, 4000);
    fill_rows(c, ARRAY_V, 16);
    fill_rows(c, ARRAY_Q, 1.0 / 16);
    fill_rows(c, ARRAY_K, 1.0 / 16);
    run_and_judge(c);
    begin(c, 19, 16, 16, ALL_KEYS, ", Q and dO of 1/64 of the usual size");
    fill(c);
    fill_rows(c, ARRAY_dO, 1.0 / 64);
    fill_rows(c, ARRAY_Q, 1.0 / 64);
    run_and_judge(c);
    begin(c, 129, 16, 16, ALL_KEYS, ", large dO that cancel");
    fill(c);
    cancel(64, 0, 64, 512);
    run_and_judge(c);
}

static void own_scale(struct check* c) {
    static const double factors[] = {0.3, 0.5, 1.7, 2.5};
    sizes(1, 1, pick_ragged(c, 17, 31), 16, 16, ALL_KEYS);
    now.scale = (double)(float)(now.scale * factors[check_pick(c, 0, 3)]);
    check_case(c, "N_q = %d, N_k = 16, d = 16, scale = %.4g", (int)now.N_q, now.scale);
    declare(c, PACKED, &none);
    fill_run_and_judge(c);
}

static void again(struct check* c) {
    enum { CALLS = 3 };
    int64_t N = pick_ragged(c, 17, 31);
    sizes(1, 1, N, N, 16, CAUSAL);
    check_case(c, "N_q = N_k = %d, d = 16, causal, new data in the same arrays", (int)N);
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        fill(c);
        forward();
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge(c);
    }
}

static void arguments(struct check* c) {
    begin(c, 19, 19, 16, CAUSAL, "");
    fill_run_and_judge(c);
    const int64_t empty[][3] = {{0, 19, 17}, {1, 0, 17}, {1, 19, 0}};  // B, N_q, N_k
    for (size_t n = 0; n < sizeof empty / sizeof empty[0]; n++) {
        sizes(empty[n][0], 1, empty[n][1], empty[n][2], 16, ALL_KEYS);
        check_case(c, "B = %d, N_q = %d, N_k = %d", (int)now.B, (int)now.N_q, (int)now.N_k);
        declare(c, PACKED, &none);
        check_expect(c, COURSE_OK, CAUSE_empty_input);
        fill_run_and_judge(c);
    }
    const struct bad bad[] = {
        {"d", 257, COURSE_UNSUPPORTED},          {"B", -1, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},        {"d", 0, COURSE_BAD_ARGUMENT},
        {"stride_dk.n", 7, COURSE_BAD_ARGUMENT}, {"stride_v.h", -1, COURSE_BAD_ARGUMENT},
        {"O", 0, COURSE_BAD_ARGUMENT},           {"dV", 0, COURSE_BAD_ARGUMENT},
        {"workspace", 0, COURSE_BAD_ARGUMENT},
    };
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        sizes(1, 1, 16, 16, bad[n].value > 256 ? bad[n].value : 8, ALL_KEYS);
        check_case(c, "%s = %lld must be refused", bad[n].name, (long long)bad[n].value);
        declare(c, PACKED, &bad[n]);
        check_expect(c, bad[n].status, CAUSE_argument_check);
        check_run(c);
    }
}

static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    for (int mask = ALL_KEYS; mask <= CAUSAL; mask++) {
        int64_t N_q = pick_ragged(c, 17, 23), N_k = mask == CAUSAL ? N_q : check_pick(c, 17, 23);
        sizes(1, 2, N_q, N_k, mask == CAUSAL ? 16 : 21, (enum mask)mask);
        check_case(c, "H = 2, N_q = %d, N_k = %d, d = %d%s", (int)N_q, (int)now.N_k, (int)now.d,
                   now.causal ? ", causal" : "");
        declare(c, PACKED, &none);
        fill_run_and_judge(c);
    }
}

// Bytes of global memory that the gradients of one head cannot do without: K and V once; O and dO once, for
// delta; the sums of dQ once.
static double once(void) {
    return (double)now.d * (4.0 * (double)now.N_k + (4.0 + 4.0) * (double)now.N_q);
}

// Each block of keys reads Q and dO once, with LSE and delta, from the first query that sees one of its
// keys (README, what the hardware does). Blocks of 8 keys and more are let pass. With the causal mask half
// of these rows see none of the keys: 0.51 of them are read in tiles of 8 to 128, 1 if nothing is left out.
static void cheap(struct check* c) {
    enum { N = 130, SMALLEST_TILE = 8 };
    double read[2];
    check_watch(c, WATCH_PROFILE);
    for (int mask = ALL_KEYS; mask <= CAUSAL; mask++) {
        begin(c, N, N, 16, (enum mask)mask, "");
        fill_run_and_judge(c);
        const struct arena_traffic* t = check_traffic(c);
        check_at_most(c, CAUSE_quadratic_memory, "bytes of memory per query beside the workspace",
                      (double)t->allocated_bytes / N, 4.0 * (double)now.d);
        read[mask] = (double)t->global_load_bytes - once();
    }
    check_at_most(c, CAUSE_too_much_read, "times that a row of Q and dO is read",
                  read[ALL_KEYS] / (N * (4.0 * (double)now.d + 8)), CEIL_DIV(N, SMALLEST_TILE));
    check_at_most(c, CAUSE_masked_read, "share of Q and dO that is read in spite of the mask",
                  read[CAUSAL] / read[ALL_KEYS], 0.8);
}

static const struct item items[] = {
    {8, "whole tiles", whole_tiles},
    {12, "any length", any_length},
    {14, "causal", causal},
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

const struct lesson lesson = {.name = "15_flash_backward", .items = items, .explain = explain};
