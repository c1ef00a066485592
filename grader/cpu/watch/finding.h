// One finding of the checks.
#ifndef CUDEV_FINDING_H
#define CUDEV_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include "cpu/include/cudev/abi.h"
#include "cpu/include/cudev/watching.h"

enum found {
    FOUND_RACE,
    FOUND_OUT_OF_BOUNDS,
    FOUND_UNINITIALISED,
    FOUND_MISALIGNED,
    FOUND_HOST_POINTER,  // a kernel follows a pointer into host memory
    FOUND_HOST_ACCESS,   // host code touches memory of the device
    FOUND_FREED,
};

// Source lines are looked up when a finding is printed.
struct finding {
    enum found kind;
    unsigned site, other_site;        // instructions; 0: none
    struct cudev_launch_site launch;  // name NULL: host code
    uint64_t block, other_block;
    unsigned thread, other_thread;
    enum cudev_access access, other_access;
    size_t bytes;
    char what[120];    // "As[0][1]"
    char origin[240];  // where the array comes from
    char text[160];    // what happened, where "read" or "write" does not say it
    char detail[80];   // the mistake, where the kind alone does not say it
    char file[200];    // of an index out of bounds: the compiler knows the line
    int line;
};

#endif
