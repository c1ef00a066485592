// check.c: what lesson 02, transpose, is graded on.
//
// Each item sets one trap. Elements are whole numbers that even a half can hold, except where
// numbers are the trap, and arrive unchanged, so the budget is exact equality. Sizes that are no
// item's trap are whole tiles of any usual size. The first case of every item has more rows than
// columns and several tiles: so a mistake looks the same in every item.
#include "check/arguments.h"
#include "check/check.h"
#include "check/reach.h"
#include "mistakes.h"
#include "transpose.h"
#include "wall/arena.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 256, COLS = 128 };  // whole tiles of 8 to 128

// ---- cases

static void declare(struct check* c, void* matrices) {
    struct matrices* m = matrices;
    check_describe(c, m);
    check_int(c, "rows", m->rows);
    check_int(c, "cols", m->cols);
    m->out = check_output(c, "out", F32, SHAPE(m->cols, m->rows));
    m->in = check_input(c, "in", F32, SHAPE(m->rows, m->cols));
}

// m has to live as long as the case.
static void begin(struct check* c, struct matrices* m, int rounds) {
    check_case(c, "rows = %lld, cols = %lld", (long long)m->rows, (long long)m->cols);
    check_rounds(c, rounds);
    declare(c, m);
}

static void fill(struct check* c, struct matrices m) {
    fill_integers(c, m.in, -1000, 1000);
}

// out[c][r] = in[r][c]                     (README eq. 1)
static void compare(struct check* c, struct matrices m) {
    for (int64_t col = 0; col < m.cols; col++)
        for (int64_t row = 0; row < m.rows; row++)
            m.out->want[col * m.rows + row] = m.in->value[row * m.cols + col];
    check_compare(c, m.out, budget_exact());
}

static void turn(struct check* c, int64_t rows, int64_t cols) {
    struct matrices m = {.rows = rows, .cols = cols};
    begin(c, &m, 1);
    fill(c, m);
    check_run(c);
    compare(c, m);
}

// ---- items: right answers

// The last case has more tiles of 64 than any GPU has multiprocessors. A square is a case of its
// own for those who treat its diagonal.
static void whole_tiles(struct check* c) {
    turn(c, ROWS, COLS);
    turn(c, ROWS, ROWS);
    turn(c, COLS, 128 * check_pick(c, 2, 4));
    turn(c, 1024, 640);
}

// A NaN with bits of its own.
static double marked_nan(uint32_t bits) {
    return dtype_load(F32, &bits);
}

static bool same_bits(double a, double b) {
    float f[2];
    dtype_store(F32, &f[0], a);
    dtype_store(F32, &f[1], b);
    return memcmp(&f[0], &f[1], sizeof f[0]) == 0;
}

// NaN, infinity, numbers at both ends of the range, and ordinary ones that need all 24 bits. The
// last NaN is a signalling one: whoever computes with it, be it times 1, makes another one of it. A
// GPU does that with every NaN.
static void any_number_in(struct check* c, int64_t rows, int64_t cols) {
    const double special[] = {NAN,
                              INFINITY,
                              -INFINITY,
                              FLT_MAX,
                              -FLT_MAX,
                              0x1p60,
                              FLT_MIN,
                              0x1p-149,
                              -0.0,
                              1 + FLT_EPSILON,
                              marked_nan(0xffc12345),
                              marked_nan(0x7f812345)};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    struct matrices m = {.rows = rows, .cols = cols};
    begin(c, &m, 1);
    fill_normal(c, m.in, 0.0, 1.0);
    for (int i = 0; i < 20 * SPECIAL; i++)
        m.in->value[check_pick(c, 0, m.in->count - 1)] = special[i % SPECIAL];
    check_run(c);
    compare(c, m);
    for (int64_t i = 0; i < m.out->count; i++)
        if (!same_bits(m.out->got[i], m.out->want[i]))
            check_fail(c, CAUSE_not_moved, "out[%lld, %lld] is %g, expected %g%s",
                       (long long)(i / m.rows), (long long)(i % m.rows), m.out->got[i],
                       m.out->want[i], isnan(m.out->want[i]) ? " with other bits" : "");
}

// In whole tiles; then in a matrix of nothing but the last tile of each direction.
static void any_number(struct check* c) {
    any_number_in(c, ROWS, COLS);
    any_number_in(c, 32 - check_pick(c, 1, 7), 32 - check_pick(c, 1, 7));
}

