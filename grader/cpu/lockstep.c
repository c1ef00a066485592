// From accesses of threads to requests of warps. A GPU issues an instruction for all lanes of a warp
// that are there; here each thread runs by itself and writes a log. When the lanes of a warp wait,
// their logs are put side by side again.
//
// As long as all lanes name the same instruction next, that is one request. Where they differ (a
// branch, a loop that some leave earlier), those go first that will soonest arrive where others
// wait: so the lanes meet again after the branch, as they do on a GPU.
#include <string.h>
#include "profile.h"

enum { LOOK_AHEAD = 256 };

struct reader {
    const struct log_entry* log;
    uint32_t next, end;
};

static bool same_instruction(const struct log_entry* a, const struct log_entry* b) {
    return a->site == b->site && a->kind == b->kind && a->bytes == b->bytes;
}

// Entries from the reader's next on to the instruction of e; LOOK_AHEAD if it is not near.
static unsigned distance(const struct reader* r, const struct log_entry* e) {
    for (unsigned d = 1; d < LOOK_AHEAD && r->next + d < r->end; d++)
        if (same_instruction(&r->log[r->next + d], e)) return d;
    return LOOK_AHEAD;
}

// The lanes to go first when they are at different instructions: a lane of that group.
static unsigned choose(const struct reader* r, uint32_t active) {
    unsigned leader[WARP_SIZE], groups = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), g = 0;
        while (g < groups &&
               !same_instruction(&r[leader[g]].log[r[leader[g]].next], &r[lane].log[r[lane].next]))
            g++;
        if (g == groups) leader[groups++] = lane;
    }
    unsigned best = leader[0], best_distance = LOOK_AHEAD + 1;
    for (unsigned g = 0; g < groups; g++)
        for (unsigned h = 0; h < groups; h++) {
            if (g == h) continue;
            const struct reader* other = &r[leader[h]];
            unsigned d = distance(&r[leader[g]], &other->log[other->next]);
            // of two that never meet: in the order of the code
            bool earlier = d == best_distance && r[leader[g]].log[r[leader[g]].next].site <
                                                     r[best].log[r[best].next].site;
            if (d < best_distance || earlier) {
                best = leader[g];
                best_distance = d;
            }
        }
    return best;
}

// Turns the logs of a warp into requests. Unless `all`, stops where the log of a lane that is still
// running breaks off, and keeps the rest.
void cudev_profile_merge(struct watch* k, unsigned warp, bool all) {
    struct reader r[WARP_SIZE];
    uint32_t active = 0, cut = 0;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        r[lane] = (struct reader){k->log[warp][lane], 0, k->length[warp][lane]};
        if (r[lane].end) active |= 1u << lane;
        if (r[lane].end == LOG_ENTRIES && !all) cut |= 1u << lane;
    }
    bool broken_off = false;
    while (active && !broken_off) {
        uint32_t offset[WARP_SIZE];
        uint8_t lanes[WARP_SIZE];
        unsigned count = 0, lead = (unsigned)__builtin_ctz(active);
        const struct log_entry* e = &r[lead].log[r[lead].next];
        uint32_t taking = 0;
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            const struct log_entry* own = &r[lane].log[r[lane].next];
            if (!same_instruction(own, e)) continue;
            offset[count] = own->offset;
            lanes[count++] = (uint8_t)lane;
            taking |= 1u << lane;
        }
        if (taking != active) {
            unsigned best = choose(r, active);
            if (best != lead) {
                e = &r[best].log[r[best].next];
                count = 0;
                taking = 0;
                for (uint32_t rest = active; rest; rest &= rest - 1) {
                    unsigned lane = (unsigned)__builtin_ctz(rest);
                    const struct log_entry* own = &r[lane].log[r[lane].next];
                    if (!same_instruction(own, e)) continue;
                    offset[count] = own->offset;
                    lanes[count++] = (uint8_t)lane;
                    taking |= 1u << lane;
                }
            }
        }
        cudev_request(k, e, offset, lanes, count);
        for (uint32_t rest = taking; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (++r[lane].next < r[lane].end) continue;
            active &= ~(1u << lane);
            if (cut >> lane & 1) broken_off = true;
        }
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        uint32_t left = r[lane].end - r[lane].next;
        if (left && r[lane].next)
            memmove(k->log[warp][lane], r[lane].log + r[lane].next, left * sizeof *r[lane].log);
        k->length[warp][lane] = left;
    }
    if (!active) k->logged_warps &= ~(1u << warp);
}

// A thread of another warp runs now. If all lanes of the last one wait, their logs are as far as
// each other; if some can go on, they have to come as far first.
void cudev_profile_change_warp(struct watch* k) {
    const struct worker* w = k->worker;
    unsigned last = k->log_warp;
    if (k->logged_warps >> last & 1 && !w->ready[last] && !w->yielded[last])
        cudev_profile_merge(k, last, false);
    k->log_warp = k->worker->current / WARP_SIZE;
    k->logged_warps |= 1u << k->log_warp;
}

// The current lane's log has no room: the other lanes shall come as far, too.
void cudev_profile_log_full(struct watch* k) {
    unsigned warp = k->log_warp, lane = k->worker->current % WARP_SIZE;
    cudev_yield();
    k->log_warp = warp;
    k->logged_warps |= 1u << warp;
    if (k->length[warp][lane] == LOG_ENTRIES) cudev_profile_merge(k, warp, false);
    if (k->length[warp][lane] == LOG_ENTRIES) cudev_profile_merge(k, warp, true);
}
