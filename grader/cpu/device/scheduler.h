// The threads of one block on one OS thread: which of them runs, and which one is next.
#ifndef CUDEV_SCHEDULER_H
#define CUDEV_SCHEDULER_H

#include "cpu/device/stacks.h"
#include "cpu/device/worker.h"

// Runs the threads of the block until all have returned or cudev_abandon_threads() is called. The
// caller has set up the fields under "the threads of the block" in worker.h. nobody_ready is called
// when no thread is ready: it makes some ready or ends the program.
void cudev_run_threads(struct worker* w, void (*nobody_ready)(struct worker* w));
// Direct mode ends: see scheduler.c.
void cudev_leave_direct(struct worker* w);
// The calling thread is about to wait; returns its index in the block.
static inline unsigned cudev_begin_wait(struct worker* w) {
    if (w->direct) cudev_leave_direct(w);
    return w->current;
}
// Waits until cudev_make_ready() names the calling thread.
void cudev_wait(struct worker* w);
void cudev_make_ready(struct worker* w, unsigned warp, uint32_t lanes);
// Threads that have called cudev_yield() become ready; false if there are none.
bool cudev_resume_yielded(struct worker* w);
// The running thread has returned: gives its stack back and goes on with another thread.
void cudev_leave(struct worker* w) __attribute__((noreturn));
// Goes back to the caller of cudev_run_threads(), whatever the threads do.
void cudev_abandon_threads(struct worker* w) __attribute__((noreturn));

// ---- choosing the next thread: inline, since every barrier of every thread comes here

// Moves on to another warp: no lane of the current warp is ready, or the warp has had its share.
void cudev_change_warp(struct worker* w);
// The next thread that has not started gets a stack; returns its index.
unsigned cudev_start_next(struct worker* w);

// The running thread becomes thread t, on the same stack. The compiler may keep the address of a
// thread-local variable across a switch. It may do so because a fiber never moves to another OS
// thread.
static inline void cudev_set_current(struct worker* w, unsigned t) {
    w->current = t;
    threadIdx = w->launch->index[t];
    if (w->launch->cluster > 1) blockIdx.x = w->block_x + t / w->launch->of_block;
}

// The thread to resume next. Stays with a warp as long as it has ready lanes, because their stacks
// are in the cache. It does not stay for ever: the lanes may be waiting for another warp.
static inline unsigned cudev_pick(struct worker* w) {
    enum { MAX_TURNS = 1024 };
    if (!(w->ready_warps >> w->warp & 1) || ++w->turns > MAX_TURNS) cudev_change_warp(w);
    uint32_t ready = w->ready[w->warp];
    uint32_t later = ready & ~(uint32_t)((2ull << w->lane) - 1);
    w->lane = (unsigned)__builtin_ctz(later ? later : ready);
    ready &= ~(1u << w->lane);
    w->ready[w->warp] = ready;
    if (!ready) w->ready_warps &= ~(1u << w->warp);
    return w->warp * WARP_SIZE + w->lane;
}

// The stack pointer of the thread to run next, which becomes the current one.
static inline void* cudev_run_another(struct worker* w) {
    unsigned t;
    if (w->next < w->launch->threads) {
        t = cudev_start_next(w);
    } else {
        t = cudev_pick(w);
        cudev_stack_use(w, w->stack_of[t]);
    }
    cudev_set_current(w, t);
    // the stack that is needed next has long left the first-level cache
    const char* soon = w->stack_pointer[(t + 1) % MAX_THREADS];
    __builtin_prefetch(soon, 1);
    __builtin_prefetch(soon + 64, 1);
    __builtin_prefetch(soon + 128, 1);
    return w->stack_pointer[t];
}

// The current thread waits with this stack pointer. Returns the stack pointer to go on with.
static inline void* cudev_choose(void* stack_pointer, struct worker* w) {
    w->stack_of[w->current] = (uint16_t)w->stack;
    w->stack_pointer[w->current] = stack_pointer;
    return cudev_run_another(w);
}

#endif
