// check.c: lesson 12, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: where rescaling
// is not the subject, the largest score of every row stands at key 0 (or among the first few);
// where the scale is not the subject, it is 1 / sqrt(d); and so on. All items but "LSE" compare O
// alone.
#include "attention/forward.h"
#include "attention/reach.h"
#include "wall/arena.h"

#include <stdio.h>

static const struct contract contract = {
    .no_heads = true,
    .dtype = F16,
    .d = 16,
    .gap = {[ARRAY_O] = 8, [ARRAY_Q] = 4, [ARRAY_K] = 6, [ARRAY_V] = 10},
    .LSE_gap = 12,
};

// ---- cases ---------------------------------------------------------------------------------

static struct problem sizes(struct check* c, int64_t B, int64_t N_q, int64_t N_k, int64_t d) {
    struct problem p = problem_of(c, &contract, N_q, N_k, false);
    p.B = B;
    problem_set_d(&p, d);
    return p;
}

// The usual case: sizes in its name, packed arrays.
static void begin(struct problem* p, const char* what) {
    check_case(p->check, "B = %d, N_q = %d, N_k = %d, d = %d%s", (int)p->B, (int)p->N_q,
               (int)p->N_k, (int)p->d, what);
    problem_declare(p, PACKED);
}

// 2^low .. 2^high
static int64_t pick_power(struct check* c, int low, int high) {
    return (int64_t)1 << check_pick(c, low, high);
}

// ---- data ----------------------------------------------------------------------------------

// Gives `key` the largest score of every row, by its column x.
static void put_maximum(struct problem* p, int64_t key, int64_t x) {
    set_column(p, ARRAY_Q, x, 1.0);
    set_column(p, ARRAY_K, x, 0.0);
    for (int64_t b = 0; b < p->B; b++) {
        double gap = 0;
        for (int64_t i = 0; i < p->N_q; i++)
            for (int64_t j = 0; j < p->N_k; j++)
                gap = fmax(gap, score(p, b, 0, i, j) - score(p, b, 0, i, key));
        row_of(p, ARRAY_K, b, 0, key)[x] = ceil(4 * (gap + 0.25) / p->scale) / 4;
    }
}

static void fill_plain(struct problem* p, int round) {
    (void)round;
    forward_fill(p);
    put_maximum(p, 0, 0);
}

static void plain(struct check* c, int64_t B, int64_t N_q, int64_t N_k, int64_t d) {
    struct problem p = sizes(c, B, N_q, N_k, d);
    begin(&p, "");
    fill_plain(&p, 0);
    forward_run(&p, JUDGE_O);
}

// Moves all scores of a row: of the first row by `shift`, of the next by 120, of the third not at
// all, and so on. fp16 holds both factors. An exp(S) without a maximum also spoils the rows moved
// by 120, and so differs from an m that starts too high.
static void shift_rows(struct problem* p, double shift) {
    const double shifts[] = {shift, 120, 0};
    set_column(p, ARRAY_K, 0, 4.0);
    for (int64_t i = 0; i < p->N_q; i++)
        row_of(p, ARRAY_Q, 0, 0, i)[0] = shifts[i % 3] / p->scale / 4;
}

// Compares O with a given budget.
static void judge_O(struct problem* p, struct budget budget) {
    check_run(p->check);
    forward_want(p);
    check_compare(p->check, p->array[ARRAY_O].tensor, budget);
}

// ---- items ---------------------------------------------------------------------------------

// Keys come in groups of 16, and the scores of a group have a level of their own: this much more
// than the group before, or with 0 any level.
static void fill_levels(struct problem* p, double step) {
    forward_fill(p);
    set_column(p, ARRAY_Q, 0, 1);
    for (int64_t j0 = 0; j0 < p->N_k; j0 += 16) {
        double level = step > 0 ? step * (double)j0 / 16 : 2 * check_normal(p->check);
        for (int64_t j = j0; j < j0 + 16; j++) set_level(p, j, level);
    }
}

