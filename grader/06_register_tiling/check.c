// check.c: what lesson 06, register_tiling, is graded on.
//
// Nearly everything is multiplied with small whole numbers: every product and every partial sum is
// exact in a float whatever the order of summation (|sum| < 2^24), so the budget is exact equality.
// Only the item on precision uses real numbers.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles of any usual size, and
// matrices packed and aligned.
#include "check/check.h"
#include "product.h"
#include "register_tiling.h"
#include "wall/arena.h"

#include <math.h>

// Elements: whole tiles for blocks of up to 256 x 256, and up to 32 along K.
enum { WHOLE = 256, WHOLE_K = 32 };

// ---- cases

// Where the matrices lie: `gap` elements stand between the end of a row and the beginning of the next,
// `first` of them at the beginning of each row of the array.
struct place_of {
    int64_t gap, first;
};
struct layout {
    struct place_of C, A, B;
};
static const struct layout packed;

// What the launcher is told.
static void tell(struct check* c, int64_t M, int64_t N, int64_t K, struct layout l) {
    check_int(c, "M", M);
    check_int(c, "N", N);
    check_int(c, "K", K);
    check_int(c, "stride_C", N + l.C.gap);
    check_int(c, "stride_A", K + l.A.gap);
    check_int(c, "stride_B", N + l.B.gap);
    check_int(c, "first_C", l.C.first);
    check_int(c, "first_A", l.A.first);
    check_int(c, "first_B", l.B.first);
}

static struct matrix input(struct check* c, const char* name, int64_t rows, int64_t cols,
                           struct place_of place) {
    struct tensor* t = check_input(c, name, F32, SHAPE(rows, cols + place.gap));
    return (struct matrix){t, rows, cols, cols + place.gap, place.first};
}

static struct product begin_at(struct check* c, int rounds, int64_t M, int64_t N, int64_t K,
                               struct layout l) {
    check_rounds(c, rounds);
    tell(c, M, N, K, l);
    struct tensor* C = check_output(c, "C", F32, SHAPE(M, N + l.C.gap));
    return (struct product){
        .C = {C, M, N, N + l.C.gap, l.C.first},
        .A = input(c, "A", M, K, l.A),
        .B = input(c, "B", K, N, l.B),
    };
}

static struct product begin(struct check* c, int rounds, int64_t M, int64_t N, int64_t K) {
    check_case(c, "M = %lld, N = %lld, K = %lld", (long long)M, (long long)N, (long long)K);
    return begin_at(c, rounds, M, N, K, packed);
}

static void run_and_compare(struct check* c, struct product p) {
    check_run(c);
    product(p);
    check_compare(c, p.C.t, budget_exact());
}

static void fill(struct check* c, struct product p, int64_t low, int64_t high) {
    fill_integers(c, p.A.t, low, high);
    fill_integers(c, p.B.t, low, high);
}

static void multiply(struct check* c, int64_t M, int64_t N, int64_t K) {
    struct product p = begin(c, 1, M, N, K);
    fill(c, p, -4, 4);
    run_and_compare(c, p);
}

static void multiply_whole(struct check* c) {
    multiply(c, WHOLE, WHOLE, WHOLE_K);
}

// 17 to 127, and no multiple of 4.
static int64_t ragged_size(struct check* c) {
    return 4 * check_pick(c, 4, 31) + check_pick(c, 1, 3);
}

// ---- items

// More tiles down than across, and the other way round, and many more; along K one tile, or more of them
// than a kernel has buffers.
static void all_different(struct check* c) {
    multiply(c, 2 * WHOLE, WHOLE, WHOLE_K);
    multiply(c, WHOLE, 2 * WHOLE, WHOLE_K * check_pick(c, 4, 6));
    multiply(c, WHOLE * check_pick(c, 5, 6), 2 * WHOLE, WHOLE_K);
}

// K = 4, 8, 12 ... leave rows aligned to 16 bytes, the others do not.
static void inner_ragged(struct check* c) {
    multiply(c, WHOLE, WHOLE, 2 * WHOLE_K + 4 * check_pick(c, 1, 7));
    static const int64_t hard[] = {1, 15, 33};
    for (int i = 0; i < 3; i++) multiply(c, WHOLE, WHOLE, hard[i]);
}

