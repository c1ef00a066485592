// cases.c: see cases.h.
#include "matmul/cases.h"

#include <math.h>
#include <stdlib.h>

#include "check/reach.h"

static struct product begin(struct check* c, const struct matmul* of, int64_t M, int64_t N,
                            int64_t K) {
    check_case(c, "M = %lld, N = %lld, K = %lld", (long long)M, (long long)N, (long long)K);
    return product_of(c, of, M, N, K);
}

static struct product begin_whole(struct check* c, const struct matmul* of) {
    return begin(c, of, of->whole_M, of->whole_N, of->whole_K);
}

// The case that has begun, with whole numbers.
void multiply_integers(struct product* p) {
    product_declare(p);
    product_fill(p, -p->of->largest, p->of->largest);
    check_run(p->check);
    product_compare(p);
}

void multiply(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K) {
    struct product p = begin(c, of, M, N, K);
    multiply_integers(&p);
}

void multiply_as(struct check* c, const struct matmul* of, const char* card, int64_t M, int64_t N,
                 int64_t K) {
    struct product p = product_of(c, of, M, N, K);
    check_case(c, "M = %lld, N = %lld, K = %lld, as %s", (long long)M, (long long)N, (long long)K,
               card);
    check_pose_as(c, card);
    multiply_integers(&p);
}

void multiply_whole(struct check* c, const struct matmul* of) {
    multiply(c, of, of->whole_M, of->whole_N, of->whole_K);
}

// Of each row of A only 64 numbers at both ends are left: no sum is rounded.
static void clear_middle(const struct product* p) {
    enum { ENDS = 64 };
    for (int64_t e = 0; e < p->A.t->count; e++)
        if (e % p->K >= ENDS && e % p->K < p->K - ENDS) p->A.t->value[e] = 0;
}

void multiply_long(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K) {
    struct product p = begin(c, of, M, N, K);
    check_long_launch(c);
    check_mix_blocks(c);  // who splits K adds up what blocks make in any order
    product_declare(&p);
    product_fill(&p, 1, of->largest);
    clear_middle(&p);
    check_run(c);
    product_compare(&p);
}

void multiply_by_itself(struct check* c, const struct matmul* of) {
    enum { SIZE = 16 };
    struct product p = product_of(c, of, SIZE, SIZE, SIZE);
    check_case(c, "M = N = K = %d, A and B are the same array", SIZE);
    product_declare(&p);
    product_fill(&p, -of->largest, of->largest);
    check_same(c, p.B.t, p.A.t);
    check_run(c);
    product_compare(&p);
}

static void run_reals(struct product p) {
    struct check* c = p.check;
    product_declare(&p);
    fill_normal(c, p.A.t, 0, 1);
    fill_normal(c, p.B.t, 0, 1);
    check_run(c);
    product_want(&p);
    double* standard = check_allocate(c, p.C.t->count, sizeof *standard);
    product_standard(&p, standard);
    struct budget budget = budget_from(p.C.t, standard);
    free(standard);
    check_compare(c, p.C.t, budget);
}

// Few sums, of many products: a kernel may have another loop for those.
enum { FEW_SUMS = 32, LONG_K = 2048 };

// One matrix has whole numbers of 12 bits, tf32 has 11; the other 1 and -1. In any order each sum
// is exact: what a long sum may be off depends on the order.
static void run_digits(struct product p, bool in_B) {
    struct check* c = p.check;
    product_declare(&p);
    const struct tensor *wide = in_B ? p.B.t : p.A.t, *signs = in_B ? p.A.t : p.B.t;
    for (int64_t e = 0; e < wide->count; e++)
        wide->value[e] = (double)(2 * check_pick(c, 1024, 2047) + 1);
    for (int64_t e = 0; e < signs->count; e++)
        signs->value[e] = (double)(2 * check_pick(c, 0, 1) - 1);
    check_run(c);
    product_compare(&p);
}

