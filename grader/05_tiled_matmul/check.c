// check.c: what lesson 05, tiled_matmul, is graded on.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles (multiples of 32), M = N
// unless M and N are to be told apart, and K >= N, so that a K mistaken for N stays inside A and B.
#include "check/check.h"
#include "matmul/cases.h"
#include "matmul/drawn.h"
#include "matmul/mistakes.h"
#include "tiled_matmul.h"
#include "wall/arena.h"

#include <math.h>

enum { WHOLE = 32, SMALLEST_TILE = 8 };  // elements

static const struct matmul contract = {
    .dtype = F32,
    .max_size = TILED_MATMUL_MAX_SIZE,
    .whole_M = WHOLE,
    .whole_N = WHOLE,
    .whole_K = 2 * WHOLE,
    .largest = 4,
    .smallest_tile = SMALLEST_TILE,
};

static void sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    multiply(c, &contract, M, N, K);
}

// 17 to 63, and no multiple of 16: at least two tiles of 16 in each direction, the last one ragged.
static int64_t ragged_size(struct check* c) {
    return 16 * check_pick(c, 1, 3) + check_pick(c, 1, 15);
}

// ---- items

// All three sizes differ, so each has to be taken from the right parameter. First in whole tiles,
// then ragged in all directions at once.
static void all_different(struct check* c) {
    sizes(c, WHOLE, 3 * WHOLE, 4 * WHOLE);
    sizes(c, 2 * WHOLE, WHOLE, WHOLE * check_pick(c, 3, 5));
    int64_t M = ragged_size(c), N = ragged_size(c);
    sizes(c, M, N == M ? N + 16 : N, ragged_size(c));
    sizes(c, 129, 17, 33);
    sizes(c, 17, 4321, 33);
    sizes(c, 4321, 17, 33);
    // Longer ones take a kernel that hands on A by shuffles more than the seconds of a run.
    multiply_long(c, &contract, 1, 3, 160000 + check_pick(c, 0, 15));
}

static void inner_ragged(struct check* c) {
    multiply_whole(c, &contract);
    sizes(c, WHOLE, WHOLE, 2 * WHOLE + check_pick(c, 1, 7));
    static const int64_t hard[] = {17, 15, 1, 4321, 34, 36, 1000};
    for (int i = 0; i < 7; i++) sizes(c, WHOLE, WHOLE, hard[i]);
    // More terms than 16 bits can count.
    multiply_long(c, &contract, WHOLE / 2, WHOLE / 2, 65536 + check_pick(c, 33, 63));
}

static void outer_ragged(struct check* c) {
    static const int64_t hard[][2] = {{15, 33}, {34, 15}, {1, 47}, {47, 1}, {36, 36}, {1, 1}};
    // So far apart that a grid of M columns and N rows is not like one without the last tile.
    int64_t M = ragged_size(c);
    sizes(c, M, M + 2 * WHOLE, 4 * WHOLE);
    for (int i = 0; i < 6; i++) sizes(c, hard[i][0], hard[i][1], 2 * WHOLE);
    multiply_reaches(c, &contract);
    multiply_huge(c, &contract);
}

static void precise(struct check* c) {
    multiply_reals(c, &contract);
    multiply_range(c, &contract);
}

// They stand at the beginning and the end of rows, where a tile too many would fetch them; a tile
// that is not full goes on with the last element again, or not.
static void not_finite(struct check* c) {
    multiply_not_finite(c, &contract, 2 * WHOLE, 8, true);
    multiply_not_finite(c, &contract, 2 * WHOLE + check_pick(c, 1, 7), 8, true);
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

// Whole tiles, and ragged ones in every direction.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    multiply_whole(c, &contract);
    int64_t size = ragged_size(c);
    sizes(c, size, size, ragged_size(c));
    multiply_misaligned(c, &contract, WHOLE, WHOLE, WHOLE, 2 * check_pick(c, 0, 1) + 1);
    multiply_misaligned(c, &contract, WHOLE, WHOLE, WHOLE, 2);
    multiply_watched_apart(c, &contract, WHOLE);
}

