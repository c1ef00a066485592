// check.c: lesson 12, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: where rescaling is
// not the subject, the largest score of every row stands at key 0 (or among the first few); where the
// scale is not the subject, it is 1 / sqrt(d); and so on. All items but "LSE" compare O alone.
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mistakes.h"
#include "flash_forward.h"
#include "wall/arena.h"

// ---- cases ---------------------------------------------------------------------------------

enum layout { PACKED, ROW_GAPS, HEADS_INSIDE };

// The shape of a tensor of B x N rows of d elements, and where its rows are. ROW_GAPS leaves `gap`
// elements after each row and `gap` rows after each batch; HEADS_INSIDE has the batches of one row
// next to each other, as in a (N, H, d) array.
static struct shape place(struct array* a, enum layout layout, int64_t N, int64_t gap) {
    if (layout == HEADS_INSIDE) {
        a->stride_b = now.d;
        a->stride_n = now.B * now.d;
        return SHAPE(N, now.B, now.d);
    }
    if (layout == PACKED) gap = 0;
    a->stride_n = now.d + gap;
    a->stride_b = (N + gap) * a->stride_n;
    return SHAPE(now.B, N + gap, now.d + gap);
}

// One argument that is not what it should be: an int of this value, or a tensor that is NULL.
struct bad {
    const char* name;
    int64_t value;
    int status;  // what the launcher must return
};
static const struct bad none = {"", 0, COURSE_OK};

static void pass(struct check* c, const struct bad* bad, const char* name, int64_t value) {
    check_int(c, name, strcmp(bad->name, name) == 0 ? bad->value : value);
}

static struct tensor* array(struct check* c, const struct bad* bad, const char* name,
                            struct shape shape) {
    if (strcmp(bad->name, name) == 0) {
        check_null(c, name);
        return NULL;
    }
    if (strcmp(name, "O") == 0) return check_output(c, name, F16, shape);
    if (strcmp(name, "LSE") == 0) return check_output(c, name, F32, shape);
    return check_input(c, name, F16, shape);
}

// Declares all arguments of a case of now.B, now.N_q, now.N_k, now.d and now.scale.
static void declare(struct check* c, enum layout layout, const struct bad* bad) {
    now.first_Q = now.first_K = now.first_V = NULL;
    now.LSE.stride_n = 1;
    now.LSE.stride_b = now.N_q + (layout == PACKED ? 0 : 12);
    now.O.tensor = array(c, bad, "O", place(&now.O, layout, now.N_q, 8));
    now.LSE.tensor = array(c, bad, "LSE", SHAPE(now.B, now.LSE.stride_b));
    now.Q.tensor = array(c, bad, "Q", place(&now.Q, layout, now.N_q, 4));
    now.K.tensor = array(c, bad, "K", place(&now.K, layout, now.N_k, 6));
    now.V.tensor = array(c, bad, "V", place(&now.V, layout, now.N_k, 10));
    pass(c, bad, "B", now.B);
    pass(c, bad, "N_q", now.N_q);
    pass(c, bad, "N_k", now.N_k);
    pass(c, bad, "d", now.d);
    pass(c, bad, "stride_ob", now.O.stride_b);
    pass(c, bad, "stride_on", now.O.stride_n);
    pass(c, bad, "stride_lb", now.LSE.stride_b);
    pass(c, bad, "stride_qb", now.Q.stride_b);
    pass(c, bad, "stride_qn", now.Q.stride_n);
    pass(c, bad, "stride_kb", now.K.stride_b);
    pass(c, bad, "stride_kn", now.K.stride_n);
    pass(c, bad, "stride_vb", now.V.stride_b);
    pass(c, bad, "stride_vn", now.V.stride_n);
    check_real(c, "scale", now.scale);
}

static void sizes(int64_t B, int64_t N_q, int64_t N_k, int64_t d) {
    now.B = B;
    now.N_q = N_q;
    now.N_k = N_k;
    now.d = d;
    now.scale = (double)(float)(1.0 / sqrt((double)d));
}

// The usual case: sizes in its name, packed arrays, the usual scale.
static void begin(struct check* c, int64_t B, int64_t N_q, int64_t N_k, int64_t d,
                  const char* what) {
    sizes(B, N_q, N_k, d);
    check_case(c, "B = %d, N_q = %d, N_k = %d, d = %d%s", (int)B, (int)N_q, (int)N_k, (int)d, what);
    declare(c, PACKED, &none);
}

// 2^low .. 2^high
static int64_t pick_power(struct check* c, int low, int high) {
    return (int64_t)1 << check_pick(c, low, high);
}

// ---- data ----------------------------------------------------------------------------------

// Puts the same number into column x of every row.
static void set_column(const struct array* a, int64_t N, int64_t x, double value) {
    for (int64_t b = 0; b < now.B; b++)
        for (int64_t n = 0; n < N; n++) at(a, b, n)[x] = value;
}

