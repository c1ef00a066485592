// check.c: lesson 20, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: pools have 4, 8
// or 16 elements and lengths are multiples of the pools, except in items about pools or lengths.
// All items compare O, which comes with lesson 14, and then R.
#include "20_pooled_scores/mistakes.h"
#include "attention/forward.h"
#include "attention/reach.h"
#include "check/reach.h"
#include "wall/arena.h"

#include <stdio.h>
#include <string.h>

// ---- what this lesson's launcher has besides ---------------------------------------------------

static void declare_more(struct problem* p) {
    struct pooling* pooling = pooling_of(p);
    pooling->R = NULL;
    check_int(p->check, "pool", pooling->pool);
    if (p->N_k == 0)
        check_null(p->check, "R");
    else
        pooling->R = check_output(p->check, "R", F32,
                                  SHAPE(p->B, p->H, pools_of(p, p->N_q), pools_of(p, p->N_k)));
}

// R, in every item: the stub has the rest. P of R is not rounded to bf16, so R is as exact as fp32
// allows: the standard rounds every operation to fp32. An error of an LSE multiplies all P of its
// row by a factor. So the 8 units in the last place that every LSE is allowed come on top of the
// budget; they hold what exp2_approx() may be off, too, two units of P.
static void judge_more(const struct problem* p) {
    struct tensor *R = pooling_of(p)->R, *LSE = p->array[ARRAY_LSE].tensor;
    if (!R) return;
    int64_t count = p->B * p->H * pools_of(p, p->N_q) * pools_of(p, p->N_k);
    for (int64_t e = 0; e < R->count; e++) R->untouched[e] = e >= count;
    struct slip right = no_slip(p);
    double* standard = check_allocate(p->check, R->count, sizeof *standard);
    pool_all(p, &right, false, R->want);
    pool_all(p, &right, true, standard);
    struct budget budget = budget_from(R, standard);
    free(standard);
    double largest = 0, sum = 0, largest_LSE = 1;
    for (int64_t e = 0; e < count; e++) {
        largest = fmax(largest, R->want[e]);
        sum += R->want[e];
    }
    for (int64_t e = 0; e < LSE->count; e++)
        if (isfinite(LSE->want[e])) largest_LSE = fmax(largest_LSE, fabs(LSE->want[e]));
    budget.max += 8 * 0x1p-23 * largest_LSE * largest;
    budget.mean += 8 * 0x1p-23 * largest_LSE * sum / (double)count;
    check_compare(p->check, R, budget);
    // What is small beside the largest has its digits, too: P of fp32 ends far below.
    for (int64_t e = 0; e < count; e++)
        if (!(fabs(R->got[e] - R->want[e]) <= R->want[e] / 16) && R->want[e] > 0x1p-80)
            check_fail(p->check, CAUSE_cut_off, "R[%lld] is %.9g, expected %.9g", (long long)e,
                       R->got[e], R->want[e]);
}

// With pools of one query.
static void show_more(const struct problem* p, int64_t queries) {
    check_ends(p->check, pooling_of(p)->R, p->B * p->H, queries * pools_of(p, p->N_k));
}

static void show_heads(const struct problem* p, int64_t heads) {
    check_ends(p->check, pooling_of(p)->R, 1, pooling_of(p)->R->count / p->H * heads);
}

// P of the last row to a few bits, where O and LSE are right.
static bool is_more_right(const struct problem* p) {
    struct tensor* R = pooling_of(p)->R;
    const struct slip right = no_slip(p);
    pool_all(p, &right, false, R->want);
    return check_end_is_right(R);
}

