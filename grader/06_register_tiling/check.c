// check.c: what lesson 06, register_tiling, is graded on.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles of any usual size, and
// matrices packed and aligned.
#include "check/check.h"
#include "matmul/cases.h"
#include "matmul/drawn.h"
#include "mistakes.h"
#include "register_tiling.h"
#include "wall/arena.h"

#include <math.h>
#include <string.h>

// Elements: whole tiles for blocks of up to 256 x 256, and up to 32 along K.
enum { WHOLE = 256, WHOLE_K = 32 };

static const struct matmul contract = {
    .dtype = F32,
    .strides = true,
    .max_size = REGISTER_TILING_MAX_SIZE,
    .whole_M = WHOLE,
    .whole_N = WHOLE,
    .whole_K = WHOLE_K,
    .largest = 4,
    .smallest_tile = 4,
};

static void sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    multiply(c, &contract, M, N, K);
}

// 17 to 127, and no multiple of 4.
static int64_t ragged_size(struct check* c) {
    return 4 * check_pick(c, 4, 31) + check_pick(c, 1, 3);
}

// ---- items

// More tiles down than across, as many as a group of rows of tiles has, and the other way round,
// and many more; along K one tile, or more tiles than a kernel has buffers.
static void all_different(struct check* c) {
    sizes(c, 4 * WHOLE, WHOLE, WHOLE_K);
    sizes(c, WHOLE, 2 * WHOLE, WHOLE_K * check_pick(c, 4, 6));
    sizes(c, WHOLE * check_pick(c, 5, 6), 2 * WHOLE, WHOLE_K);
}

// K = 4, 8, 12 ... leave rows aligned to 16 bytes, the others do not.
static void inner_ragged(struct check* c) {
    sizes(c, WHOLE, WHOLE, 2 * WHOLE_K + 4 * check_pick(c, 1, 3));
    static const int64_t hard[] = {1, 15, 33, 34};
    for (int i = 0; i < 4; i++) sizes(c, WHOLE, WHOLE, hard[i]);
    sizes(c, WHOLE, WHOLE, 1000);
    // More than 16 bits can count where rows are aligned, than 14 where they are not. A kernel that
    // takes its time has to end, too.
    multiply_long(c, &contract, 4, 8, 65536 + 4 * check_pick(c, 17, 31));
    multiply_long(c, &contract, 1, 3, 16384 + 4 * check_pick(c, 17, 31) + 1);
}

static void outer_ragged(struct check* c) {
    sizes(c, 4 * check_pick(c, 5, 63), 4 * check_pick(c, 5, 63), WHOLE_K);
    static const int64_t hard[][2] = {{129, 131}, {15, 17}, {34, 70}, {1, 40}, {40, 1}, {1, 1}};
    for (int i = 0; i < 6; i++) sizes(c, hard[i][0], hard[i][1], WHOLE_K);
    sizes(c, ragged_size(c), ragged_size(c), WHOLE_K);
    multiply_reaches(c, &contract);
    multiply_is_launched(c, &contract);
}

// Matrices that are some columns of wider arrays: the numbers around them do not belong to them.
static void parts_of(struct check* c, int64_t M, int64_t N, int64_t K, struct part C, struct part A,
                     struct part B) {
    struct product p = product_of(c, &contract, M, N, K);
    p.C_part = C;
    p.A_part = A;
    p.B_part = B;
    check_case(c,
               "M = %d, N = %d, K = %d; columns from %d of %d in C, %d of %d in A, %d of %d in B",
               (int)M, (int)N, (int)K, (int)C.first, (int)(N + C.gap), (int)A.first,
               (int)(K + A.gap), (int)B.first, (int)(N + B.gap));
    product_declare(&p);
    product_fill(&p, -contract.largest, contract.largest);
    product_surround(&p);
    check_run(c);
    product_compare(&p);
}

static void parts(struct check* c, struct part C, struct part A, struct part B) {
    parts_of(c, WHOLE, WHOLE, WHOLE_K, C, A, B);
}

