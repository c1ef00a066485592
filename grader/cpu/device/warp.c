// Functions that the lanes of a warp execute together: shuffles, votes, matches, reductions.
//
// Each lane leaves its operand and waits; the last lane named by the mask computes the result of all
// and goes on. Several groups with different masks may be in flight in one warp.
#include <stdio.h>
#include <string.h>
#include "cpu/device/runtime.h"

static const char* op_name(enum cudev_warp_op op) {
    static const char* const names[] = {
        "__syncwarp()",        "__shfl_sync()",       "__shfl_up_sync()",    "__shfl_down_sync()",
        "__shfl_xor_sync()",   "__ballot_sync()",     "__all_sync()",        "__any_sync()",
        "__match_any_sync()",  "__match_all_sync()",  "__reduce_add_sync()", "__reduce_and_sync()",
        "__reduce_or_sync()",  "__reduce_xor_sync()", "__reduce_min_sync()", "__reduce_max_sync()",
        "__reduce_min_sync()", "__reduce_max_sync()", "__activemask()",
    };
    return names[op];
}

static bool is_shuffle(enum cudev_warp_op op) {
    return op >= CUDEV_SHFL && op <= CUDEV_SHFL_XOR;
}

// Instructions of whole warps: no mask, all lanes have to come.
static bool is_aligned(enum cudev_warp_op op) {
    return op >= CUDEV_NAMED_SYNC;
}

// Of these, none can be missing, not even because it has returned.
static bool is_matrix(enum cudev_warp_op op) {
    return op == CUDEV_LDMATRIX || op == CUDEV_MMA;
}

static const char* call_text(struct worker* w, enum cudev_warp_op op, unsigned arg,
                             unsigned width) {
    if (is_matrix(op)) return cudev_matrix_text(op, arg, width);
    return is_aligned(op) ? cudev_named_text(w, op, arg, width) : op_name(op);
}

static struct lane* lanes_of(struct worker* w, unsigned warp) {
    return &w->lane_of[warp * WARP_SIZE];
}

// Lanes the warp has; fewer than 32 when the block size is no multiple of 32.
static uint32_t lanes_that_exist(const struct worker* w, unsigned warp) {
    unsigned count = w->launch->threads - warp * WARP_SIZE;
    return count >= WARP_SIZE ? ~0u : (1u << count) - 1;
}

static void report(struct worker* w, const char* kind, const char* text, const char* next) {
    cudev_report_begin(kind, "%s", text);
    cudev_report_launch(w);
    cudev_report_threads(w);
    cudev_report_add("  next: %s\n", next);
    cudev_report_end(EXIT_DIAGNOSIS);
}

static void report_mask(struct worker* w, const char* text) {
    report(w, "bad_mask", text,
           "every lane named in the mask has to execute the same call; for a whole "
           "warp move it out of the if, or build the mask with __ballot_sync() before");
}

static void report_diverged(struct worker* w, const char* text) {
    report(w, "diverged_warp", text,
           "this instruction is executed by whole warps: let what decides who gets there be the "
           "same for all 32 lanes (threadIdx.x / 32, say)");
}

// CUDA's rule for the lane a shuffle reads; the own lane where it would leave the sub-warp.
static unsigned source_lane(const struct lane* t, unsigned lane) {
    unsigned first = lane & ~(t->width - 1), end = first + t->width, arg = t->arg;
    switch (t->op) {
    case CUDEV_SHFL:
        return first + (arg & (t->width - 1));
    case CUDEV_SHFL_UP:
        return arg <= lane - first ? lane - arg : lane;
    case CUDEV_SHFL_DOWN:
        return arg < end - lane ? lane + arg : lane;
    default:
        return (lane ^ arg) < end ? lane ^ arg : lane;
    }
}

static void shuffle(struct lane* lane, uint32_t group) {
    uint64_t result[WARP_SIZE];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest), source = source_lane(&lane[i], i);
        // a lane that takes no part has no value: NaN, so that using it shows
        result[i] = group >> source & 1 ? lane[source].value : ~(uint64_t)0;
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        lane[i].value = result[i];
    }
}

