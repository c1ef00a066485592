// Findings of the order between threads, TMA and wgmma (FOUND_ASYNC).
#ifndef CUDEV_ASYNC_FINDING_H
#define CUDEV_ASYNC_FINDING_H

#include "cpu/device/hopper.h"
#include "cpu/watch/watch.h"

// One of the two sides: who does what at which instruction. thread: maybe one beyond, see beyond.h.
struct side {
    unsigned site, thread;
    const char* deed;  // "loads by TMA"; NULL: there is no second side
};
struct side cudev_side_of(const struct watch* watch, uint64_t slot, bool writes);
struct side cudev_side_of_copy(const struct watch* watch, const struct bulk_copy* c);

// A finding about what lies at p in shared memory; NULL: about registers.
void cudev_async_found(struct watch* watch, const char* p, struct side later, struct side earlier,
                       const char* why, const char* next);
// The next step, for `next`.
extern const char cudev_wait_first[], cudev_hand_back[];

// The access `me` of a thread to the word at `offset` is not ordered behind `earlier`, of TMA or
// wgmma.
void cudev_async_race(struct watch* watch, uint64_t offset, uint64_t earlier, bool earlier_writes,
                      uint64_t me, bool writes);
// A thread reads, at pc, bytes that nobody has written. Is a load on its way there? Then that is
// the finding.
bool cudev_async_reads_early(struct watch* watch, uint64_t offset, const void* pc);

#endif