// A kernel without tiles reads every element of A N times and every element of B M times; tiles of
// T divide both by T (README eq. 4). The budget allows tiles of 8 and what a ragged edge costs.
// Whatever the tiles' size, a block loads each element that its tile of C needs once.
static void judge_read(struct check* c, double elements, double limit) {
    check_at_most(c, CAUSE_too_much_read, "times that each element of A and B is loaded",
                  (double)check_traffic(c)->global_load_bytes / (4 * elements), limit);
}

// A tile is shared by the threads of a block. A thread's own array that no registers can hold is
// global memory, and what is loaded from there would be counted nowhere. A block may leave three
// lanes of four without work, as in lesson 04, but not be a thread that has the tile for itself.
static void judge_threads(struct check* c) {
    enum { OF_A_THREAD = 1500 };  // bytes: 255 registers, and what the device itself needs
    const struct arena_traffic* t = check_traffic(c);
    check_local(c, CAUSE_local_array, OF_A_THREAD);
    check_at_most(c, CAUSE_idle_lanes, "requests that load, for each 32 elements loaded",
                  (double)t->global_load_requests * 128 / (double)t->global_load_bytes, 4);
}

static void cheap(struct check* c) {
    enum { SIZE = 3 * WHOLE };
    check_watch(c, WATCH_PROFILE);
    sizes(c, SIZE, SIZE, SIZE);
    const double elements = 2.0 * SIZE * SIZE, limit = (double)SIZE / SMALLEST_TILE;
    judge_read(c, elements, limit);
    judge_threads(c);
    check_loaded_once(c, "A");
    check_loaded_once(c, "B");
    check_stored_once(c, "C");
    // Odd sizes have tiles, too: the last ones cost what whole ones do.
    enum { LESS = 5 };
    sizes(c, SIZE - LESS, SIZE - LESS, SIZE - LESS);
    judge_read(c, elements, limit);
    judge_threads(c);
    multiplied_loaded_once(c, check_traffic(c));
    check_stored_once(c, "C");
    // Of sizes that people multiply a block costs as much for each product.
    enum { DRAWN_K = 320 };
    struct drawn d = drawn_product(c, &contract, DRAWN_K, SMALLEST_TILE - 1);
    drawn_run(&d, NULL);
    check_at_most(c, CAUSE_too_much_read, "elements of A and B loaded for each multiplication",
                  (double)check_traffic(c)->global_load_bytes / (4 * d.whole), 2.0 / SMALLEST_TILE);
    judge_threads(c);
    drawn_loaded_once(&d);
    drawn_stored_once(&d);
    // So has a K of one tile, or less. A thread may load a few numbers besides, of a variable of
    // the device, say.
    enum { BESIDES = 6 };
    // It is odd or a multiple of 4: what other steps leave of it is an item of its own.
    int64_t K = check_pick(c, SMALLEST_TILE, 2 * SMALLEST_TILE);
    K += K % 4 == 2;
    sizes(c, SIZE, SIZE, K);
    judge_read(c, 2.0 * SIZE * (double)K, limit + BESIDES * SIZE / (2.0 * (double)K));
    judge_threads(c);
}

static const struct item items[] = {
    {10, "M, N and K all different", all_different},
    {10, "any K: the last tile is partly filled", inner_ragged},
    {10, "any M and N: blocks reach past the edge", outer_ragged},
    {5, "real numbers, in full float precision", precise},
    {5, "NaN and infinity stay in their row and column", not_finite},
    {5, "three calls, new data each time", three_calls},
    {3, "sizes of 0", sizes_of_0},
    {4, "bad arguments are refused", bad_arguments},
    {8, "no races, no stray accesses", safe},
    {40, "global memory is read once per tile", cheap},
    {0},
};

// ---- diagnosis

// Beyond K, the last tile still holds numbers of the tile before it; the first tile holds nothing
// there.
static double stale_or_nothing(const struct product* p, struct term at) {
    return at.k >= p->K && at.k < at.size ? NAN : stale_tail(p, at);
}

