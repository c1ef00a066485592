// What the rooms of the runtime share. C11; nothing here is visible to a .cu.
#ifndef CUDEV_RUNTIME_H
#define CUDEV_RUNTIME_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cpu/include/cuda_runtime_api.h"
#include "cpu/include/cudev.h"
#include "cpu/include/cudev/abi.h"
#include "cpu/include/cudev/watching.h"

enum {
    WARP_SIZE = 32,
    MAX_THREADS = 1024,  // per block
    MAX_WARPS = MAX_THREADS / WARP_SIZE,
    MAX_WORKERS = 8,
    MAX_SHARED_ARRAYS = 1024,  // __shared__ declarations (and template instances) of a program
    MAX_FRAMES = 24,           // of a call stack in a report
};

#define STATIC_SHARED_LIMIT ((size_t)48 << 10)
#define OPT_IN_SHARED_LIMIT ((size_t)227 << 10)
#define GLOBAL_MEMORY ((size_t)2 << 30)

// Everything lives at constant addresses: a watcher finds the shadow of an address by arithmetic.
// 2^45 on x86-64; aarch64 kernels may offer only 39 bits of address space.
#ifdef __aarch64__
#define ARENA_BASE ((char*)0x2000000000)
#else
#define ARENA_BASE ((char*)0x200000000000)
#endif
#define HEAP_SPACE ((size_t)5 << 29)     // cudaMalloc: 2.5 GiB for 2 GiB and the guards
#define HOST_SPACE ((size_t)1 << 30)     // cudaMallocHost, cudaMallocManaged
#define SHARED_WINDOW ((size_t)1 << 20)  // shared memory of the block a worker runs
#define HEAP_BASE ARENA_BASE
#define HOST_BASE (HEAP_BASE + HEAP_SPACE)
#define WINDOW_BASE (ARENA_BASE + ((size_t)15 << 28))
#define STACK_BASE (ARENA_BASE + ((size_t)1 << 32))
// Of one thread: 256 KB and a guard page. An odd number of pages, or all stacks would compete for the
// same few TLB entries.
#define STACK_SIZE (((size_t)256 << 10) + 4096)
#define WORKER_STACKS (STACK_SIZE * MAX_THREADS)  // of one worker

// Where a thread waits, for the table of a report.
struct place {
    const char* what;
    const char* file;
    int line;
};

// What a thread has brought to the warp function it is in.
struct lane {
    struct place place;
    enum cudev_warp_op op;
    unsigned mask;  // lanes it waits for
    unsigned arg, width;
    uint64_t value;  // operand, then result
};

// Lanes of a warp in warp functions, by mask.
struct warp_groups {
    unsigned count;
    struct {
        uint32_t mask, arrived;
    } group[WARP_SIZE];
};

struct launch {
    struct cudev_launch_site site;
    void (*run)(void*);
    void* body;
    unsigned threads;  // per block
    uint64_t blocks;
    _Atomic uint64_t next_block;
    uint64_t chunk;             // blocks a worker takes at a time
    _Atomic cudaError_t error;  // of a launch that a watcher stopped
    atomic_int active;          // workers still running
    uint3 index[MAX_THREADS];   // threadIdx of each thread
};

// An OS thread that runs blocks, one after the other; everything about its current block.
struct worker {
    int number;
    pthread_t os_thread;
    sem_t go;
    void* main_stack_pointer;
    struct launch* launch;
    uint64_t block;  // linear index

    bool direct;       // no thread of the block has waited yet: see leave_direct() in block.c
    unsigned row;      // in direct mode: the first thread of the current row
    unsigned current;  // thread that runs
    unsigned next;     // first thread that has not started
    unsigned running;  // threads that have not returned
    uint32_t live[MAX_WARPS];     // not returned, including those not yet started
    uint32_t ready[MAX_WARPS];    // can go on
    uint32_t yielded[MAX_WARPS];  // can go on, after all others have
    uint32_t ready_warps;         // bit w: ready[w] != 0
    unsigned warp, lane;          // resumed last
    unsigned turns;               // resumptions since that warp began

    uint32_t all_warps;  // bit w: the block has a warp w

    unsigned at_barrier;             // threads waiting in __syncthreads
    uint32_t in_barrier[MAX_WARPS];  // which
    struct place barrier_place;      // where: the same for all
    enum cudev_barrier_op barrier_op;
    int votes, vote_result;

    unsigned stack;  // index of the stack in use
    unsigned stacks_ready;
    unsigned free_stacks, free_stack[MAX_THREADS];

