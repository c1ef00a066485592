// check.c: lesson 19, graded: the items, and all that is about the backward pass. forward.c has the other half.
//
// Every item is about one thing, and its data are free of the other items' traps: the masks are full but where an
// item is about the mask, and lengths are whole tiles of 16 but where it is about lengths; masks that are not their
// own transposes are in "the blocks of the mask" alone, empty rows in "no block at all", and so on.
#include "check/check.h"

#include "19_block_sparse/forward.h"
#include "block_sparse.h"
#include "wall/arena.h"

#define ELEMENT F16
#define ROUNDED_WEIGHTS false
#define GAP 2
#define WORKSPACE_BYTES                                                                     \
    (int64_t) block_sparse_backward_workspace_bytes((int)now.B, (int)now.N_q, (int)now.N_k, \
                                                    (int)now.H, (int)now.d)
#include "attention/old_backward.h"

#include "19_block_sparse/mask.h"
#define MORE_ARGUMENTS
#include "attention/old_backward_cases.h"
#include "attention/old_backward_mistakes.h"

static void declare_more(struct check* c, const struct bad* bad) {
    declare_mask(c, bad->name, true);
}

// The case of one head with this mask.
static void begin_masked(struct check* c, int64_t N_q, int64_t N_k, const char* mask) {
    char what[MASK_TEXT + 16];
    snprintf(what, sizeof what, ", mask %s", mask);
    begin(c, N_q, N_k, 16, ALL_KEYS, what);
    set_mask(c, mask);
}

// ---- items ---------------------------------------------------------------------------------

static void blocks(struct check* c) {
    bool more_keys = check_pick(c, 0, 1);
    const int64_t T[][2] = {{2, 2}, {2 + !more_keys, 2 + more_keys}};
    for (size_t n = 0; n < sizeof T / sizeof T[0]; n++) {
        char mask[MASK_TEXT];
        random_mask(c, T[n][0], T[n][1], mask);
        begin_masked(c, T[n][0] * SPARSE_BLOCK, T[n][1] * SPARSE_BLOCK, mask);
        fill_run_and_judge(c);
    }
}

// The last case is as small as the reference is tested at, against differences of the forward pass.
static void short_blocks(struct check* c) {
    begin(c, SPARSE_BLOCK + check_pick(c, 1, 63), SPARSE_BLOCK + check_pick(c, 1, 7), 16, ALL_KEYS,
          "");
    fill_run_and_judge(c);
    begin(c, check_pick(c, 17, 127), 16 + check_pick(c, 1, 7), 16, ALL_KEYS, "");
    fill_run_and_judge(c);
    begin(c, check_pick(c, 2, 4), check_pick(c, 2, 5), check_pick(c, 2, 4), ALL_KEYS, "");
    fill(c);
    forward();
    test_reference();
    run_and_judge(c);
}

static void unseen(struct check* c) {
    static const char* const masks[] = {"00/01", "10/00", "00/00"};
    int64_t N = SPARSE_BLOCK + 16;
    for (size_t n = 0; n < sizeof masks / sizeof masks[0]; n++) {
        begin_masked(c, N, N, masks[n]);
        fill_run_and_judge(c);
    }
    const int64_t empty[][2] = {{0, 32}, {32, 0}};  // N_q, N_k
    for (size_t n = 0; n < sizeof empty / sizeof empty[0]; n++) {
        begin(c, empty[n][0], empty[n][1], 16, ALL_KEYS, "");
        check_expect(c, COURSE_OK, CAUSE_empty_input);
        fill_run_and_judge(c);
    }
}

static void heads(struct check* c) {
    static const char* const masks[] = {"10/01 01/10 11/10 11/11", "01/10 11/11 10/01 11/10",
                                        "11/10 10/01 11/11 01/10"};
    const char* mask = masks[check_pick(c, 0, 2)];
    sizes(2, 2, SPARSE_BLOCK + 16, SPARSE_BLOCK + 16, 8, ALL_KEYS);
    check_case(c, "B = H = 2, N_q = N_k = %d, d = 8, masks %s", (int)now.N_q, mask);
    declare(c, PACKED, &none);
    set_mask(c, mask);
    fill_run_and_judge(c);
}

static void strides(struct check* c) {
    forward_strides(c);
    static const char* const names[] = {"gaps between rows", "arrays of (B, H, N, d)"};
    for (enum layout layout = GAPS; layout <= HEADS_OUTSIDE; layout++) {
        sizes(1, 2, 32, SPARSE_BLOCK, 16, ALL_KEYS);
        check_case(c, "backward, H = 2, N_q = 32, N_k = %d, d = 16, %s", SPARSE_BLOCK,
                   names[layout - GAPS]);
        declare(c, layout, &none);
        fill_run_and_judge(c);
    }
}

static void any_head(struct check* c) {
    forward_any_head(c);
    const int64_t d[] = {59, check_pick(c, 129, 256)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        begin(c, 16, SPARSE_BLOCK, d[n], ALL_KEYS, ", backward");
        fill_run_and_judge(c);
    }
}

