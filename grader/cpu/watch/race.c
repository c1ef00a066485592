// Races: two accesses to the same byte, at least one a write, with nothing that orders them.
//
// Of every 4 bytes of memory four slots are kept: the last two writers and two readers since they
// became ordered before everybody (slot layout: watch.h). An access is compared with them, then
// takes a place among them. What an access is ordered after, within its block:
//
//   - its own thread's past
//   - everything before the last __syncthreads(); everything before the launch
//   - its warp's past up to the last __syncwarp()
//   - what it knows by other means (partial __syncwarp(), named barriers): a row of times per thread
//
// Shuffles and votes order nothing, as CUDA says. For accesses of other blocks see order.c.
#include <string.h>
#include "finding.h"
#include "watch.h"

// Up to when the accesses of thread `other` come before what `thread` does now; both of this block.
uint64_t cudev_race_known(struct watch* k, unsigned thread, unsigned other) {
    if (thread == other) return ~(uint64_t)0;
    uint64_t known = k->shared_floor;
    if (thread / WARP_SIZE == other / WARP_SIZE && k->warp_floor[thread / WARP_SIZE] > known)
        known = k->warp_floor[thread / WARP_SIZE];
    if (k->row_block[thread] == k->block_floor) {
        uint64_t time = (uint64_t)k->row[thread][other] << SLOT_TIME_SHIFT;
        if (time > known) known = time;
    }
    return known;
}

static bool ordered(struct watch* k, uint64_t offset, uint64_t earlier, uint64_t me) {
    if (earlier < k->launch_floor) return true;
    if (earlier >= k->block_floor) {
        if (earlier < cudev_race_known(k, slot_thread(me), slot_thread(earlier))) return true;
    } else if (offset >= WINDOW_OFFSET) {
        return true;  // shared memory of a block that is gone
    }
    return cudev_order_covers(k, offset, earlier, slot_thread(me));
}

// Two accesses that exclude each other in hardware. Volatile accesses are how flags are passed, but
// between the lanes of a warp they are the old way to do without __syncwarp(), which is a race.
static bool both_atomic(struct watch* k, uint64_t offset, uint64_t a, uint64_t b) {
    if (!(a & b & SLOT_ATOMIC)) return false;
    bool one_warp = a >= k->block_floor && slot_thread(a) / WARP_SIZE == slot_thread(b) / WARP_SIZE;
    return !(a & b & SLOT_VOLATILE && offset >= WINDOW_OFFSET && one_warp);
}

static void report(struct watch* k, uint64_t offset, uint64_t earlier, bool earlier_writes,
                   uint64_t me, bool writes) {
    struct finding* f = cudev_finding(FOUND_RACE, slot_site(me), slot_site(earlier),
                                      k->worker->block, slot_thread(me));
    if (!f) return;
    cudev_finding_where(f, k->worker, offset, 1u << 2);
    f->access = writes ? (me & SLOT_ATOMIC && !(me & SLOT_VOLATILE) ? CUDEV_ATOMIC : CUDEV_WRITE)
                       : CUDEV_READ;
    f->other_block = f->block;
    if (earlier < k->block_floor) cudev_order_block_at(earlier, &f->other_block);
    f->other_thread = slot_thread(earlier);
    f->other_access =
        earlier_writes
            ? (earlier & SLOT_ATOMIC && !(earlier & SLOT_VOLATILE) ? CUDEV_ATOMIC : CUDEV_WRITE)
            : CUDEV_READ;
}

static void record_read(uint64_t* slot, uint64_t floor, uint64_t me) {
    for (int i = 2; i < 4; i++)
        if (slot[i] < floor || (slot[i] ^ me) >> SLOT_THREAD_SHIFT == 0) {
            slot[i] = slot[i] < floor ? me : me | (slot[i] & (uint64_t)15 << SLOT_MASK_SHIFT);
            return;
        }
    // keep one that read the other bytes; otherwise the first reader and the newest
    bool second = slot_mask(slot[2]) & ~slot_mask(me) || slot_mask(slot[3]) == slot_mask(me);
    slot[second ? 3 : 2] = me;
}

// All earlier accesses to these bytes come before this one, or have been reported: they can go. Only
// atomics of others stay, since atomics exclude each other without being ordered.
static void record_write(uint64_t* slot, uint64_t floor, uint64_t me) {
    const uint64_t bytes = me & (uint64_t)15 << SLOT_MASK_SHIFT;
    for (int i = 0; i < 4; i++) {
        bool keep = i < 2 && slot[i] & me & SLOT_ATOMIC &&
                    (slot[i] ^ me) >> SLOT_THREAD_SHIFT & (MAX_THREADS - 1);
        if (slot[i] < floor || !(slot[i] & (uint64_t)15 << SLOT_MASK_SHIFT))
            slot[i] = 0;
        else if (!keep)
            slot[i] &= ~bytes;
        if (!slot_mask(slot[i])) slot[i] = 0;
    }
    if (slot[0]) slot[1] = slot[0] > slot[1] ? slot[0] : slot[1];
    slot[0] = me;
}

