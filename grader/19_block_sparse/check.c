// check.c: lesson 19, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: the masks are
// full except in items about the mask, and lengths are whole tiles of 64, or 16, except in items
// about lengths; masks that are not their own transposes are in "the blocks of the mask" alone,
// empty rows in "no block at all", and so on. LSE is compared in "queries that see nothing" and
// "LSE" alone.
#include <stdio.h>
#include <string.h>

#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "block_sparse.h"
#include "wall/arena.h"

static int64_t forward_workspace(const struct problem* p) {
    return (int64_t)block_sparse_forward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->N_k,
                                                         (int)p->H);
}

static int64_t backward_workspace(const struct problem* p) {
    return (int64_t)block_sparse_backward_workspace_bytes((int)p->B, (int)p->N_q, (int)p->N_k,
                                                          (int)p->H, (int)p->d);
}

// Rows begin at multiples of 16 bytes: gaps are multiples of 8 elements.
static const struct contract of_forward = {
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
    .workspace_bytes = forward_workspace,
    .declare_more = mask_declare,
};

static const struct contract of_backward = {
    .backward = true,
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {16, 24, 40, 48, 8, 56, 32, 64},
    .workspace_bytes = backward_workspace,
    .declare_more = mask_declare,
};

enum { BLOCK = SPARSE_BLOCK };

// One batch of H heads.
static struct problem sizes(struct check* c, const struct contract* of, int64_t H, int64_t N_q,
                            int64_t N_k) {
    return with_heads(problem_of(c, of, N_q, N_k, false), 1, H);
}

// Two batches of two heads with masks that are their own transposes, without empty rows or
// columns, and no two masks alike.
static const char* with_masks_of_heads(struct problem* p) {
    static const char* const masks[] = {"10/01 01/10 11/10 11/11", "01/10 11/11 10/01 11/10",
                                        "11/10 10/01 11/11 01/10"};
    p->B = p->H = 2;
    return masks[check_pick(p->check, 0, 2)];
}

// Starts a case of either pass that is named after its mask, and fills it.
static void begin_in(struct problem* p, enum layout layout, const char* mask) {
    char name[MASK_TEXT + 16];
    snprintf(name, sizeof name, ", mask %s", mask);
    problem_begin(p, layout, name);
    if (!p->contract->backward) forward_fill(p);
    mask_set(p, mask);
    if (p->contract->backward) backward_fill(p);
}

static void begin(struct problem* p, const char* mask) {
    begin_in(p, PACKED, mask);
}

static void judge(struct problem p, const char* mask, int what) {
    begin(&p, mask);
    backward_or_forward_run(&p, what);
}

// ---- items of both passes ------------------------------------------------------------------

static void judge_blocks(struct check* c, const struct contract* of) {
    bool more_keys = check_pick(c, 0, 1);
    const int64_t T[][2] = {{2, 2}, {2 + !more_keys, 2 + more_keys}};
    for (int n = 0; n < 2; n++) {
        char mask[MASK_TEXT];
        mask_random(c, T[n][0], T[n][1], mask);
        judge(sizes(c, of, 1, T[n][0] * BLOCK, T[n][1] * BLOCK), mask, JUDGE_O);
    }
    // Masks of more blocks than a warp has lanes: 20 of 35, in the last one 112 rows. 32 blocks
    // before those behind the 32nd are none: who begins to count anew does not take one twice.
    enum { LONG = 35 * BLOCK - 16 };
    judge(sizes(c, of, 1, 16, LONG), "0101101", JUDGE_O);
    judge(sizes(c, of, 1, LONG, 16), "0/1/0/1/1/0/1", JUDGE_O);
    // And of more than a byte with a sign counts, or a mask of 64 bits holds.
    const int64_t longer = (of->backward ? 66 : 132) * BLOCK - 16;
    judge(sizes(c, of, 1, 16, longer), "1", JUDGE_O);
    if (of->backward)
        judge(sizes(c, of, 1, longer, 16), "1", JUDGE_O);
    else  // and of a row that is longer than a block has threads, or shared memory
        attention_far_blocks(sizes(c, of, 1, 16, 0), 20000);
}

