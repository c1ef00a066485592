// The phases of mbarriers: arrivals and bytes that complete one, and waiting for it.
//
// Bytes of TMA land as late as they may: when somebody waits for a phase to which nothing but these
// bytes is missing.
#include <stdio.h>
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/watcher.h"

enum { MOST_BYTES = (1 << 20) - 1 };

static void end_report(struct worker* w, const char* next) {
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_mbarriers_report(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

// ---- phases ------------------------------------------------------------------------------------

static void wake(struct worker* w, struct mbarrier* b) {
    for (unsigned i = 0; b->awaited && i < MAX_WARPS; i++) {
        uint32_t lanes = b->waiting[i];
        if (!lanes) continue;
        if (w->watch) cudev_watcher->acquire(w, &b->done, i, lanes);
        w->waiting->in_call[i] &= ~lanes;
        cudev_make_ready(w, i, lanes);
        b->waiting[i] = 0;
    }
    b->awaited = false;
}

static void complete(struct worker* w, struct mbarrier* b) {
    if (b->waited && !b->awaited && b->unseen > 0 && !b->overrun.line) b->overrun = b->arrived;
    b->unseen += b->awaited ? 0 : 1;
    b->phase++;
    b->pending = b->count;
    b->arrived.line = b->announced.line = 0;
    if (w->watch) b->done = b->clock;
    wake(w, b);
}

static void report_bytes(struct worker* w, const struct mbarrier* b, long long landed,
                         long long announced) {
    cudev_report_begin("bad_barrier",
                       "mbarrier %s, phase %u: TMA brings %lld bytes, and %lld were announced%s",
                       b->name, b->phase, landed, announced,
                       b->announced.line ? "" : ": mbarrier_arrive_expect() was not called");
    if (b->announced.line)
        cudev_report_add("  announced at %s:%d\n", b->announced.file, b->announced.line);
    else if (b->arrived.line)
        cudev_report_add("  the last to arrive: %s at %s:%d\n", b->arrived.what, b->arrived.file,
                         b->arrived.line);
    end_report(w, "mbarrier_arrive_expect() names the bytes of all boxes of the phase: a box lands "
                  "whole, also at the edge of the tensor");
}

// Nothing but bytes is missing. If all of them are on their way, they land, and the phase is
// complete.
static void land(struct worker* w, struct mbarrier* b) {
    if (b->pending || cudev_bulk_bytes_for(w, b) < b->missing) return;
    long long announced = b->missing;
    cudev_bulk_land(w, b);
    if (b->missing < 0) report_bytes(w, b, announced - b->missing, announced);
    complete(w, b);
}

bool cudev_mbarriers_settle(struct worker* w) {
    struct mbarriers* all = &w->hopper->mbarriers;
    for (unsigned i = 0; w->hopper->used && i < all->count && !w->ready_warps; i++)
        if (all->barrier[i].awaited) land(w, &all->barrier[i]);
    return w->ready_warps != 0;
}

// ---- the instructions --------------------------------------------------------------------------

void cudev_mbarrier_inval(void* bar, const char* file, int line) {
    const struct place at = {"mbarrier_inval()", file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    struct mbarrier* b = cudev_mbarrier_at(w, bar, &at);
    if (b->awaited || cudev_bulk_bytes_for(w, b))
        cudev_hopper_mistake(w, "bad_barrier", &at, "ends a barrier that is in use",
                             "nobody may wait there, and no bytes may be on their way");
    if (w->watch) cudev_watcher->mbarrier_made(w, bar, pc);
    memset(bar, FRESH_BYTE, MBARRIER_BYTES);
    b->at = NULL;
}

// Another barrier that is ahead of those who wait for it: what is wrong there shows here.
static const struct mbarrier* overrun(const struct worker* w, const struct mbarrier* full) {
    const struct mbarriers* all = &w->hopper->mbarriers;
    for (unsigned i = 0; i < all->count; i++)
        if (all->barrier[i].at && &all->barrier[i] != full && all->barrier[i].overrun.line)
            return &all->barrier[i];
    return NULL;
}

// The other phases of a barrier have the other parity: a thread that waits twice for one does not
// wait.
static void note_wait(struct mbarrier* b, unsigned thread, unsigned parity,
                      const struct place* at) {
    if (!b->waited) b->waiter = thread;
    if (b->waiter == thread) {
        if (b->waited && b->parity == parity) b->again = *at;
        b->parity = parity;
    }
    b->waited = true;
    b->unseen = 0;
}

static void report_full(struct worker* w, const struct mbarrier* b, const struct place* at) {
    const struct mbarrier* ahead = overrun(w, b);
    if (b->again.line) {
        cudev_report_begin(
            "bad_barrier",
            "%s at %s:%d waits again for parity %u of mbarrier %s, which it has waited "
            "for before\n"
            "  so %s at %s:%d in thread %s came too early: phase %u has all its %u "
            "arrivals and waits for %lld bytes",
            b->again.what, b->again.file, b->again.line, b->parity, b->name, at->what, at->file,
            at->line, cudev_thread_name(w, cudev_current(w)), b->phase, b->count, b->missing);
        end_report(w, "the parity of the phase with number i is i % 2: each round through the ring "
                      "waits for the other one");
    }
    if (ahead) {
        cudev_report_begin("bad_barrier",
                           "%s at %s:%d has ended a phase of mbarrier %s before anybody waited for "
                           "the phase before\n"
                           "  so %s at %s:%d in thread %s came too early: phase %u of mbarrier %s "
                           "has all its %u arrivals and waits for %lld bytes",
                           ahead->overrun.what, ahead->overrun.file, ahead->overrun.line,
                           ahead->name, at->what, at->file, at->line,
                           cudev_thread_name(w, cudev_current(w)), b->phase, b->name, b->count,
                           b->missing);
        end_report(w, "do more threads arrive there than its count says? or does who arrives not "
                      "wait before, each round with the other parity?");
    }
    cudev_report_begin("bad_barrier",
                       "%s at %s:%d in thread %s: phase %u of mbarrier %s has all its %u arrivals "
                       "and waits for %lld bytes; this one is too many",
                       at->what, at->file, at->line, cudev_thread_name(w, cudev_current(w)),
                       b->phase, b->name, b->count, b->missing);
    end_report(w, "who fills a stage waits first until it is free, and who reads it until it is "
                  "full: is the parity of either wait right, also where a block goes on to its "
                  "next tile? and is the count the number of threads that arrive?");
}

void cudev_mbarrier_arrive(void* bar, int rank, unsigned bytes, const char* file, int line) {
    const struct place at = {rank >= 0 ? "mbarrier_arrive_remote()"
                             : bytes   ? "mbarrier_arrive_expect()"
                                       : "mbarrier_arrive()",
                             file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    const unsigned t = cudev_current(w);
    if (rank >= 0) bar = cudev_cluster_shared(bar, (unsigned)rank, file, line);
    struct mbarrier* b = cudev_mbarrier_at(w, bar, &at);
    if (w->watch) cudev_watcher->mbarrier_used(w, b, pc, false);
    if (b->pending == 0) report_full(w, b, &at);
    if (b->missing + bytes > MOST_BYTES)
        cudev_hopper_mistake(w, "bad_barrier", &at, "announces more than 2^20 - 1 bytes",
                             "that is the most for one phase: load less at a time");
    if (w->watch) cudev_watcher->release(w, &b->clock, t / WARP_SIZE, 1u << t % WARP_SIZE);
    b->arrived = at;
    if (bytes) b->announced = at;
    b->missing += bytes;
    if (--b->pending) return;
    if (b->missing == 0) {
        unsigned unannounced = cudev_bulk_bytes_for(w, b);
        if (unannounced) report_bytes(w, b, unannounced, 0);
        complete(w, b);
    }
}

void cudev_mbarrier_wait(void* bar, unsigned parity, const char* file, int line) {
    struct place at = {"mbarrier_wait()", file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    struct mbarrier* b = cudev_mbarrier_at(w, bar, &at);
    if (parity > 1)
        cudev_hopper_mistake(w, "bad_barrier", &at, "names a parity that is neither 0 nor 1",
                             "the parity of the phase with number i is i % 2");
    if (w->watch) cudev_watcher->mbarrier_used(w, b, pc, false);
    const unsigned t = cudev_begin_wait(w), warp = t / WARP_SIZE;
    const uint32_t lane = 1u << t % WARP_SIZE;
    note_wait(b, cudev_current(w), parity, &at);
    if ((b->phase & 1) == parity) land(w, b);
    if ((b->phase & 1) != parity) {
        if (w->watch) cudev_watcher->acquire(w, &b->done, warp, lane);
        return;
    }
    at.what = b->text[parity];
    w->waiting->lane[t].place = at;
    w->waiting->in_call[warp] |= lane;
    b->waiting[warp] |= lane;
    b->awaited = true;
    cudev_wait(w);
}

static void report_one(const struct worker* w, const struct mbarrier* b) {
    cudev_report_add("  mbarrier %s (%s:%d): in phase %u (parity %u) %u of %u arrivals have come",
                     b->name, b->made.file, b->made.line, b->phase, b->phase & 1,
                     b->count - b->pending, b->count);
    if (b->arrived.line)
        cudev_report_add(", the last one at %s:%d", b->arrived.file, b->arrived.line);
    if (b->missing)
        cudev_report_add("; of the bytes announced %lld are missing, and TMA brings %u", b->missing,
                         cudev_bulk_bytes_for(w, b));
    cudev_report_add("\n");
}

static bool has_waiting(const struct mbarrier* b) {
    uint32_t any = 0;
    for (unsigned i = 0; i < MAX_WARPS; i++) any |= b->waiting[i];
    return any != 0;
}

// Some of its arrivals have come, and not all: more are counted than there are, maybe.
static bool is_begun(const struct mbarrier* b) {
    return b->pending > 0 && b->pending < b->count;
}

bool cudev_mbarriers_report(const struct worker* w) {
    const struct mbarriers* all = &w->hopper->mbarriers;
    bool begun = false;
    // in this order: where threads wait and some have come; where they wait; all others
    for (int pass = 0; pass < 3; pass++)
        for (unsigned i = 0; w->hopper->used && i < all->count; i++) {
            const struct mbarrier* b = &all->barrier[i];
            if (!b->at || (!b->awaited && b->pending == b->count && !b->missing)) continue;
            if (pass != (!has_waiting(b) ? 2 : is_begun(b) ? 0 : 1)) continue;
            begun |= pass == 0;
            report_one(w, b);
        }
    return begun;
}
