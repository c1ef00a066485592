// Call stacks, and from addresses in the program to lines of its source. addr2line knows the lines:
// it is one of the binutils, which come with every compiler. Used only for reports.
#include "cpu/device/lines.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>
#include "cpu/device/allocations.h"
#include "cpu/device/worker.h"

extern char** environ;

// ---- call stacks -------------------------------------------------------------------------------

struct walk {
    void** frames;
    int count, max;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* p) {
    struct walk* walk = p;
    int exact = 0;  // or a return address, which belongs to the instruction before it
    uintptr_t pc = _Unwind_GetIPInfo(context, &exact);
    if (!pc || walk->count == walk->max) return _URC_END_OF_STACK;
    walk->frames[walk->count++] = (void*)(pc - !exact);
    return _URC_NO_REASON;
}

int cudev_unwind(void** frames, int max) {
    struct walk walk = {frames, 0, max};
    _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

// ---- lines -------------------------------------------------------------------------------------

// Starts addr2line for the addresses; returns a descriptor to read its answer from, -1 on failure.
static int start(void* const* pcs, int count, pid_t* pid) {
    // not the target of the link: the program may be a file without a name
    static char program[64], address[MAX_FRAMES][24];
    char* argv[MAX_FRAMES + 8] = {"addr2line", "-a", "-i", "-C", "-f", "-e", program};
    snprintf(program, sizeof program, "/proc/%d/exe", (int)getpid());
    int pipe_ends[2], argc = 7;
    if (pipe(pipe_ends) != 0) return -1;
    for (int i = 0; i < count && i < MAX_FRAMES; i++) {
        snprintf(address[i], sizeof address[i], "%#lx", (unsigned long)pcs[i]);
        argv[argc++] = address[i];
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (!failed) return pipe_ends[0];
    close(pipe_ends[0]);
    return -1;
}

// Reads the next line of the answer without its newline; false at the end.
static bool read_line(const char** p, const char* end, char* line, size_t size) {
    if (*p >= end) return false;
    const char* stop = memchr(*p, '\n', (size_t)(end - *p));
    if (!stop) stop = end;
    size_t n = (size_t)(stop - *p) < size - 1 ? (size_t)(stop - *p) : size - 1;
    memcpy(line, *p, n);
    line[n] = '\0';
    *p = stop + 1;
    return true;
}

int cudev_lines(void* const* pcs, int count, struct source_line* lines, int max_lines) {
    static char answer[32768];
    pid_t pid;
    int fd = start(pcs, count, &pid);
    if (fd < 0) return 0;
    size_t length = 0;
    ssize_t n;
    while (length < sizeof answer && (n = read(fd, answer + length, sizeof answer - length)) > 0)
        length += (size_t)n;
    close(fd);
    waitpid(pid, NULL, 0);

    int found = 0, pc = -1;
    const char *p = answer, *end = answer + length;
    char line[400];
    while (found < max_lines && read_line(&p, end, line, sizeof line)) {
        if (strncmp(line, "0x", 2) == 0) {  // an address; its functions follow
            pc++;
            continue;
        }
        struct source_line* s = &lines[found];
        s->pc = pc;
        snprintf(s->function, sizeof s->function, "%.*s", (int)sizeof s->function - 1, line);
        if (!read_line(&p, end, line, sizeof line)) break;
        char* colon = strrchr(line, ':');
        if (!colon || line[0] == '?') continue;
        *colon = '\0';
        s->line = atoi(colon + 1);  // "12 (discriminator 3)" reads as 12
        snprintf(s->file, sizeof s->file, "%.*s", (int)sizeof s->file - 1, line);
        if (s->line > 0) found++;
    }
    return found;
}

// ---- whose line it is --------------------------------------------------------------------------

bool cudev_is_ours(const struct source_line* s) {
    return strstr(s->file, "grader/cpu/device/") || strstr(s->file, "grader/cpu/watch/") ||
           strstr(s->file, "grader/cpu/any/") || strstr(s->file, "/cudev/") ||
           strstr(s->file, "/cooperative_groups") || strstr(s->file, "grader/run/") ||
           strstr(s->file, "include/cuda_") || strstr(s->file, "/include/c++/") ||
           strncmp(s->function, "cudev_", 6) == 0 || strstr(s->function, "cudev::") ||
           strstr(s->function, "auto:") || strncmp(s->function, "on_fault", 8) == 0 ||
           strncmp(s->function, "on_ask", 6) == 0 || strncmp(s->function, "fiber_main", 10) == 0 ||
           strncmp(s->function, "worker_main", 11) == 0;
}

const char* cudev_shown_file(const char* path) {
    const char* known[] = {cudev_current_launch.site.file, cudev_allocation_file()};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(path), k = known[i] ? strlen(known[i]) : n;
        if (k < n && path[n - k - 1] == '/' && strcmp(path + n - k, known[i]) == 0) return known[i];
    }
    return strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

unsigned cudev_line_in_cu(const char* file, int line) {
    const char* shown = cudev_shown_file(file);
    const size_t length = strlen(shown);
    return length > 3 && strcmp(shown + length - 3, ".cu") == 0 ? (unsigned)line : 0;
}

bool cudev_program_line(struct source_line* line) {
    void* frames[MAX_FRAMES];
    struct source_line found[MAX_FRAMES];
    int count = cudev_lines(frames, cudev_unwind(frames, MAX_FRAMES), found, MAX_FRAMES), i = 0;
    while (i < count && cudev_is_ours(&found[i])) i++;
    if (i < count) *line = found[i];
    return i < count;
}