static void judge_unseen(struct problem p) {
    static const char* const masks[] = {"00/01", "10/00", "00/00"};
    for (int n = 0; n < 3; n++) judge(p, masks[n], JUDGE_O | JUDGE_LSE);
}

static void judge_heads(struct problem p) {
    const char* mask = with_masks_of_heads(&p);
    judge(p, mask, JUDGE_O);
}

// Heads whose masks have more columns than rows, and more rows than columns: where a list of a
// head begins depends on both.
static void judge_uneven_heads(struct check* c, const struct contract* of) {
    judge(sizes(c, of, 3, 16, BLOCK + 16), "01 10 01", JUDGE_O);
    judge(sizes(c, of, 3, BLOCK + 16, 16), "0/1 1/0 0/1", JUDGE_O);
}

// Bytes that are read with no active block, with one of four, and with all four: masks[].
static void count_reads(struct problem p, const char* const masks[3], double read[3]) {
    for (int n = 0; n < 3; n++) {
        begin(&p, masks[n]);
        if (n < 2) problem_skips_unseen(&p);
        backward_or_forward_run(&p, JUDGE_O);
        read[n] = (double)problem_traffic(&p)->global_load_bytes;
    }
}

static void judge_one_of_four(struct check* c, const double read[3]) {
    check_at_most(c, CAUSE_inactive_read, "bytes read for one block of four, of those for all four",
                  (read[1] - read[0]) / (read[2] - read[0]), 0.3);
}

// The bytes that a mask costs beside those of an empty one.
static double read_for(struct problem p, const char* mask) {
    double read[2];
    for (int n = 0; n < 2; n++) {
        begin(&p, n ? mask : "0");
        if (!n || strchr(mask, '0')) problem_skips_unseen(&p);
        backward_or_forward_run(&p, JUDGE_O);
        read[n] = (double)problem_traffic(&p)->global_load_bytes;
    }
    return read[1] - read[0];
}

// A block beside rows and columns without any costs what it costs alone: they walk over lists of
// their own, not over what some row of the head needs.
static void judge_beside(struct check* c, const struct contract* of) {
    double alone = read_for(sizes(c, of, 1, 16, BLOCK), "1");
    double beside = read_for(sizes(c, of, 1, BLOCK + 16, 2 * BLOCK), "00/01");
    check_at_most(c, CAUSE_inactive_read, "bytes read for a block beside others, of those alone",
                  beside / alone, 1.5);
}

// The bytes that a case reads, with gaps between rows.
static double read_with_gaps(struct problem p, const char* mask) {
    begin_in(&p, GAPS, mask);
    problem_skips_unseen(&p);  // nobody has to read gaps
    backward_or_forward_run(&p, JUDGE_O);
    return (double)problem_traffic(&p)->global_load_bytes;
}

// ---- forward -------------------------------------------------------------------------------

static void forward_blocks(struct check* c) {
    judge_blocks(c, &of_forward);
}

static void forward_short(struct check* c) {
    const int64_t N[][2] = {{BLOCK + check_pick(c, 1, 7), BLOCK + 1},  // one key has a block alone
                            {16 + check_pick(c, 1, 7), check_pick(c, 17, 127)},
                            {1, 1}};
    for (int n = 0; n < 3; n++) {
        forward_case(sizes(c, &of_forward, 1, N[n][0], N[n][1]), PACKED, "", JUDGE_O);
    }
    judge(sizes(c, &of_forward, 1, 16, BLOCK + 40), "10", JUDGE_O);  // the short one is not active
    judge_uneven_heads(c, &of_forward);
    // More numbers of lists, and bytes of the mask, than 32 bits count, too.
    attention_reaches_in_order(sizes(c, &of_forward, 5, 1, 65 * BLOCK),
                               REACH_MOST - check_pick(c, 0, 9));
    attention_most_heads(sizes(c, &of_forward, 1, 16, 16));
}

static void forward_unseen(struct check* c) {
    judge_unseen(sizes(c, &of_forward, 1, BLOCK + 64, 2 * BLOCK));
    // More lists of a head than a launcher may want to put in order.
    judge(sizes(c, &of_forward, 1, 1024 * BLOCK + check_pick(c, 1, BLOCK), 16), "0", JUDGE_O);
    forward_no_keys(sizes(c, &of_forward, 1, 16, 0));
}

