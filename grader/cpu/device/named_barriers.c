// Named barriers (bar.sync, bar.arrive): a barrier opens when as many threads have come as its
// calls name. Whole warps come; a warp that only arrives goes on at once.
#include "cpu/device/worker.h"
#include <stdio.h>
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/warp.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev/watching.h"

enum {
    NAMED_BARRIERS = 16,                        // of a block; number 0 is __syncthreads()
    OF_CLUSTER = NAMED_BARRIERS * MAX_CLUSTER,  // the barrier of a cluster
    ALL_BARRIERS,
};

struct named_barrier {
    bool touched;     // by the block that runs
    bool waited;      // somebody of it has waited here, and not only arrived
    unsigned wanted;  // threads; 0: nobody has come since it opened
    unsigned arrived;
    unsigned first;               // the thread that came first
    struct place place;           // and where
    uint32_t waiting[MAX_WARPS];  // lanes
    struct cudev_clock clock;
};

struct named_barriers {
    bool used;                                   // by the block that runs
    struct named_barrier barrier[ALL_BARRIERS];  // of block r of a cluster from 16 r on
    struct {
        unsigned threads;
        char text[32];
    } name[2][NAMED_BARRIERS];  // for reports: of named_arrive(), of named_sync()
};

void cudev_named_barriers_create(struct worker* w) {
    w->named_barriers = cudev_worker_memory(sizeof *w->named_barriers);
}

void cudev_named_barriers_begin(struct worker* w) {
    struct named_barriers* all = w->named_barriers;
    for (unsigned i = 0; all->used && i < ALL_BARRIERS; i++) {
        struct named_barrier* b = &all->barrier[i];
        if (!b->touched) continue;
        b->touched = b->waited = false;
        b->wanted = b->arrived = 0;
        memset(b->waiting, 0, sizeof b->waiting);
        b->clock.block = 0;
    }
    all->used = false;
}

// "named_sync(1, 64)"; lives as long as the block.
static const char* text_of(struct worker* w, bool waits, unsigned id, unsigned threads) {
    struct named_barriers* all = w->named_barriers;
    if (id == OF_CLUSTER) return "cluster_sync()";
    id %= NAMED_BARRIERS;
    char* text = all->name[waits][id].text;
    if (all->name[waits][id].threads != threads)
        snprintf(text, sizeof all->name[waits][id].text, "named_%s(%u, %u)",
                 waits ? "sync" : "arrive", id, threads);
    all->name[waits][id].threads = threads;
    return text;
}

static const char* text_of_sync(struct worker* w, unsigned id, unsigned threads) {
    return text_of(w, true, id, threads);
}

static const char* text_of_arrive(struct worker* w, unsigned id, unsigned threads) {
    return text_of(w, false, id, threads);
}

