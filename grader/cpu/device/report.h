// The text of a diagnosis. One thread builds it and ends the program with it; other threads that
// have something to say wait for the end.
#ifndef CUDEV_REPORT_H
#define CUDEV_REPORT_H

#include "cpu/device/worker.h"

enum { EXIT_DIAGNOSIS = 86, EXIT_WATCHDOG = 87, EXIT_BAD_ADDRESS = 88 };

// The first line. kind: one of the kinds in cudev.h.
void cudev_report_begin(const char* kind, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
void cudev_report_add(const char* format, ...) __attribute__((format(printf, 1, 2)));
// " kernel k<<<(1,1,1), (64,1,1)>>> launched at k.cu:15, block (0,0,0)"; without the block if w is
// NULL
void cudev_report_launch(const struct worker* w);
// The program's lines on a call stack, innermost first.
void cudev_report_frames(void* const* frames, int count);
void cudev_report_end(int exit_code) __attribute__((noreturn));

// "(3,0,0)"; valid until the fourth call from now.
const char* cudev_thread_name(const struct worker* w, unsigned thread);

#endif
