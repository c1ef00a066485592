// check.c: lesson 18, graded. What the kernels cost is in cost.h.
//
// Every item is about one thing, and its data are free of the other items' traps: documents are in
// the items about documents alone, a softcap in those about the softcap, rows that see nothing in
// theirs, and so on. LSE is compared in "queries that see nothing" and "LSE" alone.
#include <stdlib.h>
#include <string.h>

#include "attention/backward_cases.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "cost.h"
#include "online_masks.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)online_masks_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H);
}

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
static const struct contract of_forward = {
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
    .declare_more = index_declare,
};

static const struct contract of_backward = {
    .backward = true,
    .dtype = BF16,
    .rounded_weights = true,
    .d = 64,
    .gap = {16, 24, 40, 48, 8, 56, 32, 64},
    .workspace_bytes = workspace_bytes,
    .declare_more = index_declare,
};

// One batch of one head with this mask.
#define MASK(...) ((struct index_mask){.used = true, __VA_ARGS__})
static struct problem sizes(struct check* c, const struct contract* of, int64_t N_q, int64_t N_k,
                            struct index_mask mask) {
    struct problem p = problem_of(c, of, N_q, N_k, false);
    p.index = mask;
    return p;
}

// ---- parts of a case -----------------------------------------------------------------------

// Fills the case that has begun, and sets the documents of all batches, if it has any.
static void fill(struct problem* p, const int64_t* documents) {
    for (int64_t b = 0; b < p->B && p->index.documents; b++)
        index_set_documents(p, b, documents + b * (p->index.documents + 1));
    if (p->contract->backward)
        backward_fill(p);
    else
        forward_fill(p);
}

static void judge(struct problem p, const int64_t* documents, int what) {
    problem_begin(&p, PACKED, "");
    fill(&p, documents);
    backward_or_forward_run(&p, what);
}

// ---- items of both passes ------------------------------------------------------------------

// No window begins or ends where a tile does, and N_q and N_k differ by 2 or more: so a window off
// by one differs from a wrong corner.
static void judge_windows(struct check* c, const struct contract* of) {
    const int64_t more = 2 * check_pick(c, 10, 31), W = 2 * check_pick(c, 33, 45) + 1;
    judge(sizes(c, of, 192, 192, MASK(.causal = true, .window = W)), NULL, JUDGE_O);
    judge(sizes(c, of, 192, 192, MASK(.window = check_pick(c, 20, 50))), NULL, JUDGE_O);
    struct problem p = sizes(c, of, 128, 128 + more, MASK(.causal = true, .window = W));
    // Blocks of the card may have more memory than the grade's: a launcher may have other kernels.
    judge(on_card(with_d(p, 128), of->backward ? "h100" : NULL), NULL, JUDGE_O);
    p = sizes(c, of, 64, 128, MASK(.causal = true));
    judge(with_flag(p, INT32_MIN), NULL, JUDGE_O);
    // The window hides whole tiles and a part of the next: that part alone is no missing window.
    // Where `causal` counts as 1, another number of it moves the window.
    p = sizes(c, of, 1, 226, MASK(.causal = true, .window = W));
    judge(p, NULL, JUDGE_O);
    judge(with_flag(p, 3), NULL, JUDGE_O);
    judge(sizes(c, of, 64, 64, MASK(.window = INT32_MAX)), NULL, JUDGE_O);
}

// Far more documents than there are keys, nearly all of them empty. Those of one key each stand
// side by side.
static void judge_many_documents(struct problem p) {
    const int64_t documents = p.index.documents;
    const int64_t first = check_pick(p.check, documents / 3, documents / 2);
    int64_t* ends = check_allocate(p.check, documents + 1, sizeof *ends);
    for (int64_t n = first; n <= documents; n++) ends[n] = n - first < p.N_k ? n - first : p.N_k;
    judge(p, ends, JUDGE_O);
    free(ends);
}

