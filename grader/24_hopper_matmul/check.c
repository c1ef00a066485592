// check.c: what lesson 24, hopper_matmul, is graded on.
//
// Each item sets one trap. Sizes that are no item's trap are whole tiles of any usual size. Strides
// are always multiples of 8 elements, since TMA takes no others: a matrix of 33 columns has 40.
// "any K" alone has a K that is no multiple of 16, "any M and N" alone a last tile of less than
// half, and A or B alone is transposed in "A and B stored transposed" alone.
#include "check/check.h"
#include "check/arguments.h"
#include "cpu/cards/cards.h"
#include "hopper_matmul.h"
#include "matmul/cases.h"
#include "matmul/drawn.h"
#include "mistakes.h"
#include "wall/arena.h"

// Elements: whole tiles for blocks of up to 128 x 256, and 64 along K. TMA_UNIT: what strides are
// multiples of.
enum { WHOLE_M = 128, WHOLE_N = 256, WHOLE_K = 64, TMA_UNIT = 8 };

// Numbers of -2 .. 2: with K below 400, 256 is seven standard deviations of a sum away, so that
// bf16 holds the sums, too.
static const struct matmul contract = {
    .dtype = BF16,
    .strides = true,
    .transposes = true,
    .align = TMA_UNIT,
    .max_size = HOPPER_MATMUL_MAX_SIZE,
    .sizes_first = true,
    .whole_M = WHOLE_M,
    .whole_N = WHOLE_N,
    .whole_K = WHOLE_K,
    .largest = 2,
    .smallest_tile = 8,
};

// All numbers 1, where only their number counts: no sum of a few hundred terms is rounded.
static const struct matmul of_ones = {
    .dtype = BF16,
    .strides = true,
    .transposes = true,
    .align = TMA_UNIT,
    .max_size = HOPPER_MATMUL_MAX_SIZE,
    .whole_M = WHOLE_M,
    .whole_N = WHOLE_N,
    .whole_K = WHOLE_K,
    .largest = 1,
    .smallest_tile = 8,
};

static void sizes(struct check* c, int64_t M, int64_t N, int64_t K) {
    multiply(c, &contract, M, N, K);
}

// The product that has begun, with NaN around A and B.
static void run_surrounded(struct product* p) {
    product_declare(p);
    product_fill(p, -contract.largest, contract.largest);
    product_surround(p);
    check_run(p->check);
    product_compare(p);
}

static struct product begin_where(struct check* c, int64_t M, int64_t N, int64_t K, int layout,
                                  const char* where) {
    struct product p = product_of(c, &contract, M, N, K);
    p.transpose_A = layout & 1;
    p.transpose_B = layout & 2;
    check_case(c, "M = %lld, N = %lld, K = %lld%s%s%s", (long long)M, (long long)N, (long long)K,
               p.transpose_A ? ", A is (K, M)" : "", p.transpose_B ? ", B is (N, K)" : "", where);
    return p;
}

static struct product begin(struct check* c, int64_t M, int64_t N, int64_t K, int layout) {
    return begin_where(c, M, N, K, layout, "");
}

static void laid_out(struct check* c, int64_t M, int64_t N, int64_t K, int layout) {
    struct product p = begin(c, M, N, K, layout);
    run_surrounded(&p);
}

// On a card of 16 multiprocessors few tiles are many.
enum { FEW = 16 };
static void on_a_small_card(struct check* c, int64_t M, int64_t N, int64_t K, int layout) {
    struct product p = begin_where(c, M, N, K, layout, ", on a card of 16 multiprocessors");
    check_pose_as(c, "h100-1g");
    run_surrounded(&p);
}

// One row of tiles more than multiprocessors, and a tile in each: the last one may be made by
// another kernel, of smaller tiles. B's rows begin at multiples of 128 bytes: where they do not, a
// launcher may have one kernel for all.
static void one_row_too_many(struct check* c, int layout) {
    const int64_t M = FEW * WHOLE_M + check_pick(c, 1, 127), N = check_pick(c, 249, 255);
    struct product p = begin_where(c, M, N, 64, layout, ", on a card of 16 multiprocessors");
    check_pose_as(c, "h100-1g");
    p.C_part.gap = p.A_part.gap = 8 * check_pick(c, 1, 9);
    p.B_part.gap = 64 * check_pick(c, 0, 1);
    run_surrounded(&p);
}

