// check.c: what lesson 22, bug_hunt, is graded on: an item for each of the ten kernels.
//
// A kernel pays if all of this holds: it is right where its bug does not show, and where it does;
// no finding is left; it costs no more than the solution's; and its file differs from the given one
// in few lines, with the bug named. Costs are counted in one case, whose sizes nobody knows before.
// Sums are of whole numbers, so that they are exact in any order.
#include "bug_hunt.h"
#include "check/check.h"
#include "reference.h"
#include "registers.h"
#include "text.h"
#include "wall/arena.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, THREADS = 128, WARPS = THREADS / WARP };

// ---- what a kernel may cost

// Of one round: what the solution does, in the case that is counted. Requests are instructions of
// warps.
struct cost {
    double launches, barriers, load_bytes, load_requests, store_requests, filled_bytes;
    double shared_requests, shared_bytes;
};

// The first case of an item is counted.
static void begin_hunt(struct check* c, enum bug_hunt_kernel kernel) {
    withhold_bug(c, kernel);
    check_watch(c, WATCH_PROFILE);
}

// What that case has moved, which make profile shows; it is judged when the answers are known to be
// right. The next cases run as they are.
static struct arena_traffic count(struct check* c) {
    struct arena_traffic counted = *check_traffic(c);
    check_watch(c, WATCH_NONE);
    return counted;
}

// x and y: the sizes of that case.
static void judge_cost(struct check* c, const struct arena_traffic* t, int64_t x, int64_t y,
                       struct cost most) {
    const struct {
        const char* what;
        int64_t value;
        double most;
    } counts[] = {
        {"launches", t->launches, most.launches},
        {"barriers, of all blocks", t->barriers, most.barriers},
        {"bytes that threads load from global memory", t->global_load_bytes, most.load_bytes},
        {"requests that load from global memory", t->global_load_requests, most.load_requests},
        {"requests that store to global memory", t->global_store_requests, most.store_requests},
        {"bytes that the launcher fills", t->filled_bytes, most.filled_bytes},
        {"bytes that the launcher copies", t->copied_bytes + t->to_device_bytes, 0},
        {"requests to shared memory", t->shared_load_requests + t->shared_store_requests,
         most.shared_requests},
        {"bytes of shared memory for a block", t->shared_bytes_per_block, most.shared_bytes},
        {"bytes of static device memory that kernels use", t->static_bytes, 0},
        {"bytes of a thread's local arrays and variables", t->local_bytes_per_thread, 1024},
    };
    check_case(c, "the cost, for sizes of %lld and %lld", (long long)x, (long long)y);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        check_at_most(c, CAUSE_cost_grew, counts[i].what, (double)counts[i].value, counts[i].most);
}

// ---- cases

// Sizes of the case that is counted: rows, and columns of more than one request and no whole ones.
static int64_t some_rows(struct check* c) {
    return check_pick(c, 2, 9);
}
static int64_t some_cols(struct check* c) {
    return WARP * check_pick(c, 1, 6) + check_pick(c, 1, WARP - 1);
}

// How many times 32 lanes have to ask for a row of n.
static double warps_for(int64_t n) {
    return (double)CEIL_DIV(n, WARP);
}

static void begin(struct check* c, enum bug_hunt_kernel kernel, int64_t rows, int64_t cols,
                  int rounds) {
    check_rounds(c, rounds);
    check_int(c, "kernel", kernel);
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
}

static struct tensor* integers(struct check* c, const char* name, struct shape shape) {
    struct tensor* t = check_input(c, name, F32, shape);
    fill_integers(c, t, -9, 9);
    return t;
}

static void compare(struct check* c, struct tensor* t) {
    check_compare(c, t, budget_exact());
}

// ---- 1 warp_sums

static void run_warp_sums(struct check* c, int64_t rows, int64_t cols) {
    check_case(c, "rows = %lld, cols = %lld", (long long)rows, (long long)cols);
    begin(c, BUG_HUNT_WARP_SUMS, rows, cols, 1);
    struct tensor* x = integers(c, "x", SHAPE(rows, cols));
    struct tensor* y = check_output(c, "y", F32, SHAPE(rows));
    check_run(c);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) y->want[i] += x->value[i * cols + j];
    compare(c, y);
}

