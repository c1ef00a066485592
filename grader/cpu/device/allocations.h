// The allocations of device memory and of pinned host memory.
#ifndef CUDEV_ALLOCATIONS_H
#define CUDEV_ALLOCATIONS_H

#include <stdbool.h>
#include "cpu/device/limits.h"
#include "cpu/include/cuda_runtime_api.h"

struct allocation {
    char* data;
    size_t bytes;
    const char* file;  // of the cudaMalloc, NULL when unknown
    int line;
    unsigned number;  // 1 for the first cudaMalloc of the program
    enum cudaMemoryType type;
    size_t gap;  // bytes behind the guard that stay unused while a watcher looks
    // cudev_name_allocation(): NULL or the name of named_bytes bytes at data + named_at
    const char* name;
    size_t named_at, named_bytes;
};

// Guard bytes lie around each allocation.
enum { ALIGNMENT = 256, FRONT_GUARD = 256, BACK_GUARD = 4096 };

struct pool {
    char* base;
    size_t space;              // bytes of address space
    size_t limit;              // bytes that may be allocated
    size_t used, peak;         // bytes that are allocated now, and the most so far
    size_t top;                // bytes from base to the end of the highest allocation ever
    struct allocation* table;  // sorted by address
    size_t count, capacity;
};

extern struct pool cudev_heap;    // cudaMalloc
extern struct pool cudev_pinned;  // cudaMallocHost and cudaMallocManaged
extern struct pool cudev_hollow;  // cudaMalloc of much, of which little is used: cudev_run_few()

static inline size_t cudev_round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

// ---- questions ---------------------------------------------------------------------------------

// In the address space of the heap or of hollow allocations, allocated or not.
bool cudev_is_device_address(const void* p);
struct pool* cudev_pool_of(const void* p);  // NULL: in no pool's address space
// The allocation with p inside it or its guards; NULL if there is none.
const struct allocation* cudev_allocation_at(const void* p);
// The allocation that p was in, or that began at p, before it was freed; NULL if it is not
// remembered.
const struct allocation* cudev_freed_at(const void* p);
const struct allocation* cudev_freed_from(const void* p);
size_t cudev_back_guard(const struct allocation* a);            // bytes of the guard behind it
const char* cudev_allocation_call(const struct allocation* a);  // "cudaMalloc"
// A source file that has called cudaMalloc; NULL if there is none.
const char* cudev_allocation_file(void);
// "byte 4000 of the 4000 bytes cudaMalloc'ed at k.cu:11". An address in no allocation is described
// as so many bytes past the allocation before it, if there is one: then true is returned.
bool cudev_describe_address(char* text, size_t size, const void* p);

// ---- changes -----------------------------------------------------------------------------------

// Puts an allocation into the table as number `position`; false if there is no memory for the
// table.
bool cudev_allocation_add(struct pool* pool, size_t position, const struct allocation* a);
// Takes the allocation out of the table and remembers it as freed.
void cudev_allocation_remove(struct pool* pool, size_t position);

#endif
