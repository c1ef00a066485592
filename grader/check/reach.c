// reach.c: see reach.h.
#include "check/reach.h"

#include <math.h>

#include "check/state.h"
#include "course.h"

static void run_blocks(struct check* c, enum arena_blocks few) {
    enum { NONE = INT32_MAX };  // so many launches nobody makes: no kernel runs, and none fails
    if (few == ARENA_FEW && c->all_of_small) few = ARENA_FEW_OF_MANY;
    c->few_blocks = c->all_blocks ? ARENA_ALL : few;
    check_expect(c, COURSE_OK, CAUSE_bad_launch);
    if (c->counting) check_fail_call(c, "launch", NONE);
}

void check_run_few_blocks(struct check* c) {
    run_blocks(c, ARENA_FEW);
}

void check_run_few_of_many(struct check* c) {
    run_blocks(c, ARENA_FEW_OF_MANY);
}

void check_run_last_block(struct check* c) {
    run_blocks(c, ARENA_LAST);
}

bool check_run_one_block(struct check* c) {
    c->one_block = (uint32_t)check_random(c);
    run_blocks(c, ARENA_ONE);
    c->beyond = true;
    check_run(c);
    c->beyond = false;
    return !c->unfinished && !c->crashed;
}

void check_run_all_blocks(struct check* c) {
    run_blocks(c, ARENA_ALL);
}

int64_t check_shown(int64_t size) {
    enum { MOST = 4096 };
    return size < 2 * MOST ? size : MOST;
}

bool check_end_is_right(const struct tensor* t) {
    enum { LAST = 8 };  // fewer than the blocks that run, of which each may have one
    for (int64_t i = t->count > LAST ? t->count - LAST : 0; i < t->count; i++)
        if (!(fabs(t->got[i] - t->want[i]) <= 1e-3 * fabs(t->want[i]))) return false;
    return true;
}

// LARGE: more than the 65535 blocks that a grid has in y. BELOW_32_BITS: a size that every index
// can hold, and many blocks.
enum { LARGE = 65600, BELOW_32_BITS = 1 << 20 };

static bool is_huge(int64_t size) {
    return size / BELOW_32_BITS >= 64;
}

// ---- how many blocks there are

struct grid {
    int64_t blocks, launches, largest;  // of all grids, how many there are, the blocks of one
    int32_t y, z;                       // the most blocks of one in y, in z
};

static struct grid grid_at(struct check* c, reached_fn reached, const void* problem, int64_t size) {
    const enum watch watch = c->watch;
    c->counting = true;
    c->watch = WATCH_NONE;
    (void)reached(c, problem, size);
    c->watch = watch;
    c->counting = false;
    const struct arena_answer* a = &c->answer;
    return (struct grid){a->blocks[0], a->launches[0], a->largest_grid[0], a->grid_y[0],
                         a->grid_z[0]};
}

// The same, and whether there is memory for it: a launcher that writes to all of an array on the
// host needs that of the largest arrays.
static bool has_grid_at(struct check* c, reached_fn reached, const void* problem, int64_t size,
                        struct grid* grid) {
    c->may_fill = true;
    *grid = grid_at(c, reached, problem, size);
    c->may_fill = false;
    return !c->unfinished;
}

// Bytes that the launcher has asked for in memory of the host's, or copied on the device.
static int64_t copied(const struct check* c) {
    const int64_t mapped = c->answer.mapped[0], moved = c->answer.traffic[0].copied_bytes;
    return mapped > moved ? mapped : moved;
}

static bool has_copied(const struct check* c) {
    return copied(c) >= BELOW_32_BITS;
}

// With `large` rows so many launches more than with `small` that each is for a part of them? Those
// are about as large as each other, and the largest does not grow as all blocks do. A few small
// kernels beside the one that has the rows are no reason to ask for less.
static bool are_launched_in_parts(struct grid small, struct grid large) {
    enum { PARTS = 16 };
    if (small.launches < 1 || large.launches < PARTS) return false;
    if (2 * large.launches < 3 * small.launches) return false;
    if (large.blocks / large.launches < large.largest / 4) return false;
    return 3.0 * (double)large.blocks / (double)small.blocks >
           4.0 * (double)large.largest / (double)small.largest;
}