// P is nearly one-hot; or all scores are near 120, or near -130, where exp(0 - LSE) is infinite: a key
// that does not exist must not count, not even times 0. Or dV sums numbers that cancel.
static void extreme(struct check* c) {
    forward_extreme(c);
    int64_t N_k = SPARSE_BLOCK + check_pick(c, 9, 15);
    begin(c, 32, N_k, 16, ALL_KEYS, ", backward, scores of 30 times the usual size");
    fill(c);
    grow_scores(30);
    run_and_judge(c);
    for (int sign = 1; sign >= -1; sign -= 2) {
        begin(c, 32, N_k, 16, ALL_KEYS,
              sign > 0 ? ", backward, scores near 120" : ", backward, scores near -130");
        fill(c);
        shift_scores(sign > 0 ? 120 : -130);
        run_and_judge(c);
    }
    begin(c, SPARSE_BLOCK, 16, 16, ALL_KEYS, ", backward, large dO that cancel");
    fill(c);
    cancel(SPARSE_BLOCK / 2, 0, SPARSE_BLOCK / 2, 512);
    run_and_judge(c);
}

// New masks, and new data: a sum that is kept shows as well.
static void again(struct check* c) {
    forward_again(c);
    static const char* const masks[] = {"10/01", "01/10"};
    enum { CALLS = 2 };
    int64_t N = SPARSE_BLOCK + 16;
    sizes(1, 1, N, N, 16, ALL_KEYS);
    check_case(c, "backward, N_q = N_k = %d, d = 16, another mask in the same arrays", (int)N);
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        set_mask(c, masks[r]);
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
    begin(c, 32, 32, 16, ALL_KEYS, ", backward");
    fill_run_and_judge(c);
    const struct bad bad[] = {
        {"d", 257, COURSE_UNSUPPORTED},   {"B", -1, COURSE_BAD_ARGUMENT},
        {"d", 0, COURSE_BAD_ARGUMENT},    {"stride_dk.n", 7, COURSE_BAD_ARGUMENT},
        {"O", 0, COURSE_BAD_ARGUMENT},    {"dV", 0, COURSE_BAD_ARGUMENT},
        {"mask", 0, COURSE_BAD_ARGUMENT}, {"workspace", 0, COURSE_BAD_ARGUMENT},
    };
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        sizes(1, 1, 16, 16, bad[n].value > 256 ? bad[n].value : 8, ALL_KEYS);
        check_case(c, "backward, %s = %lld must be refused", bad[n].name, (long long)bad[n].value);
        declare(c, PACKED, &bad[n]);
        check_expect(c, bad[n].status, CAUSE_argument_check);
        check_run(c);
    }
}

static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    forward_safe(c);
    sizes(1, 2, 16 + check_pick(c, 9, 15), SPARSE_BLOCK + check_pick(c, 9, 15), 11, ALL_KEYS);
    check_case(c, "backward, H = 2, N_q = %d, N_k = %d, d = 11", (int)now.N_q, (int)now.N_k);
    declare(c, PACKED, &none);
    fill_run_and_judge(c);
}

// One row of four blocks, then one column, of which none, one, or all are active. What is read with none, delta
// and the like, does not count.
static void cheap(struct check* c) {
    enum { N = 16, T = 4 };
    static const char* const one[][4] = {{"1000", "0100", "0010", "0001"},
                                         {"1/0/0/0", "0/1/0/0", "0/0/1/0", "0/0/0/1"}};
    check_watch(c, WATCH_PROFILE);
    forward_cheap(c);
    for (int column = 0; column < 2; column++) {
        const char* const masks[] = {"0000", one[column][check_pick(c, 0, 3)], "1111"};
        double read[3];
        for (int n = 0; n < 3; n++) {
            char what[MASK_TEXT + 24];
            snprintf(what, sizeof what, ", backward, mask %s", masks[n]);
            begin(c, column ? T * SPARSE_BLOCK : N, column ? N : T * SPARSE_BLOCK, 16, ALL_KEYS,
                  what);
            set_mask(c, masks[n]);
            for (int a = 0; n < 2 && a <= ARRAY_dO; a++) needless(now.array[a].tensor);
            if (n < 2) needless(now.LSE);
            fill_run_and_judge(c);
            const struct arena_traffic* t = check_traffic(c);
            check_at_most(c, CAUSE_quadratic_memory,
                          "bytes of memory per query beside the workspace",
                          (double)t->allocated_bytes / (double)now.N_q, 4.0 * (double)now.d);
            read[n] = (double)t->global_load_bytes;
        }
        check_at_most(c, CAUSE_inactive_read,
                      "bytes read for one block of four, of those for all four",
                      (read[1] - read[0]) / (read[2] - read[0]), 0.3);
    }
}

static const struct item items[] = {
    {11, "forward: the blocks of the mask", forward_blocks},
    {7, "forward: a last block that is short", forward_short},
    {7, "forward: queries that see nothing", forward_unseen},
    {4, "forward: LSE", forward_logsumexp},
    {6, "forward: heads and batches with masks of their own", forward_heads},
    {12, "backward: the blocks of the mask", blocks},
    {7, "backward: a last block that is short", short_blocks},
    {7, "backward: queries and keys with no block at all", unseen},
    {6, "backward: heads and batches with masks of their own", heads},
    {5, "rows with strides", strides},
    {4, "any head dimension", any_head},
    {5, "large and very negative scores", extreme},
    {4, "called again with another mask", again},
    {4, "empty inputs and bad arguments", arguments},
    {5, "no races, no stray accesses", safe},
    {6, "what is read goes with the blocks that are active", cheap},
    {0},
};

static enum cause explain_both(struct check* c, const struct tensor* t, struct budget budget) {
    bool of_forward = strcmp(t->name, "O") == 0 || strcmp(t->name, "LSE") == 0;
    return of_forward ? forward_explain(c, t, budget) : explain(c, t, budget);
}

const struct lesson lesson = {.name = "19_block_sparse", .items = items, .explain = explain_both};
