// Order between the threads of one block. An access of a thread comes after
//
//   - its own thread's past
//   - everything before the last __syncthreads(); everything before the launch
//   - its warp's past up to the last __syncwarp() of all lanes
//   - what it knows by other means (partial __syncwarp(), named barriers): a row of times per
//     thread
//
// Shuffles and votes order nothing, as CUDA says.
#include "cpu/watch/races.h"
#include <string.h>
#include "base/wide.h"
#include "cpu/watch/beyond.h"

static WIDE void join(uint32_t* into, const uint32_t* from, unsigned threads) {
    for (unsigned u = 0; u < threads; u++) into[u] = from[u] > into[u] ? from[u] : into[u];
}

static WIDE void at_least(uint32_t* times, uint32_t least, unsigned threads) {
    for (unsigned u = 0; u < threads; u++) times[u] = times[u] < least ? least : times[u];
}

// ---- fences between the proxies ----------------------------------------------------------------
//
// Order alone is not enough between what threads write and what TMA or wgmma read: a fence has to
// lie between, in whichever thread. So each thread has a second row: what it knows to lie behind
// such a fence. It is passed on wherever the first one is.

static uint32_t* fenced_of(struct watch* watch, unsigned thread) {
    struct thread_order* o = &watch->order;
    if (o->fenced_block[thread] != watch->block_floor) {
        o->fenced_block[thread] = watch->block_floor;
        memset(o->fenced[thread], 0, order_width(watch) * sizeof o->fenced[thread][0]);
    }
    return o->fenced[thread];
}

uint64_t cudev_order_fenced(struct watch* watch, unsigned thread, unsigned other) {
    if (!watch->order.fences) return 0;
    uint32_t own = fenced_of(watch, thread)[other], all = watch->order.fenced_all[other];
    return (uint64_t)(own > all ? own : all) << SLOT_TIME_SHIFT;
}

void cudev_order_fence_proxy(struct watch* watch) {
    const unsigned t = watch->worker->current, width = order_width(watch);
    struct thread_order* o = &watch->order;
    if (!o->fences) memset(o->fenced_all, 0, sizeof o->fenced_all);
    o->fences = true;
    uint32_t* row = fenced_of(watch, t);
    watch->now += ONE_TICK;
    for (unsigned u = 0; u < width; u++) {
        uint64_t known = u == t ? watch->now : cudev_order_known(watch, t, u);
        if (known >> SLOT_TIME_SHIFT > row[u]) row[u] = (uint32_t)(known >> SLOT_TIME_SHIFT);
    }
}

// All threads of the block meet.
static void join_all_fenced(struct watch* watch) {
    for (unsigned t = 0; t < watch->worker->launch->threads; t++)
        if (watch->order.fenced_block[t] == watch->block_floor)
            join(watch->order.fenced_all, watch->order.fenced[t], order_width(watch));
}

static void join_lanes_fenced(struct watch* watch, unsigned warp, uint32_t lanes) {
    const unsigned first = warp * WARP_SIZE, width = order_width(watch);
    uint32_t* sum = fenced_of(watch, first + (unsigned)__builtin_ctz(lanes));
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        join(sum, fenced_of(watch, first + (unsigned)__builtin_ctz(rest)), width);
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1)
        join(fenced_of(watch, first + (unsigned)__builtin_ctz(rest)), sum, width);
}

// ---- barriers ----------------------------------------------------------------------------------

// The row of a thread, empty if it has none in this block yet.
static uint32_t* row_of(struct watch* watch, unsigned thread) {
    uint32_t* row = watch->order.row[thread];
    if (watch->order.row_block[thread] != watch->block_floor) {
        watch->order.row_block[thread] = watch->block_floor;
        memset(row, 0, order_width(watch) * sizeof row[0]);
    }
    return row;
}

// From now on each of the lanes knows what all of them knew and did.
static void join_lanes(struct watch* watch, unsigned warp, uint32_t lanes) {
    unsigned threads = order_width(watch), first = warp * WARP_SIZE;
    uint32_t* sum = row_of(watch, first + (unsigned)__builtin_ctz(lanes));
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned t = first + (unsigned)__builtin_ctz(rest);
        join(sum, row_of(watch, t), threads);
        sum[t] = (uint32_t)(watch->now >> SLOT_TIME_SHIFT);
    }
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1)
        join(row_of(watch, first + (unsigned)__builtin_ctz(rest)), sum, threads);
}

// The threads of one block of a cluster meet: each knows what all of them knew and did.
static void join_block(struct watch* watch, unsigned rank) {
    const unsigned threads = watch->worker->launch->of_block, first = rank * threads;
    const size_t bytes = order_width(watch) * sizeof(uint32_t);
    uint32_t* sum = row_of(watch, first);
    for (unsigned t = first; t < first + threads; t++) {
        join(sum, row_of(watch, t), order_width(watch));
        sum[t] = (uint32_t)(watch->now >> SLOT_TIME_SHIFT);
    }
    for (unsigned t = first + 1; t < first + threads; t++) memcpy(row_of(watch, t), sum, bytes);
    if (!watch->order.fences) return;
    sum = fenced_of(watch, first);
    for (unsigned t = first; t < first + threads; t++)
        join(sum, fenced_of(watch, t), order_width(watch));
    for (unsigned t = first + 1; t < first + threads; t++) memcpy(fenced_of(watch, t), sum, bytes);
}

