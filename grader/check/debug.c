// debug.c: make debug: an item is graded once more, and its case that failed runs under gdb on the
// CPU device. See command.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "check/command.h"

// The case goes where make/debug.sh has put the program.
static const char path[] = "build/gdb/case", commands[] = "grader/make/debug.gdb";

// The case that failed; "": none, the first one is looked at.
static char wanted[sizeof((struct check*)0)->name];

// Keeps the case as a file, once it is the wanted one.
static void keep_case(struct check* c) {
    if (wanted[0] && strcmp(c->name, wanted) != 0) return;
    void* map = mmap(NULL, c->arena.size, PROT_READ, MAP_SHARED, c->arena.fd, 0);
    if (map == MAP_FAILED || file_write(path, map, c->arena.size, 0600) != 0)
        check_error(c, "%s: %s", path, strerror(errno));
    printf("case: %s\n", c->name);
    c->record->visit = VISIT_DONE;
    check_end();
}

// gdb gets the terminal. Returns its exit status.
static int run_gdb(const char* program, char* card) {
    pid_t pid = fork();
    if (pid == 0) {
        putenv(card);
        setenv("CUDEV_WATCH", "check", 1);
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

// For gdb the lines of the item's first finding: where it was seen, and of both accesses.
static void pass_lines(const struct result_item* record) {
    char lines[128] = "";
    const struct finding_values* v = record->finding;
    size_t used = 0;
    if (record->finding_count && v->line != v->launch)  // the line of a launch is no access
        used = (size_t)snprintf(lines, sizeof lines, "%u ", v->line);
    for (int i = 0; record->finding_count && i < v->access_count; i++) {
        const struct finding_access* a = &v->access[i];
        const unsigned line = a->line ? a->line : a->caller;
        if (line) used += (size_t)snprintf(lines + used, sizeof lines - used, "%u ", line);
    }
    setenv("DEBUG_LINES", lines, 1);
}

// For the program and gdb the first wrong element, if the grade has named no line: where it is
// stored, the mistake can be looked at.
static void pass_element(const struct result_item* record) {
    char element[64] = "";
    if (!getenv("DEBUG_LINES")[0] && record->place.size > 0)
        snprintf(element, sizeof element, "%s %d %lld %d", record->array, record->place.call,
                 (long long)record->place.byte, record->place.size);
    setenv("DEBUG_ELEMENT", element, 1);
    setenv("DEBUG_WRONG", record->first, 1);
}

int command_debug(struct command* command) {
    struct result* r = command->result;
    command_build(command, true);
    if (command->build.outcome != BUILD_OK) {
        text_print(stderr, "", command->build.message);
        if (command->build.log) text_print(stderr, "", command->build.log);
        return command->build.outcome == BUILD_FAILED ? STATUS_ERROR : STATUS_LESS;
    }
    for (int i = 0; lesson.items[i].run; i++) {
        if (!item_chosen(&command->options, &lesson.items[i])) continue;
        struct result_item* record = item_record(r, &lesson.items[i]);
        command->session.visit = NULL;
        double start = clock_seconds();
        item_run(&command->session, i, record);
        record->seconds = clock_seconds() - start;
        text_item(r, r->item_count - 1, command->colour);
        const bool passed = record->outcome == OUTCOME_PASS;
        snprintf(wanted, sizeof wanted, "%s", passed ? "" : record->tested);
        pass_lines(record);
        pass_element(record);
        command->session.visit = keep_case;
        item_run(&command->session, i, record);
        if (record->visit != VISIT_DONE && wanted[0]) {
            wanted[0] = '\0';  // it does not come again
            item_run(&command->session, i, record);
        }
        if (record->visit == VISIT_DONE)
            return run_gdb(command->options.program, command->session.card);
    }
    fprintf(stderr, "%s has no case to debug\n", lesson.name);
    return STATUS_NOTHING;
}
