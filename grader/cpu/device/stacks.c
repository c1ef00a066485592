// Stacks for the threads of a block. They lie at constant addresses, get memory when they are
// touched, and their guard page when they are first used.
#include "cpu/device/stacks.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

// A private mapping counts against data limits (ulimit -d), whole; a shared one would not, and each
// page that is touched first would take the system twice as long.
void cudev_stacks_map(struct worker* w) {
    char* want = cudev_stack_bottom(w, 0);
    void* got = mmap(want, WORKER_STACKS, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != want) {
        perror("CPU device: cannot reserve address space for thread stacks (see ulimit -v, -d)");
        exit(EXIT_FAILURE);
    }
    w->stacks = cudev_worker_memory(sizeof *w->stacks);
    cudev_stacks_reset(w);
}

void cudev_stacks_reset(struct worker* w) {
    struct stacks* s = w->stacks;
    s->free_count = 0;
    for (unsigned i = MAX_THREADS; i-- > 0;) s->free[s->free_count++] = i;
}

// Linux 6.15 has guards that stay when the stacks are closed and opened. An emulator may call
// every advice a success.
static bool install_guard(struct stacks* s, char* guard, size_t page) {
    if (s->guarded == 0 && madvise(guard, page, -1) == 0) return false;
    return madvise(guard, page, MADV_GUARD_INSTALL) == 0;
}

void cudev_stack_prepare(struct worker* w, unsigned stack) {
    struct stacks* s = w->stacks;
    const size_t page = (size_t)getpagesize();
    for (; s->ready <= stack; s->ready++) {
        if (s->ready < s->guarded) continue;
        char* guard = cudev_stack_bottom(w, s->ready);
        if (s->ready == s->guarded && install_guard(s, guard, page))
            s->guarded++;
        else
            mprotect(guard, page, PROT_NONE);
    }
}

void cudev_stacks_open(struct worker* w) {
    struct stacks* s = w->stacks;
    if (s->closed)
        mprotect(cudev_stack_bottom(w, 0), s->closed * STACK_SIZE, PROT_READ | PROT_WRITE);
    s->closed = 0;
}

void cudev_stacks_close(struct worker* w) {
    struct stacks* s = w->stacks;
    if (s->ready) mprotect(cudev_stack_bottom(w, 0), s->ready * STACK_SIZE, PROT_NONE);
    s->closed = s->ready;
    s->ready = 0;  // the other guard pages have become one with the rest
}

// ---- what threads leave on their stacks ---------------------------------------------------------
//
// A local variable without a value shall not hold what an earlier thread has left: there a wrong
// kernel would find right numbers. How far down threads go shows after the first blocks: below
// `clean` the stack was zero or NaN, and has changed.

enum { UNKNOWN = 4096, LEARNED_FROM = 4, DEEPEST = 32 << 10 };  // bytes; blocks; bytes

void cudev_stacks_launch(struct worker* w) {
    struct stacks* s = w->stacks;
    char* top = cudev_stack_top(w, s->free[s->free_count - 1]);
    if (s->learned) cudev_stack_fill(top - s->clean, top);
    s->clean = UNKNOWN;
    s->learned = s->started = 0;
}

static size_t depth(const char* end) {
    const uint64_t *top = (const uint64_t*)end, *at = top - DEEPEST / 8;
    while (at < top && (*at == 0 || *at == ~0ull)) at++;
    return (size_t)(top - at) * 8;
}

void cudev_stacks_learn(struct worker* w) {
    struct stacks* s = w->stacks;
    if (s->learned == LEARNED_FROM) return;
    s->learned++;
    size_t deep = depth(cudev_stack_top(w, w->stack));
    if (s->learned == 1 || deep > s->clean) s->clean = deep;
}

// When the second thread of a launch starts.
static __attribute__((noinline)) void learn_early(struct stacks* s, const char* frame) {
    size_t deep = depth(frame);
    if (deep > s->clean) s->clean = deep;
}

// Nothing of this function lies below its frame while it fills: it keeps all in registers.
__attribute__((noinline)) void cudev_clean_stack(void) {
    struct stacks* s = cudev_self->stacks;
    char* frame = __builtin_frame_address(0);
    if (s->learned == 0 && s->started++ == 1) learn_early(s, frame);
    cudev_stack_fill(frame - s->clean, frame - OWN_FRAME);
}

bool cudev_stack_guard_hit(const struct worker* w, const void* address) {
    const char* bottom = cudev_stack_bottom(w, w->stack);
    return (const char*)address >= bottom - STACK_SIZE / 2 &&
           (const char*)address < bottom + getpagesize();
}
