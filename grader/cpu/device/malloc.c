// cudaMalloc() and its relatives: giving memory away and taking it back.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/device/any.h"
#include "cpu/device/errors.h"
#include "cpu/device/far.h"
#include "cpu/device/memory.h"
#include "cpu/device/symbols.h"
#include "cpu/device/watcher.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev.h"

enum { WATCHED_GAP = 64 << 10 };  // behind an allocation: an index that is far out is still found

static unsigned allocations_so_far;

// The first gap of `span` bytes and its place in the table; NULL if there is none.
static char* find_gap(const struct pool* pool, size_t span, size_t* position) {
    char* start = pool->base;
    // a watcher recognises freed memory as long as it is not given away again
    if (cudev_watcher && pool->top + span <= pool->space) {
        *position = pool->count;
        return start + pool->top;
    }
    for (size_t i = 0; i < pool->count; i++) {
        const struct allocation* a = &pool->table[i];
        if (a->data - FRONT_GUARD >= start + span) {
            *position = i;
            return start;
        }
        start = a->data + a->bytes + cudev_back_guard(a) + a->gap;
    }
    *position = pool->count;
    return start + span <= pool->base + pool->space ? start : NULL;
}

// Takes what this pool begins with, if it has not been taken.
static bool reserve_hollow(void) {
    if (cudev_hollow.top) return true;
    void* got = mmap(HOLLOW_BASE, HOLLOW_SPACE, PROT_NONE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != HOLLOW_BASE) return false;
    madvise(HOLLOW_BASE, HOLLOW_SPACE, MADV_DONTFORK);
    return true;
}

// Nothing is put into it: a page takes room when something is written there.
static cudaError_t allocate_hollow(void** p, size_t bytes, const char* file, int line) {
    struct pool* pool = &cudev_hollow;
    struct allocation a = {.bytes = bytes, .file = file, .line = line};
    const size_t page = (size_t)getpagesize();
    a.type = cudaMemoryTypeDevice;
    a.gap = cudev_round_up(bytes, page) - bytes;
    a.data = pool->base + pool->top + HOLLOW_GAP;
    if (bytes > pool->limit || pool->top + HOLLOW_GAP + 2 * bytes > pool->space ||
        !reserve_hollow() || !cudev_allocation_add(pool, pool->count, &a))
        return cudev_fail(cudaErrorMemoryAllocation, "cudaMalloc", "%zu bytes are too many", bytes);
    a.number = ++allocations_so_far;
    cudev_memory_grow(pool, cudev_round_up((size_t)(a.data - pool->base) + bytes, page));
    *p = a.data;
    return cudaSuccess;
}

static cudaError_t allocate(struct pool* pool, void** p, size_t bytes, enum cudaMemoryType type,
                            const char* file, int line) {
    if (pool == &cudev_heap && cudev_only_ends(bytes)) return allocate_hollow(p, bytes, file, line);
    struct allocation a = {.bytes = bytes, .file = file, .line = line, .type = type};
    size_t position;
    if (bytes > pool->limit - pool->used)
        return cudev_fail(cudaErrorMemoryAllocation, cudev_allocation_call(&a),
                          "%zu bytes asked for, %zu of %zu are free", bytes,
                          pool->limit - pool->used, pool->limit);
    if (cudev_watcher && pool->top + 2 * bytes < pool->space / 2)
        a.gap = cudev_round_up(bytes < WATCHED_GAP ? WATCHED_GAP : bytes, ALIGNMENT);
    size_t span = FRONT_GUARD + bytes + cudev_back_guard(&a) + a.gap;
    char* start = find_gap(pool, span, &position);
    if (start) {
        a.data = start + FRONT_GUARD;
        a.number = allocations_so_far + 1;
    }
    if (!start || !cudev_allocation_add(pool, position, &a))
        return cudev_fail(cudaErrorMemoryAllocation, cudev_allocation_call(&a),
                          "memory is too fragmented");
    allocations_so_far++;
    cudev_memory_grow(pool,
                      cudev_round_up((size_t)(start + span - pool->base), (size_t)getpagesize()));
    memset(start, GUARD_BYTE, FRONT_GUARD);
    memset(a.data, FRESH_BYTE, bytes);
    memset(a.data + bytes, GUARD_BYTE, cudev_back_guard(&a));
    if (cudev_watcher) cudev_watcher->allocated(&a);
    *p = a.data;
    return cudaSuccess;
}

static cudaError_t allocate_checked(struct pool* pool, void** p, size_t bytes,
                                    enum cudaMemoryType type, const char* file, int line) {
    if (cudev_self)
        return cudev_fail(cudaErrorNotSupported, "cudaMalloc",
                          "called by a kernel; allocate before the launch");
    if (!p) return cudev_fail(cudaErrorInvalidValue, "cudaMalloc", "the first argument is NULL");
    *p = NULL;
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    if (bytes == 0) return cudaSuccess;
    cudev_lock();
    cudev_memory_open();
    cudaError_t error = allocate(pool, p, bytes, type, file, line);
    cudev_memory_close();
    cudev_unlock();
    return error;
}

cudaError_t cudev_malloc_at(void** p, size_t bytes, const char* file, int line) {
    return allocate_checked(&cudev_heap, p, bytes, cudaMemoryTypeDevice, file, line);
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
    return cudev_malloc_at(p, bytes, NULL, 0);
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
    return allocate_checked(&cudev_pinned, p, bytes, cudaMemoryTypeHost, NULL, 0);
}

cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate_checked(&cudev_pinned, p, bytes, cudaMemoryTypeManaged, NULL, 0);
}

cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return cudaMalloc(p, bytes);
}

cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width_bytes, size_t height) {
    if (!pitch) return cudev_fail(cudaErrorInvalidValue, __func__, "the pitch is NULL");
    *pitch = cudev_round_up(width_bytes, ALIGNMENT);
    return cudaMalloc(p, *pitch * height);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr* p, struct cudaExtent extent) {
    if (!p) return cudev_null(__func__);
    *p = make_cudaPitchedPtr(NULL, 0, extent.width, extent.height);
    return cudaMallocPitch(&p->ptr, &p->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned flags) {
    (void)flags;
    return cudaMallocHost(p, bytes);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* pinned, unsigned flags) {
    (void)flags;
    const struct allocation* a = cudev_allocation_at(pinned);
    const bool shared = a ? a->type != cudaMemoryTypeDevice : cudev_shares(pinned, 1);
    if (!device || !shared)
        return cudev_fail(cudaErrorInvalidValue, __func__, "this is not memory of cudaHostAlloc");
    *device = pinned;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* out, const void* p) {
    if (!out) return cudev_fail(cudaErrorInvalidValue, __func__, "the first argument is NULL");
    const struct allocation* a = cudev_allocation_at(cudev_near(p, 1));
    void* q = (void*)(uintptr_t)p;
    if (cudev_is_symbol(p)) {
        *out = (struct cudaPointerAttributes){cudaMemoryTypeDevice, 0, q, NULL};
        return cudaSuccess;
    }
    *out = (struct cudaPointerAttributes){a ? a->type : cudaMemoryTypeUnregistered, 0, a ? q : NULL,
                                          a && a->type == cudaMemoryTypeDevice ? NULL : q};
    return cudaSuccess;
}

static cudaError_t not_allocated(const char* function, const void* p) {
    const struct allocation* gone = cudev_freed_from(p);
    if (gone)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "double free: the %zu bytes allocated at %s:%d were freed before",
                          gone->bytes, gone->file ? gone->file : "?", gone->line);
    const struct allocation* a = cudev_allocation_at(p);
    if (a)
        return cudev_fail(cudaErrorInvalidValue, function,
                          "the pointer is %td bytes into an allocation; pass the pointer that "
                          "cudaMalloc gave (%s:%d)",
                          (const char*)p - a->data, a->file ? a->file : "?", a->line);
    return cudev_fail(cudaErrorInvalidValue, function,
                      "%p does not come from the device's allocator", p);
}

// Gives the pages back to the system; the addresses stay reserved.
static void drop(struct pool* pool, size_t position) {
    struct allocation* a = &pool->table[position];
    if (pool != &cudev_hollow) cudev_memory_check_allocation(a, "when it was freed");
    if (cudev_watcher) cudev_watcher->freed(a);
    uintptr_t page = (uintptr_t)getpagesize();
    uintptr_t first = ((uintptr_t)a->data + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)a->data + a->bytes) & ~(page - 1);
    const int advice = pool == &cudev_heap ? MADV_DONTNEED : MADV_REMOVE;  // private, or shared
    if (first < end) madvise((void*)first, end - first, advice);
    cudev_allocation_remove(pool, position);
}

static cudaError_t release(const char* function, void* p, bool device) {
    if (!p) return cudaSuccess;
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    cudev_lock();
    cudev_memory_open();
    struct pool* pool = cudev_pool_of(p);
    cudaError_t error = cudaSuccess;
    size_t i = 0;
    while (pool && i < pool->count && pool->table[i].data != p) i++;
    if (!pool || i == pool->count)
        error = not_allocated(function, p);
    else if (device == (pool->table[i].type == cudaMemoryTypeHost))
        error = cudev_fail(cudaErrorInvalidValue, function, "the memory comes from %s; use %s",
                           cudev_allocation_call(&pool->table[i]),
                           device ? "cudaFreeHost" : "cudaFree");
    else
        drop(pool, i);
    cudev_memory_close();
    cudev_unlock();
    return error;
}

cudaError_t cudaFree(void* p) {
    return release("cudaFree", p, true);
}

cudaError_t cudaFreeHost(void* p) {
    return release("cudaFreeHost", p, false);
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
    (void)stream;
    return cudaFree(p);
}

// Frees everything.
cudaError_t cudaDeviceReset(void) {
    cudev_lock();
    cudev_memory_open();
    while (cudev_heap.count) drop(&cudev_heap, cudev_heap.count - 1);
    while (cudev_hollow.count) drop(&cudev_hollow, cudev_hollow.count - 1);
    while (cudev_pinned.count) drop(&cudev_pinned, cudev_pinned.count - 1);
    cudev_memory_close();
    cudev_unlock();
    return cudaSuccess;
}

// Only shared memory can be mapped a second time, and the device's is private: these pages become
// others, with what they hold.
static bool share(char* near, size_t bytes) {
    char* other = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (other == MAP_FAILED) return false;
    cudev_hold_open(true);
    memcpy(other, near, bytes);
    const bool moved = mremap(other, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, near) == near;
    cudev_hold_open(false);
    return moved;
}

void* cudev_spread(void* p, const size_t count[3], size_t row_bytes, size_t pitch, size_t unit) {
    if (!share(p, count[0] * count[1] * count[2] * pitch)) return NULL;
    return cudev_far_map(p, count, row_bytes, pitch, unit);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    if (free_bytes) *free_bytes = cudev_heap.limit - cudev_heap.used;
    if (total_bytes) *total_bytes = cudev_heap.limit;
    return cudaSuccess;
}