// ---- items

// More tiles down than across, and the other way round; as many as a group of 2, 4, 8 or 16 has,
// and one more, so that the last group is whole or has few. Then more tiles than the card has
// multiprocessors: blocks that stay take a second one. Wide tiles and pairs of blocks may be made
// for such sizes alone: as many tiles of 256 columns as there are multiprocessors, twice as many;
// rows that begin anywhere, and two rows of tiles.
static void many_blocks(struct check* c) {
    enum { MULTIPROCESSORS = 132, WIDE = 256 };
    sizes(c, 2 * WHOLE_M, WHOLE_N, WHOLE_K);
    sizes(c, WHOLE_M, 2 * WHOLE_N, WHOLE_K);
    sizes(c, 16 * WHOLE_M, 2 * WHOLE_N, 16);
    sizes(c, 17 * WHOLE_M, 2 * WHOLE_N, 16);
    sizes(c, 8, (MULTIPROCESSORS + check_pick(c, 3, 9)) * WIDE, 16);
    on_a_small_card(c, 8, check_pick(c, FEW - 1, FEW) * WIDE, WHOLE_K, 0);
    on_a_small_card(c, 8, check_pick(c, 2 * FEW - 1, 2 * FEW) * WIDE, WHOLE_K, 0);
    on_a_small_card(c, check_pick(c, 129, 200), 3 * FEW / 2 * 192 + 8, WHOLE_K, 0);
    // Pairs of rows of tiles, more than a group of 16 has. Rows behind M have columns behind the
    // last whole 8, too: watched, that shows.
    check_watch(c, WATCH_CHECK);
    on_a_small_card(c, 32 * WHOLE_M + check_pick(c, 1, 120), 8 + check_pick(c, 1, 7), 16, 0);
}

// One tile along K, and more than a kernel has stages: twice through the ring, and once more.
static void many_tiles(struct check* c) {
    multiply_whole(c, &contract);
    sizes(c, WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 9, 11));
    sizes(c, WHOLE_M, WHOLE_N, WHOLE_K * check_pick(c, 4, 5));
    multiply_long(c, &of_ones, 8, 8, 32768 + WHOLE_K * check_pick(c, 1, 3));
}

static void transposed(struct check* c) {
    for (int layout = 1; layout < 4; layout++) {
        laid_out(c, WHOLE_M, WHOLE_N, 2 * WHOLE_K, layout);
        laid_out(c, 2 * WHOLE_M, 2 * WHOLE_N, WHOLE_K, layout);
    }
    for (int layout = 0; layout < 4; layout++)
        laid_out(c, check_pick(c, 66, 127), check_pick(c, 130, 255), 16 * check_pick(c, 5, 7),
                 layout);
    for (int layout = 1; layout < 4; layout++)  // pairs of blocks
        on_a_small_card(c, check_pick(c, 129, 200), 9 * WHOLE_M + 8 * check_pick(c, 1, 7),
                        layout == 3 ? WHOLE_K + 8 : 16, layout);
    // For many tiles a launcher may have kernels with wider ones, for each layout: the fewest of
    // 256 columns, and of 192, that are one wave where narrower ones are two.
    on_a_small_card(c, 8, 13 * 256, WHOLE_K, 1);
    on_a_small_card(c, 8, 13 * 256, WHOLE_K, 2);
    on_a_small_card(c, 8, 11 * 192, WHOLE_K, 3);
}

static void inner_ragged(struct check* c) {
    static const int64_t hard[] = {1, 15, 33, 40, 72};
    for (int i = 0; i < 5; i++) laid_out(c, WHOLE_M, WHOLE_N, hard[i], 0);
    laid_out(c, WHOLE_M, WHOLE_N, 64 + check_pick(c, 1, 63), 3 * (int)check_pick(c, 0, 1));
}

static void outer_ragged(struct check* c) {
    static const int64_t hard[][2] = {{129, 64}, {15, 17}, {1, 1}, {40, 1}, {1, 40}, {257, 40}};
    for (int i = 0; i < 6; i++) laid_out(c, hard[i][0], hard[i][1], WHOLE_K, i % 2 * 3);
    // Just behind a tile of 192 or of 256 columns: those behind the last whole 8 belong to one tile
    // alone, whose block may come first. If it comes last, a second one shows watched.
    check_watch(c, WATCH_CHECK);
    for (int i = 0; i < 2; i++) {
        int64_t M = i ? check_pick(c, 130, 255) : 70, N = (i ? 256 : 192) + check_pick(c, 1, 7);
        struct product p = begin(c, M, N, WHOLE_K, 0);
        check_mix_blocks(c);
        run_surrounded(&p);
    }
}