// More documents than queries of a warp, empty ones and some of one row; two batches differ, and so
// do the tiles that their ends lie in; a third is like the first: only where its documents lie can
// be mistaken. The documents are a batch's, not a head's. In one case a query's number is not its
// position.
static void judge_documents(struct check* c, const struct contract* of) {
    const int64_t a = check_pick(c, 35, 60), b = check_pick(c, 70, 90), e = check_pick(c, 100, 120);
    const int64_t three[][6] = {
        {0, a, a, a + 1, e, 192}, {0, b, b + 1, b + 1, 130, 192}, {0, a, a, a + 1, e, 192}};
    struct problem p = sizes(c, of, 150, 192, MASK(.causal = true, .documents = 5));
    judge(with_heads(p, 3, 1), three[0], JUDGE_O);
    const int64_t first_empty[] = {0, 0, 0, b, 160};
    judge(sizes(c, of, 160, 160, MASK(.documents = 4)), first_empty, JUDGE_O);
    const int64_t many[] = {0, 1, 2, 5, 5, 6, 11, 21, 29, 33, 34, 62, 66, 80, 81, 81, 90, 96};
    judge(with_d(sizes(c, of, 96, 96, MASK(.causal = true, .documents = 17)), 128), many, JUDGE_O);
    const int64_t of_heads[] = {0, 22, 40, 0, 9, 40};
    p = sizes(c, of, 40, 40, MASK(.causal = true, .documents = 2));
    judge(with_heads(p, 2, 2), of_heads, JUDGE_O);
    judge_many_documents(sizes(c, of, 48, 48, MASK(.causal = true, .documents = 200001)));
}

// The window hides the sinks' tile, hides them in a tile of its own, or hides nothing.
static void judge_sinks(struct check* c, const struct contract* of) {
    const int64_t few = check_pick(c, 3, 6), many = check_pick(c, 20, 40);
    judge(sizes(c, of, 320, 320, MASK(.causal = true, .window = 41, .sinks = few)), NULL, JUDGE_O);
    judge(sizes(c, of, 192, 192, MASK(.causal = true, .window = 90, .sinks = many)), NULL, JUDGE_O);
    judge(sizes(c, of, 64, 128, MASK(.causal = true, .sinks = many)), NULL, JUDGE_O);
    const int64_t documents[] = {0, 70, 192};
    struct index_mask mask = MASK(.causal = true, .window = 30, .sinks = few, .documents = 2);
    judge(sizes(c, of, 192, 192, mask), documents, JUDGE_O);
    // A symmetric window has sinks, too, and ends with its document.
    const int64_t later[] = {0, 70, 128};
    mask = MASK(.window = 21, .sinks = few, .documents = 2);
    judge(sizes(c, of, 128, 128, mask), later, JUDGE_O);
    // As many as there are numbers: all that is not too late.
    mask = MASK(.causal = true, .window = 7, .sinks = INT32_MAX, .documents = 2);
    judge(sizes(c, of, 128, 128, mask), later, JUDGE_O);
}

// The prefix ends inside of a tile. The second document is shorter than the prefix.
static void judge_prefix(struct check* c, const struct contract* of) {
    const int64_t prefix = check_pick(c, 70, 90), few = check_pick(c, 20, 29);
    judge(sizes(c, of, 128, 128, MASK(.causal = true, .window = 25, .prefix = few)), NULL, JUDGE_O);
    judge(sizes(c, of, 192, 192, MASK(.causal = true, .prefix = prefix)), NULL, JUDGE_O);
    const int64_t documents[] = {0, 75, 90, 160};
    judge(sizes(c, of, 160, 160, MASK(.causal = true, .prefix = few, .documents = 3)), documents,
          JUDGE_O);
    // A symmetric window ends later for the first queries, too.
    judge(sizes(c, of, 64, 64, MASK(.window = 9, .prefix = few)), NULL, JUDGE_O);
    // Of more keys than there are; then of as many as there are numbers, which alone may wrap.
    const int64_t of_few[] = {0, 20, 33, 40};
    struct index_mask all = MASK(.causal = true, .prefix = 1000, .documents = 3);
    judge(sizes(c, of, 40, 40, all), of_few, JUDGE_O);
    all.prefix = INT32_MAX;
    judge(sizes(c, of, 40, 40, all), of_few, JUDGE_O);
    // Some of its keys are sinks, too.
    judge(sizes(c, of, 96, 96, MASK(.causal = true, .window = 25, .sinks = 9, .prefix = few)), NULL,
          JUDGE_O);
    // Without `causal` and a window no key is too late, and none too early.
    judge(sizes(c, of, 32, 32, MASK(.prefix = 9, .sinks = 5)), NULL, JUDGE_O);
}

