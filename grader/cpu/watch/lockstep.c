// From accesses of threads to requests of warps. A GPU issues an instruction for all lanes of a
// warp that are there; here each thread runs by itself and writes a log. When the lanes of a warp
// wait, their logs are put side by side again.
//
// As long as the next instruction is the same in all lanes, it is one request. The lanes differ
// after a branch, or after a loop that some lanes leave earlier. Then the lanes that will soonest
// arrive where others wait go first. So all lanes meet again, as they do on a GPU.
#include <string.h>
#include "cpu/watch/counters.h"
#include "cpu/watch/sites.h"

enum { LOOK_AHEAD = 256 };

struct reader {
    const log_entry *next, *end;
};

static uint32_t instruction(log_entry e) {
    return (uint32_t)(e >> 32);
}

// The place of an entry in the code; rounds come last.
static uintptr_t place(log_entry e) {
    return log_kind(e) == LOG_ROUND ? UINTPTR_MAX : (uintptr_t)sites()->pc[log_site(e)];
}

// The number of entries between the reader's next entry and the instruction of e; LOOK_AHEAD if the
// instruction is not near.
static unsigned distance(const struct reader* r, log_entry e) {
    for (unsigned d = 1; d < LOOK_AHEAD && r->next + d < r->end; d++)
        if (instruction(r->next[d]) == instruction(e)) return d;
    return LOOK_AHEAD;
}

// Is the group of r in the round that the loop of `round` began last? Then it comes to the loop's
// next round before it comes to one of a loop around it.
static bool in_round(const struct reader* r, log_entry round) {
    for (unsigned d = 0; d < LOOK_AHEAD && r->next + d < r->end; d++) {
        log_entry e = r->next[d];
        if (log_kind(e) != LOG_ROUND) continue;
        if (instruction(e) == instruction(round)) return true;
        if (log_bytes(e) <= log_bytes(round)) return false;
    }
    return false;
}

// Takes away the groups that wait for another group at the beginning of a round; returns how many
// are left.
static unsigned without_waiting(const struct reader* r, unsigned* leader, unsigned groups) {
    unsigned going = 0, left[WARP_SIZE];
    for (unsigned g = 0; g < groups; g++) {
        log_entry e = *r[leader[g]].next;
        bool waits = false;
        for (unsigned h = 0; h < groups && !waits && log_kind(e) == LOG_ROUND; h++)
            waits = h != g && in_round(&r[leader[h]], e);
        if (!waits) left[going++] = leader[g];
    }
    if (!going) return groups;
    memcpy(leader, left, going * sizeof *leader);
    return going;
}

// Picks the lanes that go first when lanes are at different instructions: one entry of their group.
static log_entry choose(const struct reader* r, uint32_t active) {
    unsigned leader[WARP_SIZE] = {(unsigned)__builtin_ctz(active)}, groups = 1;
    for (uint32_t rest = active & (active - 1); rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), g = 0;
        while (g < groups && instruction(*r[leader[g]].next) != instruction(*r[lane].next)) g++;
        if (g == groups) leader[groups++] = lane;
    }
    groups = without_waiting(r, leader, groups);
    log_entry best = *r[leader[0]].next;
    unsigned best_distance = LOOK_AHEAD + 1;
    for (unsigned g = 0; g < groups; g++)
        for (unsigned h = 0; h < groups; h++) {
            if (g == h) continue;
            const struct reader* own = &r[leader[g]];
            unsigned d = distance(own, *r[leader[h]].next);
            // two groups that never meet go in the order of the code
            bool earlier = d == best_distance && place(*own->next) < place(best);
            if (d < best_distance || earlier) {
                best = *own->next;
                best_distance = d;
            }
        }
    return best;
}

// Takes the next entry of all lanes that are at the instruction of `e`; returns which.
static uint32_t take(struct reader* r, uint32_t active, log_entry e, struct request* q) {
    uint32_t taken = 0;
    q->lanes = 0;
    q->instruction = e;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        log_entry own = *r[lane].next;
        if (instruction(own) != instruction(e)) continue;
        q->offset[q->lanes] = (uint32_t)own;
        q->lane[q->lanes++] = (uint8_t)lane;
        taken |= 1u << lane;
    }
    return taken;
}