// Rows that are apart, and aligned to 16 bytes. Then one matrix after the other, and its rows,
// begin at other addresses.
static void strided(struct check* c) {
    int64_t wide = 4 * check_pick(c, 2, 8);
    const struct part aligned[3] = {{wide, 4}, {wide + 4, 0}, {wide + 8, 8}};
    parts(c, aligned[0], aligned[1], aligned[2]);
    for (int matrix = 0; matrix < 3; matrix++) {
        struct part begins[3], rows[3], half[3];
        memcpy(begins, aligned, sizeof aligned);
        memcpy(rows, aligned, sizeof aligned);
        memcpy(half, aligned, sizeof aligned);
        begins[matrix].first += 1;
        rows[matrix].gap += 2;
        half[matrix].first += 2;
        parts(c, begins[0], begins[1], begins[2]);
        parts(c, rows[0], rows[1], rows[2]);
        parts(c, half[0], half[1], half[2]);
    }
    // None is aligned, and their strides, or beginnings, together are a multiple of 4.
    struct part begins[3], rows[3];
    memcpy(begins, aligned, sizeof aligned);
    memcpy(rows, aligned, sizeof aligned);
    for (int matrix = 0; matrix < 3; matrix++) {
        begins[matrix].first += matrix < 2 ? 1 : 2;
        rows[matrix].gap += matrix < 2 ? 1 : 2;
    }
    parts(c, begins[0], begins[1], begins[2]);
    parts(c, rows[0], rows[1], rows[2]);
    // Rows begin at multiples of 16 bytes, but do not end there: of N, of K, of both.
    for (int ends = 1; ends < 4; ends++) {
        int64_t N = 32 - 2 * (ends % 2), K = 36 - 2 * (ends / 2);
        parts_of(c, 40, N, K, (struct part){36 - N, 0}, (struct part){40 - K, 0},
                 (struct part){36 - N, 0});
    }
    parts_of(c, 37, 35, 33, (struct part){2, 1}, (struct part){5, 2}, (struct part){4, 3});
    // One column, and one row: a launcher may have a kernel for them. K is more than two tiles: the
    // first one alone is less than all but the last.
    parts_of(c, 40, 1, 68, aligned[0], aligned[1], aligned[2]);
    parts_of(c, 1, 40, 68, aligned[0], aligned[1], aligned[2]);
    if (!check_can_be_far(c)) return;
    // Some tiles along K: from one to the next is far, too. For a row that is no whole float4s a
    // launcher may have another kernel.
    enum { K_TILES = 4 };
    for (int odd = 0; odd <= 1; odd++) {
        const int64_t N = WHOLE / 2 - odd, K = K_TILES * WHOLE_K;
        struct product p = product_of(c, &contract, WHOLE / 2, N, K);
        p.far = true;
        check_case(c,
                   "M = %d, N = %d, K = %d; more than 2^32 floats from row to row, on the CPU "
                   "device",
                   WHOLE / 2, (int)N, (int)K);
        product_declare(&p);
        product_fill(&p, -contract.largest, contract.largest);
        check_run(c);
        product_compare(&p);
    }
}

static void precise(struct check* c) {
    multiply_reals(c, &contract);
    multiply_range(c, &contract);
}

// A's stand at the beginning of rows: behind the end of the rows before, which are no whole tile.
static void not_finite(struct check* c) {
    multiply_not_finite(c, &contract, 4 * check_pick(c, 5, 7), 4, false);
    multiply_not_finite(c, &contract, 4 * check_pick(c, 5, 7), 4, true);
    // A row that is no whole float4s: another kernel may fill up its end.
    multiply_not_finite(c, &contract, 4 * check_pick(c, 5, 7) - check_pick(c, 1, 3), 4, true);
    multiply_zeros(c, &contract);
}

static void three_calls(struct check* c) {
    multiply_again(c, &contract, 3);
    multiply_little_on_two_devices(c, &contract);
}

static void sizes_of_0(struct check* c) {
    multiply_sizes_of_0(c, &contract);
}

static void bad_arguments(struct check* c) {
    multiply_bad_arguments(c, &contract);
}

// Rows aligned to 16 bytes, with tiles past the edges of C; and rows aligned to 4, ragged
// everywhere.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    sizes(c, 4 * check_pick(c, 5, 20), 4 * check_pick(c, 5, 20), 3 * WHOLE_K);
    sizes(c, ragged_size(c), ragged_size(c), ragged_size(c));
}

