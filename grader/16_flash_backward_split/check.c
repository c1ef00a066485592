// check.c: lesson 16, graded.
//
// Every item is about one thing, and its data are free of the other items' traps. All items compare dV,
// dK and dQ, in this order: a mistake in P shows in all three, one in dS in two. d is 64 in all but the
// first.
#include "check/check.h"

#include "flash_backward_split.h"
#include "wall/arena.h"

#define ELEMENT BF16
#define ROUNDED_WEIGHTS true
#define GAP 8  // 16 bytes: the contract promises that rows begin at a multiple
#define WORKSPACE_BYTES \
    (int64_t) flash_backward_split_workspace_bytes((int)now.B, (int)now.N_q, (int)now.H)
#include "attention/backward_cases.h"
#include "16_flash_backward_split/products.h"

// ---- items ---------------------------------------------------------------------------------

static void whole_tiles(struct check* c) {
    begin(c, 64, 128, 64, ALL_KEYS, "");
    fill_run_and_judge(c);
    begin(c, 128, 64, 128, ALL_KEYS, "");
    fill_run_and_judge(c);
}

// low..high, but no multiple of 8
static int64_t pick_ragged(struct check* c, int64_t low, int64_t high) {
    int64_t n = check_pick(c, low, high);
    return n % 8 ? n : n - 1;
}

// The last case is as small as the reference is tested at, against differences of the forward pass.
static void any_length(struct check* c) {
    // A multiple of 8 first: what takes elements from wrong places shows as such.
    const int64_t N_q[] = {72 + 16 * check_pick(c, 0, 1), 64 + pick_ragged(c, 2, 31), 33, 1, 17},
                  N_k[] = {128 + 8 * check_pick(c, 1, 3), 128 + pick_ragged(c, 2, 31), 64, 65, 2};
    for (size_t n = 0; n < sizeof N_k / sizeof N_k[0]; n++) {
        begin(c, N_q[n], N_k[n], 64, ALL_KEYS, "");
        fill_run_and_judge(c);
    }
    begin(c, check_pick(c, 2, 3), check_pick(c, 2, 4), 64, ALL_KEYS, "");
    fill(c);
    forward();
    test_reference();
    run_and_judge(c);
}

// N_q and N_k differ by two at least: what is one off is another mistake than a wrong corner.
static void causal(struct check* c) {
    begin(c, 128, 128, 64, CAUSAL, "");
    fill_run_and_judge(c);
    begin(c, 64, 128 + 2 * check_pick(c, 1, 31), 64, CAUSAL, ": the diagonal is no tile's");
    fill_run_and_judge(c);
}

static void unseen(struct check* c) {
    begin(c, 128, check_pick(c, 33, 62), 64, CAUSAL, "");
    fill_run_and_judge(c);
}

// The scales that mistakes would make of these (none of its own, its square, without log2(e)) lie far apart.
static void heads(struct check* c) {
    static const double factors[] = {0.45, 0.6};
    sizes(2, check_pick(c, 2, 3), 64, 64, 64, ALL_KEYS);
    now.scale = (double)(float)(now.scale * factors[check_pick(c, 0, 1)]);
    check_case(c, "B = 2, H = %d, N_q = N_k = 64, d = 64, scale = %.4g", (int)now.H, now.scale);
    declare(c, PACKED, &none);
    fill_run_and_judge(c);
}

static void strides(struct check* c) {
    static const struct {
        enum layout layout;
        const char* name;
    } layouts[] = {
        {GAPS, "gaps between heads and batches"},
        {HEADS_OUTSIDE, "arrays of (B, H, N, d)"},
        {SHARED, "all heads share their inputs: head stride 0"},
    };
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; n++) {
        sizes(2, 2, 64, 64, 64, ALL_KEYS);
        check_case(c, "B = 2, H = 2, N_q = N_k = 64, d = 64, %s", layouts[n].name);
        declare(c, layouts[n].layout, &none);
        fill_run_and_judge(c);
    }
}