// The scale is no power of 2: who multiplies Q by it rounds.
static void forward_logsumexp(struct check* c) {
    struct problem p = with_scale(sizes(c, &of_forward, check_pick(c, 2, 3), 32, BLOCK), 0.7);
    p.B = 2;
    forward_case(p, PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(sizes(c, &of_forward, 1, 64, BLOCK));
}

static void forward_heads(struct check* c) {
    judge_heads(sizes(c, &of_forward, 1, BLOCK + 64, 2 * BLOCK));
    struct problem p = sizes(c, &of_forward, 130, 16, 16);
    forward_case(p, PACKED, "", JUDGE_O);
}

// ---- backward ------------------------------------------------------------------------------

static void blocks(struct check* c) {
    judge_blocks(c, &of_backward);
}

static void short_blocks(struct check* c) {
    backward_case(sizes(c, &of_backward, 1, BLOCK + 1, BLOCK + 1));
    int64_t N_k = 16 + check_pick(c, 1, 7), N_q = BLOCK + check_pick(c, 2, 63);
    backward_case(sizes(c, &of_backward, 1, N_q, N_k));
    N_k = check_pick(c, 2, 4), N_q = check_pick(c, 2, 3);
    backward_case_tested(sizes(c, &of_backward, 1, N_q, N_k));
    judge_uneven_heads(c, &of_backward);
    attention_most_heads(sizes(c, &of_backward, 1, 16, 16));
    attention_reaches_in_order(with_heads(sizes(c, &of_backward, 1, 1, 16), 2, 12),
                               (1 << 27) - check_pick(c, 0, 9));
    attention_counts_keys(sizes(c, &of_backward, 1, 16, 1), 70000);
}

static void unseen(struct check* c) {
    judge_unseen(sizes(c, &of_backward, 1, BLOCK + 64, BLOCK + 64));
    backward_case_empty(sizes(c, &of_backward, 1, 0, 32));
    backward_case_empty(sizes(c, &of_backward, 1, 32, 0));
}

static void heads(struct check* c) {
    judge_heads(sizes(c, &of_backward, 1, BLOCK + 64, BLOCK + 64));
    backward_case(sizes(c, &of_backward, 130, 16, 16));
}

// ---- both ----------------------------------------------------------------------------------

static void strides(struct check* c) {
    struct problem p = with_heads(sizes(c, &of_forward, 2, 32, BLOCK), 2, 2);
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++)
        forward_case(p, layout, "", JUDGE_O);
    for (enum layout layout = GAPS; layout <= SHARED; layout++)
        backward_case_named(with_heads(sizes(c, &of_backward, 2, 32, BLOCK), 2, 2), layout, "");
    forward_case(p, ONE_BATCH, "", JUDGE_O);
    backward_case_named(with_heads(sizes(c, &of_backward, 2, 32, BLOCK), 2, 2), ONE_BATCH, "");
    forward_case_far(p);
    backward_case_far(with_heads(sizes(c, &of_backward, 2, 32, BLOCK), 2, 2));
}

static void both_heads(struct check* c) {
    struct problem p = with_d(sizes(c, &of_forward, 1, BLOCK + 64, BLOCK + 64), 128);
    forward_case(p, PACKED, "", JUDGE_O);
    p.N_q = 16, p.N_k = 32, p.B = p.H = 2;
    forward_case(with_nan_gaps(p), GAPS, "", JUDGE_O);
    forward_case(with_nan_gaps(with_d(p, 64)), GAPS, "", JUDGE_O);
    p = with_d(sizes(c, &of_backward, 1, BLOCK + 64, BLOCK + 64), 128);
    backward_case(p);
    p.N_q = 16, p.N_k = 32, p.B = p.H = 2;
    backward_case_named(p, GAPS, "");
    // Blocks of the card may have more memory than the grade's: a launcher may have other kernels.
    backward_case_named(on_card(with_nan_gaps(p), "h100"), GAPS, "");
    backward_case_named(with_nan_gaps(with_d(p, 64)), GAPS, "");
}

