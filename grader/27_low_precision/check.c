// check.c: lesson 27, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. Of the step to
// eight bits: one scale for all is in "one scale for a whole array" alone, more heads than one are
// there and in "a scale for each block", numbers that are not finite in "what is no ordinary
// number". Of the attention: one scale for all in "whole tiles", and in "causal" behind the cases
// of blocks; scales that differ from block to block in "scales of blocks" and "heads that share
// keys"; elsewhere all blocks have the same. The scales are the grader's own, and so a wrong one of
// the kernel's is no matter there, but in the last cases of "hard scores", where both calls are
// made.
#include <math.h>

#include "27_low_precision/costs.h"
#include "27_low_precision/levels.h"
#include "27_low_precision/mistakes.h"
#include "27_low_precision/step_cases.h"
#include "attention/reach.h"
#include "check/reach.h"
#include "cpu/cards/cards.h"

// ---- the attention -----------------------------------------------------------------------------

// A block of keys or two, and more than a ring has stages: around it, and once more.
static void whole_tiles(struct check* c) {
    low_case(all_keys(c, 128, 256), "", JUDGE_O);
    low_case(all_keys(c, 128, 256 * check_pick(c, 5, 6)), "", JUDGE_O);
    low_case(of_d(all_keys(c, 128, 384), 128), "", JUDGE_O);
    low_case(of_d(all_keys(c, 64, 1536), 128), "",
             JUDGE_O);  // from so many on blocks may be larger
    low_case(all_keys(c, 192, 2048), "", JUDGE_O);
}

static struct low with_another_flag(struct low l) {
    l.p.flag = -65536;
    return l;
}

static void scales_of_blocks(struct check* c) {
    low_case(of_blocks(all_keys(c, 128, 128), 6), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 384, 384), 6), "", JUDGE_O);
    low_case(of_blocks(causal(c, 384, 384), 6), "", JUDGE_O);
    low_case(of_blocks(with_another_flag(of_d(all_keys(c, 256, 256), 128)), 3),
             ", per_block = -65536", JUDGE_O);
    low_case(of_blocks(of_heads(all_keys(c, 256, 256), 2, 2, 1), 6), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 384, 2048), 3), "", JUDGE_O);
    low_case(of_blocks(of_d(all_keys(c, 64, 1536), 128), 3), "", JUDGE_O);
}

// More tiles than a card has multiprocessors: blocks that stay take a second one and a third one.
// What a block uses for all of them is watched.
static void heads(struct check* c) {
    static const double factors[] = {0.5, 1.7, 2.5};
    struct low l = of_blocks(of_heads(all_keys(c, 128, 256), 2, check_pick(c, 2, 3), 1), 0);
    l.p.scale = (double)(float)(l.p.scale * factors[check_pick(c, 0, 2)]);
    low_case(l, ", a scale of its own", JUDGE_O);
    // Where tiles may be larger, too: a block alone, whose tiles see no key.
    l = of_blocks(causal(c, 26 * 192, 2048), 0);
    l.p.card = "h100-1g";
    low_begin(&l, ", on a card of 16 multiprocessors, the last block");
    check_run_last_block(c);
    check_run(c);
    check_watch(c, WATCH_CHECK);
    l = of_blocks(of_heads(all_keys(c, 16, 128), 1, check_pick(c, 36, 42), 1), 0);
    l.p.card = "h100-1g";
    low_case(l, ", on a card of 16 multiprocessors", JUDGE_O);
    // A second tile's first block comes in the middle of the ring, and that place is loaded again.
    l = of_blocks(of_heads(all_keys(c, 16, 640), 1, 17, 1), 0);
    l.p.card = "h100-1g";
    low_case(l, ", on a card of 16 multiprocessors", JUDGE_O);
}

