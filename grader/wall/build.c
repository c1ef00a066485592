// build.c: from a submission to its programs. See build.h.
#include "wall/build.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "base/utf16.h"
#include "wall/cache.h"
#include "wall/inspect.h"
#include "wall/scratch.h"

enum { SOURCE_LIMIT = 1 << 20, SECONDS = 60, SECONDS_NVCC = 180, MEMORY_GB = 4, NAME_MOST = 400 };

const char* lesson_function(const char* lesson) {
    const char* underscore = strchr(lesson, '_');
    return underscore ? underscore + 1 : lesson;
}

// Would a submission of this name take the place of one of the grader's files in the scratch
// folder, or be called otherwise by the compiler, which quotes some characters?
static bool is_no_name(const char* name) {
    static const char* const taken[] = {"out", "include", "lib"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        size_t n = strlen(taken[i]);
        if (!strncmp(name, taken[i], n) && (!name[n] || name[n] == '/')) return true;
    }
    for (const char* p = name; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ' || *p == 0x7f) return true;
    return strlen(name) > NAME_MOST;
}

// The name the compiler and the student see: the path as given if it stays below the current
// directory, else only its last part.
static const char* shown_name(const char* file) {
    while (!strncmp(file, "./", 2)) file += 2;
    const char* slash = strrchr(file, '/');
    bool inside = file[0] != '/' && !strstr(file, "..") && !strstr(file, "/./");
    const char* name = inside || !slash ? file : slash + 1;
    return is_no_name(name) ? "submission.cu" : name;
}

// Nothing was built: how that ended, and why.
static void stop(struct build* b, enum build_outcome outcome, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static void stop(struct build* b, enum build_outcome outcome, const char* format, ...) {
    va_list values;
    b->outcome = outcome;
    va_start(values, format);
    vsnprintf(b->message, sizeof b->message, format, values);
    va_end(values);
    plain_line(b->message);
}

static void explain_unreadable(struct build* b, const char* file) {
    const char* why = errno == EISDIR   ? "is a directory; give the file itself"
                      : errno == EFBIG  ? "is larger than 1 MiB; is it the right file?"
                      : errno == EINVAL ? "is not a regular file"
                      : errno == ENOENT ? "does not exist"
                                        : strerror(errno);
    stop(b, BUILD_UNREADABLE, "%s %s", file, why);
}

bool build_has_kernel(const char* lesson) {
    char path[512];
    snprintf(path, sizeof path, "grader/%s/call.c", lesson);
    return access(path, F_OK) == 0;
}

struct build build_text(const char* file) {
    struct build b = {.outcome = BUILD_OK, .program = -1, .watched = -1};
    b.text = file_read(file, SOURCE_LIMIT, &b.text_size);
    if (!b.text) {
        explain_unreadable(&b, file);
        return b;
    }
    SHA256Data((const uint8_t*)b.text, b.text_size, b.submission);
    char* text = utf16_text(b.text, b.text_size, &b.text_size);
    if (text) {
        free(b.text);
        b.text = text;
    }
    return b;
}

// ---- the compiler behind the wall

// How compile.sh ends: its exit statuses. The script finds them in its environment, under these
// names.
enum compile_end {
    COMPILED = 0,
    NOT_REWRITTEN = 10,  // the rewriter refuses the file
    NOT_COMPILED = 11,   // the compiler refuses the file
    NO_OBJECTS = 12,     // a tool behind the compiler failed
    NOT_LINKED = 13,     // out/linker holds the linker's words
    NOT_STARTED = 14,    // there was no process for the compiler, or there is no compiler
    NOT_WATCHED = 15,    // the compiler refuses the file when accesses are watched
};

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

// Messages of the compiler about a mistake, and what they do not say: what to write instead.
static const struct {
    const char *says, *next;
} advice[] = {
    {"error: variable length array",
     "a constant or a template parameter as its size; in a kernel extern __shared__ float a[] has "
     "as many bytes as the third number of <<< >>> says"},
};

// Puts advice behind the lines of the log that need some.
static void advise(char** log) {
    static const char promoted[] = "cc1plus: some warnings being treated as errors\n";
    char* text = NULL;
    size_t size = 0;
    FILE* to = open_memstream(&text, &size);
    for (const char* p = *log; to && *p;) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        if (strncmp(p, promoted, sizeof promoted - 1) != 0) fwrite(p, 1, n, to);
        for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++)
            if (memmem(p, n, advice[i].says, strlen(advice[i].says)))
                fprintf(to, "  next: %s\n", advice[i].next);
        p += n;
    }
    if (!to || fclose(to) != 0) return;
    free(*log);
    *log = text;
}

