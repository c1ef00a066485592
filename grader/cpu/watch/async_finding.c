// Findings of the order between threads, TMA and wgmma: see async_finding.h.
#include "cpu/watch/async_finding.h"
#include "cpu/watch/beyond.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/sites.h"

const char cudev_wait_first[] =
    "who reads a stage waits first: mbarrier_wait() on the barrier that its load names, with the\n"
    "        parity of this round";
const char cudev_hand_back[] =
    "until the wait (wgmma_wait(), bulk_wait_read()) the memory belongs to TMA or wgmma";

void cudev_async_found(struct watch* watch, const char* p, struct side later, struct side earlier,
                       const char* why, const char* next) {
    struct finding* f =
        cudev_finding(FOUND_ASYNC, later.site, earlier.site, watch->worker->block, later.thread);
    if (!f) return;
    if (p) cudev_finding_where(f, watch->worker, (uint64_t)(p - ARENA_BASE), 4);
    f->other_block = f->block;
    f->other_thread = earlier.thread;
    f->deed = later.deed;
    f->other_deed = earlier.deed;
    f->why = why;
    f->next = next;
    f->beyond = beyond_of(watch);
}

struct side cudev_side_of(const struct watch* watch, uint64_t slot, bool writes) {
    const unsigned t = slot_thread(slot), beyond = beyond_of(watch);
    return (struct side){slot_site(slot), t,
                         t < beyond                     ? writes ? "writes" : "reads"
                         : t == thread_of_tma(watch)    ? "loads by TMA"
                         : t == thread_of_stores(watch) ? "reads by TMA"
                                                        : "multiplies"};
}

struct side cudev_side_of_copy(const struct watch* watch, const struct bulk_copy* c) {
    return (struct side){site_at(c->pc),
                         c->barrier ? thread_of_tma(watch) : thread_of_stores(watch),
                         c->barrier     ? "loads by TMA"
                         : c->want.adds ? "adds by TMA"
                                        : "stores by TMA"};
}

void cudev_async_race(struct watch* watch, uint64_t offset, uint64_t earlier, bool earlier_writes,
                      uint64_t me, bool writes) {
    cudev_async_found(watch, ARENA_BASE + offset, cudev_side_of(watch, me, writes),
                      cudev_side_of(watch, earlier, earlier_writes),
                      earlier_writes ? "nobody has waited in between"
                                     : "it is not known to be done",
                      earlier_writes ? cudev_wait_first : cudev_hand_back);
}

bool cudev_async_reads_early(struct watch* watch, uint64_t offset, const void* pc) {
    const struct bulk_copy* load = cudev_bulk_load_at(watch->worker, ARENA_BASE + offset);
    if (!load) return false;
    cudev_async_found(
        watch, ARENA_BASE + offset, (struct side){site_at(pc), watch->worker->current, "reads"},
        cudev_side_of_copy(watch, load), "nobody has waited in between", cudev_wait_first);
    return true;
}
