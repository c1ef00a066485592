// Shared memory of a block: one window per worker at a constant address, filled anew for each
// block.
//
// window:  | dynamic (1024-aligned) | guard | array | guard | array | guard ...
// Arrays are placed when the first thread of a block reaches their declaration.
#include "cpu/device/shared_memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cpu/device/report.h"
#include "cpu/device/watcher.h"

enum { GUARD = 128, SHARED_RESERVE = 512 << 10 };

static unsigned arrays_known;  // ids given so far
static pthread_mutex_t ids = PTHREAD_MUTEX_INITIALIZER;

void cudev_shared_map(struct worker* w) {
    char* want = WINDOW_BASE + (size_t)w->number * SHARED_WINDOW;
    struct shared_memory* m = w->shared = cudev_worker_memory(MAX_CLUSTER * sizeof *m);
    m->window = mmap(want, SHARED_WINDOW, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (m->window == MAP_FAILED) {
        perror("CPU device: cannot map shared memory");
        exit(EXIT_FAILURE);
    }
}

void cudev_shared_open(struct worker* w, bool open) {
    mprotect(w->shared->window, SHARED_WINDOW, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void put_guard(struct shared_memory* m) {
    memset(m->window + m->used, GUARD_BYTE, GUARD);
    m->used += GUARD;
}

static void begin_block(struct worker* w, struct shared_memory* m) {
    m->generation++;
    m->declared_count = 0;
    m->static_bytes = 0;
    m->members = NULL;
    m->used = (w->launch->site.shared_bytes + 15) & ~(size_t)15;
    memset(m->window, FRESH_BYTE, m->used);
    if (w->watch) cudev_watcher->shared_array(w, m->window, w->launch->site.shared_bytes);
    put_guard(m);
}

void cudev_shared_begin(struct worker* w) {
    for (unsigned i = 0; i < w->launch->cluster; i++) {
        w->shared[i].window = w->shared->window + i * cudev_window_of_block(w);
        begin_block(w, &w->shared[i]);
    }
}

static void check_guard(struct worker* w, const char* guard,
                        const struct cudev_shared_array* array) {
    if (cudev_watcher && cudev_watcher->finds) return;
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)guard[i] == GUARD_BYTE) continue;
        if (array)
            cudev_report_begin("out_of_bounds",
                               "out-of-bounds write: byte %d past the end of __shared__ %s (%zu "
                               "bytes, %s:%d) was overwritten",
                               i, array->name, array->bytes, array->file, array->line);
        else
            cudev_report_begin(
                "out_of_bounds",
                "out-of-bounds write: byte %d past the end of the dynamic shared memory "
                "(%zu bytes, given at the launch) was overwritten",
                i, w->launch->site.shared_bytes);
        cudev_report_launch(w);
        cudev_report_add("  next: compare the largest index written there with the size\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
}

static void end_block(struct worker* w, const struct shared_memory* m) {
    if (w->launch->site.shared_bytes)
        check_guard(w, m->window + ((w->launch->site.shared_bytes + 15) & ~(size_t)15), NULL);
    for (unsigned i = 0; i < m->declared_count; i++) {
        const struct cudev_shared_array* a = m->declared[i];
        check_guard(w, (char*)m->place[cudev_shared_id(a)].data + a->bytes, a);
    }
}

void cudev_shared_end(struct worker* w) {
    for (unsigned i = 0; i < w->launch->cluster; i++) end_block(w, &w->shared[i]);
}

// The number of a declaration, in the order of first use, from 1: a table by the hash of its
// address. The declaration itself is constant: it lies in memory of the program's that kernels only
// read.
enum { SLOTS = 2 * MAX_SHARED_ARRAYS };
static struct {
    const struct cudev_shared_array* array;
    unsigned id;
} slot[SLOTS];

static unsigned give_id(const struct cudev_shared_array* array, unsigned i) {
    pthread_mutex_lock(&ids);
    while (slot[i].array && slot[i].array != array) i = (i + 1) % SLOTS;
    if (!slot[i].array) {
        if (arrays_known + 1 == MAX_SHARED_ARRAYS) {
            fprintf(stderr, "CPU device: more than %d __shared__ declarations in one program\n",
                    MAX_SHARED_ARRAYS);
            exit(EXIT_FAILURE);
        }
        slot[i].id = ++arrays_known;
        __atomic_store_n(&slot[i].array, array, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ids);
    return slot[i].id;
}

unsigned cudev_shared_id(const struct cudev_shared_array* array) {
    unsigned i = (unsigned)(((uintptr_t)array >> 3) * 2654435761u % SLOTS);
    for (const struct cudev_shared_array* a;
         (a = __atomic_load_n(&slot[i].array, __ATOMIC_ACQUIRE)); i = (i + 1) % SLOTS)
        if (a == array) return slot[i].id;
    return give_id(array, i);
}

static void place(struct worker* w, struct shared_memory* m, const struct cudev_shared_array* array,
                  unsigned id) {
    size_t dynamic = w->launch->site.shared_bytes, limit;
    // A kernel has asked for dynamic memory alone, perhaps for less than 48 KB; static arrays come
    // on top, up to all shared memory that a GPU has.
    bool opted_in = cudev_shared_limit(&w->launch->site, &limit);
    if (opted_in) limit = cudev_card()->shared_block;
    m->static_bytes += array->bytes;
    if (m->static_bytes > STATIC_SHARED_LIMIT || m->static_bytes + dynamic > limit) {
        cudev_report_begin("shared_memory",
                           "too much shared memory: __shared__ %s (%s:%d) brings the block to %zu "
                           "static + %zu dynamic bytes; the limit is %zu%s",
                           array->name, array->file, array->line, m->static_bytes, dynamic,
                           m->static_bytes > STATIC_SHARED_LIMIT ? STATIC_SHARED_LIMIT : limit,
                           m->static_bytes > STATIC_SHARED_LIMIT ? " for static arrays" : "");
        cudev_report_launch(w);
        cudev_report_add(opted_in ? "  next: use smaller tiles\n"
                                  : "  next: use smaller tiles, or dynamic shared memory with "
                                    "cudaFuncSetAttribute(kernel, "
                                    "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
    size_t align = array->align < GUARD ? GUARD : array->align;
    // a watcher finds an index that is far out, too
    if (w->watch &&
        m->used + 2 * array->bytes + SHARED_RESERVE / w->launch->cluster < cudev_window_of_block(w))
        m->used += array->bytes;
    m->used = (m->used + align - 1) & ~(align - 1);
    char* data = m->window + m->used;
    memset(data, FRESH_BYTE, array->bytes);
    m->used += array->bytes;
    put_guard(m);
    m->place[id].data = data;
    m->place[id].generation = m->generation;
    m->declared[m->declared_count++] = array;
    if (w->watch) cudev_watcher->shared_array(w, data, array->bytes);
}

void* cudev_shared(const struct cudev_shared_array* array) {
    struct worker* w = cudev_in_kernel(array->name);
    const unsigned id = cudev_shared_id(array);
    struct shared_memory* m = &w->shared[cudev_rank_of(w, cudev_current(w))];
    if (m->place[id].generation != m->generation) place(w, m, array, id);
    return m->place[id].data;
}

void* cudev_dynamic_shared(const struct cudev_shared_array* array) {
    struct worker* w = cudev_in_kernel("extern __shared__");
    struct shared_memory* m = &w->shared[cudev_rank_of(w, cudev_current(w))];
    m->dynamic = array;
    return m->window;
}

static const struct cudev_member several;  // structures: nobody knows which one is meant

void cudev_laid_over(const void* memory, const struct cudev_member* members) {
    struct worker* w = cudev_in_kernel("extern __shared__");
    struct shared_memory* m = &w->shared[cudev_rank_of(w, cudev_current(w))];
    if (memory != m->window) return;
    m->members = m->members && m->members != members ? &several : members;
}

const struct cudev_member* cudev_member_at(const struct worker* w, const void* p) {
    const struct shared_memory* m = cudev_shared_around(w, p);
    const size_t at = (size_t)((const char*)p - m->window);
    if (at >= w->launch->site.shared_bytes) return NULL;
    for (const struct cudev_member* member = m->members; member && member->name; member++)
        if (at - member->begin < member->bytes) return member;
    return NULL;
}

// "full[1]", "memory + 24 bytes": the rest of a name, behind which a byte lies.
static void add_place(char* text, size_t size, const unsigned* extent, size_t bytes, size_t in) {
    size_t n = strlen(text), inner = bytes;
    for (int d = 0; d < 4 && extent[d] && n < size; d++) {
        inner /= extent[d];
        n += (size_t)snprintf(text + n, size - n, "[%zu]", in / inner);
        in %= inner;
    }
    if (in && n < size) snprintf(text + n, size - n, " + %zu bytes", in);
}

void cudev_shared_name(const struct worker* w, const void* p, char* text, size_t size) {
    const struct shared_memory* m = cudev_shared_around(w, p);
    const size_t dynamic = w->launch->site.shared_bytes, at = (size_t)((const char*)p - m->window);
    const struct cudev_member* member = cudev_member_at(w, p);
    if (member) {
        snprintf(text, size, "%s", member->name);
        add_place(text, size, member->extent, member->bytes, at - member->begin);
        return;
    }
    if (at < dynamic) {
        snprintf(text, size, "%s + %zu bytes", m->dynamic ? m->dynamic->name : "shared memory", at);
        return;
    }
    for (unsigned i = 0; i < m->declared_count; i++) {
        const struct cudev_shared_array* a = m->declared[i];
        size_t in = (size_t)((const char*)p - (char*)m->place[cudev_shared_id(a)].data);
        if (in >= a->bytes) continue;
        snprintf(text, size, "%s", a->name);
        add_place(text, size, a->extent, a->bytes, in);
        return;
    }
    snprintf(text, size, "byte %zu of shared memory", at);
}
