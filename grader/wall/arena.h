// arena.h: one case, laid out in shared memory between the grader and the student's process.
//
// A sealed memfd of fixed size: first the layout (written by the grader, read by the runner), then
// the answer (written by the runner), then the tensors, then the second arrays of the outputs.
// Every tensor has a guard band of ARENA_GUARD bytes on both sides; outputs, workspaces, guard
// bands and second arrays are filled with a keyed NaN pattern, so that "never written" and "written
// outside" are told apart. The grader keeps its own copy of the layout and never reads it back.
#ifndef ARENA_H
#define ARENA_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/finding.h"

enum {
    ARENA_MAGIC = 0x41524e41,
    ARENA_VERSION = 21,
    ARENA_FD = 3,        // where the runner finds the memfd
    ARENA_GUARD = 4096,  // bytes before and after each tensor
    ARENA_SCALARS = 48,
    ARENA_TENSORS = 40,
    ARENA_ROUNDS = 8,
    ARENA_NAME = 24,
    ARENA_MARK = 1024,     // in an altered run mma.sync takes products of operands of this size...
    ARENA_TIMES = 7,       // ...2 to so many times, as the run's key and these operands say
    ARENA_CLASSES = 4096,  // into which the run's key puts what is multiplied
};

struct arena_scalar {
    char name[ARENA_NAME];
    int64_t integer[ARENA_ROUNDS];
    double real[ARENA_ROUNDS];
};

// An array whose rows lie far apart in device memory, and one behind the other in the arena. Row
// (i, j, k) of count[0] x count[1] x count[2]. row_bytes 0: no such array.
struct arena_far {
    uint64_t count[3], row_bytes, element;  // element: bytes of one
};

// Bytes from one row to the next in device memory, before they are moved apart. Bytes by which each
// step of an index moves them apart: 2^32 elements.
static inline uint64_t arena_far_pitch(const struct arena_far* far) {
    return (far->row_bytes + ARENA_GUARD - 1) / ARENA_GUARD * ARENA_GUARD;
}
static inline uint64_t arena_far_unit(const struct arena_far* far) {
    return far->element << 32;
}
static inline uint64_t arena_far_rows(const struct arena_far* far) {
    return far->count[0] * far->count[1] * far->count[2];
}

// ARENA_IN_PLACE: an input in whose place the launcher leaves an output.
enum arena_role { ARENA_INPUT, ARENA_OUTPUT, ARENA_WORKSPACE, ARENA_NULL, ARENA_IN_PLACE };

static inline bool arena_is_read(uint32_t role) {
    return role == ARENA_INPUT || role == ARENA_IN_PLACE;
}
static inline bool arena_is_written(uint32_t role) {
    return role == ARENA_OUTPUT || role == ARENA_IN_PLACE;
}

// Which blocks of large grids run: all, a few, the last one alone; all, in another order; all, more
// at a time; a few, but all of grids of less than 8; all, each when the one before has ended; or
// the one that `one_block` chooses.
enum arena_blocks {
    ARENA_ALL,
    ARENA_FEW,
    ARENA_LAST,
    ARENA_MIXED,
    ARENA_CROWDED,
    ARENA_FEW_OF_MANY,
    ARENA_IN_TURN,
    ARENA_ONE
};

struct arena_tensor {
    char name[ARENA_NAME];
    uint32_t role;     // enum arena_role; ARENA_NULL is passed as a NULL pointer
    uint32_t on_host;  // 1: the launcher gets a host pointer
    uint32_t nulls;    // bit r: in round r it is passed as a NULL pointer, too
    uint32_t shifts;   // bit r: in round r the pointer that is passed is `element` bytes behind it
    uint32_t element;  // bytes of one
    uint32_t beside;   // 1: see check_ends_no_part()
    uint32_t same;     // not 0: the array of this number, from 1, is passed in its place
    uint32_t handed;   // 1: its second array holds other numbers
    uint64_t bytes;    // of one round, guard bands not counted
    uint64_t later;    // on the device the first byte lies so far behind an aligned address
    // The launcher gets an array of `ends` rows, `pitch` bytes from one to the next, of which the
    // tensor holds the ends, equal parts. On the host: of one row, the part before is a hole of the
    // arena. 0: the whole array.
    uint64_t ends, pitch;
    uint64_t offset[ARENA_ROUNDS];  // of the first data byte, from the start of the arena
    struct arena_far far;
    // Of each `row` bytes of an input the first `read` alone are put on the device; 0: all.
    uint64_t row, read;
    // Of as many bytes. Of an output: what no kernel has made of it (run/origin.h). Of an input on
    // the host: what arrives on the device in its place (run/handed.h).
    uint64_t second[ARENA_ROUNDS];
};

