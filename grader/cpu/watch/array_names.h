// The names of arrays and of their elements.
#ifndef CUDEV_ARRAY_NAMES_H
#define CUDEV_ARRAY_NAMES_H

#include "cpu/device/worker.h"

struct array_name {
    char name[80];        // "As", "A"
    char element[120];    // "As[0][1]"
    char origin[240];     // "As: __shared__, 16 x 16 elements of 4 bytes, k.cu:8"
    bool dynamic;         // shared memory that the launch asks for
    uint64_t begin, end;  // offsets
    unsigned id;          // the same for the same declaration or argument of one kernel; not 0
};

// Names the array at `offset`, to which `bytes` bytes are accessed. w: the worker whose shared
// memory it may be in; NULL: host code asks.
void cudev_name_array(struct array_name* n, const struct worker* w, uint64_t offset, size_t bytes);
// Names the member there of a structure that lies over dynamic shared memory, if that is known.
void cudev_name_member(struct array_name* n, const struct worker* w, uint64_t offset);
// Remembers a pointer argument of the next launch: see struct cudev_watcher.
void cudev_names_argument(const struct cudev_launch_site* site, int index, const void* p,
                          size_t bytes);

#endif
