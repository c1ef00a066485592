// The watchers: what the memory accesses of an instrumented .cu are checked and counted with.
//
// The compiler puts a call in front of every access (callbacks.c); access.c asks the watchers that
// are on. A plain program contains none of this: nothing there refers to it, so the linker leaves
// it out.
//
// Everything is indexed by an *offset*: the distance of an address from ARENA_BASE for device
// memory, pinned memory and shared memory windows; static data of the program comes behind that.
// The shadow of an offset lies at a constant address, so finding it is arithmetic. All shadow is one
// shared, unreserved mapping that host code cannot touch: it opens and closes with device memory.
#ifndef CUDEV_WATCH_H
#define CUDEV_WATCH_H

#include <stdio.h>
#include "cpu/include/cudev/watching.h"
#include "cpu/device/runtime.h"

// ---- address map -------------------------------------------------------------------------------

#define WATCHED_BYTES ((uint64_t)1 << 32)
#define HOST_OFFSET ((uint64_t)(HOST_BASE - ARENA_BASE))  // pinned memory begins
#define IMAGE_OFFSET (HOST_OFFSET + HOST_SPACE)           // static data of the program begins
#define IMAGE_SPACE (WINDOW_OFFSET - IMAGE_OFFSET)
#define WINDOW_OFFSET ((uint64_t)(WINDOW_BASE - ARENA_BASE))  // shared memory begins, up to the end
#define ALL_STACKS (WORKER_STACKS * MAX_WORKERS)

enum {
    PAGE_SHIFT = 7,       // owners are known by pages of 128 bytes; no two arrays share one
    SECTOR_SHIFT = 5,     // memory moves 32 bytes at a time
    MAX_SITES = 1 << 16,  // instructions that access memory
};
#define TEXT_BYTES ((size_t)1 << 28)

#define SHADOW_BASE (ARENA_BASE + ((size_t)16 << 30))
// per 4 bytes: four slots that say who accessed them, see race.c
#define RACE_SHADOW ((uint64_t(*)[4])SHADOW_BASE)
#define RACE_SIZE (WATCHED_BYTES * 8)
// per page: offset of the end of the array that lies there, 0: none
#define OWNER_SHADOW ((uint32_t*)(SHADOW_BASE + RACE_SIZE))
#define OWNER_SIZE (WATCHED_BYTES / 32)
// per 4 bytes: bit k is set when byte k has been written
#define INIT_SHADOW ((uint8_t*)OWNER_SHADOW + OWNER_SIZE)
#define INIT_SIZE (WATCHED_BYTES / 4)
// per sector: 32 bits "byte was read", 32 bits "byte was written"; in this launch, and since reset
#define LAUNCH_TOUCHED ((uint64_t*)(INIT_SHADOW + INIT_SIZE))
#define TOTAL_TOUCHED ((uint64_t*)((char*)LAUNCH_TOUCHED + TOUCHED_SIZE))
#define TOUCHED_SIZE (WATCHED_BYTES / 4)
// per worker and sector: the block that read it last
#define BLOCK_READ ((uint32_t(*)[WATCHED_BYTES / 32])((char*)TOTAL_TOUCHED + TOUCHED_SIZE))
#define BLOCK_READ_SIZE (WATCHED_BYTES / 8 * MAX_WORKERS)
// per byte of code: the number of the site whose call returns there
#define SITE_OF ((uint16_t*)((char*)BLOCK_READ + BLOCK_READ_SIZE))
#define SITE_SIZE (TEXT_BYTES * sizeof(uint16_t))
#define WATCH_STATE ((struct watch_state*)((char*)SITE_OF + SITE_SIZE))
// of order.c, profile.c and finding.c, whose own matter it is
#define ROOM_SPACE ((size_t)1 << 30)
#define ORDER_BASE (SHADOW_BASE + ((size_t)48 << 30))
#define PROFILE_BASE (ORDER_BASE + ROOM_SPACE)
#define FINDING_BASE (PROFILE_BASE + ROOM_SPACE)
#define SHADOW_SIZE ((size_t)(FINDING_BASE + ROOM_SPACE - SHADOW_BASE))

