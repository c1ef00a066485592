// check.c: what lesson 01, vector_add, is graded on.
//
// One float addition is rounded once, to the nearest: there is exactly one right answer, and the
// budget is exact equality. The double sum of two floats rounded to float is that answer (53 bits
// are more than twice 24 plus 2, so rounding twice does no harm).
//
// Each item sets one trap. Except where the trap is a ragged or a large n, n is a small multiple of
// WHOLE, so that every usual block size divides it.
#include "check/arguments.h"
#include "check/check.h"
#include "check/hypothesis.h"
#include "check/reach.h"
#include "vector_add.h"
#include "wall/arena.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { WHOLE = 1024 };  // elements: a multiple of every power-of-two block size

struct vectors {
    struct tensor *c, *a, *b;
};

// NULL for a vector that the case passes as NULL.
static struct tensor* on_host(struct tensor* t) {
    if (t) check_on_host(t);
    return t;
}

// The last `shown` of n elements are the case's: check_ends().
static struct vectors declare_end(struct check* c, int64_t n, int64_t shown) {
    check_int(c, "n", n);
    struct vectors v = {.c = on_host(check_output(c, "c", F32, SHAPE(shown))),
                        .a = on_host(check_input(c, "a", F32, SHAPE(shown))),
                        .b = on_host(check_input(c, "b", F32, SHAPE(shown)))};
    struct tensor* const all[] = {v.c, v.a, v.b};
    for (int i = 0; i < 3 && shown < n; i++) check_ends(c, all[i], 1, n);
    return v;
}

static struct vectors declare(struct check* c, int64_t n) {
    return declare_end(c, n, n);
}

static void declare_whole(struct check* c, void* problem) {
    (void)problem;
    declare(c, WHOLE);
}

// Numbers at both ends of the range, whose sums are infinite, tiny, or -0; infinities, and NaN.
static void put_special(struct check* c, struct vectors v) {
    static const double special[][2] = {
        {FLT_MAX, FLT_MAX},     {-FLT_MAX, -FLT_MAX}, {0x1p-149, 0x1p-149}, {0x1p-126, -0x1p-127},
        {INFINITY, -1.0},       {NAN, 1.0},           {FLT_MAX, -FLT_MAX},  {1.0, 0x1p-24},
        {-INFINITY, -INFINITY}, {-0.0, -0.0},         {0.0, -0.0},          {-0.0, 0.0},
    };
    enum { SPECIAL = sizeof special / sizeof special[0] };
    for (int i = 0; i < 4 * SPECIAL; i++) {
        int64_t at = check_pick(c, 0, v.a->count - 1);
        v.a->value[at] = special[i % SPECIAL][0];
        v.b->value[at] = special[i % SPECIAL][1];
    }
}

// -0 is equal to 0, and not the same: the sum of two -0 is -0, that of 0 and -0 is 0.
static void compare_zeros(struct check* c, const struct tensor* sum) {
    for (int64_t i = 0; i < sum->count; i++)
        if (sum->want[i] == 0 && signbit(sum->want[i]) != signbit(sum->got[i]))
            check_fail(c, CAUSE_other_operation, "c[%lld] is %g, expected %g", (long long)i,
                       sum->got[i], sum->want[i]);
}

// Most of c could come from the host, in the form of numbers that are in neither array. So other
// ones arrive on the device than the host has: c has to be their sum. Whole blocks: a launcher may
// leave a few elements behind the last four to the host.
static void follows_what_arrives(struct check* c, int64_t n) {
    enum { MOST = 7 };
    n = n / WHOLE < MOST ? n / WHOLE * WHOLE : MOST * WHOLE;
    check_case(c, "n = %lld, and other numbers arrive on the device than the host has",
               (long long)n);
    struct vectors v = declare(c, n);
    struct tensor* const inputs[] = {v.a, v.b};
    fill_uniform(c, v.a, -8.0, 8.0);
    fill_uniform(c, v.b, -8.0, 8.0);
    check_hand_over(c, inputs, 2);
    check_run(c);
    const double *a = check_handed(v.a), *b = check_handed(v.b);
    for (int64_t i = 0; i < n; i++) v.c->want[i] = dtype_round(F32, a[i] + b[i]);
    check_not_fetched(c, v.c);
    check_compare(c, v.c, budget_exact());
}

