// Device memory: two pools at constant addresses, each a table of allocations sorted by address.
//
//   heap   cudaMalloc; host code may not touch it: PROT_NONE except during kernels and copies
//   host   cudaMallocHost and cudaMallocManaged; open to both sides
//
// Around each allocation lie guard bytes; they are checked after every launch, at free and at exit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/device/runtime.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
    ALIGNMENT = 256,
    FRONT_GUARD = 256,
    BACK_GUARD = 4096,
    GUARD_BYTE = 0xc5,
    FRESH_BYTE = 0xff,
    WATCHED_GAP = 64 << 10,  // behind an allocation: an index that is far out is still found
};

struct pool {
    char* base;
    size_t space;      // bytes of address space
    size_t limit;      // bytes that may be allocated
    size_t used, top;  // top: bytes from base up to the end of the highest allocation ever
    struct allocation* table;
    size_t count, capacity;
};

static struct pool heap = {HEAP_BASE, HEAP_SPACE, GLOBAL_MEMORY, 0, 0, NULL, 0, 0};
static struct pool host = {HOST_BASE, HOST_SPACE, HOST_SPACE / 2, 0, 0, NULL, 0, 0};
static struct cudev_stats stats;
static unsigned allocations_so_far;
static int open_count;

// The last few freed allocations, to recognise a second free.
enum { REMEMBERED = 64 };
static struct allocation freed[REMEMBERED];
static unsigned freed_count;

static pthread_mutex_t api_mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int lock_depth;
static bool forked;

// One CUDA call at a time; the same host thread may enter again.
void cudev_lock(void) {
    if (lock_depth++ == 0) pthread_mutex_lock(&api_mutex);
}

void cudev_unlock(void) {
    if (--lock_depth == 0) pthread_mutex_unlock(&api_mutex);
}

static void after_fork(void) {
    forked = true;
}

static void at_exit(void) {
    if (!cudev_self && !forked) cudev_memory_check("at the end of the program");
}