void check_is_launched(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                       const void* problem) {
    if (!check_can_be_huge()) return;
    c->beyond = true;
    const bool launched = grid_at(c, reached, problem, size).launches > 0;
    const bool refused = c->answer.status[0] != COURSE_OK;
    c->beyond = false;
    if (launched || c->unfinished || has_copied(c)) return;
    if (grid_at(c, reached, problem, fewer).launches == 0) return;
    check_fail(c, refused ? CAUSE_wrong_status : CAUSE_wrapped_index,
               "with %lld a kernel is launched, with %lld %s\n", (long long)fewer, (long long)size,
               refused ? "the call is refused" : "none");
}

int64_t check_blocks_at(struct check* c, reached_fn reached, const void* problem, int64_t size) {
    return grid_at(c, reached, problem, size).blocks;
}

int64_t check_largest_grid_at(struct check* c, reached_fn reached, const void* problem,
                              int64_t size) {
    (void)grid_at(c, reached, problem, size);
    return c->answer.largest_grid[0];
}

// The blocks of the kernel that has the rows. Beside it there may be others, of one block, for some
// sizes and not for others.
static int64_t without_single(struct grid g) {
    return g.blocks < g.launches ? 1 : g.blocks - g.launches + 1;
}

// The largest size with fewer than `most` such blocks, which `size` has; 0 if there is none.
static int64_t last_below(struct check* c, reached_fn reached, const void* problem, int64_t most,
                          int64_t size) {
    int64_t low = 0, high = 1;
    while (high < size && without_single(grid_at(c, reached, problem, high)) < most)
        low = high, high *= 2;
    if (high > size) high = size;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        const struct grid g = grid_at(c, reached, problem, middle);
        *(without_single(g) < most ? &low : &high) = middle;
    }
    return low;
}

// ---- the two kinds of grids

enum { MOST_IN_Y = 65535 };  // blocks, and in z

void check_takes(struct check* c, int64_t size, reached_fn reached, const void* problem) {
    const struct grid g = grid_at(c, reached, problem, size);
    if (g.y > MOST_IN_Y || g.z > MOST_IN_Y) (void)reached(c, problem, size);
}

// Blocks in x.
static int64_t across(struct grid g) {
    return g.y < 1 || g.z < 1 ? g.blocks : g.blocks / g.y / g.z;
}

static _Noreturn void fail_beyond(struct check* c, enum cause cause, int64_t right, int64_t size) {
    check_fail(c, cause, "with %lld the last elements are right, with %lld they are not\n",
               (long long)right, (long long)size);
}

// A kernel that crashes here does so for the size, perhaps: a smaller one tells. A kernel that
// needs too much time or memory walks over all of it, and is not judged.
static bool reached_beyond(struct check* c, reached_fn reached, const void* problem, int64_t size) {
    c->beyond = true;
    const bool right = reached(c, problem, size);
    c->beyond = false;
    return c->unfinished || (right && !c->crashed);
}

// The same of a size that every index can hold, with all the time there is. A kernel that is not
// done then has shown nothing: it does not prove that a larger size alone is wrong.
static bool reached_small(struct check* c, reached_fn reached, const void* problem, int64_t size) {
    const double moment = c->moment;
    c->moment = 0;
    const bool right = reached_beyond(c, reached, problem, size) && !c->unfinished;
    c->moment = moment;
    return right;
}

// Blocks that are counted in one dimension, and where they are many are folded into rows of blocks,
// fill up the last such row: the last blocks of all, those that run, have nothing to do. So the
// size is asked for of which the last row is full, if there is one near. That of a few full rows
// has to be right.
static bool is_right_where_full(struct check* c, reached_fn reached, const void* problem,
                                int64_t fewer, int64_t size, struct grid few, struct grid all) {
    const int64_t x = across(all), of_block = fewer / (across(few) > 0 ? across(few) : 1);
    const int64_t row = x * of_block;
    if (of_block < 1 || across(few) * of_block != fewer || row < 1 || row > size / 64) return true;
    if (reached_beyond(c, reached, problem, size / row * row)) return true;
    return !reached_small(c, reached, problem, 2 * row);
}