// What R is in a run with other products: means of P that follow from S.
static void follow_more(const struct problem* p) {
    struct tensor* R = pooling_of(p)->R;
    const int64_t pool = pooling_of(p)->pool, n_J = pools_of(p, p->N_k), count = R->count;
    double* memory = check_allocate(p->check, 2 * count + p->N_k, sizeof *memory);
    double *altered = memory, *allowed = memory + count, *P = allowed + count;
    for (int64_t i = 0; i < p->N_q; i++) {
        const double off = altered_weights(p, i, P) + 0x1p-16;
        for (int64_t j = 0; j < p->N_k; j++) {
            const int64_t I = i / pool, J = j / pool;
            const double rows = fmin((double)pool, (double)(p->N_q - I * pool)),
                         columns = fmin((double)pool, (double)(p->N_k - J * pool));
            altered[I * n_J + J] += P[j] / (rows * columns);
            allowed[I * n_J + J] += P[j] / (rows * columns) * off;
        }
    }
    check_follows(p->check, R, altered, allowed, "Q K^T of the weights that are pooled");
    free(memory);
}

static int64_t more_bytes(const struct problem* p) {
    return pooling_of(p)->R->count * (int64_t)sizeof(float);
}

// Gaps are multiples of 8 elements, 16 bytes: the contract promises that rows begin there.
static const struct contract contract = {
    .dtype = BF16,
    .rounded_weights = true,
    .LSE_alone = true,
    .d = 64,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 16, [ARRAY_K] = 24, [ARRAY_V] = 40},
    .row_gaps = 2,
    .declare_more = declare_more,
    .judge_more = judge_more,
    .show_more = show_more,
    .show_heads = show_heads,
    .is_more_right = is_more_right,
    .follow_more = follow_more,
    .more_bytes = more_bytes,
};

static struct problem sizes(struct check* c, int64_t N_q, int64_t N_k, bool causal,
                            struct pooling* pooling) {
    struct problem p = problem_of(c, &contract, N_q, N_k, causal);
    p.own = pooling;
    return p;
}

// A case of random data, with the size of its pools in its name.
static void judge(struct problem p, enum layout layout, const char* what, int judged) {
    char text[80];
    snprintf(text, sizeof text, ", pool = %d%s", (int)pooling_of(&p)->pool, what);
    forward_case(p, layout, text, judged);
}

// The same with one head and packed arrays.
static void judge_pools(struct check* c, int64_t N_q, int64_t N_k, bool causal, int64_t pool,
                        const char* what, int judged) {
    judge(sizes(c, N_q, N_k, causal, &(struct pooling){.pool = pool}), PACKED, what, judged);
}

// ---- items ---------------------------------------------------------------------------------

// Two blocks of 128 queries, or more of fewer, and two rounds of 64 keys. The last block has less
// than all its pools.
static void several_in_a_tile(struct check* c) {
    // Of 12 keys a half of 8 belongs to the next pool, of 20 as well.
    const int64_t pool[] = {1, 3, check_pick(c, 5, 7), 12, check_pick(c, 17, 31)};
    for (size_t n = 0; n < sizeof pool / sizeof pool[0]; n++) {
        int64_t N_q = 130 + check_pick(c, 0, 20), N_k = 66 + check_pick(c, 0, 10);
        judge_pools(c, CEIL_DIV(N_q, pool[n]) * pool[n], CEIL_DIV(N_k, pool[n]) * pool[n], false,
                    pool[n], "", JUDGE_O);
    }
}

static void large_pools(struct check* c) {
    int64_t pool = 68 + 8 * check_pick(c, 0, 1);
    judge_pools(c, 128, 192, false, 64, "", JUDGE_O);
    judge_pools(c, 2 * pool, 2 * pool, false, pool, "", JUDGE_O);
    pool = check_pick(c, 48, 63) * 2 + 1;  // its square has more bits than 11
    judge_pools(c, pool, 2 * pool, false, pool, "", JUDGE_O);
    // The most that a block has to hold.
    judge(with_d(sizes(c, 256, 128, false, &(struct pooling){.pool = 128}), 128), PACKED, "",
          JUDGE_O);
    // A pool larger than all keys, but not than all queries; in another item the other way round.
    judge_pools(c, 44, 20, false, 24, ", and not full", JUDGE_O);
}