// The cap bends ordinary scores, and large ones are flat.
static void judge_softcap(struct check* c, const struct contract* of) {
    const double cap = 1.5 + 0.25 * (double)check_pick(c, 0, 2);
    judge(sizes(c, of, 96, 96, MASK(.causal = true, .softcap = cap)), NULL, JUDGE_O);
    struct problem p = sizes(c, of, 64, 64, MASK(.softcap = cap));
    judge(with_scale(p, of->backward ? -2 : 2), NULL, JUDGE_O);
    p = sizes(c, of, 16, 16, MASK(.softcap = -0.0));
    problem_begin(&p, PACKED, ", softcap = -0, which is 0: none");
    fill(&p, NULL);
    backward_or_forward_run(&p, JUDGE_O);
    // Beside all else that a mask has.
    const int64_t documents[] = {0, 136, 144};
    p = sizes(c, of, 144, 144,
              MASK(.causal = true, .window = 30, .sinks = 5, .prefix = 12, .documents = 2,
                   .softcap = cap));
    judge(with_d(p, 128), documents, JUDGE_O);
    const int64_t of_few[] = {0, 64, 72};
    p = on_card(with_d(p, 128), "h100"), p.N_q = p.N_k = 72;
    if (of->backward) judge(p, of_few, JUDGE_O);
    p = with_d(sizes(c, of, 64, 64, MASK(.causal = true, .softcap = cap)), 128);
    if (of->backward)
        backward_case_large_scores(p);
    else
        forward_case_large(p, ", scores of 30 times the usual size");
    // However small: what a backward pass does with it shows if scores are as small.
    p = sizes(c, of, 32, 32, MASK(.softcap = 0x1p-30));
    judge(with_scale(p, of->backward ? 0x1p-30 : 1), NULL, JUDGE_O);
}

// More queries than keys; and rows behind the last document, which a window and its sinks reach.
static void judge_unseen(struct check* c, const struct contract* of) {
    const int64_t N_k = check_pick(c, 33, 62), end = check_pick(c, 30, 60);
    const int64_t documents[] = {0, 20, end};
    judge(sizes(c, of, 112, 112, MASK(.causal = true, .documents = 2)), documents,
          JUDGE_O | JUDGE_LSE);
    judge(sizes(c, of, 128, N_k, MASK(.causal = true)), NULL, JUDGE_O | JUDGE_LSE);
    judge(sizes(c, of, 96, 40, MASK(.window = 17)), NULL, JUDGE_O | JUDGE_LSE);
    // Where the widest window begins for a position below 0, no int says.
    judge(sizes(c, of, 72, 24, MASK(.causal = true, .window = INT32_MAX)), NULL,
          JUDGE_O | JUDGE_LSE);
    const int64_t of_few[] = {0, 22, 38};
    judge(sizes(c, of, 96, 40, MASK(.documents = 2)), of_few, JUDGE_O | JUDGE_LSE);
    const int64_t short_one[] = {0, check_pick(c, 8, 14)};
    judge(sizes(c, of, 64, 64, MASK(.causal = true, .window = 5, .sinks = 4, .documents = 1)),
          short_one, JUDGE_O | JUDGE_LSE);
}

// ---- forward -------------------------------------------------------------------------------

static void forward_windows(struct check* c) {
    judge_windows(c, &of_forward);
    attention_most_heads(sizes(c, &of_forward, 16, 16, MASK(.causal = true, .window = 9)));
    struct problem p = sizes(c, &of_forward, 1, 1, MASK(.causal = true, .window = 9));
    attention_reaches(with_heads(p, 1, 3), REACH_MOST - check_pick(c, 0, 9));
    p = sizes(c, &of_forward, 17, 1, MASK(.causal = true, .window = 9));
    attention_counts_keys(with_heads(p, 1, 8), 70000);  // of fewer blocks none runs
    // More heads than pick_work() takes at a time, and some left, of several blocks.
    p = sizes(c, &of_forward, 136, 24, MASK(.causal = true));
    judge(with_heads(p, 1, 17), NULL, JUDGE_O);
}
static void forward_documents(struct check* c) {
    judge_documents(c, &of_forward);
}
static void forward_sinks(struct check* c) {
    judge_sinks(c, &of_forward);
}
static void forward_prefix(struct check* c) {
    judge_prefix(c, &of_forward);
}
// A large cap bends nothing: tanh, off by 2^-20, puts a score off by 0.001, less than what P is
// rounded by.
static void forward_softcap(struct check* c) {
    judge_softcap(c, &of_forward);
    judge(sizes(c, &of_forward, 64, 64, MASK(.softcap = 1000)), NULL, JUDGE_O);
}
static void forward_unseen(struct check* c) {
    judge_unseen(c, &of_forward);
    forward_no_keys(sizes(c, &of_forward, 16, 0, MASK(.causal = true)));
}