// Shared memory: a store; then five rounds of two loads and a store; a load.
static void warp_sums(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_WARP_SUMS);
    run_warp_sums(c, rows, cols);
    const struct arena_traffic counted = count(c);
    run_warp_sums(c, check_pick(c, 5, 70), check_pick(c, 34, 700));
    run_warp_sums(c, 3, 1);
    check_watch(c, WATCH_CHECK);
    run_warp_sums(c, 6, 100);
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .load_bytes = 4 * rows * cols,
                             .load_requests = rows * warps_for(cols),
                             .store_requests = rows,
                             .shared_requests = rows * (1 + 5 * 3 + 1),
                             .shared_bytes = 4 * WARPS * WARP});
    judge_text(c, BUG_HUNT_WARP_SUMS);
}

// ---- 2 transpose

static void run_transpose(struct check* c, int64_t rows, int64_t cols) {
    check_case(c, "rows = %lld, cols = %lld", (long long)rows, (long long)cols);
    begin(c, BUG_HUNT_TRANSPOSE, rows, cols, 1);
    struct tensor* x = integers(c, "x", SHAPE(rows, cols));
    struct tensor* y = check_output(c, "y", F32, SHAPE(cols, rows));
    check_run(c);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) y->want[j * rows + i] = x->value[i * cols + j];
    compare(c, y);
}

// In each tile, a request for each row of x and of y.
static void transpose(struct check* c) {
    const int64_t T = BUG_HUNT_TILE, down = check_pick(c, 1, 3), across = check_pick(c, 1, 3);
    const int64_t tiles = down * across;
    begin_hunt(c, BUG_HUNT_TRANSPOSE);
    run_transpose(c, down * T, across * T);
    const struct arena_traffic counted = count(c);
    run_transpose(c, T * check_pick(c, 2, 5), T * check_pick(c, 1, 6));
    check_watch(c, WATCH_CHECK);
    run_transpose(c, T, 2 * T);
    judge_cost(c, &counted, down * T, across * T,
               (struct cost){.launches = 1,
                             .barriers = tiles,
                             .load_bytes = 4 * tiles * T * T,
                             .load_requests = tiles * T,
                             .store_requests = tiles * T,
                             .shared_requests = tiles * 2 * T,
                             .shared_bytes = 4 * T * (T + 1)});
    judge_text(c, BUG_HUNT_TRANSPOSE);
}

// ---- 3 scale_rows

// gap: elements between the rows; less than 0: rows more than 2^32 elements apart.
static void run_scale_rows(struct check* c, int64_t rows, int64_t cols, int64_t gap) {
    const bool far = gap < 0;
    const int64_t step = far ? cols : cols + gap, step_out = gap > 0 ? step + 4 : step;
    const double factor = 0.25 * (double)check_pick(c, 1, 9);
    check_case(c, far ? "rows = %lld, cols = %lld, rows far apart" : "rows = %lld, cols = %lld",
               (long long)rows, (long long)cols);
    begin(c, BUG_HUNT_SCALE_ROWS, rows, cols, 1);
    check_real(c, "factor", factor);
    struct tensor* x = integers(c, "x", SHAPE(rows, step));
    struct tensor* y = check_output(c, "y", F32, SHAPE(rows, step_out));
    int64_t step_y[3] = {0, 0, step_out}, step_x[3] = {0, 0, step};
    const int64_t count[3] = {1, 1, rows};
    if (far) check_far(c, y, count, step_y), check_far(c, x, count, step_x);
    check_int(c, "stride_y", step_y[2]);
    check_int(c, "stride_x", step_x[2]);
    for (int64_t e = 0; e < x->count; e++) x->untouched[e] = e % step >= cols;
    for (int64_t e = 0; e < y->count; e++) y->untouched[e] = e % step_out >= cols;
    check_run(c);
    for (int64_t e = 0; e < y->count; e++)
        if (!y->untouched[e]) y->want[e] = factor * x->value[e / step_out * step + e % step_out];
    compare(c, y);
}

