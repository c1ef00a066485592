// mbarriers: which there are, and who has made them. phases.c counts what comes to them.
//
// The 8 bytes of a barrier hold only its number: what it counts is in the worker's state.
#include <stdio.h>
#include <string.h>
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/watcher.h"

enum { MAX_COUNT = (1 << 20) - 1 };

// The content of a barrier's memory.
static uint64_t mark_of(const struct mbarriers* all, const struct mbarrier* b) {
    return 0x6d62617272696572u ^ (uint64_t)(b - all->barrier);
}

static struct mbarrier* find(struct worker* w, const char* bar) {
    struct mbarriers* all = &w->hopper->mbarriers;
    for (unsigned i = 0; i < all->count; i++)
        if (all->barrier[i].at == bar) return &all->barrier[i];
    return NULL;
}

struct mbarrier* cudev_mbarrier_at(struct worker* w, void* bar, const struct place* at) {
    struct mbarriers* all = &w->hopper->mbarriers;
    uint64_t mark;
    cudev_check_shared(w, at, bar, MBARRIER_BYTES, MBARRIER_BYTES);
    memcpy(&mark, bar, sizeof mark);
    struct mbarrier* b = &all->barrier[(mark ^ 0x6d62617272696572u) % MAX_MBARRIERS];
    if (b->at == bar && mark == mark_of(all, b)) return b;
    b = find(w, bar);
    char name[80];
    cudev_shared_name(w, bar, name, sizeof name);
    cudev_report_begin("bad_barrier", "%s at %s:%d in thread %s: %s %s", at->what, at->file,
                       at->line, cudev_thread_name(w, cudev_current(w)), name,
                       b ? "was an mbarrier, and something else has been written there"
                         : "is no mbarrier yet: nobody has called mbarrier_init()");
    cudev_report_waiting(
        w, b ? "ordinary stores and copies must leave the 8 bytes alone: do two arrays "
               "overlap?"
             : "one thread makes all barriers, calls fence_mbarrier_init(), and a "
               "__syncthreads() lets the others see them");
}

void cudev_mbarrier_init(void* bar, unsigned count, const char* file, int line) {
    const struct place at = {"mbarrier_init()", file, line};
    const void* pc = __builtin_return_address(0);
    struct worker* w = cudev_in_hopper(at.what, file, line);
    struct mbarriers* all = &w->hopper->mbarriers;
    cudev_check_shared(w, &at, bar, MBARRIER_BYTES, MBARRIER_BYTES);
    if (count < 1 || count > MAX_COUNT)
        cudev_hopper_mistake(w, "bad_barrier", &at,
                             "makes a barrier of a count below 1 or above "
                             "2^20 - 1",
                             "the count is how many arrivals complete a phase");
    uint64_t mark;
    struct mbarrier* b = find(w, bar);
    memcpy(&mark, bar, sizeof mark);
    if (b && mark == mark_of(all, b))
        cudev_hopper_mistake(w, "bad_barrier", &at, "makes a barrier that is one already",
                             "one thread makes it, once; for another count call "
                             "mbarrier_inval() first");
    if (!b && all->count == MAX_MBARRIERS)
        cudev_not_here("more than 256 mbarriers in a block", "use fewer stages", file, line);
    if (!b) b = &all->barrier[all->count++];
    memset(b, 0, sizeof *b);
    b->at = bar;
    b->count = b->pending = count;
    b->thread = cudev_current(w);
    b->pc = pc;
    b->made = at;
    cudev_shared_name(w, bar, b->name, sizeof b->name);
    for (int i = 0; i < 2; i++)
        snprintf(b->text[i], sizeof b->text[i], "mbarrier_wait(%s, %d)", b->name, i);
    if (w->watch) cudev_watcher->mbarrier_made(w, bar, pc);
    mark = mark_of(all, b);
    memcpy(bar, &mark, sizeof mark);
}

void cudev_mbarrier_fence_init(const char* file, int line) {
    struct worker* w = cudev_in_hopper("fence_mbarrier_init()", file, line);
    struct mbarriers* all = &w->hopper->mbarriers;
    for (unsigned i = 0; i < all->count; i++)
        if (all->barrier[i].thread == cudev_current(w)) all->barrier[i].fenced = true;
}