static void extreme(struct check* c) {
    struct problem p = sizes(c, &of_forward, 1, 32, BLOCK + 16);
    forward_case_large(p, ", scores of 30 times the usual size");
    // The first rows see one tile, the last ones several.
    struct problem below = sizes(c, &of_forward, 1, BLOCK + 16, BLOCK + 16);
    forward_begin(&below, PACKED, ", mask 01/11, scores near -200 in every other row");
    mask_set(&below, "01/11");
    for (int64_t i = 0; i < below.N_q; i++) row_of(&below, ARRAY_Q, 0, 0, i)[0] = 16 * (i % 2);
    for (int64_t j = 0; j < below.N_k; j++) set_level(&below, j, -200.0 / 16);
    forward_run(&below, JUDGE_O);
    for (int sign = 1; sign >= -1; sign -= 2) {
        forward_begin(&p, PACKED, sign > 0 ? ", scores near 200" : ", scores near -200");
        set_column(&p, ARRAY_Q, 0, 16);
        for (int64_t j = 0; j < p.N_k; j++) set_level(&p, j, sign * 200.0 / 16);
        forward_run(&p, JUDGE_O);
    }
    forward_case(with_scale(sizes(c, &of_forward, 1, 32, BLOCK), 1.7), PACKED, "", JUDGE_O);
    forward_case_integers(sizes(c, &of_forward, 1, 64, BLOCK), ", scores around -20000", -128,
                          1024);
    forward_case_below(sizes(c, &of_forward, 1, 16, BLOCK), -0x1p127);
    forward_case_exact(sizes(c, &of_forward, 1, 16, 8 * BLOCK));
    forward_case_tail(sizes(c, &of_forward, 1, 16, 16 * BLOCK));
    forward_case_late_maximum(sizes(c, &of_forward, 1, 32, BLOCK));
    forward_case_divided(sizes(c, &of_forward, 1, 64, BLOCK));
    forward_case_faint(sizes(c, &of_forward, 1, 64, 4 * BLOCK));
    forward_case_ones(sizes(c, &of_forward, 1, 64, BLOCK));
    p = sizes(c, &of_backward, 1, 64, 64 + check_pick(c, 9, 15));
    backward_case(with_scale(p, -1.3));
    backward_case(with_scale(sizes(c, &of_backward, 1, 64, BLOCK), 0));
    backward_case_large_scores(sizes(c, &of_backward, 1, 64, 64));
    backward_case_level(p, 120);
    backward_case_level(p, -130);
    backward_case_level(sizes(c, &of_backward, 1, 70, 64), -130);
    backward_case_level(p, 6000);
    backward_case_lowest(sizes(c, &of_backward, 1, 32, 1));
    backward_case_large_dP(sizes(c, &of_backward, 1, 64, 64));
    backward_case_faint(sizes(c, &of_backward, 1, 32, 64));
    backward_case_cancel(sizes(c, &of_backward, 1, BLOCK, 64), 64, 0, 64, 64, 0);
    backward_case_cancel_keys(sizes(c, &of_backward, 1, 64, 2 * BLOCK), 64, 0);
    backward_case_rounded_once(sizes(c, &of_backward, 1, 64, 64));
}

// The masks of three calls with the same Q, K and V; and of two with new data, since a sum that is
// kept shows as well.
static void forward_round(struct problem* p, int round) {
    static const char* const masks[] = {"10/01", "01/10", "11/10"};
    if (round == 0) forward_fill(p);
    for (enum which a = ARRAY_Q; a <= ARRAY_V && round > 0; a++) {
        struct tensor* t = p->array[a].tensor;
        memcpy(t->value, check_values_of(t, 0), (size_t)t->count * sizeof *t->value);
    }
    mask_set(p, masks[round]);
}

static void backward_round(const struct problem* p, int round) {
    static const char* const masks[] = {"10/01", "01/10", "11/01"};
    mask_set(p, masks[round]);
}

static void all_blocks(struct problem* p, int round) {
    (void)round;
    forward_fill(p);
    mask_set(p, "1");
}

