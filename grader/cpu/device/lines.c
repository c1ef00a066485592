// From addresses in the program to lines of the source, by asking addr2line (binutils, which comes
// with every compiler). Used only when a diagnosis is about to end the program.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cpu/device/runtime.h"

extern char** environ;

// Starts addr2line for the addresses; returns a descriptor to read its answer from, -1 on failure.
static int start(void* const* pcs, int count, pid_t* pid) {
    // not what the link says: the program may be a file without a name
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

// The source lines of the addresses, innermost first, functions inlined there included. Skips what
// has no line information (libraries). At most MAX_FRAMES addresses. Returns how many were found.
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