// Does the launcher itself send it to the device?
static inline bool arena_is_sent(const struct arena_tensor* t) {
    return t->on_host && t->role == ARENA_INPUT;
}

// Bytes of a row before the end that the tensor holds; 0 if it is the whole array.
static inline uint64_t arena_before(const struct arena_tensor* t) {
    return t->ends ? t->pitch - t->bytes / t->ends : 0;
}

// Does this round have its arrays in another place than the first two? Nothing is left in theirs.
static inline bool arena_is_elsewhere(uint32_t round) {
    return round >= 2;
}

struct arena_layout {
    uint32_t magic, version;
    uint32_t rounds, scalar_count, tensor_count;
    uint64_t seconds;  // offset of the second arrays, whole pages; they end the arena
    // enum arena_blocks. few_bytes 1: of large arrays the ends alone are there, and copied. See
    // check_reaches() (reach.h).
    uint32_t few_blocks, few_bytes;
    uint32_t one_block;  // of n blocks number one_block n / 2^32 runs
    uint32_t by_wgmma;   // not 0: an altered run leaves mma.sync as it is
    // The fail_at-th call (from 1) of fail_call in round 0 fails; 0: none. A "query" that fails is
    // the next one in each round, and none in the last of several.
    int32_t fail_at;
    char fail_call[32];  // "cudaMalloc", "cudaMemcpy", "launch", "query"
    struct arena_scalar scalar[ARENA_SCALARS];
    struct arena_tensor tensor[ARENA_TENSORS];
};

// The first 16 binary digits of a number, which is not subnormal.
static inline uint32_t arena_digits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return 0x8000u | (uint32_t)(bits >> 37 & 0x7fff);
}

// An altered run: how mma.sync multiplies there, and what it was given. See check_changes().
struct arena_products {
    uint64_t key;      // 0: the run is none
    uint32_t by_both;  // a class follows from both operands, not from the large ones alone
    // The products of a large number and any other number that is not 0, for each class. Behind
    // them, those of all other products together.
    uint32_t given[ARENA_CLASSES + 1];
};

// Mixes two operands with the key, the same in either order. Some known results tell nothing of the
// rest.
static inline uint64_t arena_mixed(uint64_t key, uint32_t x, uint32_t y) {
    uint64_t bits = ((uint64_t)(x < y ? x : y) << 32 | (x < y ? y : x)) + key;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull + (key >> 32 | key << 32);
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    return bits ^ bits >> 31;
}

// The result of a * b in an altered run, and the class of this product. With large operands the
// product counts as often as their digits, of one or of both, and the key say together. Neither the
// signs and the powers of two nor the order of the two matter.
static inline double arena_altered(double a, double b, const struct arena_products* how,
                                   uint32_t* class) {
    const bool large_a = fabs(a) >= ARENA_MARK, large_b = fabs(b) >= ARENA_MARK;
    const double product = a * b;
    *class = ARENA_CLASSES;
    if (!(large_a || large_b) || product == 0 || !isfinite(product)) return product;
    const uint32_t x = arena_digits(a), y = arena_digits(b);
    const uint64_t bits = arena_mixed(how->key, large_a ? x : 0, large_b ? y : 0);
    const bool small = how->by_both && !(large_a && large_b);
    *class = (uint32_t)(small ? arena_mixed(how->key, x, y) : bits) % ARENA_CLASSES;
    return (double)(2 + ((bits >> 32) * (ARENA_TIMES - 1) >> 32)) * product;
}

