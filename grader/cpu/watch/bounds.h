// Where arrays end, whether their bytes have been written, and whose memory an address is.
#ifndef CUDEV_BOUNDS_H
#define CUDEV_BOUNDS_H

#include "cpu/include/cudev/watching.h"
#include "cpu/watch/watch.h"

// ---- what is known of memory -------------------------------------------------------------------

void cudev_bounds_own(uint64_t offset, size_t bytes);  // an array lies there from now on
void cudev_bounds_disown(uint64_t offset, size_t bytes);
void cudev_bounds_written(uint64_t offset, size_t bytes);
void cudev_bounds_unwritten(uint64_t offset, size_t bytes);
// The API function copies; src is NULL for a fill. Reports bytes that the host gets although nobody
// has written them.
void cudev_bounds_copies(const char* function, const void* dst, const void* src, size_t bytes);

// ---- mistakes: each makes a finding -------------------------------------------------------------

// No array owns these bytes. Returns true if the access may be made nevertheless; otherwise stops
// the launch.
bool cudev_bounds_stray(struct watch* watch, uint64_t offset, size_t bytes,
                        enum cudev_access access, const void* pc);
void cudev_bounds_uninitialised(struct watch* watch, uint64_t offset, size_t bytes,
                                enum cudev_access access, const void* pc);
// These two do not return: they stop the launch.
void cudev_bounds_misaligned(struct watch* watch, uint64_t offset, size_t bytes,
                             enum cudev_access access, const void* pc);
void cudev_bounds_foreign(struct watch* watch, const volatile void* p, size_t bytes,
                          enum cudev_access access, const void* pc);
// An index beyond the declared size of a dimension, of type "float [16]", at file:line.
void cudev_bounds_index(long long index, const char* type, const char* file, int line,
                        const void* pc);

// An access to a row that lies far from others, see far.h: its offset, that of the row nearby. Does
// not return if no row lies there.
uint64_t cudev_bounds_far(struct watch* watch, const volatile void* p, size_t bytes,
                          enum cudev_access access, const void* pc);

// A write to an array that is read-only.
void cudev_bounds_read_only(struct watch* watch, uint64_t offset, size_t bytes,
                            enum cudev_access access, const void* pc);

// Which memory is read-only: bit i of byte n is the piece 8 n + i. No two arrays of global memory
// share a piece while checks are on.
enum { PIECE_SHIFT = 12 };
extern uint8_t cudev_read_only[(HOST_SPACE + HEAP_SPACE) >> (PIECE_SHIFT + 3)];
static inline bool cudev_is_read_only(uint64_t offset) {
    return offset < HOST_OFFSET &&
           cudev_read_only[offset >> (PIECE_SHIFT + 3)] >> (offset >> PIECE_SHIFT & 7) & 1;
}

#endif