void multiply_reals(struct check* c, const struct matmul* of) {
    run_reals(begin_whole(c, of));
    run_digits(begin(c, of, FEW_SUMS, FEW_SUMS, LONG_K), false);
    run_digits(begin(c, of, FEW_SUMS, FEW_SUMS, LONG_K), true);
}

// A row of A whose sums in every second pair of columns lie between the largest number of bf16 and
// that of float: rounded to nearest, they are infinite. The others are half as large, and also
// between two numbers of bf16: who cuts off is wrong there, too, and who takes the largest number
// is not.
static void fill_beyond(const struct product* p, int64_t row) {
    const int64_t K = p->K, first = check_pick(p->check, 0, K / 2 - 1);
    const int64_t second = check_pick(p->check, K / 2, K - 1);
    double *A = p->A.t->value, *B = p->B.t->value;
    for (int64_t k = 0; k < K; k++)
        A[place_in(&p->A, row, k)] = k == first ? 0x1.fep126 : k == second ? 0x1.8p118 : 0;
    for (int64_t j = 0; j < p->N; j++)
        B[place_in(&p->B, first, j)] = B[place_in(&p->B, second, j)] = (double)(1 + j / 2 % 2);
}

static void run_range(struct product* p, int opposite) {  // all of A by 2^opposite, B against it
    struct check* c = p->check;
    const int power = (int)check_pick(c, 100, 110), least = p->of->dtype == F32 ? -149 : -133;
    const int powers[3] = {-power, power, least};
    check_case(c, "M = %lld, N = %lld, K = %lld, large and small %s", (long long)p->M,
               (long long)p->N, (long long)p->K, opposite ? "matrices" : "rows of A");
    product_declare(p);
    product_fill(p, 1, 2);
    for (int64_t i = 0; i < p->A.t->count; i++)
        p->A.t->value[i] *= ldexp(1, opposite ? opposite : powers[i / p->A.stride % 3]);
    for (int64_t i = 0; i < p->B.t->count; i++) p->B.t->value[i] *= ldexp(1, -opposite);
    if (p->of->dtype == BF16 && !opposite) fill_beyond(p, check_pick(c, 0, p->M - 1));
    check_run(c);
    product_compare(p);
}

void multiply_range(struct check* c, const struct matmul* of) {
    for (int less = 0; less < 2; less++) {
        const int64_t K = of->whole_K - (of->align > 1 ? 0 : less);
        struct product p = product_of(c, of, of->whole_M - less, of->whole_N - less, K);
        run_range(&p, 0), run_range(&p, 115), run_range(&p, -115);
    }
}

// Infinities a whole tile, of 8 to 64, before the end of K. If the last tile is not full, what it
// holds behind K may still be these: 0 times them is NaN. Nothing else that is not finite stands in
// their row of A and their column of B.
static void put_before_last_tile(const struct product* p) {
    for (int64_t tile = 8; tile <= 64 && tile <= p->K; tile *= 2) {
        p->A.t->value[p->M / 2 * p->K + p->K - tile] = -INFINITY;
        p->B.t->value[(p->K - tile) * p->N + p->N - 1] = INFINITY;
    }
}

// Of a long row of A all numbers but the first are 0, so that bf16 holds the sums, too, and one
// tile is like the other: NaN and infinity stand in the first.
static void run_not_finite(struct product p, int64_t among, bool at_end) {
    enum { FIRST = 16 };
    struct check* c = p.check;
    const struct matmul* of = p.of;
    const int64_t K = p.K, last = K < LONG_K ? K - 1 : FIRST - 1;
    product_declare(&p);
    product_fill(&p, 1, of->largest);
    clear_middle(&p);
    double *A = p.A.t->value, *B = p.B.t->value;
    for (int64_t e = 0; e < p.A.t->count; e++)
        if (e % K > last) A[e] = 0;
    int64_t row = check_pick(c, 1, p.M / 2 - 1), col = check_pick(c, 1, p.N / 2 - 1);
    A[row * K + check_pick(c, 0, among - 1)] = NAN;
    A[(row + p.M / 2) * K + (at_end ? last : check_pick(c, 0, among - 1))] = -INFINITY;
    int64_t nan_at = check_pick(c, 0, 7);
    B[nan_at * p.N + col] = NAN;
    B[last * p.N + col + p.N / 2 - 1] = INFINITY;
    A[nan_at] = 0;  // 0 times NaN, or infinity, is NaN: no product may be left out
    A[last] = 0;
    if (K < LONG_K) put_before_last_tile(&p);
    check_run(c);
    product_compare(&p);
}

