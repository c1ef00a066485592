// Races: two accesses to the same byte, at least one a write, with nothing that orders them.
//
// Every 4 bytes of memory have four slots (watch.h): the last two writers, the first reader and the
// newest one since the word became ordered before all threads. Of the readers between these it is
// known in which warps, or blocks, they were. An access is compared with the slots, then takes a
// place among them. thread_order.c knows the order within a block, fence_order.c the order
// between blocks, overlap.c that between launches.
#include "cpu/watch/races.h"
#include "cpu/watch/async_finding.h"
#include "cpu/watch/beyond.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/overlap.h"
#include "cpu/watch/sites.h"

static bool ordered(struct watch* watch, uint64_t offset, uint64_t earlier, uint64_t me,
                    bool write) {
    if (earlier < watch->launch_floor)
        return cudev_overlap_ordered(watch, slot_thread(me), earlier);
    if (earlier >= watch->block_floor) {
        if (earlier < cudev_order_known(watch, slot_thread(me), slot_thread(earlier))) return true;
    } else if (offset >= WINDOW_OFFSET) {
        return true;  // shared memory of a block that is gone
    }
    // What TMA does behind a flag needs a fence there, whatever it does.
    const bool strong = (write || me & SLOT_ATOMIC) && !watch->by_tma;
    return cudev_order_covers(watch, offset, earlier, slot_thread(me), strong);
}

// Do the two accesses exclude each other in hardware? Volatile accesses count as exclusive, since
// programs pass flags with them. They do not between the lanes of a warp: there old code uses them
// instead of __syncwarp().
static bool both_atomic(struct watch* watch, uint64_t offset, uint64_t a, uint64_t b) {
    if (!(a & b & SLOT_ATOMIC)) return false;
    bool one_warp =
        a >= watch->block_floor && slot_thread(a) / WARP_SIZE == slot_thread(b) / WARP_SIZE;
    return !(a & b & SLOT_VOLATILE && offset >= WINDOW_OFFSET && one_warp);
}

// Two blocks add floats to one place. That is no race, but their order counts where the host has
// said so.
static bool blocks_add(struct watch* watch, uint64_t earlier, uint64_t me) {
    return watch->worker->launch->crowded && earlier < watch->block_floor &&
           earlier & me & SLOT_ATOMIC && sites()->adds[slot_site(earlier)] &&
           sites()->adds[slot_site(me)];
}

static enum cudev_access kind(uint64_t slot, bool writes) {
    if (slot & SLOT_ATOMIC && !(slot & SLOT_VOLATILE))
        return writes ? CUDEV_ATOMIC : CUDEV_ATOMIC_READ;
    return writes ? CUDEV_WRITE : CUDEV_READ;
}

// Returns the finding, for the caller to add to it; NULL: it is known, or one of another kind.
static struct finding* report(struct watch* watch, enum found found, uint64_t offset,
                              uint64_t earlier, bool earlier_writes, uint64_t me, bool writes) {
    if (earlier < watch->launch_floor) {
        cudev_overlap_found(watch, offset, earlier, earlier_writes, me, writes);
        return NULL;
    }
    if (slot_thread(earlier) >= beyond_of(watch)) {
        cudev_async_race(watch, offset, earlier, earlier_writes, me, writes);
        return NULL;
    }
    struct finding* f = cudev_finding(found, slot_site(me), slot_site(earlier),
                                      watch->worker->block, slot_thread(me));
    if (!f) return NULL;
    cudev_finding_where(f, watch->worker, offset, 1u << 2);
    f->access = kind(me, writes);
    f->other_block = f->block;
    if (earlier < watch->block_floor) cudev_order_block_at(earlier, &f->other_block);
    f->other_thread = slot_thread(earlier);
    f->other_access = kind(earlier, earlier_writes);
    return f;
}

// A reader that is not the first one. An atomic races with none that is atomic, too, and is not
// kept here; nor is a reader of other bytes than those before.
static void record_group(struct watch* watch, uint64_t offset, uint64_t* slot, uint64_t me) {
    const unsigned thread = slot_thread(me);
    if (me & SLOT_ATOMIC || slot[1] >= FIRST_TIME || thread >= beyond_of(watch)) return;
    const uint64_t unread = slot[1] | (uint64_t)(~slot_mask(me) & 15) << SLOT_UNREAD_SHIFT;
    if (unread >> SLOT_UNREAD_SHIFT != 15) slot[1] = unread | slot_group(watch, offset, thread);
}

static void record_read(struct watch* watch, uint64_t offset, uint64_t* slot, uint64_t floor,
                        uint64_t me) {
    if (slot[2] < floor) {
        slot_begin_readers(slot, floor, me);
        return;
    }
    for (int i = 2; i < 4; i++)
        if ((slot[i] ^ me) >> SLOT_THREAD_SHIFT == 0) {
            slot[i] = me | (slot[i] & (uint64_t)15 << SLOT_MASK_SHIFT);
            return;
        }
    // keep a reader of the other bytes; if there is none, the first reader and the newest
    bool second = slot[3] < floor || slot_mask(slot[2]) & ~slot_mask(me) ||
                  slot_mask(slot[3]) == slot_mask(me);
    if (second) {
        record_group(watch, offset, slot, me);
        slot[3] = me;
    } else {
        slot_begin_readers(slot, FIRST_TIME, me);
    }
}

