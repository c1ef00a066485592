// The barrier of a block.
#ifndef CUDEV_BARRIER_H
#define CUDEV_BARRIER_H

#include "cpu/device/worker.h"

// Ends the program: some threads wait at the barrier, all others have returned.
void cudev_barrier_abandoned(struct worker* w) __attribute__((noreturn));

#endif