// Are the rows of blocks folded? Then they become more with the size, and not longer, and only the
// last one has blocks too many.
static bool is_folded(struct check* c, reached_fn reached, const void* problem, int64_t fewer,
                      int64_t size, struct grid few, struct grid all) {
    if (!(few.y == 1 && all.y > 1) && !(few.z == 1 && all.z > 1)) return false;
    const struct grid half = grid_at(c, reached, problem, size / 2);
    const double rows = (double)all.y * all.z / few.y / few.z, times = (double)size / (double)fewer;
    if (2 * (int64_t)all.y * all.z < 3 * (int64_t)half.y * half.z) return false;
    // An estimate: of few rows the last block has fewer.
    return (double)across(all) * (rows - 1) < 1.1 * times * (double)across(few);
}

// With `fewer` the last elements are right, with `size` they are not. As many blocks as a grid has
// in y are no count that has wrapped.
static void fail_unless_folded(struct check* c, reached_fn reached, const void* problem,
                               int64_t fewer, int64_t size, enum cause cause) {
    const struct grid few = grid_at(c, reached, problem, fewer);
    const struct grid all = grid_at(c, reached, problem, size);
    if (is_folded(c, reached, problem, fewer, size, few, all) &&
        is_right_where_full(c, reached, problem, fewer, size, few, all))
        return;
    if ((few.y < MOST_IN_Y && all.y == MOST_IN_Y) || (few.z < MOST_IN_Y && all.z == MOST_IN_Y))
        cause = CAUSE_grid_limit;
    fail_beyond(c, cause, fewer, size);
}

// A grid of so many blocks takes `whole` rows without going on; of twice as many the last are not
// right. With few blocks it is not known whether others would have come to them: all run.
static void judge_capped(struct check* c, reached_fn reached, const void* problem, int64_t blocks,
                         int64_t whole) {
    enum { MANY = 1 << 10 };  // of more blocks no one waits
    c->all_blocks = true;
    bool right = blocks <= MANY && reached_beyond(c, reached, problem, 2 * whole);
    c->all_blocks = false;
    if (!right) fail_beyond(c, CAUSE_grid_limit, whole, 2 * whole);
}

// Kernels of one block beside the one that has the rows are not counted.
static void judge_grid_of(struct check* c, reached_fn reached, const void* problem, struct grid g,
                          int64_t size) {
    enum { FEW = 64, MOST_ROWS = 1024 };  // so few rows have been seen whole; of a block
    const double most_seconds = 1, spent = c->record->spent;
    if (g.blocks < 2) return;
    const int64_t blocks = without_single(g);
    const int64_t below = blocks > 1 ? last_below(c, reached, problem, blocks, size) : 0;
    // Rows of a block, to the nearest: one of fewer blocks may take a row more, or one less.
    const double nearest = below > 0 ? round((double)below / (double)(blocks - 1)) : 1;
    const int64_t of_block = nearest > 1 ? (int64_t)nearest : 1;
    int64_t whole = below > 0 ? below + of_block : blocks;
    if (below > 0 && whole < FEW) return;
    while (whole < FEW) whole *= 2;
    bool right = reached(c, problem, whole);
    if (!right && of_block > 1 && whole % of_block > 0)
        whole -= whole % of_block, right = reached(c, problem, whole);
    // The last block of a second round has the last rows of twice as many. If the contract allows
    // fewer, all blocks run, of a grid that ends where grids have to.
    if (g.y == MOST_IN_Y && right && whole < size && 2 * whole >= size) {
        c->all_blocks = true;
        right = reached_beyond(c, reached, problem, size);
        c->all_blocks = false;
        if (!right) fail_beyond(c, CAUSE_grid_limit, whole, size);
    }
    const int64_t most = below > 0 ? whole : blocks * MOST_ROWS;
    for (; whole <= most && 2 * whole < size; whole *= 2) {
        const bool twice = reached_beyond(c, reached, problem, 2 * whole);
        if (right && !twice) judge_capped(c, reached, problem, g.blocks, whole);
        if (c->record->spent - spent > most_seconds) return;
        right = twice;
    }
}