// The access `me` to bytes of the word at `offset`; the site is part of `me`.
void cudev_race_access(struct watch* k, uint64_t offset, uint64_t me, bool write) {
    uint64_t* slot = RACE_SHADOW[offset >> 2];
    uint64_t floor = offset >= WINDOW_OFFSET ? k->shared_floor : k->launch_floor;
    for (int i = 0; i < (write ? 4 : 2); i++) {
        uint64_t earlier = slot[i];
        if (earlier < floor || !(slot_mask(earlier) & slot_mask(me))) continue;
        if (both_atomic(k, offset, earlier, me) || ordered(k, offset, earlier, me)) continue;
        report(k, offset, earlier, i < 2, me, write);
    }
    if (write)
        record_write(slot, floor, me);
    else
        record_read(slot, floor, me);
}

// A write whose time was not its thread's own, a copy that arrives, finds that somebody has written
// there since it was issued.
void cudev_race_overwritten(struct watch* k, uint64_t offset, uint64_t me) {
    const uint64_t* slot = RACE_SHADOW[offset >> 2];
    if (slot[0] >= k->block_floor) report(k, offset, slot[0], true, me, true);
}

// ---- synchronisation ---------------------------------------------------------------------------

void cudev_race_barrier(struct watch* k) {
    k->now += ONE_TICK;
    k->shared_floor = k->now;
    k->fine = false;
    if (k->last_fence > k->block_floor) k->fenced_before_barrier = true;
}

// The row of a thread, empty if it has none in this block yet.
static uint32_t* row_of(struct watch* k, unsigned thread) {
    uint32_t* row = k->row[thread];
    if (k->row_block[thread] != k->block_floor) {
        k->row_block[thread] = k->block_floor;
        for (unsigned u = 0; u < k->worker->launch->threads; u++) row[u] = 0;
    }
    return row;
}

static void join(uint32_t* into, const uint32_t* from, unsigned threads) {
    for (unsigned u = 0; u < threads; u++)
        if (from[u] > into[u]) into[u] = from[u];
}

// The lanes know from now on what each of them knew, and what each of them did.
static void join_lanes(struct watch* k, unsigned warp, uint32_t lanes) {
    unsigned threads = k->worker->launch->threads, first = warp * WARP_SIZE;
    uint32_t* sum = row_of(k, first + (unsigned)__builtin_ctz(lanes));
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned t = first + (unsigned)__builtin_ctz(rest);
        join(sum, row_of(k, t), threads);
        sum[t] = (uint32_t)(k->now >> SLOT_TIME_SHIFT);
    }
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1)
        join(row_of(k, first + (unsigned)__builtin_ctz(rest)), sum, threads);
}

void cudev_race_warp_barrier(struct watch* k, unsigned warp, uint32_t lanes) {
    k->now += ONE_TICK;
    if (lanes == k->worker->live[warp])
        k->warp_floor[warp] = k->now;
    else
        k->fine = true;
    if (k->fine) join_lanes(k, warp, lanes);
}

// What thread `t` knows, and what it did, goes into the clock.
static void release(struct watch* k, struct cudev_clock* clock, unsigned t) {
    unsigned threads = k->worker->launch->threads, first = t / WARP_SIZE * WARP_SIZE;
    uint32_t block = (uint32_t)(k->shared_floor >> SLOT_TIME_SHIFT);
    uint32_t warp = (uint32_t)(k->warp_floor[t / WARP_SIZE] >> SLOT_TIME_SHIFT);
    for (unsigned u = 0; u < threads; u++)
        if (clock->time[u] < block) clock->time[u] = block;
    for (unsigned u = first; u < first + WARP_SIZE; u++)
        if (clock->time[u] < warp) clock->time[u] = warp;
    if (k->row_block[t] == k->block_floor) join(clock->time, k->row[t], threads);
    clock->time[t] = (uint32_t)(k->now >> SLOT_TIME_SHIFT);
}

void cudev_race_release(struct watch* k, struct cudev_clock* clock, unsigned warp, uint32_t lanes) {
    if (clock->block != k->block_floor) {
        memset(clock->time, 0, sizeof clock->time);
        clock->block = k->block_floor;
    }
    k->now += ONE_TICK;
    for (; lanes; lanes &= lanes - 1)
        release(k, clock, warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes));
}

void cudev_race_acquire(struct watch* k, const struct cudev_clock* clock, unsigned warp,
                        uint32_t lanes) {
    if (clock->block != k->block_floor) return;
    k->fine = true;
    for (; lanes; lanes &= lanes - 1)
        join(row_of(k, warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes)), clock->time,
             k->worker->launch->threads);
}

static struct watch* checking(void) {
    struct worker* w = cudev_self;
    return w && w->watch && w->watch->check ? w->watch : NULL;
}

void cudev_release(struct cudev_clock* clock) {
    struct watch* k = checking();
    if (!k) return;
    unsigned t = k->worker->current;
    cudev_race_release(k, clock, t / WARP_SIZE, 1u << t % WARP_SIZE);
}

void cudev_acquire(const struct cudev_clock* clock) {
    struct watch* k = checking();
    if (!k) return;
    unsigned t = k->worker->current;
    cudev_race_acquire(k, clock, t / WARP_SIZE, 1u << t % WARP_SIZE);
}
