// check.c: what lesson 04, matmul_coalesced, is graded on.
//
// Each item sets one trap. Sizes that are no item's trap are whole blocks (multiples of 32), M = N
// unless M and N are to be told apart, and K >= N, so that a K mistaken for N stays inside A and B.
// A case of the grid that strides has a number of blocks that covers the elements neither once nor
// a whole number of times.
#include "check/check.h"
#include "check/reach.h"
#include "matmul/cases.h"
#include "matmul/drawn.h"
#include "matmul/mistakes.h"
#include "matmul_coalesced.h"
#include "wall/arena.h"

#include <math.h>
#include <stdlib.h>

#include "waves.h"

enum { WHOLE = 32, SMALLEST_BLOCK = 8, BLOCKS = 3 };

static void choose(struct check* c, bool on_a_grid, int64_t blocks) {
    check_int(c, "waves", false);
    check_int(c, "on_a_grid", on_a_grid);
    check_int(c, "blocks", blocks);
}

static void one_each(struct check* c) {
    choose(c, false, 0);
}

static void on_a_grid(struct check* c) {
    choose(c, true, BLOCKS);
}

// Of as many no block of usual size is without work in a large matrix.
static void on_a_large_grid(struct check* c) {
    choose(c, true, check_pick(c, 100, 160));
}

#define LIKE_ALL                                                                             \
    .dtype = F32, .max_size = MATMUL_COALESCED_MAX_SIZE, .whole_M = WHOLE, .whole_N = WHOLE, \
    .whole_K = 2 * WHOLE, .largest = 4, .smallest_tile = SMALLEST_BLOCK
static const struct matmul contract = {LIKE_ALL, .more = one_each};
static const struct matmul with_blocks = {LIKE_ALL, .more = on_a_grid};
static const struct matmul with_many_blocks = {LIKE_ALL, .more = on_a_large_grid};
static const struct matmul of_blocks = {LIKE_ALL};  // a case declares both itself
static const struct matmul* const both[] = {&contract, &with_blocks};

static void sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    multiply(c, &contract, M, N, K);
}

static struct product begin_grid(struct check* c, int64_t M, int64_t N, int64_t K, int64_t blocks) {
    check_case(c, "M = %lld, N = %lld, K = %lld, blocks = %lld", (long long)M, (long long)N,
               (long long)K, (long long)blocks);
    choose(c, true, blocks);
    return product_of(c, &of_blocks, M, N, K);
}

static void asked_blocks(struct check* c) {
    int64_t blocks = check_int_of(c, "blocks");
    if (check_blocks(c) != blocks)
        check_fail(c, CAUSE_blocks_ignored, "%lld blocks were launched, %lld were asked for",
                   (long long)check_blocks(c), (long long)blocks);
    if (check_launches(c) != 1)
        check_fail(c, CAUSE_blocks_ignored, "the blocks are those of %lld launches, not of one",
                   (long long)check_launches(c));
}

static void stride(struct check* c, int64_t M, int64_t N, int64_t K, int64_t blocks) {
    struct product p = begin_grid(c, M, N, K, blocks);
    product_declare(&p);
    product_fill(&p, -of_blocks.largest, of_blocks.largest);
    check_run(c);
    product_compare(&p);
    asked_blocks(c);
}

// 17 to 63, and no multiple of 16.
static int64_t ragged_size(struct check* c) {
    return 16 * check_pick(c, 1, 3) + check_pick(c, 1, 15);
}

// ---- items: a thread for each element

// All three sizes differ, so each has to be taken from the right parameter. First in whole blocks,
// then ragged in all directions at once.
static void all_different(struct check* c) {
    sizes(c, WHOLE, 3 * WHOLE, 4 * WHOLE);
    sizes(c, 2 * WHOLE, WHOLE, WHOLE * check_pick(c, 3, 5));
    int64_t M = ragged_size(c), N = ragged_size(c);
    sizes(c, M, N == M ? N + 16 : N, ragged_size(c));
    sizes(c, 17, 4321, 33);
    sizes(c, 4321, 17, 33);
}

