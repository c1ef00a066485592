// The findings of the checks.
#ifndef CUDEV_FINDING_H
#define CUDEV_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/finding.h"
#include "cpu/device/lines.h"
#include "cpu/device/worker.h"
#include "cpu/include/cudev/abi.h"
#include "cpu/include/cudev/watching.h"

struct product;  // cpu/device/hopper.h

enum found {
    FOUND_RACE,
    FOUND_OUT_OF_BOUNDS,
    FOUND_UNINITIALISED,
    FOUND_MISALIGNED,
    FOUND_HOST_POINTER,  // a kernel follows a pointer into host memory
    FOUND_HOST_ACCESS,   // host code touches memory of the device
    FOUND_FREED,
    FOUND_READ_ONLY,     // a write to what cudev_set_read_only() has named
    FOUND_WRAPPED,       // an index has lost its upper bits; see cudev_spread()
    FOUND_ASYNC,         // order between threads, TMA and wgmma; see async_order.h
    FOUND_ORDER_OF_SUM,  // floats are added in any order; with CUDEV_CROWDED_BLOCKS
};

// The known part of a thread's place: itself, its warp, its block.
enum among { ONE_THREAD, AMONG_WARP, AMONG_BLOCK };

// Source lines are looked up when a finding is printed.
#define NO_THREAD (~0u)  // for `other_thread` of FOUND_ASYNC: of another launch
struct finding {
    enum found kind;
    unsigned site, other_site;        // instructions; 0: none
    struct cudev_launch_site launch;  // name NULL: host code
    uint64_t block, other_block;
    unsigned thread, other_thread;
    enum cudev_access access, other_access;
    enum among other_among;  // of FOUND_RACE
    bool left;           // of FOUND_RACE: `access` is that of a copy for which nobody has waited
    bool cached;         // of FOUND_RACE: `access` is a read by __ldg(), which no order helps
    bool copied;         // of FOUND_UNINITIALISED: by a copy that has not been waited for
    unsigned copy_site;  // which one, if it is the thread's own; else 0
    size_t bytes;
    char what[120];    // "As[0][1]"
    char origin[240];  // where the array comes from
    bool dynamic;      // it is shared memory that the launch asks for
    char text[160];    // what happened, where "read" or "write" does not say it
    char detail[80];   // the mistake, where the kind alone does not say it
    char file[200];    // of an index out of bounds: the compiler knows the line
    int line;
    // of FOUND_ASYNC: who does what ("loads by TMA"), NULL: there is no second; what is wrong; the
    // advice. Threads from `beyond` on are TMA and the warpgroups.
    const char *deed, *other_deed, *why, *next;
    unsigned beyond;
};

// ---- finding_text.c: the words of a finding -----------------------------------------------------

// A finding with the lines of its instructions; line 0: not known.
struct located_finding {
    const struct finding* f;
    struct source_line line, other;
    struct source_line caller, other_caller;  // in a .cu file, where `line`, or `other`, is not
};

// The two lines of a race in the order of the source. A finding of another kind has only the first.
const struct source_line* cudev_first_line(const struct located_finding* r);
const struct source_line* cudev_second_line(const struct located_finding* r);

const char* cudev_finding_kind(const struct finding* f);  // "out_of_bounds"
// The fault, for `why` of a finding whose mistake is no missing order.
extern const char cudev_other_swizzle[];
// The kind as cudev_on_finding() is told it, where that knows more: "race_of_writes", "swizzle",
// "cached_read", "copy_on_its_way", "copy_not_awaited", "uninitialised_copy",
// "out_of_bounds_store".
const char* cudev_finding_cause(const struct finding* f);
// No thread reads there, so no barrier is missing: two threads have computed the same index.
bool cudev_race_of_writes(const struct finding* f);
// The whole text, `length` bytes and a 0, until the next call; and what it says, as values.
const char* cudev_finding_text(const struct located_finding* r, size_t* length,
                               struct finding_values* values);

// ---- findings.c: collected while kernels run, printed when a launch has ended -------------------

// A finding at these instructions by this thread, for the caller to fill in. NULL if the finding is
// already known with a thread that comes before this thread.
struct finding* cudev_finding(enum found kind, unsigned site, unsigned other_site, uint64_t block,
                              unsigned thread);
void cudev_found(void);  // a breakpoint can be set here (make/debug.gdb)
// Names the array at `offset` in the finding's what and origin. w: the worker whose block it is in;
// NULL: host code.
void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes);
// A thread reads a lane that takes no part in its shuffle. That is no finding, since the value may
// go nowhere; it is told once, and with it cudev_on_note().
void cudev_findings_note(struct worker* w, unsigned thread, unsigned lane);
// The same of a product whose threads have returned, and have not waited for it: what they may have
// read of its D.
void cudev_findings_note_product(struct worker* w, const struct product* p);
// Prints what has been found since the last call: one finding for each pair of lines and array.
void cudev_findings_print(void);

#endif
