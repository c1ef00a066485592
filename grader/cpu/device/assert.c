// assert() and __trap() in a kernel; and the end of a program that asks for something this device
// lacks.
#include <stdio.h>
#include <stdlib.h>
#include "cpu/device/any.h"
#include "cpu/device/lines.h"
#include "cpu/device/report.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

static _Noreturn void report_assert(const char* what, const char* file, unsigned line,
                                    const char* function) {
    struct worker* w = cudev_self;
    cudev_report_begin("assert", "%s at %s:%u%s%s in thread %s", what, file, line,
                       function ? " in " : "", function ? function : "",
                       cudev_thread_name(w, cudev_current(w)));
    cudev_report_launch(w);
    cudev_report_add("  next: print the values that the condition uses\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_trap(const char* file, int line) {
    if (!cudev_self) abort();
    report_assert("__trap()", file, (unsigned)line, NULL);
}

// glibc's assert() calls this function. The definition takes the place of the library's.
void __assert_fail(const char* condition, const char* file, unsigned line, const char* function) {
    if (cudev_self) {
        char what[300];
        if (cudev_any_assert) cudev_any_assert(condition, file, line, function);
        snprintf(what, sizeof what, "assertion `%s' failed", condition);
        report_assert(what, file, line, function);
    }
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    abort();
}

// ---- things that this device lacks

void cudev_not_here(const char* what, const char* next, const char* file, int line) {
    struct worker* w = cudev_self;
    cudev_report_begin("unsupported", "not on the CPU device: %s at %s:%d, %s", what, file, line,
                       next);
    if (w) cudev_report_launch(w);
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_refuse(const char* what, const char* next) {
    struct source_line line = {.file = "?"};
    cudev_program_line(&line);
    cudev_not_here(what, next, cudev_shown_file(line.file), line.line);
}

int cudev_is_watched(void) {
    return cudev_watcher != NULL;
}

int cudev_is_kernel(void) {
    return cudev_self != NULL;
}