// Below, K = 1 and no multiple of anything, too.
static void any_size(struct check* c) {
    static const int64_t hard[][2] = {{15, 33}, {34, 15}, {1, 47}, {47, 1}, {129, 129}, {1, 1}};
    // So far apart that a grid of M columns and N rows is not like one without the last block.
    int64_t M = ragged_size(c);
    sizes(c, M, M + 2 * WHOLE, 4 * WHOLE);
    for (int i = 0; i < 6; i++) sizes(c, hard[i][0], hard[i][1], 2 * WHOLE);
    sizes(c, WHOLE, WHOLE, 2 * WHOLE + check_pick(c, 1, 7));
    sizes(c, WHOLE, WHOLE, 1);
    sizes(c, WHOLE, WHOLE, 1000);
    multiply_long(c, &contract, 3, 5, contract.max_size - check_pick(c, 0, 15));
    multiply_reaches(c, &contract);
    multiply_huge(c, &contract);
}

// ---- items: a grid of a given size

// Of 2^25 blocks, from 128 threads on, the threads are 0 in 32 bits, or negative; divided by a
// short row they still do not fit. To the most blocks that there can be, no row is added in 32
// bits. A few of them run. What they have stored is right, and that may be all. No size differs
// from another, so that none can be taken for it.
static void far_more_blocks(struct check* c, int64_t size, int64_t blocks) {
    struct product p = begin_grid(c, size, size, size, blocks);
    product_declare(&p);
    product_fill(&p, 1, of_blocks.largest);
    check_run_few_blocks(c);
    check_run(c);
    product_want(&p);
    int64_t e = 0;
    while (e < p.C.t->count && (!check_was_written(p.C.t, e) || p.C.t->got[e] == p.C.t->want[e]))
        e++;
    if (e < p.C.t->count) {
        const double got = p.C.t->got[e], want = p.C.t->want[e];
        stride(c, size, size, size, BLOCKS);  // is it wrong with few blocks, too?
        begin_grid(c, size, size, size, blocks);
        check_fail(c, CAUSE_count_wraps, "C[%lld, %lld] is %g, expected %g", (long long)(e / size),
                   (long long)(e % size), got, want);
    }
    asked_blocks(c);
}

// C is one number, and e / N beyond 2^32 in the last block, of 128 threads or more: a row of 32
// bits is 0 again. What is stored a second time is right.
static void rows_beyond_32_bits(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    struct product p = begin_grid(c, 1, 1, 1, (1 << 25) + 1);
    product_declare(&p);
    product_fill(&p, 1, of_blocks.largest);
    check_run_few_blocks(c);
    check_run(c);
    if (!check_was_written(p.C.t, 0)) return;  // a block that did not run has it
    product_compare(&p);
    const double times = (double)check_traffic(c)->global_store_bytes / sizeof(float);
    // One thread of the few blocks that run has the index 2^32, or a few have, with no element.
    check_at_most(c, times > 2 ? CAUSE_too_much_written : CAUSE_count_wraps,
                  "times that the element is stored", times, 1);
}

// A thousand elements for each block, so that whole rounds of blocks of any usual size end with the
// last element. M N is a multiple of 2^15: the last index is rounded to M N if it becomes a float.
static struct product begin_thousands(struct check* c, int64_t M, int64_t N, int64_t K) {
    enum { EACH = 1024 };
    N = N < 2 * EACH ? 2 * EACH : N - N % EACH;
    M -= M % 32;
    return begin_grid(c, M, N, K, M * N / EACH);
}

static void huge_matrices(struct check* c) {
    const struct huge huge = {&of_blocks, 0, begin_thousands};
    multiply_huge_of(c, &huge);
}

// Of one block, of a few, of as many as there are elements for, of more than there are elements.
static void any_blocks(struct check* c) {
    enum { SIZE = 2 * WHOLE };
    const int64_t blocks[] = {1, 3, check_pick(c, 5, 15), 32, check_pick(c, 33, 300), 5000};
    for (int i = 0; i < 6; i++) stride(c, SIZE, SIZE, SIZE, blocks[i]);
    far_more_blocks(c, 15, 1 << 25);
    far_more_blocks(c, 2, INT32_MAX);
    rows_beyond_32_bits(c);
}

static void grid_sizes(struct check* c) {
    stride(c, 2 * WHOLE, WHOLE, 3 * WHOLE, BLOCKS);
    stride(c, WHOLE, 4 * WHOLE, 2 * WHOLE, 5);
    stride(c, ragged_size(c), 64 + ragged_size(c), ragged_size(c), check_pick(c, 2, 9));
    stride(c, 128 + ragged_size(c), ragged_size(c), ragged_size(c), check_pick(c, 2, 9));
    static const int64_t hard[][3] = {{1, 1, 1},   {1, 300, 5},   {300, 1, 5},  {17, 1021, 3},
                                      {33, 33, 1}, {70001, 1, 1}, {1, 70001, 1}};
    for (int i = 0; i < 7; i++) stride(c, hard[i][0], hard[i][1], hard[i][2], BLOCKS + i % 2);
    multiply_long(c, &with_blocks, 3, 5, with_blocks.max_size - check_pick(c, 0, 15));
    huge_matrices(c);
}