void multiply_not_finite(struct check* c, const struct matmul* of, int64_t K, int64_t among,
                         bool at_end) {
    run_not_finite(begin(c, of, of->whole_M, of->whole_N, K), among, at_end);
    if (at_end) run_not_finite(begin(c, of, FEW_SUMS, FEW_SUMS, LONG_K), among, at_end);
}

void multiply_zeros(struct check* c, const struct matmul* of) {
    struct product p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K);
    const int64_t M = p.M, N = p.N, K = p.K;
    check_case(c, "M = %lld, N = %lld, K = %lld, half of A and of B is 0", (long long)M,
               (long long)N, (long long)K);
    product_declare(&p);
    product_fill(&p, 1, of->largest);
    double *A = p.A.t->value, *B = p.B.t->value;
    for (int64_t e = M / 2 * K; e < M * K; e++) A[e] = 0;
    for (int64_t e = 0; e < K * N; e++)
        if (e % N >= N / 2) B[e] = 0;
    A[check_pick(c, 0, M / 2 - 1) * K + check_pick(c, 0, K - 1)] = NAN;
    B[check_pick(c, 0, K - 1) * N + check_pick(c, 0, N / 2 - 1)] = INFINITY;
    check_run(c);
    product_compare(&p);
}

void multiply_misaligned(struct check* c, const struct matmul* of, int64_t M, int64_t N, int64_t K,
                         int64_t first) {
    for (int matrix = 0; matrix < 3; matrix++) {
        struct product p = product_of(c, of, M, N, K);
        check_case(c, "M = %lld, N = %lld, K = %lld, %c begins %lld elements later", (long long)p.M,
                   (long long)p.N, (long long)p.K, "CAB"[matrix], (long long)first);
        struct part* parts[3] = {&p.C_part, &p.A_part, &p.B_part};
        parts[matrix]->first = first;
        multiply_integers(&p);
    }
}

// The accesses of a case that has begun are watched; what it computes is no matter.
static void watch(struct product p) {
    product_declare(&p);
    product_fill(&p, 1, p.of->largest);
    check_run(p.check);
}

void multiply_watched_apart(struct check* c, const struct matmul* of, int64_t size) {
    const int64_t odd = size + 2 * check_pick(c, 0, size / 4) + 1;
    for (int i = 0; i < 3; i++)
        watch(begin(c, of, i == 0 ? odd : size, i == 1 ? odd : size, i == 2 ? odd : size));
    multiply_watched_vectors(c, of, size);
}

void multiply_watched_vectors(struct check* c, const struct matmul* of, int64_t size) {
    for (int column = 0; column < 2; column++) {
        struct product p = product_of(c, of, column ? size : 1, column ? 1 : size, size);
        p.C_part.first = p.A_part.first = p.B_part.first = 1;
        check_case(c, "M = %lld, N = %lld, K = %lld, all begin 1 element later", (long long)p.M,
                   (long long)p.N, (long long)p.K);
        watch(p);
    }
}

static bool reached(struct check* c, const struct matmul* of, int64_t M, int64_t N) {
    struct product p = begin(c, of, M, N, 1);
    product_declare(&p);
    product_fill(&p, 1, of->largest);
    check_run_few_blocks(c);
    check_run(c);
    product_want(&p);
    return check_end_is_right(p.C.t);
}

static bool last_row_reached(struct check* c, const void* of, int64_t M) {
    return reached(c, of, M, 1);
}

static bool last_column_reached(struct check* c, const void* of, int64_t N) {
    return reached(c, of, 1, N);
}

void multiply_reaches(struct check* c, const struct matmul* of) {
    check_reaches(c, of->max_size, last_row_reached, of);
    check_reaches(c, of->max_size, last_column_reached, of);
}