static void groups(struct check* c) {
    low_case(of_blocks(of_heads(all_keys(c, 128, 128), 1, 6, 3), 0), "", JUDGE_O);
    low_case(of_blocks(of_heads(all_keys(c, 128, 256), 2, 4, 2), 6), "", JUDGE_O);
    low_case(of_blocks(of_heads(of_d(all_keys(c, 64, 128), 128), 1, check_pick(c, 4, 7), 1), 0), "",
             JUDGE_O);
    const int64_t H = check_pick(c, 5, 8);
    low_case(of_blocks(of_heads(all_keys(c, 64, 128), 1, H, H), 0), "", JUDGE_O);
}

// The last row of O, of eight bits: wrong is what is off by a good part of its largest element.
static bool is_last_near(const struct tensor* O, int64_t d) {
    double largest = 0, off = 0;
    for (int64_t e = O->count - d; e < O->count; e++) {
        largest = fmax(largest, fabs(O->want[e]));
        off = fmax(off, isnan(O->got[e]) ? INFINITY : fabs(O->got[e] - O->want[e]));
    }
    return off <= largest / 4;
}

// The launcher is told of `queries`, of which the case has the last. So many tickets as if all
// later tiles were taken: a block is done with its first tile, the last rows.
static bool reached(struct check* c, const void* problem, int64_t queries) {
    struct low l = *(const struct low*)problem;
    struct problem* p = &l.p;
    p->N_q = 2 * SCALE_BLOCK + queries % SCALE_BLOCK;
    check_case(c, "the last of %lld queries, N_k = %d, d = %d", (long long)queries, (int)p->N_k,
               (int)p->d);
    low_declare(&l, (struct strides){0});
    low_fill(&l);
    check_vary(c, "N_q", 0, queries);
    check_ends(c, l.bytes[ARRAY_Q], 1, queries * p->d);
    check_ends(c, l.scales[ARRAY_Q], 1, CEIL_DIV(queries, SCALE_BLOCK));
    check_ends(c, p->array[ARRAY_O].tensor, 1, queries * p->d);
    check_ends(c, p->array[ARRAY_LSE].tensor, 1, queries);
    l.tickets->value[0] = 1 << 30;
    check_run_few_blocks(c);
    check_run(c);
    (void)low_want(&l);
    return is_last_near(p->array[ARRAY_O].tensor, p->d) &&
           attention_is_last_right(p->array[ARRAY_LSE].tensor, 1);
}

// The launcher is told of `heads` heads, one key head each, of which the case has the last ones.
static bool heads_reached(struct check* c, const void* problem, int64_t heads) {
    enum { SHOWN = 2 };
    struct low l = of_heads(*(const struct low*)problem, 1, SHOWN, 1);
    struct problem* p = &l.p;
    check_case(c, "the last of %d heads, N_q = %d, N_k = %d, d = %d", (int)heads, (int)p->N_q,
               (int)p->N_k, (int)p->d);
    low_declare(&l, (struct strides){.b = SHOWN * p->N_q * p->d, .n = p->d, .h = p->N_q * p->d});
    low_fill(&l);
    check_vary(c, "H", 0, heads);
    check_vary(c, "H_k", 0, heads);
    check_vary(c, "stride_o.b", 0, heads * p->N_q * p->d);
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) {
        check_ends(c, l.bytes[a], 1, l.bytes[a]->count / SHOWN * heads);
        check_ends(c, l.scales[a], 1, l.scales[a]->count / SHOWN * heads);
    }
    check_ends(c, p->array[ARRAY_O].tensor, 1, p->array[ARRAY_O].tensor->count / SHOWN * heads);
    check_ends(c, p->array[ARRAY_LSE].tensor, 1, p->N_q * heads);
    l.tickets->value[0] = 1 << 30;
    check_run_few_blocks(c);
    check_run(c);
    (void)low_want(&l);
    return is_last_near(p->array[ARRAY_O].tensor, p->d) &&
           attention_is_last_right(p->array[ARRAY_LSE].tensor, 1);
}

