// Races: two accesses to the same byte, at least one a write, with nothing that orders them.
#ifndef CUDEV_RACE_H
#define CUDEV_RACE_H

#include "cpu/watch/watch.h"

// The access `me`, a slot (watch.h), to bytes of the word at `offset`.
void cudev_race_access(struct watch* watch, uint64_t offset, uint64_t me, bool write);
// A copy arrives at the word. It is a race if somebody has written there since the copy was issued.
void cudev_race_overwritten(struct watch* watch, uint64_t offset, uint64_t me);

#endif
