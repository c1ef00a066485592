// Memory of the program that kernels may use: managed variables, and what cudaHostRegister() names.
#include <stdlib.h>
#include "cpu/any/include/cudev/any_api.h"
#include "cpu/device/allocations.h"
#include "cpu/device/any.h"
#include "cpu/device/errors.h"
#include "cpu/device/memory.h"

// The section of managed variables; not there if a program has none.
extern const char __start_cudev_managed[] __attribute__((weak));
extern const char __stop_cudev_managed[] __attribute__((weak));

static struct registered {
    const char* data;
    size_t bytes;
    unsigned flags;
    struct registered* next;
} * registered;

static bool lies_in(const char* p, size_t bytes, const char* data, size_t all) {
    const size_t offset = (size_t)(p - data);
    return data && p >= data && offset < all && bytes <= all - offset;
}

bool cudev_any_shares(const void* p, size_t bytes) {
    const size_t managed = (size_t)(__stop_cudev_managed - __start_cudev_managed);
    if (__start_cudev_managed && lies_in(p, bytes, __start_cudev_managed, managed)) return true;
    for (const struct registered* r = registered; r; r = r->next)
        if (lies_in(p, bytes, r->data, r->bytes)) return true;
    return false;
}

cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned flags) {
    if (!p || !bytes) return cudev_fail(cudaErrorInvalidValue, __func__, "there is nothing there");
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    if (cudev_pool_of(p))
        return cudev_fail(cudaErrorHostMemoryAlreadyRegistered, __func__,
                          "the memory comes from CUDA, whose kernels may use it");
    for (const struct registered* r = registered; r; r = r->next)
        if ((const char*)p < r->data + r->bytes && r->data < (const char*)p + bytes)
            return cudev_fail(cudaErrorHostMemoryAlreadyRegistered, __func__,
                              "a part of it is registered");
    struct registered* r = malloc(sizeof *r);
    if (!r) return cudev_error(cudaErrorMemoryAllocation);
    *r = (struct registered){p, bytes, flags, NULL};
    cudev_lock();
    r->next = registered;
    registered = r;
    cudev_unlock();
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* p) {
    for (struct registered** at = &registered; *at; at = &(*at)->next) {
        struct registered* r = *at;
        if (r->data != p) continue;
        cudev_lock();
        *at = r->next;
        cudev_unlock();
        free(r);
        return cudaSuccess;
    }
    return cudev_fail(cudaErrorHostMemoryNotRegistered, __func__,
                      "no registered memory begins there");
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* p) {
    if (!flags) return cudev_null(__func__);
    for (const struct registered* r = registered; r; r = r->next)
        if (lies_in(p, 1, r->data, r->bytes)) {
            *flags = r->flags;
            return cudaSuccess;
        }
    const struct allocation* a = cudev_allocation_at(p);
    if (!a || a->type != cudaMemoryTypeHost)
        return cudev_fail(cudaErrorInvalidValue, __func__, "this is not memory of cudaHostAlloc");
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
}