// A short tail weighs most: zeros that count as keys outnumber it.
static void ragged(struct check* c) {
    low_case(of_blocks(all_keys(c, 64 + check_pick(c, 1, 15), 128), 0), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 17, 128 + check_pick(c, 1, 9)), 0), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 33, 15), 0), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 129, 16), 0), "", JUDGE_O);  // one row has a tile alone
    low_case(of_blocks(all_keys(c, 193, 16), 0), "", JUDGE_O);
    // Where a head's scales begin: each head has one block, which is not full.
    low_case(of_blocks(of_heads(all_keys(c, 33, check_pick(c, 70, 100)), 1, 2, 1), 6), "", JUDGE_O);
    low_case(of_blocks(of_d(all_keys(c, 200, 130), 128), 0), "", JUDGE_O);
    low_case(of_d(all_keys(c, 70, 1536 + check_pick(c, 3, 60)), 128), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, 1, 4321), 0), "", JUDGE_O);
    low_case(of_blocks(of_heads(all_keys(c, 200, 2048 + check_pick(c, 3, 60)), 1, 2, 1), 0), "",
             JUDGE_O);
    // Rows of O in an array of their own making.
    struct low l = of_blocks(of_heads(all_keys(c, 70, 128), 2, 2, 1), 0);
    low_begin_with(&l, ", gaps in O, arrays begin 16 bytes later",
                   (struct strides){.b = 70 * 160 + 8, .n = 160, .h = 72});
    check_begin_later(l.p.array[ARRAY_O].tensor, 8);
    for (int a = ARRAY_Q; a <= ARRAY_V; a++) check_begin_later(l.bytes[a], 16);
    check_run(c);
    low_judge(&l, JUDGE_O);
    low_begin_with(&l, ", heads outside in O",
                   (struct strides){.b = 2 * 70 * 64, .n = 64, .h = 70 * 64});
    check_run(c);
    low_judge(&l, JUDGE_O);
    // So many keys that tiles may have more rows than 128, of which 2^31 is a multiple.
    const struct low many_keys = of_blocks(causal(c, 1, 2048), 0);
    const double moment = 3;  // CPU seconds: for a few tiles of many keys
    check_last_indexes(c, INT32_MAX - check_pick(c, 0, 9), 0, moment, reached, &many_keys);
    enum { HEADS = 70000, FEWER = 1 << 12 };  // more than a grid has in y or z
    const struct low few_keys = of_blocks(all_keys(c, 16, 16), 0);
    check_most(c, HEADS, FEWER, heads_reached, &few_keys);
    // Of so many heads the scales of some are far enough apart to show.
    low_case(of_blocks(of_heads(all_keys(c, 17, 31), 1, 6, 1), 6), "", JUDGE_O);
    low_case(of_blocks(of_heads(all_keys(c, 130, 133), 1, 4, 1), 6), "", JUDGE_O);
}

// LSE is -infinity where no key is seen; that of other rows is no matter of this item.
static void empty_rows(struct check* c) {
    low_case(of_blocks(all_keys(c, 16, 0), 0), "", JUDGE_O | JUDGE_LSE);
    low_case(all_keys(c, 16, 0), "", JUDGE_O | JUDGE_LSE);  // one scale of nothing: it is NULL
    low_case(of_blocks(causal(c, 130, 0), 0), "", JUDGE_O | JUDGE_LSE);
    low_case(of_blocks(causal(c, 200, check_pick(c, 17, 31)), 0), "", JUDGE_O);
    low_case(of_blocks(causal(c, 300, check_pick(c, 140, 160)), 0), "", JUDGE_O);
}

static void logsumexp(struct check* c) {
    low_case(of_blocks(of_heads(causal(c, 128, 128), 2, 2, 1), 0), "", JUDGE_LSE);
    low_case(of_blocks(of_heads(all_keys(c, 64, 256), 1, 3, 1), 0), "", JUDGE_LSE);
    low_case(of_blocks(all_keys(c, 64, 256), 6), "", JUDGE_LSE);
}

