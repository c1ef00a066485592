// check.c: lesson 16, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. d is 64 in all
// items except the first.
#include <string.h>

#include "attention/backward_cases.h"
#include "attention/backward_mistakes.h"
#include "attention/reach.h"
#include "flash_backward_split.h"
#include "wall/arena.h"

static int64_t workspace_bytes(const struct problem* p) {
    return (int64_t)flash_backward_split_workspace_bytes((int)p->B, (int)p->N_q, (int)p->H);
}

// Rows begin at multiples of 16 bytes: gaps are multiples of 8 elements.
static const struct contract contract = {.backward = true,
                                         .dtype = BF16,
                                         .rounded_weights = true,
                                         .d = 64,
                                         .gap = {16, 24, 40, 48, 8, 56, 32, 64},
                                         .workspace_bytes = workspace_bytes};

static struct problem all_keys(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, false);
}

static struct problem causal(struct check* c, int64_t N_q, int64_t N_k) {
    return problem_of(c, &contract, N_q, N_k, true);
}

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    backward_case(all_keys(c, 64, 128));
    backward_case(with_d(all_keys(c, 128, 64), 128));
}

static void any_length(struct check* c) {
    int64_t N_q[LENGTHS], N_k[LENGTHS];
    pick_lengths(c, N_q, N_k);
    for (int n = 0; n < LENGTHS; n++) backward_case_of_length(all_keys(c, N_q[n], N_k[n]));
    backward_case(all_keys(c, 1090, 17));
    backward_case(all_keys(c, 17, 1090));
    int64_t few_keys = check_pick(c, 2, 4), few_queries = check_pick(c, 2, 3);
    backward_case_tested(all_keys(c, few_queries, few_keys));
    // What is kept for each pair of a query and a key shows, too.
    check_watch(c, WATCH_PROFILE);
    for (int many_keys = 0; many_keys <= 1; many_keys++) {
        struct problem p = all_keys(c, many_keys ? 17 : 321, many_keys ? 577 : 17);
        backward_case(p);
        problem_traffic(&p);
    }
}

// N_q and N_k differ by two at least: so an index off by one differs from a wrong corner.
static void masked(struct check* c) {
    backward_case_growing(causal(c, 128, 128));
    backward_case_named(with_flag(causal(c, 64, 128 + 2 * check_pick(c, 1, 31)), INT32_MIN), PACKED,
                        ": the diagonal is no tile's");
    backward_case_named(causal(c, 1, 35), PACKED, ": one query sees all");
    backward_case_one_key_less(causal(c, 130, 130 + 126));
    // More heads than pick_work() takes at a time, and some left; of several blocks, too.
    backward_case(with_heads(causal(c, 17, 17), 35, 1));
    backward_case_named(with_heads(causal(c, 130, 130), 1, 17), PACKED, ": several blocks");
    // On a card with more memory the kernel of wide heads may be another.
    backward_case(on_card(with_d(causal(c, 130, 70), 128), "h100"));
}

static void unseen(struct check* c) {
    backward_case(causal(c, 128, check_pick(c, 33, 62)));
    // A block of 128 queries sees nothing, of no head.
    backward_case_named(with_heads(causal(c, 160, 24), 2, 2), GAPS, "");
}

// The scales that mistakes would make of these (no scale, its square, without log2(e)) lie far
// apart.
static void heads(struct check* c) {
    static const double factors[] = {0.45, 0.6};
    struct problem p = with_heads(all_keys(c, 64, 64), 2, check_pick(c, 2, 3));
    backward_case(with_scale(p, factors[check_pick(c, 0, 1)]));
    backward_case(with_scale(with_heads(all_keys(c, 17, 17), 5, 4), -0.8));
    backward_case(with_scale(all_keys(c, 33, 65), 0));
    attention_most_heads(causal(c, 16, 16));
}

static void strides(struct check* c) {
    const struct problem p = with_heads(all_keys(c, 64, 64), 2, 2);
    const struct problem masked = with_heads(causal(c, 64, 64), 2, 2);
    backward_case_named(with_d(p, 128), GAPS, "");
    backward_case_named(p, SHARED, "");
    backward_case_named(with_heads(all_keys(c, 17, 17), 2, 2), ONE_BATCH, "");
    backward_case(with_unused_strides(all_keys(c, 17, 17)));
    backward_case_named(with_scale(masked, 0.6), MIXED, "");
    backward_case_far(with_heads(all_keys(c, 64, 64), 2, 2));
    // A single query may have a kernel of its own.
    backward_case_named(with_heads(all_keys(c, 1, 64), 2, 2), GAPS, "");
}

