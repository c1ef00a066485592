// The async proxy: what TMA and wgmma do to shared memory by themselves, and what orders it with
// the accesses of threads.
#ifndef CUDEV_ASYNC_ORDER_H
#define CUDEV_ASYNC_ORDER_H

#include "cpu/device/hopper.h"
#include "cpu/watch/watch.h"

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
void cudev_async_touched(struct worker* w, const struct product* p, bool is_D);

#endif
