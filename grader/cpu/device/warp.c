// Calls that lanes of a warp make together: who waits for whom, and the mistakes that keep them
// waiting.
#include "cpu/device/warp.h"
#include <stdio.h>
#include <string.h>
#include "cpu/device/report.h"
#include "cpu/device/scheduler.h"
#include "cpu/device/watcher.h"

// The lanes that the warp has: fewer than 32 in the last warp of a block whose size is no multiple
// of 32.
static uint32_t lanes_that_exist(const struct worker* w, unsigned warp) {
    unsigned count = w->launch->threads - warp * WARP_SIZE;
    return count >= WARP_SIZE ? ~0u : (1u << count) - 1;
}

static void end_bad_mask(struct worker* w) {
    cudev_report_waiting(
        w, "every lane named in the mask has to execute the same call; for a whole "
           "warp move it out of the if, or build the mask with __ballot_sync() before");
}

static void end_diverged_warp(struct worker* w) {
    cudev_report_waiting(
        w, "this instruction is executed by whole warps: let what decides who gets there be the "
           "same for all 32 lanes (threadIdx.x / 32, say)");
}

// All lanes of group number g have come: the group no longer waits.
static void take_group(struct worker* w, unsigned warp, unsigned g, uint32_t lanes) {
    struct warp_groups* in = &w->waiting->groups[warp];
    in->group[g] = in->group[--in->count];
    w->waiting->in_call[warp] &= ~lanes;
}

// Ends the program if the call of thread t cannot come to an end.
static void check_call(struct worker* w, unsigned t) {
    const struct lane* own = &w->waiting->lane[t];
    const struct warp_function* function = own->function;
    const struct place* at = &own->place;
    unsigned warp = t / WARP_SIZE, lane = t % WARP_SIZE, mask = own->mask, width = own->width;
    if (!(mask >> lane & 1)) {
        cudev_report_begin(
            "bad_mask",
            "bad mask: thread %s (lane %u) calls %s at %s:%d with the mask 0x%08x, which does "
            "not name its own lane",
            cudev_thread_name(w, t), lane, at->what, at->file, at->line, mask);
        end_bad_mask(w);
    }
    if (function->shuffles && (width == 0 || width > WARP_SIZE || (width & (width - 1)))) {
        cudev_report_begin("bad_mask",
                           "bad mask: %s at %s:%d has width %u; it has to be 1, 2, 4, 8, 16 "
                           "or 32",
                           at->what, at->file, at->line, width);
        end_bad_mask(w);
    }
    if (function->with_all_32 && ~w->live[warp]) {
        int gone = __builtin_ctz(~w->live[warp]);
        cudev_report_begin(
            "diverged_warp",
            "diverged warp: thread %s calls %s at %s:%d, which needs all 32 lanes, but lane %d "
            "%s",
            cudev_thread_name(w, t), at->what, at->file, at->line, gone,
            lanes_that_exist(w, warp) >> gone & 1 ? "has already returned from the kernel"
                                                  : "does not exist in this block");
        end_diverged_warp(w);
    }
    uint32_t returned = mask & lanes_that_exist(w, warp) & ~w->live[warp];
    if (function->shuffles && returned) {
        cudev_report_begin(
            "bad_mask",
            "bad mask: thread %s (lane %u) calls %s at %s:%d with the mask 0x%08x, but lane %d "
            "has already returned from the kernel",
            cudev_thread_name(w, t), lane, at->what, at->file, at->line, mask,
            __builtin_ctz(returned));
        end_bad_mask(w);
    }
}

static __attribute__((noinline)) void report_different(struct worker* w, unsigned t,
                                                       unsigned first) {
    const struct lane *one = &w->waiting->lane[first], *other = &w->waiting->lane[t];
    const struct place *a = &one->place, *b = &other->place;
    char calls[300];
    snprintf(calls, sizeof calls, "thread %s in %s at %s:%d, thread %s in %s at %s:%d",
             cudev_thread_name(w, first), a->what, a->file, a->line, cudev_thread_name(w, t),
             b->what, b->file, b->line);
    if (one->function->whole_warp || other->function->whole_warp) {
        cudev_report_begin("diverged_warp",
                           "diverged warp: lanes of one warp are in different calls: %s", calls);
        end_diverged_warp(w);
    }
    cudev_report_begin("bad_mask", "bad mask: lanes of one mask are in different calls: %s", calls);
    end_bad_mask(w);
}

static bool same_line(const struct place* a, const struct place* b) {
    return a->line == b->line && (a->file == b->file || strcmp(a->file, b->file) == 0);
}

// Ends the program if the two threads of one mask are in different calls. In an instruction of
// whole warps arg and width are the same for all lanes.
static void check_same_call(struct worker* w, unsigned t, unsigned first) {
    const struct lane *one = &w->waiting->lane[first], *other = &w->waiting->lane[t];
    const struct warp_function* function = other->function;
    if (one->function == function && function->any_line) return;
    if (one->function == function && same_line(&one->place, &other->place) &&
        (!function->whole_warp || (one->arg == other->arg && one->width == other->width)))
        return;
    report_different(w, t, first);
}

