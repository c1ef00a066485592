// check.c: what lesson 07, tensor_core_matmul, is graded on.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles of any usual size.
#include "check/check.h"
#include "base/dtype.h"
#include "matmul/cases.h"
#include "matmul/drawn.h"
#include "mistakes.h"
#include "tensor_core_matmul.h"
#include "wall/arena.h"

#include <math.h>

// Elements: whole tiles for blocks of up to 128 x 256, and 64 along K.
enum { WHOLE_M = 128, WHOLE_N = 256, WHOLE_K = 64 };

// Numbers of -2 .. 2: with K below 400, 256 is seven standard deviations of a sum away, so that
// bf16 holds the sums, too.
static const struct matmul contract = {
    .dtype = BF16,
    .max_size = TENSOR_CORE_MATMUL_MAX_SIZE,
    .whole_M = WHOLE_M,
    .whole_N = WHOLE_N,
    .whole_K = WHOLE_K,
    .largest = 2,
    .smallest_tile = 8,
};

static void sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    multiply(c, &contract, M, N, K);
}

// The usual sizes, for numbers of a case's own.
static struct product begin(struct check* c, const char* numbers) {
    struct product p = product_of(c, &contract, WHOLE_M, WHOLE_N, WHOLE_K);
    check_case(c, "M = %d, N = %d, K = %d, %s", WHOLE_M, WHOLE_N, WHOLE_K, numbers);
    return p;
}

// ---- items

// More tiles down than across, as many as a group of rows of tiles has, and the other way round.
// Then more than a group, some tiles wide.
static void many_blocks(struct check* c) {
    sizes(c, 8 * WHOLE_M, WHOLE_N, WHOLE_K);
    sizes(c, WHOLE_M, 2 * WHOLE_N, WHOLE_K);
    sizes(c, 9 * WHOLE_M, 2 * WHOLE_N, WHOLE_K);
}

// One tile along K, and more tiles than a kernel has buffers. On a card whose blocks have more
// shared memory a launcher may choose more of them.
static void many_tiles(struct check* c) {
    multiply_whole(c, &contract);
    sizes(c, WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5));
    multiply_as(c, &contract, "h100", WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5));
}

// K = 8, 24, 40 ... leave rows aligned to 16 bytes, the others do not.
static void inner_ragged(struct check* c) {
    sizes(c, WHOLE_M, WHOLE_N, 8 + 16 * check_pick(c, 4, 7));
    static const int64_t hard[] = {1, 15, 33, 34, 36};
    for (int i = 0; i < 5; i++) sizes(c, WHOLE_M, WHOLE_N, hard[i]);
    // More than 15 bits can count where rows are aligned, than 13 where they are not. A kernel that
    // takes its time has to end, too.
    multiply_long(c, &contract, 4, 8, 32768 + 8 * check_pick(c, 9, 15));
    multiply_long(c, &contract, 3, 5, 8192 + 8 * check_pick(c, 9, 15) + 1);
}

static void outer_ragged(struct check* c) {
    static const int64_t hard[][2] = {{129, 33}, {15, 17}, {34, 70}, {68, 36},
                                      {1, 40},   {40, 1},  {1, 1}};
    sizes(c, check_pick(c, 18, 127), check_pick(c, 18, 127), WHOLE_K);
    for (int i = 0; i < 7; i++) sizes(c, hard[i][0], hard[i][1], WHOLE_K);
    multiply_reaches(c, &contract);
    multiply_huge(c, &contract);
}