static void growing(struct check* c) {
    static const struct {
        double step;
        int N, d;
        const char* what;
    } cases[] = {
        {0.9, 128, 4, ", scores grow from tile to tile"},
        {0, 128, 5, ", scores jump from tile to tile"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int d = cases[i].d;
        struct problem p = sizes(c, 1, cases[i].N, cases[i].N, pick_power(c, d, d + 1));
        begin(&p, cases[i].what);
        fill_levels(&p, cases[i].step);
        forward_run(&p, JUDGE_O);
    }
    forward_case_faint(sizes(c, 1, 32, 512, 16));
    forward_case_rising(sizes(c, 1, 16, 256, 16));
    forward_case_slow(sizes(c, 1, 16, 4096, 16));
}

// The shortest sequences are shorter than many tiles, the longest are no kernel's array.
static void lengths(struct check* c) {
    for (int64_t N = 32; N >= 16; N /= 2) plain(c, 1, N, N, pick_power(c, 4, 6));
    int low = (int)check_pick(c, 5, 6), high = (int)check_pick(c, low + 1, 7);
    plain(c, 1, 1 << low, 1 << high, pick_power(c, 4, 5));
    plain(c, 1, 1 << high, 1 << low, pick_power(c, 4, 5));
    plain(c, 1, 4096, 16, 16);
    plain(c, 1, 16, 8192, 16);
    attention_reaches(sizes(c, 8, 16, 16, 16), 1 << 30);
}

static void batches(struct check* c) {
    plain(c, check_pick(c, 2, 4), 32, 32, 32);
    plain(c, check_pick(c, 257, 260), 32, 32, 16);
    attention_most_heads(sizes(c, 1, 16, 16, 16));
    struct problem p = sizes(c, check_pick(c, 2, 3), 32, 32, 16);
    check_case(c, "B = %d heads, N_q = N_k = 32, d = 16, arrays of (N, B, d)", (int)p.B);
    problem_declare(&p, BATCHES_INSIDE);
    fill_plain(&p, 0);
    forward_run(&p, JUDGE_O);
}

// After a case with gaps: what fails there is of another kind.
static void far(struct problem p, enum layout layout, int judged) {
    if (!check_can_be_far(p.check)) return;
    problem_begin(&p, layout, "");
    fill_plain(&p, 0);
    forward_run(&p, judged);
}

static void strides(struct check* c) {
    int64_t N = pick_power(c, 5, 6);
    struct problem p = sizes(c, 2, N, N, 32);
    check_case(c, "B = 2, N_q = N_k = %d, d = 32, gaps between rows and batches", (int)N);
    problem_declare(&p, GAPS);
    fill_plain(&p, 0);
    forward_run(&p, JUDGE_O);
    problem_begin(&p, ONE_BATCH, "");
    forward_fill(&p);
    struct problem one = p;  // they are the same rows
    one.B = 1;
    put_maximum(&one, 0, 0);
    forward_run(&p, JUDGE_O);
    forward_case(with_unused_strides(sizes(c, 1, 16, 16, 16)), PACKED, "", JUDGE_O);
    far(p, FAR, JUDGE_O);
    far(with_late_rows(sizes(c, 2, 16, 16, 16)), FAR, JUDGE_O);
}

static void wide_heads(struct check* c) {
    for (int64_t d = 128; d <= 256; d *= 2) {
        plain(c, 1, 32, 32, d);
        struct problem p = sizes(c, d == 128 ? 1 : 2, 16, 32, d);
        problem_begin(&p, GAPS, "");
        fill_plain(&p, 0);
        forward_run(&p, JUDGE_O);
    }
}

// The largest score is never at key 0, but in the first tile: the reference that exp needs is the
// maximum, not just any score, and nothing has to be rescaled. Only the last case has it in the
// last tile: there alpha is 0. Some rows are ordinary, so that a mistake which spoils every row can
// be told apart.
static void large(struct check* c) {
    forward_case_apart(sizes(c, 1, 16, 16, 16));
    struct problem p = sizes(c, 1, 64, 64, pick_power(c, 4, 6));
    begin(&p, ", scores of 30 times the usual size");
    forward_fill(&p);
    put_maximum(&p, check_pick(c, 1, 15), 0);
    for (int64_t i = 0; i < p.N_q; i += 2)
        for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_Q, 0, 0, i)[x] *= 30;
    forward_run(&p, JUDGE_O);

    p = sizes(c, 1, 64, 64, pick_power(c, 4, 6));
    begin(&p, ", one score of 300 among ordinary ones");
    forward_fill(&p);
    int64_t key = check_pick(c, 1, 15);
    set_column(&p, ARRAY_K, 0, 0);
    set_level(&p, key, 300);
    for (int64_t i = 0; i < p.N_q; i++) row_of(&p, ARRAY_Q, 0, 0, i)[0] = (double)(i % 2);
    put_maximum(&p, key, 1);
    forward_run(&p, JUDGE_O);

    p = sizes(c, 1, 64, 64, 16);
    begin(&p, ", all scores equal");
    fill_integers(c, p.array[ARRAY_V].tensor, -8, 8);
    set_column(&p, ARRAY_Q, 0, 25);
    set_column(&p, ARRAY_K, 0, 16);  // every score is 100
    judge_O(&p, budget_exact());     // P is 1, l is 64
    forward_case_late_maximum(sizes(c, 1, 32, 64, 16));
}

