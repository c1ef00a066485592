// check.c: what lesson 05, tiled_matmul, is graded on.
//
// Nearly everything is multiplied with small whole numbers: every product and every partial sum is
// exact in a float whatever the order of summation (|sum| < 2^24), so the budget is exact equality.
// Only the item on precision uses real numbers.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles (multiples of 32), M = N
// unless M and N are to be told apart, and K >= N, so that a K mistaken for N stays inside A and B.
#include "check/check.h"
#include "tiled_matmul.h"
#include "wall/arena.h"

#include <math.h>
#include <stdlib.h>

enum { WHOLE = 32 };  // elements: a whole number of tiles of any usual size

// The tile sizes a student may have chosen. explain() tries them all.
static const int tiles[] = {8, 16, 32, 64, 128};
enum { TILES = sizeof tiles / sizeof tiles[0] };

// ---- cases

struct matrices {
    struct tensor *C, *A, *B;
    int64_t M, N, K;
};

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
        .C = check_output(c, "C", F32, SHAPE(M, N)),
        .A = check_input(c, "A", F32, SHAPE(M, K)),
        .B = check_input(c, "B", F32, SHAPE(K, N)),
        .M = M,
        .N = N,
        .K = K,
    };
}

// C = A B in double                        (README eq. 1)
// C[i][j] = sum_k A[i][k] * B[k][j]
static void reference(struct matrices m) {
    for (int64_t i = 0; i < m.M; i++) {
        double* C = m.C->want + i * m.N;
        for (int64_t j = 0; j < m.N; j++) C[j] = 0;
        for (int64_t k = 0; k < m.K; k++) {
            double a = m.A->value[i * m.K + k];
            for (int64_t j = 0; j < m.N; j++) C[j] += a * m.B->value[k * m.N + j];
        }
    }
}

static void multiply(struct check* c, int64_t M, int64_t N, int64_t K) {
    struct matrices m = begin(c, 1, M, N, K);
    fill_integers(c, m.A, -4, 4);
    fill_integers(c, m.B, -4, 4);
    check_run(c);
    reference(m);
    check_compare(c, m.C, budget_exact());
}

static void multiply_whole(struct check* c) {
    multiply(c, WHOLE, WHOLE, 2 * WHOLE);
}

// 17 to 63, and no multiple of 16: at least two tiles of 16 in each direction, the last one ragged.
static int64_t ragged_size(struct check* c) {
    return 16 * check_pick(c, 1, 3) + check_pick(c, 1, 15);
}

// ---- items

// All three sizes differ, so each has to be taken from the right parameter. First in whole tiles,
// then ragged in all directions at once.
static void all_different(struct check* c) {
    multiply(c, 2 * WHOLE, WHOLE, WHOLE * check_pick(c, 3, 5));
    multiply(c, WHOLE, 3 * WHOLE, 2 * WHOLE);
    int64_t M = ragged_size(c), N = ragged_size(c);
    multiply(c, M, N == M ? N + 16 : N, ragged_size(c));
    multiply(c, 129, 17, 33);
    multiply(c, 17, 4321, 33);
}

static void inner_ragged(struct check* c) {
    multiply_whole(c);
    multiply(c, WHOLE, WHOLE, 2 * WHOLE + check_pick(c, 1, 7));
    static const int64_t hard[] = {17, 15, 1, 4321};
    for (int i = 0; i < 4; i++) multiply(c, WHOLE, WHOLE, hard[i]);
}

static void outer_ragged(struct check* c) {
    int64_t size = ragged_size(c);
    multiply(c, size, size, 2 * WHOLE);
    static const int64_t hard[] = {33, 15, 1};
    for (int i = 0; i < 3; i++) multiply(c, hard[i], hard[i], 2 * WHOLE);
}

// sum_k a[k] * b[k * stride] over n elements in float, halving: the error grows with log n.
static float pairwise(const double* a, const double* b, int64_t stride, int64_t n) {
    if (n == 1) return (float)a[0] * (float)b[0];
    int64_t half = n / 2;
    return pairwise(a, b, stride, half) + pairwise(a + half, b + half * stride, stride, n - half);
}

