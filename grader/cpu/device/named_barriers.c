// Named barriers (bar.sync, bar.arrive): a barrier opens when the number of threads it was told of has
// come. Whole warps come; those that only arrive go on at once.
#include <stdio.h>
#include <string.h>
#include "cpu/device/runtime.h"

enum { NAMED_BARRIERS = 16 };  // number 0 is __syncthreads()

struct named_barrier {
    unsigned wanted;  // threads; 0: nobody has come since it opened
    unsigned arrived;
    unsigned first;               // thread that came first
    struct place place;           // and where
    uint32_t waiting[MAX_WARPS];  // lanes
    struct cudev_clock clock;
};

static struct {
    struct named_barrier barrier[NAMED_BARRIERS];
    struct {
        unsigned threads;
        char text[32];
    } name[2][NAMED_BARRIERS];
} named[MAX_WORKERS];

// "named_sync(1, 64)"; lives as long as the block.
const char* cudev_named_text(struct worker* w, enum cudev_warp_op op, unsigned id,
                             unsigned threads) {
    bool waits = op == CUDEV_NAMED_SYNC;
    char* text = named[w->number].name[waits][id].text;
    if (named[w->number].name[waits][id].threads != threads)
        snprintf(text, sizeof named[0].name[0][0].text, "named_%s(%u, %u)",
                 waits ? "sync" : "arrive", id, threads);
    named[w->number].name[waits][id].threads = threads;
    return text;
}

void cudev_named_forget(struct worker* w) {
    memset(named[w->number].barrier, 0, sizeof named[0].barrier);
    memset(w->in_named, 0, sizeof w->in_named);
    w->named = false;
}

static void report(struct worker* w, const char* text, const char* next) {
    cudev_report_begin("bad_barrier", "%s", text);
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_named_report(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

// For a report: the barriers that have not opened.
void cudev_named_report(const struct worker* w) {
    for (unsigned id = 0; w->named && id < NAMED_BARRIERS; id++) {
        const struct named_barrier* b = &named[w->number].barrier[id];
        if (b->wanted)
            cudev_report_add("  named barrier %u: %u of %u threads have come, the first (%s) at "
                             "%s:%d\n",
                             id, b->arrived, b->wanted, cudev_thread_name(w, b->first),
                             b->place.file, b->place.line);
    }
}

static void report_counts(struct worker* w, unsigned t, unsigned id) {
    const struct named_barrier* b = &named[w->number].barrier[id];
    const struct place* at = &w->lane_of[t].place;
    char text[400];
    snprintf(text, sizeof text,
             "named barrier %u: thread %s comes to it for %u threads at %s:%d, thread %s has come "
             "for %u at %s:%d",
             id, cudev_thread_name(w, t), w->lane_of[t].width, at->file, at->line,
             cudev_thread_name(w, b->first), b->wanted, b->place.file, b->place.line);
    report(w, text,
           "all that use a barrier together, to wait or to arrive, give the same count: "
           "that of all of them");
}

static void open_barrier(struct worker* w, struct named_barrier* b, unsigned last_warp) {
    if (w->watch) cudev_watcher->named_opens(w);
    for (unsigned i = 0; i < MAX_WARPS; i++) {
        uint32_t lanes = b->waiting[i];
        if (!lanes) continue;
        if (w->watch) cudev_watcher->acquire(w, &b->clock, i, lanes);
        w->in_named[i] &= ~lanes;
        if (i != last_warp) cudev_make_ready(w, i, lanes);
    }
    b->wanted = b->arrived = 0;
    memset(b->waiting, 0, sizeof b->waiting);
    b->clock.block = 0;  // who comes next knows nothing of these
}

bool cudev_named_arrive(struct worker* w, unsigned warp, uint32_t lanes) {
    unsigned t = warp * WARP_SIZE + (unsigned)__builtin_ctz(lanes);
    const struct lane* lane = &w->lane_of[t];
    struct named_barrier* b = &named[w->number].barrier[lane->arg];
    bool waits = lane->op == CUDEV_NAMED_SYNC;
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
        w->in_named[warp] = lanes;
    }
    if (b->arrived < b->wanted) return !waits;
    open_barrier(w, b, waits ? warp : MAX_WARPS);
    return true;
}

void cudev_named_barrier(enum cudev_warp_op op, unsigned id, unsigned threads, const char* file,
                         int line) {
    struct worker* w = cudev_in_kernel("a named barrier");
    char text[300];
    unsigned most = (w->launch->threads + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    if (id == 0 || id >= NAMED_BARRIERS) {
        snprintf(text, sizeof text, "there is no named barrier %d (%s:%d)", (int)id, file, line);
        report(w, text, "use the numbers 1 to 15; number 0 is __syncthreads()");
    }
    if (threads == 0 || threads % WARP_SIZE || threads > most) {
        snprintf(text, sizeof text,
                 "named barrier %u is to open for %d threads (%s:%d), in a block of %u", id,
                 (int)threads, file, line, w->launch->threads);
        report(w, text,
               "whole warps come to a barrier: the count is a multiple of 32, and no more "
               "than the block has");
    }
    w->named = true;
    cudev_warp_call(w, op, ~0u, 0, id, threads, file, line);
}
