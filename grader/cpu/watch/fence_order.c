// Order between threads that synchronise through memory: a fence, then an atomic (or volatile)
// access that another thread's atomic access to the same address sees.
//
// Each atomic write after a fence is a *release*: an entry in the list of that address. An atomic
// read *acquires* all entries made so far. An access of block A comes before an access of thread t
// now if some release of A covers it and t has acquired that release, itself or through releases of
// other threads. For an ordinary read an acquire counts from the next fence of a thread that knows
// of it: without one the read may see what a cache has held since before. Volatile reads and
// atomics pass that cache.
#include <string.h>
#include "cpu/include/cudev.h"
#include "cpu/include/cudev/watching.h"
#include "cpu/watch/races.h"

enum {
    MAX_RELEASES = 1 << 20,
    MAX_VARIABLES = 1 << 18,  // addresses; a power of two
    MAX_ACQUIRES = 1 << 14,   // of one block
    MAX_INCLUDES = 1 << 20,
    MAX_BLOCKS = 1 << 22,
    BLOCK_LISTS = 1 << 16,
    FENCE_COPIES = 1 << 24,  // times
    MAX_STEPS = 1 << 16,     // of one search
    MAX_DEPTH = 512,         // it runs on the stack of a thread
};

// A prefix of the releases of one address.
struct prefix {
    uint32_t variable, count;
};

struct release {
    uint64_t block;
    uint64_t device_fence, block_fence;  // the thread's accesses up to then
    uint64_t device_barrier;             // accesses of all threads of the block up to then
    uint64_t device_warp;                // ... of the thread's warp
    uint32_t thread;
    uint32_t variable, number;               // its place among the releases of the address
    uint32_t next_of_block, next_including;  // lists; 0 ends
    uint32_t fences;                         // copy of all threads' fences, 0: none
    uint32_t includes, include_count;        // what the thread had acquired before
};

struct acquire {
    uint64_t time, fenced;  // fenced: when a fence followed, 0: none yet
    uint32_t thread;
    struct prefix prefix;
};

struct order {
    uint32_t releases, acquires, includes, blocks, fence_copies;
    uint32_t search;  // number of the last one
    uint32_t list_of_block[BLOCK_LISTS];
    struct {
        uint64_t offset;  // plus 1; 0: free
        uint64_t since;   // the launch or block that it belongs to
        uint32_t count, including;
        uint64_t releaser;  // block and thread of all releases, if it is the same
        bool several;
        uint32_t search, followed;  // the prefix that this search has followed
        // of a flag, the newest release, and what was there before it and is since
        uint32_t newest;  // 0: it is no cudev_flag_added()
        int before, after;
        uint64_t late_for;                // the block, plus 1, ...
        uint32_t late[MAX_THREADS / 32];  // ... whose threads have looked too early
    } variable[MAX_VARIABLES];
    struct release release[MAX_RELEASES];
    struct acquire acquire[MAX_ACQUIRES];
    struct prefix include[MAX_INCLUDES];
    uint32_t fence[FENCE_COPIES];  // upper halves of times
    struct {
        uint64_t time, block;
    } block[MAX_BLOCKS];
};
_Static_assert(sizeof(struct order) <= OWN_SPACE, "fence_order.c has 1 GiB of address space");

static struct order* order(void) {
    return (struct order*)ORDER_BASE;
}

// A list is full. An access that is no longer followed is neither ordered nor unordered.
static _Noreturn void too_many(void) {
    cudev_refuse("so many fences and atomics that the race check cannot follow them",
                 "synchronise with __syncthreads(), or fence less often");
}

void cudev_order_launch(void) {
    struct order* o = order();
    o->releases = o->acquires = o->includes = o->blocks = o->fence_copies = 0;
    memset(o->list_of_block, 0, sizeof o->list_of_block);
}

void cudev_order_block(struct watch* watch) {
    struct order* o = order();
    o->acquires = 0;
    if (o->blocks == MAX_BLOCKS) too_many();
    o->block[o->blocks].time = watch->now;
    o->block[o->blocks++].block = watch->worker->block;
}

