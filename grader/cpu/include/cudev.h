// What a program that links the CPU device may use beyond CUDA's API. Plain C.
#ifndef CUDEV_H
#define CUDEV_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// A program may define this function. It is called once, just before a diagnosis ends the program.
// kind: one of "barrier_divergence", "exited_threads", "bad_mask", "deadlock", "endless_loop",
// "bad_address", "host_access", "host_pointer", "stack_overflow", "out_of_bounds", "assert",
// "shared_memory". text: the whole report, also printed to stderr. Both end with the call.
// May run in a signal handler and on a small stack: write the text somewhere and return.
void cudev_on_error(const char* kind, const char* text) __attribute__((weak));

// What the program has asked of the device so far. Bytes, counted since the start.
struct cudev_stats {
    unsigned long long launches;  // kernels that ran
    unsigned long long bytes_to_device;
    unsigned long long bytes_to_host;
    size_t live_bytes;  // allocated on the device and not freed
    size_t live_count;
    size_t peak_bytes;
};
void cudev_get_stats(struct cudev_stats* stats);

// Calls `visit` for each allocation that has not been freed: its size in bytes and the line of its
// cudaMalloc (file is NULL when that is not known). Returns how many there are.
size_t cudev_leaks(void (*visit)(void* context, size_t bytes, const char* file, int line),
                   void* context);

#ifdef __cplusplus
}
#endif
#endif