// Makes `key` the one with the largest score of every row, by what it has in column x.
static void put_maximum(int64_t key, int64_t x) {
    set_column(&now.Q, now.N_q, x, 1.0);
    set_column(&now.K, now.N_k, x, 0.0);
    for (int64_t b = 0; b < now.B; b++) {
        double gap = 0;
        for (int64_t i = 0; i < now.N_q; i++)
            for (int64_t j = 0; j < now.N_k; j++)
                gap = fmax(gap, score(b, i, j) - score(b, i, key));
        at(&now.K, b, key)[x] = ceil(4 * (gap + 0.25) / now.scale) / 4;
    }
}

static void fill_random(struct check* c) {
    fill_normal(c, now.Q.tensor, 0, 1);
    fill_normal(c, now.K.tensor, 0, 1);
    fill_normal(c, now.V.tensor, 0, 1);
}

static void fill_plain(struct check* c) {
    fill_random(c);
    put_maximum(0, 0);
}

// Moves all scores of a row: of one by `shift`, of the next by 120, of the third not at all, and so
// on. fp16 holds both factors. An exp(S) without a maximum spoils the second kind as well, and so
// differs from an m that starts too high.
static void shift_rows(double shift) {
    const double shifts[] = {shift, 120, 0};
    set_column(&now.K, now.N_k, 0, 4.0);
    for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i)[0] = shifts[i % 3] / now.scale / 4;
}

// ---- judging -------------------------------------------------------------------------------

// Wants the right O and LSE of the selected call; standard_O and standard_LSE are in fp32.
static void want(double* standard_O, double* standard_LSE) {
    for (int64_t e = 0; e < now.O.tensor->count; e++) now.O.tensor->untouched[e] = true;
    for (int64_t e = 0; e < now.LSE.tensor->count; e++) now.LSE.tensor->untouched[e] = true;
    for (int64_t row = 0; row < now.B * now.N_q; row++) {
        int64_t b = row / now.N_q, i = row % now.N_q;
        bool* gap = now.O.tensor->untouched + b * now.O.stride_b + i * now.O.stride_n;
        for (int64_t x = 0; x < now.d; x++) gap[x] = false;
        now.LSE.tensor->untouched[b * now.LSE.stride_b + i] = false;
    }
    attention(false, now.O.tensor->want, now.LSE.tensor->want);
    attention(true, standard_O, standard_LSE);
}

enum judged { JUDGE_O, JUDGE_LSE, JUDGE_EXACT_O };

// Compares one output of the selected call.
static void judge(struct check* c, enum judged what) {
    struct tensor* t = what == JUDGE_LSE ? now.LSE.tensor : now.O.tensor;
    double* O = calloc((size_t)now.O.tensor->count, sizeof *O);
    double* LSE = calloc((size_t)now.LSE.tensor->count, sizeof *LSE);
    if (!O || !LSE) abort();
    want(O, LSE);
    struct budget budget = budget_from(t, what == JUDGE_LSE ? LSE : O);
    free(O);
    free(LSE);
    check_compare(c, t, what == JUDGE_EXACT_O ? budget_exact() : budget);
}

// Is all of O written? What it should be, and LSE, are other items' matters.
static void judge_written(struct check* c) {
    const struct budget any = {INFINITY, INFINITY};
    double* O = calloc((size_t)now.O.tensor->count, sizeof *O);
    double* LSE = calloc((size_t)now.LSE.tensor->count, sizeof *LSE);
    if (!O || !LSE) abort();
    want(O, LSE);
    free(O);
    free(LSE);
    check_compare(c, now.O.tensor, any);
}

static void run_and_judge(struct check* c, enum judged what) {
    check_run(c);
    judge(c, what);
}

// ---- items ---------------------------------------------------------------------------------

// Keys come in groups of 16, and the scores of a group have a level of their own.
static void fill_levels(struct check* c, bool steady) {
    fill_random(c);
    set_column(&now.Q, now.N_q, 0, 1);
    for (int64_t j0 = 0; j0 < now.N_k; j0 += 16) {
        double level = steady ? 0.9 * (double)j0 / 16 : 2 * check_normal(c);
        for (int64_t j = j0; j < j0 + 16; j++) at(&now.K, 0, j)[0] = level / now.scale;
    }
}

static void growing(struct check* c) {
    begin(c, 1, 128, 128, pick_power(c, 4, 5), ", scores grow from tile to tile");
    fill_levels(c, true);
    run_and_judge(c, JUDGE_O);
    begin(c, 1, 128, 128, pick_power(c, 5, 6), ", scores jump from tile to tile");
    fill_levels(c, false);
    run_and_judge(c, JUDGE_O);
}