// The scale is no power of 2: who multiplies Q by it rounds.
static void forward_logsumexp(struct check* c) {
    struct problem p = sizes(c, &of_forward, 64, 128, MASK(.causal = true, .window = 50));
    forward_case(with_heads(with_scale(p, 0.7), 2, 2), PACKED, "", JUDGE_LSE);
    judge(sizes(c, &of_forward, 32, 64, MASK(.softcap = 1.5)), NULL, JUDGE_LSE);
    // Most scores are where tanh is nearly flat: a sum of few terms is no tanh there.
    judge(with_scale(sizes(c, &of_forward, 32, 64, MASK(.softcap = 1.5)), 4), NULL, JUDGE_LSE);
    p = sizes(c, &of_forward, 32, 128, MASK(.causal = true));
    forward_case_large(p, ", scores of 30 times the usual size");
    // Some rows see one tile, and others several.
    forward_case_integers(sizes(c, &of_forward, 128, 128, MASK(.causal = true)),
                          ", scores around -20000", -128, 1024);
    forward_case_below(p, -0x1p127);
}

// ---- backward ------------------------------------------------------------------------------

static void windows(struct check* c) {
    judge_windows(c, &of_backward);
    struct problem p = sizes(c, &of_backward, 1, 16, MASK(.causal = true, .window = 9));
    attention_reaches(with_heads(p, 2, 4), (1 << 29) - check_pick(c, 0, 9));
    attention_most_heads(sizes(c, &of_backward, 16, 16, MASK(.causal = true, .window = 9)));
    p = sizes(c, &of_backward, 24, 136, MASK(.causal = true));
    judge(with_heads(p, 1, 17), NULL, JUDGE_O);  // as in the forward pass
    attention_counts_keys(sizes(c, &of_backward, 17, 1, MASK(.causal = true, .window = 9)), 70000);
}
static void documents(struct check* c) {
    judge_documents(c, &of_backward);
}
static void sinks(struct check* c) {
    judge_sinks(c, &of_backward);
}
static void prefix(struct check* c) {
    judge_prefix(c, &of_backward);
}
static void softcap(struct check* c) {
    judge_softcap(c, &of_backward);
    int64_t N = check_pick(c, 3, 4);
    backward_case_tested(sizes(c, &of_backward, N, N, MASK(.causal = true, .softcap = 1)));
    judge(with_scale(sizes(c, &of_backward, 32, 32, MASK(.softcap = 1)), 0), NULL, JUDGE_O);
}
static void unseen(struct check* c) {
    judge_unseen(c, &of_backward);
    backward_case_level(sizes(c, &of_backward, 33, 33, MASK(.causal = true)), -130);
    backward_case_faint(sizes(c, &of_backward, 32, 64, MASK(.causal = false)));
    backward_case_lowest(sizes(c, &of_backward, 32, 1, MASK(.causal = false)));
}

// Each query sees keys of several tiles.
static void repeatable(struct check* c) {
    backward_case_repeatable(
        with_heads(sizes(c, &of_backward, 130, 130, MASK(.window = 200)), 1, 4));
}

// ---- both ----------------------------------------------------------------------------------

// Wide heads have their axes in another order in each array.
static void strides(struct check* c) {
    const struct index_mask mask = MASK(.causal = true, .window = 30);
    static const enum layout layouts[] = {GAPS, MIXED, SHARED};
    for (int n = 0; n < 3; n++) {
        const enum layout layout = layouts[n];
        for (int pass = 0; pass < 2; pass++) {
            struct problem p = sizes(c, pass ? &of_backward : &of_forward, 48, 48, mask);
            p = with_heads(p, 2, 2);
            if (layout == MIXED) p = with_d(p, 128), p.N_q = 24, p.N_k = 32;
            if (layout == GAPS) p = with_nan_gaps(p);
            pass ? backward_case_named(p, layout, "") : forward_case(p, layout, "", JUDGE_O);
            // A card whose blocks may have more memory than the grade's.
            if (pass && layout == MIXED) backward_case_named(on_card(p, "h100"), layout, "");
        }
    }
    forward_case(with_heads(sizes(c, &of_forward, 8, 8, mask), 2, 2), ONE_BATCH, "", JUDGE_O);
    forward_case_far(with_heads(sizes(c, &of_forward, 33, 33, mask), 2, 2));
    backward_case_far(with_heads(sizes(c, &of_backward, 33, 33, mask), 2, 2));
}