// Of a size that 32 bits do not count, are the last results wrong, though of `fewer` and some more
// they are right? At several sizes: it is not known how the blocks are counted, and few of them
// run. From 2^30 on a float has multiples of 128 at most: each size is 8 to 63 more than one of
// 512, so that a launcher that counts in float ends before it, and none is more aligned than
// another. Where the grid of one kernel grows with the size, each block has as much to do as one
// of few: what does not end then is wrong, too.
static void judge_huge(struct check* c, reached_fn reached, const void* problem, int64_t size,
                       int64_t fewer, enum cause cause, bool grows) {
    static const int64_t beyond[] = {56, 40 - 512, 24 - 1024, 8 - 3072};  // odd multiples of 8
    int64_t aligned = (size - beyond[0]) / 512 * 512 + size % 8;
    for (int i = 0; i < 4; i++) {
        const int64_t small = fewer + (aligned + beyond[i]) % fewer;
        if (i == 0 && !reached_small(c, reached, problem, small)) return;
        bool right = reached_beyond(c, reached, problem, aligned + beyond[i]);
        if (i == 0 && c->unfinished) {
            // A stride that wraps is so short that nobody waits for the end. Of three quarters it
            // may not wrap, and an index is below 0.
            aligned = aligned / 4 * 3 / 512 * 512 + size % 8;
            right = reached_beyond(c, reached, problem, aligned + beyond[i]);
            if (grows && right && !c->unfinished) (void)reached_beyond(c, reached, problem, size);
            if (grows && c->unfinished && reached_small(c, reached, problem, small))
                check_fail(c, cause, "with %lld the kernel ends, with %lld it does not\n",
                           (long long)small, (long long)size);
        }
        if (grows && i > 0 && c->unfinished) right = false;
        if (right || (i > 0 && !reached_small(c, reached, problem, small))) return;
    }
    fail_unless_folded(c, reached, problem, fewer, size, cause);
}

// Of several launches the blocks of one may walk over all rows, while those of another are more and
// more: only of one kernel it is known that each block has as much to do as one of few.
static void judge_growing(struct check* c, reached_fn reached, const void* problem, struct grid g,
                          int64_t size) {
    // as many as a grid has blocks in y, or fewer; not all of them whole tiles
    static const int64_t smaller[] = {65504, 60001, 50021};
    if (is_huge(size))
        judge_huge(c, reached, problem, size, BELOW_32_BITS, CAUSE_wrapped_index, g.launches == 1),
            size = LARGE;
    if (reached(c, problem, size)) return;
    for (int i = 0; i < 3; i++)
        if (!reached(c, problem, smaller[i])) return;
    if (!reached(c, problem, size))
        fail_unless_folded(c, reached, problem, smaller[0], size, CAUSE_grid_limit);
}

// A launcher that launches anew for every so many rows would need thousands of launches for the
// largest size.
static bool launches_grow(struct check* c, reached_fn reached, const void* problem) {
    enum { FEW = 1 << 12, MANY = 1 << 26 };
    const struct grid few = grid_at(c, reached, problem, FEW);
    const struct grid many = grid_at(c, reached, problem, MANY);
    // The last launch may be a small one, of which all blocks have to run.
    c->all_of_small = many.launches != few.launches;
    return c->all_of_small && are_launched_in_parts(grid_at(c, reached, problem, MANY / 4), many);
}

// A launcher that sends arrays by way of the host's memory would need all of the largest ones
// there. And one that copies an array on the device gets its ends: of so much no more is copied.
// Half as many rows are half as many bytes. If the bytes are as many as before, it is no array.
static bool copies_arrays(struct check* c, reached_fn reached, const void* problem) {
    (void)grid_at(c, reached, problem, BELOW_32_BITS);
    if (!has_copied(c)) return false;
    const int64_t of_all = copied(c);
    (void)grid_at(c, reached, problem, BELOW_32_BITS / 2);
    return copied(c) < of_all / 4 * 3;
}