// ---- time and order ----------------------------------------------------------------------------
//
// While checks are on one worker runs all blocks, one after the other, so there is one time line.
// Time is a 32-bit count of synchronisations, kept in the upper half of 64 bits as in a slot: then
// two accesses, or an access and a time, compare as numbers.

// slot: | time 32 | thread 10 | volatile 1 | atomic 1 | mask of bytes 4 | site 16 |
enum { SLOT_MASK_SHIFT = 16, SLOT_THREAD_SHIFT = 22, SLOT_TIME_SHIFT = 32 };
#define SLOT_ATOMIC ((uint64_t)1 << 20)
#define SLOT_VOLATILE ((uint64_t)1 << 21)
#define ONE_TICK ((uint64_t)1 << SLOT_TIME_SHIFT)

static inline unsigned slot_thread(uint64_t slot) {
    return slot >> SLOT_THREAD_SHIFT & (MAX_THREADS - 1);
}
static inline unsigned slot_mask(uint64_t slot) {
    return slot >> SLOT_MASK_SHIFT & 15;
}
static inline unsigned slot_site(uint64_t slot) {
    return slot & (MAX_SITES - 1);
}

// ---- the watch of one worker -------------------------------------------------------------------

enum {
    LOG_ENTRIES = 1024,  // of a lane, between two merges
    LOG_STRIDE =
        LOG_ENTRIES + 8,  // or the logs of all lanes would compete for the same cache lines
};

enum log_kind {
    LOG_LOAD,
    LOG_STORE,
    LOG_ATOMIC,
    LOG_COPY_LOAD,  // cp.async is one instruction that loads and stores
    LOG_COPY_STORE,
    LOG_MATRIX_LOAD,
    LOG_MMA,  // no access to memory: counted in rows of their own
    LOG_KINDS,
};

static inline bool log_loads(enum log_kind kind) {
    return kind == LOG_LOAD || kind == LOG_COPY_LOAD || kind == LOG_MATRIX_LOAD;
}

// | bytes 8 | kind 8 | site 16 | offset 32 |: the upper half says which instruction, the lower where
typedef uint64_t log_entry;

static inline log_entry log_entry_of(uint64_t offset, unsigned site, unsigned kind,
                                     unsigned bytes) {
    return (uint64_t)(bytes << 24 | kind << 16 | site) << 32 | offset;
}
static inline unsigned log_site(log_entry e) {
    return e >> 32 & (MAX_SITES - 1);
}
static inline enum log_kind log_kind(log_entry e) {
    return (enum log_kind)(e >> 48 & 255);
}
static inline unsigned log_bytes(log_entry e) {
    return (unsigned)(e >> 56);
}

// The logs of the lanes of one warp.
typedef log_entry warp_log[WARP_SIZE][LOG_STRIDE];

struct watch {
    // what every access needs
    struct worker* worker;
    bool check, profile;
    unsigned log_warp;                      // whose lanes run
    uint64_t now;                           // time
    uint64_t launch_floor;                  // time when the launch began
    uint64_t block_floor;                   // when the running block began
    uint64_t shared_floor;                  // its last __syncthreads()
    uint8_t log_of[MAX_WARPS];              // which log a warp of logged_warps has
    uint32_t length[MAX_WARPS][WARP_SIZE];  // of the lanes' logs

    // logs: what the lanes of each warp have accessed, until lockstep.c has merged it
    uint32_t logged_warps;  // that have a log
    uint32_t block_number;  // of the blocks this worker ran, from 1
    unsigned free_logs;
    uint8_t free_log[MAX_WARPS];  // used like a stack: the last one is still in the cache
    unsigned spins;
    bool range;  // the access is part of a structure, which may have padding

    // order of threads, see race.c and order.c
    uint64_t warp_floor[MAX_WARPS];      // last __syncwarp() of all lanes
    bool fine;                           // some threads are ordered by other means
    uint64_t device_fence[MAX_THREADS];  // when a thread last fenced
    uint64_t block_fence[MAX_THREADS];
    uint64_t last_fence;                  // of any thread, device-wide
    bool fenced_before_barrier;           // some thread did, before the last __syncthreads()
    uint64_t fence_barrier[MAX_THREADS];  // the __syncthreads() before its last device fence

