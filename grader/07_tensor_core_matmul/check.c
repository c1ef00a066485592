// check.c: what lesson 07, tensor_core_matmul, is graded on.
//
// Nearly everything is multiplied with small whole numbers. Products and partial sums are exact in a
// float in any order, tensor cores included (|sum| < 2^24), and there is one way to round the sum to
// bf16: the budget is exact equality. In the usual case sums stay below 256, so bf16 holds them too.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles of any usual size.
#include "check/check.h"
#include "base/dtype.h"
#include "product.h"
#include "tensor_core_matmul.h"
#include "wall/arena.h"

#include <math.h>

// Elements: whole tiles for blocks of up to 128 x 256, and 64 along K.
enum { WHOLE_M = 128, WHOLE_N = 256, WHOLE_K = 64 };

// ---- cases

// What the launcher is told the sizes are.
static void tell_sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    check_int(c, "M", M);
    check_int(c, "N", N);
    check_int(c, "K", K);
}

static struct matrices begin(struct check* c, int rounds, int64_t M, int64_t N, int64_t K) {
    check_case(c, "M = %lld, N = %lld, K = %lld", (long long)M, (long long)N, (long long)K);
    check_rounds(c, rounds);
    tell_sizes(c, M, N, K);
    return (struct matrices){
        .C = check_output(c, "C", BF16, SHAPE(M, N)),
        .A = check_input(c, "A", BF16, SHAPE(M, K)),
        .B = check_input(c, "B", BF16, SHAPE(K, N)),
        .M = M,
        .N = N,
        .K = K,
    };
}

static void run_and_compare(struct check* c, struct matrices m) {
    check_run(c);
    product(m);
    check_compare(c, m.C, budget_exact());
}

// Numbers of -2 .. 2: with K below 400, 256 is seven standard deviations of a sum away.
static void multiply(struct check* c, int64_t M, int64_t N, int64_t K) {
    struct matrices m = begin(c, 1, M, N, K);
    fill_integers(c, m.A, -2, 2);
    fill_integers(c, m.B, -2, 2);
    run_and_compare(c, m);
}

static void multiply_whole(struct check* c) {
    multiply(c, WHOLE_M, WHOLE_N, WHOLE_K);
}

// ---- items

// More tiles down than across, and the other way round.
static void many_blocks(struct check* c) {
    multiply(c, 2 * WHOLE_M, WHOLE_N, WHOLE_K);
    multiply(c, WHOLE_M, 2 * WHOLE_N, WHOLE_K);
}

// One tile along K, and more of them than a kernel has buffers.
static void many_tiles(struct check* c) {
    multiply_whole(c);
    multiply(c, WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5));
}

// K = 8, 24, 40 ... leave rows aligned to 16 bytes, the others do not.
static void inner_ragged(struct check* c) {
    multiply(c, WHOLE_M, WHOLE_N, 8 + 16 * check_pick(c, 4, 7));
    static const int64_t hard[] = {1, 15, 33};
    for (int i = 0; i < 3; i++) multiply(c, WHOLE_M, WHOLE_N, hard[i]);
}

static void outer_ragged(struct check* c) {
    static const int64_t hard[][2] = {{129, 33}, {15, 17}, {1, 1}};
    multiply(c, check_pick(c, 18, 127), check_pick(c, 18, 127), WHOLE_K);
    for (int i = 0; i < 3; i++) multiply(c, hard[i][0], hard[i][1], WHOLE_K);
}

// Sums of about 1000, which bf16 counts in steps of 4 or 8: rounded once, at the end, to nearest.
static void rounded_once(struct check* c) {
    struct matrices m = begin(c, 1, WHOLE_M, WHOLE_N, WHOLE_K);
    fill_integers(c, m.A, -16, 16);
    fill_integers(c, m.B, -16, 16);
    run_and_compare(c, m);

    // Real numbers: sums in another order differ by some 2^-22, and one in thousands is then rounded
    // to the neighbour of what is wanted, an ulp of bf16 (2^-8) away. On average, nothing.
    m = begin(c, 1, WHOLE_M, WHOLE_N, WHOLE_K);
    fill_normal(c, m.A, 0.0, 1.0);
    fill_normal(c, m.B, 0.0, 1.0);
    check_run(c);
    product(m);
    double largest = 0;
    for (int64_t i = 0; i < m.C->count; i++) largest = fmax(largest, fabs(m.C->want[i]));
    double ulp = dtype_ulp(BF16, largest);
    check_compare(c, m.C, (struct budget){ulp, ulp / 64});
}

