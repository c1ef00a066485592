// The additions of grader/cpu/any to the device where it is linked: never to a graded program.
#ifndef CUDEV_DEVICE_ANY_H
#define CUDEV_DEVICE_ANY_H

#include <stdbool.h>
#include "cpu/include/cuda_runtime_api.h"

// Are these bytes of the program's own memory that kernels may use: of managed variables, or
// registered? Call cudev_shares(), which says no where nothing is added.
bool cudev_any_shares(const void* p, size_t bytes) __attribute__((weak));
static inline bool cudev_shares(const void* p, size_t bytes) {
    return cudev_any_shares && cudev_any_shares(p, bytes);
}

// Is told of each finding that is printed.
void cudev_any_found(void) __attribute__((weak));

// Do these bytes lie in the heap of kernels, from which malloc() and new take? Kernels may use
// them, and copies may not.
bool cudev_any_heap(const void* p, size_t bytes) __attribute__((weak));
static inline bool cudev_in_heap(const void* p, size_t bytes) {
    return cudev_any_heap && cudev_any_heap(p, bytes);
}
// malloc(), free(), new and delete of a .cu: the heap's in a kernel, the host's elsewhere.
void* cudev_any_malloc(size_t bytes);
void cudev_any_free(void* p);
void* cudev_any_new(size_t bytes);
void* cudev_any_new_array(size_t bytes);
void cudev_any_delete(void* p);
void cudev_any_delete_array(void* p);
void cudev_any_delete_sized(void* p, size_t bytes);
void cudev_any_delete_array_sized(void* p, size_t bytes);

// The memory of an array for textures, and the bytes of its elements.
struct cudaPitchedPtr cudev_any_array(const struct cudaArray* array, size_t* element)
    __attribute__((weak));

// A failed assert() of a kernel calls it: it ends the launch with cudaErrorAssert, as on a GPU, and
// the program goes on. If it is not defined, the program ends.
void cudev_any_assert(const char* condition, const char* file, unsigned line, const char* function)
    __attribute__((weak));

#endif