enum { FEWER = 1 << 10 };  // (2 FEWER)^2 < 2^24: a float counts so many elements, too

// The last elements of C, by the last terms of K: all of them lie beyond 2^32 elements.
static bool end_reached(struct check* c, const void* huge, int64_t size) {
    enum { SHOWN = 64 };
    const struct huge* h = huge;
    const int64_t least = ((int64_t)1 << 32) / h->of->max_size;
    const int64_t K = (least / SHOWN + 4) * SHOWN + h->odd;
    struct product p = h->begin ? h->begin(c, size, size, K) : begin(c, h->of, size, size, K);
    p.before_M = p.M - 1;
    p.before_N = p.N - SHOWN;
    p.M = 1;
    p.N = SHOWN;
    product_declare(&p);
    product_fill(&p, 1, p.of->largest);
    for (int64_t k = 0; k < K - SHOWN; k++) p.A.t->value[k] = 0;
    check_run_last_block(c);
    check_run(c);
    product_want(&p);
    return check_end_is_right(p.C.t);
}

// The last elements of C beyond 2^32, where there is nothing to multiply.
static bool nothing_reached(struct check* c, const void* of, int64_t size) {
    enum { SHOWN = 64 };
    struct product p = begin(c, of, size, size, 0);
    p.before_M = p.M - 1;
    p.before_N = p.N - SHOWN;
    p.M = 1;
    p.N = SHOWN;
    product_declare(&p);
    check_run_last_block(c);
    check_run(c);
    product_want(&p);
    return check_end_is_right(p.C.t);
}

void multiply_huge_of(struct check* c, const struct huge* huge) {
    check_indexes_of_both(c, huge->of->max_size / 8 * 8 - 8 * check_pick(c, 1, 100) + huge->odd,
                          FEWER, end_reached, huge);
}

// Rows of 2^16 elements of C, with something to multiply. For check_is_launched() alone.
static bool launched(struct check* c, const void* of, int64_t M) {
    enum { SHOWN = 64, N = 1 << 16 };
    struct product p = begin(c, of, M, N, SHOWN);
    p.before_M = M - 1;
    p.before_N = N - SHOWN;
    p.M = 1;
    p.N = SHOWN;
    product_declare(&p);
    if (p.of->strides) check_vary(c, "stride_C", 0, N), check_vary(c, "stride_B", 0, N);
    check_run_last_block(c);
    check_run(c);
    return true;
}

void multiply_is_launched(struct check* c, const struct matmul* of) {
    check_is_launched(c, 1 << 16, FEWER, launched, of);
    check_is_launched(c, 1 << 15, FEWER, launched, of);
}

void multiply_huge(struct check* c, const struct matmul* of) {
    multiply_is_launched(c, of);
    for (int odd = 0; odd < 2; odd++) {
        const struct huge huge = {of, odd ? check_pick(c, 1, 7) : 0, NULL};
        multiply_huge_of(c, &huge);
    }
    check_indexes_of_both(c, of->max_size, FEWER, nothing_reached, of);
}

// ---- nothing to do

static void declare(struct check* c, void* product) {
    (void)c;
    product_declare(product);
}

static void idle_calls(struct check* c, const struct matmul* of, const struct idle_call* calls) {
    struct product p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K);
    check_idle_calls(c, calls, declare, &p);
}

static void multiply_nothing(struct check* c, const struct matmul* of, struct part C) {
    struct product p = product_of(c, of, of->whole_M, of->whole_N, 0);
    p.C_part = C;
    check_case(c, "M = %lld, N = %lld, K = 0, A and B are NULL%s", (long long)p.M, (long long)p.N,
               C.gap ? ", rows of C apart" : "");
    check_replace(c, "A", 0);
    check_replace(c, "B", 0);
    if (C.gap && of->sizes_first) {  // of what is not there strides may be anything
        check_replace(c, "stride_A", 1);
        check_replace(c, "stride_B", 1);
    }
    product_declare(&p);
    // Packed, the same has been taken: now it is no empty input that is refused.
    check_expect(c, COURSE_OK, C.gap ? CAUSE_wrong_status : CAUSE_empty_input);
    check_run(c);
    product_compare(&p);
}

