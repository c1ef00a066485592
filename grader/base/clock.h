// clock.h: how long something takes. All in the header: the CPU device is linked with what students
// wrote, who may have a clock_seconds() of their own.
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Seconds on a clock that is never set; only differences mean something.
static inline double clock_seconds(void) {
    return 1e-9 * (double)clock_nanoseconds(CLOCK_MONOTONIC);
}

#endif