static void extreme(struct check* c) {
    backward_case_large_scores(causal(c, 64, 64));
    backward_case_level(all_keys(c, 64, 71), 120);
    backward_case_level(all_keys(c, 64, 71), -130);
    backward_case_level(all_keys(c, 70, 64), -130);
    backward_case_level(all_keys(c, 64, 71), 6000);
    backward_case_lowest(all_keys(c, 64, 1));
}

static void gradients_of_any_size(struct check* c) {
    backward_case_large_dP(all_keys(c, 64, 64));
    backward_case_faint(all_keys(c, 32, 64));
    backward_case_cancel(all_keys(c, 128, 64), 64, 0, 64, 64, 0);
    backward_case_cancel_keys(all_keys(c, 64, 256), 64, 0);
    backward_case_rounded_once(all_keys(c, 64, 64));
    backward_case_alike(all_keys(c, 64, 255));  // bf16 rounds 1 / 255 up by 0.4 %
    backward_case_rounded_once(with_d(causal(c, 64, 128), 128));
}

// Sums by atomicAdd, at least one to each element of dQ, are in the order of chance.
static void judge_atomics(const struct problem* p, const struct arena_traffic* t) {
    check_at_most(p->check, CAUSE_not_repeatable, "atomic operations for each element of dQ",
                  (double)t->atomics / (double)(p->N_q * p->d), 0.1);
}

// HEADS heads have the same inputs, in CALLS calls: as many results, and all of them the same bits.
// Each query sees the keys of several blocks.
static void repeatable(struct check* c) {
    enum { HEADS = 12, CALLS = 2 };
    backward_case(all_keys(c, 64, 130));

    struct problem p = with_heads(all_keys(c, 32, 130), 1, HEADS);
    problem_name(&p, PACKED, ", all heads and calls with the same inputs");
    check_rounds(c, CALLS);
    problem_declare(&p, PACKED);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        backward_fill(&p);
        backward_spread_keys(&p, 512, 0);
        for (enum which a = ARRAY_Q; a <= ARRAY_dO; a++) {
            const double* first = check_values_of(p.array[a].tensor, 0);
            for (int64_t n = 0; n < rows_of(&p, a); n++)
                for (int64_t h = 0; h < HEADS; h++)
                    memmove(row_of(&p, a, 0, h, n), first + place_in(&p, a, 0, 0, n),
                            (size_t)p.d * sizeof(double));
        }
        backward_forward(&p);
    }
    check_run(c);
    for (enum which a = ARRAY_dV; a >= ARRAY_dQ; a--) {
        struct tensor* t = p.array[a].tensor;
        check_round(c, 0);
        const double* first = t->got;
        for (int call = 0; call < CALLS; call++) {
            check_round(c, call);
            for (int64_t e = 0; e < t->count; e++)  // as in head 0 of the first call
                t->want[e] = first[e / (HEADS * p.d) * HEADS * p.d + e % p.d];
            check_compare(c, t, budget_exact());
        }
    }

    // Where blocks take turns by chance alone.
    struct problem summed = all_keys(c, 32, 130);
    check_watch(c, WATCH_PROFILE);
    backward_case(summed);
    judge_atomics(&summed, check_traffic(c));
}

static void again(struct check* c) {
    backward_case_again(all_keys(c, 64, 64), 3, NULL);
    struct problem last = with_heads(with_d(all_keys(c, 64, 72), 128), 1, 2);
    backward_case_after(last, causal(c, 64, 64));
}