// ---- costs, of one call each

// What registers are to hold a thread has for itself; an array that is larger than they are is
// global memory, which is counted nowhere.
static void judge_local(struct check* c) {
    enum { OF_A_THREAD = 2300 };  // bytes: 255 registers, and what the device itself needs
    check_local(c, CAUSE_local_array, OF_A_THREAD);
}

// Rows are `gap` elements apart.
static const struct arena_traffic* traffic_apart(struct check* c, int64_t M, int64_t N, int64_t K,
                                                 int gap) {
    struct product p = product_of(c, &contract, M, N, K);
    p.C_part.gap = p.A_part.gap = p.B_part.gap = gap;
    check_watch(c, WATCH_PROFILE);
    check_case(c,
               gap ? "M = %d, N = %d, K = %d, rows with %d elements between them"
                   : "M = %d, N = %d, K = %d",
               (int)M, (int)N, (int)K, gap);
    product_declare(&p);
    product_fill(&p, -contract.largest, contract.largest);
    check_run(c);
    product_compare(&p);
    judge_local(c);
    return check_traffic(c);
}

static const struct arena_traffic* traffic(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    sizes(c, WHOLE, WHOLE, 2 * WHOLE_K);
    judge_local(c);
    return check_traffic(c);
}

enum { APART = 8 };  // elements between aligned rows

// Of sizes that people multiply: what one block moves. Aligned: whole tiles, and rows that are
// apart.
static const struct arena_traffic* traffic_drawn(struct check* c, struct drawn* d, bool aligned) {
    enum { DRAWN_K = 128, LESS = 7 };
    *d = drawn_product(c, &contract, DRAWN_K, aligned ? 0 : LESS);
    if (aligned) d->p.C_part.gap = d->p.A_part.gap = d->p.B_part.gap = APART;
    drawn_run(d, NULL);
    judge_local(c);
    return check_traffic(c);
}
static const double M_N_K = 2.0 * WHOLE * WHOLE * WHOLE_K;

// Tiles of T x T of C read 2 M N K / T elements (README eq. 3). The budget allows T = 64.
static void judge_read(struct check* c, const struct arena_traffic* t, double products) {
    check_at_most(c, CAUSE_too_much_read, "elements of A and B loaded for each multiplication",
                  (double)t->global_load_bytes / (4 * products), 2.0 / 64);
}

// With tiles of any size an element is loaded once for each. Where nothing is aligned a launcher
// may have another kernel: its tiles, which cover as many elements, are the same (README).
static void read_once_per_tile(struct check* c) {
    struct drawn d;
    const struct arena_traffic* t = traffic_drawn(c, &d, false);
    judge_read(c, t, d.whole);
    drawn_loaded_once(&d);
    drawn_stored_once(&d);
    t = traffic_apart(c, WHOLE - 1, WHOLE - 1, 2 * WHOLE_K - 1, 2);
    judge_read(c, t, M_N_K);
    multiplied_loaded_once(c, t);
    check_stored_once(c, "C");
}

// Rows are apart: where all addresses are multiples of 16 bytes the product is to be fast.
// A request of a whole warp moves 128 bytes float by float, and 512 by float4. What requests could
// have moved and did not counts for each byte that the item above allows, too: else useless float4
// would make up for it.
static void judge_four(struct check* c, double M_N, double K) {
    const double M_N_K = M_N * K;
    const struct arena_traffic* t = check_traffic(c);
    double could = 512 * (double)(t->global_load_requests + t->global_store_requests);
    double bytes = (double)(t->global_load_bytes + t->global_store_bytes);
    check_at_most(c, CAUSE_narrow_access, "global requests of a warp for each 512 bytes",
                  fmax(could / bytes, 1 + (could - bytes) / (4 * (M_N_K * 2 / 64 + M_N))), 1.5);
}

static void four_of(struct check* c, int M, int N, int K) {
    (void)traffic_apart(c, M, N, K, APART);
    judge_four(c, (double)M * N, K);
}