// Other masks in the same arrays: three calls.
static void judge_again(struct problem p) {
    enum { CALLS = 3 };
    const struct index_mask masks[CALLS] = {MASK(.causal = true, .window = 50, .documents = 2),
                                            MASK(.window = 20, .documents = 2),
                                            MASK(.causal = true, .sinks = 9, .documents = 2)};
    const int64_t ends[CALLS][3] = {{0, 40, 96}, {0, 70, 96}, {0, 50, 96}};
    struct problem call[CALLS];
    p.index = masks[0];
    problem_name(&p, PACKED, ", and other masks in the same arrays");
    check_rounds(p.check, CALLS);
    problem_declare(&p, PACKED);
    for (int r = 0; r < CALLS; r++) {
        call[r] = p;
        call[r].index = masks[r];
        call[r].index.cu_seqlens = p.index.cu_seqlens;
        check_vary(p.check, "mask.causal", r, masks[r].causal);
        check_vary(p.check, "mask.window", r, masks[r].window);
        check_vary(p.check, "mask.sinks", r, masks[r].sinks);
        check_round(p.check, r);
        fill(&call[r], ends[r]);
        if (p.contract->backward) backward_forward(&call[r]);
    }
    check_run(p.check);
    for (int r = 0; r < CALLS; r++) {
        check_round(p.check, r);
        check_describe(p.check, &call[r]);
        if (p.contract->backward)
            backward_judge(&call[r]);
        else
            forward_judge(&call[r], JUDGE_O);
    }
}

static void again(struct check* c) {
    const struct index_mask mask = MASK(.causal = true, .window = 30);
    judge_again(sizes(c, &of_forward, 96, 96, mask));
    judge_again(sizes(c, &of_backward, 96, 96, mask));
    forward_case_after(with_d(sizes(c, &of_forward, 64, 72, mask), 128),
                       sizes(c, &of_forward, 31, 33, mask), NULL);
    backward_case_after(with_d(sizes(c, &of_backward, 64, 72, mask), 128),
                        sizes(c, &of_backward, 31, 33, mask));
}

// Neither NaN nor infinity is a cap, and NaN is no scale above 0.
static void not_finite(struct check* c) {
    const double caps[] = {NAN, INFINITY};
    for (int i = 0; i < 4; i++)
        problem_must_return(sizes(c, i % 2 ? &of_backward : &of_forward, 64, 64,
                                  MASK(.causal = true, .softcap = caps[i / 2])),
                            COURSE_BAD_ARGUMENT, ": softcap is not finite");
    struct problem p = sizes(c, &of_forward, 64, 64, MASK(.causal = true));
    p.scale = NAN;
    problem_must_return(p, COURSE_UNSUPPORTED, ": scale is not above 0");
}