// The diagonal crosses tiles at their corner, and in their middle.
static void masked(struct check* c) {
    low_case(of_blocks(causal(c, 384, 384), 0), "", JUDGE_O);
    low_case(of_blocks(with_another_flag(causal(c, 192, 256 + check_pick(c, 2, 126))), 0), "",
             JUDGE_O);
    low_case(of_blocks(of_d(causal(c, 256, 256), 128), 0), "", JUDGE_O);
    low_case(of_blocks(causal(c, 1, 200), 0), ": one query sees all", JUDGE_O);
    low_case(of_blocks(of_heads(causal(c, 16, 16), 2, 9, 1), 0), "", JUDGE_O);
    // More heads than a section has, and some left, of several tiles.
    low_case(of_blocks(of_heads(causal(c, 130, 200), 1, 3, 1), 0), "", JUDGE_O);
    low_case(of_blocks(of_d(causal(c, 96, 2048 + check_pick(c, 2, 60)), 128), 0), "", JUDGE_O);
    // The first row of each tile of queries lacks one key of a whole block, the heavy one.
    with_levels(of_blocks(causal(c, 192, 192 + 126), 0), 1, last_of_64,
                ", the last of 64 keys has most of the weight");
    // Both blocks of keys are masked, and some rows see one of them.
    with_levels(of_blocks(causal(c, 64, 164), 0), 1, all_low, ", all scores -200");
    // With one scale blocks of keys may be larger: other kernels, which have the mask as well, and
    // heads.
    low_case(of_heads(causal(c, 70, 256 + check_pick(c, 2, 126)), 2, 2, 1), ", one scale", JUDGE_O);
    low_case(of_heads(of_d(causal(c, 70, 130), 128), 2, 2, 1), ", one scale", JUDGE_O);
    with_levels(of_d(causal(c, 16, 3072 + check_pick(c, 9, 15)), 128), 1, from_3072,
                ", one scale, keys from 3072 on have most of the weight");
    low_case(of_heads(of_d(all_keys(c, 16, 1536), 128), 1, 2, 1), ", one scale", JUDGE_O);
    low_case(of_d(causal(c, 33, check_pick(c, 60, 90)), 128), ", one scale", JUDGE_O);
}

static void hard_scores(struct check* c) {
    struct low l = of_blocks(all_keys(c, 64, 384), 0);
    l.p.scale *= 30;
    low_case(l, ", scores of 30 times the usual size", JUDGE_O);
    with_levels(of_blocks(all_keys(c, 64, 512), 0), 1, growing,
                ", scores that grow, block by block");
    with_levels(of_blocks(all_keys(c, 64, 512), 0), 30, growing, ", scores that grow by 120");
    // With one scale, and so many keys, blocks may be larger.
    static const char late[] = ", the first 500 keys have most of the weight";
    with_levels(all_keys(c, 16, 1024), 1, heavy_late, late);
    with_levels(of_d(all_keys(c, 16, 1536), 128), 1, heavy_late, late);
    with_levels(of_blocks(all_keys(c, 64, 512), 0), 1, falling, ", scores that fall");
    with_levels(of_blocks(all_keys(c, 64, 512), 0), 1, one_of_many, ", one key has all the weight");
    with_large_values(of_blocks(all_keys(c, 64, 384), 0), few_of_many,
                      ", values of some thousand, one key has 60 times the weight of each other");
    with_levels(of_blocks(all_keys(c, 64, 1024), 0), 1, long_tail,
                ", a thousand keys weigh as much as one");
    faint_weights(of_blocks(all_keys(c, 16, 4096), 0), two_of_many);
    faint_weights(of_blocks(all_keys(c, 16, 1536), 0), two_of_fewer);
    // Values of 0 have the smallest scale of all.
    l = of_blocks(all_keys(c, 64, 256), 0);
    low_begin(&l, ", all values 0");
    double* zeros = check_allocate(c, l.p.array[ARRAY_V].tensor->count, sizeof *zeros);
    low_set(&l, ARRAY_V, zeros);
    free(zeros);
    check_run(c);
    low_judge(&l, JUDGE_O);
    with_both_levels(of_blocks(all_keys(c, 16, 1024), 0), first_of_16, ever_growing,
                     ", scores of one query that grow, block by block");
    both_calls(c, of_blocks(all_keys(c, 128, 256), 0), ", both calls, an outlier in column 11");
    l = of_blocks(all_keys(c, 128, 256), 0);
    l.rotated = true;
    both_calls(c, l, ", both calls, an outlier in column 11");
}

