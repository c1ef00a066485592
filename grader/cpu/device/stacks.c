// Stacks for the threads of a block. They live at constant addresses, are not backed by memory
// before they are touched, and get their guard page when they are first used.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/device/runtime.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static char* stack_bottom(const struct worker* w, unsigned stack) {
    return STACK_BASE + (size_t)w->number * WORKER_STACKS + (size_t)stack * STACK_SIZE;
}

// Shared mappings, although nobody shares them: private ones count against data limits (ulimit -d).
void cudev_stacks_map(struct worker* w) {
    char* want = stack_bottom(w, 0);
    void* got = mmap(want, WORKER_STACKS, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != want) {
        perror("CPU device: cannot reserve address space for thread stacks (see ulimit -v)");
        exit(EXIT_FAILURE);
    }
    cudev_stacks_reset(w);
}

// All stacks are free, whatever runs on them.
void cudev_stacks_reset(struct worker* w) {
    w->free_stacks = 0;
    for (unsigned i = MAX_THREADS; i-- > 0;) w->free_stack[w->free_stacks++] = i;
}

// Takes a stack, the most recently used one first: it is the one still in the cache.
unsigned cudev_stack_take(struct worker* w) {
    unsigned stack = w->free_stack[--w->free_stacks];
    for (; w->stacks_ready <= stack; w->stacks_ready++)
        mprotect(stack_bottom(w, w->stacks_ready), (size_t)getpagesize(), PROT_NONE);
    return stack;
}

void cudev_stack_release(struct worker* w, unsigned stack) {
    w->free_stack[w->free_stacks++] = stack;
}

// Where the running stack ends.
const char* cudev_stack_end(const struct worker* w) {
    return stack_bottom(w, w->stack + 1);
}

// Stacks start at different distances from their top, or all would compete for the same lines of the
// first-level cache.
char* cudev_stack_top(const struct worker* w, unsigned stack) {
    return stack_bottom(w, stack + 1) - stack % 61 * 192;
}

// Is `address` in the guard page of one of the worker's stacks (or just below, for large frames)?
bool cudev_stack_guard_hit(const struct worker* w, const void* address) {
    const char* bottom = stack_bottom(w, w->stack);
    return (const char*)address >= bottom - STACK_SIZE / 2 &&
           (const char*)address < bottom + getpagesize();
}
