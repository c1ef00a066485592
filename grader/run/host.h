// host.h: the memory of the student's host code, which kernels do not reach.
//
// On a GPU a kernel cannot follow a pointer to ordinary host memory, wherever it has the pointer
// from. On the CPU device the student's static variables, what malloc() gives it, and its stack lie
// on pages of their own; a launch closes them until its kernel has ended. A watched program needs
// no closed pages: each access is looked at there.
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>

// Calls the function on the student's stack.
int host_call(int (*function)(void));

#ifdef CPU_DEVICE
// Calls `launch` with these arguments on the runner's stack, while the student's memory is closed.
struct cudev_launch_site;
typedef int (*host_launcher)(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                             size_t bytes);
int host_launch(host_launcher launch, const struct cudev_launch_site* site, void (*run)(void*),
                void* body, size_t bytes);

// Blocks of memory, aligned to 16 bytes and owned by the student. host_allocate() returns NULL if
// there is no memory. host_bytes() and host_free() take what it gave: they return false for another
// pointer.
void* host_allocate(size_t bytes);
bool host_bytes(const void* block, size_t* bytes);
bool host_free(void* block);

// Do these bytes lie in a block, in a static variable of the student, or on the student's stack
// above `frame`?
bool host_owns(const void* p, size_t bytes, const void* frame);
#endif

#endif
