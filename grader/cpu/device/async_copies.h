// Asynchronous copies of the threads of a block.
#ifndef CUDEV_ASYNC_COPIES_H
#define CUDEV_ASYNC_COPIES_H

#include "cpu/device/worker.h"

void cudev_async_copies_create(struct worker* w);  // once for each worker
void cudev_async_copies_begin(struct worker* w);   // a block begins: nothing is under way

#endif
