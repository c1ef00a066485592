// The barrier of a block.
#ifndef CUDEV_BARRIER_H
#define CUDEV_BARRIER_H

#include "cpu/device/worker.h"

// A thread has returned from the kernel, others have not. Ends the program if all of those wait at
// the barrier: it can never open.
void cudev_barrier_left(struct worker* w);

#endif
