// Counting memory traffic as the hardware would: for each warp, not for each thread.
#ifndef CUDEV_PROFILE_H
#define CUDEV_PROFILE_H

#include "cpu/watch/watch.h"

void cudev_profile_launch_begins(const struct launch* l);
void cudev_profile_launch_ends(void);
void cudev_profile_block_begins(struct watch* watch);
void cudev_profile_block_ends(struct watch* watch);
void cudev_profile_barrier(struct watch* watch);        // __syncthreads() opens
void cudev_profile_named_barrier(struct watch* watch);  // a named barrier opens
// A warp multiplies matrices.
void cudev_profile_count_mma(struct watch* watch, const void* pc);
// An array of shared memory has got its place.
void cudev_profile_shared_array(struct watch* watch, const char* data, size_t bytes, unsigned id);

#endif
