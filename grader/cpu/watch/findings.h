// The findings of the checks: collected while kernels run, printed when a launch has ended.
#ifndef CUDEV_FINDINGS_H
#define CUDEV_FINDINGS_H

#include "cpu/device/worker.h"
#include "cpu/watch/finding.h"

// A finding at these instructions by this thread, for the caller to fill in. NULL if the finding is
// already known with a thread that comes before this thread.
struct finding* cudev_finding(enum found kind, unsigned site, unsigned other_site, uint64_t block,
                              unsigned thread);
// Names the array at `offset` in the finding's what and origin. w: the worker whose block it is in;
// NULL: host code.
void cudev_finding_where(struct finding* f, const struct worker* w, uint64_t offset, size_t bytes);
// Prints what has been found since the last call: one finding for each pair of lines and array.
void cudev_findings_print(void);

#endif
