// Counting memory traffic as the hardware would: for each warp, not for each thread. The counters:
// rows, one for each instruction, array and kernel.
#ifndef CUDEV_COUNTERS_H
#define CUDEV_COUNTERS_H

#include <stdbool.h>
#include <stdio.h>
#include "cpu/device/hopper.h"
#include "cpu/watch/watch.h"

enum {
    MAX_PROFILED = 256,  // kernels: a name and a launch line each
    MAX_ROWS = 1 << 14,
    MAX_RESULTS = 64,
    // When all rows are in use: a row for each kernel, kind and memory, so that sums stay right.
    REST_ROWS = MAX_PROFILED * 2 * LOG_KINDS,
    ALL_ROWS = MAX_ROWS + REST_ROWS,
};

// The counts of one instruction on one array. Shared memory fills wavefronts, global sectors.
struct counts {
    uint64_t requests;  // executions by a warp
    uint64_t lanes;     // threads that took part
    uint64_t bytes;     // they asked for
    uint64_t distinct;  // distinct bytes among them; of loads alone
    uint64_t sectors, ideal_sectors;
    uint64_t block_sectors;  // distinct within each block: the least that L2 has to deliver
    uint64_t again;          // bytes that the warp has loaded before
    uint64_t wavefronts, ideal_wavefronts;
};

struct row {
    unsigned kernel, site;
    unsigned array;  // id: array_names.h
    enum log_kind kind;
    unsigned bytes;  // of one access
    bool shared;
    char name[48];  // of the array
};

// The counts of a kernel as a whole: the sum over its launches.
struct kernel_counts {
    uint64_t blocks, barriers, shuffles;
    uint64_t read_bytes, written_bytes;  // distinct in each launch
    uint64_t read_sectors, written_sectors;
};

struct kernel {
    char name[96], file[160];
    int line;
    uint64_t launches;
    unsigned grid[3], block[3];
};

struct profile {
    unsigned kernels, rows;
    unsigned current;  // kernel that runs
    uint64_t launches;
    uint64_t serial_sectors;  // distinct, of the block that reads most, summed over launches
    uint32_t epoch;    // of the caches in worker_profile: upper half; their own count is below
    unsigned results;  // arrays: see cudev_set_results()
    struct result_array {
        uint64_t begin, end;  // offsets
    } result[MAX_RESULTS];
    struct kernel kernel[MAX_PROFILED];
    struct row row[ALL_ROWS];
    uint16_t row_hash[4 * MAX_ROWS];  // index + 1
    struct worker_profile {
        struct counts counts[ALL_ROWS];
        struct kernel_counts kernel[MAX_PROFILED];
        uint64_t read_bytes, written_bytes;  // distinct since the reset
        uint64_t static_bytes;               // of static variables, read or written
        uint64_t read_only_atomics;          // by threads
        uint64_t shared_bytes, most_shared;  // of the block that runs; of any block since the reset
        uint64_t block_sectors,
            most_block_sectors;              // of the launch: distinct sectors that it reads
        uint64_t placed[MAX_SHARED_ARRAYS];  // layout of shared memory in the last block
        unsigned placed_count;
        uint32_t epoch;
        struct row_cache {
            uint32_t begin, end;  // the array that the site touched last
            uint32_t epoch, what;
            uint32_t row;
        } cache[MAX_SITES];
    } worker[MAX_WORKERS];
};

static inline struct profile* profile(void) {
    return (struct profile*)COUNTERS_BASE;
}

// The counters of one instruction on the array at its offset, and of the kernel that runs.
struct counts* cudev_counters_row(struct watch* watch, log_entry e);
struct kernel_counts* cudev_counters_kernel(struct watch* watch);

// ---- request.c: the cost of one request of a warp -----------------------------------------------

struct request {
    log_entry instruction;  // of one of the lanes
    unsigned warp;
    unsigned lanes;  // that take part
    uint8_t lane[WARP_SIZE];
    uint32_t offset[WARP_SIZE];
};

// Adds the request to the counters.
void cudev_request(struct watch* watch, const struct request* q);
// Adds bytes of a sector, a bit for each of its 32, to the counters of the copy by TMA that is
// `instruction`, asked for by `warp`.
void cudev_request_sector(struct watch* watch, log_entry instruction, uint32_t sector,
                          uint32_t bytes, unsigned warp);

// ---- lockstep.c: from accesses of threads to requests of warps ----------------------------------

void cudev_lockstep_block(struct watch* watch);  // a block begins: all logs are free
// A thread of another warp than watch->logs.warp runs now.
void cudev_lockstep_change_warp(struct watch* watch);
void cudev_lockstep_log_full(struct watch* watch);   // the log of the current lane has no room
void cudev_lockstep_merge_all(struct watch* watch);  // at a barrier, and at the end of a block

// ---- profile.c: the events that are counted -----------------------------------------------------

void cudev_profile_launch_begins(const struct launch* l);
void cudev_profile_launch_ends(void);
void cudev_profile_block_begins(struct watch* watch);
void cudev_profile_block_ends(struct watch* watch);
void cudev_profile_barrier(struct watch* watch);                          // __syncthreads() opens
void cudev_profile_named_barrier(struct watch* watch, unsigned threads);  // a named barrier opens
void cudev_profile_exchange(struct watch* watch, unsigned words);         // between lanes of a warp
// A warp multiplies matrices; a warpgroup does.
void cudev_profile_count_mma(struct watch* watch, const void* pc);
// Of 64 x n x k multiplications: they count as the row's bytes.
void cudev_profile_count_wgmma(struct watch* watch, const void* pc, int n, int k);
// A copy by TMA is issued.
void cudev_profile_bulk(struct watch* watch, const struct bulk_copy* c);
// An array of shared memory has got its place.
void cudev_profile_shared_array(struct watch* watch, const char* data, size_t bytes, unsigned id);

// ---- profile_text.c: the profile as text --------------------------------------------------------

// Writes a table for reading, or CSV.
void cudev_profile_write(FILE* out, bool csv);

#endif