static void again(struct check* c) {
    struct problem p = sizes(c, &of_forward, 1, BLOCK + 64, 2 * BLOCK);
    forward_again(p, "forward, other masks", forward_round);
    forward_case_after(with_d(p, 128), sizes(c, &of_forward, 1, 16, BLOCK), all_blocks);
    backward_case_again(sizes(c, &of_backward, 1, BLOCK + 64, BLOCK + 64), 3, backward_round);
}

static void arguments(struct check* c) {
    static const struct idle_call of_forward_alone[] = {
        {COURSE_BAD_ARGUMENT, {{"mask", 0}}},
        {COURSE_BAD_ARGUMENT, {{"mask", 0}, {"stride_q.n", 68}}},
        PROBLEM_UNSUPPORTED(80),
        PROBLEM_ORDER(80),
        {0},
    };
    static const struct idle_call of_backward_alone[] = {
        {COURSE_BAD_ARGUMENT, {{"mask", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"d", 80}, {"N_k", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"mask", 0}}},
        {COURSE_BAD_ARGUMENT, {{"B", 0}, {"stride_k.n", 8}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}, {"stride_k.n", 68}}},
        {COURSE_OK, {{"H", 0}, {"stride_o.n", 68}, {"dK", 0}}},
        {0},
    };
    const struct strides bad = {.n = 56, .h = -64, .b = -64}, odd = {.n = 68, .h = 100, .b = 8196};
    struct problem p = sizes(c, &of_forward, 1, BLOCK, BLOCK);
    forward_arguments(p, of_forward_alone);
    problem_bad_arguments(p, bad);
    problem_strides_refused(p, COURSE_UNSUPPORTED, odd);
    problem_misaligned_refused(p);
    p.scale = NAN;
    problem_must_return(p, COURSE_UNSUPPORTED, ": not above 0");
    check_ordinary(c);
    backward_case(sizes(c, &of_backward, 1, 32, 32));
    p = sizes(c, &of_backward, 1, 64, 64);
    problem_refused(p, of_backward_alone);
    problem_bad_arguments(p, bad);
    problem_strides_refused(p, COURSE_UNSUPPORTED, odd);
    problem_misaligned_refused(p);
    problem_too_many_heads(p);
    problem_launches_fail(p);
    backward_on_two_devices(with_d(p, 128), "h100", COURSE_OK);
}

// Every array ends in a block that is not full, and in a tile that is not full.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N_k = BLOCK + check_pick(c, 9, 15), N_q = 16 + check_pick(c, 9, 15);
    forward_case(sizes(c, &of_forward, 2, N_q, N_k), PACKED, "", JUDGE_O);
    N_k = BLOCK + check_pick(c, 73, 79), N_q = 16 + 4 * check_pick(c, 2, 3);
    struct problem p = sizes(c, &of_backward, 2, N_q, N_k);
    p.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone
    backward_case(p);
    backward_case(with_d(sizes(c, &of_backward, 1, N_q, N_k), 128));
    // The mask is aligned to a byte, also where its rows, or columns, have four.
    p = sizes(c, &of_forward, 1, 16, 4 * BLOCK);
    p.later = 1u << ARRAYS;
    judge(p, "0101", JUDGE_O);
    p = sizes(c, &of_backward, 1, 4 * BLOCK, 16);
    p.later = 1u << ARRAYS;
    judge(p, "0/1/0/1", JUDGE_O);
    // Queries and keys that see nothing: copies for nobody.
    judge(sizes(c, &of_forward, 1, 16, 16), "0", JUDGE_O);
    judge(sizes(c, &of_backward, 1, 16, 16), "0", JUDGE_O);
    // The kernels of wide heads are others, those of a card with more memory than the grade's, too.
    p = with_d(sizes(c, &of_backward, 1, 16, 16), 128);
    judge(p, "0", JUDGE_O);
    judge(on_card(p, "h100"), "0", JUDGE_O);
}

