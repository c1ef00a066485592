// spawn.c: library_call() on the CPU device: arrays are copied into a file in memory, a program
// runs the kernel there (program.c), outputs are copied back. The program stands beside the
// library, under the same name without ".so".
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course.h"
#include "library/library.h"
#include "library/packed.h"

extern char** environ;

static bool is_array(const struct library_argument* a) {
    return a->kind <= LIBRARY_BOTH;
}

static size_t aligned(size_t offset) {
    return (offset + PACKED_ALIGN - 1) / PACKED_ALIGN * PACKED_ALIGN;
}

// Where everything lies in the file: offset[i] is argument i's array. Returns the file's size.
static size_t layout(const struct library_argument* arguments, int count, size_t* offset) {
    size_t end = sizeof(struct packed) + (size_t)count * sizeof *arguments;
    for (int i = 0; i < count; i++) end += strlen(arguments[i].name) + 1;
    for (int i = 0; i < count; i++) {
        offset[i] = 0;
        if (!is_array(&arguments[i]) || !arguments[i].pointer) continue;
        offset[i] = aligned(end);
        end = offset[i] + (size_t)arguments[i].bytes;
    }
    return end;
}

static void pack(char* file, const struct library_argument* arguments, int count,
                 const size_t* offset, size_t bytes) {
    *(struct packed*)file = (struct packed){(int64_t)bytes, count, LIBRARY_ENDED, ""};
    struct library_argument* copy = (struct library_argument*)(file + sizeof(struct packed));
    char* name = (char*)(copy + count);
    for (int i = 0; i < count; i++) {
        copy[i] = arguments[i];
        copy[i].name = (const char*)(name - file);
        copy[i].pointer = (void*)offset[i];
        name = stpcpy(name, arguments[i].name) + 1;
        if (offset[i] && arguments[i].kind != LIBRARY_OUTPUT)
            memcpy(file + offset[i], arguments[i].pointer, (size_t)arguments[i].bytes);
    }
}

// Runs the program with the file, and what it says to stderr in `words`. False if it cannot be
// started or waited for.
static bool run(const char* program, int file, int words, int* ended) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return false;
    char* argv[] = {(char*)program, NULL};
    pid_t pid;
    bool started = !posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO) &&
                   !posix_spawn_file_actions_adddup2(&actions, file, PACKED_FILE) &&
                   !posix_spawn(&pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (!started) return false;
    pid_t waited;
    while ((waited = waitpid(pid, ended, 0)) < 0 && errno == EINTR) continue;
    return waited == pid;
}

// What the program said, into `said`; how it ended, if it said nothing.
static void repeat(int words, int ended, char* said, size_t room) {
    ssize_t length = pread(words, said, room - 1, 0);
    said[length > 0 ? length : 0] = '\0';
    if (length > 0) return;
    if (WIFSIGNALED(ended))
        snprintf(said, room, "signal %d (%s)", WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    else
        snprintf(said, room, "exit status %d", WEXITSTATUS(ended));
}

// The program's name, from the library's own.
static bool find_program(char* program, size_t room) {
    Dl_info self;
    if (!dladdr((const void*)(uintptr_t)&library_call, &self)) return false;
    int length = snprintf(program, room, "%s", self.dli_fname);
    if (length < 4 || (size_t)length >= room) return false;
    program[length - 3] = '\0';
    return true;
}

static int fail(char* said, size_t room, const char* what, int words, int descriptor) {
    snprintf(said, room, "%s: %s", what, strerror(errno));
    if (words >= 0) close(words);
    if (descriptor >= 0) close(descriptor);
    return LIBRARY_FAILED;
}

int library_call(const struct library_argument* arguments, int count, void* stream, char* said,
                 size_t room) {
    (void)stream;
    char program[4096];
    enum { MOST = 64 };
    size_t offset[MOST];
    said[0] = '\0';
    errno = 0;
    if (count > MOST) return fail(said, room, "more than 64 arguments", -1, -1);
    if (!find_program(program, sizeof program))
        return fail(said, room, "the library does not find its own name", -1, -1);
    const size_t bytes = layout(arguments, count, offset);
    const int words = memfd_create("words", MFD_CLOEXEC);
    const int descriptor = memfd_create("call", MFD_CLOEXEC);
    if (words < 0 || descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0)
        return fail(said, room, "no memory for a copy of the arrays", words, descriptor);
    char* file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (file == MAP_FAILED)
        return fail(said, room, "no memory for a copy of the arrays", words, descriptor);
    pack(file, arguments, count, offset, bytes);
    int ended = 0, status;
    if (!run(program, descriptor, words, &ended)) {
        status = fail(said, room, program, words, descriptor);
        munmap(file, bytes);
        return status;
    }
    const struct packed* head = (const struct packed*)file;
    // What a program wrote that ended before its time is worth nothing.
    status = WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? (int)head->status : LIBRARY_ENDED;
    if (status == LIBRARY_MISSING)
        snprintf(said, room, "its call.c asks for %.63s", head->missing);
    else if (status != COURSE_OK)
        repeat(words, ended, said, room);
    for (int i = 0; i < count && status == COURSE_OK; i++)
        if (offset[i] && arguments[i].kind != LIBRARY_INPUT)
            memcpy(arguments[i].pointer, file + offset[i], (size_t)arguments[i].bytes);
    munmap(file, bytes);
    close(words);
    close(descriptor);
    return status;
}