// Columns of wider arrays, each with another stride; then rows that are more than 2^32 elements
// apart.
static void strided(struct check* c) {
    for (int layout = 0; layout < 4; layout += 3) {
        struct product p = begin(c, WHOLE_M, WHOLE_N, WHOLE_K, layout);
        p.C_part = (struct part){.gap = 8 * check_pick(c, 3, 5), .first = 8};
        p.A_part = (struct part){.gap = 8 * check_pick(c, 6, 8), .first = 16};
        p.B_part = (struct part){.gap = 8 * check_pick(c, 9, 11), .first = 24};
        run_surrounded(&p);
    }
    struct product p = begin(c, 100, 200, 80, 0);
    p.C_part.gap = p.A_part.gap = p.B_part.gap = 8;
    run_surrounded(&p);
    for (int layout = 0; layout < 4; layout++) one_row_too_many(c, layout);
    if (!check_can_be_far(c)) return;
    // The last columns may be stored in another way.
    p = product_of(c, &contract, WHOLE_M, WHOLE_N - check_pick(c, 1, 7), WHOLE_K);
    p.far = true;
    check_case(c, "M = %lld, N = %lld, K = %lld; more than 2^32 elements from row to row",
               (long long)p.M, (long long)p.N, (long long)p.K);
    product_declare(&p);
    product_fill(&p, -contract.largest, contract.largest);
    check_run(c);
    product_compare(&p);
}

// Sums of several hundred, which bf16 counts in steps of 2 or 4: rounded once, at the end, to
// nearest. fp16 holds them all: its range is the trap of whole_range().
static void rounded_once(struct check* c) {
    enum { SAME = WHOLE_K, MANY = 65 * WHOLE_K };
    struct product p = begin(c, WHOLE_M, WHOLE_N, WHOLE_K, 0);
    product_declare(&p);
    product_fill(&p, -8, 8);
    check_run(c);
    product_compare(&p);

    // Many tiles along K: a sum that is rounded after some of them is off by a few steps. All tiles
    // hold the same numbers: to take one for another is the trap of many_tiles(). The sum of one is
    // about 400: more than the 8 bits of bf16, also times a power of 2. Their number is odd, or a
    // sum that is rounded halfway would end at the same tie.
    p = begin(c, 16, 64, MANY, 0);
    product_declare(&p);
    product_fill(&p, 1, 4);
    for (int64_t e = 0; e < p.A.t->count; e++)
        p.A.t->value[e] = p.A.t->value[e - e % p.K + e % SAME];
    for (int64_t e = SAME * p.N; e < p.B.t->count; e++)
        p.B.t->value[e] = p.B.t->value[e - SAME * p.N];
    check_run(c);
    product_compare(&p);
}

static void whole_range(struct check* c) {
    multiply_range(c, &contract);
}

// A block that stays takes other columns after those that have a NaN or an infinity: 0 times that
// is no 0.
static void not_in_later_tiles(struct check* c) {
    const int64_t N = (FEW + check_pick(c, 3, 9)) * 256;
    struct product p = begin_where(c, 8, N, 16, 0, ", NaN and infinity in columns of early tiles");
    check_pose_as(c, "h100-1g");
    product_declare(&p);
    product_fill(&p, 1, contract.largest);
    for (int64_t col = check_pick(c, 0, 40); col < 3 * 256; col += 50)
        p.B.t->value[place_in(&p.B, check_pick(c, 0, 15), col)] = col % 100 < 50 ? NAN : INFINITY;
    check_run(c);
    product_compare(&p);
}

// No sum is rounded: K is below 64, or all numbers are 1. First they differ, so that a number of
// another place shows.
static void not_finite(struct check* c) {
    multiply_not_finite(c, &contract, 16 * check_pick(c, 1, 3), 8, false);
    multiply_not_finite(c, &of_ones, 16 * check_pick(c, 5, 7), 8, true);
    multiply_zeros(c, &contract);
    not_in_later_tiles(c);
}

