// Arrays for textures and surfaces: device memory with a shape. A row is as long as its elements,
// so that a copy may go through the rows of a layer as through one.
#include <stdlib.h>
#include "cpu/any/arrays.h"
#include "cpu/device/any.h"
#include "cpu/device/errors.h"

struct cudaChannelFormatDesc cudev_channels(int x, int y, int z, int w,
                                            enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

size_t cudev_element_bytes(const struct cudaChannelFormatDesc* c) {
    const int count = (c->x > 0) + (c->y > 0) + (c->z > 0) + (c->w > 0);
    const bool equal =
        (!c->y || c->y == c->x) && (!c->z || c->z == c->x) && (!c->w || c->w == c->x);
    const bool known =
        c->x == 32 || (c->f != cudaChannelFormatKindFloat && (c->x == 8 || c->x == 16));
    return equal && known && count != 3 && (unsigned)c->f < cudaChannelFormatKindNone
               ? (size_t)(c->x / 8 * count)
               : 0;
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                              struct cudaExtent extent, unsigned flags) {
    if (!array || !channels) return cudev_null(__func__);
    const size_t element = cudev_element_bytes(channels);
    if (!element)
        return cudev_fail(
            cudaErrorInvalidChannelDescriptor, __func__,
            "channels of %d, %d, %d, %d bits: there are 1, 2 or 4 of 8, 16 or 32 bits "
            "(floats: 32)",
            channels->x, channels->y, channels->z, channels->w);
    if (flags & ~(cudaArrayLayered | cudaArraySurfaceLoadStore))
        return cudev_fail(cudaErrorNotSupported, __func__, "no arrays with the flags 0x%x", flags);
    if (!extent.width) return cudev_fail(cudaErrorInvalidValue, __func__, "the width is 0");
    struct cudaArray* a = calloc(1, sizeof *a);
    if (!a) return cudev_error(cudaErrorMemoryAllocation);
    *a = (struct cudaArray){.channels = *channels,
                            .extent = extent,
                            .element = element,
                            .width = extent.width,
                            .height = extent.height ? extent.height : 1,
                            .depth = extent.depth ? extent.depth : 1};
    cudaError_t error = cudaMalloc(&a->data, a->width * a->height * a->depth * element);
    if (error != cudaSuccess) {
        free(a);
        return error;
    }
    *array = a;
    return cudaSuccess;
}

cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                            size_t width, size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, channels, make_cudaExtent(width, height, 0), flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    cudaError_t error = cudaFree(array->data);
    free(array);
    return error;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* channels, cudaArray_const_t array) {
    if (!channels || !array) return cudev_null(__func__);
    *channels = array->channels;
    return cudaSuccess;
}

struct cudaPitchedPtr cudev_any_array(const struct cudaArray* array, size_t* element) {
    *element = array->element;
    return make_cudaPitchedPtr(array->data, array->width * array->element,
                               array->width * array->element, array->height);
}

// ---- copies

// The byte of the array where rows of `width` bytes begin; NULL, with the error in *error, if they
// do not fit.
static char* rows_of(const char* function, cudaArray_const_t a, size_t x, size_t y, size_t width,
                     size_t height, cudaError_t* error) {
    if (!a) {
        *error = cudev_null(function);
        return NULL;
    }
    const size_t row = a->width * a->element;
    if (x + width > row || y + height > a->height) {
        *error = cudev_fail(cudaErrorInvalidValue, function,
                            "%zu rows of %zu bytes from byte %zu of row %zu on are not in an array "
                            "of %zu rows of %zu bytes",
                            height, width, x, y, a->height, row);
        return NULL;
    }
    return (char*)a->data + y * row + x;
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* src,
                                size_t pitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    char* to = rows_of(__func__, array, x, y, width, height, &error);
    return to ? cudaMemcpy2D(to, array->width * array->element, src, pitch, width, height, kind)
              : error;
}

cudaError_t cudaMemcpy2DFromArray(void* dst, size_t pitch, cudaArray_const_t array, size_t x,
                                  size_t y, size_t width, size_t height, enum cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    char* from = rows_of(__func__, array, x, y, width, height, &error);
    return from ? cudaMemcpy2D(dst, pitch, from, array->width * array->element, width, height, kind)
                : error;
}

// These two go on from the end of a row in the next.
cudaError_t cudaMemcpyToArray(cudaArray_t array, size_t x, size_t y, const void* src, size_t bytes,
                              enum cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    char* to = rows_of(__func__, array, x, y, 0, 0, &error);
    return to ? cudaMemcpy(to, src, bytes, kind) : error;
}

cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t array, size_t x, size_t y,
                                size_t bytes, enum cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    char* from = rows_of(__func__, array, x, y, 0, 0, &error);
    return from ? cudaMemcpy(dst, from, bytes, kind) : error;
}