// Short tails, which weigh most: of the queries, of the keys, of both.
static void ragged(struct check* c) {
    int64_t rest = check_pick(c, 1, 5);
    judge_pools(c, 128 + rest, 48, false, 8, "", JUDGE_O);
    judge_pools(c, 48, 64 + rest, false, 8, "", JUDGE_O);
    judge_pools(c, 16 + rest, 35, false, 8, "", JUDGE_O);
    judge_pools(c, 1, 20, false, 16, "", JUDGE_O);
    judge_pools(c, 17, 1100, false, 8, "", JUDGE_O);
    struct problem p = sizes(c, 1, 2, false, &(struct pooling){.pool = 1});
    attention_reaches(with_heads(p, 1, 4), REACH_MOST - check_pick(c, 0, 9));
    attention_most_heads(sizes(c, 16, 16, false, p.own));
}

static void masked(struct check* c) {
    judge_pools(c, 144, 144, true, 8, "", JUDGE_O);
    struct pooling pooling = {.pool = 16};
    struct problem p = sizes(c, 32, 32 + 16 * check_pick(c, 1, 3), true, &pooling);
    judge(with_flag(p, INT32_MIN), PACKED, "", JUDGE_O);
    judge_pools(c, 144, 144 + 4 * check_pick(c, 1, 3), true, 4,
                ": the diagonal crosses two tiles of a block", JUDGE_O);
    // The first row of each tile of queries lacks one key of a whole tile of keys.
    forward_case_growing(sizes(c, 144, 144 + 126, true, &pooling), PACKED,
                         ", pool = 16: one key less than whole tiles", 4, 1);
    judge_pools(c, 1, 27, true, 8, ": one query sees all", JUDGE_O);
    // The corners of the mask are no corners of pools.
    judge_pools(c, 132, 132 + check_pick(c, 2, 6), true, 10,
                ": the diagonal is no pool's, and no tile ends with a pool", JUDGE_O);
    // Large pools: the mask ends shortly behind one, in its first tile of keys and in its second.
    int64_t pool = check_pick(c, 17, 31);
    judge_pools(c, 40, 2 * pool + check_pick(c, 1, 5), true, pool, "", JUDGE_O);
    pool = check_pick(c, 90, 127);
    judge_pools(c, 100, pool + check_pick(c, 1, 5), true, pool, "", JUDGE_O);
    // More heads than pick_work() takes at a time, and some left, of several blocks.
    judge(with_heads(sizes(c, 136, 24, true, &pooling), 1, 17), PACKED, "", JUDGE_O);
    judge(with_heads(sizes(c, 136, 136, true, &pooling), 1, 3), PACKED, ": several blocks",
          JUDGE_O);
}

static void empty_rows(struct check* c) {
    judge_pools(c, 64, 8 * (2 * check_pick(c, 1, 3) + 1), true, 8, "", JUDGE_O | JUDGE_LSE);
    // A pool of which some queries see nothing, and the others see keys.
    judge_pools(c, 46, 44, true, 4, "", JUDGE_O | JUDGE_LSE);
    // More pools that no query of a block sees than the block has threads.
    judge_pools(c, 128 + 132, 132, true, 1, "", JUDGE_O | JUDGE_LSE);
}

static void heads(struct check* c) {
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, 32, 48, false, &pooling);
    p.B = check_pick(c, 2, 3);
    p.H = check_pick(c, 2, 3);
    judge(p, PACKED, "", JUDGE_O);
    judge(with_heads(sizes(c, 16, 16, false, &pooling), 34, 2), PACKED, "", JUDGE_O);
}