// Scores of -20000, or of 16 times that, which have no weight: of no key, of the first 16, or of
// the last ones. What the first tile makes of m is lost in the second, unless that is far above it.
// Other rows have scores that overflow without a maximum, and that do not.
static void levels_of_tiles(struct problem p) {
    enum { TILE = 16, FACTOR = 400, KINDS = 5 };
    static const double kinds[KINDS] = {-FACTOR, -FACTOR, -FACTOR, 2.5, 0.25};
    p.scale = 0.125;
    begin(&p, ", rows of scores of -20000 and below, of 125 and 12.5");
    fill_integers(p.check, p.array[ARRAY_Q].tensor, 0, 0);
    fill_integers(p.check, p.array[ARRAY_K].tensor, 0, 0);
    fill_normal(p.check, p.array[ARRAY_V].tensor, 0, 1);
    for (int64_t i = 0; i < p.N_q; i++) row_of(&p, ARRAY_Q, 0, 0, i)[i % KINDS] = kinds[i % KINDS];
    for (int64_t j = 0; j < p.N_k; j++)
        for (int64_t x = 0; x < KINDS; x++)
            row_of(&p, ARRAY_K, 0, 0, j)[x] = x == 1 + j / TILE ? 16 * FACTOR : FACTOR;
    forward_run(&p, JUDGE_O);
}

static void negative(struct check* c) {
    levels_of_tiles(sizes(c, 1, 32, 32, 16));
    struct problem p = sizes(c, 1, 32, 32, pick_power(c, 4, 6));
    begin(&p, ", rows of scores around -130, 120 and 0");
    forward_fill(&p);
    shift_rows(&p, -130);
    put_maximum(&p, 0, 1);
    forward_run(&p, JUDGE_O);
    p = sizes(c, 1, 32, 32, 16);
    begin(&p, ", rows of scores around -20000, 120 and 0");
    forward_integers(&p, 0, 0);
    fill_normal(c, p.array[ARRAY_V].tensor, 0, 1);
    shift_rows(&p, -20000);
    put_maximum(&p, 0, 1);
    forward_run(&p, JUDGE_O);
    forward_case_below(sizes(c, 1, 32, 32, 16), -0x1p127);
}

// Key j + N_k / 2 is nearly key j again, and their values are large and all but cancel: rounding
// shows that has no part in O itself. And many tiles of keys, and a quotient that is rounded once.
static void cancelling(struct check* c) {
    struct problem p = sizes(c, 1, 128, 128, 16);
    begin(&p, ", large values that cancel");
    forward_fill(&p);
    spread_keys(&p, 256, 1.0 / 16);
    put_maximum(&p, 0, 0);
    forward_run(&p, JUDGE_O);
    forward_case_exact(sizes(c, 1, 32, 1024, 16));
    forward_case_tail(sizes(c, 1, 32, 2048, 16));
    forward_case_divided(sizes(c, 1, 32, 64, 16));
}

// Where the scale is below 0, every other row has scores near 0: they overflow nowhere.
static void scaled(struct check* c, double factor, int judged) {
    struct problem p = sizes(c, 1, 32, 32, pick_power(c, 4, 6));
    p.scale = (double)(float)(p.scale * factor);
    check_case(c, "N_q = N_k = 32, d = %d, scale = %.4g", (int)p.d, p.scale);
    problem_declare(&p, PACKED);
    fill_plain(&p, 0);
    for (int64_t i = 1; i < p.N_q && factor < 0; i += 2)
        for (int64_t x = 0; x < p.d; x++) row_of(&p, ARRAY_Q, 0, 0, i)[x] /= 64;
    forward_run(&p, judged);
}

// Neither the usual scale times this nor Q times that is a number of fp16.
static double own_factor(struct check* c) {
    static const double factors[] = {0.3, 0.6, 1.7, 2.3};
    return factors[check_pick(c, 0, 3)];
}

