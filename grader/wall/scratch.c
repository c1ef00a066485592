// scratch.c: the folder in which a submission is compiled. See scratch.h.
#include "wall/scratch.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Static, because the signal handler and atexit() need the name. A grade has one at a time.
static char made[4096];
static pid_t owner;

static int remove_entry(const char* path, const struct stat* st, int type, struct FTW* ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_made(void) {
    if (!made[0] || owner != getpid()) return;
    nftw(made, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    made[0] = '\0';
}

static void remove_and_die(int signal_number) {
    // nftw() allocates, which no signal handler should. The process is ending, and while the folder
    // exists it only waits for the compiler.
    remove_made();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

char* scratch_make(void) {
    const char* base = getenv("TMPDIR");
    if (!base || base[0] != '/') base = "/tmp";
    snprintf(made, sizeof made, "%s/grade.XXXXXX", base);
    if (!mkdtemp(made)) {
        made[0] = '\0';
        return NULL;
    }
    owner = getpid();
    static int registered;
    if (!registered) {
        registered = 1;
        atexit(remove_made);
        signal(SIGINT, remove_and_die);
        signal(SIGTERM, remove_and_die);
        signal(SIGHUP, remove_and_die);
    }
    return strdup(made);
}

void scratch_remove(char* path) {
    remove_made();
    free(path);
}