// ---- items: both

static void precise(struct check* c) {
    for (int i = 0; i < 2; i++) {
        multiply_reals(c, both[i]);
        multiply_range(c, both[i]);
    }
}

static void not_finite(struct check* c) {
    for (int i = 0; i < 2; i++) {
        multiply_not_finite(c, both[i], 2 * WHOLE, 8, true);
        // Behind the end of a row stands the next one's first element.
        multiply_not_finite(c, both[i], 2 * WHOLE + check_pick(c, 1, 3), 1, true);
        multiply_zeros(c, both[i]);
    }
}

static void three_calls(struct check* c) {
    for (int i = 0; i < 2; i++) multiply_again(c, both[i], 3);
    for (int i = 0; i < 2; i++) multiply_little_on_two_devices(c, both[i]);
}

static void sizes_of_0(struct check* c) {
    for (int i = 0; i < 2; i++) multiply_sizes_of_0(c, both[i]);
    struct product p = begin_grid(c, WHOLE, WHOLE, 0, BLOCKS);
    check_replace(c, "A", 0);
    check_replace(c, "B", 0);
    product_declare(&p);
    check_expect(c, COURSE_OK, CAUSE_empty_input);
    check_run(c);
    product_compare(&p);
    asked_blocks(c);
}

static void declare(struct check* c, void* product) {
    (void)c;
    product_declare(product);
}

static void bad_arguments(struct check* c) {
    static const struct idle_call blocks[] = {
        {COURSE_BAD_ARGUMENT, {{"blocks", 0}}},
        {COURSE_BAD_ARGUMENT, {{"blocks", -1}}},
        {COURSE_BAD_ARGUMENT, {{"blocks", 0}, {"M", 0}}},
        {COURSE_BAD_ARGUMENT, {{"blocks", -1}, {"K", with_blocks.max_size + 1}}},
        {0},
    };
    for (int i = 0; i < 2; i++) multiply_bad_arguments(c, both[i]);
    struct product p = product_of(c, &with_blocks, WHOLE, WHOLE, 2 * WHOLE);
    check_idle_calls(c, blocks, declare, &p);
}

// Whole blocks, and ragged ones in every direction.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    int64_t size = ragged_size(c), K = ragged_size(c);
    for (int i = 0; i < 2; i++) {
        multiply_whole(c, both[i]);
        multiply(c, both[i], size, size, K);
        multiply_misaligned(c, both[i], WHOLE, WHOLE, WHOLE, 2 * check_pick(c, 0, 1) + 1);
        multiply_misaligned(c, both[i], WHOLE, WHOLE, WHOLE, 2);
        multiply_watched_vectors(c, both[i], WHOLE);
    }
    stride(c, WHOLE, WHOLE, WHOLE, 40);
}

// ---- items: cost

// Memory moves sectors of 32 bytes. A warp whose lanes stand side by side along a row of C asks for
// 1 number of A and for 128 bytes of B, which lie in 4 sectors: none in vain. Lanes in several rows
// ask for as many numbers of A, each in a sector of its own. The budget allows 8 lanes side by
// side: 4 sectors of A where one could hold the 4 numbers, 3 in vain for two requests. With lanes
// down a column it is 28 of 32. Only as many requests count as a thread for each element makes:
// loads that nobody needs could hide the others.
enum { COST_M = 2 * WHOLE, COST_N = 3 * WHOLE, COST_K = 2 * WHOLE, NARROW = WHOLE / 2 };