void cudev_order_barrier(struct watch* watch) {
    watch->now += ONE_TICK;
    if (watch->fences.last > watch->block_floor) watch->fences.before_barrier = true;
    if (watch->worker->launch->cluster > 1) {
        watch->order.by_rows = true;
        join_block(watch, cudev_rank_of(watch->worker, watch->worker->current));
        return;
    }
    watch->shared_floor = watch->now;
    watch->order.by_rows = false;
    if (watch->order.fences) join_all_fenced(watch);
}

// The accesses of a lane that has returned are ordered by no __syncwarp() to which it has not come.
void cudev_order_warp_barrier(struct watch* watch, unsigned warp, uint32_t lanes) {
    const unsigned left = watch->worker->launch->threads - warp * WARP_SIZE;
    watch->groups = true;
    watch->now += ONE_TICK;
    if (lanes == (left < WARP_SIZE ? (1u << left) - 1 : ~0u))
        watch->order.warp_floor[warp] = watch->now;
    else
        watch->order.by_rows = true;
    if (watch->order.by_rows) join_lanes(watch, warp, lanes);
    if (watch->order.fences) join_lanes_fenced(watch, warp, lanes);
}

// Puts into the clock all that thread `t` knows, and all that it did.
static void release(struct watch* watch, struct cudev_clock* clock, unsigned t) {
    unsigned threads = order_width(watch), first = t / WARP_SIZE * WARP_SIZE;
    uint32_t block = (uint32_t)(watch->shared_floor >> SLOT_TIME_SHIFT);
    uint32_t warp = (uint32_t)(watch->order.warp_floor[t / WARP_SIZE] >> SLOT_TIME_SHIFT);
    at_least(clock->time, block, threads);
    for (unsigned u = first; u < first + WARP_SIZE; u++)
        if (clock->time[u] < warp) clock->time[u] = warp;
    if (watch->order.row_block[t] == watch->block_floor)
        join(clock->time, watch->order.row[t], threads);
    clock->time[t] = (uint32_t)(watch->now >> SLOT_TIME_SHIFT);
    if (!watch->order.fences) return;
    join(clock->fenced, fenced_of(watch, t), threads);
    join(clock->fenced, watch->order.fenced_all, threads);
}

static void begin_clock(struct watch* watch, struct cudev_clock* clock) {
    if (clock->block == watch->block_floor) return;
    memset(clock->time, 0, sizeof clock->time);
    memset(clock->fenced, 0, sizeof clock->fenced);
    clock->block = watch->block_floor;
}

void cudev_order_release(struct watch* watch, struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes) {
    begin_clock(watch, clock);
    watch->groups = true;
    watch->now += ONE_TICK;
    for (; lanes; lanes &= lanes - 1)
        release(watch, clock, warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes));
}

void cudev_order_acquire(struct watch* watch, const struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes) {
    if (clock->block != watch->block_floor) return;
    watch->order.by_rows = true;
    for (; lanes; lanes &= lanes - 1) {
        const unsigned t = warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes);
        join(row_of(watch, t), clock->time, order_width(watch));
        if (watch->order.fences) join(fenced_of(watch, t), clock->fenced, order_width(watch));
    }
}

void cudev_order_learn(struct watch* watch, unsigned thread, unsigned other, uint64_t time) {
    uint32_t* row = row_of(watch, thread);
    watch->order.by_rows = true;
    if (row[other] < time >> SLOT_TIME_SHIFT) row[other] = (uint32_t)(time >> SLOT_TIME_SHIFT);
}

void cudev_order_tell(struct watch* watch, struct cudev_clock* clock, unsigned thread,
                      uint64_t time) {
    begin_clock(watch, clock);
    clock->time[thread] = (uint32_t)(time >> SLOT_TIME_SHIFT);
}

static struct watch* checking(void) {
    struct worker* w = cudev_self;
    return w && w->watch && w->watch->check ? w->watch : NULL;
}

void cudev_release(struct cudev_clock* clock) {
    struct watch* watch = checking();
    if (!watch) return;
    unsigned t = watch->worker->current;
    cudev_order_release(watch, clock, t / WARP_SIZE, 1u << t % WARP_SIZE);
}

void cudev_acquire(const struct cudev_clock* clock) {
    struct watch* watch = checking();
    if (!watch) return;
    unsigned t = watch->worker->current;
    cudev_order_acquire(watch, clock, t / WARP_SIZE, 1u << t % WARP_SIZE);
}