// One valid call with n elements: run it, compare it. Several calls have special numbers, too.
static void add_and_compare(struct check* c, int64_t n, int rounds) {
    check_case(c, rounds > 1 ? "n = %lld, %d calls" : "n = %lld", (long long)n, rounds);
    check_rounds(c, rounds);
    struct vectors v = declare(c, n);
    check_describe(c, &v);
    for (int round = 0; round < rounds; round++) {
        check_round(c, round);
        fill_uniform(c, v.a, -8.0, 8.0);
        fill_uniform(c, v.b, -8.0, 8.0);
        if (rounds > 1) put_special(c, v);
        if (rounds > 1) v.a->value[n - 1] = v.b->value[n - 1] = -0.0;
    }
    check_run(c);
    for (int round = 0; round < rounds; round++) {
        check_round(c, round);
        for (int64_t i = 0; i < n; i++)
            v.c->want[i] = dtype_round(F32, v.a->value[i] + v.b->value[i]);
        check_compare(c, v.c, budget_exact());
        compare_zeros(c, v.c);
    }
    if (n >= WHOLE && check_may_be_sent(c, v.c)) follows_what_arrives(c, n);
}

// c = a + a: both inputs are one array.
static void add_to_itself(struct check* c, int64_t n) {
    check_case(c, "n = %lld, a and b are the same array", (long long)n);
    struct vectors v = declare(c, n);
    check_describe(c, &v);
    fill_uniform(c, v.a, -8.0, 8.0);
    check_same(c, v.b, v.a);
    check_run(c);
    for (int64_t i = 0; i < n; i++) v.c->want[i] = 2 * v.a->value[i];
    check_compare(c, v.c, budget_exact());
}

// An odd multiple of WHOLE: a quarter of it is no block size, which explain() relies on.
static int64_t whole_blocks(struct check* c) {
    return WHOLE * (2 * check_pick(c, 1, 3) + 1);
}

// The last block is partly filled. The longest case comes first: with n < BLOCK a grid rounded down
// is empty, which looks like a different mistake.
static void ragged(struct check* c) {
    add_and_compare(c, 8 * WHOLE + check_pick(c, 1, 31), 1);
    add_and_compare(c, check_pick(c, 258, 2000) | 1, 1);
    add_and_compare(c, 257, 1);
    add_and_compare(c, 258, 1);
    add_and_compare(c, 255, 1);
    add_and_compare(c, 1, 1);
}

// The end of a sum.
static bool reached(struct check* c, const void* unused, int64_t n) {
    const int64_t shown = check_shown(n), before = n - shown;
    (void)unused;
    check_case(c, "the last of n = %lld", (long long)n);
    struct vectors v = declare_end(c, n, shown);
    for (int64_t i = 0; i < shown; i++) {
        v.a->value[i] = (double)((before + i) % 1021 + 1);
        v.b->value[i] = 0.5;
        v.c->want[i] = v.a->value[i] + v.b->value[i];
    }
    check_run_few_blocks(c);
    check_run(c);
    return check_end_is_right(v.c);
}

// A valid call in which the nth call of `function` fails.
static void run_with_failure(struct check* c, int64_t n, const char* function, int nth) {
    check_case(c, "n = %lld, and call %d of %s fails", (long long)n, nth, function);
    declare(c, n);
    check_fail_call(c, function, nth);
    check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
    check_run(c);
}

// The same; no error is left for the caller's next cudaGetLastError(). False if the design has
// fewer such calls.
static bool call_of_n_with_failure(struct check* c, int64_t n, const char* function, int nth) {
    run_with_failure(c, n, function, nth);
    const bool failed = check_call_failed(c);
    if (failed && check_error_left(c))
        check_fail(c, CAUSE_error_left, "the error of %s comes out of the next call, too\n",
                   strcmp(function, "launch") == 0 ? "the launch" : function);
    return failed;
}

// More blocks than anybody would type in by hand; and more elements than 32 bits count. Of those
// little is there, which a launcher that copies piece by piece would ask for: it is not judged.
static void many_blocks(struct check* c) {
    enum { COPIES = 3, PIECES = (1 << 18) + 1 };
    add_and_compare(c, WHOLE * check_pick(c, 1030, 1070), 1);
    if (call_of_n_with_failure(c, PIECES, "cudaMemcpy", COPIES + 1)) return;
    check_reaches(c, ((int64_t)1 << 32) + WHOLE * check_pick(c, 5, 9) + check_pick(c, 1, 31),
                  reached, NULL);
}