// The last whole tile is left out.
static bool whole_tiles_before(const struct product* p, const struct sum* sum, int variant,
                               struct extent* e) {
    if (!beyond_a_tile(p, sum, variant, e)) return false;
    e->terms = (CEIL_DIV(p->K, e->size) - 1) * e->size;
    return true;
}

static const struct hypothesis of_tiles[] = {
    SUM(inner_tail, TILES, right_term, whole_tiles),
    SUM(inner_tail, TILES, stale_or_nothing, all_tiles),
    SUM(inner_tail, TILES, last_again, all_tiles),
    SUM_BACK(inner_tail, TILES, A_tail_stale, tiles_back, 1),
    SUM_BACK(inner_tail, TILES, B_tail_stale, tiles_back, 1),
    SUM(transposed, TILES, A_turned, all_tiles),
    SUM(transposed, TILES, B_turned, all_tiles),
    SUM(index_mixed, TILES, A_of_the_column, all_tiles),
    SUM(index_mixed, TILES, B_of_the_row, all_tiles),
    SUM(index_mixed, TILES, A_row_as_k, all_tiles),
    SUM(index_mixed, TILES, A_column_as_i, all_tiles),
    SUM(index_mixed, TILES, A_column_as_j, all_tiles),
    SUM(index_mixed, TILES, B_row_as_i, all_tiles),
    SUM(index_mixed, TILES, B_row_as_j, all_tiles),
    SUM(index_mixed, TILES, B_column_as_k, all_tiles),
    SUM(place_in_tile, TILES, A_row_in_tile, all_tiles),
    SUM(place_in_tile, TILES, B_column_in_tile, all_tiles),
    {0},
};

// A loop that ends at N may look like one that leaves out a tile: these come after
// packed_mistakes.
static const struct hypothesis of_skipped_tiles[] = {
    SUM(tile_skipped, TILES, right_term, whole_tiles_before),
    SUM(tile_skipped, TILES, later_term, beyond_a_tile),
    SUM(tile_skipped, TILES, last_tile_term, beyond_a_tile),
    SUM(tile_skipped, TILES, late_term, beyond_a_tile),
    SUM(tile_skipped, TILES, early_term, beyond_a_tile),
    SUM(tile_skipped, TILES, A_first_again, beyond_a_tile),
    SUM(tile_skipped, TILES, B_first_again, beyond_a_tile),
    {0},
};

// Every wrong element is NaN. If the inputs hold NaN, it has leaked. Otherwise it comes from a
// guard band or from shared memory never written, through the part of a tile beyond K.
static enum cause explain_nan(const struct suspect* s, const struct product* p) {
    bool nan_wanted = false;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        if (element_is_wrong(s, i) &&
            !(isnan(s->tensor->got[i]) && check_was_written(s->tensor, i)))
            return CAUSE_NONE;
        nan_wanted = nan_wanted || isnan(s->tensor->want[i]);
    }
    if (nan_wanted) return CAUSE_nan_leak;
    return p->K % SMALLEST_TILE != 0 ? CAUSE_inner_tail : CAUSE_NONE;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct product* p = check_description(c);
    const struct suspect s = {.tensor = t, .budget = budget, .problem = p};
    if (p->K == 0) return explain_no_terms(&s);
    if (p->M * p->N < 3) return CAUSE_NONE;  // a few sums are like many a mistake's by chance
    enum cause cause = hypothesis_search_variants(&s, of_tiles);
    // NaN throughout may come from anywhere, so it is no sign of a wrong index.
    struct suspect by_numbers = s;
    by_numbers.slack.nan_proves_nothing = true;
    if (!cause) cause = hypothesis_search(&by_numbers, packed_mistakes);
    if (!cause) cause = hypothesis_search_variants(&s, of_skipped_tiles);
    if (!cause) cause = explain_counted(&s);
    if (!cause) cause = explain_cut(&s);
    return cause ? cause : explain_nan(&s, p);
}

const struct lesson lesson = {.name = "05_tiled_matmul",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .without_exp = true,
                              .idea = {.what = "global memory is read once per tile",
                                       .paid_by = {cheap},
                                       .naive = "solutions/05_tiled_matmul/steps/1_coalesced.cu"},
                              .explain = explain};
