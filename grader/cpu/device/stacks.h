// Stacks for the threads of a block, numbered from 0.
#ifndef CUDEV_STACKS_H
#define CUDEV_STACKS_H

#include "cpu/device/worker.h"

struct stacks {
    unsigned ready;  // stacks [0, ready) have their guard page
    unsigned free_count, free[MAX_THREADS];
};

void cudev_stacks_map(struct worker* w);    // once for each worker; ends the program on failure
void cudev_stacks_reset(struct worker* w);  // all stacks are free, whatever runs on them
char* cudev_stack_top(const struct worker* w, unsigned stack);  // where a new thread starts
const char* cudev_stack_end(const struct worker* w);            // of the stack in use
// Is the address in the guard page of the stack in use, or just below it, as with large frames?
bool cudev_stack_guard_hit(const struct worker* w, const void* address);

void cudev_stack_prepare(struct worker* w, unsigned stack);  // its guard page, and those below

// Takes the stack that was used last: it is still in the cache.
static inline unsigned cudev_stack_take(struct worker* w) {
    struct stacks* s = w->stacks;
    unsigned stack = s->free[--s->free_count];
    if (stack >= s->ready) cudev_stack_prepare(w, stack);
    return stack;
}

static inline void cudev_stack_release(struct worker* w, unsigned stack) {
    w->stacks->free[w->stacks->free_count++] = stack;
}

#endif