// P is nearly one-hot; or all scores are near 120, or near -130, where exp(0 - LSE) is infinite: a key
// that does not exist must not count, not even times 0.
static void extreme(struct check* c) {
    begin(c, 64, 64, 64, CAUSAL, ", scores of 30 times the usual size");
    fill(c);
    grow_scores(30);
    run_and_judge(c);
    for (int sign = 1; sign >= -1; sign -= 2) {
        begin(c, 64, 71, 64, ALL_KEYS, sign > 0 ? ", scores near 120" : ", scores near -130");
        fill(c);
        shift_scores(sign > 0 ? 120 : -130);
        run_and_judge(c);
    }
}

static void gradients_of_any_size(struct check* c) {
    begin(c, 64, 64, 64, ALL_KEYS, ", dO of 4000 and V of 16 times the usual size");
    fill(c);
    fill_rows(c, ARRAY_dO, 4000);
    fill_rows(c, ARRAY_V, 16);
    fill_rows(c, ARRAY_Q, 1.0 / 16);
    fill_rows(c, ARRAY_K, 1.0 / 16);
    run_and_judge(c);
    begin(c, 128, 64, 64, ALL_KEYS, ", large dO that cancel");
    fill(c);
    cancel(64, 0, 64, 64);
    run_and_judge(c);
}

// HEADS heads have the same inputs: as many results, and all of them the same bits. Each query sees the keys of
// several blocks.
static void repeatable(struct check* c) {
    enum { HEADS = 100 };
    begin(c, 64, 130, 64, ALL_KEYS, "");
    fill_run_and_judge(c);

    sizes(1, HEADS, 32, 130, 64, ALL_KEYS);
    check_case(c, "%d heads of the same inputs, N_q = 32, N_k = 130, d = 64", HEADS);
    declare(c, PACKED, &none);
    fill(c);
    for (int a = 0; a <= ARRAY_dO; a++)
        for (int64_t n = 0; n < rows_of((enum which)a); n++)
            for (int64_t h = 1; h < HEADS; h++)
                memcpy(row_of((enum which)a, 0, h, n), row_of((enum which)a, 0, 0, n),
                       (size_t)now.d * sizeof(double));
    forward();
    check_run(c);
    repeating = true;
    for (int a = ARRAY_dV; a >= ARRAY_dQ; a--) {
        struct tensor* t = now.array[a].tensor;
        for (int64_t e = 0; e < t->count; e++)  // as in head 0
            t->want[e] = t->got[e / (HEADS * now.d) * HEADS * now.d + e % now.d];
        check_compare(c, t, budget_exact());
    }
    repeating = false;

    // Where blocks take turns by chance alone: sums by atomicAdd, at least one to each element of dQ.
    check_watch(c, WATCH_PROFILE);
    begin(c, 32, 130, 64, ALL_KEYS, "");
    fill_run_and_judge(c);
    check_at_most(c, CAUSE_not_repeatable, "atomic operations for each element of dQ",
                  (double)check_traffic(c)->atomics / (32.0 * 64), 0.1);
}

static void again(struct check* c) {
    enum { CALLS = 3 };
    sizes(1, 1, 64, 64, 64, ALL_KEYS);
    check_case(c, "N_q = N_k = 64, d = 64, new data in the same arrays");
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
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
    begin(c, 64, 64, 64, ALL_KEYS, "");
    fill_run_and_judge(c);
    const int64_t empty[][3] = {{0, 64, 64}, {1, 0, 64}, {1, 64, 0}};  // B, N_q, N_k
    for (size_t n = 0; n < sizeof empty / sizeof empty[0]; n++) {
        sizes(empty[n][0], 1, empty[n][1], empty[n][2], 64, ALL_KEYS);
        check_case(c, "B = %d, N_q = %d, N_k = %d", (int)now.B, (int)now.N_q, (int)now.N_k);
        declare(c, PACKED, &none);
        check_expect(c, COURSE_OK, CAUSE_empty_input);
        fill_run_and_judge(c);
    }
    const struct bad bad[] = {
        {"d", 80, COURSE_UNSUPPORTED},
        {"d", 0, COURSE_BAD_ARGUMENT},
        {"H", 65536, COURSE_UNSUPPORTED},
        {"N_k", -1, COURSE_BAD_ARGUMENT},
        {"stride_dk.n", 56, COURSE_BAD_ARGUMENT},
        {"stride_v.h", -64, COURSE_BAD_ARGUMENT},
        {"stride_q.n", 68, COURSE_UNSUPPORTED},
        {"stride_dv.h", 100, COURSE_UNSUPPORTED},
        {"O", 0, COURSE_BAD_ARGUMENT},
        {"dV", 0, COURSE_BAD_ARGUMENT},
        {"workspace", 0, COURSE_BAD_ARGUMENT},
    };
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        sizes(1, 1, 64, 64, 64, ALL_KEYS);
        check_case(c, "%s = %lld must be refused", bad[n].name, (long long)bad[n].value);
        declare(c, PACKED, &bad[n]);
        check_expect(c, bad[n].status, CAUSE_argument_check);
        check_run(c);
    }
}

