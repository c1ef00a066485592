// Threads beyond those of the block: TMA and the warpgroups count as threads of their own, so that
// a slot can say that it was them, and a row of times when a thread knows what they did.
#ifndef CUDEV_BEYOND_H
#define CUDEV_BEYOND_H

#include "cpu/device/hopper.h"
#include "cpu/watch/watch.h"

enum { BEYOND = 2 + MAX_WARPGROUPS };  // TMA that loads, TMA that stores, and the warpgroups

static inline unsigned beyond_of(const struct watch* watch) {
    return (watch->worker->launch->threads + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
}
static inline unsigned thread_of_tma(const struct watch* watch) {
    return beyond_of(watch);
}
static inline unsigned thread_of_stores(const struct watch* watch) {
    return beyond_of(watch) + 1;
}
static inline unsigned thread_of_warpgroup(const struct watch* watch, unsigned warpgroup) {
    return beyond_of(watch) + 2 + warpgroup;
}
// How many threads rows of times are kept for.
static inline unsigned order_width(const struct watch* watch) {
    unsigned width = beyond_of(watch) + BEYOND;
    return width < MAX_THREADS ? width : MAX_THREADS;
}

#endif