static void strides(struct check* c) {
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, 32, 48, false, &pooling);
    p.B = 2;
    for (enum layout layout = GAPS; layout < LAYOUTS; layout++) {
        p.H = check_pick(c, 2, 3);
        judge(p, layout, "", JUDGE_O);
    }
    p.H = 2;
    judge(p, ONE_BATCH, "", JUDGE_O);
    // A second block of queries, a whole one, and a second tile of keys.
    p.N_q = 256;
    p.N_k = 80;
    if (check_can_be_far(c)) judge(p, FAR, "", JUDGE_O);
    // Pools of more keys than a tile.
    struct pooling large = {.pool = 72};
    judge(with_heads(sizes(c, 72, 72, false, &large), 2, 2), GAPS, "", JUDGE_O);
    // A single query may have a kernel of its own.
    p.N_q = 1;
    judge(p, GAPS, "", JUDGE_O);
}

// The kernel of wide heads is another.
static void wide_heads(struct check* c) {
    struct pooling pooling = {.pool = 8};
    judge(with_d(sizes(c, 48, 80, false, &pooling), 128), PACKED, "", JUDGE_O);
    struct problem p = with_heads(sizes(c, 48, 96, true, &pooling), 2, 2);
    judge(with_nan_gaps(with_d(p, 128)), GAPS, "", JUDGE_O);
}

static void hard_scores(struct check* c) {
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, 48, 48, true, &pooling);
    forward_case_large(sizes(c, 48, 48, false, &pooling),
                       ", pool = 8, scores of 30 times the usual size");
    // The last keys that a row sees have all the weight: the weight of earlier keys is negligible.
    forward_case_growing(p, PACKED, ", pool = 8, scores that grow from key to key", 2, 150);
    // -10000 is no -infinity beside these.
    forward_case_integers(p, ", pool = 8, scores around -20000", -160, 1000);
    // P = exp(S - LSE) has the digits of LSE: no scores are as low as in lesson 14.
    forward_case_below(p, -0x1p17);
    forward_case_exact(sizes(c, 16, 1024, false, &pooling));
    forward_case_divided(sizes(c, 16, 64, false, &pooling));
    forward_case_faint(sizes(c, 16, 512, false, &pooling));
}

static void logsumexp(struct check* c) {
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, 32, 32, true, &pooling);
    p.B = 2;
    p.H = check_pick(c, 2, 3);
    judge(p, PACKED, "", JUDGE_LSE);
    forward_case_one_weighs(sizes(c, 32, 64, false, &pooling));
}

static void fill_after(struct problem* p, int round) {
    pooling_of(p)->R = check_tensor(p->check, "R");
    check_vary(p->check, "pool", round, pooling_of(p)->pool);
    forward_fill(p);
}

static void after_other_sizes(struct check* c) {
    struct pooling small = {.pool = 8}, pooling = {.pool = 16};
    struct problem first = sizes(c, 16, 32, false, &small);
    struct problem p = with_d(sizes(c, 144, 48, false, &pooling), 128);
    forward_case_after(p, first, fill_after);
}

static void judge_atomics(struct check* c, const struct pooling* pooling) {
    check_at_most(c, CAUSE_not_repeatable, "atomic operations for each element of R",
                  (double)check_traffic(c)->atomics / (double)pooling->R->count, 0.1);
}