static void arguments(struct check* c) {
    // What comes first in the contract's list counts.
    static const struct idle_call others[] = {
        {COURSE_UNSUPPORTED, {{"d", 80}}},
        {COURSE_BAD_ARGUMENT, {{"d", 80}, {"N_k", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"stride_q.n", 68}, {"Q", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 80}, {"B", 0}}},
        {COURSE_BAD_ARGUMENT, {{"B", 0}, {"stride_k.n", 8}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}, {"stride_k.n", 68}}},
        {COURSE_OK, {{"H", 0}, {"stride_o.n", 68}, {"dK", 0}}},
        {0},
    };
    const struct problem p = all_keys(c, 64, 64);
    check_ordinary(c);
    backward_case(p);
    backward_cases_empty(with_heads(p, 2, 2));
    problem_bad_arguments(p, (struct strides){.n = 56, .h = -64, .b = -64});
    problem_strides_refused(p, COURSE_UNSUPPORTED, (struct strides){.n = 68, .h = 100, .b = 4100});
    problem_refused(p, others);
    problem_misaligned_refused(p);
    problem_too_many_heads(p);
    problem_many_keys(p);
    problem_most_heads(p);
    problem_launches_fail(p);
    backward_on_two_devices(with_d(p, 128), "h100", COURSE_OK);
}

// Every array ends in a tile that is not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 64 + pick_ragged(c, 33, 63, 8);
    struct problem p = all_keys(c, 104, 72);
    p.later = 1u << ARRAY_LSE;  // which is aligned to its elements alone
    backward_case(p);
    backward_case(with_d(causal(c, N, N), 128));
    backward_accesses(with_drawn_heads(all_keys(c, check_pick(c, 9, 24), 17)));
    backward_accesses(causal(c, 160, 24));  // 128 queries see nothing: copies for nobody
    backward_case_empty(all_keys(c, 0, 24));
    // The kernels of wide heads are others, those of a card with more memory than the grade's, too.
    backward_accesses(with_d(causal(c, 136, 8), 128));
    p = with_d(all_keys(c, 0, 24), 128);
    backward_case_empty(p);
    backward_case_empty(on_card(p, "h100"));
}

// ---- costs, each of kernels that multiply on the tensor cores

// Both head dimensions, with and without a mask; whole tiles, and tiles that are not full; several
// heads.
static void on_tensor_cores(struct check* c) {
    int64_t N = 32 + pick_ragged(c, 2, 29, 8);
    const struct problem cases[] = {with_drawn_heads(all_keys(c, check_pick(c, 9, 16), 19)),
                                    causal(c, N, N + 2), with_d(all_keys(c, 64, 64), 128),
                                    with_d(causal(c, N, N + 2), 128)};
    for (int n = 0; n < 4; n++) {
        backward_by_mma(cases[n]);
        backward_by_mma_of_dO(cases[n]);
    }
}

// The bytes of a judged case but for what any kernel reads once: all inputs, O and dO for delta,
// and LSE and delta for dQ.
static double read_again(const struct problem* p) {
    const struct arena_traffic* t = problem_traffic(p);
    judge_atomics(p, t);  // they read what they add to
    double once = 4.0 * (double)p->d * (double)(p->N_k + 2 * p->N_q) + 8 * (double)p->N_q;
    judge_mma_count(p, t);
    // Lanes that ask for the same LSE or delta get it from one sector of 32 bytes.
    return fmin((double)t->global_load_bytes, 32.0 * (double)t->global_load_sectors) - once;
}

static double read_by(struct problem p) {
    check_watch(p.check, WATCH_PROFILE);
    backward_case(p);
    return read_again(&p);
}

// Few queries, many keys. The gradients and delta are stored once.
static void loaded_and_stored_once(struct problem p) {
    struct check* c = p.check;
    const double rows = (double)(p.N_q + 2 * p.N_k),
                 stored = 2 * (double)p.d * rows + 4 * (double)p.N_q;
    backward_case(p);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    check_at_most(c, CAUSE_too_much_written, "times that dQ, dK, dV and delta are stored",
                  (double)check_traffic(c)->global_store_bytes / stored, 1.01);
}

// A case of what a launcher may have other kernels for: tiles that are not full, more keys than
// queries, rows with gaps, several heads. Returns how many these are.
static int64_t run_elsewhere(struct check* c) {
    struct problem p = with_drawn_heads(causal(c, 17, 33));
    check_watch(c, WATCH_PROFILE);
    problem_begin(&p, GAPS, "");
    problem_skips_unseen(&p);  // nobody has to read gaps
    backward_fill(&p);
    backward_run(&p);
    judge_mma_count(&p, problem_traffic(&p));
    return p.B * p.H;
}