static void three_calls(struct check* c) {
    enum { CALLS = 3 };
    struct matrices m = {.rows = ROWS, .cols = COLS};
    begin(c, &m, CALLS);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        fill(c, m);
    }
    check_run(c);
    for (int call = 0; call < CALLS; call++) {
        check_round(c, call);
        compare(c, m);
    }
}

// The numbers of the first call, on another GPU, fill a part of the arrays.
static void other_sizes(struct check* c) {
    struct matrices small = {.rows = COLS, .cols = COLS / 2}, m = {.rows = 2 * ROWS, .cols = COLS};
    struct matrices* const calls[] = {&small, &m};
    begin(c, &m, 2);
    check_begin_on(c, NULL);
    small.out = m.out, small.in = m.in;
    check_vary(c, "rows", 0, small.rows);
    check_vary(c, "cols", 0, small.cols);
    for (int64_t i = small.rows * small.cols; i < m.out->count; i++) m.out->untouched[i] = true;
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        fill(c, m);
    }
    check_run(c);
    for (int call = 0; call < 2; call++) {
        check_round(c, call);
        check_describe(c, calls[call]);
        compare(c, *calls[call]);
    }
}

static void calls(struct check* c) {
    three_calls(c);
    other_sizes(c);
}

static void arguments(struct check* c) {
    static const struct idle_call calls[] = {
        {COURSE_OK, {{"rows", 0}}},
        {COURSE_OK, {{"cols", 0}, {"out", 0}}},
        {COURSE_OK, {{"rows", 0}, {"out", 0}, {"in", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}}},
        {COURSE_BAD_ARGUMENT, {{"cols", -1}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}, {"cols", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", -1}, {"out", 0}, {"in", 0}}},
        {COURSE_BAD_ARGUMENT, {{"rows", 0}, {"cols", -1}}},
        {COURSE_BAD_ARGUMENT, {{"out", 0}}},
        {COURSE_BAD_ARGUMENT, {{"in", 0}}},
        {0},
    };
    struct matrices m = {.rows = ROWS, .cols = COLS};
    check_ordinary(c);
    turn(c, ROWS, COLS);
    check_idle_calls(c, calls, declare, &m);
    check_launches_fail(c, declare, &m);
}

// ---- items: hard shapes

// A vector: what is first is last, whichever way it lies.
static void run_vector(struct check* c, struct matrices* m) {
    begin(c, m, 1);
    for (int64_t e = 0; e < m->in->count; e++)
        m->out->want[e] = m->in->value[e] = (double)(e % 1021);
    check_run_few_blocks(c);
    check_run(c);
}

// The end of a transposed matrix: its last rows, or its last columns, are shown.
static bool reached(struct check* c, int64_t rows, int64_t cols) {
    const int64_t shown = check_shown(rows > cols ? rows : cols);
    struct matrices m = {.rows = rows < shown ? rows : shown, .cols = cols < shown ? cols : shown};
    check_case(c, "the last of rows = %lld, cols = %lld", (long long)rows, (long long)cols);
    check_int(c, "rows", rows);
    check_int(c, "cols", cols);
    m.out = check_output(c, "out", F32, SHAPE(m.cols, m.rows));
    m.in = check_input(c, "in", F32, SHAPE(m.rows, m.cols));
    if (m.rows < rows) check_ends(c, m.in, 1, rows * cols), check_ends(c, m.out, cols, rows);
    if (m.cols < cols) check_ends(c, m.in, rows, cols), check_ends(c, m.out, 1, rows * cols);
    for (int64_t e = 0; e < m.in->count; e++) {
        m.in->value[e] = (double)(e % 1021 + 1);
        m.out->want[e % m.cols * m.rows + e / m.cols] = m.in->value[e];
    }
    check_run_few_blocks(c);
    check_run(c);
    return check_end_is_right(m.out);
}

// So many columns, or rows, that a matrix has more than 2^32 elements.
enum { FEW = 5 };

static bool last_row_reached(struct check* c, const void* unused, int64_t rows) {
    (void)unused;
    return reached(c, rows, FEW);
}

static bool last_column_reached(struct check* c, const void* unused, int64_t cols) {
    (void)unused;
    return reached(c, FEW, cols);
}

// Rows of eight elements: so many that their number is 2^32, or 2^31. For check_is_launched().
static bool eights_reached(struct check* c, const void* unused, int64_t rows) {
    (void)unused;
    return reached(c, rows, 8);
}

// One column, or one row, for which a launcher may have a kernel of its own.
static bool column_reached(struct check* c, const void* unused, int64_t rows) {
    (void)unused;
    return reached(c, rows, 1);
}

static bool row_reached(struct check* c, const void* unused, int64_t cols) {
    (void)unused;
    return reached(c, 1, cols);
}

// More tiles of 64 than a fixed grid has blocks: they take one after another.
enum { MANY_TILES = 64 * (REACH_WHOLE + 4) };

// 2 to 31 beyond whole tiles of 32, 64 and 128; 2 to 7 beyond those of 8. A single row, or column,
// may be what a tile leaves over, or the last one that a bound forgets.
static int64_t ragged(struct check* c, int64_t whole) {
    int64_t pick = check_pick(c, 0, 23);
    return whole + 8 * (pick / 6) + 2 + pick % 6;
}

static void any_rows(struct check* c) {
    turn(c, ragged(c, ROWS), COLS);
    static const int64_t hard[] = {129, 33, 1};
    for (int i = 0; i < 3; i++) turn(c, hard[i], COLS);
    check_reaches(c, ((int64_t)1 << 30) + 4096 + check_pick(c, 8, 40), last_row_reached, NULL);
    check_reaches_limit(c, INT32_MAX - check_pick(c, 0, 6), last_row_reached, NULL);
}

static void any_cols(struct check* c) {
    turn(c, 384, ragged(c, COLS));
    static const int64_t hard[] = {33, 15, 1};
    for (int i = 0; i < 3; i++) turn(c, ROWS, hard[i]);
    check_reaches(c, ((int64_t)1 << 30) + 4096 + check_pick(c, 8, 40), last_column_reached, NULL);
    check_reaches_limit(c, INT32_MAX - check_pick(c, 0, 6), last_column_reached, NULL);
}

static void any_both(struct check* c) {
    turn(c, ragged(c, ROWS), ragged(c, COLS));
    static const int64_t hard[][2] = {{33, 65}, {113, 203}, {4321, 1},  {1, 4321}, {1, 1},
                                      {34, 70}, {68, 36},   {31, 1025}, {63, 32},  {1023, 31}};
    for (int i = 0; i < 10; i++) turn(c, hard[i][0], hard[i][1]);
    check_is_launched(c, 1 << 29, 1 << 20, eights_reached, NULL);
    check_is_launched(c, 1 << 28, 1 << 20, eights_reached, NULL);
    // More than 65535 blocks of 1024 threads, which is what a capped grid has.
    check_reaches(c, 65535 * 1024 + check_pick(c, 8, 40), column_reached, NULL);
    check_reaches(c, 65535 * 1024 + check_pick(c, 8, 40), row_reached, NULL);
}

// ---- item: memory safety

// in, then out, begins at the second or fourth of four floats; then at the third, where a float2
// may begin, and no float4. At last the same of a column and of a row, which may just be copied.
static void misaligned(struct check* c) {
    static const int64_t sizes[][2] = {{ROWS, COLS}, {ROWS, COLS}, {ROWS, 1}, {1, COLS}};
    for (int i = 0; i < 8; i++) {
        struct matrices m = {.rows = sizes[i / 2][0], .cols = sizes[i / 2][1]};
        int64_t later = i / 2 != 1 ? 2 * check_pick(c, 0, 1) + 1 : 2;
        check_case(c, "rows = %lld, cols = %lld, %s begins %d floats later", (long long)m.rows,
                   (long long)m.cols, i % 2 ? "out" : "in", (int)later);
        declare(c, &m);
        check_begin_later(i % 2 ? m.out : m.in, later);
        fill(c, m);
        check_run(c);
        compare(c, m);
    }
}

// The answers come first: who gets them wrong should hear of that.
static void safe(struct check* c) {
    int64_t rows = ragged(c, ROWS), cols = ragged(c, COLS);
    turn(c, rows, cols);
    check_watch(c, WATCH_CHECK);
    turn(c, rows, cols);
    // So few columns, or rows, that a launcher may have a kernel of its own for them.
    turn(c, ROWS, 16);
    turn(c, 16, ROWS);
    misaligned(c);
    struct matrices m = {.rows = MANY_TILES, .cols = 1};
    run_vector(c, &m);
    // More tiles of 32 than a grid has blocks in y: some take another one.
    (void)column_reached(c, NULL, 65535 * 32 + check_pick(c, 40, 80));
}

// ---- items: cost. Memory moves sectors of 32 bytes. Whole tiles, and rows that begin at a
// multiple of 256 bytes, so that a tile of any shape needs no extra sector. A quarter more is
// allowed, for a tile that begins in the middle of a sector.

static const double SECTOR = 32.0;  // bytes
static const double SPARE = 1.25;

// What was counted, and the bytes of `in` that were moved to `out`.
struct cost {
    const struct arena_traffic* t;
    double bytes;
};

static struct cost cost_of(struct check* c, int64_t rows, int64_t cols) {
    check_watch(c, WATCH_PROFILE);
    turn(c, rows, cols);
    return (struct cost){check_traffic(c), (double)(rows * cols) * sizeof(float)};
}

static struct cost cost_of_one(struct check* c) {
    int64_t cols = 64 * check_pick(c, 1, 3);
    return cost_of(c, 128 * check_pick(c, 2, 3), cols);
}

// Of a drawn block only what it has stored is looked at, and what that needs. So many elements, or
// 0 if one of them is wrong.
static int64_t stored_right(struct matrices m) {
    int64_t stored = 0;
    for (int64_t e = 0; e < m.out->count; e++) {
        const int64_t from = e % m.rows * m.cols + e / m.rows;
        m.out->want[e] = m.in->value[from];
        m.out->untouched[e] = m.in->untouched[from] = !check_was_written(m.out, e);
        if (m.out->untouched[e]) continue;
        if (m.out->got[e] != m.out->want[e]) return 0;
        stored++;
    }
    return stored;
}

// A matrix larger than those of the other cases, along one side or along both, of which one drawn
// block is looked at. All blocks run if that one stores nothing.
static struct cost cost_of_a_block(struct check* c) {
    const bool is_long = check_pick(c, 0, 1), is_wide = check_pick(c, 0, 1);
    const int64_t one = 64 * (is_long ? check_pick(c, 17, 20) : check_pick(c, 9, 10));
    const int64_t other = 64 * (is_long ? check_pick(c, 3, 5) : 9);
    struct matrices m = {.rows = is_wide ? other : one, .cols = is_wide ? one : other};
    check_watch(c, WATCH_PROFILE);
    check_case(c, "rows = %lld, cols = %lld, one block of its grid", (long long)m.rows,
               (long long)m.cols);
    declare(c, &m);
    fill(c, m);
    const int64_t stored = check_run_one_block(c) ? stored_right(m) : 0;
    if (stored == 0) return cost_of(c, m.rows, m.cols);
    check_compare(c, m.out, budget_exact());
    return (struct cost){check_traffic(c), (double)stored * sizeof(float)};
}

static double per(int64_t a, int64_t b) {
    return b > 0 ? (double)a / (double)b : 0.0;
}

// Bytes moved for each byte used. What is moved in vain counts for each byte that is to be moved,
// too: else useless loads side by side would make up for it.
static double waste(struct cost of, int64_t sectors, int64_t excess, int64_t bytes) {
    return fmax(per(sectors, bytes) * SECTOR, 1 + (double)excess * SECTOR / of.bytes);
}

static double per_request(int64_t conflicts, int64_t requests, double needed) {
    return requests > 0 ? (double)conflicts / fmin((double)requests, needed) : 0;
}

static void judge_sectors(struct check* c, struct cost of, const char* verb, int64_t sectors,
                          int64_t excess, int64_t requests, int64_t bytes, double most) {
    char what[120];
    snprintf(what, sizeof what, "bytes moved per byte %s (%.1f sectors of 32 bytes a request)",
             verb, per(sectors, requests));
    check_at_most(c, CAUSE_uncoalesced, what, waste(of, sectors, excess, bytes), most);
}

// Both together: a kernel without a tile has one of them for nothing.
static void judge_both(struct check* c, struct cost of, double most) {
    const struct arena_traffic* t = of.t;
    judge_sectors(c, of, "loaded", t->global_load_sectors, t->global_load_excess_sectors,
                  t->global_load_requests, t->global_load_bytes, most);
    judge_sectors(c, of, "stored", t->global_store_sectors, t->global_store_excess_sectors,
                  t->global_store_requests, t->global_store_bytes, most);
}

// The tiles at the edge are tiles, too. Rows of whole sectors: they cost no more than whole tiles.
// Odd rows begin anywhere: 8 floats side by side may lie in two sectors, without a tile 32 lie in
// 32. So few columns, or rows, that a launcher may have a kernel of its own are tiles, too; so is a
// square that begins anywhere, which costs what odd rows do. A large matrix costs no more.
static void coalesced(struct check* c) {
    const int64_t few = 16 * check_pick(c, 1, 2);
    judge_both(c, cost_of_one(c), SPARE);
    judge_both(c, cost_of(c, 512, few), SPARE);
    judge_both(c, cost_of(c, few, 512), SPARE);
    int64_t rows = 256 + 8 * check_pick(c, 1, 3), cols = 128 + 8 * check_pick(c, 1, 3);
    judge_both(c, cost_of(c, rows, cols), SPARE);
    judge_both(c, cost_of(c, rows + 1, cols + 1), 3);
    struct matrices m = {.rows = COLS, .cols = COLS};
    check_case(c, "rows = %d, cols = %d, both begin 1 float later", COLS, COLS);
    declare(c, &m);
    check_begin_later(m.in, 1);
    check_begin_later(m.out, 1);
    fill(c, m);
    check_run(c);
    compare(c, m);
    judge_both(c, (struct cost){check_traffic(c), COLS * COLS * sizeof(float)}, 3);
    judge_both(c, cost_of_a_block(c), SPARE);
}

// Padding or swizzling avoids every conflict, whatever the size of the tile. A kernel without a
// tile has no conflicts, nor has one that stores what it has just put into its tile; they earn
// nothing for that: loads and stores have to be coalesced somewhat, by a tile or by shuffles.
static void judge_conflicts(struct check* c, struct cost of) {
    const struct arena_traffic* t = of.t;
    check_at_most(
        c, CAUSE_uncoalesced, "bytes moved per byte used",
        fmax(waste(of, t->global_load_sectors, t->global_load_excess_sectors, t->global_load_bytes),
             waste(of, t->global_store_sectors, t->global_store_excess_sectors,
                   t->global_store_bytes)),
        4);
    // twice the requests in which warps store and load each element once: more could hide conflicts
    double needed = 2 * of.bytes / (32 * sizeof(float));
    check_at_most(c, CAUSE_bank_conflicts, "bank conflicts per load request to shared memory",
                  per_request(t->shared_load_conflicts, t->shared_load_requests, needed), 0.1);
    check_at_most(c, CAUSE_bank_conflicts, "bank conflicts per store request to shared memory",
                  per_request(t->shared_store_conflicts, t->shared_store_requests, needed), 0.1);
    // Lanes that go one after another meet no conflict, and are no faster. A tile that is loaded
    // eight times over is another item's.
    check_at_most(c, CAUSE_idle_lanes, "requests to shared memory, for each that whole warps need",
                  (double)(t->shared_load_requests + t->shared_store_requests) / needed, 6);
}

// Of odd sizes, too, for which a launcher may have another kernel, and of a large matrix.
static void conflicts(struct check* c) {
    judge_conflicts(c, cost_of_one(c));
    judge_conflicts(c, cost_of(c, COLS - 2 * check_pick(c, 1, 3) - 1, COLS - 1));
    judge_conflicts(c, cost_of_a_block(c));
}

// A tenth more than once: room for a table or a counter, none for a second look at a tile. What
// cudaMemcpy and cudaMemset move is moved.
static void judge_once(struct check* c, struct cost of) {
    const struct arena_traffic* t = of.t;
    const int64_t bytes = (int64_t)of.bytes;
    check_at_most(c, CAUSE_too_much_read, "bytes loaded per byte of in",
                  per(t->global_load_bytes + t->copied_bytes, bytes), 1.1);
    check_at_most(c, CAUSE_too_much_written, "bytes stored per byte of out",
                  per(t->global_store_bytes + t->copied_bytes + t->filled_bytes, bytes), 1.1);
}

// Behind the end of a row stands the next one, which belongs to another tile.
static void once(struct check* c) {
    judge_once(c, cost_of_one(c));
    judge_once(c, cost_of(c, ragged(c, ROWS), ragged(c, COLS)));
}

static const struct item items[] = {
    {9, "whole tiles, tall and wide", whole_tiles},
    {4, "every number arrives as it is", any_number},
    {5, "three calls, new data each time", calls},
    {4, "empty and bad arguments", arguments},
    {7, "any number of rows", any_rows},
    {7, "any number of columns", any_cols},
    {6, "any of both; one row, one column", any_both},
    {13, "memory safety: no race, nothing out of bounds", safe},
    {28, "cost: global loads and stores are coalesced", coalesced},
    {12, "cost: no bank conflicts", conflicts},
    {5, "cost: every element moves once", once},
    {0},
};

const struct lesson lesson = {
    .name = "02_transpose",
    .items = items,
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .without_exp = true,
    .idea = {.what = "a tile in shared memory, so that loads and stores are both coalesced",
             .paid_by = {coalesced, conflicts},
             .naive = "solutions/02_transpose/steps/1_naive.cu"},
    .explain = explain,
};
