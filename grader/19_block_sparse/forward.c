// forward.c: lesson 19, the forward pass graded. See check.c.
//
// The masks are full but where an item is about the mask, and lengths are whole tiles of 16 but where it is about
// lengths. All items but "queries that see nothing" and "LSE" compare O alone.
#include "19_block_sparse/forward.h"

#include "attention/old_forward_mistakes.h"
#include "wall/arena.h"

#include "19_block_sparse/mask.h"

#define ELEMENT F16
enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };
#define MORE_ARGUMENTS
#include "attention/forward_cases.h"

static void declare_more(struct check* c, const struct bad* bad) {
    declare_mask(c, bad->name, false);
    if (strcmp(bad->name, "workspace") == 0)
        check_null(c, "workspace");
    else
        check_workspace(c, "workspace",
                        (int64_t)block_sparse_forward_workspace_bytes((int)now.B, (int)now.N_q,
                                                                      (int)now.N_k, (int)now.H));
}

// They are inputs all.
static void judge_more(struct check* c) {
    (void)c;
}

// The case of the sizes in `now` with this mask.
static void begin_masked(struct check* c, const char* mask) {
    char what[MASK_TEXT + 16];
    snprintf(what, sizeof what, ", mask %s", mask);
    begin(c, PACKED, what);
    set_mask(c, mask);
}

void forward_blocks(struct check* c) {
    bool more_keys = check_pick(c, 0, 1);
    const int64_t T[][2] = {{2, 2}, {2 + !more_keys, 2 + more_keys}};
    for (size_t n = 0; n < sizeof T / sizeof T[0]; n++) {
        char mask[MASK_TEXT];
        sizes(T[n][0] * SPARSE_BLOCK, T[n][1] * SPARSE_BLOCK, false);
        random_mask(c, T[n][0], T[n][1], mask);
        begin_masked(c, mask);
        run_and_judge(c, JUDGE_O);
    }
}

void forward_short(struct check* c) {
    const int64_t N[][2] = {
        {SPARSE_BLOCK + check_pick(c, 1, 7), SPARSE_BLOCK + check_pick(c, 1, 63)},
        {16 + check_pick(c, 1, 7), check_pick(c, 17, 127)},
        {1, 1}};
    for (size_t n = 0; n < sizeof N / sizeof N[0]; n++) {
        sizes(N[n][0], N[n][1], false);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_unseen(struct check* c) {
    static const char* const masks[] = {"00/01", "10/00", "00/00"};
    for (size_t n = 0; n < sizeof masks / sizeof masks[0]; n++) {
        sizes(SPARSE_BLOCK + 16, 2 * SPARSE_BLOCK, false);
        begin_masked(c, masks[n]);
        run_and_judge(c, JUDGE_O | JUDGE_LSE);
    }
    judge_no_keys(c);
}

void forward_logsumexp(struct check* c) {
    sizes(32, SPARSE_BLOCK, false);
    now.H = check_pick(c, 2, 3);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_LSE);
}

// Masks that are their own transposes, without empty rows or columns, and no two of them alike.
void forward_heads(struct check* c) {
    static const char* const masks[] = {"10/01 01/10 11/10 11/11", "01/10 11/11 10/01 11/10",
                                        "11/10 10/01 11/11 01/10"};
    sizes(SPARSE_BLOCK + 16, 2 * SPARSE_BLOCK, false);
    now.B = now.H = 2;
    set_d(8);
    begin_masked(c, masks[check_pick(c, 0, 2)]);
    run_and_judge(c, JUDGE_O);
}

void forward_strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        sizes(32, SPARSE_BLOCK, false);
        now.H = 2;
        begin(c, layout, "");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_any_head(struct check* c) {
    const int64_t d[] = {59, 1, check_pick(c, 129, 256)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        sizes(16, SPARSE_BLOCK, false);
        set_d(d[n]);
        begin(c, PACKED, "");
        run_and_judge(c, JUDGE_O);
    }
}

void forward_extreme(struct check* c) {
    sizes(32, SPARSE_BLOCK + 16, false);
    begin(c, PACKED, ", scores of 30 times the usual size");
    for (int64_t e = 0; e < now.Q.tensor->count; e++) now.Q.tensor->value[e] *= 30;
    run_and_judge(c, JUDGE_O);

    for (int sign = 1; sign >= -1; sign -= 2) {
        begin(c, PACKED, sign > 0 ? ", scores near 200" : ", scores near -200");
        for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i, 0)[0] = 16;
        for (int64_t j = 0; j < now.N_k; j++) set_level(j, sign * 200.0 / 16);
        run_and_judge(c, JUDGE_O);
    }
}

