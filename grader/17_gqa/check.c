// check.c: lesson 17, graded: the list of items, and those about the backward pass. forward.c has the others.
//
// Every item is about one thing, and its data are free of the other items' traps. Only "sums over the heads of
// a group" has several key heads, only "any length" an N_q beside whole tiles (and the item on safety). Backward
// items compare dV, dK and dQ, in this order.
#include "check/check.h"

#include "17_gqa/forward.h"
#include "gqa.h"
#include "wall/arena.h"

#define ELEMENT F16
#define ROUNDED_WEIGHTS false
#define GAP 2
#define WORKSPACE_BYTES \
    (int64_t) gqa_backward_workspace_bytes((int)now.B, (int)now.N_q, (int)now.H, (int)now.d)
#define MORE_ARGUMENTS
#include "attention/old_backward_cases.h"
#include "attention/old_backward_mistakes.h"

static void declare_more(struct check* c, const struct bad* bad) {
    pass(c, bad, "H_k", now.H / now.group);
    check_int(c, "backward", 1);
}

// Starts a case of one batch and H_q = H heads, `group` of which share a key head.
static void start(struct check* c, int64_t H, int64_t group, int64_t N_q, int64_t N_k, int64_t d,
                  enum mask mask, const char* what) {
    sizes(1, H, N_q, N_k, d, mask);
    now.group = group;
    check_case(c, "H_q = %d, H_k = %d, N_q = %d, N_k = %d, d = %d%s%s", (int)H, (int)(H / group),
               (int)N_q, (int)N_k, (int)d, now.causal ? ", causal" : "", what);
    declare(c, PACKED, &none);
}

// ---- items ---------------------------------------------------------------------------------

static void groups(struct check* c) {
    const int64_t H_q_and_group[][2] = {{4, 2}, {2, 1}, {6, 3}, {16, 8}, {4, 4}};
    for (size_t n = 0; n < sizeof H_q_and_group / sizeof H_q_and_group[0]; n++) {
        start(c, H_q_and_group[n][0], H_q_and_group[n][1], 16 * check_pick(c, 1, 2), 16, 16,
              ALL_KEYS, "");
        fill_run_and_judge(c);
    }
}

// N_q and N_k differ by two at least: what is one off is another mistake than a wrong corner. The last case is as
// small as the reference is tested at, against differences of the forward pass.
static void causal(struct check* c) {
    start(c, 2, 2, 32, 32, 16, CAUSAL, "");
    fill_run_and_judge(c);
    start(c, 2, 2, 16, 16 + check_pick(c, 17, 33), 16, CAUSAL, "");
    fill_run_and_judge(c);
    start(c, 2, 2, 48, check_pick(c, 17, 30), 16, CAUSAL, ": rows that see no key");
    fill_run_and_judge(c);
    start(c, 3, 3, 3, check_pick(c, 5, 6), check_pick(c, 2, 4), CAUSAL, "");
    fill(c);
    forward();
    test_reference();
    run_and_judge(c);
}