bool cudev_order_block_at(uint64_t time, uint64_t* block) {
    const struct order* o = order();
    uint32_t low = 0, high = o->blocks;  // the last block that began by then
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (o->block[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    if (o->blocks) *block = o->block[low].block;
    return o->blocks != 0;
}

// The number of an address, from 1. With `make` the address gets a number now; 0: it has none.
static uint32_t find_variable(struct watch* watch, uint64_t offset, bool make) {
    struct order* o = order();
    uint32_t i = (uint32_t)(offset >> 1) * 2654435761u % MAX_VARIABLES;
    // each block has shared memory of its own
    uint64_t since = offset >= WINDOW_OFFSET ? watch->block_floor : watch->launch_floor;
    for (uint32_t probes = 0; probes < 64; probes++, i = (i + 1) % MAX_VARIABLES) {
        if (o->variable[i].since == since && o->variable[i].offset == offset + 1) return i + 1;
        if (o->variable[i].since >= watch->launch_floor) continue;  // of another address
        if (!make) return 0;
        o->variable[i].since = since;
        o->variable[i].offset = offset + 1;
        o->variable[i].count = o->variable[i].including = 0;
        o->variable[i].several = false;
        o->variable[i].newest = 0;
        o->variable[i].late_for = 0;
        return i + 1;
    }
    too_many();
}

static bool same_block_since(struct watch* watch, uint64_t time) {
    return time > watch->block_floor;
}

// All acquires of an address by one thread become one entry. So to other threads the thread may
// seem to have acquired the newest releases a little earlier than it did.
static void merge_acquires(struct order* o) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < o->acquires; i++) {
        const struct acquire* a = &o->acquire[i];
        uint32_t j = 0;
        while (j < kept && (o->acquire[j].thread != a->thread ||
                            o->acquire[j].prefix.variable != a->prefix.variable))
            j++;
        if (j == kept)
            o->acquire[kept++] = *a;
        else if (o->acquire[j].prefix.count < a->prefix.count)
            o->acquire[j].prefix.count = a->prefix.count;
    }
    o->acquires = kept;
    if (kept > MAX_ACQUIRES / 2) too_many();
}

static uint64_t name_of(struct watch* watch, unsigned thread) {
    return watch->worker->block * MAX_THREADS + thread;
}

// The first `count` releases of the variable.
static void acquire(struct watch* watch, uint32_t variable, uint32_t count, unsigned thread) {
    struct order* o = order();
    if (!count) return;
    // from itself a thread learns nothing
    if (!o->variable[variable - 1].several &&
        o->variable[variable - 1].releaser == name_of(watch, thread))
        return;
    for (uint32_t i = o->acquires; i-- > 0 && i + 64 > o->acquires;)
        if (o->acquire[i].thread == thread && o->acquire[i].prefix.variable == variable &&
            o->acquire[i].prefix.count == count)
            return;
    if (o->acquires == MAX_ACQUIRES) merge_acquires(o);
    o->acquire[o->acquires++] =
        (struct acquire){.time = watch->now, .thread = thread, .prefix = {variable, count}};
    watch->now += ONE_TICK;
}

// Was the acquire made by the thread, or handed to it by a barrier since?
static bool visible(struct watch* watch, const struct acquire* a, unsigned thread) {
    return a->time < cudev_order_known(watch, thread, a->thread);
}

// And was the fence behind it?
static bool is_fenced(struct watch* watch, const struct acquire* a, unsigned thread) {
    return a->fenced && a->fenced < cudev_order_known(watch, thread, a->thread);
}

// The thread's fence stands behind all acquires that it knows of.
static void fence_acquires(struct watch* watch, unsigned thread) {
    struct order* o = order();
    for (uint32_t i = 0, before = o->acquires; i < before; i++) {
        struct acquire* a = &o->acquire[i];
        if (a->fenced && is_fenced(watch, a, thread)) continue;
        if (!visible(watch, a, thread)) continue;
        if (a->thread == thread) {
            a->fenced = watch->now;
            continue;
        }
        struct acquire own = {watch->now, watch->now, thread, a->prefix};
        if (o->acquires == MAX_ACQUIRES) {  // which moves them: those left count from the next one
            merge_acquires(o);
            return;
        }
        o->acquire[o->acquires++] = own;
    }
}

// The accesses of each thread of the block, up to these times, that lie before a fence, and so
// before a release of `thread`. others: the fence was any thread's, before the last
// __syncthreads(). own: it was this thread's, behind a named barrier.
static uint32_t copy_fences(struct watch* watch, unsigned thread, bool others, bool own) {
    struct order* o = order();
    unsigned threads = watch->worker->launch->threads;
    if (o->fence_copies + threads + 1 > FENCE_COPIES) too_many();
    uint32_t* copy = &o->fence[++o->fence_copies];
    for (unsigned t = 0; t < threads; t++) {
        copy[t] = others && same_block_since(watch, watch->fences.device[t]) &&
                          watch->fences.device[t] < watch->shared_floor
                      ? (uint32_t)(watch->fences.device[t] >> SLOT_TIME_SHIFT)
                      : 0;
        if (own && t != thread && watch->fences.known[thread][t] > copy[t])
            copy[t] = watch->fences.known[thread][t];
    }
    o->fence_copies += threads;
    return (uint32_t)(copy - o->fence);
}

