// Arrays whose rows lie far apart: see cudev_spread() (cudev.h).
#ifndef CUDEV_FAR_H
#define CUDEV_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include "cpu/device/limits.h"

// The thing at an address among such rows.
struct far_place {
    enum {
        FAR_ROW,      // a byte of a row
        FAR_WRAPPED,  // nothing; but a byte of a row lies some units behind it
        FAR_NOTHING,
    } is;
    char* near;       // the byte, and the row, in the packed array; NULL for FAR_NOTHING
    size_t index[3];  // of the row
    size_t lost;      // FAR_WRAPPED: so many units
};

static inline bool cudev_is_far(const volatile void* p) {
    return (size_t)((const volatile char*)p - FAR_BASE) < FAR_SPACE;
}

// cudev_spread(), of shared memory.
void* cudev_far_map(void* p, const size_t count[3], size_t row_bytes, size_t pitch, size_t unit);

// Where `bytes` bytes at the far address p lie.
struct far_place cudev_far_at(const volatile void* p, size_t bytes);

// The same bytes in the packed array; NULL if they are not within a row. p itself if it is not far.
void* cudev_near(const void* p, size_t bytes);

// Only kernels follow far addresses, from open to close: copies take the packed array.
void cudev_far_open(bool open);

#endif
