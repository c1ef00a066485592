// The async proxy: what TMA and wgmma do to shared memory by themselves, and what orders it with
// the accesses of threads.
//
// TMA and the warpgroups of a block count as threads beyond its own, so that a slot can say that it
// was them, and a row of times when a thread knows what they did.
#ifndef CUDEV_ASYNC_ORDER_H
#define CUDEV_ASYNC_ORDER_H

#include "cpu/device/hopper.h"
#include "cpu/watch/watch.h"

// ---- the threads beyond: those of the last warp that are missing stay unused -------------------

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

// ---- order of proxies: thread_order.c ----------------------------------------------------------

// What thread `other` has written up to this time comes, as far as `thread` knows, before a fence
// between the proxies; and so before what TMA and wgmma do for `thread` from now on.
uint64_t cudev_order_fenced(struct watch* watch, unsigned thread, unsigned other);
void cudev_order_fence_proxy(struct watch* watch);  // the running thread calls the fence
// `thread` learns what `other` did up to this time.
void cudev_order_learn(struct watch* watch, unsigned thread, unsigned other, uint64_t time);
// The clock learns what `thread` did up to this time.
void cudev_order_tell(struct watch* watch, struct cudev_clock* clock, unsigned thread,
                      uint64_t time);

// ---- the events of struct cudev_watcher --------------------------------------------------------

void cudev_async_mbarrier_made(struct worker* w, void* bar, const void* pc);
void cudev_async_mbarrier_used(struct worker* w, const struct mbarrier* b, const void* pc,
                               bool by_tma);
uint64_t cudev_async_issued(struct worker* w, const struct bulk_copy* c);
void cudev_async_lands(struct worker* w, const struct bulk_copy* c);
void cudev_async_reads(struct worker* w, const struct bulk_copy* c);
void cudev_async_writes(struct worker* w, const struct bulk_copy* c);
void cudev_async_left(struct worker* w, const struct bulk_copy* c);
void cudev_async_product_issued(struct worker* w, struct product* p, unsigned warp, bool first,
                                bool unfenced);
void cudev_async_product_computed(struct worker* w, struct product* p);
void cudev_async_products_waited(struct worker* w, unsigned warp, const struct product* last);
void cudev_async_touched(struct worker* w, const struct product* p, unsigned warp, bool is_D);
// The access `me` of a thread to the word at `offset` is not ordered behind `earlier`, of TMA or
// wgmma.
void cudev_async_race(struct watch* watch, uint64_t offset, uint64_t earlier, bool earlier_writes,
                      uint64_t me, bool writes);
// A thread reads, at pc, what nobody has written. Is a load on its way there? Then that is the
// finding.
bool cudev_async_reads_early(struct watch* watch, uint64_t offset, const void* pc);

#endif
