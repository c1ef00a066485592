// Shared memory of a block: one window per worker at a constant address, filled anew for each block.
//
// window:  | dynamic (1024-aligned) | guard | array | guard | array | guard ...
// Arrays are placed when the first thread of a block reaches their declaration.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cpu/device/runtime.h"

enum { GUARD = 128, GUARD_BYTE = 0xc5, FRESH_BYTE = 0xff, SHARED_RESERVE = 512 << 10 };

static unsigned arrays_known;  // ids given so far
static pthread_mutex_t ids = PTHREAD_MUTEX_INITIALIZER;

void cudev_shared_map(struct worker* w) {
    char* want = WINDOW_BASE + (size_t)w->number * SHARED_WINDOW;
    w->window = mmap(want, SHARED_WINDOW, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (w->window == MAP_FAILED) {
        perror("CPU device: cannot map shared memory");
        exit(EXIT_FAILURE);
    }
}

static void put_guard(struct worker* w) {
    memset(w->window + w->shared_used, GUARD_BYTE, GUARD);
    w->shared_used += GUARD;
}

void cudev_shared_begin(struct worker* w) {
    w->shared_generation++;
    w->shared_count = 0;
    w->static_shared = 0;
    w->shared_used = (w->launch->site.shared_bytes + 15) & ~(size_t)15;
    memset(w->window, FRESH_BYTE, w->shared_used);
    if (w->watch) cudev_watcher->shared_array(w, w->window, w->launch->site.shared_bytes);
    put_guard(w);
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

void cudev_shared_end(struct worker* w) {
    if (w->launch->site.shared_bytes)
        check_guard(w, w->window + ((w->launch->site.shared_bytes + 15) & ~(size_t)15), NULL);
    for (unsigned i = 0; i < w->shared_count; i++) {
        struct cudev_shared_array* a = w->declared[i];
        check_guard(w, (char*)w->shared[a->id].data + a->bytes, a);
    }
}

static void give_id(struct cudev_shared_array* array) {
    pthread_mutex_lock(&ids);
    if (array->id == 0) {
        if (arrays_known + 1 == MAX_SHARED_ARRAYS) {
            fprintf(stderr, "CPU device: more than %d __shared__ declarations in one program\n",
                    MAX_SHARED_ARRAYS);
            exit(EXIT_FAILURE);
        }
        __atomic_store_n(&array->id, ++arrays_known, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ids);
}

static void place(struct worker* w, struct cudev_shared_array* array) {
    size_t dynamic = w->launch->site.shared_bytes, limit;
    // What a kernel asked for is dynamic memory alone; static arrays come on top, up to the card's all.
    bool opted_in = cudev_shared_limit(&w->launch->site, &limit);
    if (opted_in) limit = OPT_IN_SHARED_LIMIT;
    w->static_shared += array->bytes;
    if (w->static_shared > STATIC_SHARED_LIMIT || w->static_shared + dynamic > limit) {
        cudev_report_begin("shared_memory",
                           "too much shared memory: __shared__ %s (%s:%d) brings the block to %zu "
                           "static + %zu dynamic bytes; the limit is %zu%s",
                           array->name, array->file, array->line, w->static_shared, dynamic,
                           w->static_shared > STATIC_SHARED_LIMIT ? STATIC_SHARED_LIMIT : limit,
                           w->static_shared > STATIC_SHARED_LIMIT ? " for static arrays" : "");
        cudev_report_launch(w);
        cudev_report_add(opted_in ? "  next: use smaller tiles\n"
                                  : "  next: use smaller tiles, or dynamic shared memory with "
                                    "cudaFuncSetAttribute(kernel, "
                                    "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)\n");
        cudev_report_end(EXIT_DIAGNOSIS);
    }
    size_t align = array->align < GUARD ? GUARD : array->align;
    // a watcher finds an index that is far out, too
    if (w->watch && w->shared_used + 2 * array->bytes + SHARED_RESERVE < SHARED_WINDOW)
        w->shared_used += array->bytes;
    w->shared_used = (w->shared_used + align - 1) & ~(align - 1);
    char* data = w->window + w->shared_used;
    memset(data, FRESH_BYTE, array->bytes);
    w->shared_used += array->bytes;
    put_guard(w);
    w->shared[array->id].data = data;
    w->shared[array->id].generation = w->shared_generation;
    w->declared[w->shared_count++] = array;
    if (w->watch) cudev_watcher->shared_array(w, data, array->bytes);
}

struct worker* cudev_in_kernel(const char* what) {
    if (cudev_self) return cudev_self;
    fprintf(stderr, "CPU device: %s is used by host code; it belongs into a kernel\n", what);
    exit(EXIT_FAILURE);
}

void* cudev_shared(struct cudev_shared_array* array) {
    struct worker* w = cudev_in_kernel(array->name);
    if (__atomic_load_n(&array->id, __ATOMIC_ACQUIRE) == 0) give_id(array);
    if (w->shared[array->id].generation != w->shared_generation) place(w, array);
    return w->shared[array->id].data;
}

void* cudev_dynamic_shared(const struct cudev_shared_array* array) {
    struct worker* w = cudev_in_kernel("extern __shared__");
    w->dynamic = array;
    return w->window;
}