// New data in the same arrays; then the same inputs in every head and in two calls.
static void again(struct check* c) {
    enum { HEADS = 12, N = 32, d = 64 };
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, N, N, false, &pooling);
    forward_again(p, "N_q = N_k = 32, pool = 8", NULL);
    after_other_sizes(c);

    p.H = HEADS;
    check_case(c, "%d heads and two calls of the same inputs, N_q = N_k = %d, pool = 8", HEADS, N);
    check_rounds(c, 2);
    problem_declare(&p, PACKED);
    double one[3][N][d];
    for (int a = 0; a < 3; a++)
        for (int n = 0; n < N; n++)
            for (int x = 0; x < d; x++) one[a][n][x] = check_normal(c);
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        for (int a = 0; a < 3; a++)
            for (int64_t n = 0; n < N; n++)
                for (int64_t h = 0; h < HEADS; h++)
                    memcpy(row_of(&p, (enum which)(ARRAY_Q + a), 0, h, n), one[a][n],
                           sizeof one[a][n]);
    }
    check_run(c);
    check_round(c, 0);
    forward_judge(&p, JUDGE_O);
    struct tensor* R = pooling.R;
    int64_t size = R->count / HEADS;
    double first[(N / 8) * (N / 8)];
    memcpy(first, R->got, sizeof first);
    pooling.repeating = true;
    for (int r = 0; r < 2; r++) {
        check_round(c, r);
        for (int64_t e = 0; e < R->count; e++) R->want[e] = first[e % size];
        check_compare(c, R, budget_exact());
    }
    pooling.repeating = false;

    // Where blocks or threads take turns by chance: sums by atomicAdd. Pools of 8 may be one piece.
    check_watch(c, WATCH_PROFILE);
    p.H = 1;
    pooling.pool = check_pick(c, 5, 7);
    judge(p, PACKED, "", JUDGE_O);
    judge_atomics(c, &pooling);
}

static void arguments(struct check* c) {
    static const struct idle_call bad[] = {
        {COURSE_UNSUPPORTED, {{"pool", 129}}},
        PROBLEM_UNSUPPORTED(80),
        {COURSE_BAD_ARGUMENT, {{"pool", 0}}},
        {COURSE_BAD_ARGUMENT, {{"pool", -1}}},
        {COURSE_BAD_ARGUMENT, {{"R", 0}}},
        PROBLEM_ORDER(80),
        {COURSE_BAD_ARGUMENT, {{"pool", 129}, {"N_q", -1}}},
        {COURSE_BAD_ARGUMENT, {{"pool", 129}, {"H", -1}}},
        {COURSE_BAD_ARGUMENT, {{"pool", 129}, {"d", 0}}},
        {COURSE_UNSUPPORTED, {{"pool", 129}, {"H", 0}}},
        {COURSE_UNSUPPORTED, {{"pool", 129}, {"V", 0}}},
        {COURSE_BAD_ARGUMENT, {{"R", 0}, {"stride_v.n", 68}}},
        {0},
    };
    struct pooling pooling = {.pool = 8};
    struct problem p = sizes(c, 32, 32, false, &pooling);
    forward_arguments(p, bad);
    problem_bad_arguments(p, (struct strides){.n = 63, .h = -64, .b = -512});
    problem_strides_refused(p, COURSE_UNSUPPORTED, (struct strides){.n = 68, .h = 100, .b = 4100});
    problem_misaligned_refused(p);
    forward_no_keys(sizes(c, 16, 0, false, &pooling));
}

// Every array ends in a tile and a pool that are not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 64 + check_pick(c, 9, 15);
    for (int causal = 0; causal < 2; causal++) {
        struct pooling pooling = {.pool = causal ? 8 : 16};
        struct problem p = sizes(c, N, N, causal, &pooling);
        p.H = 2;
        judge(p, PACKED, "", JUDGE_O);
    }
    // The largest block.
    struct pooling large = {.pool = 64};
    judge(with_d(sizes(c, 100, 150, false, &large), 128), PACKED, "", JUDGE_O);
    // Blocks of queries that see nothing, 6 of 128, and no other such query: copies for nobody.
    struct pooling small = {.pool = 8};
    judge(sizes(c, 768 + 40, 40, true, &small), PACKED, "", JUDGE_O);
    // R is aligned to its elements alone, also where it gets nothing but zeros. The first block
    // ends amid the keys that a tile has, and behind that tile there are more.
    struct problem p = sizes(c, 216, 224, true, &small);
    forward_begin(&p, PACKED, ", pool = 8, R begins 1 element later");
    check_begin_later(small.R, 1);
    check_run(c);
}

