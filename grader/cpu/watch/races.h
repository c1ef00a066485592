// Races: two accesses to the same byte, at least one a write, with nothing that orders them.
#ifndef CUDEV_RACES_H
#define CUDEV_RACES_H

#include "cpu/include/cudev/watching.h"
#include "cpu/watch/watch.h"

// ---- race.c -------------------------------------------------------------------------------------

// The access `me`, a slot (watch.h), to bytes of the word at `offset`.
void cudev_race_access(struct watch* watch, uint64_t offset, uint64_t me, bool write);
// A copy arrives at the word; left: nobody has waited for it, and the block is over. It is a race
// if somebody has written there since the copy was issued.
void cudev_race_overwritten(struct watch* watch, uint64_t offset, uint64_t me, bool left);
// The read `me`, by way of a cache that hears of no write: is the word one that this launch has
// written? Then no order helps.
void cudev_race_cached(struct watch* watch, uint64_t offset, uint64_t me);

// ---- thread_order.c: order between the threads of one block -------------------------------------

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

// Up to the returned time, as far as `thread` knows, the writes of thread `other` come before a
// fence between the proxies; and so before what TMA and wgmma do for `thread` from now on.
uint64_t cudev_order_fenced(struct watch* watch, unsigned thread, unsigned other);
void cudev_order_fence_proxy(struct watch* watch);  // the running thread calls the fence
// `thread` learns what `other` did up to this time.
void cudev_order_learn(struct watch* watch, unsigned thread, unsigned other, uint64_t time);
// The clock learns what `thread` did up to this time.
void cudev_order_tell(struct watch* watch, struct cudev_clock* clock, unsigned thread,
                      uint64_t time);

// ---- fence_order.c: order by way of memory: fences and atomics ----------------------------------

void cudev_order_launch(void);                // a launch begins
void cudev_order_block(struct watch* watch);  // a block begins
// The running thread makes an atomic or volatile access.
void cudev_order_sync(struct watch* watch, uint64_t offset, bool reads, bool writes);
// An access to `offset` was made earlier in this launch; `earlier` is its slot. Is it ordered, by
// way of memory, before the present access of `thread`? `strong`: a write, a volatile access or an
// atomic; ordinary reads need a fence behind what the thread has seen.
bool cudev_order_covers(struct watch* watch, uint64_t offset, uint64_t earlier, unsigned thread,
                        bool strong);
// Some blocks with numbers of this group (watch.h) ran at `since`, an earlier time of this launch,
// or later. True if the running block is not one of them and the thread has acquired no release of
// theirs. *block: the earliest of these blocks.
bool cudev_order_unknown_block(struct watch* watch, uint64_t since, unsigned group, unsigned thread,
                               bool strong, uint64_t* block);
// The running thread calls a fence between the proxies for global memory. Has anybody done so since
// `earlier`, the slot of a write of a thread?
void cudev_order_fence_global(struct watch* watch);
static inline bool cudev_order_fenced_global(const struct watch* watch, uint64_t earlier) {
    return earlier < watch->fences.global;
}
// The running thread has added `more` to a flag, behind a fence; it looks at one.
void cudev_order_flag_added(struct watch* watch, uint64_t offset, int before, int more);
bool cudev_order_flag_is_late(struct watch* watch, uint64_t offset, const int* flag, int* value);
// The block that ran at that time of this launch; false if none had begun.
bool cudev_order_block_at(uint64_t time, uint64_t* block);

#endif