static void scale_rows(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_SCALE_ROWS);
    run_scale_rows(c, rows, cols, 4);
    const struct arena_traffic counted = count(c);
    run_scale_rows(c, check_pick(c, 3, 40), check_pick(c, 1, 500), 0);
    run_scale_rows(c, check_pick(c, 3, 40), check_pick(c, 1, 500), check_pick(c, 1, 9));
    check_watch(c, WATCH_CHECK);
    if (check_can_be_far(c)) run_scale_rows(c, 3, cols, -1);
    run_scale_rows(c, 3, 40, 4);
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .load_bytes = 4 * rows * cols,
                             .load_requests = rows * warps_for(cols),
                             .store_requests = rows * warps_for(cols)});
    judge_text(c, BUG_HUNT_SCALE_ROWS);
}

// ---- 4 divide_by_count

// Numbers that the count divides: the quotients are exact. mixed: blocks begin in another order
// than that of their numbers, in which the same was right.
static void run_divide(struct check* c, int64_t n, int rounds, bool mixed) {
    check_case(c, "n = %lld%s", (long long)n, mixed ? ", blocks in another order" : "");
    if (mixed) check_mix_blocks(c);
    begin(c, BUG_HUNT_DIVIDE_BY_COUNT, 1, n, rounds);
    check_int(c, "mixed", mixed);
    struct tensor* x = check_input(c, "x", F32, SHAPE(n));
    struct tensor* label = check_input(c, "label", I32, SHAPE(n));
    struct tensor* y = check_output(c, "y", F32, SHAPE(n));
    check_workspace(c, "count", 4);
    for (int r = 0; r < rounds; r++) {
        int64_t count = 0;
        check_round(c, r);
        fill_integers(c, label, -3, 6);
        label->value[check_pick(c, 0, n - 1)] = 7;
        for (int64_t i = 0; i < n; i++) count += label->value[i] >= 0;
        fill_integers(c, x, 1, 9);
        for (int64_t i = 0; i < n; i++) y->want[i] = x->value[i];
        for (int64_t i = 0; i < n; i++) x->value[i] *= (double)count;
    }
    check_run(c);
    for (int r = 0; r < rounds; r++) {
        check_round(c, r);
        compare(c, y);
    }
}

// The first kernel reads the labels, and the second the numbers and the count. The count is cleared
// by a fill of 4 bytes, or by a launch and a store.
static void divide_by_count(struct check* c) {
    const int64_t n = some_cols(c);
    begin_hunt(c, BUG_HUNT_DIVIDE_BY_COUNT);
    run_divide(c, n, 1, false);
    const struct arena_traffic counted = count(c);
    run_divide(c, check_pick(c, 200, 3000), 2, false);
    run_divide(c, check_pick(c, 1000, 3000), 1, true);
    run_divide(c, 1, 1, false);
    check_watch(c, WATCH_CHECK);
    run_divide(c, 200, 2, false);
    judge_cost(c, &counted, 1, n,
               (struct cost){.launches = 2 + 1,
                             .load_bytes = 3 * 4 * n,
                             .load_requests = 3 * warps_for(n),
                             .store_requests = warps_for(n) + 1,
                             .filled_bytes = 4});
    judge_text(c, BUG_HUNT_DIVIDE_BY_COUNT);
}

// ---- 5 reverse_rows

// A card whose blocks may have more shared memory than any row needs.
#define MOST_MEMORY "h200"

static void run_reverse_rows(struct check* c, int64_t rows, int64_t cols, const char* card) {
    check_case(c, card ? "rows = %lld, cols = %lld, card %s" : "rows = %lld, cols = %lld",
               (long long)rows, (long long)cols, card);
    if (card) check_pose_as(c, card);
    // A long row needs an attribute on every card: the one with the most memory tells, by the
    // refused launch.
    const bool any_card = !card || strcmp(card, MOST_MEMORY) != 0;
    if (any_card) check_expect(c, COURSE_OK, CAUSE_one_card);
    begin(c, BUG_HUNT_REVERSE_ROWS, rows, cols, 1);
    struct tensor* x = check_in_place(c, "x", F32, SHAPE(rows, cols));
    fill_integers(c, x, -9, 9);
    check_run(c);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            x->want[i * cols + j] = x->value[i * cols + cols - 1 - j];
    compare(c, x);
}

