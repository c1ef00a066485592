// The scheduler: runs the threads of one block on one OS thread.
//
// Direct mode: a thread is a plain call, and the next one starts when it returns. A thread that has
// to wait keeps the stack it runs on, becomes a fiber that way, and the next thread starts on a
// fresh stack. So a kernel that never waits never switches stacks.
//
// Order: first every thread gets started, then warp by warp those that can go on, then those that
// merely gave way (cudev_yield). Nothing runs in parallel within a block.
#include <string.h>
#include "cpu/device/runtime.h"

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread unsigned cudev_row_end;

// The compiler would keep the address of a thread-local variable across a switch. That is fine as
// long as fibers never move to another OS thread, and they do not.
static void set_current(struct worker* w, unsigned t) {
    w->current = t;
    threadIdx = w->launch->index[t];
}

static void fiber_main(void) {
    struct worker* w = cudev_self;
    w->launch->run(w->launch->body);
    void* never_resumed;
    cudev_switch(&never_resumed, w->main_stack_pointer);
}

// Direct mode ends: a thread is about to wait. Writes down what the fast path left implicit: all
// threads before this one have returned, all after it have not started.
static void leave_direct(struct worker* w) {
    unsigned t = w->row + threadIdx.x;
    w->direct = false;
    cudev_row_end = 0;
    w->current = t;
    w->next = t + 1;
    w->running = w->launch->threads - t;
    for (unsigned i = 0; i < t / WARP_SIZE; i++) w->live[i] = 0;
    w->live[t / WARP_SIZE] &= ~0u << t % WARP_SIZE;
}

void cudev_make_ready(struct worker* w, unsigned warp, uint32_t lanes) {
    w->ready[warp] |= lanes;
    if (w->ready[warp]) w->ready_warps |= 1u << warp;
}