// Whole tiles; few queries, for which a launcher may have a kernel of its own, and tiles that are
// not full; and the other head dimension.
static void on_tensor_cores(struct check* c) {
    forward_by_mma(sizes(c, &of_forward, 1, 64, BLOCK));
    const int64_t few = check_pick(c, 2, 7);
    forward_by_mma(sizes(c, &of_forward, 1, few, 64 + check_pick(c, 1, 31)));
    forward_by_mma(with_d(sizes(c, &of_forward, 1, 64, 64), 128));
    const struct problem cases[] = {sizes(c, &of_backward, 1, 64, 64),
                                    sizes(c, &of_backward, 1, few, 32 + check_pick(c, 1, 31)),
                                    with_d(sizes(c, &of_backward, 1, 64, 64), 128)};
    for (int n = 0; n < 3; n++) {
        backward_by_mma(cases[n]);
        backward_by_mma_of_dO(cases[n]);
    }
}

// With an empty mask: what a wider head costs. It is one query's row of Q at most, for a few warps;
// the smallest tile of K has eight rows.
static void judge_empty(struct check* c) {
    enum { FEW = 64, WIDE = 128, LOADS = 6 };
    double read[2];
    for (int wide = 0; wide < 2; wide++) {
        struct problem p = with_d(sizes(c, &of_forward, 1, 1, 2 * BLOCK), wide ? WIDE : FEW);
        begin(&p, "0");
        problem_skips_unseen(&p);
        backward_or_forward_run(&p, JUDGE_O);
        read[wide] = (double)problem_traffic(&p)->global_load_bytes;
    }
    check_at_most(c, CAUSE_inactive_read, "times that a row is read with an empty mask",
                  (read[1] - read[0]) / (2.0 * (WIDE - FEW)), LOADS);
}

// One row of four blocks, of which none, one, or all are active. K and V are 64 times as large as
// Q: reads of them with an empty mask would show. A tile has 8 queries or more: K and V of the
// active blocks are read once, and a kernel that walks twice is found also if it stores between.
static void forward_cheap(struct check* c) {
    enum { N_Q = 8, T_K = 4 };
    static const char* const one[] = {"1000", "0100", "0010", "0001"};
    const char* const masks[] = {"0000", one[check_pick(c, 0, 3)], "1111"};
    const double d = (double)of_forward.d;
    double read[3], Q = 2.0 * N_Q * d, K_and_V = 4.0 * T_K * BLOCK * d;
    count_reads(sizes(c, &of_forward, 1, N_Q, T_K * BLOCK), masks, read);
    check_at_most(c, CAUSE_inactive_read, "share of K and V that is read with an empty mask",
                  (read[0] - Q) / K_and_V, 0.1);
    judge_one_of_four(c, read);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                  (read[2] - read[0]) / K_and_V, 1.5);
    judge_beside(c, &of_forward);
    judge_empty(c);
    // Whole tiles: no load has to be kept inside of the array.
    forward_case(sizes(c, &of_forward, 1, BLOCK, T_K * BLOCK), PACKED, "", JUDGE_O);
    check_loaded_once_of(c, "Q", 0);
}

// What a launcher may have other kernels for: d = 128, several heads, rows with gaps, a last block
// that is short. One tile has all queries: it reads K and V of the active blocks once.
static void forward_cheap_elsewhere(struct check* c) {
    enum { N_Q = 8 };
    const int64_t heads = check_pick(c, 2, 3);
    const struct problem p =
        with_heads(with_d(sizes(c, &of_forward, 1, N_Q, 3 * BLOCK - 16), 128), 2, heads);
    const double row = 2 * (double)(p.d * p.B * p.H);
    check_at_most(c, CAUSE_inactive_read, "times that K and V of the active blocks are read",
                  (read_with_gaps(p, "010 100") - row * N_Q) / (2 * row * BLOCK), 1.5);
}

// The same of the gradients. With both blocks and with one of them all rows are read once, for
// delta and by the blocks that own them. That may be half as much again.
static void cheap_elsewhere(struct check* c) {
    enum { N = 8, LONG = 2 * BLOCK - 16 };
    static const char* const one[] = {"10", "1/0"};
    const int of_many_heads = (int)check_pick(c, 0, 1);
    for (int column = 0; column < 2; column++) {
        const int64_t N_q = column ? LONG : N, N_k = column ? N : LONG;
        struct problem p = with_d(sizes(c, &of_backward, 1, N_q, N_k), 128);
        if (column == of_many_heads) p = with_heads(p, 2, check_pick(c, 2, 3));
        const double once = 4.0 * (double)(p.B * p.H * p.d * (2 * N_q + N_k));
        const double both = read_with_gaps(p, "1") - once;
        check_at_most(c, CAUSE_inactive_read,
                      "bytes read again for one block of two, of those for both",
                      (read_with_gaps(p, one[column]) - once) / both, 0.75);
    }
}