// Whole numbers times a power of two, which changes no digit: rows of A far above and rows far below
// what fp16 can hold (2^-24 to 2^16). bf16 has the range of a float, 2^-126 to 2^127.
static void whole_range(struct check* c) {
    int power = (int)check_pick(c, 60, 90);
    struct matrices m = begin(c, 1, WHOLE_M, WHOLE_N, WHOLE_K);
    fill_integers(c, m.A, 1, 2);
    fill_integers(c, m.B, 1, 2);
    for (int64_t i = 0; i < m.A->count; i++)
        m.A->value[i] = ldexp(m.A->value[i], i / m.K % 2 ? power : -power);
    run_and_compare(c, m);
}

// Two rows of A and two columns of B hold a NaN or an infinity; the other rows and columns of C must
// know nothing of it. All else is positive, so that infinity times anything is infinity. The odd ones
// of A stand at the beginning of rows: behind the end of the rows before, which are no whole tile.
static void not_finite(struct check* c) {
    struct matrices m = begin(c, 1, WHOLE_M, WHOLE_N, 16 * check_pick(c, 1, 3) + 3);
    fill_integers(c, m.A, 1, 2);
    fill_integers(c, m.B, 1, 2);
    int64_t row = check_pick(c, 1, WHOLE_M / 2 - 1), col = check_pick(c, 1, WHOLE_N / 2 - 1);
    m.A->value[row * m.K + check_pick(c, 0, 7)] = NAN;
    m.A->value[(row + WHOLE_M / 2) * m.K + check_pick(c, 0, 7)] = INFINITY;
    m.B->value[check_pick(c, 0, 7) * m.N + col] = NAN;
    m.B->value[(m.K - 1) * m.N + col + WHOLE_N / 2 - 1] = INFINITY;
    run_and_compare(c, m);
}

static int round_shown;  // by two_calls, for explain()

static void two_calls(struct check* c) {
    enum { ROUNDS = 2 };
    struct matrices m = begin(c, ROUNDS, WHOLE_M, WHOLE_N, WHOLE_K);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round);
        fill_integers(c, m.A, -2, 2);
        fill_integers(c, m.B, -2, 2);
    }
    check_run(c);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round_shown = round);
        product(m);
        check_compare(c, m.C, budget_exact());
    }
    round_shown = 0;
}

// A call with these sizes that must leave C alone and has nothing to read; the matrix named by
// `null` ("": none) is missing.
static void call_untouched(struct check* c, int64_t M, int64_t N, int64_t K, const char* null,
                           int status, enum cause otherwise) {
    check_case(c, "M = %lld, N = %lld, K = %lld%s%s%s", (long long)M, (long long)N, (long long)K,
               *null ? ", " : "", null, *null ? " is NULL" : "");
    tell_sizes(c, M, N, K);
    static const char* const inputs[] = {"A", "B"};
    for (int i = 0; i < 2; i++) {
        if (*inputs[i] == *null)
            check_null(c, inputs[i]);
        else
            check_input(c, inputs[i], BF16, SHAPE(0));
    }
    if (*null == 'C') check_null(c, "C");
    struct tensor* C = *null == 'C' ? NULL : check_output(c, "C", BF16, SHAPE(WHOLE_M, WHOLE_N));
    for (int64_t i = 0; C != NULL && i < C->count; i++) C->untouched[i] = true;
    check_expect(c, status, otherwise);
    check_run(c);
    if (C != NULL) check_compare(c, C, budget_exact());
}

static void sizes_of_0(struct check* c) {
    multiply_whole(c);

    // An empty sum is 0, and C has to be told.
    check_case(c, "M = %d, N = %d, K = 0, A and B are NULL", WHOLE_M, WHOLE_N);
    tell_sizes(c, WHOLE_M, WHOLE_N, 0);
    struct tensor* C = check_output(c, "C", BF16, SHAPE(WHOLE_M, WHOLE_N));
    check_null(c, "A");
    check_null(c, "B");
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    for (int64_t i = 0; i < C->count; i++) C->want[i] = 0;
    check_compare(c, C, budget_exact());

    call_untouched(c, 0, WHOLE_N, WHOLE_K, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, WHOLE_M, 0, WHOLE_K, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, 0, 0, WHOLE_K, "C", COURSE_OK, CAUSE_empty_input);
}