static void match_any(struct lane* lane, uint32_t group) {
    uint32_t result[WARP_SIZE];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        result[i] = 0;
        for (uint32_t other = group; other; other &= other - 1) {
            unsigned k = (unsigned)__builtin_ctz(other);
            if (lane[k].value == lane[i].value) result[i] |= 1u << k;
        }
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        lane[i].value = result[i];
    }
}

static uint32_t fold(enum cudev_warp_op op, uint32_t a, uint32_t b) {
    switch (op) {
    case CUDEV_REDUCE_ADD:
        return a + b;
    case CUDEV_REDUCE_AND:
        return a & b;
    case CUDEV_REDUCE_OR:
        return a | b;
    case CUDEV_REDUCE_XOR:
        return a ^ b;
    case CUDEV_REDUCE_MIN:
        return a < b ? a : b;
    case CUDEV_REDUCE_MAX:
        return a > b ? a : b;
    case CUDEV_REDUCE_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    default:  // CUDEV_REDUCE_MAX_SIGNED
        return (int32_t)a > (int32_t)b ? a : b;
    }
}

// Results that are the same for all lanes of the group.
static uint64_t common_result(enum cudev_warp_op op, const struct lane* lane, uint32_t group) {
    const uint64_t first = lane[__builtin_ctz(group)].value;
    uint32_t set = 0, equal = 0, folded = (uint32_t)first;
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        if (lane[i].value) set |= 1u << i;
        if (lane[i].value == first) equal |= 1u << i;
        if (op >= CUDEV_REDUCE_ADD && rest != group)
            folded = fold(op, folded, (uint32_t)lane[i].value);
    }
    switch (op) {
    case CUDEV_BALLOT:
        return set;
    case CUDEV_ALL:
        return set == group;
    case CUDEV_ANY:
        return set != 0;
    case CUDEV_MATCH_ALL:
        return equal == group ? group : 0;
    default:
        return folded;
    }
}

// All have come. Returns whether they can go on.
static bool complete(struct worker* w, unsigned warp, enum cudev_warp_op op, uint32_t group) {
    struct lane* lane = lanes_of(w, warp);
    if (is_shuffle(op)) {
        shuffle(lane, group);
    } else if (op == CUDEV_MATCH_ANY) {
        match_any(lane, group);
    } else if (op == CUDEV_SYNCWARP) {
        if (w->watch) cudev_watcher->warp_barrier(w, warp, group);
    } else if (op == CUDEV_NAMED_SYNC || op == CUDEV_NAMED_ARRIVE) {
        return cudev_named_arrive(w, warp, group);
    } else if (is_matrix(op)) {
        cudev_matrix_complete(w, warp);
    } else {
        uint64_t result = common_result(op, lane, group);
        for (uint32_t rest = group; rest; rest &= rest - 1)
            lane[__builtin_ctz(rest)].value = result;
    }
    return true;
}

// The lanes in flight with this mask; they are not in a warp function any more.
static void take_group(struct worker* w, unsigned warp, unsigned g, uint32_t group) {
    struct warp_groups* in = &w->groups[warp];
    in->group[g] = in->group[--in->count];
    w->in_warp_function[warp] &= ~group;
}