    struct warp_groups groups[MAX_WARPS];
    uint32_t in_warp_function[MAX_WARPS];  // lanes that wait in one
    uint32_t in_named[MAX_WARPS];          // lanes that wait at a named barrier
    bool copies;                           // it has issued asynchronous copies: see async_copies.c
    bool named;                            // it has used a named barrier: see named_barriers.c

    char* window;
    size_t shared_used;    // bytes of the window
    size_t static_shared;  // bytes of __shared__ arrays without dynamic memory and guards
    unsigned shared_count;
    uint64_t shared_generation;
    struct {
        uint64_t generation;
        void* data;
    } shared[MAX_SHARED_ARRAYS];
    const struct cudev_shared_array*
        dynamic;  // how the kernel declares its dynamic memory, if known
    struct cudev_shared_array* declared[MAX_SHARED_ARRAYS];  // of this block, in order of first use

    struct watch* watch;  // of an instrumented program that is watched, else NULL

    unsigned spins;
    void* frames[MAX_FRAMES];  // filled by the signal handler for the watchdog
    atomic_int frame_count;    // -1 until then
    unsigned asked_x;          // threadIdx.x at that moment

    // of each thread; what every switch touches is kept close together
    void* stack_pointer[MAX_THREADS];  // of a thread that does not run
    uint16_t stack_of[MAX_THREADS];
    struct lane lane_of[MAX_THREADS];
};

extern __thread struct worker* cudev_self;  // NULL in host code
extern __thread uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// What the runtime tells the watchers (watch.c). NULL unless the program is instrumented and
// CUDEV_WATCH is set: the rooms of the runtime refer to the watchers only through this.
struct allocation;
struct cudev_watcher {
    bool finds;  // checks are on: guard bytes need no look, one worker runs all blocks
    void (*open)(void);
    void (*close)(void);
    void (*allocated)(const struct allocation* a);
    void (*freed)(const struct allocation* a);
    // Bytes are about to be copied; src is NULL for a fill.
    void (*copies)(const char* function, const void* dst, const void* src, size_t bytes);
    void (*launch_begins)(struct launch* l, int workers);
    void (*launch_ends)(struct launch* l, int workers);
    void (*block_begins)(struct worker* w);
    void (*block_ends)(struct worker* w);
    void (*barrier)(struct worker* w);
    void (*warp_barrier)(struct worker* w, unsigned warp, uint32_t lanes);
    // Lanes come to a named barrier, lanes leave it; it has opened (before they leave).
    void (*release)(struct worker* w, struct cudev_clock* clock, unsigned warp, uint32_t lanes);
    void (*acquire)(struct worker* w, const struct cudev_clock* clock, unsigned warp,
                    uint32_t lanes);
    void (*named_opens)(struct worker* w);
    // The running thread issues a copy at pc: see cudev_copy_async(); later it arrives.
    void (*copy_issued)(struct worker* w, const void* to, const void* from, unsigned bytes,
                        unsigned used, const void* pc);
    void (*copy_arrives)(struct worker* w, const void* to, const void* from, unsigned bytes,
                         unsigned used, const void* pc);
    // The running lane loads a row of a matrix; its warp multiplies.
    void (*matrix_row)(struct worker* w, const void* row, const void* pc);
    void (*multiplies)(struct worker* w, const void* pc);
    void (*shared_array)(struct worker* w, const char* data, size_t bytes);
    void (*argument)(const struct cudev_launch_site* site, int index, const void* p, size_t bytes);
    void (*report)(void);  // says what has been found, before a diagnosis ends the program
};
extern const struct cudev_watcher* cudev_watcher;

// switch.c
void cudev_switch(void** save, void* to);
void* cudev_new_stack(char* top, void (*entry)(void));

// stacks.c
void cudev_stacks_map(struct worker* w);
unsigned cudev_stack_take(struct worker* w);
void cudev_stack_release(struct worker* w, unsigned stack);
void cudev_stacks_reset(struct worker* w);
char* cudev_stack_top(const struct worker* w, unsigned stack);
const char* cudev_stack_end(const struct worker* w);  // of the one that runs
bool cudev_stack_guard_hit(const struct worker* w, const void* address);

// block.c
void cudev_run_block(struct worker* w, uint64_t block);
void cudev_stop_launch(struct worker* w, cudaError_t error) __attribute__((noreturn));
unsigned cudev_begin_wait(struct worker* w);
void cudev_wait(struct worker* w);  // until somebody makes the calling thread ready; in switch.c
void* cudev_choose(void* stack_pointer, struct worker* w);
void* cudev_arrive(void* stack_pointer, enum cudev_barrier_op op, int vote, const char* file,
                   int line);