// Is no thread of the warp known to `thread` since `first`, the slot of the first reader? What one
// of them read later is not known then either.
static bool is_unknown_warp(struct watch* watch, uint64_t offset, uint64_t first, unsigned warp,
                            unsigned thread) {
    for (unsigned u = warp * WARP_SIZE; u < (warp + 1) * WARP_SIZE; u++) {
        const uint64_t earlier =
            (first >> SLOT_TIME_SHIFT << SLOT_TIME_SHIFT) | (uint64_t)u << SLOT_THREAD_SHIFT;
        if (earlier < cudev_order_known(watch, thread, u) ||
            cudev_order_covers(watch, offset, earlier, thread, !watch->by_tma))
            return false;
    }
    return true;
}

// The write `me` is ordered behind all that have slots. Of the readers between these only their
// groups are known, and that none of them came before the first reader. So this finds no more than
// those of whom the writer has heard nothing since then.
static void check_groups(struct watch* watch, uint64_t offset, const uint64_t* slot, uint64_t me) {
    const uint64_t first = slot[2], readers = slot[1];
    const unsigned thread = slot_thread(me);
    if (!(slot_mask(me) & ~(readers >> SLOT_UNREAD_SHIFT))) return;
    for (uint32_t rest = (uint32_t)readers; rest; rest &= rest - 1) {
        const unsigned group = (unsigned)__builtin_ctz(rest);
        uint64_t block = watch->worker->block;
        if (offset >= WINDOW_OFFSET
                ? !is_unknown_warp(watch, offset, first, group, thread)
                : !cudev_order_unknown_block(watch, first, group, thread, !watch->by_tma, &block))
            continue;
        struct finding* f = report(watch, FOUND_RACE, offset, first, false, me, true);
        if (!f) return;
        f->other_access = CUDEV_READ;
        f->other_block = block;
        f->other_among = offset >= WINDOW_OFFSET ? AMONG_WARP : AMONG_BLOCK;
        f->other_thread = offset >= WINDOW_OFFSET ? group * WARP_SIZE : 0;
        return;
    }
}

// A later access that is ordered behind an ordinary write is ordered behind all that came before
// it: all earlier accesses to these bytes have been reported or can go. An atomic hides nothing:
// other atomics need no order behind it, but they do need one behind ordinary accesses of before,
// its own thread's, too. Of ordinary accesses the reads stay, and the last write; of atomics the
// newest of another thread.
static void record_write(uint64_t* slot, uint64_t floor, uint64_t me) {
    const uint64_t bytes = me & (uint64_t)15 << SLOT_MASK_SHIFT;
    const uint64_t readers = me & SLOT_ATOMIC && slot[1] < FIRST_TIME ? slot[1] : 0;
    int plain = -1;
    for (int i = 0; i < 4; i++) {
        bool same_thread = !((slot[i] ^ me) >> SLOT_THREAD_SHIFT & (MAX_THREADS - 1));
        if (!(me & SLOT_ATOMIC) || (slot[i] & SLOT_ATOMIC && same_thread)) slot[i] &= ~bytes;
        if (slot[i] < floor || !slot_mask(slot[i])) slot[i] = 0;
        if (i < 2 && slot[i] && !(slot[i] & SLOT_ATOMIC)) plain = i;
    }
    if (plain >= 0)
        slot[1] = slot[plain];
    else if (slot[0])
        slot[1] = slot[0] > slot[1] ? slot[0] : slot[1];
    else if (slot[2])
        slot[1] = readers;
    slot[0] = me;
}

void cudev_race_access(struct watch* watch, uint64_t offset, uint64_t me, bool write) {
    uint64_t* slot = RACE_SHADOW[offset >> 2];
    uint64_t floor =
        offset >= WINDOW_OFFSET ? watch->shared_floor : cudev_overlap_floor(watch, slot_thread(me));
    bool all_ordered = true;
    for (int i = 0; i < (write ? 4 : 2); i++) {
        uint64_t earlier = slot[i];
        if (earlier < floor || !(slot_mask(earlier) & slot_mask(me))) continue;
        const bool adds = blocks_add(watch, earlier, me);
        if ((!adds && both_atomic(watch, offset, earlier, me)) ||
            ordered(watch, offset, earlier, me, write))
            continue;
        all_ordered = false;
        report(watch, adds ? FOUND_ORDER_OF_SUM : FOUND_RACE, offset, earlier, i < 2, me, write);
    }
    if (write && all_ordered && slot[1] && slot[1] < FIRST_TIME && slot[2] >= floor &&
        slot[2] >= watch->launch_floor && slot_thread(slot[2]) < beyond_of(watch))
        check_groups(watch, offset, slot, me);
    if (write)
        record_write(slot, floor, me);
    else
        record_read(watch, offset, slot, floor, me);
}

void cudev_race_overwritten(struct watch* watch, uint64_t offset, uint64_t me, bool left) {
    const uint64_t* slot = RACE_SHADOW[offset >> 2];
    struct finding* f = slot[0] < watch->block_floor
                            ? NULL
                            : report(watch, FOUND_RACE, offset, slot[0], true, me, true);
    if (f) f->left = left;
}

void cudev_race_cached(struct watch* watch, uint64_t offset, uint64_t me) {
    const uint64_t last = RACE_SHADOW[offset >> 2][0];
    if (last < watch->launch_floor || !(slot_mask(last) & slot_mask(me))) return;
    struct finding* f = report(watch, FOUND_RACE, offset, last, true, me, false);
    if (f) f->cached = true;
}