static void release(struct watch* watch, uint32_t variable, unsigned thread) {
    struct order* o = order();
    bool own = same_block_since(watch, watch->fences.device[thread]);
    // fences of other threads that a __syncthreads() has put before this release
    bool others = watch->fences.before_barrier;
    bool in_block = same_block_since(watch, watch->fences.block[thread]);
    if (!own && !others && !in_block) return;
    uint32_t* list = &o->list_of_block[watch->worker->block % BLOCK_LISTS];
    const struct release* last = &o->release[*list];
    if (*list && last->block == watch->worker->block && last->thread == thread &&
        last->variable == variable && last->block_fence == watch->fences.block[thread])
        return;  // nothing new since
    if (o->releases + 1 == MAX_RELEASES) too_many();
    if (!o->variable[variable - 1].count)
        o->variable[variable - 1].releaser = name_of(watch, thread);
    if (o->variable[variable - 1].releaser != name_of(watch, thread))
        o->variable[variable - 1].several = true;
    struct release* r = &o->release[++o->releases];
    *r = (struct release){
        .block = watch->worker->block,
        .device_fence = own ? watch->fences.device[thread] : 0,
        .block_fence = in_block ? watch->fences.block[thread] : 0,
        .device_barrier = own ? watch->fences.barrier[thread] : 0,
        .device_warp = own ? watch->fences.warp[thread] : 0,
        .thread = thread,
        .variable = variable,
        .number = o->variable[variable - 1].count++,
        .next_of_block = *list,
        .fences = others || (own && watch->order.by_rows)
                      ? copy_fences(watch, thread, others, own && watch->order.by_rows)
                      : 0,
        .includes = o->includes,
    };
    *list = o->releases;
    for (uint32_t i = 0; i < o->acquires; i++) {
        const struct acquire* a = &o->acquire[i];
        if (a->prefix.variable == variable || !visible(watch, a, thread)) continue;
        if (o->includes == MAX_INCLUDES) too_many();
        o->include[o->includes++] = a->prefix;
        r->include_count++;
    }
    if (r->include_count) {
        r->next_including = o->variable[variable - 1].including;
        o->variable[variable - 1].including = o->releases;
    }
}

void cudev_order_sync(struct watch* watch, uint64_t offset, bool reads, bool writes) {
    unsigned thread = watch->worker->current;
    bool fenced = same_block_since(watch, watch->fences.last) ||
                  same_block_since(watch, watch->fences.block[thread]);
    uint32_t variable = find_variable(watch, offset, writes && fenced);
    if (!variable) return;
    if (reads) acquire(watch, variable, order()->variable[variable - 1].count, thread);
    if (writes) release(watch, variable, thread);
}

void cudev_fence(int device) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    struct worker* w = cudev_self;
    struct watch* watch = w ? w->watch : NULL;
    if (!watch || !watch->check) return;
    watch->groups = true;
    watch->now += ONE_TICK;
    watch->fences.block[w->current] = watch->now;
    fence_acquires(watch, w->current);
    watch->now += ONE_TICK;
    if (!device) return;
    watch->fences.device[w->current] = watch->fences.last = watch->now;
    watch->fences.barrier[w->current] = watch->shared_floor;
    watch->fences.warp[w->current] = watch->order.warp_floor[w->current / WARP_SIZE];
    for (unsigned t = 0; watch->order.by_rows && t < w->launch->threads; t++)
        watch->fences.known[w->current][t] =
            t == w->current
                ? 0
                : (uint32_t)(cudev_order_known(watch, w->current, t) >> SLOT_TIME_SHIFT);
}

// Does the release put the earlier access before the acquire?
static bool covers(struct watch* watch, const struct release* r, uint64_t offset,
                   uint64_t earlier) {
    unsigned thread = slot_thread(earlier);
    bool same_block = r->block == watch->worker->block;
    uint64_t fence = same_block ? r->block_fence : r->device_fence;
    if (thread == r->thread && earlier < fence) return true;
    if (earlier < r->device_barrier) return true;
    if (thread / WARP_SIZE == r->thread / WARP_SIZE && earlier < r->device_warp) return true;
    if (thread == r->thread && earlier & SLOT_ATOMIC &&
        order()->variable[r->variable - 1].offset == offset + 1)
        return true;  // the release itself
    return r->fences && earlier >> SLOT_TIME_SHIFT < order()->fence[r->fences + thread];
}

