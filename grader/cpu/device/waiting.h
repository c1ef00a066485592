// The things that the threads of a block wait for: its barrier, and the calls that lanes of a warp
// make together. barrier.c, warp.c and named_barriers.c keep this up to date.
#ifndef CUDEV_WAITING_H
#define CUDEV_WAITING_H

#include "cpu/device/worker.h"

struct warp_function;

// A line of the source where a thread waits.
struct place {
    const char* what;  // the function as a report shows it
    const char* file;
    int line;
};

// The operands of a thread in the warp function that it is in, then its result.
struct lane {
    struct place place;
    const struct warp_function* function;
    unsigned mask;  // lanes that it waits for
    unsigned arg, width;
    uint64_t value;  // the operand, then the result
};

// Lanes of a warp in warp functions, by mask.
struct warp_groups {
    unsigned count;
    struct {
        uint32_t mask, arrived;
    } group[WARP_SIZE];
};

// __syncthreads() and its variants: one call at a time.
struct barrier {
    unsigned arrived;             // number of threads
    uint32_t waiting[MAX_WARPS];  // which lanes
    struct place place;           // where: the same place for all of them
    enum cudev_barrier_op op;
    int votes, vote_result;
};

struct waiting {
    struct barrier barrier[MAX_CLUSTER];  // of each block of a cluster
    uint32_t in_call[MAX_WARPS];  // lanes that wait in a warp function or at a named barrier
    struct warp_groups groups[MAX_WARPS];
    struct lane lane[MAX_THREADS];
};

void cudev_waiting_create(struct worker* w);  // once for each worker
void cudev_waiting_reset(struct worker* w);   // nobody waits
void cudev_waiting_forget(struct worker* w);  // nobody sees the operands of the last launch
// Where a thread waits for others; NULL when it does not.
const struct place* cudev_place_of(const struct worker* w, unsigned thread);
// Adds to a report one line for each group of threads in the same state at the same place.
void cudev_report_threads(const struct worker* w);
// The rest of a report that has begun: the launch, these lines, what to try next. Ends the program.
void cudev_report_waiting(const struct worker* w, const char* next) __attribute__((noreturn));

#endif