// Sums of about 1000, which bf16 counts in steps of 4 or 8: rounded once, at the end, to nearest.
static void rounded_once(struct check* c) {
    // As many elements along K as a tile has, or fewer; more tiles than 12 bits of K can count.
    enum { SAME = 16, MANY = 65 * WHOLE_K };
    const int64_t odd = 2 * check_pick(c, 16, 31) + 1, K = 2 * check_pick(c, 30, 60) + 1;
    struct product p = begin(c, "numbers of up to 16");
    product_declare(&p);
    product_fill(&p, -16, 16);
    check_run(c);
    product_compare(&p);

    // Where rows are not aligned, results may be stored in another way.
    p = product_of(c, &contract, WHOLE_M, odd, K);
    check_case(c, "M = %d, N = %d, K = %d, numbers of up to 16", WHOLE_M, (int)odd, (int)K);
    product_declare(&p);
    product_fill(&p, -16, 16);
    check_run(c);
    product_compare(&p);

    // Many tiles along K: a sum that is rounded after some of them is off by a few steps. All tiles
    // hold the same numbers: to take one for another is the trap of many_tiles().
    p = product_of(c, &contract, WHOLE_M / 2, WHOLE_N / 2, MANY);
    check_case(c, "M = %d, N = %d, K = %d, numbers of up to 16", WHOLE_M / 2, WHOLE_N / 2, MANY);
    product_declare(&p);
    product_fill(&p, -16, 16);
    for (int64_t e = 0; e < p.A.t->count; e++)
        p.A.t->value[e] = p.A.t->value[e - e % p.K + e % SAME];
    for (int64_t e = SAME * p.N; e < p.B.t->count; e++)
        p.B.t->value[e] = p.B.t->value[e - SAME * p.N];
    check_run(c);
    product_compare(&p);

    // Real numbers: sums in another order differ by some 2^-22, and one in thousands is then
    // rounded to the neighbour of what is wanted, an ulp of bf16 (2^-8) away. On average, nothing.
    p = begin(c, "real numbers");
    product_declare(&p);
    fill_normal(c, p.A.t, 0.0, 1.0);
    fill_normal(c, p.B.t, 0.0, 1.0);
    check_run(c);
    product_want(&p);
    double largest = 0;
    for (int64_t i = 0; i < p.C.t->count; i++) largest = fmax(largest, fabs(p.C.t->want[i]));
    double ulp = dtype_ulp(BF16, largest);
    check_compare(c, p.C.t, (struct budget){.max = ulp, .mean = ulp / 64});
}

static void whole_range(struct check* c) {
    multiply_range(c, &contract);
}

// A's stand at the beginning of rows: behind the end of the rows before, which are no whole tile.
// Then at the end of rows: a tile that goes on with the last element again, for zeros of B, makes
// NaN of an infinity.
static void not_finite(struct check* c) {
    multiply_not_finite(c, &contract, 16 * check_pick(c, 1, 3) + 3, 8, false);
    struct matmul of_ones = contract;  // no sum of a hundred of them is rounded
    of_ones.largest = 1;
    multiply_not_finite(c, &of_ones, WHOLE_K + 16 * check_pick(c, 1, 3) + 3, 8, true);
    multiply_zeros(c, &contract);
}

static void three_calls(struct check* c) {
    multiply_again(c, &contract, 3);
}

static void sizes_of_0(struct check* c) {
    multiply_sizes_of_0(c, &contract);
}

static void bad_arguments(struct check* c) {
    multiply_bad_arguments(c, &contract);
    multiply_on_two_devices(c, &contract, "h100", COURSE_OK);
}

// Rows aligned to 16 bytes, with tiles past the edges of C; and rows aligned to 2, ragged
// everywhere, with some tiles along K. Matrices that are aligned to 2 bytes, and to 8.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    sizes(c, check_pick(c, 18, 63), 8 * check_pick(c, 3, 7), 2 * WHOLE_K);
    sizes(c, check_pick(c, 18, 63), 2 + 8 * check_pick(c, 3, 7),
          2 * WHOLE_K + 16 * check_pick(c, 1, 3) + 1);
    const int64_t later[] = {2 * check_pick(c, 0, 3) + 1, 4};
    for (int i = 0; i < 2; i++)
        multiply_misaligned(c, &contract, WHOLE_M / 4, WHOLE_N / 4, WHOLE_K, later[i]);
    multiply_watched_apart(c, &contract, WHOLE_K);
}

// ---- costs, of one call each

// Numbers that have all 8 bits: a sum of up to 256 of their products is exact in float, and more
// terms of both signs stay below as much. In B they are large, and in A from a random row on.
static void fill_with_digits(const struct product* p) {
    const int64_t large = check_pick(p->check, p->M / 4, 3 * p->M / 4);
    fill_digits(p->check, p->A.t, p->M * p->K, 0x1p4);
    fill_digits(p->check, p->A.t, large * p->K, 0x1p-10);
    fill_digits(p->check, p->B.t, p->K * p->N, 0x1p4);
}

// Have all these products been made by mma.sync, 16 * 8 * 16 multiplications each?
static const struct arena_traffic* judge_mma(struct check* c, const struct product* p,
                                             double products) {
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by mma.sync",
                  1 - (double)t->mma * 2048 / products, 0);
    multiplied_as_altered(c, p);
    return t;
}

// A case whose products are all made by mma.sync; its traffic.
static const struct arena_traffic* multiplied_by_mma_from(struct check* c, int64_t M, int64_t N,
                                                          int64_t K, int64_t first) {
    struct product p = product_of(c, &contract, M, N, K);
    p.C_part.first = p.A_part.first = p.B_part.first = first;
    check_watch(c, WATCH_PROFILE);
    check_case(c, "M = %lld, N = %lld, K = %lld%s", (long long)M, (long long)N, (long long)K,
               first ? ", all begin 1 element later" : "");
    product_declare(&p);
    fill_with_digits(&p);
    check_run(c);
    product_compare(&p);
    return judge_mma(c, &p, (double)M * (double)N * (double)K);
}