// Reserves the address space. false, with a sentence on stderr, when that is impossible.
bool cudev_memory_init(void) {
    static enum { NOT_TRIED, READY, FAILED } state;
    if (forked) {
        fprintf(stderr,
                "==CPU device== this process was forked from one that already used the device; "
                "as with CUDA, it cannot use it: fork before the first CUDA call\n");
        return false;
    }
    cudev_lock();
    if (state == NOT_TRIED) {
        void* got = mmap(HEAP_BASE, HEAP_SPACE, PROT_NONE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        void* got_host =
            mmap(HOST_BASE, HOST_SPACE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        state = got == HEAP_BASE && got_host == HOST_BASE ? READY : FAILED;
        if (state == FAILED) {
            perror("CPU device: cannot reserve 3.5 GiB of address space (see ulimit -v)");
        } else {
            // a forked child shares nothing of the device
            madvise(HEAP_BASE, HEAP_SPACE, MADV_DONTFORK);
            pthread_atfork(NULL, NULL, after_fork);
            atexit(at_exit);
            cudev_faults_init();
        }
    }
    cudev_unlock();
    return state == READY;
}

void cudev_memory_open(void) {
    if (open_count++ != 0) return;
    if (heap.top) mprotect(heap.base, heap.top, PROT_READ | PROT_WRITE);
    if (cudev_watcher) cudev_watcher->open();
}

void cudev_memory_close(void) {
    if (--open_count != 0) return;
    if (heap.top) mprotect(heap.base, heap.top, PROT_NONE);
    if (cudev_watcher) cudev_watcher->close();
}

bool cudev_is_device_address(const void* p) {
    return (const char*)p >= heap.base && (const char*)p < heap.base + heap.space;
}

static struct pool* pool_of(const void* p) {
    if (cudev_is_device_address(p)) return &heap;
    return (const char*)p >= host.base && (const char*)p < host.base + host.space ? &host : NULL;
}

static size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static size_t back_guard(const struct allocation* a) {
    return round_up(a->bytes, ALIGNMENT) - a->bytes + BACK_GUARD;
}

// The allocation with p inside it or its guards, or NULL.
const struct allocation* cudev_allocation_at(const void* p) {
    const struct pool* pool = pool_of(p);
    if (!pool) return NULL;
    for (size_t i = 0; i < pool->count; i++) {
        const struct allocation* a = &pool->table[i];
        if ((const char*)p >= a->data - FRONT_GUARD &&
            (const char*)p < a->data + a->bytes + back_guard(a) + a->gap)
            return a;
    }
    return NULL;
}

// The allocation that p was in before it was freed, NULL if it is not remembered.
const struct allocation* cudev_freed_at(const void* p) {
    for (unsigned i = 0; i < REMEMBERED && i < freed_count; i++) {
        const struct allocation* a = &freed[(freed_count - 1 - i) % REMEMBERED];
        if ((const char*)p >= a->data && (const char*)p < a->data + a->bytes) return a;
    }
    return NULL;
}

// Bytes from HEAP_BASE on that kernels can touch without a fault.
size_t cudev_device_memory_top(void) {
    return heap.top;
}

// A source file that has called cudaMalloc, NULL if there is none.
const char* cudev_allocation_file(void) {
    for (size_t i = 0; i < heap.count; i++)
        if (heap.table[i].file) return heap.table[i].file;
    return freed_count ? freed[(freed_count - 1) % REMEMBERED].file : NULL;
}

const char* cudev_allocation_call(const struct allocation* a) {
    return a->type == cudaMemoryTypeHost      ? "cudaMallocHost"
           : a->type == cudaMemoryTypeManaged ? "cudaMallocManaged"
                                              : "cudaMalloc";
}

void cudev_name_allocation(const void* p, size_t bytes, const char* name) {
    struct allocation* a = (struct allocation*)cudev_allocation_at(p);
    if (!a) return;
    a->name = name;
    a->named_at = (size_t)((const char*)p - a->data);
    a->named_bytes = bytes;
}

// "the 4000 bytes cudaMalloc'ed at k.cu:11"
static void describe(char* text, size_t size, const struct allocation* a) {
    if (a->name)
        snprintf(text, size, "the %zu bytes of %s", a->named_bytes, a->name);
    else if (a->file)
        snprintf(text, size, "the %zu bytes %s'ed at %s:%d", a->bytes, cudev_allocation_call(a),
                 a->file, a->line);
    else
        snprintf(text, size, "the %zu bytes of %s number %u", a->bytes, cudev_allocation_call(a),
                 a->number);
}

// "byte 4000 of the 4000 bytes cudaMalloc'ed at k.cu:11". What belongs to no allocation is so many
// bytes past the one before.
void cudev_describe_address(char* text, size_t size, const void* p) {
    const struct allocation *a = cudev_allocation_at(p), *gone = a ? NULL : cudev_freed_at(p);
    const struct pool* pool = pool_of(p);
    char which[250];
    if (a || gone) {
        describe(which, sizeof which, a ? a : gone);
        const char* data = a ? a->data + a->named_at : gone->data;
        snprintf(text, size, "byte %td of %s%s", (const char*)p - data, which,
                 a ? "" : ", which were freed before");
        return;
    }
    for (size_t i = 0; pool && i < pool->count && pool->table[i].data <= (const char*)p; i++)
        a = &pool->table[i];
    if (a) {
        size_t bytes = a->name ? a->named_bytes : a->bytes;
        describe(which, sizeof which, a);
        snprintf(text, size, "%td bytes past %s", (const char*)p - (a->data + a->named_at + bytes),
                 which);
    } else {
        snprintf(text, size, "%s",
                 pool ? "device memory that is not allocated (freed?)" : "not device memory");
    }
}

static void check_guard(const struct allocation* a, const char* guard, size_t bytes,
                        const char* when) {
    if (cudev_watcher && cudev_watcher->finds) return;
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)guard[i] == GUARD_BYTE) continue;
        char where[300];
        // a byte of a number may by chance be the guard's: say where its word begins
        i &= ~(size_t)3;
        cudev_describe_address(where, sizeof where, guard + i);
        cudev_report_begin("out_of_bounds", "out-of-bounds write %s: %s was overwritten, found %s",
                           guard + i < a->data ? "before the start" : "past the end", where, when);
        if (cudev_current_launch()->site.name) cudev_report_launch(NULL);
        cudev_report_add(
            "  next: which index reaches that byte? the last block and the last tile are "
            "the usual suspects\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
}

static void check_allocation(const struct allocation* a, const char* when) {
    check_guard(a, a->data - FRONT_GUARD, FRONT_GUARD, when);
    check_guard(a, a->data + a->bytes, back_guard(a), when);
}

// Ends the program if a guard byte has changed.
void cudev_memory_check(const char* when) {
    cudev_lock();
    cudev_memory_open();
    for (size_t i = 0; i < heap.count; i++) check_allocation(&heap.table[i], when);
    for (size_t i = 0; i < host.count; i++) check_allocation(&host.table[i], when);
    cudev_memory_close();
    cudev_unlock();
}

// First gap of `span` bytes: its address, and where in the table it belongs. NULL: none.
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
        start = a->data + a->bytes + back_guard(a) + a->gap;
    }
    *position = pool->count;
    return start + span <= pool->base + pool->space ? start : NULL;
}

