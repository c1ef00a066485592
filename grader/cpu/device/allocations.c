// The allocations of device memory and of pinned host memory: two pools at constant addresses, each
// with a table that is sorted by address; and the last allocations that were freed.
#include "cpu/device/allocations.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/device/far.h"
#include "cpu/include/cudev.h"

struct pool cudev_heap = {.base = HEAP_BASE, .space = HEAP_SPACE, .limit = GLOBAL_MEMORY};
struct pool cudev_pinned = {.base = HOST_BASE, .space = HOST_SPACE, .limit = HOST_SPACE / 2};
struct pool cudev_hollow = {.base = HOLLOW_BASE, .space = HOLLOW_SPACE, .limit = HOLLOW_SPACE / 2};

enum { REMEMBERED = 64 };
static struct allocation freed[REMEMBERED];
static unsigned freed_count;

static bool is_in(const struct pool* pool, const void* p) {
    return (size_t)((const char*)p - pool->base) < pool->space;
}

bool cudev_is_device_address(const void* p) {
    return is_in(&cudev_heap, p) || is_in(&cudev_hollow, p);
}

struct pool* cudev_pool_of(const void* p) {
    if (is_in(&cudev_heap, p)) return &cudev_heap;
    if (is_in(&cudev_hollow, p)) return &cudev_hollow;
    return is_in(&cudev_pinned, p) ? &cudev_pinned : NULL;
}

size_t cudev_back_guard(const struct allocation* a) {
    return cudev_round_up(a->bytes, ALIGNMENT) - a->bytes + BACK_GUARD;
}

const struct allocation* cudev_allocation_at(const void* p) {
    const struct pool* pool = cudev_pool_of(p);
    if (!pool) return NULL;
    for (size_t i = 0; i < pool->count; i++) {
        const struct allocation* a = &pool->table[i];
        if ((const char*)p >= a->data - FRONT_GUARD &&
            (const char*)p < a->data + a->bytes + cudev_back_guard(a) + a->gap)
            return a;
    }
    return NULL;
}

const struct allocation* cudev_freed_at(const void* p) {
    for (unsigned i = 0; i < REMEMBERED && i < freed_count; i++) {
        const struct allocation* a = &freed[(freed_count - 1 - i) % REMEMBERED];
        if ((const char*)p >= a->data && (const char*)p < a->data + a->bytes) return a;
    }
    return NULL;
}

const struct allocation* cudev_freed_from(const void* p) {
    for (unsigned i = 0; i < REMEMBERED && i < freed_count; i++) {
        const struct allocation* a = &freed[(freed_count - 1 - i) % REMEMBERED];
        if (a->data == p) return a;
    }
    return NULL;
}

const char* cudev_allocation_file(void) {
    for (size_t i = 0; i < cudev_heap.count; i++)
        if (cudev_heap.table[i].file) return cudev_heap.table[i].file;
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

bool cudev_describe_address(char* text, size_t size, const void* p) {
    const struct allocation *a = cudev_allocation_at(p), *gone = a ? NULL : cudev_freed_at(p);
    const struct pool* pool = cudev_pool_of(p);
    char which[250];
    if (a || gone) {
        describe(which, sizeof which, a ? a : gone);
        const char* data = a ? a->data + a->named_at : gone->data;
        snprintf(text, size, "byte %td of %s%s", (const char*)p - data, which,
                 a ? "" : ", which were freed before");
        return false;
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
                 pool              ? "device memory that is not allocated (freed?)"
                 : cudev_is_far(p) ? "between the rows of an array"
                                   : "not device memory");
    }
    return a != NULL;
}

bool cudev_allocation_add(struct pool* pool, size_t position, const struct allocation* a) {
    if (pool->count == pool->capacity) {
        size_t capacity = pool->capacity ? 2 * pool->capacity : 64;
        struct allocation* table = realloc(pool->table, capacity * sizeof *a);
        if (!table) return false;
        pool->table = table;
        pool->capacity = capacity;
    }
    memmove(&pool->table[position + 1], &pool->table[position],
            (pool->count - position) * sizeof *a);
    pool->table[position] = *a;
    pool->count++;
    pool->used += a->bytes;
    if (pool->used > pool->peak) pool->peak = pool->used;
    return true;
}

void cudev_allocation_remove(struct pool* pool, size_t position) {
    struct allocation* a = &pool->table[position];
    pool->used -= a->bytes;
    freed[freed_count++ % REMEMBERED] = *a;
    memmove(a, a + 1, (pool->count - position - 1) * sizeof *a);
    pool->count--;
}
