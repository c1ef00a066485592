// What the checks have found: collected while kernels run, printed when a launch has ended.
#ifndef CUDEV_FINDINGS_H
#define CUDEV_FINDINGS_H

#include "cpu/device/worker.h"
#include "cpu/include/cudev/watching.h"

enum found {
    FOUND_RACE,
    FOUND_OUT_OF_BOUNDS,
    FOUND_UNINITIALISED,
    FOUND_MISALIGNED,
    FOUND_HOST_POINTER,  // a kernel follows a pointer into host memory
    FOUND_HOST_ACCESS,   // host code touches what belongs to the device
    FOUND_FREED,
};

// Everything about one finding. Lines are looked up when it is printed.
struct finding {
    enum found kind;
    unsigned site, other_site;        // instructions; 0: none
    struct cudev_launch_site launch;  // name NULL: host code
    uint64_t block, other_block;
    unsigned thread, other_thread;
    enum cudev_access access, other_access;
    size_t bytes;
    char what[120];    // "As[0][1]"
    char origin[240];  // what is known of the array
    char text[160];    // what happened, where "read" or "write" does not say it
    char detail[80];   // what is wrong about it, where the kind alone does not say it
    char file[200];    // of an index out of bounds: the compiler knows the line
    int line;
};

// A finding at these instructions by this thread, to be filled in; NULL if it is known already with
// a thread that comes before this one.
struct finding* cudev_finding(enum found kind, unsigned site, unsigned other_site, uint64_t block,
                              unsigned thread);
// Names the array at `offset` in the finding's what and origin. w: the worker whose block it is in;
// NULL: host code.
void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes);
// Prints what has been found since the last call: one finding for each pair of lines and array.
void cudev_findings_print(void);

#endif
