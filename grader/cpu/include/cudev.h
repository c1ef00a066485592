// Functions that a program may use beyond CUDA's API if it links the CPU device. Plain C.
#ifndef CUDEV_H
#define CUDEV_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

// A program may define this function. It is called once, just before a diagnosis ends the program.
// kind: one of "barrier_divergence", "exited_threads", "bad_mask", "deadlock", "endless_loop",
// "bad_address", "divided_by_zero", "host_access", "host_pointer", "stack_overflow",
// "out_of_bounds", "assert", "shared_memory", "misaligned", "diverged_warp", "bad_barrier",
// "unsupported". line: the first of its lines in a .cu file, or 0. text: the whole report, also
// printed to stderr. Both strings are valid only during the call. The function may run in a signal
// handler and on a small stack: it should write the text somewhere and return.
void cudev_on_error(const char* kind, unsigned line, const char* text) __attribute__((weak));

// A program may define this function. It is called once for each finding of an instrumented program
// that runs with CUDEV_WATCH=check; the program goes on. kind: one of "race", "race_of_writes" (two
// writes; the text calls it a race), "out_of_bounds", "uninitialised", "misaligned",
// "host_pointer", "freed", "read_only", "wrapped_index", "async_order" (between threads, TMA and
// wgmma), "swizzle" (TMA and wgmma use different ones; the text calls it async_order),
// "copy_on_its_way" (cp.async, for which nobody waits; the text calls it a race), "cached_read"
// (__ldg() of what the same kernel has written; the text calls it a race),
// "copy_not_awaited" (a thread reads what its own cp.async still brings; the text calls it
// uninitialised),
// "uninitialised_copy" (cudaMemcpy read it; the text calls it uninitialised), "out_of_bounds_store"
// (the text calls it out_of_bounds). line: the first of
// its lines in a .cu file, or 0. text: the whole finding, also printed to stderr; its first line
// names the kind and the source lines. values: what the text says, each thing by itself
// (base/finding.h, for programs in this tree). All three are valid only during the call.
struct finding_values;
void cudev_on_finding(const char* kind, unsigned line, const char* text,
                      const struct finding_values* values) __attribute__((weak));

// A program may define this function. It is called at most once, beside the findings, for what may
// be a mistake: it explains a wrong result, and a result may be right all the same. kind:
// "bad_mask", of a shuffle that reads a lane which its mask does not name; "async_order", of a
// wgmma that nobody has waited for when its block ends. line, text: as for cudev_on_finding().
void cudev_on_note(const char* kind, unsigned line, const char* text) __attribute__((weak));

// A program may define this function. It is called for each call of the API, and each launch, that
// the device refuses; the program goes on. call: the function, or "launch". error: the cudaError_t
// that it returns. text: the line that is also printed to stderr. Both strings are valid only
// during the call.
void cudev_on_refusal(const char* call, int error, const char* text) __attribute__((weak));

// A program may define this function. An instrumented program with CUDEV_WATCH asks it before host
// code writes to memory that is not the device's. 0 means that it must not: the program then ends
// with the diagnosis "host_access".
int cudev_may_write(const void* address, size_t bytes) __attribute__((weak));

// A program may define this function: is this memory of the host that it has closed to kernels? A
// kernel's access to it is then diagnosed as "host_pointer". It may be called in a signal handler.
int cudev_is_host_memory(const void* address) __attribute__((weak));

// Host code runs on a stack of `bytes` bytes that grows down from `top`; NULL: on the process's. A
// fault says then that the stack is full.
void cudev_host_stack(const void* top, size_t bytes);

// Is the caller a kernel?
int cudev_is_kernel(void);

// Does this run look at every access (CUDEV_WATCH)?
int cudev_is_watched(void);

// How often the threads of kernels have met since the program began, whoever looks at accesses:
// barriers that opened, words that lanes had from others, matrices that warps loaded, products of
// mma.sync and wgmma, copies by cp.async and TMA.
struct cudev_meetings {
    unsigned long long barriers, words, matrices, products, copies;
};
struct cudev_meetings cudev_meetings(void);

// Ends the program because this device lacks what the program asks for. The diagnosis
// ("unsupported") says "not on the CPU device: WHAT at FILE:LINE, NEXT" with the line of the call.
void cudev_refuse(const char* what, const char* next) __attribute__((noreturn));