uint64_t cudev_warp_call(struct worker* w, const struct warp_function* function, unsigned mask,
                         uint64_t value, unsigned arg, unsigned width, const char* file, int line) {
    unsigned t = cudev_begin_wait(w), warp = t / WARP_SIZE, lane = t % WARP_SIZE;
    struct lane* own = &w->waiting->lane[t];
    struct warp_groups* in = &w->waiting->groups[warp];
    const char* name = function->text ? function->text(w, arg, width) : function->name;
    *own = (struct lane){{name, file, line}, function, mask, arg, width, value};
    w->waiting->in_call[warp] |= 1u << lane;
    if (!function->who_is_there) check_call(w, t);

    unsigned g = 0;
    while (g < in->count && (in->group[g].mask != mask || function->who_is_there)) g++;
    if (g == in->count) {
        in->group[g].mask = mask;
        in->group[g].arrived = 0;
        in->count++;
    } else {
        check_same_call(w, t, warp * WARP_SIZE + (unsigned)__builtin_ctz(in->group[g].arrived));
    }
    in->group[g].arrived |= 1u << lane;
    uint32_t group = in->group[g].arrived;
    if (function->who_is_there || group != (mask & w->live[warp])) {
        cudev_wait(w);
        return own->value;
    }
    take_group(w, warp, g, group);
    if (function->complete(w, warp, group))
        cudev_make_ready(w, warp, group & ~(1u << lane));
    else
        cudev_wait(w);
    return own->value;
}

void cudev_warp_lane_returned(struct worker* w, unsigned warp) {
    struct warp_groups* in = &w->waiting->groups[warp];
    for (unsigned g = 0; g < in->count;) {
        uint32_t group = in->group[g].arrived, mask = in->group[g].mask;
        unsigned first = warp * WARP_SIZE + (unsigned)__builtin_ctz(group);
        const struct warp_function* function = w->waiting->lane[first].function;
        uint32_t returned = mask & lanes_that_exist(w, warp) & ~w->live[warp];
        if ((function->shuffles || function->with_all_32) && returned) check_call(w, first);
        if (function->who_is_there || group != (mask & w->live[warp])) {
            g++;
            continue;
        }
        take_group(w, warp, g, group);
        if (function->complete(w, warp, group)) cudev_make_ready(w, warp, group);
    }
}

static bool is_checked(const struct worker* w) {
    return w->watch && cudev_watcher->finds;
}

// The half of the lanes that have the higher numbers; none of a single one.
static uint32_t upper_half(uint32_t lanes) {
    uint32_t upper = lanes;
    for (int rest = __builtin_popcount(lanes) + 1; rest > 1; rest -= 2) upper &= upper - 1;
    return upper;
}

bool cudev_warp_settle(struct worker* w) {
    bool any = false;
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) {
        struct warp_groups* in = &w->waiting->groups[warp];
        struct lane* lane = cudev_lanes(w, warp);
        for (;;) {
            unsigned asks = 0;  // the first group that asks who is there; others wait for them
            while (asks < in->count &&
                   !lane[__builtin_ctz(in->group[asks].arrived)].function->who_is_there)
                asks++;
            if (asks == in->count) break;
            int line = lane[__builtin_ctz(in->group[asks].arrived)].place.line;
            uint32_t together = 0;
            for (unsigned g = in->count; g-- > 0;) {
                unsigned i = (unsigned)__builtin_ctz(in->group[g].arrived);
                if (!lane[i].function->who_is_there || lane[i].place.line != line) continue;
                together |= 1u << i;
                in->group[g] = in->group[--in->count];
            }
            // Which lanes are active together is not promised: a checked run has two groups of
            // them, so that a shuffle which takes this mask for the warp reads nobody.
            const bool in_parts = lane[__builtin_ctz(together)].arg && is_checked(w);
            const uint32_t later = in_parts ? upper_half(together) : 0;
            for (uint32_t rest = together; rest; rest &= rest - 1) {
                const unsigned i = (unsigned)__builtin_ctz(rest);
                lane[i].value = later >> i & 1 ? later : together & ~later;
            }
            w->waiting->in_call[warp] &= ~together;
            cudev_make_ready(w, warp, together);
            any = true;
        }
    }
    return any;
}

void cudev_warp_blame_mask(struct worker* w) {
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) {
        const struct warp_groups* in = &w->waiting->groups[warp];
        for (unsigned g = 0; g < in->count; g++) {
            unsigned first = warp * WARP_SIZE + (unsigned)__builtin_ctz(in->group[g].arrived);
            const struct lane* t = &w->waiting->lane[first];
            uint32_t missing = in->group[g].mask & w->live[warp] & ~in->group[g].arrived;
            if (t->function->any_line || !missing) continue;
            unsigned other = warp * WARP_SIZE + (unsigned)__builtin_ctz(missing);
            const struct place* at = cudev_place_of(w, other);
            if (t->function->whole_warp) {
                cudev_report_begin(
                    "diverged_warp",
                    "diverged warp: thread %s waits in %s at %s:%d for all lanes of its "
                    "warp, but lane %d waits in %s at %s:%d",
                    cudev_thread_name(w, first), t->place.what, t->place.file, t->place.line,
                    __builtin_ctz(missing), at ? at->what : "?", at ? at->file : "?",
                    at ? at->line : 0);
                end_diverged_warp(w);
            }
            cudev_report_begin(
                "bad_mask",
                "bad mask: thread %s waits in %s at %s:%d with the mask 0x%08x, which names lane "
                "%d, but that lane waits in %s at %s:%d",
                cudev_thread_name(w, first), t->place.what, t->place.file, t->place.line,
                in->group[g].mask, __builtin_ctz(missing), at ? at->what : "?", at ? at->file : "?",
                at ? at->line : 0);
            end_bad_mask(w);
        }
    }
}