// The counts of the instrumented build in one round: bytes, or events. Names as Nsight Compute's
// ideas: a request is one instruction of one warp, a sector 32 bytes, a wavefront one pass over the
// banks.
struct arena_traffic {
    int64_t launches;
    int64_t global_load_bytes, global_load_requests, global_load_sectors;
    int64_t global_load_distinct_bytes;  // of each request: what all lanes read is read once
    int64_t global_store_bytes, global_store_requests, global_store_sectors;
    int64_t shared_load_bytes;  // what lanes take: 128 of a warp that all read one float
    int64_t shared_load_requests, shared_load_wavefronts, shared_load_conflicts;
    int64_t shared_store_requests, shared_store_wavefronts, shared_store_conflicts;
    // Sectors beyond those that would hold what each request uses, were it side by side.
    int64_t global_load_excess_sectors, global_store_excess_sectors;
    int64_t atomics, shared_atomics, barriers, mma;
    int64_t shuffles;  // words that lanes get from each other: votes, matches, reductions as well
    // Bytes that atomics move, there and back: check_traffic() may count them as loaded and stored.
    int64_t global_atomic_bytes, global_atomic_requests;
    int64_t global_atomic_sectors, global_atomic_excess_sectors;
    int64_t shared_atomic_bytes, shared_atomic_requests;
    int64_t shared_atomic_wavefronts, shared_atomic_conflicts;
    int64_t input_atomics;                            // by threads, on inputs
    int64_t wgmma_multiplications;                    // n 64 16 of each product of a warpgroup
    int64_t tma_load_bytes, tma_store_bytes;          // also counted as global loads and stores
    int64_t unique_read_bytes, unique_written_bytes;  // different bytes of device memory
    int64_t allocated_bytes;  // by the launcher, at its peak, those that were refused included
    int64_t copied_bytes, filled_bytes;  // on the device, by the launcher's copies and fills
    int64_t to_device_bytes;             // by its copies
    int64_t local_bytes_per_thread;      // of its stack: local variables, at most, of any thread
    int64_t local_bytes_per_block;       // of all threads of a block together, at most
    int64_t shared_bytes_per_block;      // of its arrays and its launch, at most, of any block
    int64_t block_read_bytes;            // of distinct sectors of global memory, summed over blocks
    // The same of the block that reads most, summed over launches: each waits for the one before.
    int64_t serial_read_bytes;
    int64_t static_bytes;  // of __device__ and __constant__ variables that kernels used, distinct
    // Bytes that a warp loads from global memory though it has loaded them before
    // (grader/cpu/README.md, Profile): of each tensor.
    int64_t loaded_again[ARENA_TENSORS];
};

// How often the threads of its kernels met, in either build: cudev_meetings().
struct arena_meetings {
    int64_t barriers, words, matrices, products, copies;
};