// Memory traffic of all kernels since the start or the last cudev_reset_traffic(), counted while an
// instrumented program runs with CUDEV_WATCH=profile (all zero otherwise). A request is one
// instruction executed by a warp; a sector is 32 bytes.
struct cudev_traffic {
    unsigned long long launches;
    unsigned long long global_load_bytes, global_load_requests;  // bytes asked for by threads
    unsigned long long global_load_distinct_bytes;  // of each request: what lanes share is one
    unsigned long long global_load_sectors, global_load_ideal_sectors;
    unsigned long long global_store_bytes, global_store_requests;
    unsigned long long global_store_sectors, global_store_ideal_sectors;
    unsigned long long shared_load_bytes, shared_load_requests;
    unsigned long long shared_load_wavefronts, shared_load_conflicts;
    unsigned long long shared_store_bytes, shared_store_requests;
    unsigned long long shared_store_wavefronts, shared_store_conflicts;
    unsigned long long atomics;         // by threads, global and shared
    unsigned long long shared_atomics;  // those of them on shared memory
    // Bytes that atomics move, each there and back: in none of the loads and stores above.
    unsigned long long global_atomic_bytes, global_atomic_requests;
    unsigned long long global_atomic_sectors, global_atomic_ideal_sectors;
    unsigned long long shared_atomic_bytes, shared_atomic_requests;
    unsigned long long shared_atomic_wavefronts, shared_atomic_conflicts;
    unsigned long long read_only_atomics;  // by threads, on what cudev_set_read_only() has named
    unsigned long long barriers;           // __syncthreads() by blocks, and named ones
    // Words of 4 bytes that lanes get from each other by shuffles, votes, matches and reductions.
    unsigned long long shuffles;
    unsigned long long mma;  // matrix instructions by warps
    // Distinct bytes of global memory, over all launches since the reset: those that loads have
    // read, and those that stores and atomics have written.
    unsigned long long unique_read_bytes, unique_written_bytes;
    // Sums over launches: distinct sectors of each launch, the least that DRAM has to move for it.
    unsigned long long launch_read_sectors, launch_written_sectors;
    // The most bytes of its stack that a thread has used, for local variables and what the compiler
    // puts beside them (a few hundred bytes): functions that the kernel calls count as well.
    unsigned long long local_bytes_per_thread;
    unsigned long long local_bytes_per_block;  // of all threads of a block together, at most
    // The most bytes of shared memory that a block has had: its arrays, and what its launch has
    // asked for.
    unsigned long long shared_bytes_per_block;
    // Distinct bytes of static variables (__device__, __constant__) that kernels have read or
    // written since the reset.
    unsigned long long static_bytes;
    // Sum over blocks: bytes of the distinct sectors that a block reads, the least that L2 has to
    // deliver.
    unsigned long long block_read_bytes;
    // The same of that block of each launch which reads most, summed over launches: what is read
    // one after the other, however many multiprocessors there are.
    unsigned long long serial_read_bytes;
    // Bytes of global memory that a warp loads again: README.md, Profile.
    unsigned long long loaded_again_bytes;
    // Of a Hopper GPU: products of warpgroups; copies by TMA and the bytes of global memory that
    // they move. These bytes count above as well, as loads and stores of one request a copy.
    unsigned long long wgmma, wgmma_multiplications;
    unsigned long long tma_load_requests, tma_load_bytes;
    unsigned long long tma_store_requests, tma_store_bytes;
};
void cudev_get_traffic(struct cudev_traffic* traffic);
// The part of loaded_again_bytes that lies in the allocation around p.
unsigned long long cudev_loaded_again(const void* p);
void cudev_reset_traffic(void);
// Writes these counts per kernel, line and array. format: "table" for reading, "csv" for
// everything: one metric a row, under Nsight Compute's name where it has one.
void cudev_write_profile(FILE* out, const char* format);

// From here on mma.sync takes product(a, b) for a * b, also for a = 0 or b = 0; NULL: a * b again.
// So a program can find out what came from mma.sync. open(1) is called before an instruction
// multiplies, open(0) behind it, if it is not NULL: what product() needs can be closed to kernels.
void cudev_alter_products(double (*product)(double a, double b), void (*open)(int open));
// From here on mma.sync multiplies as ever, whatever is altered: only what came from wgmma changes.
// Or no longer, if alone is 0.
void cudev_alter_wgmma_alone(int alone);

// A program may keep device memory open to itself, so that its own copies do not open and close it
// each time: from here on, or no longer if held is 0. In between no code runs that must not reach
// it. The calls nest.
void cudev_hold_open(int held);

// From here on memory that is the device's stays open to the host, the stacks and the shared memory
// of kernels as well, which otherwise are closed behind each launch. Host code that reaches there
// goes on unnoticed: for a program that launches small kernels thousands of times, and whose code
// was checked before.
void cudev_leave_open(void);