static void outer_ragged(struct check* c) {
    multiply(c, 4 * check_pick(c, 5, 63), 4 * check_pick(c, 5, 63), WHOLE_K);
    static const int64_t hard[][2] = {{129, 131}, {15, 17}, {1, 1}};
    for (int i = 0; i < 3; i++) multiply(c, hard[i][0], hard[i][1], WHOLE_K);
    multiply(c, ragged_size(c), ragged_size(c), WHOLE_K);
}

// Matrices that are some columns of wider arrays: what stands around them is NaN, and not theirs.
static void multiply_parts(struct check* c, int64_t M, int64_t N, int64_t K, struct layout l) {
    check_case(c,
               "M = %lld, N = %lld, K = %lld; columns from %lld of %lld in C, %lld of %lld in A, "
               "%lld of %lld in B",
               (long long)M, (long long)N, (long long)K, (long long)l.C.first,
               (long long)(N + l.C.gap), (long long)l.A.first, (long long)(K + l.A.gap),
               (long long)l.B.first, (long long)(N + l.B.gap));
    struct product p = begin_at(c, 1, M, N, K, l);
    fill(c, p, -4, 4);
    struct matrix inputs[] = {p.A, p.B};
    for (int i = 0; i < 2; i++) {
        for (int64_t e = 0; e < inputs[i].t->count; e++) {
            int64_t col = e % inputs[i].stride - inputs[i].first;
            if (col < 0 || col >= inputs[i].cols) inputs[i].t->value[e] = NAN;
        }
    }
    run_and_compare(c, p);
}

// Rows that are apart, and aligned to 16 bytes; then one matrix after the other begins elsewhere, and has
// rows that do.
static void strided(struct check* c) {
    int64_t wide = 4 * check_pick(c, 2, 8);
    struct layout aligned = {{wide, 4}, {wide + 4, 0}, {wide + 8, 8}};
    multiply_parts(c, WHOLE, WHOLE, WHOLE_K, aligned);
    for (int matrix = 0; matrix < 3; matrix++) {
        struct layout begins = aligned, rows = aligned;
        (matrix == 0 ? &begins.C : matrix == 1 ? &begins.A : &begins.B)->first += 1;
        (matrix == 0 ? &rows.C : matrix == 1 ? &rows.A : &rows.B)->gap += 2;
        multiply_parts(c, WHOLE, WHOLE, WHOLE_K, begins);
        multiply_parts(c, WHOLE, WHOLE, WHOLE_K, rows);
    }
}

// sum_k a[k] * b[k * stride] over n elements in float, halving: the error grows with log n.
static float pairwise(const double* a, const double* b, int64_t stride, int64_t n) {
    if (n == 1) return (float)a[0] * (float)b[0];
    int64_t half = n / 2;
    return pairwise(a, b, stride, half) + pairwise(a + half, b + half * stride, stride, n - half);
}

// The standard is pairwise summation in float. A plain loop over k is less exact, but with K = 32 it
// stays below half of the budget; operands or sums of 11 bits exceed it a hundred times.
static void precise(struct check* c) {
    struct product p = begin(c, 1, WHOLE, WHOLE, WHOLE_K);
    fill_normal(c, p.A.t, 0.0, 1.0);
    fill_normal(c, p.B.t, 0.0, 1.0);
    check_run(c);
    product(p);
    static double standard[WHOLE * WHOLE];
    for (int64_t i = 0; i < WHOLE; i++)
        for (int64_t j = 0; j < WHOLE; j++)
            standard[i * WHOLE + j] =
                (double)pairwise(p.A.t->value + i * WHOLE_K, p.B.t->value + j, WHOLE, WHOLE_K);
    check_compare(c, p.C.t, budget_from(p.C.t, standard));
}