static cudaError_t allocate(struct pool* pool, void** p, size_t bytes, enum cudaMemoryType type,
                            const char* file, int line) {
    struct allocation a = {.bytes = bytes, .file = file, .line = line, .type = type};
    size_t position;
    if (bytes > pool->limit - pool->used)
        return cudev_fail(cudaErrorMemoryAllocation, cudev_allocation_call(&a),
                          "%zu bytes asked for, %zu of %zu are free", bytes,
                          pool->limit - pool->used, pool->limit);
    if (cudev_watcher && pool->top + 2 * bytes < pool->space / 2)
        a.gap = round_up(bytes < WATCHED_GAP ? WATCHED_GAP : bytes, ALIGNMENT);
    size_t span = FRONT_GUARD + bytes + back_guard(&a) + a.gap;
    char* start = find_gap(pool, span, &position);
    if (pool->count == pool->capacity) {
        pool->capacity = pool->capacity ? 2 * pool->capacity : 64;
        pool->table = realloc(pool->table, pool->capacity * sizeof a);
    }
    if (!start || !pool->table)
        return cudev_fail(cudaErrorMemoryAllocation, cudev_allocation_call(&a),
                          "memory is too fragmented");
    a.data = start + FRONT_GUARD;
    a.number = ++allocations_so_far;
    if (pool == &heap) cudev_memory_close();  // the range to open grows
    if (start + span > pool->base + pool->top)
        pool->top = round_up((size_t)(start + span - pool->base), (size_t)getpagesize());
    if (pool == &heap) cudev_memory_open();
    memset(start, GUARD_BYTE, FRONT_GUARD);
    memset(a.data, FRESH_BYTE, bytes);
    memset(a.data + bytes, GUARD_BYTE, back_guard(&a));
    memmove(&pool->table[position + 1], &pool->table[position],
            (pool->count - position) * sizeof a);
    pool->table[position] = a;
    pool->count++;
    pool->used += bytes;
    if (cudev_watcher) cudev_watcher->allocated(&a);
    if (heap.used > stats.peak_bytes) stats.peak_bytes = heap.used;
    *p = a.data;
    return cudaSuccess;
}

static cudaError_t allocate_checked(struct pool* pool, void** p, size_t bytes,
                                    enum cudaMemoryType type, const char* file, int line) {
    if (cudev_self)
        return cudev_fail(cudaErrorNotSupported, "cudaMalloc",
                          "called by a kernel; allocate before "
                          "the launch");
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
    return allocate_checked(&heap, p, bytes, cudaMemoryTypeDevice, file, line);
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
    return cudev_malloc_at(p, bytes, NULL, 0);
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
    return allocate_checked(&host, p, bytes, cudaMemoryTypeHost, NULL, 0);
}

cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate_checked(&host, p, bytes, cudaMemoryTypeManaged, NULL, 0);
}

cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return cudaMalloc(p, bytes);
}

cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width_bytes, size_t height) {
    if (!pitch) return cudev_fail(cudaErrorInvalidValue, __func__, "the pitch is NULL");
    *pitch = round_up(width_bytes, ALIGNMENT);
    return cudaMalloc(p, *pitch * height);
}

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned flags) {
    (void)flags;
    return cudaMallocHost(p, bytes);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* pinned, unsigned flags) {
    (void)flags;
    const struct allocation* a = cudev_allocation_at(pinned);
    if (!device || !a || a->type == cudaMemoryTypeDevice)
        return cudev_fail(cudaErrorInvalidValue, __func__, "this is not memory of cudaHostAlloc");
    *device = pinned;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* out, const void* p) {
    if (!out) return cudev_fail(cudaErrorInvalidValue, __func__, "the first argument is NULL");
    const struct allocation* a = cudev_allocation_at(p);
    void* q = (void*)(uintptr_t)p;
    *out = (struct cudaPointerAttributes){a ? a->type : cudaMemoryTypeUnregistered, 0, a ? q : NULL,
                                          a && a->type == cudaMemoryTypeDevice ? NULL : q};
    return cudaSuccess;
}

static cudaError_t not_allocated(const char* function, const void* p) {
    for (unsigned i = 0; i < REMEMBERED && i < freed_count; i++) {
        const struct allocation* a = &freed[(freed_count - 1 - i) % REMEMBERED];
        if (a->data != p) continue;
        return cudev_fail(cudaErrorInvalidValue, function,
                          "double free: the %zu bytes allocated at %s:%d were freed before",
                          a->bytes, a->file ? a->file : "?", a->line);
    }
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
    check_allocation(a, "when it was freed");
    if (cudev_watcher) cudev_watcher->freed(a);
    uintptr_t page = (uintptr_t)getpagesize();
    uintptr_t first = ((uintptr_t)a->data + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)a->data + a->bytes) & ~(page - 1);
    if (first < end) madvise((void*)first, end - first, MADV_REMOVE);
    pool->used -= a->bytes;
    freed[freed_count++ % REMEMBERED] = *a;
    memmove(a, a + 1, (pool->count - position - 1) * sizeof *a);
    pool->count--;
}

static cudaError_t release(const char* function, void* p, bool device) {
    if (!p) return cudaSuccess;
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    cudev_lock();
    cudev_memory_open();
    struct pool* pool = pool_of(p);
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

// Frees everything: cudaDeviceReset().
void cudev_memory_reset(void) {
    cudev_lock();
    cudev_memory_open();
    while (heap.count) drop(&heap, heap.count - 1);
    while (host.count) drop(&host, host.count - 1);
    cudev_memory_close();
    cudev_unlock();
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    if (!cudev_memory_init()) return cudev_error(cudaErrorInitializationError);
    if (free_bytes) *free_bytes = heap.limit - heap.used;
    if (total_bytes) *total_bytes = heap.limit;
    return cudaSuccess;
}

void cudev_count_launch(void) {
    stats.launches++;
}

void cudev_count_copy(size_t to_device, size_t to_host) {
    stats.bytes_to_device += to_device;
    stats.bytes_to_host += to_host;
}

void cudev_get_stats(struct cudev_stats* out) {
    cudev_lock();
    *out = stats;
    out->live_bytes = heap.used;
    out->live_count = heap.count;
    cudev_unlock();
}

size_t cudev_leaks(void (*visit)(void* context, size_t bytes, const char* file, int line),
                   void* context) {
    for (size_t i = 0; i < heap.count; i++)
        visit(context, heap.table[i].bytes, heap.table[i].file, heap.table[i].line);
    return heap.count;
}
