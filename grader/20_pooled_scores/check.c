// check.c: lesson 20, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: pools are of 4, 8 or 16 and
// lengths are multiples of them where neither is the point. All items compare O, which comes with lesson 13, and
// then R.
#include "check/check.h"

#include "20_pooled_scores/pooling.h"
#include "wall/arena.h"

#define ELEMENT F16
#define MORE_ARGUMENTS
enum { USUAL_D = 16, GAP_O = 4, GAP_Q = 8, GAP_K = 6, GAP_V = 10 };
#include "attention/forward_cases.h"

// ---- what this lesson's launcher has besides ---------------------------------------------------

static void declare_more(struct check* c, const struct bad* bad) {
    pass(c, bad, "pool", pooled.pool);
    pooled.R = NULL;
    if (now.N_k == 0 || strcmp(bad->name, "R") == 0)
        check_null(c, "R");
    else
        pooled.R =
            check_output(c, "R", F32, SHAPE(now.B, now.H, pools_of(now.N_q), pools_of(now.N_k)));
}

// R, in every item: the stub has the rest. What an LSE is off by, all P of its row are off by, as a factor: the 8
// units in the last place that every LSE is allowed come on top of the budget.
static void judge_more(struct check* c) {
    struct tensor *R = pooled.R, *LSE = now.LSE.tensor;
    if (!R) return;
    struct slip right = no_slip();
    double* standard = calloc((size_t)R->count, sizeof *standard);
    if (!standard) abort();
    pool_all(&right, false, R->want);
    pool_all(&right, true, standard);
    struct budget budget = budget_from(R, standard);
    free(standard);
    double largest = 0, sum = 0, largest_LSE = 1;
    for (int64_t e = 0; e < R->count; e++) {
        largest = fmax(largest, R->want[e]);
        sum += R->want[e];
    }
    for (int64_t e = 0; e < LSE->count; e++)
        if (isfinite(LSE->want[e])) largest_LSE = fmax(largest_LSE, fabs(LSE->want[e]));
    budget.max += 8 * 0x1p-23 * largest_LSE * largest;
    budget.mean += 8 * 0x1p-23 * largest_LSE * sum / (double)R->count;
    check_compare(c, R, budget);
}

// Starts the case of the sizes in `now`, with ordinary data and pools of `pool`.
static void begin_pools(struct check* c, enum layout layout, int64_t pool, const char* what) {
    char text[80];
    pooled.pool = pool;
    snprintf(text, sizeof text, ", pool = %d%s", (int)pool, what);
    begin(c, layout, text);
}

// ---- items ---------------------------------------------------------------------------------

// The last block of queries has all its pools, or more than half of them.
static void several_in_a_tile(struct check* c) {
    const int64_t pool[] = {1, 3, check_pick(c, 5, 7), check_pick(c, 9, 15)};
    for (size_t n = 0; n < sizeof pool / sizeof pool[0]; n++) {
        int64_t fit = 16 / pool[n], missing = check_pick(c, 0, (fit - 1) / 2);
        sizes((3 * fit - missing) * pool[n], check_pick(c, 2, 50 / pool[n]) * pool[n], false);
        begin_pools(c, PACKED, pool[n], "");
        run_and_judge(c, JUDGE_O);
    }
}

static void larger_than_a_tile(struct check* c) {
    const int64_t pool[] = {check_pick(c, 17, 23), 32, 128};
    for (size_t n = 0; n < sizeof pool / sizeof pool[0]; n++) {
        sizes(n == 0 ? 2 * pool[n] : pool[n], n == 1 ? 2 * pool[n] : pool[n], false);
        begin_pools(c, PACKED, pool[n], "");
        run_and_judge(c, JUDGE_O);
    }
    sizes(20, 30, false);
    begin_pools(c, PACKED, 24, ", and not full");
    run_and_judge(c, JUDGE_O);
}

// Short tails, which weigh most: of the queries, of the keys, of both.
static void ragged(struct check* c) {
    int64_t rest = check_pick(c, 1, 5);
    const int64_t N[][3] = {{32 + rest, 48, 8}, {48, 32 + rest, 8}, {16 + rest, 35, 8}, {1, 5, 16}};
    for (size_t n = 0; n < sizeof N / sizeof N[0]; n++) {
        sizes(N[n][0], N[n][1], false);
        begin_pools(c, PACKED, N[n][2], "");
        run_and_judge(c, JUDGE_O);
    }
}

