// What grader/cpu/any adds to the device where it is linked: never to a graded program.
#ifndef CUDEV_ANY_H
#define CUDEV_ANY_H

#include <stdbool.h>
#include "cpu/include/cuda_runtime_api.h"

// Are these bytes of the program's own memory that kernels may use: of managed variables, or
// registered? Call cudev_shares(), which says no where nothing is added.
bool cudev_any_shares(const void* p, size_t bytes) __attribute__((weak));
static inline bool cudev_shares(const void* p, size_t bytes) {
    return cudev_any_shares && cudev_any_shares(p, bytes);
}

// The memory of an array for textures, and the bytes of its elements.
struct cudaPitchedPtr cudev_any_array(const struct cudaArray* array, size_t* element)
    __attribute__((weak));

// What a failed assert() of a kernel does: it ends the launch with cudaErrorAssert, as on a GPU,
// and the program goes on. Where this is not defined, the program ends.
void cudev_any_assert(const char* condition, const char* file, unsigned line, const char* function)
    __attribute__((weak));

#endif
