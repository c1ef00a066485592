// forward.c: the items of lesson 17 about the forward pass.
//
// Only the first item has several key heads, and only the second a group that is no power of two; the rows of
// a group fill whole tiles of 16 (or half of one) but in the item about those that do not, and a mask meets a
// group in the item about masks alone. LSE is compared in its own item.
#include "17_gqa/forward.h"

#include "attention/old_forward_mistakes.h"
#include "gqa.h"
#include "wall/arena.h"

#define ELEMENT F16
enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };
#define MORE_ARGUMENTS
#include "attention/forward_cases.h"

static void declare_more(struct check* c, const struct bad* bad) {
    pass(c, bad, "H_k", now.H / now.group);
    check_int(c, "backward", 0);
}

static void judge_more(struct check* c) {
    (void)c;  // no more outputs
}

static void heads(int64_t H_q, int64_t group) {
    now.H = H_q;
    now.group = group;
}

void forward_groups(struct check* c) {
    const int64_t H_q_and_group[][2] = {{4, 2}, {3, 1}, {16, 8}, {8, 8}};
    for (size_t n = 0; n < sizeof H_q_and_group / sizeof H_q_and_group[0]; n++) {
        sizes(16, 16 * check_pick(c, 1, 2), false);
        heads(H_q_and_group[n][0], H_q_and_group[n][1]);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_group_of_three(struct check* c) {
    const int64_t group[] = {3, check_pick(c, 5, 7)};
    for (size_t n = 0; n < sizeof group / sizeof group[0]; n++) {
        sizes(16, 32, false);
        heads(group[n], group[n]);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_causal(struct check* c) {
    sizes(32, 32, true);
    heads(2, 2);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(16, 16 + check_pick(c, 2, 31), true);
    heads(4, 4);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    sizes(4, check_pick(c, 33, 40), true);
    heads(8, 8);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

// One to three queries more than fill the tiles; keys that fill none; one query and a long cache.
void forward_ragged(struct check* c) {
    const int64_t N_k[] = {32, 32 + check_pick(c, 1, 9), 15};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++) {
        sizes(16 + check_pick(c, 1, 3), N_k[n], false);
        heads(2, 2);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
    sizes(1, 4321, false);
    heads(8, 8);
    set_d(8);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

void forward_logsumexp(struct check* c) {
    sizes(16, 32, false);
    heads(4, 4);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_LSE);
    sizes(32, check_pick(c, 17, 31), true);
    now.H = 2;
    begin(c, PACKED, ": rows that see no key");
    run_and_judge(c, JUDGE_LSE);
}

void forward_places(struct check* c) {
    for (enum layout layout = PACKED; layout < SHARED; layout++) {
        sizes(16, 32, false);
        heads(2, 2);
        now.B = layout == GAPS ? 1 : 2;
        now.scale = (double)(float)(now.scale * (check_pick(c, 0, 1) ? 0.4 : 1.8));
        begin(c, layout, ", a scale of its own");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_hard(struct check* c) {
    const int64_t d[] = {59, check_pick(c, 129, 255)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        sizes(16, 16, false);
        heads(2, 2);
        set_d(d[n]);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
    judge_no_keys(c);
    sizes(32, check_pick(c, 17, 31), true);
    begin(c, PACKED, ", scores of 30 times the usual size, rows that see no key");
    for (int64_t e = 0; e < now.Q.tensor->count; e++) now.Q.tensor->value[e] *= 30;
    run_and_judge(c, JUDGE_O);

    // Integers: fp32 holds even these scores exactly.
    sizes(32, 32, false);
    heads(2, 2);
    begin(c, PACKED, ", scores around -20000");
    fill_integers(c, now.Q.tensor, -2, 2);
    fill_integers(c, now.K.tensor, -2, 2);
    for (int64_t i = 0; i < now.N_q; i++)
        for (int64_t h = 0; h < now.H; h++) at(&now.Q, 0, i, h)[0] = -100;
    for (int64_t j = 0; j < now.N_k; j++) set_level(j, 200);
    run_and_judge(c, JUDGE_O);
}

// One query: all that is read but Q is K and V. Tiles of at least 8 rows, each a head of the group, read them
// ceil(group / 8) times; a block for each query head, group times.
void forward_decoding(struct check* c) {
    enum { SMALLEST_TILE = 8 };
    check_watch(c, WATCH_PROFILE);
    for (int64_t group = 8; group <= 16; group *= 2) {
        sizes(1, check_pick(c, 65, 90), false);
        heads(group, group);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
        const struct arena_traffic* t = check_traffic(c);
        double K_and_V = 4.0 * (double)(now.N_k * now.d);
        check_at_most(c, CAUSE_expanded, "bytes of memory taken, of those of K and V",
                      (double)t->allocated_bytes / K_and_V, 1);
        check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                      ((double)t->global_load_bytes - 2.0 * (double)(now.H * now.d)) / K_and_V,
                      (double)CEIL_DIV(group, SMALLEST_TILE));
    }
}

// ---- items of both passes --------------------------------------------------------------------

void forward_again(struct check* c) {
    enum { CALLS = 3 };
    sizes(16, 32, false);
    heads(2, 2);
    check_case(c, "forward, H_q = 2, H_k = 1, N_q = 16, N_k = 32, new data in the same arrays");
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

void forward_arguments(struct check* c) {
    static const struct bad bad[] = {
        {"d", 257, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"H_k", 0, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -16, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 15, COURSE_BAD_ARGUMENT},
        {"V", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    judge_arguments(c, 32, bad);
    sizes(16, 16, false);
    heads(4, 1);
    check_case(c, "forward: H_q = 4, H_k = 3 must be refused");
    declare(c, PACKED, &(struct bad){"H_k", 3, COURSE_BAD_ARGUMENT});
    check_expect(c, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
    check_run(c);
}

// Every array ends in a tile that is not full, in rows and in columns.
void forward_safe(struct check* c) {
    sizes(16 + check_pick(c, 5, 7), 16 + check_pick(c, 9, 15), false);
    heads(2, 2);
    set_d(24);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
    int64_t N = 16 + check_pick(c, 9, 15);
    sizes(N, N, true);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain(c, t, budget);
}