// The current device is the caller's: it is another one in the second call, and still is after it.
static void on_two_devices(struct check* c) {
    check_case(c, "n = %d, twice, the first call on another GPU", WHOLE);
    check_begin_on(c, NULL);
    check_rounds(c, 2);
    struct vectors v = declare(c, WHOLE);
    for (int round = 0; round < 2; round++) {
        check_round(c, round);
        fill_uniform(c, v.a, -8.0, 8.0);
        fill_uniform(c, v.b, -8.0, 8.0);
        for (int64_t i = 0; i < WHOLE; i++)
            v.c->want[i] = dtype_round(F32, v.a->value[i] + v.b->value[i]);
    }
    check_run(c);
    for (int round = 0; round < 2; round++) {
        check_round(c, round);
        check_compare(c, v.c, budget_exact());
    }
}

static void twice(struct check* c) {
    add_and_compare(c, whole_blocks(c), 3);
    add_and_compare(c, WHOLE + 4 * check_pick(c, 1, 7) + 3, 2);  // the last of four, too
    on_two_devices(c);
}

// Nothing to add: COURSE_OK, nothing written, and NULL is no mistake.
static void empty(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"n", 0}}},
        {COURSE_OK, {{"n", 0}, {"a", 0}, {"b", 0}, {"c", 0}}},
        {0},
    };
    check_ordinary(c);
    add_and_compare(c, whole_blocks(c), 1);
    check_idle_calls(c, calls, declare_whole, NULL);
}

static void bad_arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_BAD_ARGUMENT, {{"n", -1}}},
        {COURSE_BAD_ARGUMENT, {{"n", -1}, {"a", 0}, {"b", 0}, {"c", 0}}},
        {COURSE_BAD_ARGUMENT, {{"a", 0}}},
        {COURSE_BAD_ARGUMENT, {{"b", 0}}},
        {COURSE_BAD_ARGUMENT, {{"c", 0}}},
        {0},
    };
    // More than a grid has threads: it is memory that such a call lacks.
    static const struct idle_call large[] = {
        {COURSE_CUDA_ERROR, {{"n", (double)((int64_t)1 << 40)}}},
        {0},
    };
    check_ordinary(c);
    add_and_compare(c, whole_blocks(c), 1);
    check_idle_calls(c, calls, declare_whole, NULL);
    check_large_calls(c, large, "cudaMalloc", declare_whole, NULL);
}

// A call that fails leaves the caller's device, the second of two, current, too.
static void fails_on_another_device(struct check* c, const char* function, int nth) {
    check_case(c, "n = %d, on the second of two GPUs, and call %d of %s fails", WHOLE, nth,
               function);
    check_begin_on(c, NULL);
    declare(c, WHOLE);
    check_fail_call(c, function, nth);
    check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
    check_run(c);
}

static bool call_with_failure(struct check* c, const char* function, int nth) {
    return call_of_n_with_failure(c, WHOLE, function, nth);
}

// Three arrays cross the bus, by three copies or, where two lie side by side, by two. The number of
// allocations is up to the design: only the first is certain. The copies come first, because a
// kernel that goes on after a failed allocation does not live to return a status.
static void errors_reported(struct check* c) {
    enum { MOST = 6 };
    add_and_compare(c, whole_blocks(c), 1);
    call_with_failure(c, "cudaMemcpy", 3);
    call_with_failure(c, "cudaMemcpy", 2);
    call_with_failure(c, "cudaMalloc", 1);
    call_with_failure(c, "launch", 1);
    for (int nth = 4; nth <= MOST && call_with_failure(c, "cudaMemcpy", nth);) nth++;
    for (int nth = 2; nth <= MOST && call_with_failure(c, "cudaMalloc", nth);) nth++;
    call_with_failure(c, "cudaMemcpy", 1);
    fails_on_another_device(c, "cudaMemcpy", 1);
}

static void expect_no_leak(struct check* c) {
    int64_t bytes = check_leaked(c);
    if (bytes == 0) return;
    check_fail(c, CAUSE_leak, "the launcher returned and left %lld bytes allocated",
               (long long)bytes);
}

static void no_leak(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);
    expect_no_leak(c);
}