// A longer row after a shorter one: what was asked of CUDA for the first is not enough.
static void run_reverse_after(struct check* c, int64_t shorter, int64_t cols) {
    enum { CALLS = 2 };
    check_case(c, "rows = 1, cols = %lld, after a call with %lld", (long long)cols,
               (long long)shorter);
    begin(c, BUG_HUNT_REVERSE_ROWS, 1, cols, CALLS);
    check_vary(c, "cols", 0, shorter);
    struct tensor* x = check_in_place(c, "x", F32, SHAPE(1, cols));
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        fill_integers(c, x, -9, 9);
        for (int64_t j = shorter; r == 0 && j < cols; j++) x->untouched[j] = true;
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        const int64_t n = r ? cols : shorter;
        check_round(c, r);
        for (int64_t j = 0; j < n; j++) x->want[j] = x->value[n - 1 - j];
        compare(c, x);
    }
}

// What is loaded is stored in shared memory, and the other way round.
static void reverse_rows(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_REVERSE_ROWS);
    run_reverse_rows(c, rows, cols, NULL);
    const struct arena_traffic counted = count(c);
    run_reverse_rows(c, 3, check_pick(c, 200, 3000), NULL);
    run_reverse_rows(c, 2, BUG_HUNT_MAX_COLS, MOST_MEMORY);
    run_reverse_rows(c, 2, BUG_HUNT_MAX_COLS, NULL);
    run_reverse_after(c, check_pick(c, 13000, 15000), BUG_HUNT_MAX_COLS);
    check_watch(c, WATCH_CHECK);
    run_reverse_rows(c, 2, check_pick(c, 200, 3000), "rtx4090");
    run_reverse_rows(c, 1, BUG_HUNT_MAX_COLS, "rtx3090");
    run_reverse_rows(c, 1, check_pick(c, 200, 3000), "a100");
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .barriers = rows,
                             .load_bytes = 4 * rows * cols,
                             .load_requests = rows * warps_for(cols),
                             .store_requests = rows * warps_for(cols),
                             .shared_requests = 2 * rows * warps_for(cols),
                             .shared_bytes = 4 * cols});
    judge_text(c, BUG_HUNT_REVERSE_ROWS);
}

// ---- 6 attend

// gap_k, gap_v: elements between the rows; less than 0: rows more than 2^32 elements apart.
static void run_attend(struct check* c, int64_t N_q, int64_t N_k, int64_t gap_k, int64_t gap_v) {
    enum { D = BUG_HUNT_D };
    const bool far = gap_k < 0;
    if (far)
        check_case(c, "N_q = %lld, N_k = %lld, rows of K and V far apart", (long long)N_q,
                   (long long)N_k);
    else
        check_case(c, "N_q = %lld, N_k = %lld, stride_k = %lld, stride_v = %lld", (long long)N_q,
                   (long long)N_k, (long long)(D + gap_k), (long long)(D + gap_v));
    if (far) gap_k = gap_v = 0;
    // rows behind, so that the other stride stays in the array
    const int64_t more = far ? 0 : N_k / 2;
    struct attention a = {
        .N_q = N_q, .N_k = N_k, .stride_k = D + gap_k, .stride_v = D + gap_v, .scale = 0.25};
    begin(c, BUG_HUNT_ATTEND, N_q, N_k, 1);
    check_real(c, "scale", a.scale);
    a.Q = check_input(c, "Q", F32, SHAPE(N_q, D));
    a.K = check_input(c, "K", F32, SHAPE(N_k + more, a.stride_k));
    a.V = check_input(c, "V", F32, SHAPE(N_k + more, a.stride_v));
    a.O = check_output(c, "O", F32, SHAPE(N_q, D));
    int64_t step_k[3] = {0, 0, a.stride_k}, step_v[3] = {0, 0, a.stride_v};
    const int64_t count[3] = {1, 1, N_k};
    if (far) check_far(c, a.K, count, step_k), check_far(c, a.V, count, step_v);
    check_int(c, "stride_k", step_k[2]);
    check_int(c, "stride_v", step_v[2]);
    fill_normal(c, a.Q, 0, 1), fill_normal(c, a.K, 0, 1), fill_normal(c, a.V, 0, 1);
    gaps(a.K, a.stride_k, D, N_k), gaps(a.V, a.stride_v, D, N_k);
    check_describe(c, &a);
    check_run(c);
    double* standard = check_allocate(c, N_q * D, sizeof(double));
    attention_of(&a, a.stride_k, a.stride_v, a.O->want);
    attention_in_float(&a, standard);
    check_compare(c, a.O, budget_from(a.O, standard));
    free(standard);
}

