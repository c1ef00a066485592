// The memory of the watchers.
#include "cpu/watch/shadow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cpu/device/report.h"

_Static_assert(RACE_SIZE + OWNER_SIZE + INIT_SIZE + 2 * TOUCHED_SIZE + BLOCK_READ_SIZE +
                       LOADED_AGAIN_SIZE + SITE_SIZE + SITES_SPACE + OWN_SPACE <=
                   (size_t)(ORDER_BASE - SHADOW_BASE),
               "the shadows and the state of the workers lie below ORDER_BASE");

// Fresh memory, all zero. A forked child shares nothing of it; no core dump has to hold it.
static bool map_shadow(void* want, size_t bytes, int fixed) {
    void* got = mmap(want, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (got != want) return false;
    madvise(want, bytes, MADV_DONTFORK);
    madvise(want, bytes, MADV_DONTDUMP);
    return true;
}

void cudev_shadow_map(void) {
    if (map_shadow(SHADOW_BASE, SHADOW_SIZE, MAP_FIXED_NOREPLACE)) return;
    perror("==CPU device== cannot reserve 59 GiB of address space to watch the kernel (see "
           "ulimit -v)");
    exit(EXIT_DIAGNOSIS);
}

void cudev_shadow_clear(void* shadow, size_t bytes) {
    if (map_shadow(shadow, bytes, MAP_FIXED)) return;
    perror("==CPU device== cannot map memory to watch the kernel");
    exit(EXIT_DIAGNOSIS);
}

void cudev_shadow_open(void) {
    mprotect(SHADOW_BASE, SHADOW_SIZE, PROT_READ | PROT_WRITE);
}

void cudev_shadow_close(void) {
    mprotect(SHADOW_BASE, SHADOW_SIZE, PROT_NONE);
}

void cudev_shadow_drop(void* shadow, size_t bytes) {
    uintptr_t first = ((uintptr_t)shadow + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)shadow + bytes) & ~(uintptr_t)4095;
    if (first >= end) {
        memset(shadow, 0, bytes);
        return;
    }
    memset(shadow, 0, first - (uintptr_t)shadow);
    madvise((void*)first, end - first, MADV_REMOVE);
    memset((void*)end, 0, (uintptr_t)shadow + bytes - end);
}