static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    // The second call has the same arrays and sizes, and other strides.
    struct product p = begin(c, WHOLE_M, WHOLE_N, WHOLE_K, 0);
    p.C_part.gap = p.A_part.gap = p.B_part.gap = 8;
    check_rounds(c, CALLS);
    product_declare(&p);
    const struct product packed = product_smaller(&p, 1, WHOLE_M, WHOLE_N, WHOLE_K);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        product_fill(&p, -contract.largest, contract.largest);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        const struct product* of = call == 1 ? &packed : &p;
        check_round(c, call);
        check_describe(c, (void*)of);
        product_compare(of);
    }
    // Calls of other sizes: the smaller one first, then the larger one first.
    for (int small_first = 0; small_first < 2; small_first++) {
        p = begin(c, 2 * WHOLE_M, 2 * WHOLE_N, 2 * WHOLE_K, 0);
        check_rounds(c, 2);
        product_declare(&p);
        struct product small =
            product_smaller(&p, !small_first, WHOLE_M / 2 - 1, WHOLE_N / 2 - 3, WHOLE_K / 2);
        const struct product* calls[2] = {small_first ? &small : &p, small_first ? &p : &small};
        for (int call = 0; call < 2; call++) {
            check_round(c, call);
            product_fill(&p, -contract.largest, contract.largest);
        }
        check_run(c);
        for (int call = 0; call < 2; call++) {
            check_round(c, call);
            check_describe(c, (void*)calls[call]);
            product_compare(calls[call]);
        }
    }
}

static void sizes_of_0(struct check* c) {
    multiply_sizes_of_0(c, &contract);
}

static void declare(struct check* c, void* product) {
    (void)c;
    product_declare(product);
}

static void bad_arguments(struct check* c) {
    const struct idle_call tma[] = {
        {COURSE_BAD_ARGUMENT, {{"transpose_A", 2}}},
        {COURSE_BAD_ARGUMENT, {{"transpose_A", -1}}},
        {COURSE_BAD_ARGUMENT, {{"transpose_B", 2}}},
        {COURSE_BAD_ARGUMENT, {{"transpose_B", -1}, {"M", 0}}},
        {COURSE_UNSUPPORTED, {{"first_C", 4}}},
        {COURSE_UNSUPPORTED, {{"first_A", 4}}},
        {COURSE_UNSUPPORTED, {{"first_B", 1}}},
        {COURSE_UNSUPPORTED, {{"stride_C", WHOLE_N + 4}}},
        {COURSE_UNSUPPORTED, {{"K", 0}, {"first_C", 4}}},
        {COURSE_UNSUPPORTED, {{"K", 0}, {"stride_C", WHOLE_N + 4}}},
        {COURSE_UNSUPPORTED, {{"stride_A", WHOLE_K + 4}}},
        {COURSE_UNSUPPORTED, {{"stride_B", WHOLE_N + 1}}},
        {COURSE_UNSUPPORTED, {{"stride_C", (int64_t)1 << 39}}},
        {COURSE_UNSUPPORTED, {{"stride_A", (int64_t)1 << 39}}},
        {COURSE_UNSUPPORTED, {{"stride_B", (int64_t)1 << 39}}},
        // The largest sizes are none too many: what is refused is a stride.
        {COURSE_BAD_ARGUMENT, {{"M", HOPPER_MATMUL_MAX_SIZE}, {"stride_C", WHOLE_N - 8}}},
        {COURSE_BAD_ARGUMENT, {{"N", HOPPER_MATMUL_MAX_SIZE}}},
        {COURSE_BAD_ARGUMENT, {{"K", HOPPER_MATMUL_MAX_SIZE}}},
        {COURSE_BAD_ARGUMENT, {{"stride_A", WHOLE_M - 8}, {"transpose_A", 1}}},
        {COURSE_BAD_ARGUMENT, {{"stride_B", WHOLE_K - 8}, {"transpose_B", 1}}},
        {0},
    };
    struct product p = product_of(c, &contract, WHOLE_M, WHOLE_N, WHOLE_K);
    multiply_bad_arguments(c, &contract);
    check_idle_calls(c, tma, declare, &p);
    multiply_on_two_devices(c, &contract, "h100", COURSE_OK);
    multiply_on_two_devices(c, &contract, "rtx4090", COURSE_UNSUPPORTED);
    // Of one row strides are no matter, and these are the largest that TMA takes.
    p = begin_where(c, 1, WHOLE_N, 1, 0, ", strides of 2^39 - 8");
    static const char* const strides[] = {"stride_C", "stride_A", "stride_B"};
    for (int i = 0; i < 3; i++) check_replace(c, strides[i], ((int64_t)1 << 39) - TMA_UNIT);
    product_declare(&p);
    product_fill(&p, -contract.largest, contract.largest);
    check_expect(c, COURSE_OK, CAUSE_wrong_status);
    check_run(c);
    // Older than a Hopper GPU, and newer.
    static const char* const others[] = {"rtx4090", "rtx4090", CARD_NEWER};
    for (int i = 0; i < 3; i++) {
        struct product none = product_of(c, &contract, WHOLE_M, WHOLE_N, 0);
        check_case(c, "M = %d, N = %d, K = 0, as %s, which is no Hopper GPU%s", WHOLE_M, WHOLE_N,
                   others[i], i == 1 ? ", C begins 4 elements later" : "");
        check_pose_as(c, others[i]);
        none.C_part.first = i == 1 ? 4 : 0;
        product_declare(&none);
        check_expect(c, COURSE_UNSUPPORTED, CAUSE_argument_check);
        check_run(c);
    }
}

