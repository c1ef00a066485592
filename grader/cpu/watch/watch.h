// The state that the watchers keep of a worker while it runs a watched kernel: time, the order of
// threads, and the logs of their accesses.
#ifndef CUDEV_WATCH_H
#define CUDEV_WATCH_H

#include "cpu/device/worker.h"
#include "cpu/watch/shadow.h"

// ---- time and order ----------------------------------------------------------------------------
//
// While checks are on, one worker runs all blocks, one after the other, so there is one time line.
// Time is a 32-bit count of synchronisations, kept in the upper half of 64 bits as in a slot. So
// two accesses, or an access and a time, compare as numbers.

// slot: | time 32 | thread 10 | volatile 1 | atomic 1 | mask of bytes 4 | site 16 |
enum { SLOT_MASK_SHIFT = 16, SLOT_THREAD_SHIFT = 22, SLOT_TIME_SHIFT = 32 };
#define SLOT_ATOMIC ((uint64_t)1 << 20)
#define SLOT_VOLATILE ((uint64_t)1 << 21)
#define ONE_TICK ((uint64_t)1 << SLOT_TIME_SHIFT)

// Times begin here. A smaller number in a slot is no access.
#define FIRST_TIME ((uint64_t)1 << (SLOT_TIME_SHIFT + 16))

static inline unsigned slot_thread(uint64_t slot) {
    return slot >> SLOT_THREAD_SHIFT & (MAX_THREADS - 1);
}
static inline unsigned slot_mask(uint64_t slot) {
    return slot >> SLOT_MASK_SHIFT & 15;
}
static inline unsigned slot_site(uint64_t slot) {
    return slot & (MAX_SITES - 1);
}

// A word that has no second writer has its further readers there: | 0 | bytes 4 | groups 32 |, all
// groups that have read it since its first reader did, and the bytes that one of them has not read.
// A group is a warp of the block; in global memory all blocks whose numbers are equal modulo 32.
// Kept from the first event on that orders some threads of a block alone: where barriers of whole
// blocks are all the order there is, the first reader and the newest one are enough.
enum { SLOT_UNREAD_SHIFT = 32, READER_GROUPS = 32 };

// The first reader since `floor`.
static inline void slot_begin_readers(uint64_t* slot, uint64_t floor, uint64_t me) {
    slot[2] = me;
    if (slot[1] < floor) slot[1] = 0;
}

// ---- logs: what the lanes of each warp have accessed, until lockstep.c has merged them ---------

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
    LOG_MMA,       // no access to memory: counted in rows of their own
    LOG_WGMMA,     // likewise
    LOG_TMA_LOAD,  // a box or a row of bytes; logged nowhere, counted at once
    LOG_TMA_STORE,
    LOG_ROUND,  // a loop begins its next round: counted nowhere, for lockstep.c
    LOG_KINDS,
};

static inline bool log_loads(enum log_kind kind) {
    return kind == LOG_LOAD || kind == LOG_COPY_LOAD || kind == LOG_MATRIX_LOAD ||
           kind == LOG_TMA_LOAD;
}

// | bytes 8 | kind 8 | site 16 | offset 32 |: the upper half is the instruction, the lower the
// place. Of a LOG_ROUND the site is the number of its loop, the bytes say how deep it is nested.
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

struct logs {
    unsigned warp;                          // whose lanes run
    uint8_t of[MAX_WARPS];                  // which log a warp of `logged` has
    uint32_t length[MAX_WARPS][WARP_SIZE];  // of the lanes' logs
    uint32_t logged;                        // the warps that have a log
    unsigned free_count;
    uint8_t free[MAX_WARPS];  // used like a stack: the last log is still in the cache
};

// ---- the order of threads ----------------------------------------------------------------------

// Within the block: thread_order.c.
struct thread_order {
    uint64_t warp_floor[MAX_WARPS];   // last __syncwarp() of all lanes
    bool by_rows;                     // some threads are ordered by other means: rows are kept
    uint64_t row_block[MAX_THREADS];  // time of the block for which row[t] holds
    uint32_t row[MAX_THREADS][MAX_THREADS];  // row[t][u]: u's accesses up to then come before t's
    // The same for a fence between the proxies: u's writes up to then, a fence, t's next accesses.
    // async_order.h.
    bool fences;                         // somebody has called one in this block
    uint64_t fenced_block[MAX_THREADS];  // time of the block for which fenced[t] holds
    uint32_t fenced[MAX_THREADS][MAX_THREADS];
    uint32_t fenced_all[MAX_THREADS];  // of all threads, at the last __syncthreads()
};

