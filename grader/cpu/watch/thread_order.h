// Order between the threads of one block.
#ifndef CUDEV_THREAD_ORDER_H
#define CUDEV_THREAD_ORDER_H

#include "cpu/include/cudev/watching.h"
#include "cpu/watch/watch.h"

void cudev_order_barrier(struct watch* watch);  // __syncthreads() opens
void cudev_order_warp_barrier(struct watch* watch, unsigned warp, uint32_t lanes);
// Lanes of a warp put their knowledge into the clock, or learn all knowledge that is in the clock.
void cudev_order_release(struct watch* watch, struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes);
void cudev_order_acquire(struct watch* watch, const struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes);

// The accesses of thread `other` up to this time come before the present accesses of `thread`.
// Inline, because many accesses ask.
static inline uint64_t cudev_order_known(struct watch* watch, unsigned thread, unsigned other) {
    if (thread == other) return ~(uint64_t)0;
    uint64_t known = watch->shared_floor;
    if (thread / WARP_SIZE == other / WARP_SIZE &&
        watch->order.warp_floor[thread / WARP_SIZE] > known)
        known = watch->order.warp_floor[thread / WARP_SIZE];
    if (watch->order.row_block[thread] == watch->block_floor) {
        uint64_t time = (uint64_t)watch->order.row[thread][other] << SLOT_TIME_SHIFT;
        if (time > known) known = time;
    }
    return known;
}

#endif
