// Who waits where, for reports.
#include "cpu/device/waiting.h"
#include <string.h>
#include "cpu/device/report.h"

void cudev_waiting_create(struct worker* w) {
    w->waiting = cudev_worker_memory(sizeof *w->waiting);
}

void cudev_waiting_reset(struct worker* w) {
    struct waiting* in = w->waiting;
    memset(in->barrier, 0, sizeof in->barrier);
    memset(in->in_call, 0, sizeof in->in_call);
    for (unsigned i = 0; i < MAX_WARPS; i++) in->groups[i].count = 0;
}

void cudev_waiting_forget(struct worker* w) {
    memset(w->waiting->lane, 0, sizeof w->waiting->lane);
}

const struct place* cudev_place_of(const struct worker* w, unsigned t) {
    const struct waiting* in = w->waiting;
    unsigned warp = t / WARP_SIZE, lane = t % WARP_SIZE;
    const struct barrier* b = &in->barrier[cudev_rank_of(w, t)];
    if (b->waiting[warp] >> lane & 1) return &b->place;
    return in->in_call[warp] >> lane & 1 ? &in->lane[t].place : NULL;
}

enum state { RETURNED, NOT_STARTED, RUNNING, READY, WAITING };

static enum state state_of(const struct worker* w, unsigned t, unsigned current) {
    if (cudev_place_of(w, t)) return WAITING;
    if (!(w->live[t / WARP_SIZE] >> t % WARP_SIZE & 1)) return RETURNED;
    if (t == current) return RUNNING;
    if (w->direct) return t < current ? RETURNED : NOT_STARTED;
    return t >= w->next ? NOT_STARTED : READY;
}

static bool same_place(const struct place* a, const struct place* b) {
    return a == b || (a && b && a->line == b->line && a->what == b->what);
}

void cudev_report_threads(const struct worker* w) {
    static const char* const words[] = {"returned from the kernel", "not yet started", "running",
                                        "able to go on", "waiting"};
    enum { MAX_GROUPS = 12 };
    struct {
        unsigned count, first;
        enum state state;
        const struct place* place;
    } group[MAX_GROUPS];
    unsigned groups = 0, current = cudev_current(w);
    for (unsigned t = 0; t < w->launch->threads; t++) {
        enum state state = state_of(w, t, current);
        const struct place* place = cudev_place_of(w, t);
        unsigned g = 0;
        while (g < groups && (group[g].state != state || !same_place(group[g].place, place))) g++;
        if (g == MAX_GROUPS) continue;
        if (g == groups) {
            group[groups].count = 0;
            group[groups].first = t;
            group[groups].place = place;
            group[groups++].state = state;
        }
        group[g].count++;
    }
    for (unsigned g = 0; g < groups; g++) {
        cudev_report_add("  %5u thread%s (first: %s) %s", group[g].count,
                         group[g].count == 1 ? " " : "s", cudev_thread_name(w, group[g].first),
                         words[group[g].state]);
        if (group[g].place)
            cudev_report_add(" in %s at %s:%d", group[g].place->what, group[g].place->file,
                             group[g].place->line);
        cudev_report_add("\n");
    }
}

void cudev_report_waiting(const struct worker* w, const char* next) {
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}
