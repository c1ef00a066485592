// The memory of the watchers: where it lies, and when it is open.
//
// Every byte that is watched has an *offset*. For device memory, pinned memory and the windows of
// shared memory it is the distance from ARENA_BASE; static data of the program comes behind. The
// watchers keep what they know of an offset in its shadow, whose address is found by arithmetic.
// All shadows are one shared, unreserved mapping. Host code cannot touch the mapping: it opens and
// closes with device memory.
#ifndef CUDEV_SHADOW_H
#define CUDEV_SHADOW_H

#include "cpu/device/limits.h"

// ---- offsets -----------------------------------------------------------------------------------

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

// ---- shadows -----------------------------------------------------------------------------------

#define SHADOW_BASE (ARENA_BASE + ((size_t)16 << 30))
// per 4 bytes: four slots that say who accessed them, see race.c
#define RACE_SHADOW ((uint64_t(*)[4])SHADOW_BASE)
#define RACE_SIZE (WATCHED_BYTES * 8)
// per page: offset of the end of the array that lies there, 0: none
#define OWNER_SHADOW ((uint32_t*)(SHADOW_BASE + RACE_SIZE))
#define OWNER_SIZE (WATCHED_BYTES / 32)
// per 4 bytes: bit i is set when byte i has been written
#define INIT_SHADOW ((uint8_t*)OWNER_SHADOW + OWNER_SIZE)
#define INIT_SIZE (WATCHED_BYTES / 4)
// per sector: 32 bits "byte was read", 32 bits "byte was written"; in this launch, and since reset
#define LAUNCH_TOUCHED ((uint64_t*)(INIT_SHADOW + INIT_SIZE))
#define TOTAL_TOUCHED ((uint64_t*)((char*)LAUNCH_TOUCHED + TOUCHED_SIZE))
#define TOUCHED_SIZE (WATCHED_BYTES / 4)
// per worker and sector: what a block has loaded of it, see request.c
struct block_read {
    uint32_t part;          // of the worker's work
    uint32_t bytes;         // a bit for each of the 32
    uint64_t warps : 40;    // 5 bits for each 4 bytes: who loaded them last
    uint64_t old : 8;       // a bit for each 4 bytes: that was before the last barrier
    uint64_t barrier : 16;  // how many there had been at the last load
};
#define BLOCK_READ ((struct block_read(*)[WATCHED_BYTES / 32])((char*)TOTAL_TOUCHED + TOUCHED_SIZE))
#define BLOCK_READ_SIZE (WATCHED_BYTES / 2 * MAX_WORKERS)
// per page: bytes that were loaded again, since reset
#define LOADED_AGAIN ((uint64_t*)((char*)BLOCK_READ + BLOCK_READ_SIZE))
#define LOADED_AGAIN_SIZE (WATCHED_BYTES / 128 * sizeof(uint64_t))
// per byte of code: the number of the site whose call returns there
#define SITE_OF ((uint16_t*)((char*)LOADED_AGAIN + LOADED_AGAIN_SIZE))
#define SITE_SIZE (TEXT_BYTES * sizeof(uint16_t))
// the numbered sites: sites.h
#define SITES_BASE ((char*)SITE_OF + SITE_SIZE)
#define SITES_SPACE ((size_t)1 << 20)
// the state of each worker: watch.h
#define WATCH_BASE (SITES_BASE + SITES_SPACE)

// Memory that belongs to one file each: fence_order.c, counters.h, findings.c.
#define OWN_SPACE ((size_t)1 << 30)
#define ORDER_BASE (SHADOW_BASE + ((size_t)56 << 30))
#define COUNTERS_BASE (ORDER_BASE + OWN_SPACE)
#define FINDINGS_BASE (COUNTERS_BASE + OWN_SPACE)
#define SHADOW_SIZE ((size_t)(FINDINGS_BASE + OWN_SPACE - SHADOW_BASE))

extern char __executable_start[], __data_start[], _end[];

// ---- functions ---------------------------------------------------------------------------------

// Maps all shadows, zero and open. Ends the program on failure: a check without shadows would pass
// everything.
void cudev_shadow_map(void);
void cudev_shadow_open(void);
void cudev_shadow_close(void);
// Both make the bytes zero. clear: whole pages. drop: any bytes; their pages go back to the system.
void cudev_shadow_clear(void* shadow, size_t bytes);
void cudev_shadow_drop(void* shadow, size_t bytes);

#endif
