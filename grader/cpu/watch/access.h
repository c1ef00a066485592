// Accesses to memory that the compiler does not announce as plain loads and stores.
#ifndef CUDEV_ACCESS_H
#define CUDEV_ACCESS_H

#include "cpu/include/cudev/watching.h"
#include "cpu/watch/watch.h"

// In this file pc is the address to which the call in the kernel returns: it stands for the access.

// One access of 1, 2, 4, 8 or 16 bytes. Does not return if the access must not be made.
void cudev_access(const volatile void* p, size_t bytes, enum cudev_access access, const void* pc);
// Bytes that the type does not align: structures, memcpy(). A GPU moves them in pieces of 4 bytes,
// or in smaller pieces where the address asks for it.
void cudev_access_range(const volatile void* p, size_t bytes, enum cudev_access access,
                        const void* pc);
// Called before a read of the bytes by __ldg().
void cudev_access_cached(const volatile void* p, size_t bytes, const void* pc);

// ---- the device's own instructions: see struct cudev_watcher ------------------------------------

// The running thread issues a copy that arrives later. It asks for a whole piece of `bytes` bytes,
// but touches only `used` of them.
void cudev_access_copy(struct worker* w, const void* to, const void* from, unsigned bytes,
                       unsigned used, const void* pc);
// The copy arrives; pc is the address of its issue.
void cudev_access_arrival(struct worker* w, const void* to, const void* from, unsigned bytes,
                          unsigned used, const void* pc);
// The block is over, and nobody has waited for the copy of this thread.
void cudev_access_left(struct worker* w, unsigned thread, const void* to, unsigned bytes,
                       const void* pc);
// A lane loads, or stores, 16 bytes for its warp.
void cudev_access_matrix_row(struct worker* w, const void* row, const void* pc);
void cudev_access_matrix_row_stored(struct worker* w, const void* row, const void* pc);
// Checks an access of up to 16 bytes, from a multiple of 4 or 2 of them, that is made on behalf of
// `thread`.
void cudev_access_for(struct worker* w, unsigned thread, const void* p, unsigned bytes,
                      enum cudev_access access, const void* pc);

#endif