// Tiles past all edges, more tiles than stages, two tiles of C for a block: once the order between
// TMA, wgmma and threads, and stray accesses, everywhere. Where rows begin at multiples of 128
// bytes a kernel may be another one.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    for (int layout = 0; layout < 4; layout += 3)
        laid_out(c, check_pick(c, 66, 127), check_pick(c, 130, 255),
                 4 * WHOLE_K + 16 * check_pick(c, 1, 3), layout);
    laid_out(c, check_pick(c, 66, 127), 192, 8 * WHOLE_K, 0);
    on_a_small_card(c, 8, (FEW + check_pick(c, 3, 9)) * 256, WHOLE_K, 0);
    on_a_small_card(c, 8, (FEW + check_pick(c, 3, 9)) * 256 + 8, 2 * WHOLE_K, 0);
    one_row_too_many(c, 0);
}

// ---- costs, of one call each

// Numbers that have all 8 bits: a sum of up to 256 of their products is exact in float, and more
// terms of both signs stay below as much. In B they are large, and in A from a random row on.
static void fill_with_digits(const struct product* p) {
    const int64_t large = check_pick(p->check, p->M / 4, 3 * p->M / 4);
    fill_digits(p->check, p->A.t, p->A.t->count, 0x1p-10);
    fill_digits(p->check, p->B.t, p->B.t->count, 0x1p4);
    for (int64_t i = large; i < p->M; i++)
        for (int64_t k = 0; k < p->K; k++) p->A.t->value[place_in(&p->A, i, k)] *= 0x1p14;
}

// Have all these products been made by wgmma?
static const struct arena_traffic* judge_wgmma(struct check* c, const struct product* p,
                                               double products) {
    const struct arena_traffic* t = check_traffic(c);
    check_at_most(c, CAUSE_no_tensor_cores, "part of the products not made by wgmma",
                  1 - (double)t->wgmma_multiplications / products, 0);
    multiplied_as_altered(c, p);
    return t;
}

// A case whose products are all made by wgmma; its traffic.
static const struct arena_traffic* multiplied_by_wgmma(struct check* c, int64_t M, int64_t N,
                                                       int64_t K, int layout) {
    struct product p = begin(c, M, N, K, layout);
    check_watch(c, WATCH_PROFILE);
    product_declare(&p);
    fill_with_digits(&p);
    check_run(c);
    product_compare(&p);
    return judge_wgmma(c, &p, (double)M * (double)N * (double)K);
}

enum { LESS = 7 };

// Of sizes that people multiply: what one block moves, or a pair of blocks.
static const struct arena_traffic* traffic_drawn(struct check* c, const struct matmul* of,
                                                 struct drawn* d, int less) {
    enum { DRAWN_K = 192 };
    *d = drawn_product(c, of, DRAWN_K, less);
    d->p.transpose_A = d->p.transpose_B = check_pick(c, 0, 1);
    drawn_run(d, fill_with_digits);
    return check_traffic(c);
}

// The same with any numbers: who multiplies is another item's.
static const struct arena_traffic* traffic(struct check* c, int64_t M, int64_t N, int64_t K,
                                           int layout) {
    check_watch(c, WATCH_PROFILE);
    laid_out(c, M, N, K, layout);
    return check_traffic(c);
}