// Has the line one of `words`?
static bool has_one_of(const char* line, size_t n, const char* const words[2]) {
    return memmem(line, n, words[0], strlen(words[0])) ||
           memmem(line, n, words[1], strlen(words[1]));
}

// Has the log the same line somewhere before this one?
static bool is_said_before(const char* log, const char* line, size_t n) {
    for (const char* p = log; p < line; p += strcspn(p, "\n") + 1)
        if (strncmp(p, line, n) == 0) return true;
    return false;
}

// The compiler says of each kernel that a template makes what is wrong with the template: once is
// enough. A message begins with its context, and ends where the next message begins.
static void say_once(char** log) {
    static const char* const of_message[2] = {": warning: ", "error: "};
    static const char* const of_context[2] = {": In ", "   required from "};
    char *text = NULL, *context = *log;
    size_t size = 0;
    bool drops = false;
    FILE* to = open_memstream(&text, &size);
    for (char *p = *log, *next; to && *p; p = next) {
        const size_t n = strcspn(p, "\n");
        next = p + n + (p[n] == '\n');
        const bool begins = has_one_of(p, n, of_message);
        if (begins) drops = is_said_before(*log, p, (size_t)(next - p));
        if (!begins && has_one_of(p, n, of_context)) {
            drops = false;
            continue;  // with the message that it belongs to
        }
        if (!drops) fwrite(context, 1, (size_t)(next - context), to);
        context = next;
    }
    if (to) fputs(context, to);
    if (!to || fclose(to) != 0) return;
    free(*log);
    *log = text;
}

