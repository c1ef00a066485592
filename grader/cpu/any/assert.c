// assert() in a kernel: the launch ends, and whoever waits for it is told.
#include <stdio.h>
#include "cpu/device/any.h"
#include "cpu/device/report.h"
#include "cpu/device/worker.h"

void cudev_any_assert(const char* condition, const char* file, unsigned line,
                      const char* function) {
    struct worker* w = cudev_self;
    fprintf(stderr, "%s:%u: %s: block: (%u,%u,%u), thread: %s Assertion `%s` failed.\n", file, line,
            function, blockIdx.x, blockIdx.y, blockIdx.z, cudev_thread_name(w, cudev_current(w)),
            condition);
    cudev_stop_launch(w, cudaErrorAssert);
}