// While all 32 lanes are at the same instruction: the common case. Returns when they are not, or
// when one is at its end.
static void merge_together(struct watch* watch, struct reader* r, struct request* q) {
    ptrdiff_t rounds = r[0].end - r[0].next, done = 0;
    for (int i = 1; i < WARP_SIZE; i++)
        if (r[i].end - r[i].next < rounds) rounds = r[i].end - r[i].next;
    q->lanes = WARP_SIZE;
    for (int i = 0; i < WARP_SIZE; i++) q->lane[i] = (uint8_t)i;
    for (; done < rounds; done++) {
        q->instruction = r[0].next[done];
        uint32_t different = 0;
        for (int i = 0; i < WARP_SIZE; i++) {
            log_entry e = r[i].next[done];
            different |= instruction(e) ^ instruction(q->instruction);
            q->offset[i] = (uint32_t)e;
        }
        if (different) break;
        cudev_request(watch, q);
    }
    for (int i = 0; i < WARP_SIZE; i++) r[i].next += done;
}

// Turns the logs of a warp into requests. Unless `all`, stops where the log of a lane that is still
// running breaks off, and keeps the rest.
static void merge(struct watch* watch, unsigned warp, bool all) {
    log_entry(*log)[LOG_STRIDE] = watch->log[watch->logs.of[warp]];
    struct reader r[WARP_SIZE];
    struct request q = {.warp = warp};
    uint32_t active = 0, cut = 0;  // lanes: have entries; break off
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        r[lane] = (struct reader){log[lane], log[lane] + watch->logs.length[warp][lane]};
        if (watch->logs.length[warp][lane]) active |= 1u << lane;
        if (watch->logs.length[warp][lane] == LOG_ENTRIES && !all) cut |= 1u << lane;
    }
    bool broken_off = false;
    while (active && !broken_off) {
        if (active == ~0u) merge_together(watch, r, &q);
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (r[lane].next < r[lane].end) continue;
            active &= ~(1u << lane);
            if (cut >> lane & 1) broken_off = true;
        }
        if (!active || broken_off) break;
        log_entry e = *r[__builtin_ctz(active)].next;
        uint32_t taken = take(r, active, e, &q);
        if (taken != active) {
            log_entry better = choose(r, active);
            if (instruction(better) != instruction(e)) taken = take(r, active, better, &q);
        }
        cudev_request(watch, &q);
        for (uint32_t rest = taken; rest; rest &= rest - 1) r[__builtin_ctz(rest)].next++;
    }
    bool empty = true;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        size_t left = (size_t)(r[lane].end - r[lane].next);
        if (left && r[lane].next > log[lane])
            memmove(log[lane], r[lane].next, left * sizeof *log[0]);
        watch->logs.length[warp][lane] = (uint32_t)left;
        empty = empty && !left;
    }
    if (!empty) return;
    watch->logs.logged &= ~(1u << warp);
    watch->logs.free[watch->logs.free_count++] = watch->logs.of[warp];
}

// The warp has a log from now on.
static void begin_log(struct watch* watch, unsigned warp) {
    watch->logs.warp = warp;
    if (watch->logs.logged >> warp & 1) return;
    watch->logs.logged |= 1u << warp;
    watch->logs.of[warp] = watch->logs.free[--watch->logs.free_count];
}

void cudev_lockstep_block(struct watch* watch) {
    watch->logs.logged = 0;
    watch->logs.free_count = 0;
    for (unsigned i = MAX_WARPS; i-- > 0;) watch->logs.free[watch->logs.free_count++] = (uint8_t)i;
    begin_log(watch, 0);
}

// If all lanes of the last warp wait, their logs are at the same point. If some lanes can go on,
// they have to reach that point first.
void cudev_lockstep_change_warp(struct watch* watch) {
    const struct worker* w = watch->worker;
    unsigned last = watch->logs.warp;
    if (watch->logs.logged >> last & 1 && !w->ready[last] && !w->yielded[last])
        merge(watch, last, false);
    begin_log(watch, w->current / WARP_SIZE);
}

// The other lanes shall reach the same point, too.
void cudev_lockstep_log_full(struct watch* watch) {
    unsigned warp = watch->logs.warp, lane = watch->worker->current % WARP_SIZE;
    cudev_yield();
    begin_log(watch, warp);
    if (watch->logs.length[warp][lane] == LOG_ENTRIES) merge(watch, warp, false);
    if (watch->logs.length[warp][lane] == LOG_ENTRIES) merge(watch, warp, true);
    begin_log(watch, warp);
}

void cudev_lockstep_merge_all(struct watch* watch) {
    for (uint32_t rest = watch->logs.logged; rest; rest &= rest - 1)
        merge(watch, (unsigned)__builtin_ctz(rest), true);
    begin_log(watch, watch->logs.warp);
}
