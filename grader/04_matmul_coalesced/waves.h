// waves.h: what lesson 04's function of the host is asked, and the mistakes in its answers.
//
// A case asks about many grids at once: on each card that the CPU device knows, and on one that
// does not exist. What a card holds says cpu/cards; the numbers are rules, so a right answer is
// exact. A mistake is the same rules with one of them changed.
#ifndef WAVES_H
#define WAVES_H

#include <math.h>
#include <string.h>

#include "check/check.h"
#include "cpu/cards/cards.h"

struct grid {
    struct known_card card;
    int threads, registers;
    int64_t shared, blocks;  // shared below 0: 2^64 more, as size_t has it
};

struct answer {
    int64_t per, waves;
};

// The grids of a case.
enum { MOST_GRIDS = 6000, FEW_REGISTERS = 1024 };  // of that card
struct grids {
    int count;
    struct grid grid[MOST_GRIDS];
};

// ---- answers, right and wrong

static struct answer right_answer(const struct grid* g) {
    int64_t per = 0;
    if ((uint64_t)g->shared <= g->card.shared_block)
        per = card_blocks(&g->card, g->threads, g->registers, (size_t)g->shared);
    int64_t wave = per * g->card.multiprocessors;
    return (struct answer){per, wave > 0 ? g->blocks / wave + (g->blocks % wave > 0) : -1};
}

// One rule that is another.
enum rule {
    RIGHT_RULES,
    THREADS_COUNTED,  // threads, not warps: of the multiprocessor
    REGISTERS_OF_THREADS,
    ALL_OF_THREADS,
    WARPS_ROUNDED_DOWN,
    NO_BLOCK_LIMIT,
    NO_WARP_LIMIT,
    NO_REGISTER_LIMIT,
    NO_SHARED_LIMIT,
    NO_UNIT,      // a warp's registers are not rounded up
    BLOCK_UNIT,   // a block's are
    NO_PARTS,     // all registers of a multiprocessor are one heap
    EQUAL_PARTS,  // a block's warps are spread over the partitions evenly
    NOT_SPLIT,    // all warps of a block in one partition
    NOTHING_TAKEN,
    TAKEN_ONCE,  // of the multiprocessor, not of each block
    NO_BYTES_UNIT,
    NEITHER,       // nothing taken, and no unit
    TAKEN_BEFORE,  // what is taken counts for the limit of a block; may wrap
    LONG_BLOCKS,
    WIDE_THREADS,
    LARGE_SHARED,
    FEWER_THREADS,  // the most that a block may have fit nowhere
    FEWER_REGISTERS,
    LESS_SHARED,
    NO_WAVES,   // 0 instead of -1
    ONE_WAVE,   // at least
    ONE_BLOCK,  // at least
    ROUNDED_DOWN,
    ONE_MORE,
    ONE_MORE_IF_ANY,
    OF_ONE,  // multiprocessor
    IN_INT,
    IN_UNSIGNED,
    IN_FLOAT,
    IN_DOUBLE,
    ADDED_IN_DOUBLE,
    ADDED_FIRST,  // (blocks + wave - 1) / wave
    SHARED_IN_INT,
    CARD_MULTIPROCESSORS,  // of the first card
    CARD_THREADS,
    CARD_BLOCKS,
    CARD_REGISTERS,
    CARD_SHARED,
    CARD_SHARED_BLOCK,
};

