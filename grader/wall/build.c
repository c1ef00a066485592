// build.c: from a submission to its programs. See build.h.
#include "wall/build.h"

#include <errno.h>
#include <limits.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "wall/cache.h"
#include "wall/compile.h"
#include "wall/scratch.h"

enum { SOURCE_LIMIT = 1 << 20 };

const char* lesson_function(const char* lesson) {
    const char* underscore = strchr(lesson, '_');
    return underscore ? underscore + 1 : lesson;
}

// The name the compiler and the student see: the path as given if it stays below the current
// directory, else only its last part.
static const char* shown_name(const char* file) {
    const char* slash = strrchr(file, '/');
    bool inside = file[0] != '/' && !strstr(file, "..");
    return inside || !slash ? file : slash + 1;
}

static void explain_unreadable(struct build* b, const char* file) {
    const char* why = errno == EISDIR   ? "is a directory; give the file itself"
                      : errno == EFBIG  ? "is larger than 1 MiB; is it the right file?"
                      : errno == EINVAL ? "is not a regular file"
                      : errno == ENOENT ? "does not exist"
                                        : strerror(errno);
    b->outcome = BUILD_UNREADABLE;
    snprintf(b->message, sizeof b->message, "%s %s", file, why);
}

bool build_has_kernel(const char* lesson) {
    char path[512];
    snprintf(path, sizeof path, "grader/%s/call.c", lesson);
    return access(path, F_OK) == 0;
}

struct build build_text(const char* file) {
    struct build b = {.outcome = BUILD_OK, .program = -1, .watched = -1};
    b.text = file_read(file, SOURCE_LIMIT, &b.text_size);
    if (b.text)
        SHA256Data((const uint8_t*)b.text, b.text_size, b.submission);
    else
        explain_unreadable(&b, file);
    return b;
}

// True if b now holds a program that was built before.
static bool fetch(struct build* b, const char* key) {
    struct cache_entry entry;
    if (!cache_fetch(key, &entry)) return false;
    b->program = entry.program;
    b->watched = entry.watched;
    b->log = entry.log;
    b->unset = entry.unset;
    return true;
}

// The programs that were just built: kept for later, and open in b.
static void load(struct build* b, const char* work, const char* key) {
    char out[PATH_MAX], program[PATH_MAX + 16], watched[PATH_MAX + 16];
    snprintf(out, sizeof out, "%s/out", work);
    snprintf(program, sizeof program, "%s/program", out);
    snprintf(watched, sizeof watched, "%s/watched", out);
    if ((b->program = cache_load_program(program)) >= 0 &&
        (b->watched = cache_load_program(watched)) >= 0) {
        cache_store(key, out, b->log, b->unset);
        return;
    }
    b->outcome = BUILD_FAILED;
    snprintf(b->message, sizeof b->message, "the program was not built: %s", strerror(errno));
    if (b->program >= 0) close(b->program);
    b->program = -1;
}

// The scratch folder is filled also for a program that was built before: its files are the key.
struct build build_submission(const struct build_request* q) {
    struct build b = build_text(q->file);
    char* source = b.text;
    char key[65], more[128];
    if (!source) return b;
    b.text = NULL;
    const char* shown = shown_name(q->file);
    char* work = scratch_make();
    snprintf(more, sizeof more, "%s %s", q->gpu ? q->arch : "cpu", q->uninspected ? "any" : "");
    if (!work || scratch_fill(work, q, shown, source, b.text_size) != 0 ||
        cache_key(work, more, key) != 0) {
        b.outcome = BUILD_FAILED;
        snprintf(b.message, sizeof b.message, "no scratch directory for the compiler: %s",
                 strerror(errno));
    } else if (q->fresh || !fetch(&b, key)) {
        compile(&b, q, work, shown);
        if (b.outcome == BUILD_OK) load(&b, work, key);
    }
    if (work) scratch_remove(work);
    free(source);
    return b;
}

int build_key(const char* lesson, char hex[65]) {
    const struct build_request q = {.lesson = lesson};
    char* work = scratch_make();
    int result = -1;
    if (work && (!build_has_kernel(lesson) || scratch_fill(work, &q, "none", "", 0) == 0))
        result = cache_key(work, "", hex);
    if (work) scratch_remove(work);
    return result;
}
