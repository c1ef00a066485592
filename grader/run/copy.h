// copy.h: a copy that a launcher asks for, and its direction.
#ifndef COPY_H
#define COPY_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

struct copy {
    void* to;
    size_t to_pitch;
    const void* from;
    size_t from_pitch, width, height;
    enum cudaMemcpyKind kind;
    const void* sent;  // in place of `from`: handed.h
    size_t sent_pitch;
};

static inline bool is_device_memory(const void* p) {
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type == cudaMemoryTypeDevice;
}

// With cudaMemcpyDefault the pointers decide the direction.
static inline enum cudaMemcpyKind direction(const struct copy* c) {
    static const enum cudaMemcpyKind of[2][2] = {
        {cudaMemcpyHostToHost, cudaMemcpyHostToDevice},
        {cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice}};
    if (c->kind != cudaMemcpyDefault) return c->kind;
    return of[is_device_memory(c->from)][is_device_memory(c->to)];
}

#endif