// The same of sizes that people multiply: what one block moves.
static const struct arena_traffic* drawn_by_mma(struct check* c, struct drawn* d, int less) {
    enum { DRAWN_K = 128 };
    *d = drawn_product(c, &contract, DRAWN_K, less);
    drawn_run(d, fill_with_digits);
    return judge_mma(c, &d->p, d->made);
}

static const struct arena_traffic* multiplied_by_mma(struct check* c, int64_t M, int64_t N,
                                                     int64_t K) {
    return multiplied_by_mma_from(c, M, N, K, 0);
}

// Large matrices; tiles past every edge; rows of an odd number of elements. Then one step along K,
// for the rows of one product alone; and many where nothing begins at a multiple of 4 bytes.
static void on_tensor_cores(struct check* c) {
    struct drawn d;
    drawn_by_mma(c, &d, 7);
    multiplied_by_mma(c, check_pick(c, 66, 127), 8 * check_pick(c, 3, 7), 40);
    multiplied_by_mma(c, check_pick(c, 18, 63), 2 * check_pick(c, 18, 31) + 1, 33);
    multiplied_by_mma(c, 16, 8 * check_pick(c, 1, 3), 16);
    multiplied_by_mma_from(c, 32, 32, 256, 1);
}

// Where nothing is aligned. Who multiplies is another item's.
static const struct arena_traffic* traffic_odd(struct check* c, int64_t M, int64_t N, int64_t K) {
    check_watch(c, WATCH_PROFILE);
    sizes(c, M - 1, N - 1, K - 1);
    return check_traffic(c);
}

// Tiles of TILE x TILE of C read every element of A N / TILE times and every element of B M / TILE
// times (README eq. 4). The tiles of the edge cost what whole ones do.
static void judge_read(struct check* c, const struct arena_traffic* t, double products, int tile) {
    check_at_most(c, CAUSE_too_much_read, "elements of A and B loaded for each multiplication",
                  (double)t->global_load_bytes / (2 * products), 2.0 / tile);
}

// The budget allows tiles of 64, a warp's. With tiles of any size an element is loaded once for
// each. Where nothing is aligned a launcher may have another kernel. Nobody says that it is fast:
// tiles of 32 will do.
static void read_once_per_tile(struct check* c) {
    struct drawn d;
    const struct arena_traffic* t = drawn_by_mma(c, &d, 0);
    judge_read(c, t, d.whole, 64);
    drawn_loaded_once(&d);
    drawn_stored_once(&d);
    t = traffic_odd(c, WHOLE_M, WHOLE_N, 2 * WHOLE_K);
    judge_read(c, t, 2.0 * WHOLE_M * WHOLE_N * WHOLE_K, 32);
    multiplied_loaded_once(c, t);
    check_stored_once(c, "C");
}

// Rows one below the other in the same banks cost seven times the others. An mma whose operands no
// other shares takes 6 wavefronts.
static void no_conflicts(struct check* c) {
    enum { MMA = WHOLE_M * WHOLE_N * WHOLE_K / 2048 };
    struct drawn d;
    const struct arena_traffic* t = drawn_by_mma(c, &d, 0);
    multiplied_without_conflicts(c, t, 12 * d.whole / 2048);
    t = traffic_odd(c, WHOLE_M / 2, WHOLE_N / 2, WHOLE_K);
    multiplied_loads_without_conflicts(c, t, 3 * MMA);
}

static const struct item items[] = {
    {12, "tiles of C in both directions", many_blocks},
    {11, "many tiles along K", many_tiles},
    {8, "any K: the last tile is partly filled", inner_ragged},
    {6, "any M and N: tiles reach past the edge", outer_ragged},
    {4, "sums are rounded once, at the end", rounded_once},
    {3, "very large and very small numbers", whole_range},
    {4, "NaN and infinity stay in their row and column", not_finite},
    {3, "called again with new data", three_calls},
    {1, "sizes of 0", sizes_of_0},
    {1, "bad arguments are refused", bad_arguments},
    {7, "no races, no stray accesses", safe},
    {25, "the tensor cores multiply", on_tensor_cores},
    {8, "global memory is read once per tile", read_once_per_tile},
    {7, "shared memory without bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "07_tensor_core_matmul",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .without_exp = true,
    .idea = {.what = "the tensor cores make every product, from tiles in shared memory",
             .paid_by = {on_tensor_cores, read_once_per_tile, no_conflicts},
             .naive = "grader/07_tensor_core_matmul/naive.cu"},
    .explain = explain};