// `odd`: rows begin anywhere, so 8 lanes side by side may touch a sector more. of_blocks: elements
// of C, with those that are missing in the last blocks.
static void judge_moved(struct check* c, double products, double sums, double of_blocks, bool odd,
                        const struct drawn* drawn) {
    const struct arena_traffic* t = check_traffic(c);
    double needed = 2 * products / 32, stores = sums / 32;
    double loads = fmin((double)t->global_load_requests, needed);
    check_at_most(c, CAUSE_uncoalesced, "sectors moved in vain for each load of a warp, of A and B",
                  (double)t->global_load_excess_sectors / loads, odd ? 3 : 2);
    stores = fmin((double)t->global_store_requests, stores);
    check_at_most(c, CAUSE_uncoalesced, "sectors moved in vain for each store of a warp, to C",
                  (double)t->global_store_excess_sectors / stores, odd ? 5 : 1);
    if (drawn)
        drawn_stored_once(drawn);
    else
        check_stored_once(c, "C");
    // Lanes that go one after another move nothing in vain, and are no faster. A block may leave
    // three lanes of four without work.
    check_at_most(c, CAUSE_idle_lanes, "requests that load, for each that whole warps need",
                  (double)t->global_load_requests / needed, 4);
    check_at_most(c, CAUSE_idle_lanes, "requests that store, for each that whole warps need",
                  (double)t->global_store_requests / (of_blocks / 32), 4);
}

static void judge_sectors(struct check* c, bool odd) {
    const int64_t M = check_int_of(c, "M"), N = check_int_of(c, "N");
    const double sums = (double)(M * N);
    const double of_blocks = (double)(CEIL_DIV(M, NARROW) * CEIL_DIV(N, NARROW) * NARROW * NARROW);
    judge_moved(c, sums * (double)check_int_of(c, "K"), sums, of_blocks, odd, NULL);
}

// Of sizes that people multiply: what one block moves.
static void judge_drawn(struct check* c, const struct matmul* of) {
    enum { DRAWN_K = 128, LESS = 7 };
    struct drawn d = drawn_product(c, of, DRAWN_K, LESS);
    drawn_run(&d, NULL);
    const double K = (double)(d.p.K + d.less);
    judge_moved(c, d.whole, d.made / (double)d.p.K, d.whole / K, d.less > 0, &d);
}

// A long sum stays in a register to its end, too.
enum { LONG_M = 8, LONG_N = 32, LONG_K = 5000 };

// For sizes that are no whole blocks a launcher may have another kernel, and for rows of C that are
// shorter than a warp.
static void coalesced(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    sizes(c, COST_M, COST_N, COST_K);
    judge_sectors(c, false);
    const int64_t M = COST_M - check_pick(c, 1, 7), N = COST_N - check_pick(c, 1, 7);
    sizes(c, M, N, COST_K - check_pick(c, 1, 7));
    judge_sectors(c, true);
    sizes(c, COST_N, NARROW, COST_K / 2);
    judge_sectors(c, false);
    sizes(c, LONG_M, LONG_N, LONG_K);
    check_stored_once(c, "C");
    judge_drawn(c, &contract);
}

static void coalesced_grid(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    static const int64_t blocks[] = {1, 7, 40};
    for (int i = 0; i < 3; i++) {
        stride(c, COST_M, COST_N, COST_K, blocks[i]);
        judge_sectors(c, false);
    }
    const int64_t M = COST_M - check_pick(c, 1, 7), N = COST_N - check_pick(c, 1, 7);
    stride(c, M, N, COST_K - check_pick(c, 1, 7), blocks[1]);
    judge_sectors(c, true);
    stride(c, COST_N, NARROW, COST_K / 2, blocks[0]);
    judge_sectors(c, false);
    stride(c, LONG_M, LONG_N, LONG_K, blocks[0]);
    check_stored_once(c, "C");
    judge_drawn(c, &with_many_blocks);
}

// ---- items: how a grid runs

static void ask_and_free(struct check* c, const char* about, struct grids* g, enum cause cause) {
    ask(c, about, g, cause);
    free(g);
}

// Nothing else limits them, but the number of blocks.
static void warps(struct check* c) {
    static const int hard[] = {1,   31,  32,  33,  63,  65,  96,  97,   127, 128,
                               129, 160, 224, 255, 257, 352, 480, 511,  512, 513,
                               640, 736, 767, 768, 769, 992, 993, 1023, 1024};
    struct grids* g = new_grids(c);
    struct known_card card;
    for (int i = 0; card_at(c, i, &card); i++) {
        for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++)
            add_whole(c, g, (struct grid){card, hard[k], 0, 0, 0});
        for (int k = 0; k < 9; k++)
            add_whole(c, g, (struct grid){card, (int)check_pick(c, 1, 1024), 0, 0, 0});
    }
    // So few registers that any number of them, in place of 0, is a limit.
    card = cards[0];
    card.name = "a card that nobody has built";
    card.registers = FEW_REGISTERS;
    for (int threads = 32; threads <= 1024; threads *= 2)
        add_whole(c, g, (struct grid){card, threads, 0, 0, 0});
    ask_and_free(c, "threads that are no whole warps", g, CAUSE_partial_warp);
}