// Each block of keys reads Q and dO of the queries that see it; each block of queries K and V of
// the keys that it sees: with blocks of n both, N / n times all four. With a mask (N + n) / 2N of
// them are seen: 0.75 for n = 128, and 0.87 if one of the two kernels leaves nothing out.
static void nothing_unseen(struct check* c) {
    enum { N = 256, SMALLEST_BLOCK = 32 };
    const double of_rows = 8.0 * (double)contract.d + 8;  // of Q, K, V and dO, with LSE and delta
    const double with_statistics = 1.25;  // each warp may ask for LSE and delta itself
    const struct problem all = all_keys(c, N / 2, N / 2);
    backward_by_mma(all);
    check_at_most(c, CAUSE_too_much_read, "times that Q, K, V and dO are read",
                  read_again(&all) / (of_rows * N / 2), with_statistics * N / 2 / SMALLEST_BLOCK);
    double masked = read_by(causal(c, N, N)), more = read_by(causal(c, N, N + MORE_KEYS));
    judge_masked_reads(c, N, masked, more, 0.79);
    check_at_most(c, CAUSE_too_much_read, "times that rows are read for keys that all queries see",
                  (more - masked) / (of_rows * N), with_statistics * MORE_KEYS / SMALLEST_BLOCK);

    // Few queries, many keys; few keys, many queries. What there is much of is loaded once by a
    // block of either kernel, even if it loads the few for each tile of the many.
    loaded_and_stored_once(all_keys(c, SMALLEST_BLOCK, N));
    loaded_and_stored_once(with_d(all_keys(c, SMALLEST_BLOCK, N / 2), 128));
    backward_case(all_keys(c, N, SMALLEST_BLOCK));
    check_loaded_once(c, "Q");
    check_loaded_once(c, "dO");
    run_elsewhere(c);
    check_loaded_once(c, "K");
    check_loaded_once(c, "V");
    double few = read_by(with_d(causal(c, 64, 64), 128));
    judge_unseen_reads(c, few, read_by(with_d(causal(c, 1024, 64), 128)));

    // A walk over hidden queries, which would take hours here, was found above.
    check_watch(c, WATCH_NONE);
    attention_reaches(with_heads(causal(c, 1, 16), 2, 4), (1 << 29) - check_pick(c, 0, 9));
    attention_reaches(causal(c, 1, 16), REACH_MOST - check_pick(c, 0, 9));
    attention_reaches_keys(causal(c, 17, 1), REACH_MOST);
}

// Rows one below the other in the same banks cost seven wavefronts for each useful one. An mma
// whose operands no other shares takes 6; tiles may have four times the size of the case.
static void no_conflicts(struct check* c) {
    enum { N = 64 };
    for (int d = 64; d <= 128; d *= 2) {
        double mma = N * N * d / 2048.0;  // of one product
        backward_by_mma(with_d(all_keys(c, N, N), d));
        judge_conflicts(c, 4 * 6 * 7 * mma);
    }
    const double heads = (double)run_elsewhere(c);
    judge_conflicts(c, heads * 4 * 6 * 7 * N * N * 64 / 2048.0);
}

static const struct item items[] = {
    {8, "whole tiles, d = 64 and 128", whole_tiles},
    {7, "any number of queries and keys", any_length},
    {8, "causal", masked},
    {3, "queries that see no key", unseen},
    {4, "heads and batches, any scale", heads},
    {3, "strides", strides},
    {4, "large and very negative scores", extreme},
    {3, "gradients of any size", gradients_of_any_size},
    {12, "the same bits for the same inputs", repeatable},
    {2, "called again with new data", again},
    {2, "empty inputs and bad arguments", arguments},
    {4, "no races, no stray accesses", safe},
    {25, "the tensor cores make all five products", on_tensor_cores},
    {8, "nothing read that is not seen", nothing_unseen},
    {7, "no bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "16_flash_backward_split",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "the tensor cores make all five products",
             .paid_by = {on_tensor_cores, nothing_unseen, no_conflicts},
             .naive = "solutions/16_flash_backward_split/steps/1_split.cu"},
    .explain = backward_explain_products};
