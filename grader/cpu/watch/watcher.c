// The watcher: implements device/watcher.h, and is turned on here.
//
// CUDEV_WATCH=check | profile | check,profile; otherwise an instrumented program runs unwatched.
#include "cpu/device/watcher.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/device/allocations.h"
#include "cpu/device/far.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/symbols.h"
#include "cpu/watch/access.h"
#include "cpu/watch/array_names.h"
#include "cpu/watch/async_order.h"
#include "cpu/watch/bounds.h"
#include "cpu/watch/finding.h"
#include "cpu/watch/counters.h"
#include "cpu/watch/overlap.h"
#include "cpu/watch/races.h"

// ---- events of the device -----------------------------------------------------------------------

static void allocated(const struct allocation* a) {
    uint64_t offset = (uint64_t)(a->data - ARENA_BASE);
    cudev_bounds_own(offset, a->bytes);
    // the host may write pinned memory unseen
    if (a->type != cudaMemoryTypeDevice) cudev_bounds_written(offset, a->bytes);
}

static void freed(const struct allocation* a) {
    uint64_t offset = (uint64_t)(a->data - ARENA_BASE);
    cudev_bounds_disown(offset, a->bytes);
    cudev_shadow_drop(&INIT_SHADOW[offset >> 2], (a->bytes + 3) / 4);
    cudev_shadow_drop(RACE_SHADOW[offset >> 2], (a->bytes + 3) / 4 * sizeof RACE_SHADOW[0]);
}

// Data that is copied on the device to constant memory is an input, or was made of one.
static void copies(const char* function, const void* dst, const void* src, size_t bytes) {
    struct watch_state* s = watch_state();
    const char *begin = dst, *end = begin + bytes;
    if (s->check) cudev_bounds_copies(function, dst, src, bytes);
    if (!cudev_symbol_at(dst).constant || bytes == 0) return;
    if (!cudev_is_device_address(src) && !cudev_is_symbol(src) && !cudev_is_far(src)) return;
    if (!s->constants_end || begin < s->constants) s->constants = begin;
    if (end > s->constants_end) s->constants_end = end;
}

static void launch_begins(struct launch* l, int workers) {
    struct watch_state* s = watch_state();
    uint64_t now = s->watch[0].now + ONE_TICK;
    for (int i = 0; i < workers; i++) {
        struct watch* watch = &s->watch[i];
        watch->worker = cudev_worker[i];
        watch->worker->watch = watch;
        watch->check = s->check;
        watch->profile = s->profile;
        watch->now = watch->block_floor = watch->shared_floor = now;
        cudev_overlap_launch(watch, l->overlaps);
    }
    if (s->check) cudev_order_launch();
    if (s->profile) cudev_profile_launch_begins(l);
}

static void launch_ends(struct launch* l, int workers) {
    (void)l;
    struct watch_state* s = watch_state();
    if (s->profile) cudev_profile_launch_ends();
    for (int i = 0; i < workers; i++) cudev_worker[i]->watch = NULL;
    cudev_findings_print();
}

static void block_begins(struct worker* w) {
    struct watch* watch = w->watch;
    watch->now += ONE_TICK;
    watch->block_floor = watch->shared_floor = watch->now;
    watch->block_group = (uint64_t)1 << w->block % READER_GROUPS;
    watch->order.by_rows = watch->order.fences = watch->fences.before_barrier = false;
    watch->async.boxes = 0;
    watch->overlap.waiters = 0;
    if (watch->check) cudev_order_block(watch);
    if (watch->profile) cudev_profile_block_begins(watch);
}

static void block_ends(struct worker* w) {
    struct watch* watch = w->watch;
    if (watch->profile) cudev_profile_block_ends(watch);
    if (!watch->check) return;
    for (unsigned i = 0; i < w->launch->cluster; i++) {
        uint64_t offset = (uint64_t)(w->shared[i].window - ARENA_BASE);
        cudev_bounds_disown(offset, w->shared[i].used);
        cudev_bounds_unwritten(offset, w->shared[i].used);
    }
}

static void barrier(struct worker* w) {
    struct watch* watch = w->watch;
    if (watch->check) cudev_order_barrier(watch);
    if (watch->profile) cudev_profile_barrier(watch);
}

static void warp_barrier(struct worker* w, unsigned warp, uint32_t lanes) {
    if (w->watch->check) cudev_order_warp_barrier(w->watch, warp, lanes);
}

static void release(struct worker* w, struct cudev_clock* clock, unsigned warp, uint32_t lanes) {
    if (w->watch->check) cudev_order_release(w->watch, clock, warp, lanes);
}

static void acquire(struct worker* w, const struct cudev_clock* clock, unsigned warp,
                    uint32_t lanes) {
    if (w->watch->check) cudev_order_acquire(w->watch, clock, warp, lanes);
}

