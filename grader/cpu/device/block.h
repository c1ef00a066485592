// One block of a launch.
#ifndef CUDEV_BLOCK_H
#define CUDEV_BLOCK_H

#include "cpu/device/worker.h"

// Runs the block with this linear index.
void cudev_run_block(struct worker* w, uint64_t block);
// For watchers: ends the running block and starts no other block. The launch returns `error`, and
// the error stays.
void cudev_stop_launch(struct worker* w, cudaError_t error) __attribute__((noreturn));

#endif
