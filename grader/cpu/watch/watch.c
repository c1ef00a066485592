// Turns the watchers on, keeps their memory, and passes on what the runtime tells them.
//
// CUDEV_WATCH=check | profile | check,profile; otherwise an instrumented program runs unwatched.
#include "watch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "finding.h"
#include "profile.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

_Static_assert(RACE_SIZE + OWNER_SIZE + INIT_SIZE + 2 * TOUCHED_SIZE + BLOCK_READ_SIZE + SITE_SIZE +
                       sizeof(struct watch_state) <=
                   (size_t)(ORDER_BASE - SHADOW_BASE),
               "the shadows and the state lie below the rooms' own memory");

static pthread_mutex_t new_site = PTHREAD_MUTEX_INITIALIZER;

// Numbers an instruction that accesses memory for the first time. 0 stands for all beyond the limit.
unsigned cudev_new_site(const void* pc) {
    struct watch_state* s = watch_state();
    uint16_t* number = &SITE_OF[(const char*)pc - __executable_start];
    pthread_mutex_lock(&new_site);
    if (!*number && s->sites + 1 < MAX_SITES) {
        s->pc_of_site[++s->sites] = pc;
        *number = (uint16_t)s->sites;
    }
    pthread_mutex_unlock(&new_site);
    return *number;
}

// ---- what the runtime tells --------------------------------------------------------------------

// Fresh shadow, all zero. A forked child shares nothing of it; no core dump has to hold it.
static bool map_shadow(void* want, size_t bytes, int fixed) {
    void* got = mmap(want, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (got != want) return false;
    madvise(want, bytes, MADV_DONTFORK);
    madvise(want, bytes, MADV_DONTDUMP);
    return true;
}

void cudev_shadow_clear(void* shadow, size_t bytes) {
    if (map_shadow(shadow, bytes, MAP_FIXED)) return;
    perror("==CPU device== cannot map memory to watch the kernel");
    exit(EXIT_DIAGNOSIS);
}

static void open_shadow(void) {
    mprotect(SHADOW_BASE, SHADOW_SIZE, PROT_READ | PROT_WRITE);
}

static void close_shadow(void) {
    mprotect(SHADOW_BASE, SHADOW_SIZE, PROT_NONE);
}

static void allocated(const struct allocation* a) {
    uint64_t offset = (uint64_t)(a->data - ARENA_BASE);
    cudev_bounds_own(offset, a->bytes);
    // the host may write pinned memory unseen
    if (a->type != cudaMemoryTypeDevice) cudev_bounds_written(offset, a->bytes);
}

// Gives shadow back to the system; it reads as zero from then on.
static void drop(void* shadow, size_t bytes) {
    uintptr_t first = ((uintptr_t)shadow + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)shadow + bytes) & ~(uintptr_t)4095;
    if (first >= end) {
        memset(shadow, 0, bytes);
        return;
    }
    memset(shadow, 0, first - (uintptr_t)shadow);
    madvise((void*)first, end - first, MADV_REMOVE);
    memset((void*)end, 0, (uintptr_t)shadow + bytes - end);
}

static void freed(const struct allocation* a) {
    uint64_t offset = (uint64_t)(a->data - ARENA_BASE);
    cudev_bounds_disown(offset, a->bytes);
    drop(&INIT_SHADOW[offset >> 2], (a->bytes + 3) / 4);
    drop(RACE_SHADOW[offset >> 2], (a->bytes + 3) / 4 * sizeof RACE_SHADOW[0]);
}

static void copies(const char* function, const void* dst, const void* src, size_t bytes) {
    if (watch_state()->check) cudev_bounds_copies(function, dst, src, bytes);
}

static void launch_begins(struct launch* l, int workers) {
    struct watch_state* s = watch_state();
    uint64_t now = s->watch[0].now + ONE_TICK;
    for (int i = 0; i < workers; i++) {
        struct watch* k = &s->watch[i];
        k->worker = cudev_worker[i];
        k->worker->watch = k;
        k->check = s->check;
        k->profile = s->profile;
        k->now = k->launch_floor = k->block_floor = k->shared_floor = now;
    }
    if (s->check) cudev_order_launch();
    if (s->profile) cudev_profile_launch_begins(l);
}

