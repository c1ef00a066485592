// Stacks for the threads of a block, numbered from 0.
#ifndef CUDEV_STACKS_H
#define CUDEV_STACKS_H

#include "cpu/device/worker.h"

struct stacks {
    size_t clean;               // bytes that threads find clean when they start
    unsigned learned, started;  // from so many blocks; threads before that
    unsigned ready;             // stacks [0, ready) have their guard page
    unsigned guarded;           // stacks [0, guarded) have one that stays
    unsigned closed;            // stacks [0, closed) are closed until the next launch
    unsigned free_count, free[MAX_THREADS];
};

void cudev_stacks_map(struct worker* w);    // once for each worker; ends the program on failure
void cudev_stacks_reset(struct worker* w);  // all stacks are free, whatever runs on them
// Between launches nobody sees what kernels have left on their stacks.
void cudev_stacks_open(struct worker* w);
void cudev_stacks_close(struct worker* w);
static inline char* cudev_stack_bottom(const struct worker* w, unsigned stack) {
    return STACK_BASE + (size_t)w->number * WORKER_STACKS + (size_t)stack * STACK_SIZE;
}
// Where a new thread starts: stacks start at different distances from their top. Otherwise all
// would compete for the same lines of the first-level cache.
static inline char* cudev_stack_top(const struct worker* w, unsigned stack) {
    return cudev_stack_bottom(w, stack + 1) - stack % 61 * 192;
}
// The worker goes on with this stack. Every watched access asks where it ends: what lies above is
// nobody's.
static inline void cudev_stack_use(struct worker* w, unsigned stack) {
    w->stack = stack;
    w->stack_end = cudev_stack_top(w, stack);
}
// Is the address in the guard page of the stack in use, or just below it, as with large frames?
bool cudev_stack_guard_hit(const struct worker* w, const void* address);

// A launch begins; a block of it has ended. Between the two the worker learns how far down threads
// go.
void cudev_stacks_launch(struct worker* w);
void cudev_stacks_learn(struct worker* w);

// Where the frame of a function ends that keeps all in registers. With BUILD=debug it keeps some
// below its frame address.
enum {
    OWN_FRAME =
#ifdef SANITIZED
        512
#else
        0
#endif
};

// Fills [low, end) with NaN, as a rule below the frame of the caller: without a call.
static inline __attribute__((always_inline)) void cudev_stack_fill(char* low, char* end) {
#ifdef __x86_64__
    if (low >= end) return;
    size_t words = (size_t)(end - low) / 8;
    low = end - 8 * words;
    if (words > 64)
        __asm__ volatile("rep stosq" : "+D"(low), "+c"(words) : "a"(~0ull) : "memory");
    else  // it takes long to begin
        __asm__ volatile("1: movq %2, (%0)\n add $8, %0\n cmp %1, %0\n jb 1b"
                         : "+r"(low)
                         : "r"(end), "r"(~0ull)
                         : "memory", "cc");
#else
    for (; low < end; low++) *(volatile char*)low = (char)FRESH_BYTE;
#endif
}

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