static void registers(struct check* c) {
    static const int hard[] = {1,  8,  16, 24, 25,  31,  32,  33,  40,  41,  48,  56,  63, 64,
                               65, 72, 80, 96, 128, 129, 136, 168, 169, 200, 224, 254, 255};
    struct grids* g = new_grids(c);
    struct known_card card;
    for (int i = 0; card_at(c, i, &card); i++)
        for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++)
            for (int warps = 1; warps <= 32; warps += (int)check_pick(c, 1, 4))
                add_whole(c, g, (struct grid){card, 32 * warps, hard[k], 0, 0});
    ask_and_free(c, "registers", g, CAUSE_register_unit);
}

// As much as n blocks can have each, and what is a little more or less than that.
static void shared_memory(struct check* c) {
    static const int beside[] = {-129, -128, -127, -1, 0, 1, 127, 128, 129};
    struct grids* g = new_grids(c);
    struct known_card card;
    for (int i = 0; card_at(c, i, &card); i++)
        for (int n = 1; n <= 24; n++)
            for (int k = 0; k < 9; k++) {
                int64_t shared = (int64_t)card.shared / n / 128 * 128 - 1024 + beside[k];
                int threads = 32 * (int)check_pick(c, 1, n < 4 ? 8 : 2);
                add_whole(c, g, (struct grid){card, threads, 0, shared, 0});
            }
    // So little that what every block takes besides limits those that ask for none.
    card = cards[0];
    card.name = "a card that nobody has built";
    card.shared = 1024 * (size_t)check_pick(c, 9, 15);
    card.shared_block = card.shared - 1024;
    for (int64_t shared = 0; shared <= 128; shared += 64)
        add_whole(c, g, (struct grid){card, 32, 0, shared, 0});
    ask_and_free(c, "shared memory", g, CAUSE_shared_unit);
}

// What limits the blocks are threads, registers, and shared memory. Of the registers nothing is
// left over: a warp of each block is in each of the four partitions, and takes whole units.
static void whole_and_partial_waves(struct check* c) {
    struct grids* g = new_grids(c);
    struct known_card card;
    for (int i = 0; card_at(c, i, &card); i++) {
        const struct grid kinds[] = {
            {card, 256, 0, 0, 0},
            {card, 128, 128, 0, 0},
            {card, 64, 0, (int64_t)card.shared_block / 3, 0},
            {card, 1024, 0, 0, 0},
        };
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct grid at = kinds[k];
            int64_t wave = right_answer(&at).per * card.multiprocessors;
            const int64_t blocks[] = {1,
                                      card.multiprocessors - 1,
                                      card.multiprocessors,
                                      wave - 1,
                                      wave,
                                      wave + 1,
                                      7 * wave - 1,
                                      7 * wave,
                                      7 * wave + check_pick(c, 1, wave - 1),
                                      65536,
                                      ((int64_t)1 << 31) - 1,
                                      ((int64_t)1 << 31) + check_pick(c, 0, 99),
                                      ((int64_t)1 << 32) + check_pick(c, 1, 99),
                                      wave * 12345678 + 1,
                                      ((int64_t)1 << 45) + 1,
                                      ((int64_t)1 << 61) / wave * wave + 1,
                                      INT32_MAX * 65535LL * 65535};  // no grid is larger
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                at.blocks = blocks[b];
                add(g, &at);
            }
        }
    }
    ask_and_free(c, "whole waves, and a last one that is not", g, CAUSE_last_wave);
}

static void fits_nowhere(struct check* c) {
    struct grids* g = new_grids(c);
    struct known_card card;
    for (int i = 0; card_at(c, i, &card); i++) {
        const int64_t most = (int64_t)card.shared_block, all = (int64_t)card.shared;
        const struct grid kinds[] = {
            {card, 0, 32, 0, 0},        {card, -32, 32, 0, 0},
            {card, 1025, 0, 0, 0},      {card, 1056, 16, 0, 0},
            {card, 2048, 0, 0, 0},      {card, 32, 256, 0, 0},
            {card, 32, 300, 0, 0},      {card, 1024, 255, 0, 0},
            {card, 32, 0, most + 1, 0}, {card, 32, 0, all - 1023, 0},
            {card, 32, 0, all, 0},      {card, 32, 0, ((int64_t)1 << 32) + 64, 0},
            {card, 32, 0, -1, 0},       {card, 32, 0, -check_pick(c, 2, 1024), 0},
            {card, 256, 0, 0, 0},  // these fit
            {card, 32, 255, most, 0},
        };
        const int64_t blocks[] = {0, card.multiprocessors};
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (int b = 0; b < 2; b++) {
                struct grid at = kinds[k];
                at.blocks = blocks[b];
                add(g, &at);
            }
    }
    ask_and_free(c, "blocks that fit nowhere, grids of no blocks", g, CAUSE_never_fits);
}