static void end_report(struct worker* w, const char* next) {
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_named_barriers_report(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_named_barriers_report(const struct worker* w) {
    for (unsigned id = 0; w->named_barriers->used && id < ALL_BARRIERS; id++) {
        const struct named_barrier* b = &w->named_barriers->barrier[id];
        char name[40] = "barrier of the cluster";
        if (id < OF_CLUSTER) snprintf(name, sizeof name, "named barrier %u", id % NAMED_BARRIERS);
        if (b->wanted)
            cudev_report_add("  %s: %u of %u threads have come, the first (%s) at %s:%d\n", name,
                             b->arrived, b->wanted, cudev_thread_name(w, b->first), b->place.file,
                             b->place.line);
    }
}

void cudev_named_barriers_blame(const struct worker* w) {
    for (unsigned id = 0; w->named_barriers->used && id < OF_CLUSTER; id++) {
        const struct named_barrier* b = &w->named_barriers->barrier[id];
        if (b->wanted && !b->waited)
            cudev_report_add(
                "  threads arrive at named barrier %u, where nobody has waited, at %s:%d\n",
                id % NAMED_BARRIERS, b->place.file, b->place.line);
    }
}

static void report_counts(struct worker* w, unsigned t, unsigned id) {
    const struct named_barrier* b = &w->named_barriers->barrier[id];
    const struct lane* lane = &w->waiting->lane[t];
    const struct place* at = &lane->place;
    cudev_report_begin(
        "bad_barrier",
        "named barrier %u: thread %s comes to it for %u threads at %s:%d, thread %s has come "
        "for %u at %s:%d",
        id % NAMED_BARRIERS, cudev_thread_name(w, t), lane->width, at->file, at->line,
        cudev_thread_name(w, b->first), b->wanted, b->place.file, b->place.line);
    end_report(w, "all that use a barrier together, to wait or to arrive, give the same count: "
                  "that of all of them");
}

static void open_barrier(struct worker* w, struct named_barrier* b, unsigned last_warp) {
    unsigned threads = 0;
    for (unsigned i = 0; i < MAX_WARPS; i++) threads += (unsigned)__builtin_popcount(b->waiting[i]);
    w->met.barriers++;
    if (w->watch) cudev_watcher->named_opens(w, threads);
    for (unsigned i = 0; i < MAX_WARPS; i++) {
        uint32_t lanes = b->waiting[i];
        if (!lanes) continue;
        if (w->watch) cudev_watcher->acquire(w, &b->clock, i, lanes);
        w->waiting->in_call[i] &= ~lanes;
        if (i != last_warp) cudev_make_ready(w, i, lanes);
    }
    b->wanted = b->arrived = 0;
    memset(b->waiting, 0, sizeof b->waiting);
    b->clock.block = 0;  // a thread that comes later learns nothing from these
}

// The barrier of a cluster waits for nobody who has returned. PTX ISA: "barrier.cluster".
static bool all_have_come(const struct worker* w, const struct named_barrier* b) {
    unsigned wanted = b->wanted;
    if (b == &w->named_barriers->barrier[OF_CLUSTER])
        for (unsigned i = 0; i < b->wanted / WARP_SIZE; i++)
            if (!w->live[i]) wanted -= WARP_SIZE;
    return b->arrived >= wanted;
}

void cudev_named_barriers_warp_returned(struct worker* w) {
    struct named_barrier* b = &w->named_barriers->barrier[OF_CLUSTER];
    if (w->named_barriers->used && b->wanted && all_have_come(w, b)) open_barrier(w, b, MAX_WARPS);
}

// All lanes of a warp have come to their barrier. Returns whether they can go on.
static bool arrive(struct worker* w, unsigned warp, uint32_t lanes, bool waits) {
    unsigned t = warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes);
    const struct lane* lane = &w->waiting->lane[t];
    struct named_barrier* b = &w->named_barriers->barrier[lane->arg];
    b->touched = true;
    b->waited |= waits;
    if (!b->wanted) {
        b->wanted = lane->width;
        b->first = t;
        b->place = lane->place;
    } else if (b->wanted != lane->width) {
        report_counts(w, t, lane->arg);
    }
    if (w->watch) cudev_watcher->release(w, &b->clock, warp, lanes);
    b->arrived += WARP_SIZE;  // also for a warp that has fewer lanes
    if (waits) {
        b->waiting[warp] = lanes;
        w->waiting->in_call[warp] |= lanes;
    }
    if (!all_have_come(w, b)) return !waits;
    open_barrier(w, b, waits ? warp : MAX_WARPS);
    return true;
}

static bool complete_sync(struct worker* w, unsigned warp, uint32_t lanes) {
    return arrive(w, warp, lanes, true);
}

static bool complete_arrive(struct worker* w, unsigned warp, uint32_t lanes) {
    return arrive(w, warp, lanes, false);
}

// arg: the barrier; width: the number of threads
static const struct warp_function named_sync = {
    .text = text_of_sync, .complete = complete_sync, .whole_warp = true};
static const struct warp_function named_arrive = {
    .text = text_of_arrive, .complete = complete_arrive, .whole_warp = true};

void cudev_named_barrier(enum cudev_warp_op op, unsigned id, unsigned threads, const char* file,
                         int line) {
    struct worker* w = cudev_in_kernel("a named barrier");
    unsigned most = (w->launch->of_block + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    if (id == 0 || id >= NAMED_BARRIERS) {
        cudev_report_begin("bad_barrier", "there is no named barrier %d (%s:%d)", (int)id, file,
                           line);
        end_report(w, "use the numbers 1 to 15; number 0 is __syncthreads()");
    }
    if (threads == 0 || threads % WARP_SIZE || threads > most) {
        cudev_report_begin("bad_barrier",
                           "named barrier %u is to open for %d threads (%s:%d), in a block of %u",
                           id, (int)threads, file, line, w->launch->of_block);
        end_report(w, "whole warps come to a barrier: the count is a multiple of 32, and no more "
                      "than the block has");
    }
    w->named_barriers->used = true;
    id += NAMED_BARRIERS * cudev_rank_of(w, cudev_current(w));
    cudev_warp_call(w, op == CUDEV_NAMED_SYNC ? &named_sync : &named_arrive, ~0u, 0, id, threads,
                    file, line);
}

void cudev_cluster_sync(const char* file, int line) {
    struct worker* w = cudev_in_hopper("cluster_sync()", file, line);
    w->named_barriers->used = true;
    unsigned threads = (w->launch->threads + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    cudev_warp_call(w, &named_sync, ~0u, 0, OF_CLUSTER, threads, file, line);
}
