// An array for textures.
#ifndef CUDEV_ANY_ARRAYS_H
#define CUDEV_ANY_ARRAYS_H

#include <stdbool.h>
#include "cpu/any/include/cudev/any_api.h"

struct cudaArray {
    struct cudaChannelFormatDesc channels;
    struct cudaExtent extent;  // as it was asked for: 0 is no dimension
    void* data;
    size_t element;               // bytes
    size_t width, height, depth;  // elements, rows, layers; at least 1
};

// Bytes of an element with these channels; 0: there is no such element.
size_t cudev_element_bytes(const struct cudaChannelFormatDesc* channels);

#endif
