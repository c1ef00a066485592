// Texture and surface objects: what a kernel's tex2D() needs to know. A kernel gets the object's
// number, which is its address; objects are remembered, so that a wrong one ends with its line.
#include <stdlib.h>
#include "cpu/any/arrays.h"
#include "cpu/device/errors.h"
#include "cpu/device/memory.h"
#include "cpu/device/report.h"
#include "cpu/include/cudev/abi.h"

static struct object {
    struct cudev_texture texture;
    struct object* next;
} * objects;

static struct object* find(unsigned long long number, struct object*** link) {
    for (struct object** at = &objects; *at; at = &(*at)->next) {
        if ((unsigned long long)(uintptr_t) & (*at)->texture != number) continue;
        if (link) *link = at;
        return *at;
    }
    return NULL;
}

const struct cudev_texture* cudev_texture_of(unsigned long long number, const char* what,
                                             const char* file, int line) {
    static __thread unsigned long long last;
    static __thread const struct cudev_texture* found;
    if (number == last && found && found->element) return found;
    const struct object* o = find(number, NULL);
    if (!o) {
        cudev_report_begin("bad_address", "%s at %s:%d: there is no such object: 0x%llx", what,
                           file, line, number);
        cudev_report_add("  next: pass the object that cudaCreateTextureObject() or "
                         "cudaCreateSurfaceObject() gave, before it is destroyed\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
    last = number;
    found = &o->texture;
    return found;
}

void cudev_texture_copy(struct cudev_texture* copy, unsigned long long number, const char* what,
                        const char* file, int line) {
    *copy = *cudev_texture_of(number, what, file, line);
}

static cudaError_t keep(const char* function, unsigned long long* number,
                        const struct cudev_texture* texture) {
    if (!texture->element)
        return cudev_fail(cudaErrorInvalidChannelDescriptor, function,
                          "there are elements of 1, 2 or 4 channels of 8, 16 or 32 bits");
    struct object* o = calloc(1, sizeof *o);
    if (!o) return cudev_error(cudaErrorMemoryAllocation);
    o->texture = *texture;
    cudev_lock();
    o->next = objects;
    objects = o;
    cudev_unlock();
    *number = (unsigned long long)(uintptr_t)&o->texture;
    return cudaSuccess;
}

static struct cudev_texture of_array(const struct cudaArray* a) {
    return (struct cudev_texture){.data = a->data,
                                  .pitch = a->width * a->element,
                                  .rows = a->height,
                                  .element = a->element,
                                  .size = {(long)a->width, (long)a->height, (long)a->depth},
                                  .channels = a->channels};
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture,
                                    const struct cudaResourceDesc* resource,
                                    const struct cudaTextureDesc* description,
                                    const struct cudaResourceViewDesc* view) {
    if (!texture || !resource || !description) return cudev_null(__func__);
    if (view) return cudev_fail(cudaErrorNotSupported, __func__, "there are no views of resources");
    struct cudev_texture t;
    if (resource->resType == cudaResourceTypeArray) {
        if (!resource->res.array.array) return cudev_null(__func__);
        t = of_array(resource->res.array.array);
    } else if (resource->resType == cudaResourceTypeLinear) {
        const size_t element = cudev_element_bytes(&resource->res.linear.desc);
        t = (struct cudev_texture){
            .data = resource->res.linear.devPtr,
            .pitch = resource->res.linear.sizeInBytes,
            .rows = 1,
            .element = element,
            .size = {element ? (long)(resource->res.linear.sizeInBytes / element) : 0, 1, 1},
            .linear = 1,
            .channels = resource->res.linear.desc};
    } else if (resource->resType == cudaResourceTypePitch2D) {
        t = (struct cudev_texture){
            .data = resource->res.pitch2D.devPtr,
            .pitch = resource->res.pitch2D.pitchInBytes,
            .rows = resource->res.pitch2D.height,
            .element = cudev_element_bytes(&resource->res.pitch2D.desc),
            .size = {(long)resource->res.pitch2D.width, (long)resource->res.pitch2D.height, 1},
            .channels = resource->res.pitch2D.desc};
    } else {
        return cudev_fail(cudaErrorNotSupported, __func__, "there are no arrays with mipmaps");
    }
    t.how = *description;
    if (t.how.filterMode == cudaFilterModeLinear && t.how.readMode == cudaReadModeElementType &&
        t.channels.f != cudaChannelFormatKindFloat)
        return cudev_fail(cudaErrorInvalidValue, __func__,
                          "whole numbers are filtered as cudaReadModeNormalizedFloat alone");
    if (t.how.readMode == cudaReadModeNormalizedFloat &&
        (t.channels.f == cudaChannelFormatKindFloat || t.channels.x == 32))
        return cudev_fail(cudaErrorInvalidValue, __func__,
                          "cudaReadModeNormalizedFloat is for whole numbers of 8 or 16 bits");
    return keep(__func__, texture, &t);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface,
                                    const struct cudaResourceDesc* resource) {
    if (!surface || !resource) return cudev_null(__func__);
    if (resource->resType != cudaResourceTypeArray || !resource->res.array.array)
        return cudev_fail(cudaErrorInvalidValue, __func__, "a surface shows an array");
    const struct cudev_texture t = of_array(resource->res.array.array);
    return keep(__func__, surface, &t);
}

static cudaError_t destroy(const char* function, unsigned long long number) {
    struct object** link = NULL;
    cudev_lock();
    struct object* o = find(number, &link);
    if (o) {
        *link = o->next;
        o->texture.element = 0;  // it stays, so that no other object has its number
    }
    cudev_unlock();
    return o ? cudaSuccess : cudev_fail(cudaErrorInvalidValue, function, "there is no such object");
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    return destroy(__func__, texture);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
    return destroy(__func__, surface);
}