// The bytes of K and V that a case reads: all but Q in both passes, and LSE in each of the four
// lanes that share a row. Its outputs are written once.
static double read_in(struct problem p, enum layout layout) {
    struct check* c = p.check;
    const struct pooling* pooling = pooling_of(&p);
    const double d = (double)p.d, queries = (double)(p.B * p.H * p.N_q);
    char text[40];
    snprintf(text, sizeof text, ", pool = %d", (int)pooling->pool);
    check_watch(c, WATCH_PROFILE);
    forward_begin(&p, layout, text);
    if (layout != PACKED) problem_skips_unseen(&p);  // nobody has to read gaps
    forward_run(&p, JUDGE_O);
    const struct arena_traffic* t = check_traffic(c);
    judge_atomics(c, pooling);  // of pools of other sizes than in the item about them
    double outputs = (2 * d + 4) * queries + 4 * (double)pooling->R->count;
    check_kept(c, CAUSE_quadratic_memory, "query", queries, d, 7000);
    check_at_most(c, CAUSE_too_much_written, "bytes written for each byte of O, LSE and R",
                  (double)(t->global_store_bytes + t->filled_bytes) / outputs, 1);
    return (double)t->global_load_bytes - (4 * d + 16) * queries;
}

static double bytes_of_K_and_V(struct check* c, int64_t N_q, int64_t N_k, bool causal,
                               int64_t pool) {
    return read_in(sizes(c, N_q, N_k, causal, &(struct pooling){.pool = pool}), PACKED);
}

// What a launcher may have other kernels for: d = 128, large pools, several heads, rows with gaps.
// One tile of queries reads K twice and V once; a second pass that walks over queries reads them
// again for each 32 keys.
static void cheap_with_gaps(struct check* c) {
    struct pooling pooling = {.pool = 120};
    struct problem p = with_heads(with_d(sizes(c, 8, 120, true, &pooling), 128), 1, 2);
    check_at_most(c, CAUSE_too_much_read,
                  "times that K and V are read, both counted, of wide heads with gaps",
                  read_in(p, GAPS) / (2 * (double)(p.B * p.H * p.d * p.N_k)), 3.4);
}

// Queries that see nothing lie in tiles of their own, but for the last of them, where heads are
// wide and pools are large, too.
static void nothing_unseen_elsewhere(struct check* c) {
    enum { KEYS = 64, UNSEEING = 448 };
    struct pooling pooling = {.pool = 72};
    const double few = read_in(with_d(sizes(c, KEYS, KEYS, true, &pooling), 128), PACKED);
    const struct problem p = with_d(sizes(c, UNSEEING + KEYS, KEYS, true, &pooling), 128);
    judge_unseen_reads(c, few, read_in(p, PACKED));
}

