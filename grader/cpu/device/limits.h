// The limits that the device enforces, and where its memory lies.
#ifndef CUDEV_LIMITS_H
#define CUDEV_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/cards/cards.h"

enum {
    WARP_SIZE = CARD_WARP,
    MAX_THREADS = CARD_BLOCK_THREADS,
    MAX_WARPS = MAX_THREADS / WARP_SIZE,
    MAX_WORKERS = 8,
    MAX_CLUSTER = 8,           // blocks of a cluster
    MAX_SHARED_ARRAYS = 1024,  // __shared__ declarations (and template instances) of a program
    GUARD_BYTE = 0xc5,         // fills the guards around arrays
    FRESH_BYTE = 0xff,         // fills fresh memory: NaN in every format
};

#define STATIC_SHARED_LIMIT ((size_t)48 << 10)
#define GLOBAL_MEMORY ((size_t)2 << 30)

// All memory lies at constant addresses: a watcher computes the shadow of an address from it.
// 2^45 on x86-64; aarch64 kernels may offer only 39 bits of address space.
#ifdef __aarch64__
#define ARENA_BASE ((char*)0x2000000000)
#else
#define ARENA_BASE ((char*)0x200000000000)
#endif
#define HEAP_SPACE ((size_t)5 << 29)     // cudaMalloc: 2.5 GiB for 2 GiB and the guards
#define HOST_SPACE ((size_t)1 << 30)     // cudaMallocHost, cudaMallocManaged
#define SHARED_WINDOW ((size_t)1 << 20)  // shared memory of the block that a worker runs
#define HEAP_BASE ARENA_BASE
#define HOST_BASE (HEAP_BASE + HEAP_SPACE)
#define WINDOW_BASE (ARENA_BASE + ((size_t)15 << 28))
// Behind all other memory, also the watchers', which ends at 75 GiB, and farther from it than an
// index beside a local array leads unnoticed (watch/bounds.c): 2^16 elements of 256 KB.
#define STACK_BASE (ARENA_BASE + ((size_t)96 << 30))
// The stack of a thread: 256 KB and a guard page. The number of pages is odd, or all stacks would
// compete for the same few TLB entries.
#define STACK_SIZE (((size_t)256 << 10) + 4096)
#define WORKER_STACKS (STACK_SIZE * MAX_THREADS)  // all stacks of one worker
// Rows that lie far apart (far.c), where there are 47 bits of address space.
#define FAR_BASE (ARENA_BASE + ((size_t)1 << 41))
#define FAR_SPACE ((size_t)1 << 44)
// Allocations of which little is used (cudev_run_few()), likewise: each behind HOLLOW_GAP bytes.
#define HOLLOW_BASE (FAR_BASE + FAR_SPACE)
#define HOLLOW_SPACE ((size_t)1 << 42)
#define HOLLOW_GAP ((size_t)1 << 34)

#endif
