// check.c: what lesson 01, vector_add, is graded on.
//
// One float addition is rounded once, to the nearest: there is exactly one right answer, and the
// budget is exact equality. The double sum of two floats rounded to float is that answer (53 bits
// are more than twice 24 plus 2, so rounding twice does no harm).
//
// Each item sets one trap. Except where the trap is a ragged or a large n, n is a small multiple of
// WHOLE, so that every usual block size divides it.
#include "check/check.h"
#include "vector_add.h"
#include "wall/arena.h"

#include <stddef.h>
#include <string.h>

enum { WHOLE = 1024 };  // elements: a multiple of every power-of-two block size

// One valid call with n elements: run it, compare it.
static void add_and_compare(struct check* c, int64_t n, int rounds) {
    check_case(c, rounds > 1 ? "n = %lld, %d calls" : "n = %lld", (long long)n, rounds);
    check_rounds(c, rounds);
    check_int(c, "n", n);
    struct tensor* out = check_output(c, "c", F32, SHAPE(n));
    struct tensor* a = check_input(c, "a", F32, SHAPE(n));
    struct tensor* b = check_input(c, "b", F32, SHAPE(n));
    check_on_host(out);
    check_on_host(a);
    check_on_host(b);
    for (int round = 0; round < rounds; round++) {
        check_round(c, round);
        fill_uniform(c, a, -8.0, 8.0);
        fill_uniform(c, b, -8.0, 8.0);
    }
    check_run(c);
    for (int round = 0; round < rounds; round++) {
        check_round(c, round);
        for (int64_t i = 0; i < n; i++) out->want[i] = dtype_round(F32, a->value[i] + b->value[i]);
        check_compare(c, out, budget_exact());
    }
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
    add_and_compare(c, 255, 1);
    add_and_compare(c, 1, 1);
}

// More blocks than anybody would type in by hand.
static void many_blocks(struct check* c) {
    add_and_compare(c, WHOLE * check_pick(c, 970, 1010), 1);
}

static void twice(struct check* c) {
    add_and_compare(c, whole_blocks(c), 3);
}

// The arguments of a call that must not touch c: n elements in a and b, more in c, and NULL for
// those named in `null` ("ab": a and b).
static void declare_untouched(struct check* c, int64_t n, const char* null) {
    check_int(c, "n", n);
    static const char* const inputs[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        if (strchr(null, inputs[i][0]) != NULL) {
            check_null(c, inputs[i]);
            continue;
        }
        struct tensor* t = check_input(c, inputs[i], F32, SHAPE(n > 0 ? n : 0));
        check_on_host(t);
        fill_uniform(c, t, -8.0, 8.0);
    }
    if (strchr(null, 'c') != NULL) {
        check_null(c, "c");
        return;
    }
    struct tensor* out = check_output(c, "c", F32, SHAPE(WHOLE));
    check_on_host(out);
    for (int64_t i = 0; i < out->count; i++) out->untouched[i] = true;
}

// Nothing to add: COURSE_OK, nothing read or written, and NULL is no mistake.
static void empty(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);

    check_case(c, "n = 0");
    declare_untouched(c, 0, "");
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    check_compare(c, check_tensor(c, "c"), budget_exact());

    check_case(c, "n = 0, all pointers NULL");
    declare_untouched(c, 0, "abc");
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
}

static void bad_arguments(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);
    static const struct {
        const char* text;
        int64_t n;
        const char* null;
    } cases[] = {
        {"n = -1", -1, ""},        {"n = -1, all pointers NULL", -1, "abc"},
        {"a is NULL", WHOLE, "a"}, {"b is NULL", WHOLE, "b"},
        {"c is NULL", WHOLE, "c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(c, "%s", cases[i].text);
        declare_untouched(c, cases[i].n, cases[i].null);
        check_expect(c, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
        check_run(c);
    }
}

// A valid call in which the nth call of `function` fails.
static void call_with_failure(struct check* c, const char* function, int nth) {
    check_case(c, "n = %d, and call %d of %s fails", WHOLE, nth, function);
    declare_untouched(c, WHOLE, "");
    check_fail_call(c, function, nth);
    check_expect(c, COURSE_CUDA_ERROR, CAUSE_error_ignored);
    check_run(c);
}

// Three arrays cross the bus, so every design makes at least three copies. The number of
// allocations is up to the design: only the first is certain. The copies come first, because a
// kernel that goes on after a failed allocation does not live to return a status.
static void errors_reported(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);
    call_with_failure(c, "cudaMemcpy", 3);
    call_with_failure(c, "cudaMemcpy", 2);
    call_with_failure(c, "cudaMalloc", 1);
}

static void expect_no_leak(struct check* c) {
    int64_t bytes = check_leaked(c);
    if (bytes == 0) return;
    check_fail(c, CAUSE_leak, "the launcher returned and left %lld bytes allocated on the device",
               (long long)bytes);
}

static void no_leak(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);
    expect_no_leak(c);
}

// The first copy is the earliest point at which everything can be allocated already.
static void no_leak_on_error(struct check* c) {
    add_and_compare(c, whole_blocks(c), 1);
    call_with_failure(c, "cudaMemcpy", 1);
    expect_no_leak(c);
}

// Reads past the end are seen here only: they spoil no result. An odd n, so that it ends within a
// float2 or float4, too.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    add_and_compare(c, whole_blocks(c), 1);
    add_and_compare(c, check_pick(c, 258, 2000) | 1, 1);
    add_and_compare(c, 33, 1);
}

// Each element of a and b is loaded once, each of c stored once (README, cost budget).
static void cheap(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    int64_t n = whole_blocks(c);
    add_and_compare(c, n, 1);
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_too_much_read, "bytes loaded per element",
                  (double)t->global_load_bytes / (double)n, 2 * sizeof(float));
    check_at_most(c, CAUSE_too_much_written, "bytes stored per element",
                  (double)t->global_store_bytes / (double)n, sizeof(float));
}

static const struct item items[] = {
    {20, "any n: the last block is partly filled", ragged},
    {8, "a million elements", many_blocks},
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

// The first wrong element, if every element from there to the end is wrong; else -1.
static int64_t start_of_wrong_end(const struct tensor* t) {
    int64_t start = t->count;
    while (start > 0 && !(t->got[start - 1] == t->want[start - 1])) start--;
    for (int64_t i = 0; i < start; i++) {
        if (!(t->got[i] == t->want[i])) return -1;
    }
    return start < t->count ? start : -1;
}

// The picture of the errors tells what a grid that is too small leaves.
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    (void)c;
    (void)budget;
    int64_t start = start_of_wrong_end(t);
    // cudaMemcpy was given n as the number of bytes: a quarter of the floats came back.
    if (start > 0 && start == t->count / 4) return CAUSE_never_written;
    return CAUSE_NONE;
}

const struct lesson lesson = {
    .name = "01_vector_add",
    .items = items,
    .idea = {.what = "the right answer: memory, a launch, and what comes back"},
    .explain = explain,
};