static void judge_tickets(struct check* c) {
    struct tensor* tickets = check_tensor(c, "tickets");
    for (int64_t e = 0; e < tickets->count; e++) tickets->untouched[e] = false;
    check_compare(c, tickets, budget_exact());
}

// New data in the same arrays; the tickets are zeros again. Then a kernel that needs more shared
// memory than one before it, which nobody may have asked for.
static void again(struct check* c) {
    enum { CALLS = 3 };
    struct low l = of_blocks(all_keys(c, 128, 256), 0);
    low_name(&l, ", new data in the same arrays");
    check_rounds(c, CALLS);
    low_declare(&l, (struct strides){0});
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        low_fill(&l);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge_tickets(c);
        low_judge(&l, JUDGE_O);
    }
    // d of the first call is the smaller one.
    l = of_blocks(of_d(all_keys(c, 128, 256), 128), 0);
    low_name(&l, ", after a call with d = 64");
    check_rounds(c, 2);
    low_declare(&l, (struct strides){0});
    check_vary(c, "d", 0, 64);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        low_fill(&l);
    }
    check_run(c);
    check_round(c, 1);
    low_judge(&l, JUDGE_O);
    // O of the first call is packed.
    l = of_blocks(of_heads(all_keys(c, 16, 16), 2, 2, 1), 0);
    low_name(&l, ", gaps in O, after a call without");
    check_rounds(c, 2);
    low_declare(&l, (struct strides){.b = 16 * 160 + 8, .n = 160, .h = 72});
    check_vary(c, "stride_o.b", 0, 16 * 2 * 64);
    check_vary(c, "stride_o.n", 0, 2 * 64);
    check_vary(c, "stride_o.h", 0, 64);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        low_fill(&l);
    }
    check_run(c);
    check_round(c, 1);
    low_judge(&l, JUDGE_O);
}

// ---- arguments ---------------------------------------------------------------------------------

static void declare_attention(struct check* c, void* problem) {
    struct low* l = problem;
    (void)c;
    low_declare(l, (struct strides){0});
}

static void misaligned(struct check* c, const char* name) {
    struct low l = of_blocks(all_keys(c, 64, 128), 0);
    check_case(c, "%s begins at no multiple of 16 bytes", name);
    low_declare(&l, (struct strides){0});
    check_begin_later(check_tensor(c, name), 1);
    check_expect(c, COURSE_UNSUPPORTED, CAUSE_argument_check);
    check_run(c);
}