void check_reaches(struct check* c, int64_t size, reached_fn reached, const void* problem) {
    if (is_huge(size) && (!check_can_be_huge() || copies_arrays(c, reached, problem) ||
                          launches_grow(c, reached, problem)))
        size = LARGE;
    struct grid grid;
    if (!has_grid_at(c, reached, problem, size, &grid))
        size = LARGE, grid = grid_at(c, reached, problem, size);
    const int64_t blocks = grid.blocks, lost = size - (1LL << 32);
    if (lost > 0 && blocks == check_blocks_at(c, reached, problem, lost) &&
        blocks < check_blocks_at(c, reached, problem, BELOW_32_BITS))
        fail_beyond(c, CAUSE_wrapped_index, BELOW_32_BITS, size);
    if (10 * blocks >= 19 * check_blocks_at(c, reached, problem, size / 2))
        judge_growing(c, reached, problem, grid, size);
    else
        judge_grid_of(c, reached, problem, grid, size);
    c->all_of_small = false;
}

void check_reaches_limit(struct check* c, int64_t size, reached_fn reached, const void* problem) {
    enum { BEFORE = 1 << 16 };  // more than any tile has
    if (!check_can_be_huge() || copies_arrays(c, reached, problem)) return;
    const bool grow = launches_grow(c, reached, problem);
    c->all_of_small = false;
    if (grow) return;
    const int64_t before = check_blocks_at(c, reached, problem, size - BEFORE);
    const int64_t blocks = check_blocks_at(c, reached, problem, size);
    if (blocks < before || blocks - before > before)
        check_fail(c, CAUSE_wrapped_index, "with %lld there are %lld blocks, with %lld %lld\n",
                   (long long)(size - BEFORE), (long long)before, (long long)size,
                   (long long)blocks);
}

void check_walks(struct check* c, int64_t size, reached_fn reached, const void* problem) {
    // CPU seconds: a program begins and ends in less, and no kernel counts to 2^32.
    const double moment = 0.03;
    if (!check_can_be_huge()) return;
    c->all_blocks = true;
    const bool small_is_right = reached(c, problem, LARGE);
    c->moment = moment;
    // A kernel that is also done at once with a size that all indexes hold ends early for another
    // reason. And a second time: a moment is short, and one that was just missed is no proof.
    const bool right = reached_beyond(c, reached, problem, size) ||
                       !reached_beyond(c, reached, problem, size / 16) ||
                       reached_beyond(c, reached, problem, size);
    c->all_blocks = false;
    c->moment = 0;
    if (small_is_right && !right)
        check_fail(c, CAUSE_wrapped_index,
                   "with %lld the kernel is done at once, and the last element does not count\n",
                   (long long)size);
}

// Rows and columns of `whole` are twice those of `half`. Are its blocks no more in one direction,
// or as many as a grid has? Then they may walk on, and the last one has none of the last results.
static bool walks_in_one(struct grid half, struct grid whole) {
    if (half.y < 1 || whole.y < 1) return false;  // nothing was launched
    if (whole.y == MOST_IN_Y || whole.z == MOST_IN_Y) return true;
    if ((whole.y > 1 && whole.y == half.y) || (whole.z > 1 && whole.z == half.z)) return true;
    const int64_t half_x = half.blocks / half.y / half.z, x = whole.blocks / whole.y / whole.z;
    return whole.y > half.y && x > 1 && x <= half_x;
}

// The results of `size` are not right, and one of several grids ends, which may go on. Its last
// block has the last rows of a multiple of its blocks, which mostly are a power of two, or as many
// as a grid has in y.
static bool goes_on(struct check* c, reached_fn reached, const void* problem, int64_t size) {
    enum { POWER = 1 << 14 };
    return reached_beyond(c, reached, problem, size / POWER * POWER) ||
           (size > MOST_IN_Y && reached_beyond(c, reached, problem, 2 * MOST_IN_Y));
}