// Two rows of A and two columns of B hold a NaN or an infinity; the other rows and columns of C must
// know nothing of it. All else is positive, so that infinity times anything is infinity. The odd ones
// of A stand at the beginning of rows: behind the end of the rows before, which are no whole tile.
static void not_finite(struct check* c) {
    struct product p = begin(c, 1, WHOLE, WHOLE, 4 * check_pick(c, 5, 7));
    int64_t K = p.A.cols;
    fill(c, p, 1, 4);
    int64_t row = check_pick(c, 1, WHOLE / 2 - 1), col = check_pick(c, 1, WHOLE / 2 - 1);
    p.A.t->value[row * K + check_pick(c, 0, 3)] = NAN;
    p.A.t->value[(row + WHOLE / 2) * K + check_pick(c, 0, 3)] = INFINITY;
    p.B.t->value[check_pick(c, 0, 7) * WHOLE + col] = NAN;
    p.B.t->value[(K - 1) * WHOLE + col + WHOLE / 2 - 1] = INFINITY;
    run_and_compare(c, p);
}

static int round_shown;  // by two_calls, for explain()

static void two_calls(struct check* c) {
    enum { ROUNDS = 2 };
    struct product p = begin(c, ROUNDS, WHOLE, WHOLE, WHOLE_K);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round);
        fill(c, p, -4, 4);
    }
    check_run(c);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(c, round_shown = round);
        product(p);
        check_compare(c, p.C.t, budget_exact());
    }
    round_shown = 0;
}

// A call that must leave C alone and has nothing to read; the matrix named by `null` ("": none) is
// missing. Strides are those of packed matrices, plus the gaps of the layout.
static void call_untouched(struct check* c, int64_t M, int64_t N, int64_t K, struct layout l,
                           const char* null, int status, enum cause otherwise) {
    check_case(c, "M = %lld, N = %lld, K = %lld, strides %lld, %lld, %lld%s%s%s", (long long)M,
               (long long)N, (long long)K, (long long)(N + l.C.gap), (long long)(K + l.A.gap),
               (long long)(N + l.B.gap), *null ? ", " : "", null, *null ? " is NULL" : "");
    tell(c, M, N, K, l);
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
    tell(c, WHOLE, WHOLE, 0, packed);
    struct tensor* C = check_output(c, "C", F32, SHAPE(WHOLE, WHOLE));
    check_null(c, "A");
    check_null(c, "B");
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    for (int64_t i = 0; i < C->count; i++) C->want[i] = 0;
    check_compare(c, C, budget_exact());

    call_untouched(c, 0, WHOLE, WHOLE_K, packed, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, WHOLE, 0, WHOLE_K, packed, "", COURSE_OK, CAUSE_empty_input);
    call_untouched(c, 0, 0, WHOLE_K, packed, "C", COURSE_OK, CAUSE_empty_input);
}

static void refused(struct check* c, int64_t M, int64_t N, int64_t K, struct layout l,
                    const char* null) {
    call_untouched(c, M, N, K, l, null, COURSE_BAD_ARGUMENT, CAUSE_argument_check);
}

static void bad_arguments(struct check* c) {
    multiply_whole(c);
    refused(c, -1, WHOLE, WHOLE_K, packed, "");
    refused(c, 0, -1, WHOLE_K, packed, "");
    refused(c, WHOLE, WHOLE, -1, packed, "");
    refused(c, WHOLE, WHOLE, WHOLE_K, (struct layout){.C.gap = -1}, "");
    refused(c, WHOLE, WHOLE, WHOLE_K, (struct layout){.A.gap = -1}, "");
    refused(c, WHOLE, WHOLE, WHOLE_K, (struct layout){.B.gap = -1}, "");
    call_untouched(c, 0, WHOLE, REGISTER_TILING_MAX_SIZE + 1, packed, "", COURSE_UNSUPPORTED,
                   CAUSE_argument_check);
    refused(c, WHOLE, WHOLE, WHOLE_K, packed, "C");
    refused(c, WHOLE, WHOLE, WHOLE_K, packed, "A");
    refused(c, WHOLE, WHOLE, WHOLE_K, packed, "B");
}

// Rows aligned to 16 bytes, with tiles past the edges of C; and rows aligned to 4, ragged everywhere.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    multiply(c, 4 * check_pick(c, 5, 20), 4 * check_pick(c, 5, 20), 3 * WHOLE_K);
    multiply(c, ragged_size(c), ragged_size(c), ragged_size(c));
}