static void arguments(struct check* c) {
    static const struct idle_call bad[] = {
        {COURSE_BAD_ARGUMENT, {{"mask.window", -1}}},
        {COURSE_BAD_ARGUMENT, {{"mask.sinks", -1}}},
        {COURSE_BAD_ARGUMENT, {{"mask.prefix", -1}}},
        {COURSE_BAD_ARGUMENT, {{"mask.documents", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", -1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_k.n", 56}}},
        {COURSE_BAD_ARGUMENT, {{"cu_seqlens", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}}},
        {COURSE_BAD_ARGUMENT, {{"mask.softcap", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_UNSUPPORTED, {{"stride_q.n", 68}}},
        // what comes first in the contract's list counts
        {COURSE_BAD_ARGUMENT, {{"mask.documents", -1}, {"B", 0}}},
        {COURSE_BAD_ARGUMENT, {{"cu_seqlens", 0}, {"H", 0}}},
        {COURSE_BAD_ARGUMENT, {{"mask.window", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", -1}, {"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}, {"stride_k.n", 68}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"V", 0}}},
        {COURSE_OK, {{"B", 0}, {"cu_seqlens", 0}, {"stride_q.n", 68}}},
        {0},
    };
    static const struct idle_call of_backward_alone[] = {
        {COURSE_BAD_ARGUMENT, {{"B", 0}, {"stride_k.n", 8}}}, {0}};
    const struct index_mask mask = MASK(.causal = true, .documents = 1);
    struct problem p = sizes(c, &of_forward, 64, 64, mask);
    forward_arguments(p, bad);
    problem_misaligned_refused(p);
    problem_one_array(p);
    p = sizes(c, &of_backward, 64, 64, mask);
    check_ordinary(c);
    backward_case(p);
    backward_cases_empty(p);
    problem_refused(p, bad);
    problem_refused(p, of_backward_alone);
    problem_misaligned_refused(p);
    problem_one_array(p);
    problem_too_many_heads(p);
    problem_launches_fail(p);
    backward_on_two_devices(with_d(p, 128), "h100", COURSE_OK);
    not_finite(c);
}

// Every array ends in a tile that is not full, and documents in the middle of tiles. There is a
// second block, and it sees keys: who takes its rows for those of the first is told from who loses
// keys.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    const int64_t N = 128 + 4 * check_pick(c, 9, 15), ends[] = {0, 41, 41, N};
    const struct index_mask mask = MASK(.causal = true, .window = 37, .documents = 3);
    struct problem p = sizes(c, &of_forward, N, N, mask);
    p.later = 1u << ARRAYS | 1u << ARRAY_LSE;  // these are aligned to their elements alone
    judge(p, ends, JUDGE_O);
    p = sizes(c, &of_backward, N, N, mask);
    p.later = 1u << ARRAYS | 1u << ARRAY_LSE;
    judge(p, ends, JUDGE_O);
    // The first 128 queries see nothing, and no other: copies for nobody.
    judge(sizes(c, &of_forward, 128 + 24, 24, MASK(.causal = true)), NULL, JUDGE_O);
    judge(sizes(c, &of_backward, 128 + 24, 24, MASK(.causal = true)), NULL, JUDGE_O);
    const struct index_mask narrow = MASK(.causal = true, .window = 17);
    judge(with_drawn_heads(sizes(c, &of_forward, check_pick(c, 9, 40), 40, narrow)), NULL, JUDGE_O);
    judge(with_drawn_heads(sizes(c, &of_backward, check_pick(c, 9, 16), 17, narrow)), NULL,
          JUDGE_O);
    judge(sizes(c, &of_backward, 16, 160, narrow), NULL, JUDGE_O);  // the first 128 keys
    // The kernels of wide heads are others, those of a card with more memory than the grade's, too.
    backward_accesses(with_d(sizes(c, &of_backward, 136, 8, MASK(.causal = true)), 128));
    p = with_d(sizes(c, &of_backward, 16, 96, narrow), 128);
    backward_accesses(p);
    backward_accesses(on_card(p, "h100"));
}

// ---- costs ---------------------------------------------------------------------------------

static void forward_cheap(struct check* c) {
    judge_visits(c, &of_forward);
    struct cost kept;  // what a query keeps of many keys would show, though it sees few of them
    count_cost(&kept, sizes(c, &of_forward, 16, 4096, MASK(.causal = true, .window = 100)), NULL);
    judge_visits_elsewhere(c, &of_forward);
}

static void cheap(struct check* c) {
    judge_visits(c, &of_backward);
    judge_visits_elsewhere(c, &of_backward);
}

static const struct item items[] = {
    {7, "forward: windows", forward_windows},
    {5, "forward: documents", forward_documents},
    {4, "forward: sinks", forward_sinks},
    {4, "forward: prefix", forward_prefix},
    {3, "forward: softcap", forward_softcap},
    {3, "forward: queries that see nothing", forward_unseen},
    {2, "forward: LSE, hard scores", forward_logsumexp},
    {7, "backward: windows", windows},
    {5, "backward: documents", documents},
    {3, "backward: sinks", sinks},
    {3, "backward: prefix", prefix},
    {3, "backward: softcap", softcap},
    {2, "backward: what sees nothing", unseen},
    {2, "the same bits for the same inputs", repeatable},
    {2, "strides", strides},
    {1, "called again with another mask", again},
    {1, "empty inputs and bad arguments", arguments},
    {3, "no races, no stray accesses", safe},
    {20, "forward: only tiles in which somebody sees something", forward_cheap},
    {20, "backward: only tiles in which somebody sees something", cheap},
    {0},
};

const struct lesson lesson = {
    .name = "18_online_masks",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "tiles in which nobody sees anything are neither loaded nor computed",
             .paid_by = {forward_cheap, cheap},
             .naive = "solutions/18_online_masks/steps/1_stored_mask.cu"},
    .explain = index_explain};
