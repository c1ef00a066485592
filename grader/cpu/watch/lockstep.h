// From accesses of threads to requests of warps.
#ifndef CUDEV_LOCKSTEP_H
#define CUDEV_LOCKSTEP_H

#include "cpu/watch/watch.h"

void cudev_lockstep_block(struct watch* watch);  // a block begins: all logs are free
// A thread of another warp than watch->logs.warp runs now.
void cudev_lockstep_change_warp(struct watch* watch);
void cudev_lockstep_log_full(struct watch* watch);   // the log of the current lane has no room
void cudev_lockstep_merge_all(struct watch* watch);  // at a barrier, and at the end of a block

#endif