static void judge_ends(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                       const void* problem, enum cause cause, bool both) {
    if (!check_can_be_huge()) return;
    // As aligned as size: where it is not, there may be another kernel.
    const int64_t halved = size / 16 * 8 + size % 8;
    const struct grid half = grid_at(c, reached, problem, halved);
    const int64_t copied_of_half = has_copied(c) ? copied(c) : 0;
    const struct grid whole = grid_at(c, reached, problem, size);
    if (copied_of_half > 0 && copied(c) > copied_of_half / 2 * 3) return;
    if (are_launched_in_parts(half, whole)) return;
    if (both && walks_in_one(half, whole)) return;
    if (whole.blocks < half.blocks) fail_beyond(c, cause, halved, size);
    const bool ends = 10 * whole.blocks < 19 * half.blocks;
    const bool grows = whole.launches == 1 && 10 * whole.blocks >= (both ? 36 : 19) * half.blocks;
    if (ends) {  // one of several grids may have wrapped
        const struct grid few = grid_at(c, reached, problem, fewer);
        if (few.blocks < 1 || whole.blocks / few.blocks < size / fewer / 4) return;
    }
    c->all_of_small = whole.launches != half.launches;  // the last launch may be a small one
    const bool right = reached_beyond(c, reached, problem, size) && !(grows && c->unfinished);
    if (!right && !(ends && cause == CAUSE_grid_limit && goes_on(c, reached, problem, size)))
        judge_huge(c, reached, problem, size, fewer, cause, grows);
    c->all_of_small = false;
}

void check_indexes(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                   const void* problem) {
    judge_ends(c, size, fewer, reached, problem, CAUSE_wrapped_index, false);
}

void check_indexes_of_both(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                           const void* problem) {
    judge_ends(c, size, fewer, reached, problem, CAUSE_wrapped_index, true);
}

void check_most(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                const void* problem) {
    judge_ends(c, size, fewer, reached, problem, CAUSE_grid_limit, false);
}

void check_last_indexes(struct check* c, int64_t size, int64_t fewer, double moment,
                        reached_fn reached, const void* problem) {
    enum { BEFORE = 1 << 12, TIMES = 3 };  // more than any tile has; with other data
    const int64_t before = size - BEFORE;
    if (!check_can_be_huge() || copies_arrays(c, reached, problem)) return;
    c->moment = moment;
    if (!reached_beyond(c, reached, problem, size)) {
        // Of few numbers one may be right by chance; a size not done in time has shown nothing.
        bool right_before = true;
        for (int n = 0; n < TIMES && right_before; n++)
            right_before = reached_beyond(c, reached, problem, before) && !c->unfinished;
        if (right_before && !reached_beyond(c, reached, problem, size))
            fail_beyond(c, CAUSE_wrapped_index, before, size);
        if (!right_before && fewer > 0)
            judge_huge(c, reached, problem, size, fewer, CAUSE_wrapped_index, false);
    }
    c->moment = 0;
}

void check_first_indexes(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                         const void* problem) {
    const double moment = 0.5;  // CPU seconds: for a few tiles. A walk over all takes hours
    if (!check_can_be_huge() || copies_arrays(c, reached, problem)) return;
    c->moment = moment;
    if (!reached_beyond(c, reached, problem, size))
        judge_huge(c, reached, problem, size, fewer, CAUSE_wrapped_index, false);
    c->moment = 0;
}

void check_products(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                    const void* problem) {
    const double moment = 0.5;  // CPU seconds: for few blocks. A walk over all takes hours
    if (!check_can_be_huge()) return;
    c->moment = moment;
    if (!reached_beyond(c, reached, problem, size) && !has_copied(c))
        judge_huge(c, reached, problem, size, fewer, CAUSE_wrapped_index, false);
    c->moment = 0;
}

void check_begins(struct check* c, int64_t size, int64_t fewer, reached_fn reached,
                  const void* problem) {
    if (!check_can_be_huge()) return;
    c->counting = true;
    const bool right = reached_beyond(c, reached, problem, size);
    const int64_t blocks = right ? c->answer.blocks[0] : 0;
    const bool judged = reached_beyond(c, reached, problem, fewer);
    c->counting = false;
    if (!right && judged)
        check_fail(c, CAUSE_wrapped_index,
                   "with %lld a kernel gets a pointer into no array, with %lld none does\n",
                   (long long)size, (long long)fewer);
    // A number below 0 is a large number of blocks.
    if (judged && blocks / (size / fewer) > 2 * c->answer.blocks[0])
        check_fail(c, CAUSE_wrapped_index, "with %lld there are %lld blocks, with %lld %lld\n",
                   (long long)size, (long long)blocks, (long long)fewer,
                   (long long)c->answer.blocks[0]);
}