// A warp loads its query, and K and V of every key.
static void attend(struct check* c) {
    const int64_t N_q = some_rows(c), N_k = check_pick(c, 10, 40);
    begin_hunt(c, BUG_HUNT_ATTEND);
    run_attend(c, N_q, N_k, 8, 8);
    const struct arena_traffic counted = count(c);
    run_attend(c, check_pick(c, 3, 30), check_pick(c, 40, 150), 0, 0);
    run_attend(c, 9, 70, check_pick(c, 0, 4), check_pick(c, 5, 9));
    run_attend(c, 9, 70, check_pick(c, 5, 9), check_pick(c, 0, 4));
    check_watch(c, WATCH_CHECK);
    if (check_can_be_far(c)) run_attend(c, 5, 9, -1, -1);
    run_attend(c, 5, 20, 8, 4);
    judge_cost(c, &counted, N_q, N_k,
               (struct cost){.launches = 1,
                             .load_bytes = 4 * BUG_HUNT_D * N_q * (1 + 2 * N_k),
                             .load_requests = N_q * (1 + 2 * N_k),
                             .store_requests = N_q});
    judge_text(c, BUG_HUNT_ATTEND);
}

// ---- 7 group_sums

// with_infinity: a number of a group in every other row is infinite, or NaN.
static void run_group_sums(struct check* c, int64_t rows, int64_t cols, bool with_infinity) {
    enum { G = BUG_HUNT_GROUPS };
    check_case(c, "rows = %lld, cols = %lld%s", (long long)rows, (long long)cols,
               with_infinity ? ", with infinities and NaN" : "");
    begin(c, BUG_HUNT_GROUP_SUMS, rows, cols, 1);
    struct tensor* x = integers(c, "x", SHAPE(rows, cols));
    struct tensor* group = check_input(c, "group", I32, SHAPE(cols));
    struct tensor* y = check_output(c, "y", F32, SHAPE(rows, G));
    fill_integers(c, group, 0, G - 1);
    for (int64_t i = 0; with_infinity && i < rows; i += 2)
        x->value[i * cols + check_pick(c, 0, cols - 1)] = i % 4 ? NAN : INFINITY;
    check_run(c);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            y->want[i * G + (int64_t)group->value[j]] += x->value[i * cols + j];
    compare(c, y);
}

// Where an array of a thread lies is read from the text.
static void group_sums(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_GROUP_SUMS);
    run_group_sums(c, rows, cols, false);
    const struct arena_traffic counted = count(c);
    run_group_sums(c, check_pick(c, 3, 40), check_pick(c, 33, 500), false);
    run_group_sums(c, 5, 1, false);
    run_group_sums(c, 9, 40, true);
    check_watch(c, WATCH_CHECK);
    run_group_sums(c, 6, 100, false);
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .load_bytes = 2 * 4 * rows * cols,
                             .load_requests = 2 * rows * warps_for(cols),
                             .store_requests = rows * BUG_HUNT_GROUPS});
    judge_registers(c, BUG_HUNT_GROUP_SUMS);
    judge_text(c, BUG_HUNT_GROUP_SUMS);
}

// ---- 8 chunk_sums