static void step_arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_BAD_ARGUMENT, {{"B", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H", -1}}},
        {COURSE_BAD_ARGUMENT, {{"d", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}, {"H", 65536}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"X", 0}}},
        {COURSE_BAD_ARGUMENT, {{"d", 80}, {"N", -1}}},
        {COURSE_OK, {{"B", 0}, {"X", 0}, {"to", 0}}},
        {COURSE_OK, {{"N", 0}, {"scales", 0}}},
        {COURSE_OK, {{"H", 0}, {"stride_x.n", 8}}},
        {COURSE_BAD_ARGUMENT, {{"X", 0}}},
        {COURSE_BAD_ARGUMENT, {{"to", 0}}},
        {COURSE_BAD_ARGUMENT, {{"scales", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_x.n", 63}}},
        {COURSE_BAD_ARGUMENT, {{"stride_x.h", -8}}},
        {COURSE_BAD_ARGUMENT, {{"stride_x.b", -8}}},
        {COURSE_UNSUPPORTED, {{"stride_x.n", 68}}},
        {COURSE_UNSUPPORTED, {{"stride_x.h", 100}}},
        {0},
    };
    struct step_case q = {.check = c, .s = rows_of_X(1, 128, 1, 64)};
    // Nor is the one scale cleared before.
    static const struct idle_call of_one_scale[] = {
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_OK, {{"N", 0}}},
        {COURSE_BAD_ARGUMENT, {{"X", 0}}},
        {COURSE_UNSUPPORTED, {{"stride_x.n", 68}}},
        {0},
    };
    check_idle_calls(c, calls, declare_step, &q);
    q.s = of_all(q.s);
    check_idle_calls(c, of_one_scale, declare_step, &q);
    q.s = rows_of_X(1, 128, 1, 64);
    for (int n = 0; n < 2; n++) {
        check_case(c, "%s begins at no multiple of 16 bytes", n ? "to" : "X");
        declare_step(c, &q);
        check_begin_later(n ? q.to : q.X, 1);
        check_expect(c, COURSE_UNSUPPORTED, CAUSE_argument_check);
        check_run(c);
    }
    check_launches_fail(c, declare_step, &q);
    struct step_case one_scale = q;
    one_scale.s = of_all(q.s);
    check_launches_fail(c, declare_step, &one_scale);
    check_case(c, "to eight bits, on a card that is no Hopper GPU");
    check_pose_as(c, "rtx4090");
    declare_step(c, &q);
    check_expect(c, COURSE_UNSUPPORTED, CAUSE_argument_check);
    check_run(c);
}

// Two calls, the first on another GPU, where the launcher returns `status`: nothing that was asked
// of it, or set for it, may be kept.
static void on_two_devices(struct check* c, const char* first, int status) {
    enum { CALLS = 2 };
    struct low l = of_blocks(all_keys(c, 16, 16), 0);
    check_case(c, "N_q = N_k = 16, twice, the first call on another GPU, as %s", first);
    check_begin_on(c, first);
    check_rounds(c, CALLS);
    low_declare(&l, (struct strides){0});
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        low_fill(&l);
    }
    if (status != COURSE_OK) check_expect(c, status, CAUSE_argument_check);
    check_run(c);
    check_round(c, 1);
    low_judge(&l, JUDGE_O);
}

// Inputs may lie in the same place: a launcher that refuses it refuses too much. With N = d = 64
// V^T is as large as the others.
static void one_array(struct check* c) {
    struct low l = all_keys(c, 64, 64);
    low_name(&l, ", Q, K and V^T are the same array, and so are their scales");
    low_declare(&l, (struct strides){0});
    for (int a = ARRAY_K; a <= ARRAY_V; a++) {
        check_same(c, l.bytes[a], l.bytes[ARRAY_Q]);
        check_same(c, l.scales[a], l.scales[ARRAY_Q]);
    }
    check_run(c);
}