// The standard is pairwise summation in float. A plain loop over k is less exact, but with K = 64
// it stays below half of the budget; operands or sums of 11 bits exceed it a hundred times.
static void precise(struct check* c) {
    struct matrices m = begin(c, 1, WHOLE, WHOLE, 2 * WHOLE);
    fill_normal(c, m.A, 0.0, 1.0);
    fill_normal(c, m.B, 0.0, 1.0);
    check_run(c);
    reference(m);
    double standard[WHOLE * WHOLE];
    for (int64_t i = 0; i < m.M; i++) {
        for (int64_t j = 0; j < m.N; j++) {
            standard[i * m.N + j] =
                (double)pairwise(m.A->value + i * m.K, m.B->value + j, m.N, m.K);
        }
    }
    check_compare(c, m.C, budget_from(m.C, standard));
}

// Two rows of A and two columns of B hold a NaN or an infinity; the other rows and columns of C
// must know nothing of it. All else is positive, so that infinity times anything is infinity. The
// odd ones stand at the beginning and the end of rows, where a tile too many would fetch them.
static void not_finite(struct check* c) {
    struct matrices m = begin(c, 1, WHOLE, WHOLE, 2 * WHOLE);
    fill_integers(c, m.A, 1, 4);
    fill_integers(c, m.B, 1, 4);
    int64_t row = check_pick(c, 1, WHOLE / 2 - 1), col = check_pick(c, 1, WHOLE / 2 - 1);
    m.A->value[row * m.K + check_pick(c, 0, 7)] = NAN;
    m.A->value[(row + WHOLE / 2) * m.K + m.K - 1] = INFINITY;
    m.B->value[check_pick(c, 0, 7) * m.N + col] = NAN;
    m.B->value[(m.K - 1) * m.N + col + WHOLE / 2 - 1] = INFINITY;
    check_run(c);
    reference(m);
    check_compare(c, m.C, budget_exact());
}

static int round_shown;  // by three_calls, for explain()

static void three_calls(struct check* c) {
    enum { ROUNDS = 3 };
    struct matrices m = begin(c, ROUNDS, WHOLE, WHOLE, 2 * WHOLE);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round);
        fill_integers(c, m.A, -4, 4);
        fill_integers(c, m.B, -4, 4);
    }
    check_run(c);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round_shown = round);
        reference(m);
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
            check_input(c, inputs[i], F32, SHAPE(0));
    }
    if (*null == 'C') check_null(c, "C");
    struct tensor* C = *null == 'C' ? NULL : check_output(c, "C", F32, SHAPE(WHOLE, WHOLE));
    for (int64_t i = 0; C != NULL && i < C->count; i++) C->untouched[i] = true;
    check_expect(c, status, otherwise);
    check_run(c);
    if (C != NULL) check_compare(c, C, budget_exact());
}

static void sizes_of_0(struct check* c) {
    multiply_whole(c);

    // An empty sum is 0, and C has to be told.
    check_case(c, "M = N = %d, K = 0, A and B are NULL", WHOLE);
    tell_sizes(c, WHOLE, WHOLE, 0);
    struct tensor* C = check_output(c, "C", F32, SHAPE(WHOLE, WHOLE));
    check_null(c, "A");
    check_null(c, "B");
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    for (int64_t i = 0; i < C->count; i++) C->want[i] = 0;
    check_compare(c, C, budget_exact());

    call_untouched(c, 0, WHOLE, WHOLE, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, WHOLE, 0, WHOLE, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, 0, 0, WHOLE, "C", COURSE_OK, CAUSE_empty_input);
}