// Written in the process that runs the student's code. No answer in it makes wrong output bytes
// right. But findings, counts, allocations, launches and copies are known only from here. They are
// as trustworthy as inspect.h and run/vault.h, which keep the student's code away from them.
struct arena_answer {
    uint32_t started;  // 1: the runner's main() was reached
    uint32_t rounds_done;
    int32_t status[ARENA_ROUNDS];            // what the launcher returned
    int64_t leaked[ARENA_ROUNDS];            // bytes allocated and not freed by the launcher
    int64_t mapped[ARENA_ROUNDS];            // bytes it asked for that the host reaches
    int64_t launches[ARENA_ROUNDS];          // kernels the launcher launched
    int64_t elsewhere[ARENA_ROUNDS];         // of them, in other streams than the default one
    int64_t waits[ARENA_ROUNDS];             // for the device, a stream or an event
    int64_t blocks[ARENA_ROUNDS];            // of all their grids: meter.h
    int64_t largest_grid[ARENA_ROUNDS];      // the blocks of the largest of them
    int32_t grid_y[ARENA_ROUNDS];            // the most blocks of a grid in y
    int32_t grid_z[ARENA_ROUNDS];            // in z
    bool failed[ARENA_ROUNDS];               // the call that was to fail was made
    uint32_t asked_elsewhere[ARENA_ROUNDS];  // about another device than the current one
    bool error_left[ARENA_ROUNDS];           // an error waits for the next cudaGetLastError()
    int64_t to_host[ARENA_ROUNDS];    // bytes the launcher copied to, or mapped for, the host
    int64_t own[ARENA_ROUNDS];        // bytes it handed to the device beside the inputs: handed.h
    int64_t sent[ARENA_ROUNDS];       // all bytes that it handed to the device
    int64_t back[ARENA_ROUNDS];       // bytes that came back before its last kernel began
    int64_t on_device[ARENA_ROUNDS];  // bytes it copied on the device: meter.h
    struct arena_meetings met[ARENA_ROUNDS];
    struct arena_traffic traffic[ARENA_ROUNDS];
    uint32_t findings;                        // of the checked build, all rounds
    struct finding_values finding[FINDINGS];  // the first ones
    char finding_text[6144];                  // their text
    char note_kind[32];                       // what may explain a wrong result; "": nothing
    uint32_t note_line;                       // likewise
    char note_text[1024];                     // its text
    // Refusals of the CPU device: launches; copies and fills; calls that name another device.
    uint32_t refused_launches, refused_moves, refused_devices;
    char refused_text[2048];  // of all that it refused, a line each, each line once
    char kind[32];            // a diagnosis of the device: "barrier_divergence", ...
    uint32_t line;            // its line in the submission; 0: none is known
    char text[4096];          // its text
};

struct arena_head {
    struct arena_layout layout;
    struct arena_answer answer;
    _Alignas(ARENA_GUARD) struct arena_products products;  // on pages of their own
};

// ---- the grader's side (arena.c)

struct arena {
    int fd;
    size_t size;
    uint64_t key;         // of the poison pattern
    uint64_t unpoisoned;  // where it ends: the grader fills what is behind
    uint64_t altered;     // of an altered run: the key, and by_both
    bool by_both;
    struct arena_layout layout;  // the grader's copy
    const unsigned char* bytes;  // what the runner left, after arena_seal(); NULL before
};

// Fills in the offsets of arena->layout and creates the memfd, mapped writable at *map until
// arena_close_writing(): the caller writes the inputs there. Everything else is poison already.
// Returns 0, or -1 with errno.
int arena_open(struct arena* arena, unsigned char** map);

// Writes the layout and unmaps. After this the grader has no way to write. Returns 0 or -1.
int arena_close_writing(struct arena* arena, unsigned char* map);

// Seals the arena against any writing and maps it for reading. Fails with EBUSY while some process
// still has it mapped writable: a survivor of the student's program. Returns 0 or -1.
int arena_seal(struct arena* arena);

// Has the runner's main() begun? Asked before or after arena_seal().
bool arena_started(const struct arena* arena);

// How many findings the answer has as values: not more than are printed.
static inline int arena_findings(const struct arena_answer* answer) {
    return answer->findings < FINDINGS ? (int)answer->findings : FINDINGS;
}

// The runner's words about itself, in a private copy whose strings end.
struct arena_answer arena_answer(const struct arena* arena);

// How many products of each class an altered run gave to mma.sync: ARENA_CLASSES numbers, until
// arena_free().
const uint32_t* arena_given(const struct arena* arena);

// True if the guard bands of a tensor in a round are intact; else *offset is the first changed
// byte, relative to the tensor's first data byte.
bool arena_guards_intact(const struct arena* arena, int tensor, int round, int64_t* offset);

// True if the element of `size` (2 or 4) bytes at `offset` in the arena still holds the poison.
bool arena_is_poison(const struct arena* arena, uint64_t offset, int size);

// True if the element holds the poison as arithmetic passes it on: the quiet bit is set. The kernel
// added to an element that nobody had written. (fp32 and bf16; a GPU returns another NaN.)
bool arena_was_added_to(const struct arena* arena, uint64_t offset, int size);

void arena_free(struct arena* arena);

#endif
