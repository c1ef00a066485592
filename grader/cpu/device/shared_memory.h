// Shared memory of the block that a worker runs, or of the blocks of a cluster, which share the
// worker's window.
#ifndef CUDEV_SHARED_MEMORY_H
#define CUDEV_SHARED_MEMORY_H

#include "cpu/device/worker.h"

struct shared_memory {
    char* window;         // SHARED_WINDOW bytes, or the block's part of them
    size_t used;          // bytes of it
    size_t static_bytes;  // of __shared__ arrays, without dynamic memory and guards
    const struct cudev_shared_array* dynamic;  // how the kernel declares it; NULL: not known
    const struct cudev_member* members;  // of the structure that lies over it; NULL: not known
    // the arrays of this block in the order of first use
    unsigned declared_count;
    const struct cudev_shared_array* declared[MAX_SHARED_ARRAYS];
    uint64_t generation;  // number of the block
    struct {
        uint64_t generation;  // of the block for which `data` holds
        void* data;
    } place[MAX_SHARED_ARRAYS];  // by id
};

unsigned cudev_shared_id(const struct cudev_shared_array* array);  // from 1
void cudev_shared_map(struct worker* w);  // once for each worker; ends the program on failure
void cudev_shared_open(struct worker* w, bool open);  // closed between launches
void cudev_shared_begin(struct worker* w);            // a block begins: fresh memory
void cudev_shared_end(struct worker* w);              // a block ends: checks the guards
// Bytes of the window for each block.
static inline size_t cudev_window_of_block(const struct worker* w) {
    return SHARED_WINDOW / w->launch->cluster;
}
// The memory around p, which is in the window.
static inline struct shared_memory* cudev_shared_around(const struct worker* w, const void* p) {
    size_t at = (size_t)((const char*)p - w->shared->window);
    return &w->shared[at < SHARED_WINDOW ? at / cudev_window_of_block(w) : 0];
}
// The member at p of the structure that lies over dynamic shared memory; NULL: not known.
const struct cudev_member* cudev_member_at(const struct worker* w, const void* p);
// The name of what lies at p, in the shared memory of this block: "full[1]".
void cudev_shared_name(const struct worker* w, const void* p, char* text, size_t size);

static inline bool cudev_in_window(const struct worker* w, const void* p, unsigned bytes) {
    return (size_t)((const char*)p - w->shared->window) <= SHARED_WINDOW - bytes;
}

#endif