void multiply_sizes_of_0(struct check* c, const struct matmul* of) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"M", 0}}},
        {COURSE_OK, {{"N", 0}}},
        {COURSE_OK, {{"M", 0}, {"N", 0}, {"C", 0}}},
        {COURSE_OK, {{"M", 0}, {"C", 0}, {"A", 0}, {"B", 0}}},
        {COURSE_OK, {{"N", 0}, {"C", 0}, {"A", 0}, {"B", 0}}},
        {0},
    };
    check_ordinary(c);
    multiply_whole(c, of);
    multiply_nothing(c, of, (struct part){0});
    if (of->strides)
        multiply_nothing(c, of, (struct part){.gap = 8, .first = of->align > 4 ? of->align : 4});
    idle_calls(c, of, calls);
}

void multiply_bad_arguments(struct check* c, const struct matmul* of) {
    // two_to_16: their product is 0 in an int.
    const int64_t beyond = of->max_size + 1, two_to_16 = 1 << 16;
    const struct idle_call negative[] = {
        {COURSE_BAD_ARGUMENT, {{"M", -1}}},
        {COURSE_BAD_ARGUMENT, {{"M", 0}, {"N", -1}}},
        {COURSE_BAD_ARGUMENT, {{"K", -1}}},
        {COURSE_BAD_ARGUMENT, {{"M", 0}, {"K", -1}}},
        {COURSE_BAD_ARGUMENT, {{"M", -1}, {"N", beyond}}},
        {COURSE_BAD_ARGUMENT, {{"K", -1}, {"M", beyond}}},
        {0},
    };
    const struct idle_call strides[] = {
        {COURSE_BAD_ARGUMENT, {{"stride_C", of->whole_N - 1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_A", of->whole_K - 1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_B", of->whole_N - 1}}},
        {COURSE_BAD_ARGUMENT, {{"M", 1}, {"stride_C", of->whole_N - 1}}},
        {COURSE_BAD_ARGUMENT, {{"M", 1}, {"stride_A", of->whole_K - 1}}},
        {COURSE_BAD_ARGUMENT, {{"K", 1}, {"stride_B", of->whole_N - 1}}},
        {COURSE_UNSUPPORTED, {{"M", beyond}, {"N", 0}}},
        {COURSE_UNSUPPORTED, {{"M", 0}, {"N", beyond}, {"stride_C", beyond}, {"stride_B", beyond}}},
        {COURSE_UNSUPPORTED, {{"M", 0}, {"K", beyond}, {"stride_A", beyond}}},
        {0},
    };
    const struct idle_call strides_first[] = {
        {COURSE_BAD_ARGUMENT, {{"K", 0}, {"stride_A", -1}}},
        {COURSE_BAD_ARGUMENT, {{"K", 0}, {"stride_B", of->whole_N - 1}}},
        {COURSE_BAD_ARGUMENT, {{"M", 0}, {"stride_C", of->whole_N - 1}}},
        {COURSE_BAD_ARGUMENT, {{"M", beyond}, {"stride_C", of->whole_N - 1}}},
        {0},
    };
    const struct idle_call sizes_first[] = {
        {COURSE_OK, {{"M", 0}, {"stride_C", 1}, {"stride_A", 1}, {"stride_B", 1}}},
        {COURSE_UNSUPPORTED, {{"M", beyond}, {"stride_C", of->whole_N - 1}}},
        {0},
    };
    const struct idle_call packed[] = {
        {COURSE_UNSUPPORTED, {{"M", beyond}, {"N", 0}}},
        {COURSE_UNSUPPORTED, {{"M", 0}, {"N", beyond}}},
        {COURSE_UNSUPPORTED, {{"M", 0}, {"K", beyond}}},
        {COURSE_BAD_ARGUMENT, {{"M", two_to_16}, {"N", two_to_16}, {"C", 0}}},
        {0},
    };
    const struct idle_call null[] = {
        {COURSE_BAD_ARGUMENT, {{"C", 0}}},
        {COURSE_BAD_ARGUMENT, {{"A", 0}}},
        {COURSE_BAD_ARGUMENT, {{"B", 0}}},
        {COURSE_BAD_ARGUMENT, {{"C", 0}, {"K", 0}}},
        {COURSE_UNSUPPORTED, {{"C", 0}, {"M", beyond}}},
        {COURSE_UNSUPPORTED, {{"A", 0}, {"B", 0}, {"M", beyond}}},
        {0},
    };
    // Along K alone, so that there is little to lay out.
    const struct idle_call largest[] = {
        {COURSE_CUDA_ERROR, {{"M", 1}, {"N", 1}, {"K", of->max_size}}},
        {0},
    };
    check_ordinary(c);
    multiply_whole(c, of);
    multiply_by_itself(c, of);
    idle_calls(c, of, negative);
    idle_calls(c, of, of->strides ? strides : packed);
    if (of->strides) idle_calls(c, of, of->sizes_first ? sizes_first : strides_first);
    idle_calls(c, of, null);
    struct product p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K);
    check_launches_fail(c, declare, &p);
    if (of->align <= 1) {  // other kernels may be launched where no row is aligned
        p = product_of(c, of, of->whole_M, of->whole_N, of->whole_K + 1);
        p.C_part.first = p.A_part.first = p.B_part.first = 1;
        check_launches_fail(c, declare, &p);
    }
    p = product_of(c, of, 1, 1, of->max_size);
    check_large_calls(c, largest, "launch", declare, &p);
}