static void causal(struct check* c) {
    sizes(64, 64, true);
    begin_pools(c, PACKED, 8, "");
    run_and_judge(c, JUDGE_O);
    sizes(32, 32 + 16 * check_pick(c, 1, 3), true);
    begin_pools(c, PACKED, 16, "");
    run_and_judge(c, JUDGE_O);
    sizes(48, 48 + 4 * check_pick(c, 1, 3), true);
    begin_pools(c, PACKED, 4, ": the diagonal crosses two tiles of a block");
    run_and_judge(c, JUDGE_O);
}

// An odd number of pools of keys: a block of 16 queries has some that see no key and some that do.
static void empty_rows(struct check* c) {
    sizes(64, 8 * (2 * check_pick(c, 1, 3) + 1), true);
    begin_pools(c, PACKED, 8, "");
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
    sizes(48, 44, true);
    begin_pools(c, PACKED, 4, "");
    run_and_judge(c, JUDGE_O | JUDGE_LSE);
}

static void heads(struct check* c) {
    sizes(32, 48, false);
    now.B = check_pick(c, 2, 3);
    now.H = check_pick(c, 2, 3);
    begin_pools(c, PACKED, 8, "");
    run_and_judge(c, JUDGE_O);
}

static void strides(struct check* c) {
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        sizes(32, 48, false);
        now.H = check_pick(c, 2, 3);
        begin_pools(c, layout, 8, "");
        run_and_judge(c, JUDGE_O);
    }
}

static void head_dimensions(struct check* c) {
    const int64_t d[] = {59, 1, check_pick(c, 65, 127)};
    for (size_t n = 0; n < sizeof d / sizeof d[0]; n++) {
        sizes(32, 32, false);
        set_d(d[n]);
        begin_pools(c, PACKED, 8, "");
        run_and_judge(c, JUDGE_O);
    }
}

static void hard_scores(struct check* c) {
    sizes(48, 48, true);
    begin_pools(c, PACKED, 8, ", scores of 30 times the usual size");
    for (int64_t e = 0; e < now.Q.tensor->count; e++) now.Q.tensor->value[e] *= 30;
    run_and_judge(c, JUDGE_O);

    // The last keys that a row sees have all the weight: the ones before are nothing beside them.
    begin_pools(c, PACKED, 8, ", scores that grow from key to key");
    for (int64_t i = 0; i < 48; i++) {
        at(&now.Q, 0, i, 0)[0] = 1;
        set_level(i, (double)(i / 2 * 150));
    }
    run_and_judge(c, JUDGE_O);

    // Integers, whose scores fp32 holds exactly; exp of each of them is 0.
    begin_pools(c, PACKED, 8, ", scores around -200");
    fill_integers(c, now.Q.tensor, -2, 2);
    fill_integers(c, now.K.tensor, -2, 2);
    for (int64_t i = 0; i < 48; i++) {
        at(&now.Q, 0, i, 0)[0] = -1;
        set_level(i, 200);
    }
    run_and_judge(c, JUDGE_O);
}

static void logsumexp(struct check* c) {
    sizes(32, 32, true);
    now.H = check_pick(c, 2, 3);
    begin_pools(c, PACKED, 8, "");
    run_and_judge(c, JUDGE_LSE);
}

// New data in the same arrays; then the same inputs in every head and in two calls.
static void again(struct check* c) {
    enum { CALLS = 3, HEADS = 12, N = 32 };
    struct array* inputs[] = {&now.Q, &now.K, &now.V};
    pooled.pool = 8;
    sizes(N, N, false);
    check_case(c, "N_q = N_k = %d, pool = 8, new data in the same arrays", N);
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        for (int a = 0; a < 3; a++) fill_normal(c, inputs[a]->tensor, 0, 1);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge(c, JUDGE_O);
    }

    sizes(N, N, false);
    now.H = HEADS;
    check_case(c, "%d heads and two calls of the same inputs, N_q = N_k = %d, pool = 8", HEADS, N);
    check_rounds(c, 2);
    declare(c, PACKED, &none);
    double one[3][N][USUAL_D];
    for (int a = 0; a < 3; a++)
        for (int n = 0; n < N; n++)
            for (int x = 0; x < USUAL_D; x++) one[a][n][x] = check_normal(c);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        for (int a = 0; a < 3; a++)
            for (int64_t n = 0; n < N; n++)
                for (int64_t h = 0; h < HEADS; h++)
                    memcpy(at(inputs[a], 0, n, h), one[a][n], sizeof one[a][n]);
    }
    check_run(c);
    check_round(c, 0);
    judge(c, JUDGE_O);
    int64_t size = pooled.R->count / HEADS;
    double first[(N / 8) * (N / 8)];
    memcpy(first, pooled.R->got, sizeof first);
    repeating = true;
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        for (int64_t e = 0; e < pooled.R->count; e++) pooled.R->want[e] = first[e % size];
        check_compare(c, pooled.R, budget_exact());
    }
    repeating = false;

    // Where blocks or threads take turns by chance: sums by atomicAdd.
    check_watch(c, WATCH_PROFILE);
    sizes(N, N, false);
    begin_pools(c, PACKED, 8, "");
    run_and_judge(c, JUDGE_O);
    check_at_most(c, CAUSE_not_repeatable, "atomic operations for each element of R",
                  (double)check_traffic(c)->atomics / (double)pooled.R->count, 0.1);
}