static void named_opens(struct worker* w, unsigned threads) {
    if (w->watch->profile) cudev_profile_named_barrier(w->watch, threads);
}

static void multiplies(struct worker* w, const void* pc) {
    if (w->watch->profile) cudev_profile_count_mma(w->watch, pc);
}

static void exchanged(struct worker* w, unsigned words) {
    if (w->watch->profile) cudev_profile_exchange(w->watch, words);
}

static uint64_t offset_of(const int* flag) {
    return (uint64_t)((const char*)flag - ARENA_BASE);
}

static void proxy_fence(struct worker* w, bool global) {
    if (w->watch->check && !global) cudev_order_fence_proxy(w->watch);
    if (w->watch->check && global) cudev_order_fence_global(w->watch);
}

static void flag_added(struct worker* w, const int* flag, int before, int more) {
    if (w->watch->check) cudev_order_flag_added(w->watch, offset_of(flag), before, more);
}

static bool flag_is_late(struct worker* w, const int* flag, int* value) {
    return w->watch->check && cudev_order_flag_is_late(w->watch, offset_of(flag), flag, value);
}

static void grid_awaited(struct worker* w) {
    if (w->watch->check) cudev_overlap_wait(w->watch);
}

static void shared_array(struct worker* w, const char* data, size_t bytes) {
    struct watch* watch = w->watch;
    if (watch->check) cudev_bounds_own((uint64_t)(data - ARENA_BASE), bytes);
    const struct shared_memory* m = cudev_shared_around(w, data);
    unsigned id = m->declared_count ? cudev_shared_id(m->declared[m->declared_count - 1]) : 0;
    if (watch->profile) cudev_profile_shared_array(watch, data, bytes, id);
}

static void report(void) {
    cudev_shadow_open();
    cudev_findings_print();
}

// ---- on and off --------------------------------------------------------------------------------

static struct cudev_watcher watcher = {
    .open = cudev_shadow_open,
    .close = cudev_shadow_close,
    .allocated = allocated,
    .freed = freed,
    .copies = copies,
    .launch_begins = launch_begins,
    .launch_ends = launch_ends,
    .block_begins = block_begins,
    .block_ends = block_ends,
    .barrier = barrier,
    .warp_barrier = warp_barrier,
    .release = release,
    .acquire = acquire,
    .named_opens = named_opens,
    .copy_issued = cudev_access_copy,
    .copy_arrives = cudev_access_arrival,
    .copy_left = cudev_access_left,
    .reads_nobody = cudev_findings_note,
    .exchanged = exchanged,
    .matrix_row = cudev_access_matrix_row,
    .multiplies = multiplies,
    .matrix_row_stored = cudev_access_matrix_row_stored,
    .mbarrier_made = cudev_async_mbarrier_made,
    .mbarrier_used = cudev_async_mbarrier_used,
    .bulk_issued = cudev_async_issued,
    .bulk_lands = cudev_async_lands,
    .bulk_reads = cudev_async_reads,
    .bulk_writes = cudev_async_writes,
    .bulk_left = cudev_async_left,
    .proxy_fence = proxy_fence,
    .flag_added = flag_added,
    .flag_is_late = flag_is_late,
    .product_issued = cudev_async_product_issued,
    .product_computed = cudev_async_product_computed,
    .products_waited = cudev_async_products_waited,
    .touched = cudev_async_touched,
    .product_left = cudev_findings_note_product,
    .grid_awaited = grid_awaited,
    .shared_array = shared_array,
    .argument = cudev_names_argument,
    .report = report,
};

static bool asked_for(const char* list, const char* word) {
    size_t n = strlen(word);
    for (const char* p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0')) return true;
    return false;
}

void cudev_watch_setup(void) {
    const char* mode = getenv("CUDEV_WATCH");
    if (!mode || !*mode || cudev_watcher) return;
    bool check = asked_for(mode, "check"), profile = asked_for(mode, "profile");
    if (!check && !profile) {
        fprintf(stderr, "==CPU device== CUDEV_WATCH is check, profile or check,profile, not %s\n",
                mode);
        exit(EXIT_DIAGNOSIS);
    }
    cudev_shadow_map();
    struct watch_state* s = watch_state();
    s->check = check;
    s->profile = profile;
    s->watch[0].now = FIRST_TIME;
    const char* end = cudev_symbols_end() > _end ? cudev_symbols_end() : _end;
    size_t image = (size_t)(end - __executable_start);
    if (image > IMAGE_SPACE) image = IMAGE_SPACE;
    cudev_bounds_own(IMAGE_OFFSET, image);
    cudev_bounds_written(IMAGE_OFFSET, image);
    watcher.finds = check;
    cudev_watcher = &watcher;
    cudev_shadow_close();
}
