// Order between a launch and those before it that it may overlap with.
#ifndef CUDEV_OVERLAP_H
#define CUDEV_OVERLAP_H

#include "cpu/watch/watch.h"

// A launch begins now; overlaps: maybe before the one before it has ended. Sets launch_floor.
void cudev_overlap_launch(struct watch* watch, bool overlaps);
// The running thread calls griddep_wait().
void cudev_overlap_wait(struct watch* watch);
// Accesses to global memory before that time come before what the thread does now; of later ones of
// launches before, cudev_overlap_ordered() knows.
uint64_t cudev_overlap_floor(struct watch* watch, unsigned thread);
bool cudev_overlap_ordered(struct watch* watch, unsigned thread, uint64_t earlier);
// A finding: the access `me` to the word at `offset` is not ordered behind `earlier`, of a launch
// before.
void cudev_overlap_found(struct watch* watch, uint64_t offset, uint64_t earlier,
                         bool earlier_writes, uint64_t me, bool writes);

#endif