// Of how many rows there are nothing is asked; of the others' sizes, that they are multiples of 4.
// The last tiles lack little: lanes without work make requests, too.
static void four_at_a_time(struct check* c) {
    four_of(c, WHOLE, WHOLE, 2 * WHOLE_K);
    const int M = WHOLE / 2 - 2 * (int)check_pick(c, 0, 7) - 1;
    four_of(c, M, WHOLE / 2, WHOLE_K);
    four_of(c, M, WHOLE / 2 - 4, WHOLE_K - 4);
    struct drawn d;
    (void)traffic_drawn(c, &d, true);
    judge_four(c, d.made / (double)d.p.K, (double)d.p.K);
}

// A sum a thread takes 2 wavefronts for the 32 multiplications of a warp; 8 x 8 sums take 16 / 64
// by single floats, and 12 / 64 or less by float4 (README). The budget allows these wavefronts, and
// a step or two ahead that nobody needs. Conflicts are the next item's. Lanes that share what they
// load take fewer wavefronts, however few sums they have: so the numbers count, too, 16 / 64. A
// number from another lane's register comes by the way of shared memory, and counts like one from
// there, whichever function brings it. By mma.sync with a unit matrix a lane could get 4; half of
// them count, so that products of three parts of a float, six mma.sync, may be made so.
static void judge_sharing(struct check* c, const struct arena_traffic* t, double products) {
    enum { OF_MMA = 2 * 32 };
    double exchanged = (double)t->shuffles + OF_MMA * (double)t->mma;
    double useful = (double)(t->shared_load_wavefronts - t->shared_load_conflicts);
    check_at_most(c, CAUSE_too_much_shared, "shared-memory wavefronts for 32 multiplications",
                  useful * 32 / products, 0.2);
    check_at_most(c, CAUSE_too_much_shared,
                  "numbers that a lane loads or shuffles for each multiplication",
                  ((double)t->shared_load_bytes / sizeof(float) + exchanged) / products, 0.3);
}

// Of sizes that are no whole tiles, and of odd ones, for which a launcher may have another kernel:
// the tiles that cover them cost what whole ones do. Those of 64 x 256 are tiles, too. Rows that
// are apart are no other case.
static void registers_share(struct check* c) {
    const int64_t odd = WHOLE - 2 * check_pick(c, 0, 3) - 1;
    struct drawn d;
    const struct arena_traffic* t = traffic_drawn(c, &d, false);
    judge_sharing(c, t, d.whole);
    judge_sharing(c,
                  traffic_apart(c, WHOLE - 4 * check_pick(c, 1, 7), WHOLE - 4 * check_pick(c, 1, 7),
                                WHOLE_K - 4 * check_pick(c, 1, 3), 8),
                  M_N_K / 2);
    judge_sharing(c, traffic_apart(c, odd, odd, WHOLE_K - 1, 0), M_N_K / 2);
}

static void no_conflicts(struct check* c) {
    multiplied_without_conflicts(c, traffic(c), M_N_K / 32 * 2);
    // Nothing is aligned.
    const struct arena_traffic* t = traffic_apart(c, WHOLE / 2 - 1, WHOLE / 2 - 1, WHOLE_K - 1, 2);
    multiplied_loads_without_conflicts(c, t, M_N_K / 8 / 32 * 2);
}

static const struct item items[] = {
    {14, "M, N and K all different", all_different},
    {8, "any K: the last tile is partly filled", inner_ragged},
    {8, "any M and N: tiles reach past the edge", outer_ragged},
    {6, "matrices that are parts of others: strides", strided},
    {3, "real numbers, in full float precision", precise},
    {3, "NaN and infinity stay in their row and column", not_finite},
    {2, "called again with new data", three_calls},
    {2, "sizes of 0", sizes_of_0},
    {2, "bad arguments are refused", bad_arguments},
    {7, "no races, no stray accesses", safe},
    {8, "global memory is read once per tile", read_once_per_tile},
    {7, "global memory moves four floats at a time", four_at_a_time},
    {25, "what comes from shared memory is used 8 times", registers_share},
    {5, "shared memory without bank conflicts", no_conflicts},
    {0},
};

const struct lesson lesson = {
    .name = "06_register_tiling",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .without_exp = true,
    .idea = {.what = "each number from shared memory is used 8 times in registers",
             .paid_by = {read_once_per_tile, four_at_a_time, registers_share},
             .naive = "solutions/06_register_tiling/steps/1_one_sum_each.cu"},
    .explain = explain};