// Registers first: where threads are whole warps, those who count threads round a block up, too.
static const struct {
    enum rule rule;
    enum cause cause;
} wrong_rules[] = {
    {NO_UNIT, CAUSE_register_unit},
    {BLOCK_UNIT, CAUSE_register_unit},
    {NO_PARTS, CAUSE_register_partition},
    {EQUAL_PARTS, CAUSE_register_partition},
    {NOT_SPLIT, CAUSE_register_partition},
    {THREADS_COUNTED, CAUSE_partial_warp},
    {REGISTERS_OF_THREADS, CAUSE_partial_warp},
    {ALL_OF_THREADS, CAUSE_partial_warp},
    {WARPS_ROUNDED_DOWN, CAUSE_partial_warp},
    {NO_BLOCK_LIMIT, CAUSE_limit_missing},
    {NO_WARP_LIMIT, CAUSE_limit_missing},
    {NO_REGISTER_LIMIT, CAUSE_limit_missing},
    {NO_SHARED_LIMIT, CAUSE_limit_missing},
    {NOTHING_TAKEN, CAUSE_shared_unit},
    {TAKEN_ONCE, CAUSE_shared_unit},
    {NO_BYTES_UNIT, CAUSE_shared_unit},
    {NEITHER, CAUSE_shared_unit},
    {TAKEN_BEFORE, CAUSE_shared_unit},
    {LONG_BLOCKS, CAUSE_never_fits},
    {WIDE_THREADS, CAUSE_never_fits},
    {LARGE_SHARED, CAUSE_never_fits},
    {FEWER_THREADS, CAUSE_never_fits},
    {FEWER_REGISTERS, CAUSE_never_fits},
    {LESS_SHARED, CAUSE_never_fits},
    {NO_WAVES, CAUSE_never_fits},
    {ONE_WAVE, CAUSE_never_fits},
    {ONE_BLOCK, CAUSE_never_fits},
    {ROUNDED_DOWN, CAUSE_last_wave},
    {ONE_MORE, CAUSE_last_wave},
    {ONE_MORE_IF_ANY, CAUSE_last_wave},
    {OF_ONE, CAUSE_last_wave},
    {IN_INT, CAUSE_count_wraps},
    {IN_UNSIGNED, CAUSE_count_wraps},
    {IN_FLOAT, CAUSE_count_wraps},
    {IN_DOUBLE, CAUSE_count_wraps},
    {ADDED_IN_DOUBLE, CAUSE_count_wraps},
    {ADDED_FIRST, CAUSE_count_wraps},
    {SHARED_IN_INT, CAUSE_count_wraps},
    {CARD_MULTIPROCESSORS, CAUSE_card_ignored},
    {CARD_THREADS, CAUSE_card_ignored},
    {CARD_BLOCKS, CAUSE_card_ignored},
    {CARD_REGISTERS, CAUSE_card_ignored},
    {CARD_SHARED, CAUSE_card_ignored},
    {CARD_SHARED_BLOCK, CAUSE_card_ignored},
};

