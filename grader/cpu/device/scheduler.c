// The scheduler: runs the threads of one block on one OS thread.
//
// Direct mode: a thread is a plain call, and the next one starts when it returns. A thread that has
// to wait keeps the stack it runs on and so becomes a fiber; the next thread starts on a fresh
// stack. A kernel that never waits never switches stacks.
//
// Order: first every thread is started. Then the ready threads run, warp by warp, and after them
// the threads that gave way (cudev_yield). Nothing runs in parallel within a block.
#include "cpu/device/scheduler.h"
#include "cpu/device/stacks.h"
#include "cpu/device/switch.h"

__thread unsigned cudev_row_end;

static void fiber_main(void) {
    struct worker* w = cudev_self;
    w->launch->run(w->launch->body);
    cudev_abandon_threads(w);
}

// Direct mode ends: a thread is about to wait. Writes down what the fast path left implicit: all
// threads before this one have returned, all after it have not started.
void cudev_leave_direct(struct worker* w) {
    unsigned t = w->row + threadIdx.x;
    w->direct = false;
    cudev_row_end = 0;
    w->current = t;
    w->next = t + 1;
    w->running = w->running_of[0] = w->launch->threads - t;
    for (unsigned i = 0; i < t / WARP_SIZE; i++) w->live[i] = 0;
    w->live[t / WARP_SIZE] &= ~0u << t % WARP_SIZE;
}

void cudev_make_ready(struct worker* w, unsigned warp, uint32_t lanes) {
    w->ready[warp] |= lanes;
    if (w->ready[warp]) w->ready_warps |= 1u << warp;
}

bool cudev_resume_yielded(struct worker* w) {
    for (unsigned i = 0; i < MAX_WARPS; i++) {
        uint32_t lanes = w->yielded[i];
        w->yielded[i] = 0;
        cudev_make_ready(w, i, lanes);
    }
    return w->ready_warps != 0;
}

unsigned cudev_start_next(struct worker* w) {
    unsigned t = w->next++;
    cudev_stack_use(w, cudev_stack_take(w));
    w->stack_pointer[t] = cudev_new_stack(cudev_stack_top(w, w->stack), fiber_main);
    return t;
}

void cudev_change_warp(struct worker* w) {
    if (!w->ready_warps) w->nobody_ready(w);
    uint32_t later = w->ready_warps & ~(uint32_t)((2ull << w->warp) - 1);
    w->warp = (unsigned)__builtin_ctz(later ? later : w->ready_warps);
    w->turns = 0;
    w->lane = WARP_SIZE - 1;
}

// The calling thread waits with this stack pointer. Returns the stack pointer to go on with.
void* cudev_choose_next(void* stack_pointer, struct worker* w) {
    return cudev_choose(stack_pointer, w);
}

SWITCHING_ENTRY(cudev_wait, cudev_choose_next);

void cudev_yield(void) {
    struct worker* w = cudev_self;
    if (!w) return;
    unsigned t = cudev_begin_wait(w);
    w->yielded[t / WARP_SIZE] |= 1u << t % WARP_SIZE;
    cudev_wait(w);
}

void cudev_spin(void) {
    struct worker* w = cudev_self;
    if (w && ++w->spins % 64 == 0) cudev_yield();
}

void cudev_leave(struct worker* w) {
    cudev_stack_release(w, w->stack);
    void* never_resumed;
    cudev_switch(&never_resumed, cudev_run_another(w));
    __builtin_unreachable();
}

void cudev_run_threads(struct worker* w, void (*nobody_ready)(struct worker* w)) {
    w->nobody_ready = nobody_ready;
    cudev_stack_use(w, cudev_stack_take(w));
    cudev_switch(&w->main_stack_pointer, cudev_new_stack(cudev_stack_top(w, w->stack), fiber_main));
}

void cudev_abandon_threads(struct worker* w) {
    void* never_resumed;
    cudev_switch(&never_resumed, w->main_stack_pointer);
    __builtin_unreachable();
}
