// Explaining: builds the text of a diagnosis, prints it, tells the program's hook, ends the process.
// Only one thread ever reports; others that have something to say are left waiting for the end.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cpu/device/runtime.h"

static char text[16384];
static size_t used;
static const char* report_kind;

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

// "  kernel k<<<(1,1,1), (64,1,1)>>> launched at k.cu:15, block (0,0,0)"; w may be NULL
void cudev_report_launch(const struct worker* w) {
    const struct cudev_launch_site* s = &cudev_current_launch()->site;
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
    snprintf(name, sizeof names[0], "(%u,%u,%u)", i->x, i->y, i->z);
    return name;
}

enum state { RETURNED, NOT_STARTED, RUNNING, READY, WAITING };

static enum state state_of(const struct worker* w, unsigned t, unsigned current) {
    if (cudev_place_of(w, t)) return WAITING;
    if (!(w->live[t / WARP_SIZE] >> t % WARP_SIZE & 1)) return RETURNED;
    if (t == current) return RUNNING;
    if (w->direct) return t < current ? RETURNED : NOT_STARTED;
    return t >= w->next ? NOT_STARTED : READY;
}

static bool same_place(const struct place* a, const struct place* b) {
    return a == b || (a && b && a->line == b->line && a->what == b->what);
}

// Who waits where: one line for each group of threads in the same state at the same place.
void cudev_report_threads(const struct worker* w) {
    static const char* const words[] = {"returned from the kernel", "not yet started", "running",
                                        "able to go on", "waiting"};
    enum { MAX_GROUPS = 12 };
    struct {
        unsigned count, first;
        enum state state;
        const struct place* place;
    } group[MAX_GROUPS];
    unsigned groups = 0, current = cudev_current(w);
    for (unsigned t = 0; t < w->launch->threads; t++) {
        enum state state = state_of(w, t, current);
        const struct place* place = cudev_place_of(w, t);
        unsigned g = 0;
        while (g < groups && (group[g].state != state || !same_place(group[g].place, place))) g++;
        if (g == MAX_GROUPS) continue;
        if (g == groups) {
            group[groups].count = 0;
            group[groups].first = t;
            group[groups].place = place;
            group[groups++].state = state;
        }
        group[g].count++;
    }
    for (unsigned g = 0; g < groups; g++) {
        cudev_report_add("  %5u thread%s (first: %s) %s", group[g].count,
                         group[g].count == 1 ? " " : "s", cudev_thread_name(w, group[g].first),
                         words[group[g].state]);
        if (group[g].place)
            cudev_report_add(" in %s at %s:%d", group[g].place->what, group[g].place->file,
                             group[g].place->line);
        cudev_report_add("\n");
    }
}

void cudev_report_end(int exit_code) {
    // what kernels printed comes first, unless the failing thread was inside printf itself
    if (ftrylockfile(stdout) == 0) fflush(stdout);
    for (size_t done = 0; done < used;) {
        ssize_t n = write(STDERR_FILENO, text + done, used - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (cudev_on_error) cudev_on_error(report_kind, text);
    _exit(exit_code);
}

// Is this a line of the CPU device itself rather than of the program that uses it?
bool cudev_is_ours(const struct source_line* s) {
    return strstr(s->file, "grader/cpu/device/") || strstr(s->file, "grader/cpu/watch/") ||
           strstr(s->file, "/cudev/") || strstr(s->file, "grader/run/") ||
           strstr(s->file, "include/cuda_") || strncmp(s->function, "cudev_", 6) == 0 ||
           strstr(s->function, "cudev::") || strstr(s->function, "auto:") ||
           strncmp(s->function, "on_fault", 8) == 0 || strncmp(s->function, "on_ask", 6) == 0 ||
           strncmp(s->function, "fiber_main", 10) == 0 ||
           strncmp(s->function, "worker_main", 11) == 0;
}

// The name under which the source was compiled, where that is known: debug information has the
// directory of the compilation in front.
const char* cudev_shown_file(const char* path) {
    const char* known[] = {cudev_current_launch()->site.file, cudev_allocation_file()};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(path), k = known[i] ? strlen(known[i]) : n;
        if (k < n && path[n - k - 1] == '/' && strcmp(path + n - k, known[i]) == 0) return known[i];
    }
    return path;
}

// The program's lines on a call stack, innermost first.
void cudev_report_frames(void* const* frames, int count) {
    static struct source_line lines[64];
    int n = cudev_lines(frames, count, lines, 64), shown = 0;
    for (int i = 0; i < n && shown < 6; i++) {
        if (cudev_is_ours(&lines[i])) continue;
        cudev_report_add("    %s %s:%d in %s\n", shown++ ? "called at" : "at",
                         cudev_shown_file(lines[i].file), lines[i].line, lines[i].function);
    }
    if (!shown)
        cudev_report_add("    (no source line: is addr2line installed, was the file compiled with "
                         "-g?)\n");
}
