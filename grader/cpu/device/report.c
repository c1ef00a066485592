// Diagnoses: builds the text, prints it, tells the program's hook, and ends the process.
#include "cpu/device/report.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cpu/device/lines.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

static char text[16384];
static size_t used;
static const char* report_kind;
static unsigned report_line;  // of the first frame in a .cu file; 0: none is known

static void append(const char* format, va_list args) {
    int n = vsnprintf(text + used, sizeof text - used, format, args);
    if (n > 0) used += (size_t)n;
    if (used >= sizeof text) used = sizeof text - 1;
}

void cudev_report_add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    append(format, args);
    va_end(args);
}

void cudev_report_begin(const char* kind, const char* format, ...) {
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    static _Thread_local bool mine;
    if (atomic_flag_test_and_set(&taken)) {
        // a fault while reporting must not hang; another thread's report will end the process
        if (mine) _exit(EXIT_DIAGNOSIS);
        for (;;) pause();
    }
    mine = true;
    if (cudev_watcher) cudev_watcher->report();
    report_kind = kind;
    cudev_report_add("==CPU device== ERROR: ");
    va_list args;
    va_start(args, format);
    append(format, args);
    va_end(args);
    cudev_report_add("\n");
}

void cudev_report_launch(const struct worker* w) {
    const struct cudev_launch_site* s = &cudev_current_launch.site;
    cudev_report_add("  kernel %s<<<(%u,%u,%u), (%u,%u,%u)>>> launched at %s:%d", s->name,
                     s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2],
                     s->file, s->line);
    if (w)
        cudev_report_add(", block (%u,%u,%u)", (unsigned)(w->block % s->grid[0]),
                         (unsigned)(w->block / s->grid[0] % s->grid[1]),
                         (unsigned)(w->block / s->grid[0] / s->grid[1]));
    cudev_report_add("\n");
}

const char* cudev_thread_name(const struct worker* w, unsigned thread) {
    static char names[4][40];
    static unsigned next;
    char* name = names[next++ % 4];
    const uint3* i = &w->launch->index[thread];
    int n = snprintf(name, sizeof names[0], "(%u,%u,%u)", i->x, i->y, i->z);
    if (w->launch->cluster > 1)
        snprintf(name + n, sizeof names[0] - (size_t)n, " of block %u",
                 w->block_x + cudev_rank_of(w, thread));
    return name;
}

void cudev_report_end(int exit_code) {
    // output of kernels comes first, unless the failing thread was inside printf itself
    if (ftrylockfile(stdout) == 0) fflush(stdout);
    for (size_t done = 0; done < used;) {
        ssize_t n = write(STDERR_FILENO, text + done, used - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (cudev_on_error) cudev_on_error(report_kind, report_line, text);
    _exit(exit_code);
}

void cudev_report_frames(void* const* frames, int count) {
    static struct source_line lines[64];
    int n = cudev_lines(frames, count, lines, 64), shown = 0;
    for (int i = 0; i < n && shown < 6; i++) {
        if (cudev_is_ours(&lines[i])) continue;
        if (!report_line) report_line = cudev_line_in_cu(lines[i].file, lines[i].line);
        cudev_report_add("    %s %s:%d in %s\n", shown++ ? "called at" : "at",
                         cudev_shown_file(lines[i].file), lines[i].line, lines[i].function);
    }
    if (!shown)
        cudev_report_add("    (no source line: is addr2line installed, was the file compiled with "
                         "-g?)\n");
}
