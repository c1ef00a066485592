// Order between threads of any blocks that synchronise through memory: fences and atomics.
#ifndef CUDEV_FENCE_ORDER_H
#define CUDEV_FENCE_ORDER_H

#include "cpu/watch/watch.h"

void cudev_order_launch(void);                // a launch begins
void cudev_order_block(struct watch* watch);  // a block begins
// The running thread makes an atomic or volatile access.
void cudev_order_sync(struct watch* watch, uint64_t offset, bool reads, bool writes);
// An access to `offset` was made earlier in this launch; `earlier` is its slot. Is it ordered, by
// way of memory, before the present access of `thread`?
bool cudev_order_covers(struct watch* watch, uint64_t offset, uint64_t earlier, unsigned thread);
// The block that ran at that time of this launch; false if none had begun.
bool cudev_order_block_at(uint64_t time, uint64_t* block);

#endif