// Nobody can go on: ends the program.
static void report_deadlock(struct worker* w) {
    if (cudev_warp_blames_mask(w)) return;
    cudev_report_begin("deadlock", "deadlock: no thread of the block can go on%s",
                       w->running < w->launch->threads ? " (some have already returned)" : "");
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_named_report(w);
    cudev_report_add("  next: look at what the threads above wait for, and who should have come\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

// No lane of the current warp can go on, or it has had its share: moves on to another warp.
static __attribute__((noinline)) void change_warp(struct worker* w) {
    if (!w->ready_warps && !cudev_warp_settle(w)) {
        for (unsigned i = 0; i < MAX_WARPS; i++) {
            uint32_t lanes = w->yielded[i];
            w->yielded[i] = 0;
            cudev_make_ready(w, i, lanes);
        }
        if (!w->ready_warps) report_deadlock(w);
    }
    uint32_t later = w->ready_warps & ~(uint32_t)((2ull << w->warp) - 1);
    w->warp = (unsigned)__builtin_ctz(later ? later : w->ready_warps);
    w->turns = 0;
    w->lane = WARP_SIZE - 1;
}

// The thread to resume next. Stays with a warp as long as it has lanes that can go on (their stacks
// are in the cache), but not for ever: another warp may hold what they wait for.
static inline unsigned pick(struct worker* w) {
    enum { MAX_TURNS = 1024 };
    if (!(w->ready_warps >> w->warp & 1) || ++w->turns > MAX_TURNS) change_warp(w);
    uint32_t ready = w->ready[w->warp];
    uint32_t later = ready & ~(uint32_t)((2ull << w->lane) - 1);
    w->lane = (unsigned)__builtin_ctz(later ? later : ready);
    ready &= ~(1u << w->lane);
    w->ready[w->warp] = ready;
    if (!ready) w->ready_warps &= ~(1u << w->warp);
    return w->warp * WARP_SIZE + w->lane;
}

// The stack pointer of the thread to run next, which becomes the current one.
static inline void* run_another(struct worker* w) {
    unsigned t;
    if (w->next < w->launch->threads) {
        t = w->next++;
        w->stack = cudev_stack_take(w);
        w->stack_pointer[t] = cudev_new_stack(cudev_stack_top(w, w->stack), fiber_main);
    } else {
        t = pick(w);
        w->stack = w->stack_of[t];
    }
    set_current(w, t);
    // the stack needed after this one: it has long left the first-level cache
    const char* soon = w->stack_pointer[(t + 1) % MAX_THREADS];
    __builtin_prefetch(soon, 1);
    __builtin_prefetch(soon + 64, 1);
    __builtin_prefetch(soon + 128, 1);
    return w->stack_pointer[t];
}

// The calling thread is about to wait; returns its index in the block.
unsigned cudev_begin_wait(struct worker* w) {
    if (w->direct) leave_direct(w);
    return w->current;
}

// The current thread waits with this stack pointer; returns the one to go on with.
void* cudev_choose(void* stack_pointer, struct worker* w) {
    w->stack_of[w->current] = (uint16_t)w->stack;
    w->stack_pointer[w->current] = stack_pointer;
    return run_another(w);
}

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

// Where a thread waits for others, NULL when it does not.
const struct place* cudev_place_of(const struct worker* w, unsigned t) {
    unsigned warp = t / WARP_SIZE, lane = t % WARP_SIZE;
    if (w->in_barrier[warp] >> lane & 1) return &w->barrier_place;
    uint32_t waiting = w->in_warp_function[warp] | w->in_named[warp];
    return waiting >> lane & 1 ? &w->lane_of[t].place : NULL;
}

// The running thread of a worker. On another OS thread than the worker's own only an approximation.
unsigned cudev_current(const struct worker* w) {
    if (!w->direct) return w->current;
    return w->row + (w == cudev_self ? threadIdx.x : w->asked_x);
}

static const char* plural(unsigned n) {
    return n == 1 ? "" : "s";
}

static __attribute__((noinline)) void report_exited(struct worker* w) {
    const struct place* at = &w->barrier_place;
    unsigned returned = w->launch->threads - w->running;
    cudev_report_begin("exited_threads",
                       "%u thread%s wait%s at %s (%s:%d) but %u ha%s already returned",
                       w->at_barrier, plural(w->at_barrier), w->at_barrier == 1 ? "s" : "",
                       at->what, at->file, at->line, returned, returned == 1 ? "s" : "ve");
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_report_add("  next: every thread of the block has to reach the barrier: does a return\n"
                     "        come before it (skip only the work: if (i < n) { ... }), or is it\n"
                     "        inside an if or a loop that not all threads enter?\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

int cudev_next_thread(void) {
    struct worker* w = cudev_self;
    struct launch* launch = w->launch;
    if (w->direct) {  // the end of a row; no thread has waited
        w->row += launch->site.block[0];
        if (w->row == launch->threads) return 0;
        threadIdx = launch->index[w->row];
        return 1;
    }
    unsigned t = w->current;
    w->live[t / WARP_SIZE] &= ~(1u << t % WARP_SIZE);
    w->running--;
    cudev_warp_lane_returned(w, t / WARP_SIZE);
    if (w->next < launch->threads) {
        set_current(w, w->next++);
        return 1;
    }
    if (w->running == 0) return 0;
    if (w->at_barrier == w->running) report_exited(w);
    cudev_stack_release(w, w->stack);
    void* never_resumed;
    cudev_switch(&never_resumed, run_another(w));
    return 0;  // not reached
}

static const char* barrier_name(enum cudev_barrier_op op) {
    static const char* const names[] = {"__syncthreads()", "__syncthreads_count()",
                                        "__syncthreads_and()", "__syncthreads_or()"};
    return names[op];
}

static bool same_line(const struct place* a, const char* file, int line) {
    return a->line == line && (a->file == file || strcmp(a->file, file) == 0);
}

static __attribute__((noinline)) void report_divergence(struct worker* w, enum cudev_barrier_op op,
                                                        const char* file, int line) {
    const struct place* at = &w->barrier_place;
    cudev_report_begin("barrier_divergence",
                       "barrier divergence: thread %s reached %s at %s:%d while %u thread%s "
                       "wait%s at %s:%d",
                       cudev_thread_name(w, w->current), barrier_name(op), file, line,
                       w->at_barrier, plural(w->at_barrier), w->at_barrier == 1 ? "s" : "",
                       at->file, at->line);
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_report_add("  next: all threads of a block have to meet at the same barrier; move it out "
                     "of the if or the loop that only some of them enter\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

// The last thread has arrived: all but it become ready.
static inline void open_barrier(struct worker* w, unsigned last) {
    enum cudev_barrier_op op = w->barrier_op;
    if (w->watch) cudev_watcher->barrier(w);
    if (w->running < w->launch->threads) report_exited(w);
    w->vote_result = op == CUDEV_BARRIER_COUNT ? w->votes
                     : op == CUDEV_BARRIER_AND ? w->votes == (int)w->at_barrier
                     : op == CUDEV_BARRIER_OR  ? w->votes > 0
                                               : 0;
    w->at_barrier = 0;
    memset(w->in_barrier, 0, sizeof w->in_barrier);
    memcpy(w->ready, w->live, sizeof w->ready);
    w->ready_warps = w->all_warps;
    w->ready[last / WARP_SIZE] &= ~(1u << last % WARP_SIZE);
    if (!w->ready[last / WARP_SIZE]) w->ready_warps &= ~(1u << last / WARP_SIZE);
}

// A thread has arrived at a barrier; returns the stack pointer to go on with.
void* cudev_arrive(void* stack_pointer, enum cudev_barrier_op op, int vote, const char* file,
                   int line) {
    struct worker* w = cudev_self;
    if (!w) return stack_pointer;  // host code
    if (w->direct) leave_direct(w);
    unsigned t = w->current;
    if (w->at_barrier == 0) {
        w->barrier_place = (struct place){barrier_name(op), file, line};
        w->barrier_op = op;
        w->votes = 0;
    } else if (w->barrier_op != op || !same_line(&w->barrier_place, file, line)) {
        report_divergence(w, op, file, line);
    }
    w->votes += vote != 0;
    if (++w->at_barrier == w->running) {
        open_barrier(w, t);
        return stack_pointer;
    }
    w->in_barrier[t / WARP_SIZE] |= 1u << t % WARP_SIZE;
    return cudev_choose(stack_pointer, w);
}

int cudev_vote_result(void) {
    return cudev_self ? cudev_self->vote_result : 0;
}

// Nothing is left of the block that ran: as after a thread that did what no GPU survives.
static void forget_block(struct worker* w) {
    cudev_stacks_reset(w);
    w->at_barrier = 0;
    memset(w->in_barrier, 0, sizeof w->in_barrier);
    memset(w->in_warp_function, 0, sizeof w->in_warp_function);
    memset(w->in_named, 0, sizeof w->in_named);
    memset(w->ready, 0, sizeof w->ready);
    memset(w->yielded, 0, sizeof w->yielded);
    for (unsigned i = 0; i < MAX_WARPS; i++) w->groups[i].count = 0;
}

// Ends the running block and starts no other; the launch returns `error`, which stays.
void cudev_stop_launch(struct worker* w, cudaError_t error) {
    atomic_store(&w->launch->error, error);
    atomic_store(&w->launch->next_block, w->launch->blocks);
    void* never_resumed;
    cudev_switch(&never_resumed, w->main_stack_pointer);
    __builtin_unreachable();
}

void cudev_run_block(struct worker* w, uint64_t block) {
    struct launch* launch = w->launch;
    if (w->watch && launch->error) return;
    const unsigned* grid = launch->site.grid;
    blockIdx.x = (unsigned)(block % grid[0]);
    blockIdx.y = (unsigned)(block / grid[0] % grid[1]);
    blockIdx.z = (unsigned)(block / grid[0] / grid[1]);
    w->block = block;

    unsigned warps = (launch->threads + WARP_SIZE - 1) / WARP_SIZE;
    memset(w->live, 0xff, sizeof w->live[0] * warps);
    if (launch->threads % WARP_SIZE) w->live[warps - 1] = (1u << launch->threads % WARP_SIZE) - 1;
    for (unsigned i = warps; i < MAX_WARPS; i++) w->live[i] = 0;
    w->all_warps = (uint32_t)((1ull << warps) - 1);
    w->ready_warps = 0;
    if (w->copies) cudev_copies_forget(w);
    if (w->named) cudev_named_forget(w);
    w->direct = !w->watch;  // a watcher has to know which thread runs
    w->row = 0;
    w->warp = w->turns = 0;
    w->lane = WARP_SIZE - 1;
    threadIdx = launch->index[0];
    cudev_row_end = launch->site.block[0];
    if (w->watch) {
        cudev_row_end = 0;
        w->current = 0;
        w->next = 1;
        w->running = launch->threads;
        cudev_watcher->block_begins(w);
    }

    cudev_shared_begin(w);
    w->stack = cudev_stack_take(w);
    cudev_switch(&w->main_stack_pointer, cudev_new_stack(cudev_stack_top(w, w->stack), fiber_main));
    if (w->watch) {
        cudev_watcher->block_ends(w);
        if (launch->error) {
            forget_block(w);
            return;
        }
    }
    cudev_stack_release(w, w->stack);
    cudev_shared_end(w);
}