static void launch_ends(struct launch* l, int workers) {
    struct watch_state* s = watch_state();
    if (s->profile) cudev_profile_launch_ends(l, workers);
    for (int i = 0; i < workers; i++) cudev_worker[i]->watch = NULL;
    cudev_findings_print();
}

static void block_begins(struct worker* w) {
    struct watch* k = w->watch;
    k->now += ONE_TICK;
    k->block_floor = k->shared_floor = k->now;
    k->fine = k->fenced_before_barrier = false;
    if (k->check) cudev_order_block(k);
    if (k->profile) cudev_profile_block_begins(k);
}

static void block_ends(struct worker* w) {
    struct watch* k = w->watch;
    if (k->profile) cudev_profile_block_ends(k);
    if (!k->check) return;
    uint64_t offset = (uint64_t)(w->window - ARENA_BASE);
    cudev_bounds_disown(offset, w->shared_used);
    cudev_bounds_unwritten(offset, w->shared_used);
}

static void barrier(struct worker* w) {
    struct watch* k = w->watch;
    if (k->check) cudev_race_barrier(k);
    if (k->profile) cudev_profile_barrier(k);
}

static void warp_barrier(struct worker* w, unsigned warp, uint32_t lanes) {
    if (w->watch->check) cudev_race_warp_barrier(w->watch, warp, lanes);
}

static void release(struct worker* w, struct cudev_clock* clock, unsigned warp, uint32_t lanes) {
    if (w->watch->check) cudev_race_release(w->watch, clock, warp, lanes);
}

static void acquire(struct worker* w, const struct cudev_clock* clock, unsigned warp,
                    uint32_t lanes) {
    if (w->watch->check) cudev_race_acquire(w->watch, clock, warp, lanes);
}

static void named_opens(struct worker* w) {
    if (w->watch->profile) cudev_profile_kernel(w->watch)->barriers++;
}

static void multiplies(struct worker* w, const void* pc) {
    if (w->watch->profile) cudev_profile_count_mma(w->watch, pc);
}

static void shared_array(struct worker* w, const char* data, size_t bytes) {
    struct watch* k = w->watch;
    if (k->check) cudev_bounds_own((uint64_t)(data - ARENA_BASE), bytes);
    unsigned id = w->shared_count ? w->declared[w->shared_count - 1]->id : 0;
    if (k->profile) cudev_profile_shared_array(k, data, bytes, id);
}

static void report(void) {
    open_shadow();
    cudev_findings_print();
}

// ---- on and off --------------------------------------------------------------------------------

static struct cudev_watcher watcher = {
    .open = open_shadow,
    .close = close_shadow,
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
    .matrix_row = cudev_access_matrix_row,
    .multiplies = multiplies,
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

// Called before main(). Without memory for the shadow the program ends: a check that does not check
// would pass everything.
void cudev_watch_setup(void) {
    const char* mode = getenv("CUDEV_WATCH");
    if (!mode || !*mode || cudev_watcher) return;
    bool check = asked_for(mode, "check"), profile = asked_for(mode, "profile");
    if (!check && !profile) {
        fprintf(stderr, "==CPU device== CUDEV_WATCH is check, profile or check,profile, not %s\n",
                mode);
        exit(EXIT_DIAGNOSIS);
    }
    if (!map_shadow(SHADOW_BASE, SHADOW_SIZE, MAP_FIXED_NOREPLACE)) {
        perror("==CPU device== cannot reserve 51 GiB of address space to watch the kernel (see "
               "ulimit -v)");
        exit(EXIT_DIAGNOSIS);
    }
    struct watch_state* s = watch_state();
    s->check = check;
    s->profile = profile;
    size_t image = (size_t)(_end - __executable_start);
    if (image > IMAGE_SPACE) image = IMAGE_SPACE;
    cudev_bounds_own(IMAGE_OFFSET, image);
    cudev_bounds_written(IMAGE_OFFSET, image);
    watcher.finds = check;
    cudev_watcher = &watcher;
    close_shadow();
}
