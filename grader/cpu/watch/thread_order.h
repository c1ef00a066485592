// Order between the threads of one block.
#ifndef CUDEV_THREAD_ORDER_H
#define CUDEV_THREAD_ORDER_H

#include "cpu/include/cudev/watching.h"
#include "cpu/watch/watch.h"

void cudev_order_barrier(struct watch* watch);  // __syncthreads() opens
void cudev_order_warp_barrier(struct watch* watch, unsigned warp, uint32_t lanes);
// Lanes of a warp put what they know into the clock, or learn all that is in it.
void cudev_order_release(struct watch* watch, struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes);
void cudev_order_acquire(struct watch* watch, const struct cudev_clock* clock, unsigned warp,
                         uint32_t lanes);
// The time up to which the accesses of thread `other` come before what `thread` does now.
uint64_t cudev_order_known(struct watch* watch, unsigned thread, unsigned other);

#endif