// Three calls with the same Q, K and V, and another mask each time.
void forward_again(struct check* c) {
    static const char* const masks[] = {"10/01", "01/10", "11/10"};
    enum { CALLS = 3 };
    sizes(SPARSE_BLOCK + 16, 2 * SPARSE_BLOCK, false);
    check_case(c, "N_q = %d, N_k = %d, another mask in the same arrays", (int)now.N_q,
               (int)now.N_k);
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    struct tensor* same[] = {now.Q.tensor, now.K.tensor, now.V.tensor};
    for (int a = 0; a < 3; a++) {
        check_round(c, 0);
        fill_normal(c, same[a], 0, 1);
        const double* first = same[a]->value;
        for (int r = 1; r < CALLS; r++) {
            check_round(c, r);
            memcpy(same[a]->value, first, (size_t)same[a]->count * sizeof *first);
        }
    }
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        set_mask(c, masks[r]);
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
        {"H", 65536, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 15, COURSE_BAD_ARGUMENT},
        {"V", 0, COURSE_BAD_ARGUMENT},
        {"mask", 0, COURSE_BAD_ARGUMENT},
        {"workspace", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    judge_arguments(c, SPARSE_BLOCK, bad);
}

// Every array ends in a block that is not full, in a tile that is not full, and in columns that are not there.
void forward_safe(struct check* c) {
    sizes(16 + check_pick(c, 9, 15), SPARSE_BLOCK + check_pick(c, 9, 15), false);
    now.H = 2;
    set_d(11);
    begin(c, PACKED, "");
    run_and_judge(c, JUDGE_O);
}

// One row of four blocks, of which none, one, or all are active. K and V are 32 times what Q is: what an empty mask
// reads of them would show. Each tile of 8 queries or more may read K and V of the active blocks once.
void forward_cheap(struct check* c) {
    enum { N_Q = 16, T_K = 4, SMALLEST_TILE = 8 };
    static const char* const one[] = {"1000", "0100", "0010", "0001"};
    const char* const masks[] = {"0000", one[check_pick(c, 0, 3)], "1111"};
    double read[3], keys = 4.0 * T_K * SPARSE_BLOCK * USUAL_D;
    for (int n = 0; n < 3; n++) {
        sizes(N_Q, T_K * SPARSE_BLOCK, false);
        begin_masked(c, masks[n]);
        if (n < 2) needless(now.Q.tensor), needless(now.K.tensor), needless(now.V.tensor);
        run_and_judge(c, JUDGE_O);
        const struct arena_traffic* t = check_traffic(c);
        check_at_most(c, CAUSE_quadratic_memory, "bytes of memory per query beside the workspace",
                      (double)t->allocated_bytes / N_Q, 4.0 * (double)now.d);
        read[n] = (double)t->global_load_bytes;
    }
    check_at_most(c, CAUSE_inactive_read, "share of K and V that is read with an empty mask",
                  (read[0] - 2.0 * N_Q * USUAL_D) / keys, 0.1);
    check_at_most(c, CAUSE_inactive_read, "bytes read for one block of four, of those for all four",
                  (read[1] - read[0]) / (read[2] - read[0]), 0.3);
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read", (read[2] - read[0]) / keys,
                  N_Q / SMALLEST_TILE);
}

enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget) {
    return explain(c, t, budget);
}
