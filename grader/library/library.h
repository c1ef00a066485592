// library.h: a lesson's kernel as a library that other programs load, PyTorch's Python with them.
//
// The library of a lesson is its .cu file, its call.c and this room. It has one function of ours,
// library_call(): arguments by name go in, call.c takes them out again and calls the launcher. So a
// lesson has one table of names, that of its call.c, and no second copy of its contract.
//
// On a GPU the arrays are the caller's device memory, used in place (gpu.c). Without one they are
// the caller's host memory: a program of its own copies them to the CPU device, runs the kernel
// there and copies the outputs back (spawn.c, program.c). A kernel that ends its program, or hangs,
// ends that one.
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stddef.h>
#include <stdint.h>

enum library_kind {
    LIBRARY_INPUT,    // an array that the kernel reads
    LIBRARY_OUTPUT,   // an array that it writes; on the CPU device it is NaN before
    LIBRARY_BOTH,     // an array that it reads and writes
    LIBRARY_INT,      // a whole number
    LIBRARY_REAL,     // a real number
    LIBRARY_STRIDES,  // three strides, in elements: .b, .n and .h of "q" for an array Q
};

// An argument. `name` is what call.c calls it.
struct library_argument {
    const char* name;
    int64_t kind;
    void* pointer;  // of an array: where it begins, owned by the caller; NULL if it has no bytes
    int64_t bytes;  // of an array: from its first element to the end of its last one
    int64_t number[3];  // a whole number, or three strides
    double real;
};

// What library_call() returns besides the launcher's own status (course.h).
enum {
    LIBRARY_ENDED = -1,    // the program on the CPU device ended before its time
    LIBRARY_MISSING = -2,  // call.c asked for an argument that is not there
    LIBRARY_FAILED = -3,   // no memory, no program: `said` has the reason
};

// Calls the launcher and returns its status, or one of the above. `stream` is the CUDA stream that
// takes the place of the default stream, NULL for that one itself; the CPU device has none, and
// there the kernel is done when the call returns. What there is to say about a failure stands in
// `said`, of `room` bytes, at least 1: empty if nothing. May be called by several threads.
int library_call(const struct library_argument* arguments, int count, void* stream, char* said,
                 size_t room);

// ---- inside the room

// The arguments that call.c takes from now on, of this thread: the caller's, until it ends.
void library_take(const struct library_argument* arguments, int count);
// The first name since then that was not there; NULL if all were.
const char* library_missing(void);

#endif