// The first pass reads K and V once per tile of queries, the second reads K: three arrays. Tiles of
// 8 queries are allowed. With a mask both leave out the queries that see nothing and end at the
// diagonal. What the tiles of the same kernel read if nothing is hidden is seen where all queries
// see more keys. Of that a third is left in tiles of 128 queries if 320 of 384 queries see nothing,
// with smaller tiles less. Of N queries that see N keys (N + n) / 2N are left in tiles of n queries
// and n keys; keys may be loaded 64 at a time. LSE may be loaded for each tile. If only the first
// pass ends at the diagonal, it is 0.67 and more, for n = 128 0.83.
static void cheap(struct check* c) {
    enum { N = 256, FEW = 384, MORE = 64, SMALLEST_TILE = 8 };
    const double of_a_key = 2 * (double)contract.d;  // in one of the three arrays
    cheap_with_gaps(c);
    double masked = bytes_of_K_and_V(c, N, N, true, 4);
    double seen = (bytes_of_K_and_V(c, N, N + MORE, true, 4) - masked) / (of_a_key * MORE);
    check_at_most(c, CAUSE_too_much_read, "times that keys are read that all queries see", seen,
                  3.0 * N / SMALLEST_TILE);
    // A launch is one pass, unless there is only one.
    if (check_traffic(c)->launches > 1) check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    double tile = fmax(64, 3 * N / seen);
    check_at_most(c, CAUSE_masked_read, "share of K and V that is read in spite of the mask",
                  masked / (of_a_key * N * seen), (N + tile) / (2 * N) + 0.02);
    // Several heads and batches, for which a launcher may have another kernel.
    struct pooling small = {.pool = 4};
    const struct problem several =
        with_heads(sizes(c, FEW, MORE, true, &small), 2, check_pick(c, 3, 4));
    double few_see = read_in(several, PACKED) / (of_a_key * MORE * (double)(several.B * several.H));
    check_at_most(c, CAUSE_masked_read, "share of K and V that is read though few queries see it",
                  seen > 0 ? few_see / (seen * FEW / N) : INFINITY, 0.37);
    // As forward_long_rows(), with R of 4 x 1032; and with large pools.
    enum { LONG = 4128 };
    double read = bytes_of_K_and_V(c, 2 * SMALLEST_TILE, LONG, false, 4);
    check_at_most(c, CAUSE_too_much_read, "times that many keys and values are read, both counted",
                  read / (of_a_key * LONG), 3.0 * 2);
    check_loaded_once(c, "V");
    bytes_of_K_and_V(c, 32, 1024, false, 32);
    // Small pools share a tile of queries.
    read = bytes_of_K_and_V(c, 2 * SMALLEST_TILE, N, false, 1);
    check_at_most(c, CAUSE_too_much_read,
                  "times that K and V are read, both counted, of pools of 1", read / (of_a_key * N),
                  3.0 * 2);
    // One tile of queries. A pool's last tile of keys is no whole one: what is behind it belongs to
    // the next pool.
    read = bytes_of_K_and_V(c, SMALLEST_TILE, FEW, false, 100);
    check_at_most(c, CAUSE_too_much_read,
                  "times that K and V are read, both counted, of pools of 100",
                  read / (of_a_key * FEW), 3.1);
    nothing_unseen_elsewhere(c);
}

// Whole tiles, and tiles that are not full with the other head dimension. A product of the second
// pass shows in R: it has to follow from what mma.sync makes. For few queries, a mask and large
// pools a launcher may have other kernels.
static void on_tensor_cores(struct check* c) {
    struct pooling pooling = {.pool = 16}, uneven = {.pool = check_pick(c, 5, 11)};
    forward_by_mma(sizes(c, 64, 128, false, &pooling));
    int64_t N = 64 + check_pick(c, 1, 15);
    forward_by_mma(with_d(sizes(c, N, N + 3, false, &uneven), 128));
    struct pooling large = {.pool = check_pick(c, 65, 79)};
    forward_by_mma(sizes(c, check_pick(c, 2, 7), check_pick(c, 20, 60), true, &large));
}

static const struct item items[] = {
    {6, "several pools in a tile", several_in_a_tile},
    {6, "large pools", large_pools},
    {5, "pools at the end", ragged},
    {7, "causal", masked},
    {4, "queries that see no key", empty_rows},
    {4, "heads and batches", heads},
    {3, "strides", strides},
    {3, "d = 128", wide_heads},
    {3, "hard scores", hard_scores},
    {3, "LSE", logsumexp},
    {3, "called again, and the same bits", again},
    {2, "empty inputs and bad arguments", arguments},
    {3, "no races, no stray accesses", safe},
    {8, "the tensor cores make all products", on_tensor_cores},
    {40, "K twice, V once, R once, nothing hidden", cheap},
    {0},
};

const struct lesson lesson = {
    .name = "20_pooled_scores",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "pooled weights without weights: two passes, nothing of N x N",
             .paid_by = {cheap},
             .naive = "solutions/20_pooled_scores/steps/1_store_P.cu"},
    .explain = explain_pooling};