static int64_t up(int64_t n, int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

static struct known_card card_with(const struct grid* g, enum rule r) {
    struct known_card card = g->card;
    if (r == CARD_MULTIPROCESSORS) card.multiprocessors = cards->multiprocessors;
    if (r == CARD_THREADS) card.threads = cards->threads;
    if (r == CARD_BLOCKS) card.blocks = cards->blocks;
    if (r == CARD_REGISTERS) card.registers = cards->registers;
    if (r == CARD_SHARED) card.shared = cards->shared;
    if (r == CARD_SHARED_BLOCK) card.shared_block = cards->shared_block;
    return card;
}

static int64_t by_registers(const struct known_card* card, const struct grid* g, int64_t warps,
                            enum rule r) {
    int64_t of_warp = g->registers * CARD_WARP, part = card->registers / CARD_WARPS_OF_PARTITION;
    if (r == BLOCK_UNIT) return card->registers / up(of_warp * warps, CARD_REGISTER_UNIT);
    if (r == REGISTERS_OF_THREADS || r == ALL_OF_THREADS)
        return card->registers / up((int64_t)g->registers * g->threads, CARD_REGISTER_UNIT);
    if (r != NO_UNIT) of_warp = up(of_warp, CARD_REGISTER_UNIT);
    if (r == NO_PARTS) return card->registers / (of_warp * warps);
    if (r == EQUAL_PARTS) return part / of_warp / (up(warps, 4) / 4);
    if (r == NOT_SPLIT) return part / of_warp / warps * CARD_WARPS_OF_PARTITION;
    return part / of_warp * CARD_WARPS_OF_PARTITION / warps;
}

static int64_t by_shared(const struct known_card* card, int64_t shared, enum rule r) {
    const int64_t all = (int64_t)card->shared, taken = CARD_SHARED_RESERVED;
    int64_t of_block = shared + (r == NOTHING_TAKEN || r == TAKEN_ONCE || r == NEITHER ? 0 : taken);
    if (r != NO_BYTES_UNIT && r != NEITHER) of_block = up(of_block, CARD_SHARED_UNIT);
    if (of_block == 0) return INT32_MAX;
    return (r == TAKEN_ONCE ? all - taken : all) / of_block;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t blocks_with(const struct known_card* card, const struct grid* g, enum rule r) {
    const int64_t shared = r == SHARED_IN_INT ? (int32_t)g->shared : g->shared;
    if ((r == FEWER_THREADS && g->threads == CARD_BLOCK_THREADS) ||
        (r == FEWER_REGISTERS && g->registers == CARD_THREAD_REGISTERS) ||
        (r == LESS_SHARED && (uint64_t)shared == card->shared_block))
        return 0;
    if (g->threads < 1 || (g->threads > CARD_BLOCK_THREADS && r != LONG_BLOCKS)) return 0;
    if (g->registers > CARD_THREAD_REGISTERS && r != WIDE_THREADS) return 0;
    const uint64_t taken = r == TAKEN_BEFORE ? CARD_SHARED_RESERVED : 0;
    if ((uint64_t)shared + taken > card->shared_block && r != LARGE_SHARED) return 0;
    int64_t warps = up(g->threads, CARD_WARP) / CARD_WARP, most = INT32_MAX;
    if (r == WARPS_ROUNDED_DOWN && g->threads >= CARD_WARP) warps = g->threads / CARD_WARP;
    if (r != NO_BLOCK_LIMIT) most = card->blocks;
    if (r == THREADS_COUNTED || r == ALL_OF_THREADS)
        most = least(most, card->threads / g->threads);
    else if (r != NO_WARP_LIMIT)
        most = least(most, card->threads / CARD_WARP / warps);
    if (g->registers > 0 && r != NO_REGISTER_LIMIT)
        most = least(most, by_registers(card, g, warps, r));
    return r == NO_SHARED_LIMIT ? most : least(most, by_shared(card, shared, r));
}

static struct answer answer_with(const struct grid* g, enum rule r) {
    const struct known_card card = card_with(g, r);
    int64_t per = blocks_with(&card, g, r), blocks = g->blocks;
    if (r == ONE_BLOCK && per < 1) per = 1;
    int64_t wave = per * (r == OF_ONE ? 1 : card.multiprocessors);
    if (wave < 1) return (struct answer){per, r == NO_WAVES ? 0 : -1};
    if (r == IN_INT) blocks = (int32_t)blocks;
    if (r == IN_UNSIGNED) blocks = (uint32_t)blocks;
    int64_t waves = blocks / wave + (blocks % wave > 0);
    if (r == ROUNDED_DOWN) waves = blocks / wave;
    if (r == ONE_MORE || (r == ONE_MORE_IF_ANY && blocks > 0)) waves = blocks / wave + 1;
    if (r == IN_FLOAT) waves = (int64_t)ceilf((float)blocks / (float)wave);
    if (r == IN_DOUBLE) waves = (int64_t)ceil((double)blocks / (double)wave);
    if (r == ADDED_IN_DOUBLE) waves = (int64_t)(((double)blocks + (double)wave - 1) / (double)wave);
    if (r == ADDED_FIRST)
        waves = (int64_t)((uint64_t)blocks + (uint64_t)wave - 1) / wave;  // may wrap
    if (r == ONE_WAVE && waves < 1) waves = 1;
    return (struct answer){per, waves};
}

// ---- a case

// The bits of a number in two elements of 32 bits, as in call.c.
static double upper_half(int64_t n) {
    return (double)(n >> 32);
}

static double lower_half(int64_t n) {
    return (double)(int32_t)(uint32_t)(uint64_t)n;
}

static int64_t whole_of(double upper, double lower) {
    return (int64_t)upper * ((int64_t)1 << 32) + (uint32_t)(int32_t)lower;
}

static struct answer got_answer(const struct tensor* answers, int i) {
    const double* got = answers->got + 3 * (int64_t)i;
    return (struct answer){(int64_t)got[0], whole_of(got[1], got[2])};
}

static bool same_answer(struct answer a, struct answer b) {
    return a.per == b.per && a.waves == b.waves;
}

// Only a card of few registers is wrong, with 0 of them a thread, which is no number: whatever was
// taken in its place.
static bool only_unknown_wrong(const struct grids* g, const struct tensor* answers) {
    int right = 0;
    for (int i = 0; i < g->count; i++) {
        const struct grid* at = &g->grid[i];
        if (same_answer(got_answer(answers, i), right_answer(at)))
            right++;
        else if (at->registers != 0 || at->card.registers > FEW_REGISTERS)
            return false;
    }
    return right > 0;
}

// The mistake that gives all of these answers; `otherwise` if none does.
static enum cause mistake_of(const struct grids* g, const struct tensor* answers,
                             enum cause otherwise) {
    for (size_t m = 0; m < sizeof wrong_rules / sizeof wrong_rules[0]; m++) {
        int i = 0;
        while (i < g->count &&
               same_answer(got_answer(answers, i), answer_with(&g->grid[i], wrong_rules[m].rule)))
            i++;
        if (i == g->count) return wrong_rules[m].cause;
    }
    int unset = 0;
    for (int i = 0; i < g->count; i++) unset += got_answer(answers, i).per == -1;
    if (unset == g->count) return CAUSE_never_written;
    return only_unknown_wrong(g, answers) ? CAUSE_registers_unknown : otherwise;
}

static void fail_answer(struct check* c, const struct grid* g, struct answer got,
                        enum cause cause) {
    struct answer want = right_answer(g);
    check_fail(
        c, cause,
        "%s: %d multiprocessors, each with %d threads, %d blocks, %d registers and %zu bytes "
        "of shared memory, %zu of them for a block\n"
        "threads = %d, registers = %d, shared = %llu, blocks = %lld\n"
        "%lld a multiprocessor in %lld waves, expected %lld in %lld",
        g->card.name, g->card.multiprocessors, g->card.threads, g->card.blocks, g->card.registers,
        g->card.shared, g->card.shared_block, g->threads, g->registers,
        (unsigned long long)g->shared, (long long)g->blocks, (long long)got.per,
        (long long)got.waves, (long long)want.per, (long long)want.waves);
}

// Asks about all these grids. A wrong answer that no known mistake gives is taken for what the case
// is about.
static void ask(struct check* c, const char* about, const struct grids* g, enum cause otherwise) {
    enum { IN = 12, OUT = 3 };
    check_case(c, "%d grids on %s: %s", g->count, "all cards", about);
    struct tensor* grids = check_input(c, "grids", I32, SHAPE(g->count, IN));
    struct tensor* answers = check_output(c, "answers", I32, SHAPE(g->count, OUT));
    check_on_host(grids);
    check_by_host(answers);
    check_int(c, "waves", true);
    check_int(c, "count", g->count);
    for (int i = 0; i < g->count; i++) {
        const struct grid* at = &g->grid[i];
        const double in[IN] = {at->card.multiprocessors,
                               at->card.threads,
                               at->card.blocks,
                               at->card.registers,
                               (double)at->card.shared,
                               (double)at->card.shared_block,
                               at->threads,
                               at->registers,
                               upper_half(at->shared),
                               lower_half(at->shared),
                               upper_half(at->blocks),
                               lower_half(at->blocks)};
        memcpy(grids->value + IN * (int64_t)i, in, sizeof in);
    }
    check_fail_call(c, "query", 1);  // there is none to be made
    check_run(c);
    if (check_call_failed(c))
        check_fail(c, CAUSE_card_ignored,
                   "the function asked the runtime about a device: the contract says that it asks "
                   "none, and knows of the card what `card` says");
    for (int i = 0; i < g->count; i++) {
        struct answer want = right_answer(&g->grid[i]), got = got_answer(answers, i);
        double* out = answers->want + OUT * (int64_t)i;
        out[0] = (double)want.per;
        out[1] = upper_half(want.waves);
        out[2] = lower_half(want.waves);
        if (!same_answer(want, got))
            fail_answer(c, &g->grid[i], got, mistake_of(g, answers, otherwise));
    }
    check_compare(c, answers, budget_exact());
}

// ---- which grids

static struct grids* new_grids(struct check* c) {
    return check_allocate(c, 1, sizeof(struct grids));
}

static void add(struct grids* g, const struct grid* grid) {
    if (g->count < MOST_GRIDS) g->grid[g->count++] = *grid;
}

// Whole waves of blocks: that the last one may be partly filled is not what the case is about. No
// grid if a block fits nowhere.
static void add_whole(struct check* c, struct grids* g, struct grid grid) {
    grid.blocks = right_answer(&grid).per * grid.card.multiprocessors * check_pick(c, 1, 9);
    if (grid.blocks > 0) add(g, &grid);
}

// Card number i; behind the last one that is known stands one that nobody has built.
static bool card_at(struct check* c, int i, struct known_card* card) {
    int known = 0;
    while (cards[known].id) known++;
    if (i > known) return false;
    if (i < known) {
        *card = cards[i];
        return true;
    }
    *card = (struct known_card){.id = "unknown",
                                .name = "a card that nobody has built yet",
                                .multiprocessors = (int)check_pick(c, 150, 200),
                                .threads = 32 * (int)check_pick(c, 65, 90),
                                .blocks = (int)check_pick(c, 33, 40),
                                .registers = 4096 * (int)check_pick(c, 20, 30)};
    card->shared = 1024 * (size_t)check_pick(c, 260, 380);
    card->shared_block = card->shared - 1024 * (size_t)check_pick(c, 4, 20);
    return true;
}

#endif