static void refused(struct check* c, int64_t M, int64_t N, int64_t K, const char* null) {
    call_untouched(c, M, N, K, null, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

static void bad_arguments(struct check* c) {
    multiply_whole(c);
    refused(c, -1, WHOLE, WHOLE, "");
    refused(c, 0, -1, WHOLE, "");
    refused(c, WHOLE, WHOLE, -1, "");
    call_untouched(c, 0, WHOLE, TILED_MATMUL_MAX_SIZE + 1, "", COURSE_UNSUPPORTED,
                   CAUSE_argument_check);
    refused(c, WHOLE, WHOLE, WHOLE, "C");
    refused(c, WHOLE, WHOLE, WHOLE, "A");
    refused(c, WHOLE, WHOLE, WHOLE, "B");
}

// Whole tiles, and ragged ones in every direction.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    multiply(c, WHOLE, WHOLE, 2 * WHOLE);
    int64_t size = ragged_size(c);
    multiply(c, size, size, ragged_size(c));
}

// A kernel without tiles reads every element of A N times and every element of B M times; tiles of T
// divide both by T (README eq. 4). The budget allows tiles of 8 and what a ragged edge costs.
static void cheap(struct check* c) {
    enum { SIZE = 3 * WHOLE, SMALLEST_TILE = 8 };
    check_watch(c, WATCH_PROFILE);
    multiply(c, SIZE, SIZE, SIZE);
    const struct arena_traffic* t = check_traffic(c);
    double elements = 2.0 * SIZE * SIZE;
    check_at_most(c, CAUSE_too_much_read, "times that each element of A and B is loaded",
                  (double)t->global_load_bytes / (4 * elements), (double)SIZE / SMALLEST_TILE);
    check_at_most(c, CAUSE_too_much_written, "times that each element of C is stored",
                  (double)t->global_store_bytes / (4.0 * SIZE * SIZE), 1.0);
}

static const struct item items[] = {
    {15, "M, N and K all different", all_different},
    {15, "any K: the last tile is partly filled", inner_ragged},
    {15, "any M and N: blocks reach past the edge", outer_ragged},
    {8, "real numbers, in full float precision", precise},
    {8, "NaN and infinity stay in their row and column", not_finite},
    {8, "three calls, new data each time", three_calls},
    {4, "sizes of 0", sizes_of_0},
    {4, "bad arguments are refused", bad_arguments},
    {10, "no races, no stray accesses", safe},
    {13, "global memory is read once per tile", cheap},
    {0},
};

// ---- diagnosis: compute what a mistake would give, and compare

struct evidence {
    struct tensor *C, *A, *B;
    int64_t M, N, K;
    const double* first_B;  // (K, N): of the first round
    struct budget budget;
    double* guess;  // (M, N)
};

// The k-th term of C[i][j]; `size` is what a mistaken kernel takes for its tile or a row length.
struct place {
    int64_t size, i, k, j;
};
typedef double term(const struct evidence* e, struct place p);

// Is C the sum of these terms, k < limit?
static bool is_sum(const struct evidence* e, term* mistaken, int64_t size, int64_t limit) {
    for (int64_t i = 0; i < e->M; i++) {
        for (int64_t j = 0; j < e->N; j++) {
            double sum = 0;
            for (int64_t k = 0; k < limit; k++) sum += mistaken(e, (struct place){size, i, k, j});
            e->guess[i * e->N + j] = sum;
        }
    }
    return check_matches(e->C, e->guess, e->budget);
}

// An element by its place in memory; around every matrix lies a guard band of NaN.
static double flat(const struct tensor* t, int64_t index) {
    return index >= 0 && index < t->count ? t->value[index] : NAN;
}

// An element by row and column; a tile holds 0 outside its matrix.
static double tile(const struct tensor* t, int64_t row, int64_t col) {
    int64_t rows = t->shape.dim[0], cols = t->shape.dim[1];
    return row < rows && col < cols ? t->value[row * cols + col] : 0;
}

static double right(const struct evidence* e, struct place p) {
    return flat(e->A, p.i * e->K + p.k) * flat(e->B, p.k * e->N + p.j);
}

static double A_row_length(const struct evidence* e, struct place p) {
    return flat(e->A, p.i * p.size + p.k) * flat(e->B, p.k * e->N + p.j);
}

// The tile of A is stored as [x][y] and read as [y][x]; next, the tile of B.
static double A_tile_turned(const struct evidence* e, struct place p) {
    int64_t y = p.i % p.size, x = p.k % p.size;
    return tile(e->A, p.i - y + x, p.k - x + y) * tile(e->B, p.k, p.j);
}

static double B_tile_turned(const struct evidence* e, struct place p) {
    int64_t y = p.k % p.size, x = p.j % p.size;
    return tile(e->A, p.i, p.k) * tile(e->B, p.k - y + x, p.j - x + y);
}

// Beyond K, the last tile still holds the one before it; the first one holds nothing.
static double stale_tail(const struct evidence* e, struct place p) {
    if (p.k < e->K) return right(e, p);
    return p.k < p.size ? NAN : tile(e->A, p.i, p.k - p.size) * tile(e->B, p.k - p.size, p.j);
}

static double stale_B(const struct evidence* e, struct place p) {
    return e->A->value[p.i * e->K + p.k] * e->first_B[p.k * e->N + p.j];
}

static enum cause explain_sum(const struct evidence* e) {
    for (int i = 0; i < TILES; i++) {
        int64_t T = tiles[i], end = CEIL_DIV(e->K, T) * T;
        if (is_sum(e, right, 0, e->K - e->K % T)) return CAUSE_inner_tail;
        if (is_sum(e, stale_tail, T, end)) return CAUSE_inner_tail;
        if (is_sum(e, A_tile_turned, T, end)) return CAUSE_transposed;
        if (is_sum(e, B_tile_turned, T, end)) return CAUSE_transposed;
    }
    int64_t sizes[] = {e->M, e->N, e->K};
    for (int i = 0; i < 3; i++) {
        if (is_sum(e, A_row_length, sizes[i], e->K)) return CAUSE_swapped_sizes;
        if (is_sum(e, right, 0, sizes[i])) return CAUSE_swapped_sizes;
    }
    if (is_sum(e, stale_B, 0, e->K)) return CAUSE_stale_state;
    return CAUSE_NONE;
}

// The sum for (i, j) stands at j * M + i.
static bool is_transposed(const struct evidence* e) {
    for (int64_t i = 0; i < e->M; i++) {
        for (int64_t j = 0; j < e->N; j++) e->guess[j * e->M + i] = e->C->want[i * e->N + j];
    }
    return check_matches(e->C, e->guess, e->budget);
}

static bool is_wrong(const struct evidence* e, int64_t i) {
    double want = e->C->want[i], got = e->C->got[i];
    if (isnan(want)) return !isnan(got);
    return !(got == want || fabs(got - want) <= e->budget.max);
}

// Is all well within the first rows x cols elements, and little beyond? A few wrong sums of whole
// numbers are right by chance.
static bool is_cut(const struct evidence* e, int64_t rows, int64_t cols) {
    int64_t beyond = 0, wrong = 0;
    for (int64_t i = 0; i < e->C->count; i++) {
        bool within = i / e->N < rows && i % e->N < cols;
        if (within && is_wrong(e, i)) return false;
        beyond += !within;
        wrong += is_wrong(e, i);
    }
    return 4 * wrong >= 3 * beyond;
}

static enum cause explain_place(const struct evidence* e) {
    if (is_transposed(e)) return CAUSE_transposed;
    if (e->M != e->N && is_cut(e, e->N, e->M)) return CAUSE_swapped_sizes;
    for (int i = 0; i < TILES; i++) {
        int64_t rows = e->M - e->M % tiles[i], cols = e->N - e->N % tiles[i];
        if (rows > 0 && cols > 0 && is_cut(e, rows, cols)) return CAUSE_tail_dropped;
    }
    return CAUSE_NONE;
}

// Every wrong element is NaN. From NaN in the inputs it has leaked; otherwise it comes from a guard
// band or from shared memory never written, by way of the part of a tile that lies beyond K.
static enum cause explain_nan(const struct evidence* e) {
    bool nan_wanted = false;
    for (int64_t i = 0; i < e->C->count; i++) {
        if (is_wrong(e, i) && !isnan(e->C->got[i])) return CAUSE_NONE;
        nan_wanted = nan_wanted || isnan(e->C->want[i]);
    }
    if (nan_wanted) return CAUSE_nan_leak;
    return e->K % tiles[0] != 0 ? CAUSE_inner_tail : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    struct evidence e = {
        .C = check_tensor(c, "C"),
        .A = check_tensor(c, "A"),
        .B = check_tensor(c, "B"),
        .M = check_int_of(c, "M"),
        .N = check_int_of(c, "N"),
        .K = check_int_of(c, "K"),
        .budget = budget,
    };
    if (e.M * e.N != t->count || e.K == 0) return CAUSE_NONE;  // nothing was to be multiplied
    e.guess = calloc((size_t)t->count, sizeof(double));
    if (e.guess == NULL) return CAUSE_NONE;
    check_round(c, 0);
    e.first_B = e.B->value;
    check_round(c, round_shown);
    enum cause cause = explain_sum(&e);
    if (cause == CAUSE_NONE) cause = explain_place(&e);
    if (cause == CAUSE_NONE) cause = explain_nan(&e);
    free(e.guess);
    return cause;
}

const struct lesson lesson = {
    .name = "05_tiled_matmul",
    .items = items,
    .explain = explain,
};
