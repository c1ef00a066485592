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

void cudev_order_barrier(struct watch* watch) {
    watch->now += ONE_TICK;
    watch->shared_floor = watch->now;
    watch->order.by_rows = false;
    if (watch->fences.last > watch->block_floor) watch->fences.before_barrier = true;
}

// The row of a thread, empty if it has none in this block yet.
static uint32_t* row_of(struct watch* watch, unsigned thread) {
    uint32_t* row = watch->order.row[thread];
    if (watch->order.row_block[thread] != watch->block_floor) {
        watch->order.row_block[thread] = watch->block_floor;
        for (unsigned u = 0; u < watch->worker->launch->threads; u++) row[u] = 0;
    }
    return row;
}

static void join(uint32_t* into, const uint32_t* from, unsigned threads) {
    for (unsigned u = 0; u < threads; u++)
        if (from[u] > into[u]) into[u] = from[u];
}

// From now on each of the lanes knows what all of them knew and did.
static void join_lanes(struct watch* watch, unsigned warp, uint32_t lanes) {
    unsigned threads = watch->worker->launch->threads, first = warp * WARP_SIZE;
    uint32_t* sum = row_of(watch, first + (unsigned)__builtin_ctz(lanes));
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned t = first + (unsigned)__builtin_ctz(rest);
        join(sum, row_of(watch, t), threads);
        sum[t] = (uint32_t)(watch->now >> SLOT_TIME_SHIFT);
    }
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1)
        join(row_of(watch, first + (unsigned)__builtin_ctz(rest)), sum, threads);
}

void cudev_order_warp_barrier(struct watch* watch, unsigned warp, uint32_t lanes) {
    watch->now += ONE_TICK;
    if (lanes == watch->worker->live[warp])
        watch->order.warp_floor[warp] = watch->now;
    else
        watch->order.by_rows = true;
    if (watch->order.by_rows) join_lanes(watch, warp, lanes);
}

// Puts into the clock all that thread `t` knows, and all that it did.
static void release(struct watch* watch, struct cudev_clock* clock, unsigned t) {
    unsigned threads = watch->worker->launch->threads, first = t / WARP_SIZE * WARP_SIZE;
    uint32_t block = (uint32_t)(watch->shared_floor >> SLOT_TIME_SHIFT);
    uint32_t warp = (uint32_t)(watch->order.warp_floor[t / WARP_SIZE] >> SLOT_TIME_SHIFT);
    for (unsigned u = 0; u < threads; u++)
        if (clock->time[u] < block) clock->time[u] = block;
    for (unsigned u = first; u < first + WARP_SIZE; u++)
        if (clock->time[u] < warp) clock->time[u] = warp;
    if (watch->order.row_block[t] == watch->block_floor)
        join(clock->time, watch->order.row[t], threads);
    clock->time[t] = (uint32_t)(watch->now >> SLOT_TIME_SHIFT);
}

void cudev_order_release(struct watch* watch, struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes) {
    if (clock->block != watch->block_floor) {
        memset(clock->time, 0, sizeof clock->time);
        clock->block = watch->block_floor;
    }
    watch->now += ONE_TICK;
    for (; lanes; lanes &= lanes - 1)
        release(watch, clock, warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes));
}

void cudev_order_acquire(struct watch* watch, const struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes) {
    if (clock->block != watch->block_floor) return;
    watch->order.by_rows = true;
    for (; lanes; lanes &= lanes - 1)
        join(row_of(watch, warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes)), clock->time,
             watch->worker->launch->threads);
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