#define STATUS(name) "%s=%d", #name, name
// control: the contract whose smallest file is compiled in the place of the submission; or "".
static struct wall_result run_script(const struct build_request* q, const char* work,
                                     const char* shown, const char* control, double seconds) {
    char folder[PATH_MAX], status[6][32], contract[128];
    snprintf(status[0], sizeof status[0], STATUS(NOT_REWRITTEN));
    snprintf(status[1], sizeof status[1], STATUS(NOT_COMPILED));
    snprintf(status[2], sizeof status[2], STATUS(NO_OBJECTS));
    snprintf(status[3], sizeof status[3], STATUS(NOT_LINKED));
    snprintf(status[4], sizeof status[4], STATUS(NOT_STARTED));
    snprintf(status[5], sizeof status[5], STATUS(NOT_WATCHED));
    snprintf(contract, sizeof contract, "CONTROL=%s", control);
    const char* environment[] = {
        status[0], status[1], status[2], status[3],
        status[4], status[5], contract,  q->note && !q->gpu ? "NOTE=1" : NULL,
        NULL};
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

// Does the submission, in vain, include the contract of another lesson? Then this is what is wrong.
static bool explain_contract(struct build* b, const char* lesson, const char* shown) {
    static const char include[] = "#include \"";
    const char* own = lesson_function(lesson);
    int line = 1;
    for (const char* p = b->text; *p; line++) {
        const char* name = strncmp(p, include, sizeof include - 1) ? "" : p + sizeof include - 1;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
        char pattern[256];
        glob_t found;
        snprintf(pattern, sizeof pattern, "lessons/[0-9][0-9]_%.*s/%.*s.h", (int)n, name, (int)n,
                 name);
        bool one = n > 0 && n < 64 && strncmp(name + n, ".h\"", 3) == 0 &&
                   (n != strlen(own) || strncmp(name, own, n) != 0) &&
                   glob(pattern, 0, NULL, &found) == 0;
        if (one) {
            const char* other = found.gl_pathv[0] + strlen("lessons/");
            stop(b, BUILD_COMPILE_ERROR,
                 "%s:%d: includes %.*s.h, the contract of lesson %.*s; this is lesson %s", shown,
                 line, (int)n, name, (int)strcspn(other, "/"), other, lesson);
            globfree(&found);
            return true;
        }
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return false;
}

// The linker found something missing: a function of the contract, or a symbol that its own words
// name.
static void explain_linker(struct build* b, const struct build_request* q, const char* out,
                           const char* shown) {
    char path[PATH_MAX + 16], function[256];
    if (inspect_missing(out, lesson_function(q->lesson), function, sizeof function)) {
        stop(b, BUILD_COMPILE_ERROR, "%s does not define %s() as its contract declares", shown,
             function);
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
    stop(b, BUILD_COMPILE_ERROR, "%s cannot be linked", shown);
}

static double time_limit(const struct build_request* q) {
    return q->gpu ? SECONDS_NVCC : SECONDS;
}

static const char WAITS[] =
    "the compiler waits for something that does not come; which file does it read?";

// Compiles, inspects and links the submission, called `shown`, in the filled scratch folder `work`.
// Sets the outcome, the log, the message and what was warned of in b; with BUILD_OK the programs
// are work/out/program and work/out/watched. BUILD_FAILED: maybe the submission is to blame all the
// same; see blame().
static void compile(struct build* b, const struct build_request* q, const char* work,
                    const char* shown) {
    char out[PATH_MAX], path[PATH_MAX + 16];
    size_t size;
    double seconds = time_limit(q);
    struct wall_result r = run_script(q, work, shown, "", seconds);
    snprintf(out, sizeof out, "%s/out", work);
    snprintf(path, sizeof path, "%s/unset", out);
    b->unset = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s/no_return", out);
    b->no_return = file_read(path, WALL_OUTPUT, &size);
    b->log = r.output ? r.output : strdup("");
    if (b->log) name_parts(b->log);
    if (b->log) advise(&b->log);
    if (b->log) say_once(&b->log);
    bool ended = r.end == WALL_EXITED;
    if (r.end == WALL_TIMEOUT)
        return stop(b, BUILD_COMPILE_ERROR, "the compiler needs more than %.0f s of CPU time",
                    seconds);
    if (r.end == WALL_IDLE) return stop(b, BUILD_FAILED, WAITS);  // the machine's fault, maybe
    if (r.end == WALL_MEMORY)
        return stop(b, BUILD_COMPILE_ERROR, "the compiler needs more than %d GB of memory",
                    MEMORY_GB);
    if (ended && (r.code == NOT_REWRITTEN || r.code == NOT_COMPILED) && b->text &&
        explain_contract(b, q->lesson, shown)) {
        if (b->log) *b->log = '\0';
        return;
    }
    if (ended && (r.code == NOT_REWRITTEN || r.code == NOT_COMPILED))
        return stop(b, BUILD_COMPILE_ERROR, "%s does not compile", shown);
    if (!ended)
        return stop(b, BUILD_FAILED,
                    "the compiler could not be run (%s); make doctor says what is missing",
                    r.end == WALL_FAILED ? strerror(r.code) : strsignal(r.code));
    bool objects = r.code == COMPILED || r.code == NOT_LINKED;
    if (!objects && r.code != NO_OBJECTS && r.code != NOT_WATCHED)
        return stop(b, BUILD_FAILED,
                    "the compiler could not be started; run fewer grades at once, or see what make "
                    "doctor says is missing");
    enum inspection inspection = INSPECTION_FINE;
    if (!q->uninspected)
        inspection =
            inspect_unit(out, shown, lesson_function(q->lesson), b->message, sizeof b->message);
    b->outcome = BUILD_OK;
    if (inspection == INSPECTION_REFUSES)
        b->outcome = BUILD_REFUSED;
    else if (inspection == INSPECTION_HAS_NOTHING || !objects)
        stop(b, BUILD_FAILED,
             "the compiler left its work unfinished; grade again, and see the log");
    else if (r.code == NOT_LINKED)
        explain_linker(b, q, out, shown);
}

// ---- the programs

// True if b now holds a program that was built before.
static bool fetch(struct build* b, const char* key) {
    struct cache_entry entry;
    if (!cache_fetch(key, &entry)) return false;
    b->program = entry.program;
    b->watched = entry.watched;
    b->log = entry.log;
    b->unset = entry.unset;
    b->no_return = entry.no_return;
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
        const struct cache_entry built = {
            .log = b->log, .unset = b->unset, .no_return = b->no_return};
        cache_store(key, out, &built);
        return;
    }
    stop(b, BUILD_FAILED, "the program was not built: %s", strerror(errno));
    if (b->program >= 0) close(b->program);
    b->program = -1;
}

// Builds the source, or takes what was built before: the scratch folder is filled also for that,
// because its files are the key.
static void build_once(struct build* b, const struct build_request* q, const char* source,
                       const char* shown) {
    char key[65], more[128];
    char* work = scratch_make();
    b->outcome = BUILD_OK;
    b->message[0] = '\0';
    snprintf(more, sizeof more, "%s %s", q->gpu ? q->arch : "cpu", q->uninspected ? "any" : "");
    if (!work || scratch_fill(work, q->lesson, q->gpu, shown, source, b->text_size) != 0 ||
        cache_key(work, more, key) != 0) {
        const char* why = strerror(errno);
        stop(b, BUILD_FAILED,
             "no scratch directory for the compiler in %.200s: %s; TMPDIR= names another place",
             scratch_place(), why);
    } else if (q->fresh || !fetch(b, key)) {
        compile(b, q, work, shown);
        if (b->outcome == BUILD_OK) load(b, work, key);
    }
    if (work) scratch_remove(work);
}

// Can the compiler, and all that stands behind it, make programs of the smallest file now?
static bool control_compiles(const struct build_request* q) {
    char* work = scratch_make();
    bool compiles = false;
    if (work && scratch_fill(work, q->lesson, q->gpu, "none", "", 0) == 0) {
        struct wall_result r =
            run_script(q, work, "control.cu", lesson_function(q->lesson), time_limit(q));
        compiles = r.end == WALL_EXITED && r.code == COMPILED;
        free(r.output);
    }
    if (work) scratch_remove(work);
    return compiles;
}

// Twice no programs came out of it. Where they do of the smallest file, the submission is to blame:
// it makes the tools give up, or exceeds the limits on them.
static void blame(struct build* b, const struct build_request* q, const char* shown) {
    if (!control_compiles(q)) return;
    if (strcmp(b->message, WAITS) == 0) return stop(b, BUILD_COMPILE_ERROR, WAITS);
    stop(
        b, BUILD_COMPILE_ERROR,
        "a tool behind the compiler gives up on %s, while an empty file compiles; are its arrays "
        "at "
        "file scope, its macros or its templates far too large, or does it ask how it is compiled?",
        shown);
}

struct build build_submission(const struct build_request* q) {
    struct build b = build_text(q->file);
    char* source = b.text;
    if (!source) return b;
    const char* shown = shown_name(q->file);
    build_once(&b, q, source, shown);
    if (b.outcome == BUILD_FAILED) {
        free(b.log), free(b.no_return);
        b.log = b.no_return = NULL;
        build_once(&b, q, source, shown);
    }
    if (b.outcome == BUILD_FAILED) blame(&b, q, shown);
    return b;
}

int build_key(const char* lesson, char hex[65]) {
    char* work = scratch_make();
    int result = -1;
    if (work &&
        (!build_has_kernel(lesson) || scratch_fill(work, lesson, false, "none", "", 0) == 0))
        result = cache_key(work, "", hex);
    if (work) scratch_remove(work);
    return result;
}
