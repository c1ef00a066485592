// Functions that the lanes of a warp execute together: shuffles, votes, matches, reductions.
#include "cpu/device/warp.h"
#include "cpu/device/watcher.h"

// ---- shuffles ----------------------------------------------------------------------------------

// CUDA's rule for the lane that a shuffle reads; the own lane where it would leave the sub-warp.
static unsigned source_lane(enum cudev_warp_op op, const struct lane* own, unsigned lane) {
    unsigned first = lane & ~(own->width - 1), end = first + own->width, arg = own->arg;
    switch (op) {
    case CUDEV_SHFL:
        return first + (arg & (own->width - 1));
    case CUDEV_SHFL_UP:
        return arg <= lane - first ? lane - arg : lane;
    case CUDEV_SHFL_DOWN:
        return arg < end - lane ? lane + arg : lane;
    default:  // CUDEV_SHFL_XOR
        return (lane ^ arg) < end ? lane ^ arg : lane;
    }
}

static enum cudev_warp_op op_of(const struct lane* lane, uint32_t group);

// Each lane of the group has got so many words that are made of the others'.
static void note_words(struct worker* w, uint32_t group, unsigned words) {
    words *= (unsigned)__builtin_popcount(group);
    w->met.words += words;
    if (w->watch) cudev_watcher->exchanged(w, words);
}

static bool shuffle(struct worker* w, unsigned warp, uint32_t group) {
    struct lane* lane = cudev_lanes(w, warp);
    enum cudev_warp_op op = op_of(lane, group);
    const bool of_8_bytes = op >= CUDEV_SHFL_8;
    if (of_8_bytes) op = (enum cudev_warp_op)(op - CUDEV_SHFL_8 + CUDEV_SHFL);
    uint64_t result[WARP_SIZE];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest), source = source_lane(op, &lane[i], i);
        bool there = group >> source & 1;
        // a lane that takes no part has no value: NaN, so that using it shows
        result[i] = there ? lane[source].value : ~(uint64_t)0;
        if (!there && w->watch) cudev_watcher->reads_nobody(w, warp * WARP_SIZE + i, source);
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        lane[i].value = result[i];
    }
    note_words(w, group, of_8_bytes ? 2 : 1);
    return true;
}

// ---- votes, matches, reductions ----------------------------------------------------------------

static bool match_any(struct worker* w, unsigned warp, uint32_t group) {
    struct lane* lane = cudev_lanes(w, warp);
    uint32_t result[WARP_SIZE];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        result[i] = 0;
        for (uint32_t other = group; other; other &= other - 1) {
            unsigned j = (unsigned)__builtin_ctz(other);
            if (lane[j].value == lane[i].value) result[i] |= 1u << j;
        }
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        lane[i].value = result[i];
    }
    note_words(w, group, 1);
    return true;
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

// A result that is the same for all lanes of the group.
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

static bool give_all(struct worker* w, unsigned warp, uint32_t group) {
    struct lane* lane = cudev_lanes(w, warp);
    uint64_t result = common_result(op_of(lane, group), lane, group);
    for (uint32_t rest = group; rest; rest &= rest - 1) lane[__builtin_ctz(rest)].value = result;
    note_words(w, group, 1);
    return true;
}

static bool synchronise(struct worker* w, unsigned warp, uint32_t group) {
    if (w->watch) cudev_watcher->warp_barrier(w, warp, group);
    return true;
}

// ---- the table ---------------------------------------------------------------------------------

#define SHUFFLE(text) \
    { .name = text, .complete = shuffle, .shuffles = true }
#define SAME_FOR_ALL(text) \
    { .name = text, .complete = give_all }

static const struct warp_function functions[] = {
    [CUDEV_SYNCWARP] = {.name = "__syncwarp()", .complete = synchronise, .any_line = true},
    [CUDEV_SHFL] = SHUFFLE("__shfl_sync()"),
    [CUDEV_SHFL_UP] = SHUFFLE("__shfl_up_sync()"),
    [CUDEV_SHFL_DOWN] = SHUFFLE("__shfl_down_sync()"),
    [CUDEV_SHFL_XOR] = SHUFFLE("__shfl_xor_sync()"),
    [CUDEV_SHFL_8] = SHUFFLE("__shfl_sync()"),
    [CUDEV_SHFL_UP_8] = SHUFFLE("__shfl_up_sync()"),
    [CUDEV_SHFL_DOWN_8] = SHUFFLE("__shfl_down_sync()"),
    [CUDEV_SHFL_XOR_8] = SHUFFLE("__shfl_xor_sync()"),
    [CUDEV_BALLOT] = SAME_FOR_ALL("__ballot_sync()"),
    [CUDEV_ALL] = SAME_FOR_ALL("__all_sync()"),
    [CUDEV_ANY] = SAME_FOR_ALL("__any_sync()"),
    [CUDEV_MATCH_ANY] = {.name = "__match_any_sync()", .complete = match_any},
    [CUDEV_MATCH_ALL] = SAME_FOR_ALL("__match_all_sync()"),
    [CUDEV_REDUCE_ADD] = SAME_FOR_ALL("__reduce_add_sync()"),
    [CUDEV_REDUCE_AND] = SAME_FOR_ALL("__reduce_and_sync()"),
    [CUDEV_REDUCE_OR] = SAME_FOR_ALL("__reduce_or_sync()"),
    [CUDEV_REDUCE_XOR] = SAME_FOR_ALL("__reduce_xor_sync()"),
    [CUDEV_REDUCE_MIN] = SAME_FOR_ALL("__reduce_min_sync()"),
    [CUDEV_REDUCE_MAX] = SAME_FOR_ALL("__reduce_max_sync()"),
    [CUDEV_REDUCE_MIN_SIGNED] = SAME_FOR_ALL("__reduce_min_sync()"),
    [CUDEV_REDUCE_MAX_SIGNED] = SAME_FOR_ALL("__reduce_max_sync()"),
    [CUDEV_ACTIVEMASK] = {.name = "__activemask()", .who_is_there = true},
};

// The function that the lanes of the group call.
static enum cudev_warp_op op_of(const struct lane* lane, uint32_t group) {
    return (enum cudev_warp_op)(lane[__builtin_ctz(group)].function - functions);
}

unsigned long long cudev_warp(enum cudev_warp_op op, unsigned mask, unsigned long long value,
                              unsigned arg, unsigned width, const char* file, int line) {
    // named barriers and matrices have functions of their own, which check their arguments
    if (!cudev_self || op > CUDEV_ACTIVEMASK) return value;
    return cudev_warp_call(cudev_self, &functions[op], mask, value, arg, width, file, line);
}