// LSE shows who rounds the scale, Q times the scale, or alpha, which O is too coarse for.
static void logsumexp(struct check* c) {
    struct problem p = sizes(c, 2, 64, 64, pick_power(c, 4, 6));
    check_case(c, "B = 2, N_q = N_k = 64, d = %d, LSE with a gap between batches", (int)p.d);
    problem_declare(&p, GAPS);
    fill_plain(&p, 0);
    forward_run(&p, JUDGE_LSE);
    far(p, FAR_LSE, JUDGE_LSE);
    scaled(c, own_factor(c), JUDGE_LSE);
    p = sizes(c, 1, 32, 128, 16);
    begin(&p, ", scores grow from tile to tile");
    fill_levels(&p, 0.9);
    forward_run(&p, JUDGE_LSE);
    forward_case_first_weighs(sizes(c, 1, 32, 32, 16));
    forward_case_far_levels(with_scale(sizes(c, 1, 32, 16, 16), -1));
}

// With a scale below 0 the largest score is that of the smallest product; with 0 all are equal.
static void own_scale(struct check* c) {
    scaled(c, own_factor(c), JUDGE_O);
    scaled(c, -30, JUDGE_O);
    forward_case(with_scale(sizes(c, 1, 32, 32, 16), 0), PACKED, "", JUDGE_O);
    forward_case_small(sizes(c, 1, 32, 32, 16));
}

static void twice(struct check* c) {
    struct problem p = sizes(c, 1, 32, 32, pick_power(c, 4, 6));
    char name[40];
    snprintf(name, sizeof name, "N_q = N_k = 32, d = %d", (int)p.d);
    forward_again(p, name, fill_plain);
    forward_case_after(sizes(c, 2, 64, 64, 64), sizes(c, 1, 32, 32, 16), fill_plain);
}