void multiplied_without_conflicts(struct check* c, const struct arena_traffic* t, double most) {
    double conflicts = (double)(t->shared_load_conflicts + t->shared_store_conflicts);
    double all = (double)(t->shared_load_wavefronts + t->shared_store_wavefronts);
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts lost to conflicts for each useful one",
                  all > conflicts ? conflicts / fmin(all - conflicts, most) : 0, 0.15);
    // Lanes that go one after another meet no conflict, and are no faster.
    check_at_most(c, CAUSE_idle_lanes,
                  "wavefronts of shared memory, for each that whole warps need",
                  (all - conflicts) / most, 1.5);
}

void multiplied_loads_without_conflicts(struct check* c, const struct arena_traffic* t,
                                        double most) {
    const double conflicts = (double)t->shared_load_conflicts;
    const double useful = (double)t->shared_load_wavefronts - conflicts;
    check_at_most(c, CAUSE_bank_conflicts, "wavefronts that load, lost for each useful one",
                  useful > 0 ? conflicts / fmin(useful, most) : 0, 0.15);
}

void multiplied_loaded_once(struct check* c, const struct arena_traffic* t) {
    check_loaded_once_of(c, "A", t->global_load_bytes / 7);
    check_loaded_once_of(c, "B", t->global_load_bytes / 7);
}

// C[i][j] = sum_k altered(A[i][k], B[k][j]), in float, rounded to the matrices' dtype.
void multiplied_as_altered(struct check* c, const struct product* p) {
    double* altered = check_allocate(c, 2 * p->C.t->count, sizeof *altered);
    double* allowed = altered + p->C.t->count;
    check_pairs(c);
    for (int64_t i = 0; i < p->M; i++)
        for (int64_t j = 0; j < p->N; j++) {
            const int64_t e = place_in(&p->C, i, j);
            double size = 0;
            for (int64_t k = 0; k < p->K && !p->C.t->untouched[e]; k++) {
                double product = check_multiplied(c, p->A.t->value[place_in(&p->A, i, k)],
                                                  p->B.t->value[place_in(&p->B, k, j)]);
                altered[e] += product;
                size += fabs(product);
            }
            allowed[e] = dtype_ulp(p->of->dtype, fabs(altered[e])) + 0x1p-16 * size;
        }
    check_follows(c, p->C.t, altered, allowed, "A B");
    check_given(c, "A B");
    free(altered);
}