static void run_chunk_sums(struct check* c, int64_t n, double last) {
    check_case(c, "n = %lld", (long long)n);
    begin(c, BUG_HUNT_CHUNK_SUMS, 1, n, 1);
    struct tensor* x = integers(c, "x", SHAPE(n));
    struct tensor* y = check_output(c, "y", F32, SHAPE(CEIL_DIV(n, WARP)));
    x->value[n - 1] = last;  // counted twice, it shows; times 0, too, if it is infinite
    check_run(c);
    for (int64_t i = 0; i < n; i++) y->want[i / WARP] += x->value[i];
    compare(c, y);
}

// The last warp may load as much as a whole one.
static void chunk_sums(struct check* c) {
    const int64_t n = some_cols(c);
    begin_hunt(c, BUG_HUNT_CHUNK_SUMS);
    run_chunk_sums(c, n, 7);
    const struct arena_traffic counted = count(c);
    run_chunk_sums(c, THREADS * check_pick(c, 1, 40), 5);
    run_chunk_sums(c, 32 * check_pick(c, 5, 40) + check_pick(c, 1, 31), 3);
    run_chunk_sums(c, 1, INFINITY);
    check_watch(c, WATCH_CHECK);
    run_chunk_sums(c, 200, 9);
    judge_cost(c, &counted, 1, n,
               (struct cost){.launches = 1,
                             .load_bytes = 4 * WARP * warps_for(n),
                             .load_requests = warps_for(n),
                             .store_requests = warps_for(n)});
    judge_text(c, BUG_HUNT_CHUNK_SUMS);
}

// ---- 9 masked_softmax

enum masks { ALL, SOME, SOME_NONE };

static void run_masked(struct check* c, int64_t rows, int64_t cols, enum masks masks, double from,
                       double to) {
    check_case(c, "rows = %lld, cols = %lld, scores from %g to %g%s", (long long)rows,
               (long long)cols, from, to, masks == SOME_NONE ? ", a row sees nothing" : "");
    struct masked m = {.rows = rows, .cols = cols};
    begin(c, BUG_HUNT_MASKED_SOFTMAX, rows, cols, 1);
    m.x = check_input(c, "x", F32, SHAPE(rows, cols));
    m.seen = check_input(c, "seen", I32, SHAPE(rows));
    m.y = check_output(c, "y", F32, SHAPE(rows, cols));
    fill_uniform(c, m.x, from, to);
    fill_integers(c, m.seen, masks == ALL ? cols : 1, cols);
    if (masks == SOME_NONE) m.seen->value[check_pick(c, 0, rows - 1)] = 0;
    for (int64_t k = 0; k < rows * cols; k++)
        m.x->untouched[k] = k % cols >= (int64_t)m.seen->value[k / cols];
    check_describe(c, &m);
    check_run(c);
    double* standard = check_allocate(c, rows * cols, sizeof(double));
    masked_softmax_of(&m, m.y->want);
    masked_softmax_in_float(&m, standard);
    check_compare(c, m.y, budget_from(m.y, standard));
    free(standard);
}

// Each of three passes loads what a row sees, in the last case all of it; and each lane how much.
static void masked_softmax(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_MASKED_SOFTMAX);
    run_masked(c, rows, cols, ALL, -4, 4);
    const struct arena_traffic counted = count(c);
    run_masked(c, check_pick(c, 5, 40), check_pick(c, 20, 300), SOME, -4, 4);
    run_masked(c, check_pick(c, 5, 40), check_pick(c, 20, 300), SOME_NONE, -4, 4);
    run_masked(c, 9, 40, SOME, -3e6, -2e6);
    run_masked(c, 9, 40, SOME, -3e32, -2e32);
    run_masked(c, 9, 40, SOME, -FLT_MAX, -FLT_MAX);  // the smallest float is a score, too
    check_watch(c, WATCH_CHECK);
    run_masked(c, 9, 40, SOME_NONE, -4, 4);
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .load_bytes = 4 * rows * (3 * cols + WARP),
                             .load_requests = rows * (3 * warps_for(cols) + 1),
                             .store_requests = rows * warps_for(cols)});
    judge_text(c, BUG_HUNT_MASKED_SOFTMAX);
}