static const struct item items[] = {
    {5, "M, N and K all different", all_different},
    {5, "any M and N: blocks reach past the edge", any_size},
    {6, "a fixed grid of 1, 3, or far too many blocks", any_blocks},
    {4, "a fixed grid, any M, N and K", grid_sizes},
    {3, "real numbers, in full float precision", precise},
    {3, "NaN and infinity stay in their row and column", not_finite},
    {3, "three calls, new data each time", three_calls},
    {3, "sizes of 0", sizes_of_0},
    {3, "bad arguments are refused", bad_arguments},
    {5, "no races, no stray accesses", safe},
    {20, "cost: neighbouring lanes, neighbouring addresses", coalesced},
    {20, "cost: the same on a fixed grid", coalesced_grid},
    {4, "waves: threads come as warps, blocks are limited", warps},
    {4, "waves: registers", registers},
    {4, "waves: shared memory", shared_memory},
    {4, "waves: the last one may be partly filled", whole_and_partial_waves},
    {4, "waves: what fits nowhere, and no blocks", fits_nowhere},
    {0},
};

// ---- diagnosis

// Elements are right or were not written at all.
static bool some_are_missing(const struct suspect* s) {
    for (int64_t i = 0; i < s->tensor->count; i++)
        if (element_is_wrong(s, i) && check_was_written(s->tensor, i)) return false;
    return true;
}

// A thread goes on by whole rows and by columns, and a column that goes beyond the row's end does
// not move it to the next row. A block has 32 threads << variant.
static bool make_uncarried(const struct suspect* s, const struct hypothesis* h, int variant,
                           double* guess) {
    const struct product* p = s->problem;
    const int64_t threads = check_int_of(p->check, "blocks") * ((int64_t)32 << variant);
    (void)h;
    for (int64_t e = 0; e < p->M * p->N; e++) {
        int64_t row = e % threads / p->N + e / threads * (threads / p->N);
        guess[e] = p->C.t->want[row * p->N + e % p->N];
    }
    return threads > 0;
}

static const struct hypothesis of_strides[] = {{CAUSE_sums_moved, make_uncarried, 6, NULL}, {0}};

// Every wrong element is NaN, and the inputs hold NaN.
static bool nan_has_leaked(const struct suspect* s) {
    bool wanted = false;
    for (int64_t i = 0; i < s->tensor->count; i++) {
        const bool made = isnan(s->tensor->got[i]) && check_was_written(s->tensor, i);
        if (element_is_wrong(s, i) && !made) return false;
        wanted |= isnan(s->tensor->want[i]);
    }
    return wanted;
}

static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) {
    const struct product* p = check_description(c);
    if (p == NULL) return CAUSE_NONE;
    if (p->M * p->N < 3) return CAUSE_NONE;  // a few sums are like many a mistake's by chance
    const struct suspect s = {.tensor = t, .budget = budget, .problem = p};
    if (p->K == 0) return explain_no_terms(&s);
    enum cause cause = hypothesis_search(&s, packed_mistakes);
    if (!cause && check_int_of(c, "on_a_grid")) cause = hypothesis_search(&s, of_strides);
    if (cause) return cause;
    if (check_int_of(c, "on_a_grid")) {
        if (some_are_missing(&s)) return CAUSE_stride_loop;
    } else if ((cause = explain_cut(&s))) {
        return cause;
    }
    return nan_has_leaked(&s) ? CAUSE_nan_leak : explain_counted(&s);
}

const struct lesson lesson = {.name = "04_matmul_coalesced",
                              .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
                              .items = items,
                              .without_exp = true,
                              .idea = {.what = "neighbouring lanes read and write neighbouring "
                                               "elements",
                                       .paid_by = {coalesced, coalesced_grid},
                                       .naive = "solutions/04_matmul_coalesced/steps/1_naive.cu"},
                              .explain = explain};