static void refused(struct check* c, int64_t M, int64_t N, int64_t K, const char* null) {
    call_untouched(c, M, N, K, null, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

static void bad_arguments(struct check* c) {
    multiply_whole(c);
    refused(c, -1, WHOLE_N, WHOLE_K, "");
    refused(c, 0, -1, WHOLE_K, "");
    refused(c, WHOLE_M, WHOLE_N, -1, "");
    call_untouched(c, 0, WHOLE_N, TENSOR_CORE_MATMUL_MAX_SIZE + 1, "", COURSE_UNSUPPORTED,
                   CAUSE_argument_check);
    refused(c, WHOLE_M, WHOLE_N, WHOLE_K, "C");
    refused(c, WHOLE_M, WHOLE_N, WHOLE_K, "A");
    refused(c, WHOLE_M, WHOLE_N, WHOLE_K, "B");
}

// Rows aligned to 16 bytes, with tiles past the edges of C; and rows aligned to 2, ragged everywhere.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    multiply(c, check_pick(c, 18, 63), 8 * check_pick(c, 3, 7), 2 * WHOLE_K);
    multiply(c, check_pick(c, 18, 63), 2 + 8 * check_pick(c, 3, 7), 16 * check_pick(c, 1, 3) + 1);
}

// ---- costs, of one call each

static const struct arena_traffic* traffic_of(struct check* c, int64_t K) {
    check_watch(c, WATCH_PROFILE);
    multiply(c, WHOLE_M, WHOLE_N, K);
    return check_traffic(c);
}

// Multiplications left to others, in parts of all: an mma makes 16 * 8 * 16 of them.
static void on_tensor_cores(struct check* c) {
    const double M = WHOLE_M, N = WHOLE_N, K = WHOLE_K;
    const struct arena_traffic* t = traffic_of(c, WHOLE_K);
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - (double)t->mma * 2048 / (M * N * K), 0);
}

// Tiles of TILE x TILE of C read every element of A N / TILE times and every one of B M / TILE times
// (README eq. 4). The budget allows tiles of 64, a warp's.
static void read_once_per_tile(struct check* c) {
    enum { TILE = 64 };
    const double M = WHOLE_M, N = WHOLE_N, K = 2 * WHOLE_K;
    const struct arena_traffic* t = traffic_of(c, 2 * WHOLE_K);
    check_at_most(c, CAUSE_too_much_read, "times that an element of A or B is loaded, on average",
                  (double)t->global_load_bytes / (2 * (M * K + K * N)),
                  (M * K * N / TILE + K * N * M / TILE) / (M * K + K * N));
    check_at_most(c, CAUSE_too_much_written, "times that each element of C is stored",
                  (double)t->global_store_bytes / (2 * M * N), 1);
}

// Wavefronts that only conflicts make, in parts of the others. A few are forgiven; rows one below the
// other in the same banks cost seven times the others.
static void no_conflicts(struct check* c) {
    const struct arena_traffic* t = traffic_of(c, WHOLE_K);
    double conflicts = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to conflicts for each useful one",
                  all > conflicts ? conflicts / (all - conflicts) : 0, 0.15);
}

static const struct item items[] = {
    {14, "tiles of C in both directions", many_blocks},
    {14, "many tiles along K", many_tiles},
    {12, "any K: the last tile is partly filled", inner_ragged},
    {10, "any M and N: tiles reach past the edge", outer_ragged},
    {6, "sums are rounded once, at the end", rounded_once},
    {4, "very large and very small numbers", whole_range},
    {6, "NaN and infinity stay in their row and column", not_finite},
    {5, "called again with new data", two_calls},
    {3, "sizes of 0", sizes_of_0},
    {3, "bad arguments are refused", bad_arguments},
    {9, "no races, no stray accesses", safe},
    {4, "the tensor cores multiply", on_tensor_cores},
    {5, "global memory is read once per tile", read_once_per_tile},
    {5, "shared memory without bank conflicts", no_conflicts},
    {0},
};

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    struct matrices m = {
        .C = check_tensor(c, "C"),
        .A = check_tensor(c, "A"),
        .B = check_tensor(c, "B"),
        .M = check_int_of(c, "M"),
        .N = check_int_of(c, "N"),
        .K = check_int_of(c, "K"),
    };
    if (m.M * m.N != t->count || m.K == 0) return CAUSE_NONE;  // nothing was to be multiplied
    check_round(c, 0);
    const double* first_B = m.B->value;
    check_round(c, round_shown);
    return explain_product(m, first_B, budget);
}

const struct lesson lesson = {
    .name = "07_tensor_core_matmul",
    .items = items,
    .explain = explain,
};
