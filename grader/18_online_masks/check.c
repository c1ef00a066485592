// check.c: lesson 18, graded.
//
// Every item is about one thing, and its data are free of the other items' traps.
#include <string.h>

#include "attention/backward_cases.h"
#include "attention/forward.h"
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
static struct problem sizes(struct check* c, const struct contract* of, int64_t N_q, int64_t N_k,
                            struct index_mask mask) {
    struct problem p = problem_of(c, of, N_q, N_k, false);
    p.index = mask;
    p.index.used = true;
    return p;
}
#define MASK(...) ((struct index_mask){__VA_ARGS__})

// A case of either pass. `documents` are those of all batches, or NULL.
static void judge(struct problem p, const int64_t* documents, int what) {
    problem_begin(&p, PACKED, "");
    for (int64_t b = 0; documents && b < p.B; b++)
        index_set_documents(&p, b, documents + b * (p.index.documents + 1));
    if (p.contract->backward) {
        backward_fill(&p);
        backward_run(&p);
    } else {
        forward_fill(&p);
        forward_run(&p, what);
    }
}

static void forward_windows(struct check* c) {
    judge(sizes(c, &of_forward, 192, 192, MASK(.causal = true, .window = 70)), NULL, JUDGE_O);
}
static void windows(struct check* c) {
    judge(sizes(c, &of_backward, 192, 192, MASK(.causal = true, .window = 70)), NULL, JUDGE_O);
}
static const struct item items[] = {
    {50, "forward: windows", forward_windows},
    {50, "backward: windows", windows},
    {0},
};

const struct lesson lesson = {.name = "18_online_masks",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .idea = {.what = "tiles in which nobody sees anything cost nothing",
                                       .paid_by = {windows},
                                       .naive = "solutions/18_online_masks/steps/1_stored_mask.cu"},
                              .explain = index_explain};