static void arguments(struct check* c) {
    static const int64_t too_far = (int64_t)1 << 39;
    static const struct idle_call calls[] = {
        {COURSE_BAD_ARGUMENT, {{"B", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N_q", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"H", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 3}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"H_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"d", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"scale", 0}}},
        {COURSE_UNSUPPORTED, {{"scale", -1}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}, {"H", 65536}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"Q", 0}}},
        {COURSE_UNSUPPORTED, {{"scale", 0}, {"B", 0}}},
        {COURSE_OK, {{"B", 0}, {"O", 0}, {"Q", 0}}},
        {COURSE_OK, {{"N_q", 0}, {"LSE", 0}}},
        {COURSE_OK, {{"H", 0}, {"H_k", 0}, {"stride_o.n", 8}}},
        {COURSE_BAD_ARGUMENT, {{"O", 0}}},
        {COURSE_BAD_ARGUMENT, {{"LSE", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Q", 0}}},
        {COURSE_BAD_ARGUMENT, {{"K", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Vt", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Q_scales", 0}}},
        {COURSE_BAD_ARGUMENT, {{"K_scales", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V_scales", 0}}},
        {COURSE_BAD_ARGUMENT, {{"tickets", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_o.n", 63}}},
        {COURSE_BAD_ARGUMENT, {{"stride_o.h", -8}}},
        {COURSE_UNSUPPORTED, {{"stride_o.n", 68}}},
        {0},
    };
    const struct idle_call far[] = {{COURSE_UNSUPPORTED, {{"stride_o.h", too_far}}}, {0}};
    struct low l = of_blocks(all_keys(c, 64, 128), 0);
    check_ordinary(c);
    low_case(l, "", JUDGE_O);
    check_idle_calls(c, calls, declare_attention, &l);
    check_idle_calls(c, far, declare_attention, &l);
    misaligned(c, "O");
    misaligned(c, "Q");
    misaligned(c, "K");
    misaligned(c, "Vt");
    check_launches_fail(c, declare_attention, &l);
    one_array(c);
    on_two_devices(c, "h100", COURSE_OK);
    on_two_devices(c, CARD_NEWER, COURSE_UNSUPPORTED);
    l.p.scale = NAN;
    low_name(&l, ", scale is NaN, which is not above 0");
    low_declare(&l, (struct strides){0});
    check_expect(c, COURSE_UNSUPPORTED, CAUSE_argument_check);
    check_run(c);
    step_arguments(c);
}

// Every array ends in a tile that is not full; around the ring more than once, and by the kernel of
// many keys, too.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    struct low l =
        of_blocks(causal(c, 128 + 4 * check_pick(c, 9, 15), 640 + check_pick(c, 33, 63)), 0);
    l.p.later = 1u << ARRAYS | 1u << ARRAY_LSE;  // scales and LSE are aligned to their elements
    low_case(l, ", scales and LSE begin 4 bytes later", JUDGE_O);
    low_case(of_heads(all_keys(c, check_pick(c, 9, 40), 150), check_pick(c, 2, 3), 3, 1), "",
             JUDGE_O);
    low_case(of_blocks(of_d(all_keys(c, 65, 1100), 128), 0), "", JUDGE_O);
    low_case(of_blocks(all_keys(c, check_pick(c, 129, 150), 2048), 0), "", JUDGE_O);
    low_case(of_d(causal(c, 65, 3072 + check_pick(c, 3, 60)), 128), "", JUDGE_O);
    // With tiles of 192 rows a warpgroup has none of these rows, and no scale.
    low_case(of_blocks(all_keys(c, check_pick(c, 1, 128), 2048), 0), "", JUDGE_O);
    step_of_normal(c, rotated(rows_of_X(1, 128 + check_pick(c, 1, 99), 2, 64)), "");
    step_of_normal(c, transposed(rows_of_X(1, 128 + check_pick(c, 1, 99), 1, 64)), "");
}

static const struct item items[] = {
    {4, "to eight bits: a scale for each block", scale_of_each_block},
    {3, "to eight bits: one scale for a whole array", scale_of_all},
    {3, "to eight bits: V transposed", step_transposed},
    {3, "to eight bits: rows rotated", step_rotated},
    {3, "to eight bits: any number of rows, any strides", any_rows},
    {3, "to eight bits: what is no ordinary number", no_ordinary_numbers},
    {5, "whole tiles, around the ring", whole_tiles},
    {6, "scales of blocks", scales_of_blocks},
    {3, "heads and batches, any scale", heads},
    {3, "heads that share keys", groups},
    {5, "any number of queries and keys", ragged},
    {4, "causal", masked},
    {2, "rows that see no key", empty_rows},
    {2, "LSE", logsumexp},
    {4, "hard scores, outliers through both calls", hard_scores},
    {1, "called again with new data", again},
    {1, "empty inputs and bad arguments", arguments},
    {5, "no races, no stray accesses, order with TMA and wgmma", safe},
    {24, "wgmma multiplies numbers of eight bits", by_wgmma},
    {8, "TMA brings every tile", moved_by_tma},
    {8, "nothing loaded twice, or that the mask hides", read_once_per_tile},
    {0},
};

const struct lesson lesson = {
    .name = "27_low_precision",
    .card = "h200",
    .by_wgmma = true,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "TMA brings bytes, and wgmma multiplies them as they are",
             .paid_by = {by_wgmma, moved_by_tma, read_once_per_tile},
             .naive = "grader/27_low_precision/naive.cu"},
    .explain = explain};