const struct place* cudev_place_of(const struct worker* w, unsigned thread);  // NULL: not waiting
unsigned cudev_current(const struct worker* w);
void cudev_make_ready(struct worker* w, unsigned warp, uint32_t lanes);

// warp.c
// A call that the lanes of `mask` make together: see cudev_warp() in abi.h.
uint64_t cudev_warp_call(struct worker* w, enum cudev_warp_op op, unsigned mask, uint64_t value,
                         unsigned arg, unsigned width, const char* file, int line);
// Called when a lane has returned from the kernel.
void cudev_warp_lane_returned(struct worker* w, unsigned warp);
// Releases lanes in __activemask() when no other thread can run; false if there are none.
bool cudev_warp_settle(struct worker* w);
bool cudev_warp_blames_mask(struct worker* w);

// async_copies.c
void cudev_copies_forget(struct worker* w);

// named_barriers.c
const char* cudev_named_text(struct worker* w, enum cudev_warp_op op, unsigned id,
                             unsigned threads);
// All lanes of a warp have come to their barrier; can they go on?
bool cudev_named_arrive(struct worker* w, unsigned warp, uint32_t lanes);
void cudev_named_forget(struct worker* w);
void cudev_named_report(const struct worker* w);

// matrix.c
const char* cudev_matrix_text(enum cudev_warp_op op, unsigned arg, unsigned width);
void cudev_matrix_complete(struct worker* w, unsigned warp);  // all lanes have come

// launch.c
int cudev_worker_count(void);
extern struct worker* cudev_worker[MAX_WORKERS];
struct launch* cudev_current_launch(void);

// memory.c
struct allocation {
    char* data;
    size_t bytes;
    const char* file;  // of the cudaMalloc, NULL when unknown
    int line;
    unsigned number;  // 1 for the first cudaMalloc of the program
    enum cudaMemoryType type;
    size_t gap;  // bytes behind the guard that stay unused while a watcher looks
    // cudev_name_allocation(): NULL or the name of named_bytes bytes at data + named_at
    const char* name;
    size_t named_at, named_bytes;
};
bool cudev_memory_init(void);
void cudev_memory_open(void);   // kernels and copies may touch device memory
void cudev_memory_close(void);  // host code may not
void cudev_memory_check(const char* when);
const struct allocation* cudev_allocation_at(const void* p);
const struct allocation* cudev_freed_at(const void* p);
size_t cudev_device_memory_top(void);
const char* cudev_allocation_call(const struct allocation* a);
const char* cudev_allocation_file(void);
bool cudev_is_device_address(const void* p);
void cudev_describe_address(char* text, size_t size, const void* p);
void cudev_lock(void);
void cudev_unlock(void);
void cudev_count_launch(void);
void cudev_count_copy(size_t to_device, size_t to_host);
void cudev_memory_reset(void);
bool cudev_is_symbol(const void* p);

// shared_memory.c
void cudev_shared_map(struct worker* w);
void cudev_shared_begin(struct worker* w);
void cudev_shared_end(struct worker* w);
struct worker* cudev_in_kernel(const char* what);  // ends the program in host code
bool cudev_shared_limit(const struct cudev_launch_site* site, size_t* limit);

// errors.c
cudaError_t cudev_error(cudaError_t error);
cudaError_t cudev_fail(cudaError_t error, const char* function, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
// Remembers the error, prints the sentence as a line on stderr, and tells cudev_on_refusal() of it.
cudaError_t cudev_refused(cudaError_t error, const char* call, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// report.c: a report is built by one thread and ends the program
enum { EXIT_DIAGNOSIS = 86, EXIT_WATCHDOG = 87, EXIT_BAD_ADDRESS = 88 };
void cudev_report_begin(const char* kind, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
void cudev_report_add(const char* format, ...) __attribute__((format(printf, 1, 2)));
void cudev_report_launch(const struct worker* w);
void cudev_report_threads(const struct worker* w);
void cudev_report_frames(void* const* frames, int count);
void cudev_report_end(int exit_code) __attribute__((noreturn));
const char* cudev_thread_name(const struct worker* w, unsigned thread);  // "(3,0,0)"
struct source_line;
bool cudev_is_ours(const struct source_line* s);
const char* cudev_shown_file(const char* path);

// lines.c
struct source_line {
    char function[120];
    char file[200];
    int line;
    int pc;  // index of the address it belongs to
};
int cudev_lines(void* const* pcs, int count, struct source_line* lines, int max_lines);

// fault.c
void cudev_unexplained_fault(void);
void cudev_faults_init(void);
void cudev_faults_thread(struct worker* w);
int cudev_unwind(void** frames, int max);
void cudev_ask_where(struct worker* w);
void cudev_report_host_access(const void* address);  // ends the program

#endif
