// Named barriers of a block.
#ifndef CUDEV_NAMED_BARRIERS_H
#define CUDEV_NAMED_BARRIERS_H

#include "cpu/device/worker.h"

void cudev_named_barriers_create(struct worker* w);  // once for each worker
void cudev_named_barriers_begin(struct worker* w);   // a block begins: all are closed and empty
// Adds to a report the barriers that have not opened.
void cudev_named_barriers_report(const struct worker* w);

#endif