// ---- costs, of one call each

static const struct arena_traffic* traffic(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    multiply(c, WHOLE, WHOLE, 2 * WHOLE_K);
    return check_traffic(c);
}
static const double M_N = (double)WHOLE * WHOLE, M_N_K = 2.0 * WHOLE * WHOLE * WHOLE_K;

// Tiles of T x T of C read 2 M N K / T elements (README eq. 3). The budget allows T = 64.
static void read_once_per_tile(struct check* c) {
    const struct arena_traffic* t = traffic(c);
    check_at_most(c, CAUSE_too_much_read, "elements of A and B loaded for each multiplication",
                  (double)t->global_load_bytes / (4 * M_N_K), 2.0 / 64);
    check_at_most(c, CAUSE_too_much_written, "times that each element of C is stored",
                  (double)t->global_store_bytes / (4 * M_N), 1);
}

// A request of a whole warp moves 128 bytes float by float, and 512 by float4.
static void four_at_a_time(struct check* c) {
    const struct arena_traffic* t = traffic(c);
    double requests = (double)(t->global_load_requests + t->global_store_requests);
    double bytes = (double)(t->global_load_bytes + t->global_store_bytes);
    check_at_most(c, CAUSE_narrow_access, "global requests of a warp for each 512 bytes",
                  requests * 512 / bytes, 1.5);
}

// A sum a thread takes 2 wavefronts for the 32 multiplications of a warp; 8 x 8 sums take 16 / 64 by single
// floats, and 12 / 64 or less by float4 (README). The budget allows these, and a step or two ahead that nobody
// needs. Conflicts are the next item's.
static void registers_share(struct check* c) {
    const struct arena_traffic* t = traffic(c);
    double useful = (double)(t->shared_load_wavefronts - t->shared_load_conflicts);
    check_at_most(c, CAUSE_too_much_shared, "shared-memory wavefronts for 32 multiplications",
                  useful * 32 / M_N_K, 0.2);
}

// Wavefronts that only conflicts make, in parts of the others. A few are forgiven.
static void no_conflicts(struct check* c) {
    const struct arena_traffic* t = traffic(c);
    double conflicts = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to conflicts for each useful one",
                  all > conflicts ? conflicts / (all - conflicts) : 0, 0.15);
}

static const struct item items[] = {
    {20, "M, N and K all different", all_different},
    {12, "any K: the last tile is partly filled", inner_ragged},
    {12, "any M and N: tiles reach past the edge", outer_ragged},
    {10, "matrices that are parts of others: strides", strided},
    {5, "real numbers, in full float precision", precise},
    {5, "NaN and infinity stay in their row and column", not_finite},
    {4, "called again with new data", two_calls},
    {3, "sizes of 0", sizes_of_0},
    {3, "bad arguments are refused", bad_arguments},
    {8, "no races, no stray accesses", safe},
    {5, "global memory is read once per tile", read_once_per_tile},
    {3, "global memory moves four floats at a time", four_at_a_time},
    {6, "what comes from shared memory is used 8 times", registers_share},
    {4, "shared memory without bank conflicts", no_conflicts},
    {0},
};

static struct matrix again(struct check* c, const char* name, int64_t rows, int64_t cols,
                           const char* stride, const char* first) {
    return (struct matrix){check_tensor(c, name), rows, cols, check_int_of(c, stride),
                           check_int_of(c, first)};
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    int64_t M = check_int_of(c, "M"), N = check_int_of(c, "N"), K = check_int_of(c, "K");
    struct product p = {
        .C = again(c, "C", M, N, "stride_C", "first_C"),
        .A = again(c, "A", M, K, "stride_A", "first_A"),
        .B = again(c, "B", K, N, "stride_B", "first_B"),
    };
    if (M * p.C.stride != t->count || K == 0) return CAUSE_NONE;  // nothing was to be multiplied
    check_round(c, 0);
    const double* first_B = p.B.t->value;
    check_round(c, round_shown);
    return explain_product(p, first_B, budget);
}

const struct lesson lesson = {
    .name = "06_register_tiling",
    .items = items,
    .explain = explain,
};
