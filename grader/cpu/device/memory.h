// Device memory as a whole, and the lock of the API.
#ifndef CUDEV_MEMORY_H
#define CUDEV_MEMORY_H

#include <stdbool.h>
#include "cpu/device/allocations.h"

// Reserves the address space; repeated calls do nothing. Returns false, with a sentence on stderr,
// if there is not enough address space.
bool cudev_memory_init(void);
// Kernels and copies may touch device memory from open to close; the calls nest.
void cudev_memory_open(void);
void cudev_memory_close(void);
// While it is open: the pool reaches to `top` now.
void cudev_memory_grow(struct pool* pool, size_t top);
// One CUDA call at a time; the same host thread may enter again.
void cudev_lock(void);
void cudev_unlock(void);
// End the program if a guard byte has changed: of any allocation, or of allocation `a`. when: for
// the report.
void cudev_memory_check(const char* when);
void cudev_memory_check_allocation(const struct allocation* a, const char* when);
// Is it global memory that is mapped? The watchers and the guards check the exact bounds.
bool cudev_in_global(const char* p);
// For cudev_get_stats(): bytes.
void cudev_count_launch(void);
void cudev_count_copy(size_t to_device, size_t to_host);

#endif