// Large matrices; tiles past every edge, stored transposed. Then one matrix alone is, for which a
// launcher has another kernel: with one step along K, and with two tiles. Then few rows.
static void on_tensor_cores(struct check* c) {
    struct drawn d;
    traffic_drawn(c, &contract, &d, LESS);
    judge_wgmma(c, &d.p, d.made);
    multiplied_by_wgmma(c, check_pick(c, 66, 127), 8 * check_pick(c, 3, 7), 40, 3);
    multiplied_by_wgmma(c, 64, 8 * check_pick(c, 3, 7), 16, 1);
    multiplied_by_wgmma(c, 64, 8 * check_pick(c, 3, 7), WHOLE_K + 8, 2);
    multiplied_by_wgmma(c, check_pick(c, 9, 40), 8 * check_pick(c, 17, 30), WHOLE_K, 0);
}

static void judge_tma(struct check* c, const struct arena_traffic* t) {
    check_at_most(c, CAUSE_narrow_access, "part of the loads from global memory not made by TMA",
                  1 - (double)t->tma_load_bytes / (double)t->global_load_bytes, 0.01);
}

// All of A, B and C moves by TMA: but for what a launcher may load besides. So do tiles past every
// edge, stored transposed or not: TMA takes them all.
static void moved_by_tma(struct check* c) {
    struct drawn d;
    judge_tma(c, traffic_drawn(c, &contract, &d, LESS));
    judge_tma(c, multiplied_by_wgmma(c, WHOLE_M, WHOLE_N, 4 * WHOLE_K, 0));
    for (int layout = 0; layout < 4; layout += 3)
        judge_tma(c, traffic(c, WHOLE_M - check_pick(c, 1, 7), WHOLE_N / 2 - check_pick(c, 1, 7),
                             WHOLE_K - check_pick(c, 1, 7), layout));
}

// Tiles of TILE x TILE of C read 2 M N K / TILE elements (README eq. 2). The budget allows 128 x
// 128.
static void judge_read(struct check* c, const struct arena_traffic* t, double products) {
    enum { TILE = 128 };
    check_at_most(c, CAUSE_too_much_read, "elements of A and B loaded for each multiplication",
                  (double)t->global_load_bytes / (2 * products), 2.0 / TILE);
}

// The same of matrices that are stored transposed: of 384 columns, which are whole tiles of 128 and
// of 192.
static void read_once_per_tile(struct check* c) {
    enum { M = 2 * WHOLE_M, FEWER = 384 };
    struct drawn d;
    struct matmul whole = contract;
    whole.whole_N = 3 * WHOLE_N;  // whole tiles of 192 columns, too
    (void)traffic_drawn(c, &whole, &d, 0);
    judge_read(c, judge_wgmma(c, &d.p, d.made), d.whole);
    drawn_stored_once(&d);
    judge_read(c, traffic(c, M, FEWER, WHOLE_K, 3), (double)M * FEWER * WHOLE_K);
    check_stored_once(c, "C");
}

static const struct item items[] = {
    {8, "tiles of C in both directions, more than multiprocessors", many_blocks},
    {8, "many tiles along K: around the ring", many_tiles},
    {6, "A and B stored transposed", transposed},
    {5, "any K: the last tile is partly filled", inner_ragged},
    {5, "any M and N: tiles reach past the edge", outer_ragged},
    {4, "strides", strided},
    {3, "sums are rounded once, at the end", rounded_once},
    {2, "very large and very small numbers", whole_range},
    {3, "NaN and infinity stay in their row and column", not_finite},
    {3, "called again with new data", three_calls},
    {1, "sizes of 0", sizes_of_0},
    {2, "bad arguments are refused", bad_arguments},
    {8, "no races, no stray accesses, order with TMA and wgmma", safe},
    {24, "wgmma makes every product", on_tensor_cores},
    {10, "TMA brings every tile", moved_by_tma},
    {8, "global memory is read once per tile", read_once_per_tile},
    {0},
};

const struct lesson lesson = {
    .name = "24_hopper_matmul",
    .card = "h200",
    .by_wgmma = true,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .without_exp = true,
    .idea = {.what = "TMA brings the tiles, and wgmma makes every product from shared memory",
             .paid_by = {on_tensor_cores, moved_by_tma, read_once_per_tile},
             .naive = "grader/24_hopper_matmul/naive.cu"},
    .explain = explain};
