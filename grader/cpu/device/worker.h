// The state of the device that all its files share: the launch that runs, the workers that run its
// blocks, and for each worker the thread that runs and the threads that can go on. If a single file
// needs more state, it keeps a struct of its own, and the worker has a pointer to it.
//
// The watchers read this state and change only worker->watch.
#ifndef CUDEV_WORKER_H
#define CUDEV_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "cpu/device/limits.h"
#include "cpu/include/cuda_runtime_api.h"
#include "cpu/include/cudev.h"
#include "cpu/include/cudev/abi.h"

// One launch at a time.
struct launch {
    struct cudev_launch_site site;
    void (*run)(void*);  // runs one block: cudev_launch() in abi.h
    void* body;
    unsigned threads;   // that a worker runs together: of a block, or of a cluster of blocks
    unsigned cluster;   // blocks of a cluster, 1: there are no clusters
    unsigned of_block;  // threads of one block
    uint64_t blocks;    // or clusters
    bool overlaps;      // the launch before it has maybe not ended: see cudev_grid_wait()
    bool crowded;       // CUDEV_CROWDED_BLOCKS
    _Atomic uint64_t next_block;
    uint64_t chunk;             // number of blocks that a worker takes at a time
    _Atomic cudaError_t error;  // set when a watcher has stopped the launch
    atomic_int active;          // number of workers that still run
    uint3 index[MAX_THREADS];   // threadIdx of each thread
};

// A worker: an OS thread that runs blocks, one after the other.
struct worker {
    int number;  // [0, MAX_WORKERS)
    pthread_t os_thread;
    sem_t go;  // posted when there is a launch to run
    struct launch* launch;
    atomic_bool busy;          // it runs blocks of that launch; else it waits for `go`
    uint64_t block;            // linear index of the block that runs, the first of its cluster
    unsigned block_x;          // its blockIdx.x
    void* main_stack_pointer;  // of the worker itself, while it runs a block

    // the threads of the block: scheduler.c, block.c
    bool direct;                       // no thread of the block has waited yet: scheduler.c
    unsigned row;                      // in direct mode: the first thread of the current row
    unsigned current;                  // the thread that runs
    unsigned next;                     // the first thread that has not started
    unsigned running;                  // number of threads that have not returned
    unsigned running_of[MAX_CLUSTER];  // the same for each block of a cluster
    uint32_t live[MAX_WARPS];          // lanes that have not returned or not started
    uint32_t ready[MAX_WARPS];         // lanes that can go on
    uint32_t yielded[MAX_WARPS];       // lanes that can go on after all others have
    uint32_t all_warps;                // bit w: the block has a warp w
    uint32_t ready_warps;              // bit w: ready[w] != 0
    unsigned warp, lane;               // resumed last
    unsigned turns;                    // resumptions since that warp began
    unsigned spins;                    // calls of cudev_spin()
    unsigned stack;                    // number of the stack in use
    const char* stack_end;             // of that one
    unsigned asked_x;                  // threadIdx.x when the watchdog stopped the worker: fault.c
    void (*nobody_ready)(struct worker* w);  // see cudev_run_threads()
    struct cudev_meetings met;               // of the threads of all its blocks so far

    // the structs of single files
    struct stacks* stacks;                  // stacks.c
    struct waiting* waiting;                // waiting.h
    struct named_barriers* named_barriers;  // named_barriers.c
    struct pending_copies* pending_copies;  // async_copies.c
    struct hopper* hopper;                  // hopper.h
    struct shared_memory* shared;           // shared_memory.h; of each block of a cluster
    struct call_stack* call_stack;          // fault.h
    struct watch* watch;                    // the watchers' (watch/watch.h); NULL: none looks

    // of each thread; all data that a switch touches lies close together
    void* stack_pointer[MAX_THREADS];  // of a thread that does not run
    uint16_t stack_of[MAX_THREADS];
};

extern struct launch cudev_current_launch;  // the one that runs, or the last one
extern struct worker* cudev_worker[MAX_WORKERS];
extern __thread struct worker* cudev_self;  // NULL in host code
extern __thread uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// Memory for a struct of a worker, all zero. It lasts as long as the program. Ends the program when
// the system has no memory.
void* cudev_worker_memory(size_t bytes);
// The index of the thread that runs. On an OS thread other than the worker's it is approximate.
unsigned cudev_current(const struct worker* w);
// The calling worker. Ends the program if host code calls: `what` belongs into a kernel.
struct worker* cudev_in_kernel(const char* what);

// Which block of its cluster the thread is in.
static inline unsigned cudev_rank_of(const struct worker* w, unsigned thread) {
    return w->launch->cluster == 1 ? 0 : thread / w->launch->of_block;
}

// ---- block.c ------------------------------------------------------------------------------------

// Runs the block with this linear index.
void cudev_run_block(struct worker* w, uint64_t block);
// For watchers: ends the running block and starts no other block. The launch returns `error`, and
// the error stays.
void cudev_stop_launch(struct worker* w, cudaError_t error) __attribute__((noreturn));

// ---- barrier.c ----------------------------------------------------------------------------------

// Ends the program: some threads of this block of the cluster wait at its barrier, all others have
// returned.
void cudev_barrier_abandoned(struct worker* w, unsigned rank) __attribute__((noreturn));

// ---- named_barriers.c ---------------------------------------------------------------------------

void cudev_named_barriers_create(struct worker* w);  // once for each worker
void cudev_named_barriers_begin(struct worker* w);   // a block begins: all are closed and empty
// All threads of a warp have returned: opens the barrier of the cluster if it waited for them
// alone.
void cudev_named_barriers_warp_returned(struct worker* w);
// Adds to a report the barriers that have not opened.
void cudev_named_barriers_report(const struct worker* w);
// Names the barriers at which threads have arrived and none of the block has ever waited: of a
// deadlock these say most.
void cudev_named_barriers_blame(const struct worker* w);

// ---- async_copies.c -----------------------------------------------------------------------------

void cudev_async_copies_create(struct worker* w);  // once for each worker
void cudev_async_copies_begin(struct worker* w);   // a block begins: nothing is under way
void cudev_async_copies_end(struct worker* w);     // a watched block ends: what is left
// The place where a copy to p was issued that its thread has not waited for; NULL: there is none.
const void* cudev_copy_awaited(const struct worker* w, const void* p, unsigned* thread);

// ---- launch.c -----------------------------------------------------------------------------------

// The number of workers that run blocks.
int cudev_worker_count(void);
// The host has waited for the launches so far, or copied: the next one overlaps with none of them.
void cudev_launches_ended(void);

// ---- kernels.c ----------------------------------------------------------------------------------

// The dynamic shared memory that a launch may ask for, in bytes. Returns whether the program has
// called cudaFuncSetAttribute() for it, with whatever number: then 48 KB are no limit for static
// and dynamic memory together (measured on an H100). A kernel that the rewriter could not name gets
// the largest limit of all.
// The card that the device poses as: CUDEV_CARD in the environment, or the first of the table.
const struct known_card* cudev_card(void);

// The card of another device.
const struct known_card* cudev_card_of(int number);

// The current device's number, and how many there are: 2 if the process began on another device.
int cudev_device(int* count);

bool cudev_shared_limit(const struct cudev_launch_site* site, size_t* limit);

#endif