// Is release r in the prefix, or included by a release of the prefix?
static bool reaches(const struct release* r, struct prefix p, int depth, int* steps) {
    struct order* o = order();
    if (p.variable == r->variable && p.count > r->number) return true;
    uint32_t before =
        o->variable[p.variable - 1].search == o->search ? o->variable[p.variable - 1].followed : 0;
    if (p.count <= before) return false;
    o->variable[p.variable - 1].search = o->search;
    o->variable[p.variable - 1].followed = p.count;
    if (depth > MAX_DEPTH) too_many();
    for (uint32_t i = o->variable[p.variable - 1].including; i; i = o->release[i].next_including) {
        const struct release* via = &o->release[i];
        if (++*steps > MAX_STEPS) too_many();
        if (via->number >= p.count || via->number < before) continue;
        for (uint32_t n = 0; n < via->include_count; n++)
            if (reaches(r, o->include[via->includes + n], depth + 1, steps)) return true;
    }
    return false;
}

// Has the thread acquired the release?
static bool has_acquired(struct watch* watch, const struct release* r, unsigned thread,
                         bool strong) {
    struct order* o = order();
    int steps = 0;
    o->search++;
    for (uint32_t a = o->acquires; a-- > 0;)
        if ((strong ? visible : is_fenced)(watch, &o->acquire[a], thread) &&
            reaches(r, o->acquire[a].prefix, 0, &steps))
            return true;
    return false;
}

bool cudev_order_covers(struct watch* watch, uint64_t offset, uint64_t earlier, unsigned thread,
                        bool strong) {
    struct order* o = order();
    uint64_t block = watch->worker->block;
    if (earlier < watch->block_floor && !cudev_order_block_at(earlier, &block)) return true;
    for (uint32_t i = o->list_of_block[block % BLOCK_LISTS]; i; i = o->release[i].next_of_block) {
        const struct release* r = &o->release[i];
        if (r->block == block && covers(watch, r, offset, earlier) &&
            has_acquired(watch, r, thread, strong))
            return true;
    }
    return false;
}

bool cudev_order_unknown_block(struct watch* watch, uint64_t since, unsigned group, unsigned thread,
                               bool strong, uint64_t* block) {
    const struct order* o = order();
    bool found = false;
    for (uint32_t n = o->blocks; n-- > 0;) {
        const uint64_t b = o->block[n].block;
        if (b % READER_GROUPS == group) {
            if (b == watch->worker->block) return false;
            for (uint32_t i = o->list_of_block[b % BLOCK_LISTS]; i; i = o->release[i].next_of_block)
                if (o->release[i].block == b && has_acquired(watch, &o->release[i], thread, strong))
                    return false;
            found = true;
            *block = b;
        }
        if (o->block[n].time <= since) break;
    }
    return found;
}

void cudev_order_fence_global(struct watch* watch) {
    watch->now += ONE_TICK;
    watch->fences.global = watch->now;
}

void cudev_order_flag_added(struct watch* watch, uint64_t offset, int before, int more) {
    struct order* o = order();
    const uint32_t variable = find_variable(watch, offset, false);
    if (!variable) return;
    const struct release* r = &o->release[o->releases];
    const bool is_new = o->releases && r->variable == variable &&
                        r->number + 1 == o->variable[variable - 1].count &&
                        r->block == watch->worker->block && r->thread == watch->worker->current;
    o->variable[variable - 1].newest = is_new ? o->releases : 0;
    o->variable[variable - 1].before = before;
    o->variable[variable - 1].after = (int)((unsigned)before + (unsigned)more);
}

bool cudev_order_flag_is_late(struct watch* watch, uint64_t offset, const int* flag, int* value) {
    struct order* o = order();
    const unsigned thread = watch->worker->current;
    const uint32_t variable = offset < WINDOW_OFFSET ? find_variable(watch, offset, false) : 0;
    if (!variable) return false;
    const uint32_t newest = o->variable[variable - 1].newest;
    const struct release* r = &o->release[newest];
    if (!newest || r->number + 1 != o->variable[variable - 1].count ||
        *flag != o->variable[variable - 1].after || r->block == watch->worker->block)
        return false;
    if (o->variable[variable - 1].late_for != watch->worker->block + 1) {
        o->variable[variable - 1].late_for = watch->worker->block + 1;
        memset(o->variable[variable - 1].late, 0, sizeof o->variable[variable - 1].late);
    }
    if (o->variable[variable - 1].late[thread / 32] >> thread % 32 & 1) return false;
    // Does the thread know of the addition, by way of another flag?
    if (cudev_order_covers(watch, offset, RACE_SHADOW[offset >> 2][0], thread, true)) return false;
    o->variable[variable - 1].late[thread / 32] |= 1u << thread % 32;
    acquire(watch, variable, o->variable[variable - 1].count - 1, thread);
    *value = o->variable[variable - 1].before;
    return true;
}