    uint64_t row_block[MAX_THREADS];         // time of the block for which row[t] holds
    uint32_t row[MAX_THREADS][MAX_THREADS];  // row[t][u]: u's accesses up to then come before t's
    warp_log log[MAX_WARPS];
};

struct watch_state {
    bool check, profile;
    uint32_t sites;
    const void* pc_of_site[MAX_SITES];
    struct watch watch[MAX_WORKERS];
};

static inline struct watch_state* watch_state(void) {
    return WATCH_STATE;
}

// ---- rooms -------------------------------------------------------------------------------------

extern char __executable_start[], _end[];

// watch.c
unsigned cudev_new_site(const void* pc);
void cudev_watch_setup(void);
void cudev_shadow_clear(void* shadow, size_t bytes);  // whole pages

static inline unsigned site_at(const void* pc) {
    size_t distance = (size_t)((const char*)pc - __executable_start);
    if (distance >= TEXT_BYTES) return 0;
    unsigned site = SITE_OF[distance];
    return site ? site : cudev_new_site(pc);
}

// access.c
void cudev_access(const volatile void* p, size_t bytes, enum cudev_access access, const void* pc);
void cudev_access_range(const volatile void* p, size_t bytes, enum cudev_access access,
                        const void* pc);

void cudev_access_copy(struct worker* w, const void* to, const void* from, unsigned bytes,
                       unsigned used, const void* pc);
void cudev_access_arrival(struct worker* w, const void* to, const void* from, unsigned bytes,
                          unsigned used, const void* pc);
void cudev_access_matrix_row(struct worker* w, const void* row, const void* pc);

// Is the address one that a kernel's atomic may read? Otherwise says so, and does not return.
bool cudev_may_load(const volatile void* p, size_t bytes, const void* pc);

// bounds.c
void cudev_bounds_index(long long index, const char* type, const char* file, int line,
                        const void* pc);
void cudev_bounds_own(uint64_t offset, size_t bytes);
void cudev_bounds_disown(uint64_t offset, size_t bytes);
void cudev_bounds_written(uint64_t offset, size_t bytes);
void cudev_bounds_unwritten(uint64_t offset, size_t bytes);
void cudev_bounds_copies(const char* function, const void* dst, const void* src, size_t bytes);
bool cudev_bounds_stray(struct watch* k, uint64_t offset, size_t bytes, enum cudev_access access,
                        const void* pc);
void cudev_bounds_uninitialised(struct watch* k, uint64_t offset, size_t bytes,
                                enum cudev_access access, const void* pc);
void cudev_bounds_misaligned(struct watch* k, uint64_t offset, size_t bytes,
                             enum cudev_access access, const void* pc);
void cudev_bounds_foreign(struct watch* k, const volatile void* p, size_t bytes,
                          enum cudev_access access, const void* pc);

// race.c
void cudev_race_access(struct watch* k, uint64_t offset, uint64_t me, bool write);
void cudev_race_barrier(struct watch* k);
void cudev_race_warp_barrier(struct watch* k, unsigned warp, uint32_t lanes);
void cudev_race_release(struct watch* k, struct cudev_clock* clock, unsigned warp, uint32_t lanes);
void cudev_race_acquire(struct watch* k, const struct cudev_clock* clock, unsigned warp,
                        uint32_t lanes);
void cudev_race_overwritten(struct watch* k, uint64_t offset, uint64_t me);
uint64_t cudev_race_known(struct watch* k, unsigned thread, unsigned other);

// order.c: between blocks
void cudev_order_launch(void);
void cudev_order_block(struct watch* k);
void cudev_order_sync(struct watch* k, uint64_t offset, bool reads, bool writes);
bool cudev_order_covers(struct watch* k, uint64_t offset, uint64_t earlier, unsigned thread);
bool cudev_order_block_at(uint64_t time, uint64_t* block);

#endif
