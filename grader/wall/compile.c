// compile.c: see compile.h.
#include "wall/compile.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "wall/inspect.h"

enum { SECONDS = 60, SECONDS_NVCC = 180, MEMORY_GB = 4 };

// The compiler calls a part of a variable that it keeps in a register O_reg$3 or p$x; the source
// has no $ (cpu/rewrite/output.c).
static void name_parts(char* log) {
    char* to = log;
    for (const char* p = log; *p; p++) {
        bool part = *p == '$' && p > log && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (!part)
            *to++ = *p;
        else if (isalpha((unsigned char)p[1]) || p[1] == '_')
            *to++ = '.';
        else
            p += strspn(p + 1, "0123456789");
    }
    *to = '\0';
}

#define STATUS(name) "%s=%d", #name, name
static struct wall_result run_script(const struct build_request* q, const char* work,
                                     const char* shown, double seconds) {
    char folder[PATH_MAX], status[5][32];
    snprintf(status[0], sizeof status[0], STATUS(NOT_REWRITTEN));
    snprintf(status[1], sizeof status[1], STATUS(NOT_COMPILED));
    snprintf(status[2], sizeof status[2], STATUS(NO_OBJECTS));
    snprintf(status[3], sizeof status[3], STATUS(NOT_LINKED));
    snprintf(status[4], sizeof status[4], STATUS(NOT_STARTED));
    const char* environment[] = {status[0], status[1], status[2], status[3], status[4], NULL};
    const char* argv[] = {"/bin/sh", "lib/compile.sh", shown, q->gpu ? q->arch : "", NULL};
    struct wall_job job = {.argv = argv,
                           .program = -1,
                           .arena = -1,
                           .work = work,
                           .tools = realpath("/usr/local/cuda", folder) ? folder : NULL,
                           .environment = environment,
                           .seconds = seconds,
                           .memory = (size_t)MEMORY_GB << 30};
    return wall_run(q->level, &job);
}

// The linker found something missing: a function of the contract, or a symbol that its own words
// name.
static void explain_linker(struct build* b, const struct build_request* q, const char* out,
                           const char* shown) {
    char path[PATH_MAX + 16], function[256];
    if (inspect_missing(out, lesson_function(q->lesson), function, sizeof function)) {
        snprintf(b->message, sizeof b->message, "%s does not define %s() as its contract declares",
                 shown, function);
        return;
    }
    size_t size;
    snprintf(path, sizeof path, "%s/linker", out);
    char *words = file_read(path, WALL_OUTPUT, &size), *all = NULL;
    if (words && asprintf(&all, "%s%s", b->log, words) >= 0) {
        free(b->log);
        b->log = all;
    }
    free(words);
    snprintf(b->message, sizeof b->message, "%s cannot be linked", shown);
}

void compile(struct build* b, const struct build_request* q, const char* work, const char* shown) {
    char out[PATH_MAX], path[PATH_MAX + 16];
    double seconds = (q->gpu ? SECONDS_NVCC : SECONDS) * (q->at_once > 0 ? q->at_once : 1);
    struct wall_result r = run_script(q, work, shown, seconds);
    snprintf(out, sizeof out, "%s/out", work);
    snprintf(path, sizeof path, "%s/unset", out);
    b->unset = access(path, F_OK) == 0;
    b->log = r.output ? r.output : strdup("");
    if (b->log) name_parts(b->log);
    b->outcome = BUILD_COMPILE_ERROR;
    if (r.end == WALL_TIMEOUT) {
        snprintf(b->message, sizeof b->message, "the compiler needs more than %.0f s", seconds);
        return;
    }
    if (r.end == WALL_MEMORY) {
        snprintf(b->message, sizeof b->message, "the compiler needs more than %d GB of memory",
                 MEMORY_GB);
        return;
    }
    if (r.end == WALL_EXITED && (r.code == NOT_REWRITTEN || r.code == NOT_COMPILED)) {
        snprintf(b->message, sizeof b->message, "%s does not compile", shown);
        return;
    }
    b->outcome = BUILD_FAILED;
    if (r.end != WALL_EXITED) {
        snprintf(b->message, sizeof b->message,
                 "the compiler could not be run (%s); make doctor says what is missing",
                 r.end == WALL_FAILED ? strerror(r.code) : strsignal(r.code));
        return;
    }
    if (r.code != COMPILED && r.code != NO_OBJECTS && r.code != NOT_LINKED) {
        snprintf(b->message, sizeof b->message,
                 "the compiler could not be started; run fewer grades at once, or see what make "
                 "doctor says is missing");
        return;
    }
    enum inspection inspection = INSPECTION_FINE;
    if (!q->uninspected)
        inspection =
            inspect_unit(out, shown, lesson_function(q->lesson), b->message, sizeof b->message);
    if (inspection == INSPECTION_REFUSES) {
        b->outcome = BUILD_REFUSED;
    } else if (inspection == INSPECTION_HAS_NOTHING || r.code == NO_OBJECTS) {
        snprintf(b->message, sizeof b->message,
                 "the compiler left its work unfinished; grade again, and see the log");
    } else if (r.code == NOT_LINKED) {
        b->outcome = BUILD_COMPILE_ERROR;
        explain_linker(b, q, out, shown);
    } else {
        b->outcome = BUILD_OK;
    }
}
