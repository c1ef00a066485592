// peers.h: the bench as a library, for what is timed beside the versions but cannot export a
// contract's launcher: PyTorch's operations and Triton's kernels (peers.py). They work on copies of
// a size's arrays, in memory of their own; what they computed is copied back and verified like the
// versions' own outputs.
#ifndef GRADER_BENCH_PEERS_H
#define GRADER_BENCH_PEERS_H

#include <stddef.h>

#include "bench/bench.h"

// The answer of a peer's call.
enum bench_peer_status { BENCH_PEER_OK, BENCH_PEER_NOT_OFFERED, BENCH_PEER_NO_MEMORY };

// peers.py declares the same fields, in the same order.
struct bench_peers {
    int count;
    const char* const* names;
    const char* const* kinds;    // pytorch or triton
    const char* const* layouts;  // of each at the present size; prepare() sets them
    const char* software;        // what they are of: "2.11.0 with cuDNN 9.19"
    double looser;               // how many times the versions' errors are right for a peer, >= 1
    // Before anything is timed at a size, with its inputs filled; and after all is.
    void (*prepare)(struct bench_run* run, const struct bench_size* size);
    void (*finish)(void);
    // Before every call, not timed: bench_get() again of what the call overwrites. NULL: nothing.
    void (*ready)(int peer);
    int (*call)(int peer);      // timed: puts its work into the default stream
    void (*deliver)(int peer);  // not timed: bench_put() for every output of the lesson
};

// The program `bench`, its usage in timing.c; with the peers, if not NULL, after the versions.
int bench_main(int argc, char** argv, const struct bench_peers* peers);

// Copies a whole array, all `bytes` of it, to or from memory on the GPU, in stream order; anything
// but the array's size ends the program. Of an array in place one gets what it holds before a call.
void bench_get(const struct bench_run* run, const char* name, void* to_gpu, size_t bytes);
void bench_put(const struct bench_run* run, const char* name, const void* from_gpu, size_t bytes);

// For an output that a peer does not compute: the output of the first right version.
void bench_put_agreed(const struct bench_run* run, const char* name);

size_t bench_bytes(const struct bench_run* run, const char* name);

#endif