static void any_length(struct check* c) {
    start(c, 2, 2, 16 + check_pick(c, 1, 15), 16 + check_pick(c, 1, 15), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    start(c, 3, 3, 1, check_pick(c, 17, 30), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    start(c, 2, 2, check_pick(c, 17, 20), 15, check_pick(c, 129, 256), ALL_KEYS, "");
    fill_run_and_judge(c);
}

static void places(struct check* c) {
    static const char* const names[] = {"packed", "gaps between rows", "arrays of (B, H, N, d)"};
    static const double factors[] = {0.3, 0.5, 1.7, 2.5};
    for (int layout = PACKED; layout <= HEADS_OUTSIDE; layout++) {
        sizes(2, 2, 16, 32, 16, ALL_KEYS);
        now.group = 2;
        now.scale = (double)(float)(now.scale * factors[check_pick(c, 0, 3)]);
        check_case(c, "B = 2, H_q = 2, H_k = 1, N_q = 16, N_k = 32, d = 16, scale = %.4g, %s",
                   now.scale, names[layout]);
        declare(c, (enum layout)layout, &none);
        fill_run_and_judge(c);
    }
}

// Head 1 has the queries of head 0: the two shares of dK and dV are large, and cancel. Then P is nearly one-hot;
// and all scores are near -130, where exp(0 - LSE) is infinite.
static void cancelling(struct check* c) {
    start(c, 2, 2, 16, 16, 16, ALL_KEYS, ", large gradients of two heads that cancel");
    fill(c);
    cancel(16, 1, 0, 512);
    run_and_judge(c);
    start(c, 2, 2, 16, 16, 16, ALL_KEYS, ", scores of 30 times the usual size");
    fill(c);
    grow_scores(30);
    run_and_judge(c);
    begin(c, 16, 21, 16, ALL_KEYS, ", scores near -130");
    fill(c);
    shift_scores(-130);
    run_and_judge(c);
}

static void again(struct check* c) {
    enum { CALLS = 3 };
    forward_again(c);
    sizes(1, 2, 16, 16, 16, ALL_KEYS);
    now.group = 2;
    check_case(c, "backward, H_q = 2, H_k = 1, N_q = N_k = 16, new data in the same arrays");
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
    forward_arguments(c);
    start(c, 2, 2, 16, 16, 16, CAUSAL, "");
    fill_run_and_judge(c);
    const int64_t empty[][3] = {{0, 16, 16}, {1, 0, 16}, {1, 16, 0}};  // B, N_q, N_k
    for (size_t n = 0; n < sizeof empty / sizeof empty[0]; n++) {
        sizes(empty[n][0], 2, empty[n][1], empty[n][2], 16, ALL_KEYS);
        now.group = 2;
        check_case(c, "backward: B = %d, N_q = %d, N_k = %d", (int)now.B, (int)now.N_q,
                   (int)now.N_k);
        declare(c, PACKED, &none);
        check_expect(c, COURSE_OK, CAUSE_empty_input);
        fill_run_and_judge(c);
    }
    const struct bad bad[] = {
        {"H_k", 3, COURSE_BAD_ARGUMENT},         {"H_k", 0, COURSE_BAD_ARGUMENT},
        {"stride_dk.n", 7, COURSE_BAD_ARGUMENT}, {"stride_v.h", -1, COURSE_BAD_ARGUMENT},
        {"dV", 0, COURSE_BAD_ARGUMENT},          {"workspace", 0, COURSE_BAD_ARGUMENT},
    };
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        sizes(1, 4, 16, 16, 8, ALL_KEYS);
        check_case(c, "backward, H_q = 4: %s = %lld must be refused", bad[n].name,
                   (long long)bad[n].value);
        declare(c, PACKED, &bad[n]);
        check_expect(c, bad[n].status, CAUSE_argument_check);
        check_run(c);
    }
}

static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    forward_safe(c);
    for (int mask = ALL_KEYS; mask <= CAUSAL; mask++) {
        int64_t N = check_pick(c, 17, 23);
        start(c, 2, 2, N, mask == CAUSAL ? N : 26, 21, (enum mask)mask, "");
        fill_run_and_judge(c);
    }
}

// The workspace has no room for gradients of N_k rows for each query head: they would have to be allocated.
static void no_copies(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    start(c, 8, 8, 16, 48, 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_expanded, "bytes of memory taken, of those of dK and dV",
                  (double)t->allocated_bytes / (4.0 * (double)(now.N_k * now.d)), 1);
}

static enum cause explain_pass(struct check* c, const struct tensor* t, struct budget budget) {
    return check_int_of(c, "backward") ? explain(c, t, budget) : forward_explain(c, t, budget);
}

static const struct item items[] = {
    {9, "forward: heads that share keys", forward_groups},
    {6, "forward: a group of three", forward_group_of_three},
    {8, "forward: causal", forward_causal},
    {6, "forward: any length", forward_ragged},
    {5, "forward: LSE", forward_logsumexp},
    {5, "forward: batches, strides, scale", forward_places},
    {5, "forward: hard scores, any head dimension", forward_hard},
    {8, "decoding reads K and V once", forward_decoding},
    {10, "backward: sums over the heads of a group", groups},
    {7, "backward: causal", causal},
    {5, "backward: any length", any_length},
    {5, "backward: batches, strides, scale", places},
    {5, "backward: hard numbers", cancelling},
    {3, "called again with new data", again},
    {3, "empty inputs and bad arguments", arguments},
    {6, "no races, no stray accesses", safe},
    {4, "no gradients for each query head", no_copies},
    {0},
};

const struct lesson lesson = {.name = "17_gqa", .items = items, .explain = explain_pass};