static void check_call(struct worker* w, unsigned t, enum cudev_warp_op op, unsigned mask,
                       unsigned width) {
    unsigned warp = t / WARP_SIZE, lane = t % WARP_SIZE;
    const struct place* at = &w->lane_of[t].place;
    char text[400];
    if (!(mask >> lane & 1)) {
        snprintf(text, sizeof text,
                 "bad mask: thread %s (lane %u) calls %s at %s:%d with the mask 0x%08x, which does "
                 "not name its own lane",
                 cudev_thread_name(w, t), lane, at->what, at->file, at->line, mask);
        report_mask(w, text);
    }
    if (is_shuffle(op) && (width == 0 || width > WARP_SIZE || (width & (width - 1)))) {
        snprintf(text, sizeof text,
                 "bad mask: %s at %s:%d has width %u; it has to be 1, 2, 4, 8, 16 "
                 "or 32",
                 at->what, at->file, at->line, width);
        report_mask(w, text);
    }
    if (is_matrix(op) && ~w->live[warp]) {
        int gone = __builtin_ctz(~w->live[warp]);
        snprintf(
            text, sizeof text,
            "diverged warp: thread %s calls %s at %s:%d, which needs all 32 lanes, but lane %d "
            "%s",
            cudev_thread_name(w, t), at->what, at->file, at->line, gone,
            lanes_that_exist(w, warp) >> gone & 1 ? "has already returned from the kernel"
                                                  : "does not exist in this block");
        report_diverged(w, text);
    }
    uint32_t returned = mask & lanes_that_exist(w, warp) & ~w->live[warp];
    if (is_shuffle(op) && returned) {
        snprintf(
            text, sizeof text,
            "bad mask: thread %s (lane %u) calls %s at %s:%d with the mask 0x%08x, but lane %d "
            "has already returned from the kernel",
            cudev_thread_name(w, t), lane, at->what, at->file, at->line, mask,
            __builtin_ctz(returned));
        report_mask(w, text);
    }
}

static void check_same_call(struct worker* w, unsigned t, unsigned first, enum cudev_warp_op op) {
    const struct lane *one = &w->lane_of[first], *other = &w->lane_of[t];
    const struct place *a = &one->place, *b = &other->place;
    bool same_line = a->line == b->line && (a->file == b->file || strcmp(a->file, b->file) == 0);
    // the operands that have to be the same for all lanes
    bool same_barrier = one->arg == other->arg && one->width == other->width;
    if (one->op == op && (op == CUDEV_SYNCWARP || (same_line && (!is_aligned(op) || same_barrier))))
        return;
    char calls[300], text[400];
    snprintf(calls, sizeof calls, "thread %s in %s at %s:%d, thread %s in %s at %s:%d",
             cudev_thread_name(w, first), a->what, a->file, a->line, cudev_thread_name(w, t),
             b->what, b->file, b->line);
    if (is_aligned(op) || is_aligned(one->op)) {
        snprintf(text, sizeof text, "diverged warp: lanes of one warp are in different calls: %s",
                 calls);
        report_diverged(w, text);
    }
    snprintf(text, sizeof text, "bad mask: lanes of one mask are in different calls: %s", calls);
    report_mask(w, text);
}

unsigned long long cudev_warp(enum cudev_warp_op op, unsigned mask, unsigned long long value,
                              unsigned arg, unsigned width, const char* file, int line) {
    // the others have functions of their own, which check what they are given
    if (!cudev_self || is_aligned(op)) return value;
    return cudev_warp_call(cudev_self, op, mask, value, arg, width, file, line);
}

uint64_t cudev_warp_call(struct worker* w, enum cudev_warp_op op, unsigned mask, uint64_t value,
                         unsigned arg, unsigned width, const char* file, int line) {
    unsigned t = cudev_begin_wait(w), warp = t / WARP_SIZE, lane = t % WARP_SIZE;
    struct lane* self = &w->lane_of[t];
    struct warp_groups* in = &w->groups[warp];
    *self = (struct lane){{call_text(w, op, arg, width), file, line}, op, mask, arg, width, value};
    w->in_warp_function[warp] |= 1u << lane;
    if (op != CUDEV_ACTIVEMASK) check_call(w, t, op, mask, width);

    unsigned g = 0;
    while (g < in->count && (in->group[g].mask != mask || op == CUDEV_ACTIVEMASK)) g++;
    if (g == in->count) {
        in->group[g].mask = mask;
        in->group[g].arrived = 0;
        in->count++;
    } else {
        check_same_call(w, t, warp * WARP_SIZE + (unsigned)__builtin_ctz(in->group[g].arrived), op);
    }
    in->group[g].arrived |= 1u << lane;
    uint32_t group = in->group[g].arrived;
    if (op == CUDEV_ACTIVEMASK || group != (mask & w->live[warp])) {
        cudev_wait(w);
        return self->value;
    }
    take_group(w, warp, g, group);
    if (complete(w, warp, op, group))
        cudev_make_ready(w, warp, group & ~(1u << lane));
    else
        cudev_wait(w);
    return self->value;
}

