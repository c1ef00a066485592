// doctor.c: which parts of the wall stand on this machine. doctor.sh runs it and says what to do.
//
// Prints one line a part, three fields separated by tabs: its name, yes or no, and why not. Then
// the cards that the CPU device can pose as: card, id, compute capability, and what it has.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wall/arena.h"
#include "base/file.h"
#include "cpu/cards/cards.h"
#include "wall/wall.h"

static void tell(const char* name, bool works, const char* why) {
    printf("%s\t%s\t%s\n", name, works ? "yes" : "no", works ? "" : why);
    fflush(stdout);
}

// Can a case be handed over and taken back: shared memory that can be sealed against writing?
static bool arena_works(void) {
    struct arena arena = {.fd = -1};
    unsigned char* map;
    if (arena_open(&arena, &map) != 0) return false;
    bool works = arena_close_writing(&arena, map) == 0 && arena_seal(&arena) == 0;
    arena_free(&arena);
    return works;
}

// Graded programs lie in memory, not in a file; a hardened kernel may refuse to run them from
// there.
static bool memory_program_works(enum wall_level level) {
    size_t size;
    char* program = file_read("/usr/bin/true", (size_t)64 << 20, &size);
    int fd = memfd_create("true", MFD_CLOEXEC);
    bool works = false;
    if (program && fd >= 0 && write(fd, program, size) == (ssize_t)size) {
        static const char* const argv[] = {"true", NULL};
        struct wall_job job = {
            .argv = argv, .program = fd, .arena = -1, .seconds = 5, .memory = (size_t)1 << 30};
        struct wall_result r = wall_run(level, &job);
        works = r.end == WALL_EXITED && r.code == 0;
        free(r.output);
    }
    free(program);
    if (fd >= 0) close(fd);
    return works;
}

int main(void) {
    for (int level = WALL_LEVELS - 1; level >= 0; level--) {
        const char* why = "";
        bool works = wall_probe((enum wall_level)level, &why);
        tell(wall_level_name((enum wall_level)level), works, why);
    }
    tell("landlock", wall_has_landlock(), "this kernel has no Landlock");
    tell("arena", arena_works(), "this kernel cannot seal shared memory");
    tell("program", memory_program_works(wall_strongest()),
         "this kernel does not run programs from memory");
    for (const struct known_card* c = cards; c->id; c++)
        printf("card\t%s\t%d.%d\t%s: %d multiprocessors, compute capability %d.%d, %zu KB of "
               "shared memory a block\n",
               c->id, c->major, c->minor, c->name, c->multiprocessors, c->major, c->minor,
               c->shared_block >> 10);
    return 0;
}