// The shortest sequences are less than many a tile.
static void lengths(struct check* c) {
    for (int64_t N = 32; N >= 16; N /= 2) {
        begin(c, 1, N, N, pick_power(c, 4, 6), "");
        fill_plain(c);
        run_and_judge(c, JUDGE_O);
    }
    int low = (int)check_pick(c, 5, 6), high = (int)check_pick(c, low + 1, 7);
    begin(c, 1, 1 << low, 1 << high, pick_power(c, 4, 5), "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
    begin(c, 1, 1 << high, 1 << low, pick_power(c, 4, 5), "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
}

static void batches(struct check* c) {
    begin(c, check_pick(c, 2, 4), 32, 32, 32, "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
    sizes(check_pick(c, 2, 3), 32, 32, 16);
    check_case(c, "B = %d heads, N_q = N_k = 32, d = 16, arrays of (N, B, d)", (int)now.B);
    declare(c, HEADS_INSIDE, &none);
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
}

static void strides(struct check* c) {
    int64_t N = pick_power(c, 5, 6);
    sizes(1, N, N, 32);
    check_case(c, "N_q = N_k = %d, d = 32, gaps between rows", (int)N);
    declare(c, ROW_GAPS, &none);
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
}

static void wide_heads(struct check* c) {
    for (int64_t d = 128; d <= 256; d *= 2) {
        begin(c, 1, 32, 32, d, "");
        fill_plain(c);
        run_and_judge(c, JUDGE_O);
    }
}

// The largest score is never at key 0, but always in the first tile: the reference that exp needs is the
// maximum, not just any score, and nothing has to be rescaled. Some rows are ordinary, so that a
// mistake which spoils every row can be told apart.
static void large(struct check* c) {
    begin(c, 1, 64, 64, pick_power(c, 4, 6), ", scores of 30 times the usual size");
    fill_random(c);
    put_maximum(check_pick(c, 1, 15), 0);
    for (int64_t i = 0; i < now.N_q; i += 2)
        for (int64_t x = 0; x < now.d; x++) at(&now.Q, 0, i)[x] *= 30;
    run_and_judge(c, JUDGE_O);
    begin(c, 1, 64, 64, pick_power(c, 4, 6), ", one score of 300 among ordinary ones");
    fill_random(c);
    int64_t key = check_pick(c, 1, 15);
    set_column(&now.K, now.N_k, 0, 0);
    at(&now.K, 0, key)[0] = 300 / now.scale;
    for (int64_t i = 0; i < now.N_q; i++) at(&now.Q, 0, i)[0] = i % 2;
    put_maximum(key, 1);
    run_and_judge(c, JUDGE_O);
    begin(c, 1, 64, 64, 16, ", all scores equal");
    fill_integers(c, now.V.tensor, -8, 8);
    set_column(&now.Q, now.N_q, 0, 25);
    set_column(&now.K, now.N_k, 0, 16);  // every score is 100
    run_and_judge(c, JUDGE_EXACT_O);     // P is 1, l is 64
}

static void negative(struct check* c) {
    begin(c, 1, 32, 32, pick_power(c, 4, 6), ", rows of scores around -130, 120 and 0");
    fill_random(c);
    shift_rows(-130);
    put_maximum(0, 1);
    run_and_judge(c, JUDGE_O);
    begin(c, 1, 32, 32, 16, ", rows of scores around -20000, 120 and 0");
    fill_integers(c, now.Q.tensor, -2, 2);  // integers: fp32 holds even these scores exactly
    fill_integers(c, now.K.tensor, -2, 2);
    fill_normal(c, now.V.tensor, 0, 1);
    shift_rows(-20000);
    put_maximum(0, 1);
    run_and_judge(c, JUDGE_O);
}

// Key j + N_k / 2 is key j again, and their values are large and all but cancel.
static void cancelling(struct check* c) {
    begin(c, 1, 128, 128, 16, ", large values that cancel");
    fill_plain(c);
    for (int64_t j = 0; j < 64; j++)
        for (int64_t x = 0; x < 16; x++) {
            at(&now.K, 0, j + 64)[x] = at(&now.K, 0, j)[x];
            at(&now.V, 0, j)[x] += 256;
            at(&now.V, 0, j + 64)[x] -= 256;
        }
    run_and_judge(c, JUDGE_O);
}

static void logsumexp(struct check* c) {
    sizes(2, 64, 64, pick_power(c, 4, 6));
    check_case(c, "B = 2, N_q = N_k = 64, d = %d, LSE with a gap between batches", (int)now.d);
    declare(c, ROW_GAPS, &none);
    fill_plain(c);
    run_and_judge(c, JUDGE_LSE);
}

static void own_scale(struct check* c) {
    static const double factors[] = {0.3, 0.5, 1.7, 2.5};
    sizes(1, 32, 32, pick_power(c, 4, 6));
    now.scale = (double)(float)(now.scale * factors[check_pick(c, 0, 3)]);
    check_case(c, "N_q = N_k = 32, d = %d, scale = %.4g", (int)now.d, now.scale);
    declare(c, PACKED, &none);
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
}

static void twice(struct check* c) {
    enum { CALLS = 3 };
    sizes(1, 32, 32, pick_power(c, 4, 6));
    check_case(c, "N_q = N_k = 32, d = %d, new data in the same arrays", (int)now.d);
    check_rounds(c, CALLS);
    declare(c, PACKED, &none);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        fill_plain(c);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        judge(c, JUDGE_O);
        if (r > 0) continue;
        now.first_Q = now.Q.tensor->value;
        now.first_K = now.K.tensor->value;
        now.first_V = now.V.tensor->value;
    }
}

static void arguments(struct check* c) {
    begin(c, 1, 32, 32, 16, "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);

    sizes(0, 32, 32, 16);
    check_case(c, "B = 0");
    declare(c, PACKED, &none);
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);

    const struct bad bad[] = {
        {"d", 48, COURSE_UNSUPPORTED},          {"N_k", 24, COURSE_UNSUPPORTED},
        {"N_q", 8, COURSE_UNSUPPORTED},         {"B", -1, COURSE_BAD_ARGUMENT},
        {"stride_kn", 15, COURSE_BAD_ARGUMENT}, {"LSE", 0, COURSE_BAD_ARGUMENT},
        {"V", 0, COURSE_BAD_ARGUMENT},          {"N_k", 0, COURSE_BAD_ARGUMENT},
        {"stride_vb", -1, COURSE_BAD_ARGUMENT},
    };
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        sizes(1, 32, 32, 16);
        check_case(c, "%s = %lld must be refused", bad[n].name, (long long)bad[n].value);
        declare(c, PACKED, &bad[n]);
        check_expect(c, bad[n].status, CAUSE_argument_check);
        check_run(c);
    }
}

// A block, a tile or a loop that is larger than what there is reads or writes past the end: so the
// smallest sizes and the most different ones are watched, the other head sizes, and batches that lie
// between each other. Whether O is right there is the business of the items above; here it has to be
// right where every shape is easy, and after that only the accesses count.
static void safe(struct check* c) {
    const int64_t shapes[][4] = {
        {2, 16, pick_power(c, 5, 6), 16},
        {2, pick_power(c, 5, 6), 16, 32},
        {1, 16, 16, 256},
    };
    check_watch(c, WATCH_CHECK);
    begin(c, 1, 64, 64, 16, "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
    for (size_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
        const int64_t* s = shapes[n];
        sizes(s[0], s[1], s[2], s[3]);
        check_case(c, "B = %d, N_q = %d, N_k = %d, d = %d, arrays of (N, B, d)", (int)s[0],
                   (int)s[1], (int)s[2], (int)s[3]);
        declare(c, HEADS_INSIDE, &none);
        fill_random(c);
        check_run(c);
        judge_written(c);
    }
}

// Every tile of queries reads all keys and values once, 4 N_k d bytes (README, what the hardware does):
// N_q / BLOCK_Q times in all, here at least 8 queries at a time. And nothing of size N_q N_k exists.
static void cheap(struct check* c) {
    enum { N = 128, SMALLEST_TILE = 8 };
    check_watch(c, WATCH_PROFILE);
    begin(c, 1, N, N, 16, "");
    fill_plain(c);
    run_and_judge(c, JUDGE_O);
    judge(c, JUDGE_LSE);
    const struct arena_traffic* t = check_traffic(c);
    double all = 4.0 * N * (double)now.d;  // bytes of K and V
    check_at_most(c, CAUSE_quadratic_memory, "bytes of scratch memory per query",
                  (double)t->allocated_bytes / N, 4.0 * (double)now.d);
    check_at_most(c, CAUSE_too_much_read, "times that K and V are read",
                  ((double)t->global_load_bytes - all / 2) / all, N / SMALLEST_TILE);
}

static const struct item items[] = {
    {14, "short, and N_q and N_k that differ", lengths},
    {12, "scores that grow from tile to tile", growing},
    {7, "several batches", batches},
    {6, "rows with strides", strides},
    {6, "d = 128 and 256", wide_heads},
    {8, "large scores", large},
    {6, "very negative scores", negative},
    {5, "sums that cancel", cancelling},
    {6, "LSE", logsumexp},
    {3, "a scale given by the caller", own_scale},
    {3, "called again with new data", twice},
    {4, "bad arguments", arguments},
    {8, "no races, no stray accesses", safe},
    {12, "K and V are read once per tile of queries", cheap},
    {0},
};

const struct lesson lesson = {.name = "12_flash_forward", .items = items, .explain = explain};