// Backward with an empty mask: Q, O, dO twice, K and V are read once, for delta and by the blocks
// that own their rows, and nothing goes with the product of both lengths.
static void judge_empty_backward(struct check* c) {
    struct problem p = sizes(c, &of_backward, 1, 4 * BLOCK, 2 * BLOCK);
    begin(&p, "0");
    problem_skips_unseen(&p);
    backward_or_forward_run(&p, JUDGE_O);
    check_at_most(c, CAUSE_inactive_read, "times that all rows are read with an empty mask",
                  (double)problem_traffic(&p)->global_load_bytes /
                      (4.0 * (double)(p.d * (2 * p.N_q + p.N_k))),
                  1.5);
}

// The same for the gradients, and for one column of four blocks. Reads with an empty mask, for
// delta and the like, do not count.
static void cheap(struct check* c) {
    enum { N = 16, T = 4 };
    static const char* const one[][4] = {{"1000", "0100", "0010", "0001"},
                                         {"1/0/0/0", "0/1/0/0", "0/0/1/0", "0/0/0/1"}};
    check_watch(c, WATCH_PROFILE);
    forward_cheap(c);
    for (int column = 0; column < 2; column++) {
        const char* const masks[] = {"0000", one[column][check_pick(c, 0, 3)], "1111"};
        double read[3];
        count_reads(sizes(c, &of_backward, 1, column ? T * BLOCK : N, column ? N : T * BLOCK),
                    masks, read);
        judge_one_of_four(c, read);
        // K and V for every 8 queries, Q and dO for every 8 keys, each twice: what is read for all
        // four blocks may not grow so that the share of one looks small.
        check_at_most(c, CAUSE_too_much_read, "times that all rows are read for each tile of 8",
                      (read[2] - read[0]) / (4.0 * (double)of_backward.d * N * T * BLOCK / 8), 4);
        // Of the few rows some designs load a tile for each tile of the many; of the many, none.
        check_loaded_once(c, column ? "Q" : "K");
        check_loaded_once(c, column ? "dO" : "V");
    }
    judge_beside(c, &of_backward);
    judge_empty_backward(c);
    forward_cheap_elsewhere(c);
    cheap_elsewhere(c);
    for (int many_keys = 0; many_keys <= 1; many_keys++) {
        struct problem p = sizes(c, &of_backward, 1, many_keys ? 17 : 577, many_keys ? 577 : 17);
        backward_case(p);
        problem_traffic(&p);
    }
    forward_kept(sizes(c, &of_forward, 1, 16, 16));
}

static const struct item items[] = {
    {6, "forward: the blocks of the mask", forward_blocks},
    {4, "forward: a last block that is short", forward_short},
    {4, "forward: queries that see nothing", forward_unseen},
    {2, "forward: LSE", forward_logsumexp},
    {4, "forward: heads and batches with masks of their own", forward_heads},
    {7, "backward: the blocks of the mask", blocks},
    {5, "backward: a last block that is short", short_blocks},
    {4, "backward: queries and keys with no block at all", unseen},
    {4, "backward: heads and batches with masks of their own", heads},
    {3, "rows with strides", strides},
    {2, "d = 64 and 128", both_heads},
    {3, "large and very negative scores", extreme},
    {2, "called again with another mask", again},
    {2, "empty inputs and bad arguments", arguments},
    {3, "no races, no stray accesses", safe},
    {40, "what is read goes with the blocks that are active", cheap},
    {5, "the tensor cores make every product", on_tensor_cores},
    {0},
};

const struct lesson lesson = {
    .name = "19_block_sparse",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "work and memory traffic go with the blocks that are active",
             .paid_by = {cheap},
             .naive = "solutions/19_block_sparse/steps/1_ask_every_score.cu"},
    .explain = backward_or_forward_explain};
