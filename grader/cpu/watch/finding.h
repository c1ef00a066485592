// What the checks have found: collected while kernels run, printed when a launch has ended.
#ifndef CUDEV_FINDING_H
#define CUDEV_FINDING_H

#include "cpu/include/cudev/watching.h"
#include "cpu/device/runtime.h"

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
// Names the array at `offset` in the finding's what and origin. w: the worker whose block it is in.
void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes);
// Prints what has been found since the last call.
void cudev_findings_print(void);

// The line of the program that each site belongs to (line 0: not known); functions of the device's
// headers are skipped.
void cudev_site_lines(const unsigned* site, struct source_line* line, unsigned count);

// array_names.c
struct array_name {
    char name[80];        // "As", "A"
    char element[120];    // "As[0][1]"
    char origin[240];     // "As: __shared__, 16 x 16 elements of 4 bytes, k.cu:8"
    uint64_t begin, end;  // offsets
    unsigned id;          // the same for the same declaration or argument of one kernel; not 0
};
void cudev_name_array(struct array_name* n, const struct worker* w, uint64_t offset, size_t bytes);
void cudev_names_argument(const struct cudev_launch_site* site, int index, const void* p,
                          size_t bytes);

// symbols.c
struct variable {
    char name[80];
    uintptr_t begin;  // address
    size_t bytes;
};
bool cudev_variable_at(const void* address, struct variable* out);

#endif