// A lane has returned: votes and barriers that only waited for it are complete, shuffles are wrong.
void cudev_warp_lane_returned(struct worker* w, unsigned warp) {
    struct warp_groups* in = &w->groups[warp];
    for (unsigned g = 0; g < in->count;) {
        uint32_t group = in->group[g].arrived, mask = in->group[g].mask;
        unsigned first = warp * WARP_SIZE + (unsigned)__builtin_ctz(group);
        enum cudev_warp_op op = w->lane_of[first].op;
        uint32_t returned = mask & lanes_that_exist(w, warp) & ~w->live[warp];
        if ((is_shuffle(op) || is_matrix(op)) && returned)
            check_call(w, first, op, mask, w->lane_of[first].width);
        if (op == CUDEV_ACTIVEMASK || group != (mask & w->live[warp])) {
            g++;
            continue;
        }
        take_group(w, warp, g, group);
        if (complete(w, warp, op, group)) cudev_make_ready(w, warp, group);
    }
}

// Lanes that have reached one __activemask() by the time nobody else can run are active together.
bool cudev_warp_settle(struct worker* w) {
    bool any = false;
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) {
        struct warp_groups* in = &w->groups[warp];
        struct lane* lane = lanes_of(w, warp);
        while (in->count && lane[__builtin_ctz(in->group[0].arrived)].op == CUDEV_ACTIVEMASK) {
            const struct place* at = &lane[__builtin_ctz(in->group[0].arrived)].place;
            uint32_t together = 0;
            for (unsigned g = in->count; g-- > 0;) {
                unsigned i = (unsigned)__builtin_ctz(in->group[g].arrived);
                if (lane[i].op != CUDEV_ACTIVEMASK || lane[i].place.line != at->line) continue;
                together |= 1u << i;
                in->group[g] = in->group[--in->count];
            }
            for (uint32_t rest = together; rest; rest &= rest - 1)
                lane[__builtin_ctz(rest)].value = together;
            w->in_warp_function[warp] &= ~together;
            cudev_make_ready(w, warp, together);
            any = true;
        }
    }
    return any;
}

// Nobody can go on. If lanes wait for others of their mask that wait elsewhere, says so and ends the
// program. A full __syncwarp() against a __syncthreads() is left to be called a deadlock.
bool cudev_warp_blames_mask(struct worker* w) {
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) {
        struct warp_groups* in = &w->groups[warp];
        for (unsigned g = 0; g < in->count; g++) {
            unsigned first = warp * WARP_SIZE + (unsigned)__builtin_ctz(in->group[g].arrived);
            const struct lane* t = &w->lane_of[first];
            uint32_t missing = in->group[g].mask & w->live[warp] & ~in->group[g].arrived;
            if (t->op == CUDEV_SYNCWARP || !missing) continue;
            unsigned other = warp * WARP_SIZE + (unsigned)__builtin_ctz(missing);
            const struct place* at = cudev_place_of(w, other);
            char text[400];
            if (is_aligned(t->op)) {
                snprintf(text, sizeof text,
                         "diverged warp: thread %s waits in %s at %s:%d for all lanes of its "
                         "warp, but lane %d waits in %s at %s:%d",
                         cudev_thread_name(w, first), t->place.what, t->place.file, t->place.line,
                         __builtin_ctz(missing), at ? at->what : "?", at ? at->file : "?",
                         at ? at->line : 0);
                report_diverged(w, text);
            }
            snprintf(
                text, sizeof text,
                "bad mask: thread %s waits in %s at %s:%d with the mask 0x%08x, which names lane "
                "%d, but that lane waits in %s at %s:%d",
                cudev_thread_name(w, first), t->place.what, t->place.file, t->place.line,
                in->group[g].mask, __builtin_ctz(missing), at ? at->what : "?", at ? at->file : "?",
                at ? at->line : 0);
            report_mask(w, text);
        }
    }
    return false;
}