// ---- 10 logsumexp

static void run_logsumexp(struct check* c, int64_t rows, int64_t cols, double from, double to) {
    check_case(c, "rows = %lld, cols = %lld, from %g to %g", (long long)rows, (long long)cols, from,
               to);
    struct masked m = {.rows = rows, .cols = cols};
    begin(c, BUG_HUNT_LOGSUMEXP, rows, cols, 1);
    m.x = check_input(c, "x", F32, SHAPE(rows, cols));
    m.y = check_output(c, "LSE", F32, SHAPE(rows));
    fill_uniform(c, m.x, from, to);
    check_describe(c, &m);
    check_run(c);
    double* standard = check_allocate(c, rows, sizeof(double));
    logsumexp_of(&m, m.y->want);
    logsumexp_in_float(&m, standard);
    check_compare(c, m.y, budget_from(m.y, standard));
    free(standard);
}

static void logsumexp(struct check* c) {
    const int64_t rows = some_rows(c), cols = some_cols(c);
    begin_hunt(c, BUG_HUNT_LOGSUMEXP);
    run_logsumexp(c, rows, cols, -4, 4);
    const struct arena_traffic counted = count(c);
    run_logsumexp(c, 3, 50257, -4, 4);
    run_logsumexp(c, check_pick(c, 5, 40), check_pick(c, 2, 300), -4, 4);
    run_logsumexp(c, 9, 1, -1, 1);
    run_logsumexp(c, 40, 2, -1, 0);  // small sums: who adds something large, and takes it off?
    run_logsumexp(c, 9, 33, -200, -190);
    check_watch(c, WATCH_CHECK);
    run_logsumexp(c, 6, 100, -4, 4);
    judge_cost(c, &counted, rows, cols,
               (struct cost){.launches = 1,
                             .load_bytes = 2 * 4 * rows * cols,
                             .load_requests = 2 * rows * warps_for(cols),
                             .store_requests = rows});
    judge_text(c, BUG_HUNT_LOGSUMEXP);
}

static const struct item items[] = {
    {10, "1 warp_sums", warp_sums},
    {10, "2 transpose", transpose},
    {10, "3 scale_rows", scale_rows},
    {10, "4 divide_by_count", divide_by_count},
    {10, "5 reverse_rows", reverse_rows},
    {10, "6 attend", attend},
    {10, "7 group_sums", group_sums},
    {10, "8 chunk_sums", chunk_sums},
    {10, "9 masked_softmax", masked_softmax},
    {10, "10 logsumexp", logsumexp},
    {0},
};

// ---- diagnosis

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    switch ((enum bug_hunt_kernel)check_int_of(c, "kernel")) {
    case BUG_HUNT_DIVIDE_BY_COUNT:
        if (check_int_of(c, "mixed")) return CAUSE_block_order;
        return other_count(c, t) ? CAUSE_workspace_uncleared : CAUSE_NONE;
    case BUG_HUNT_SCALE_ROWS:
        return by_stride_of_x(c, t) ? CAUSE_other_stride : CAUSE_NONE;
    case BUG_HUNT_ATTEND:
        return attention_explain(check_description(c), budget);
    case BUG_HUNT_GROUP_SUMS:
        return nan_of_others(t) ? CAUSE_nan_leak : CAUSE_NONE;
    case BUG_HUNT_CHUNK_SUMS:
        if (isnan(t->got[t->count - 1])) return CAUSE_nan_leak;
        return last_sum(c, t) ? CAUSE_inner_tail : CAUSE_NONE;
    case BUG_HUNT_MASKED_SOFTMAX:
        return masked_explain(check_description(c));
    case BUG_HUNT_LOGSUMEXP:
        return logsumexp_explain(check_description(c));
    default:
        return CAUSE_NONE;
    }
}

const struct lesson lesson = {
    .name = "22_bug_hunt",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .adds_by_atomics = true,  // divide_by_count
    .items = items,
    .idea = {.what = "the right answer: each bug mended in few lines, at no cost, and named"},
    .explain = explain};
