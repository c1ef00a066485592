// The barrier of a block: __syncthreads() and its voting variants.
#include "cpu/device/worker.h"
#include <string.h>
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/switch.h"
#include "cpu/device/waiting.h"
#include "cpu/device/watcher.h"

static const char* plural(unsigned n) {
    return n == 1 ? "" : "s";
}

void cudev_barrier_abandoned(struct worker* w, unsigned rank) {
    const struct barrier* b = &w->waiting->barrier[rank];
    const struct place* at = &b->place;
    unsigned returned = w->launch->of_block - w->running_of[rank];
    cudev_report_begin("exited_threads",
                       "%u thread%s wait%s at %s (%s:%d) but %u ha%s already returned", b->arrived,
                       plural(b->arrived), b->arrived == 1 ? "s" : "", at->what, at->file, at->line,
                       returned, returned == 1 ? "s" : "ve");
    cudev_report_waiting(w, "every thread of the block has to reach the barrier: does a return "
                            "come before it (skip only the work: if (i < n) { ... }), or is it "
                            "inside an if or a loop that not all threads enter?");
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
    const struct barrier* b = &w->waiting->barrier[cudev_rank_of(w, w->current)];
    const struct place* at = &b->place;
    cudev_report_begin("barrier_divergence",
                       "barrier divergence: thread %s reached %s at %s:%d while %u thread%s "
                       "wait%s at %s:%d",
                       cudev_thread_name(w, w->current), barrier_name(op), file, line, b->arrived,
                       plural(b->arrived), b->arrived == 1 ? "s" : "", at->file, at->line);
    cudev_report_waiting(w, "all threads of a block have to meet at the same barrier; move it out "
                            "of the if or the loop that only some of them enter");
}

// The last thread has arrived: all other threads become ready.
static inline void open_barrier(struct worker* w, struct barrier* b, unsigned last) {
    w->met.barriers++;
    if (w->watch) cudev_watcher->barrier(w);
    const unsigned rank = cudev_rank_of(w, last);
    if (w->running_of[rank] < w->launch->of_block) cudev_barrier_abandoned(w, rank);
    b->vote_result = b->op == CUDEV_BARRIER_COUNT ? b->votes
                     : b->op == CUDEV_BARRIER_AND ? b->votes == (int)b->arrived
                     : b->op == CUDEV_BARRIER_OR  ? b->votes > 0
                                                  : 0;
    b->arrived = 0;
    if (w->launch->cluster > 1) {
        for (unsigned i = 0; i < MAX_WARPS; i++) {
            w->ready[i] |= b->waiting[i];
            if (w->ready[i]) w->ready_warps |= 1u << i;
        }
        memset(b->waiting, 0, sizeof b->waiting);
        return;
    }
    memset(b->waiting, 0, sizeof b->waiting);
    memcpy(w->ready, w->live, sizeof w->ready);
    w->ready_warps = w->all_warps;
    w->ready[last / WARP_SIZE] &= ~(1u << last % WARP_SIZE);
    if (!w->ready[last / WARP_SIZE]) w->ready_warps &= ~(1u << last / WARP_SIZE);
}

// A thread has arrived at the barrier. Returns the stack pointer to go on with.
void* cudev_arrive(void* stack_pointer, enum cudev_barrier_op op, int vote, const char* file,
                   int line) {
    struct worker* w = cudev_self;
    if (!w) return stack_pointer;  // host code
    unsigned t = cudev_begin_wait(w);
    const unsigned rank = cudev_rank_of(w, t);
    struct barrier* b = &w->waiting->barrier[rank];
    if (b->arrived == 0) {
        b->place = (struct place){barrier_name(op), file, line};
        b->op = op;
        b->votes = 0;
    } else if (b->op != op || !same_line(&b->place, file, line)) {
        report_divergence(w, op, file, line);
    }
    b->votes += vote != 0;
    if (++b->arrived == w->running_of[rank]) {
        open_barrier(w, b, t);
        return stack_pointer;
    }
    b->waiting[t / WARP_SIZE] |= 1u << t % WARP_SIZE;
    return cudev_choose(stack_pointer, w);
}

SWITCHING_ENTRY(cudev_barrier, cudev_arrive);

int cudev_vote_result(void) {
    struct worker* w = cudev_self;
    return w ? w->waiting->barrier[cudev_rank_of(w, cudev_current(w))].vote_result : 0;
}