// So a program can find out in little time, and without the memory, how far a large grid reaches.
// blocks: CUDEV_ALL_BLOCKS, or from now on a launch runs only some of its blocks, counted in x,
// then y, then z. CUDEV_FEW_BLOCKS: the first and the last, each an eighth of them (watched: a
// 64th) and at most 16, and 48 from number 65536 on. CUDEV_FEW_OF_MANY: the same, but all of a
// launch of fewer than 8. CUDEV_LAST_BLOCK: the last one alone. CUDEV_MIXED_BLOCKS: all, in an
// order of its own. CUDEV_CROWDED_BLOCKS: all; and where a wait has said that a TMA store had been
// read, it is written up to half a millisecond later than it could. Watched, blocks run one after
// the other: there it is a finding if two of them add a float to the same place, and nothing says
// who comes first. bytes, if it is not 0: an allocation of 16 MB or more takes room only where
// something is written, so it may have a hundred gigabytes; fresh it holds zeros, and what lies up
// to 16 GB before it can be used. Of a copy or a fill of so much only the first and the last
// megabyte are made. This one is for programs that are not watched.
enum {
    CUDEV_ALL_BLOCKS,
    CUDEV_FEW_BLOCKS,
    CUDEV_LAST_BLOCK,
    CUDEV_MIXED_BLOCKS,
    CUDEV_FEW_OF_MANY,
    CUDEV_CROWDED_BLOCKS,
    CUDEV_ONE_BLOCK,
};
void cudev_run_few(int blocks, int bytes);

// CUDEV_ONE_BLOCK: of a launch of n blocks number part n / 2^32 runs, and no other.
void cudev_choose_block(unsigned part);

// Where CUDEV_FIRST_CARD names a card, the process begins on a device that poses as this one,
// number 0 of 2. From this call on the current device is number 1, of CUDEV_CARD. Memory is the
// same.
void cudev_next_device(void);
enum { CUDEV_END = 1 << 20 };
int cudev_only_ends(size_t bytes);  // of so many bytes only the ends are copied now

// From now on, or no longer if on is 0, a write to [p, p + bytes) of an allocation is a finding,
// whether a kernel makes it or a copy, and whatever it writes. p: where the allocation begins.
void cudev_set_read_only(const void* p, size_t bytes, int on);

// A warp that stores results may load all anew for the next ones (loaded_again_bytes). From now on
// that is so for what it stores in these arrays of device memory, 64 at most, alone. count 0: for
// all that it stores, as in the beginning.
struct cudev_array {
    const void* p;
    size_t bytes;
};
void cudev_set_results(const struct cudev_array* array, unsigned count);

// Makes the rows of an array lie far apart. p: count[0] x count[1] x count[2] rows of row_bytes
// bytes in device memory, one every `pitch` bytes; p and pitch are multiples of 4096. Row (i, j, k)
// appears a second time at R + its distance from p + (i + j + k) * unit, where R is what the
// function returns: NULL if there is no room for that in the address space. Nothing lies between
// the rows. Kernels, and calls that copy or fill, may use these addresses. An access to what is no
// row, but would be one were multiples of `unit` added, is a finding of its own
// ("wrapped_index"). unit: 2^32 times the size of an element, and all rows together are shorter.
void* cudev_spread(void* p, const size_t count[3], size_t row_bytes, size_t pitch, size_t unit);

// The program's requests to the device so far. Bytes, counted since the start.
struct cudev_stats {
    unsigned long long launches;  // kernels that ran
    unsigned long long bytes_to_device;
    unsigned long long bytes_to_host;
    size_t live_bytes;  // allocated on the device and not freed
    size_t live_count;
    size_t peak_bytes;
};
void cudev_get_stats(struct cudev_stats* stats);

// Returns the sentence on stderr of the last call of the API that failed in this host thread:
// "cudaMemcpy at k.cu:12: cudaErrorInvalidValue: ...". Returns "" if no call has failed, or if the
// last failure was not `error` (a cudaError_t). The text is valid until the next call fails.
const char* cudev_last_failure(int error);

// Makes reports call the `bytes` bytes at `p` in device memory by this name instead of by their
// allocation. The string `name` has to stay. The name is forgotten when the allocation is freed. If
// there is no allocation at `p`, nothing happens.
void cudev_name_allocation(const void* p, size_t bytes, const char* name);

#ifdef __cplusplus
}
#endif
#endif