// Every array ends in a tile that is not full, with a mask and without.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t N = 64 + pick_ragged(c, 33, 63);
    begin(c, 104, 72, 64, ALL_KEYS, "");
    fill_run_and_judge(c);
    begin(c, N, N, 128, CAUSAL, "");
    fill_run_and_judge(c);
}

// Bytes of global memory that one head cannot do without: all inputs once, O for delta alone.
static double once(void) {
    return 2.0 * (double)now.d * (double)(2 * now.N_k + 3 * now.N_q);
}

// Each block of keys reads Q and dO of the queries that see it; each block of queries K and V of the keys that it
// sees: with blocks of n both, N / n times all four. With a mask (N + n) / 2N of them are seen; 0.75 for n = 128.
// With what is read once, beyond once(), that is 0.78 of all; it is 0.89 if one of the two leaves nothing out.
static void cheap(struct check* c) {
    enum { N = 256, SMALLEST_BLOCK = 32 };
    double read[2], mma = 0;
    check_watch(c, WATCH_PROFILE);
    for (int mask = CAUSAL; mask >= ALL_KEYS; mask--) {
        begin(c, N, N, 64, (enum mask)mask, "");
        fill_run_and_judge(c);
        const struct arena_traffic* t = check_traffic(c);
        check_at_most(c, CAUSE_quadratic_memory, "bytes of memory per query beside the workspace",
                      (double)t->allocated_bytes / N, 4.0 * (double)now.d);
        read[mask] = (double)t->global_load_bytes - once();
        mma = (double)t->mma;
    }
    double products = 5.0 * N * N * (double)now.d;
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - mma * 2048 / products, 0);
    check_at_most(c, CAUSE_too_much_read, "times that Q, K, V and dO are read",
                  read[ALL_KEYS] / (8.0 * N * (double)now.d), N / SMALLEST_BLOCK);
    check_at_most(c, CAUSE_masked_read, "bytes read with a mask, of those without",
                  read[CAUSAL] / read[ALL_KEYS], 0.85);
}

// Rows one below the other in the same banks cost seven wavefronts for each useful one.
static void no_conflicts(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    begin(c, 64, 64, 64, ALL_KEYS, "");
    fill_run_and_judge(c);
    const struct arena_traffic* t = check_traffic(c);
    double lost = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to bank conflicts for each useful one",
                  all > lost ? lost / (all - lost) : 0, 0.1);
}

static const struct item items[] = {
    {12, "whole tiles, d = 64 and 128", whole_tiles},
    {11, "any number of queries and keys", any_length},
    {13, "causal", causal},
    {6, "queries that see no key", unseen},
    {7, "heads and batches, any scale", heads},
    {6, "strides", strides},
    {7, "large and very negative scores", extreme},
    {5, "gradients of any size", gradients_of_any_size},
    {10, "the same bits a hundred times", repeatable},
    {4, "called again with new data", again},
    {4, "empty inputs and bad arguments", arguments},
    {6, "no races, no stray accesses", safe},
    {5, "tensor cores, and nothing read that is not seen", cheap},
    {4, "no bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "16_flash_backward_split", .items = items, .explain = explain_products};