static void arguments(struct check* c) {
    static const struct bad bad[] = {
        {"pool", 129, COURSE_UNSUPPORTED},
        {"d", 129, COURSE_UNSUPPORTED},
        {"H", 65536, COURSE_UNSUPPORTED},
        {"pool", 0, COURSE_BAD_ARGUMENT},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -16, COURSE_BAD_ARGUMENT},
        {"stride_k.n", 15, COURSE_BAD_ARGUMENT},
        {"R", 0, COURSE_BAD_ARGUMENT},
        {0},
    };
    pooled.pool = 8;
    judge_arguments(c, 32, bad);
    judge_no_keys(c);
}

// Every array ends in a tile and a pool that are not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 16 + check_pick(c, 9, 15);
    for (int causal = 0; causal < 2; causal++) {
        sizes(N, N, causal);
        now.H = 2;
        set_d(24);
        begin_pools(c, PACKED, causal ? 8 : 16, "");
        run_and_judge(c, JUDGE_O);
    }
}

// The first pass reads K and V once per tile of queries, the second reads K: three arrays, and 8 queries at a time
// are let pass. With a mask both leave out the queries that see nothing and end at the diagonal: with tiles of 128
// queries a third is left of what is read without one, with smaller tiles less. If the first pass alone does so,
// more than 0.39 is left.
static void cheap(struct check* c) {
    enum { N_Q = 384, N_K = 64, POOL = 4, SMALLEST_TILE = 8 };
    check_watch(c, WATCH_PROFILE);
    double read[2];  // bytes of K and V
    for (int causal = 0; causal < 2; causal++) {
        sizes(N_Q, N_K, causal);
        begin_pools(c, PACKED, POOL, "");
        run_and_judge(c, JUDGE_O);
        const struct arena_traffic* t = check_traffic(c);
        double d = (double)now.d, outputs = (2 * d + 4) * N_Q + 4 * (double)pooled.R->count;
        check_at_most(c, CAUSE_quadratic_memory, "bytes of scratch memory per query",
                      (double)t->allocated_bytes / N_Q, d);
        check_at_most(c, CAUSE_too_much_written, "bytes written for each byte of O, LSE and R",
                      (double)t->global_store_bytes / outputs, 3);
        // Beyond Q in both passes, and LSE.
        read[causal] = (double)t->global_load_bytes - (4 * d + 4) * N_Q;
    }
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read, both counted",
                  read[0] / (2.0 * N_K * (double)now.d), 3.0 * N_Q / SMALLEST_TILE);
    check_at_most(c, CAUSE_masked_read, "bytes of K and V read with a mask, of those without",
                  read[1] / read[0], 0.37);
}

static const struct item items[] = {
    {11, "several pools in a tile", several_in_a_tile},
    {10, "pools larger than a tile", larger_than_a_tile},
    {10, "pools at the end", ragged},
    {12, "causal", causal},
    {8, "queries that see no key", empty_rows},
    {7, "heads and batches", heads},
    {6, "strides", strides},
    {5, "any d", head_dimensions},
    {5, "hard scores", hard_scores},
    {4, "LSE", logsumexp},
    {6, "called again, and the same bits", again},
    {4, "empty inputs and bad arguments", arguments},
    {5, "no races, no stray accesses", safe},
    {7, "K twice, V once, R once, nothing hidden", cheap},
    {0},
};

const struct lesson lesson = {
    .name = "20_pooled_scores", .items = items, .explain = explain_pooling};
