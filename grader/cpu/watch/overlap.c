// A launch that may begin before the launch before it has ended (programmatic dependent launch).
// Here it runs when that has ended. So what counts is who has waited: an access to global memory is
// ordered behind those of the launches before if its thread has called griddep_wait(), or knows of
// a thread of its block that has.
//
// A chain of such launches begins with one that overlaps with nothing. Before the wait nothing is
// known of any launch of the chain: the one before may have let this one begin while it waited
// itself. Behind it everything is, unless a launch of the chain has ended without a wait: nobody
// knows what that one would have waited for.
#include "cpu/watch/overlap.h"
#include "cpu/watch/async_finding.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/races.h"

void cudev_overlap_launch(struct watch* watch, bool overlaps) {
    struct overlap* o = &watch->overlap;
    const uint64_t before = watch->launch_floor;  // when the launch before began
    watch->launch_floor = watch->now;
    if (!overlaps) {
        o->floor = o->loose_end = watch->now;
    } else if (o->depends && !o->waited) {
        o->loose_end = before;
    }
    o->depends = overlaps;
    o->waited = false;
    o->waiters = 0;
}

void cudev_overlap_wait(struct watch* watch) {
    struct overlap* o = &watch->overlap;
    const unsigned t = watch->worker->current;
    if (!o->depends || o->behind[t] == watch->block_floor) return;
    o->waited = true;
    o->behind[t] = watch->block_floor;
    o->waiter[o->waiters].thread = t;
    o->waiter[o->waiters++].time = watch->now;
    watch->now += ONE_TICK;
}

static bool is_behind(struct watch* watch, unsigned thread) {
    struct overlap* o = &watch->overlap;
    for (unsigned i = 0; i < o->waiters && o->behind[thread] != watch->block_floor; i++)
        if (o->waiter[i].time < cudev_order_known(watch, thread, o->waiter[i].thread))
            o->behind[thread] = watch->block_floor;
    return o->behind[thread] == watch->block_floor;
}

uint64_t cudev_overlap_floor(struct watch* watch, unsigned thread) {
    const struct overlap* o = &watch->overlap;
    if (o->floor == watch->launch_floor) return o->floor;
    return o->floor == o->loose_end && is_behind(watch, thread) ? watch->launch_floor : o->floor;
}

bool cudev_overlap_ordered(struct watch* watch, unsigned thread, uint64_t earlier) {
    return earlier >= watch->overlap.loose_end && is_behind(watch, thread);
}

void cudev_overlap_found(struct watch* watch, uint64_t offset, uint64_t earlier,
                         bool earlier_writes, uint64_t me, bool writes) {
    const unsigned thread = slot_thread(me);
    const char* deed = me & SLOT_ATOMIC ? "does an atomic" : writes ? "writes" : "reads";
    const char* other = earlier & SLOT_ATOMIC ? "does an atomic in a launch before"
                        : earlier_writes      ? "writes in a launch before"
                                              : "reads in a launch before";
    const bool behind = is_behind(watch, thread);
    cudev_async_found(
        watch, ARENA_BASE + offset, (struct side){slot_site(me), thread, deed},
        (struct side){slot_site(earlier), NO_THREAD, other},
        behind ? "no griddep_wait() in the launch between" : "no griddep_wait() between",
        behind ? "a kernel that was launched with programmaticStreamSerializationAllowed waits, "
                 "too, or\n        it may end before the one before it: and whoever waits for it "
                 "knows nothing of that one"
               : "this kernel may begin before the one before it has ended: griddep_wait() comes "
                 "first, in\n        this thread, or in another one and then a barrier");
}