// The first copy is the earliest point at which everything can be allocated already. (An error that
// is left costs the item on errors.)
static void no_leak_on_error(struct check* c) {
    static const struct {
        const char* function;
        int nth;
    } failing[] = {{"cudaMemcpy", 1}, {"cudaMemcpy", 2}, {"cudaMemcpy", 3},
                   {"launch", 1},     {"cudaMalloc", 2}, {"cudaMalloc", 3}};
    add_and_compare(c, whole_blocks(c), 1);
    for (int i = 0; i < 6; i++) {
        run_with_failure(c, WHOLE, failing[i].function, failing[i].nth);
        expect_no_leak(c);
    }
}

// Reads past the end are seen here only: they spoil no result. An odd n, so that it ends within a
// float2 or float4, too.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    add_and_compare(c, whole_blocks(c), 1);
    add_and_compare(c, check_pick(c, 258, 2000) | 1, 1);
    add_and_compare(c, 33, 1);
    add_to_itself(c, whole_blocks(c));
}

// Each element of a and b is loaded once, each of c stored once, by the kernel and by the copies;
// and there is room for the three arrays, each rounded up (README, cost budget).
static void cheap(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    int64_t n = whole_blocks(c);
    add_and_compare(c, n, 1);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "bytes loaded per element",
                  (double)t->global_load_bytes / (double)n, 2 * sizeof(float));
    check_at_most(c, CAUSE_too_much_written, "bytes stored per element",
                  (double)t->global_store_bytes / (double)n, sizeof(float));
    check_at_most(c, CAUSE_too_much_read, "bytes copied to the device per element",
                  (double)t->to_device_bytes / (double)n, 2 * sizeof(float));
}

static const struct item items[] = {
    {20, "any n: the last block is partly filled", ragged},
    {8, "a million elements; more than 32 bits count", many_blocks},
    {8, "n = 0", empty},
    {8, "three calls, new data each time", twice},
    {8, "bad arguments are refused", bad_arguments},
    {12, "CUDA errors are returned", errors_reported},
    {8, "nothing stays allocated", no_leak},
    {8, "nothing stays allocated after an error", no_leak_on_error},
    {10, "no stray accesses", safe},
    {10, "each element is touched once", cheap},
    {0},
};

// ---- diagnosis

// What c would hold.
static double other(int variant, double a, double b) {
    const double with[] = {a, b, a + a, b + b, a - b, b - a, a * b, fmax(a, b), fmin(a, b)};
    return dtype_round(F32, with[variant]);
}

static bool make_other(const struct suspect* s, const struct hypothesis* h, int variant,
                       double* guess) {
    const struct vectors* v = s->problem;
    for (int64_t i = 0; i < s->tensor->count; i++)
        guess[i] = other(variant + (h->cause == CAUSE_other_operation ? 4 : 0), v->a->value[i],
                         v->b->value[i]);
    return true;
}

static const struct hypothesis mistakes[] = {
    {CAUSE_wrong_array, make_other, 4, NULL}, {CAUSE_other_operation, make_other, 5, NULL}, {0}};

// Other numbers have arrived than the host has, and c is the sum of the host's.
static bool is_of_the_hosts_numbers(struct check* c, const struct tensor* t) {
    const struct tensor *a = check_tensor(c, "a"), *b = check_tensor(c, "b");
    int64_t count = 0;
    if (!a || !b || !check_handed(a)) return false;
    for (int64_t i = 0; i < t->count; i++)
        count += t->got[i] == dtype_round(F32, a->value[i] + b->value[i]);
    return 2 * count > t->count;
}

// The picture of the errors tells what a copy that is too short leaves: cudaMemcpy was given n as
// the number of bytes, and a quarter of the floats came back. A NaN where one is wanted tells
// nothing.
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)budget;
    if (is_of_the_hosts_numbers(c, t)) return CAUSE_host_computed;
    const int64_t quarter = t->count / 4;
    for (int64_t i = 0; i < t->count; i++) {
        if (isnan(t->want[i]) && isnan(t->got[i])) continue;
        if ((t->got[i] == t->want[i]) != (i < quarter)) return CAUSE_NONE;
    }
    return quarter > 0 ? CAUSE_never_written : CAUSE_NONE;
}

const struct lesson lesson = {
    .name = "01_vector_add",
    .items = items,
    .promises = DEFAULT_STREAM,
    .without_exp = true,
    .idea = {.what = "the right answer: memory, a launch, and what comes back"},
    .mistakes = mistakes,
    .explain = explain,
};