static void arguments(struct check* c) {
    plain(c, 1, 32, 32, 16);
    static const struct idle_call bad[] = {
        {COURSE_UNSUPPORTED, {{"d", 48}}},
        {COURSE_UNSUPPORTED, {{"N_k", 24}}},
        {COURSE_UNSUPPORTED, {{"N_q", 8}}},
        {COURSE_UNSUPPORTED, {{"N_k", 8}}},
        {COURSE_UNSUPPORTED, {{"N_q", 48}}},
        {COURSE_UNSUPPORTED, {{"B", 65536}}},
        {COURSE_UNSUPPORTED, {{"d", 8}}},
        {COURSE_UNSUPPORTED, {{"N_q", 1}}},
        {COURSE_UNSUPPORTED, {{"N_k", 1}}},
        {COURSE_UNSUPPORTED, {{"d", 1}}},
        {COURSE_UNSUPPORTED, {{"d", 512}, {"stride_qn", 512}, {"stride_kn", 512}}},
        {COURSE_BAD_ARGUMENT, {{"B", -1}}},
        {COURSE_BAD_ARGUMENT, {{"N_q", 0}}},
        {COURSE_BAD_ARGUMENT, {{"N_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"d", 0}}},
        {COURSE_BAD_ARGUMENT, {{"stride_on", 15}}},
        {COURSE_BAD_ARGUMENT, {{"stride_qn", 15}}},
        {COURSE_BAD_ARGUMENT, {{"stride_kn", 15}}},
        {COURSE_BAD_ARGUMENT, {{"stride_vn", 15}}},
        {COURSE_BAD_ARGUMENT, {{"stride_ob", -512}}},
        {COURSE_BAD_ARGUMENT, {{"stride_lb", -32}}},
        {COURSE_BAD_ARGUMENT, {{"stride_qb", -1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_kb", -1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_vb", -1}}},
        {COURSE_BAD_ARGUMENT, {{"O", 0}}},
        {COURSE_BAD_ARGUMENT, {{"LSE", 0}}},
        {COURSE_BAD_ARGUMENT, {{"Q", 0}}},
        {COURSE_BAD_ARGUMENT, {{"K", 0}}},
        {COURSE_BAD_ARGUMENT, {{"V", 0}}},
        // What comes first in the contract's list counts.
        {COURSE_BAD_ARGUMENT, {{"d", 48}, {"N_k", 0}}},
        {COURSE_BAD_ARGUMENT, {{"B", 65536}, {"N_q", -1}}},
        {COURSE_UNSUPPORTED, {{"d", 48}, {"B", 0}}},
        {COURSE_UNSUPPORTED, {{"N_q", 48}, {"Q", 0}}},
        {COURSE_UNSUPPORTED, {{"d", 48}, {"stride_kb", -1}}},
        {COURSE_OK, {{"B", 0}, {"stride_kn", 8}, {"O", 0}}},
        {0},
    };
    static const struct idle_call largest[] = {{COURSE_OK, {{"B", 65535}}}, {0}};
    static const struct idle_call longest[] = {
        {COURSE_OK, {{"N_q", 1 << 30}}}, {COURSE_OK, {{"N_k", 1 << 30}}}, {0}};
    struct problem p = sizes(c, 0, 32, 32, 16);
    forward_idle(p, "B = 0");
    p.B = 1;
    problem_refused(p, bad);
    problem_launches_fail(p);
    problem_large(p, largest);
    problem_large(p, longest);
}

// A block, a tile or a loop that is larger than the array reads or writes past its end. So the
// smallest and the most different sizes are watched, the other head sizes, and batches that lie
// between each other. The items above judge O in such cases. Here O has to be right for easy
// shapes; after that only the accesses count.
static void safe(struct check* c) {
    const int64_t shapes[][4] = {
        {check_pick(c, 3, 9), 16, 32, 16},
        {2, pick_power(c, 5, 6), 16, 32},
        {1, 16, 16, 256},
    };
    check_watch(c, WATCH_CHECK);
    plain(c, check_pick(c, 3, 6), 32, 64, 16);
    for (size_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
        const int64_t* s = shapes[n];
        struct problem p = sizes(c, s[0], s[1], s[2], s[3]);
        check_case(c, "B = %d, N_q = %d, N_k = %d, d = %d, arrays of (N, B, d)", (int)s[0],
                   (int)s[1], (int)s[2], (int)s[3]);
        problem_declare(&p, BATCHES_INSIDE);
        forward_fill(&p);
        judge_O(&p, (struct budget){.max = INFINITY, .mean = INFINITY});  // is all of it written?
    }
    forward_misaligned(sizes(c, 1, 32, 32, 16));
    problem_uneven_each(sizes(c, 2, 16, 16, 16), forward_fill);
}

// Every tile of queries reads all keys and values once, 4 N_k d bytes (README, what the hardware
// does): N_q / BLOCK_Q times in all, here at least 8 queries at a time. With tiles of any size a
// block loads them once; Q it may load as often as it likes.
static void reads_once(struct problem p, enum layout layout) {
    enum { SMALLEST_TILE = 8 };
    check_watch(p.check, WATCH_PROFILE);
    problem_begin(&p, layout, "");
    fill_plain(&p, 0);
    forward_run(&p, JUDGE_O | JUDGE_LSE);
    if (layout != PACKED) problem_skips_unseen(&p);  // what lies between the rows
    const struct arena_traffic* t = problem_traffic(&p);
    double of_Q = 2.0 * (double)(p.B * p.N_q * p.d), of_KV = 4.0 * (double)(p.B * p.N_k * p.d);
    of_Q += (double)check_loaded_again(p.check, "Q");
    check_at_most(p.check, CAUSE_too_much_read, "times that K and V are read",
                  ((double)t->global_load_bytes - of_Q) / of_KV, (double)p.N_q / SMALLEST_TILE);
    check_loaded_once(p.check, "K");
    check_loaded_once(p.check, "V");
}

// And nothing of size N_q N_k exists. For more queries than keys, several heads, other head sizes
// and rows that lie apart a launcher may have other kernels.
static void cheap(struct check* c) {
    reads_once(sizes(c, 1, 128, 128, 16), PACKED);
    reads_once(sizes(c, check_pick(c, 3, 9), 16, 32, pick_power(c, 7, 8)), PACKED);
    reads_once(sizes(c, check_pick(c, 6, 12), 32, 16, pick_power(c, 5, 6)), GAPS);
    forward_long_rows(sizes(c, 1, 16, 16, 16), 1 << 14);
}

static const struct item items[] = {
    {10, "short, and N_q and N_k that differ", lengths},
    {8, "scores that grow from tile to tile", growing},
    {5, "several batches", batches},
    {4, "rows with strides", strides},
    {4, "d = 128 and 256", wide_heads},
    {5, "large scores", large},
    {4, "very negative scores", negative},
    {4, "sums that cancel", cancelling},
    {4, "LSE", logsumexp},
    {2, "a scale given by the caller", own_scale},
    {2, "called again with new data", twice},
    {3, "bad arguments", arguments},
    {5, "no races, no stray accesses", safe},
    {40, "K and V are read once per tile of queries", cheap},
    {0},
};

const struct lesson lesson = {
    .name = "12_flash_forward",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "K and V are read once per tile of queries, and S and P are never kept",
             .paid_by = {cheap},
             .naive = "solutions/12_flash_forward/steps/1_naive.cu"},
    .explain = online_explain};
