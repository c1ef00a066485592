// debug.c: make debug: one case under gdb, on the CPU device. Nothing is judged. See command.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check/command.h"

// The case goes where make/debug.sh has put the program.
static const char path[] = "build/gdb/case", commands[] = "grader/make/debug.gdb";

// Keeps the first case of the item as a file.
static void keep_case(struct check* c) {
    void* map = mmap(NULL, c->arena.size, PROT_READ, MAP_SHARED, c->arena.fd, 0);
    if (map == MAP_FAILED || file_write(path, map, c->arena.size, 0600) != 0)
        check_error(c, "%s: %s", path, strerror(errno));
    printf("case: %s\n", c->name);
    c->record->visit = VISIT_DONE;
    check_end();
}

// gdb gets the terminal. Returns its exit status.
static int run_gdb(const char* program, const struct known_card* card) {
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CUDEV_CARD", card ? card->id : "", 1);
        setenv("CUDEV_WORKERS", "1", 1);      // one block after another
        setenv("CUDEV_TIMEOUT", "86400", 1);  // sitting at a breakpoint is not an endless loop
        if (isatty(0))
            execlp("gdb", "gdb", "-q", "-x", commands, "--args", program, path, (char*)NULL);
        else
            execlp("gdb", "gdb", "-q", "-batch", "-x", commands, "--args", program, path,
                   (char*)NULL);
        perror("gdb (sh setup.sh installs it)");
        _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int command_debug(struct command* command) {
    struct result* r = command->result;
    command->session.visit = keep_case;
    for (int i = 0; lesson.items[i].run; i++) {
        if (!item_chosen(&command->options, &lesson.items[i])) continue;
        struct result_item* record = item_record(r, &lesson.items[i]);
        item_run(&command->session, i, record);
        if (record->visit == VISIT_DONE)
            return run_gdb(command->options.program, command->options.card);
        text_print(stderr, "", record->message);
    }
    fprintf(stderr, "%s has no case to debug\n", lesson.name);
    return STATUS_NOTHING;
}