// Boxes of shared memory that TMA has filled, and how.
enum { KEPT_BOXES = 64 };
struct filled_box {
    const char *begin, *end;
    unsigned swizzle, site;
};
struct async_order {
    unsigned boxes;  // filled in this block; the last ones are kept
    struct filled_box box[KEPT_BOXES];
    uint32_t sector, sector_bytes;  // being counted: profile.c
};

// By fences and atomics: fence_order.c. Times.
struct fences {
    uint64_t device[MAX_THREADS];   // when a thread last fenced, device-wide
    uint64_t block[MAX_THREADS];    // or for its block
    uint64_t last;                  // of any thread, device-wide
    uint64_t global;                // when any thread last fenced the proxies of global memory
    bool before_barrier;            // some thread did, before the last __syncthreads()
    uint64_t barrier[MAX_THREADS];  // the __syncthreads() before the thread's last device fence
    uint64_t warp[MAX_THREADS];     // the __syncwarp() before it
    // The thread's knowledge then of others by named barriers: upper halves of times; by_rows
    // alone.
    uint32_t known[MAX_THREADS][MAX_THREADS];
};

// Launches that may overlap: overlap.c. Times.
struct overlap {
    uint64_t floor;      // what lies before it comes before the launch; launch_floor: so does all
    uint64_t loose_end;  // what lies from there to here is not known behind a wait either
    bool depends;        // the launch that runs may have begun before the one before it has ended
    bool waited;         // some thread of it has waited
    unsigned waiters;    // threads of the running block that have called griddep_wait()
    struct {
        uint64_t time;
        unsigned thread;
    } waiter[MAX_THREADS];
    uint64_t behind[MAX_THREADS];  // block for which the thread is known to be behind a wait
};

// ---- the watch of one worker -------------------------------------------------------------------

struct watch {
    // all that every access needs
    struct worker* worker;
    bool check, profile;
    bool groups;            // readers are kept by groups, too: see SLOT_UNREAD_SHIFT
    uint64_t now;           // time
    uint64_t launch_floor;  // time when the launch began
    uint64_t block_floor;   // when the running block began
    uint64_t shared_floor;  // its last __syncthreads()
    struct logs logs;

    uint32_t deepest;  // bytes of its stack that a thread has used, at most: see stack_use.c
    // The same, all threads of a block together: of the one that runs; of any since the reset.
    uint64_t block_stack, most_block_stack;
    struct stack_use {
        char *begin, *low;  // where threads begin; how far down the running one has been
    } stack[MAX_THREADS];

    struct parts {                // of this worker's work, counted from 1: request.c
        uint32_t first, last;     // of the running block
        uint32_t now[MAX_WARPS];  // the part that a warp is in
        uint32_t stored;          // warps that have stored a result of theirs
        uint16_t barriers;        // at which all threads of the block have met, modulo 2^16
    } parts;
    unsigned spins;  // volatile reads
    bool range;      // the access is part of a structure, which may have padding
    bool by_tma;     // the access is one of TMA to global memory
    struct fences fences;
    struct thread_order order;
    struct async_order async;
    struct overlap overlap;
    warp_log log[MAX_WARPS];
    uint64_t block_group;  // the bit of the running block among the readers of global memory
    struct {               // how often a thread has given way since a __syncthreads()
        uint64_t floor;
        unsigned times;
    } gave[MAX_THREADS];
};

// The group of a reader, as a bit.
static inline uint64_t slot_group(const struct watch* watch, uint64_t offset, unsigned thread) {
    return offset >= WINDOW_OFFSET ? (uint64_t)1 << thread / WARP_SIZE : watch->block_group;
}

struct watch_state {
    bool check, profile;                    // what CUDEV_WATCH asks for
    const char *constants, *constants_end;  // what came from device memory into constant memory
    struct watch watch[MAX_WORKERS];
};
_Static_assert(sizeof(struct watch_state) <= OWN_SPACE, "the workers' state has 1 GiB");

static inline struct watch_state* watch_state(void) {
    return (struct watch_state*)WATCH_BASE;
}

// stack_use.c: the running thread uses its stack from where it began down to `low`.
void cudev_stack_reaches(struct watch* watch, char* low);

// watcher.c: sets cudev_watcher if CUDEV_WATCH asks for it. Called before main().
void cudev_watch_setup(void);

#endif
