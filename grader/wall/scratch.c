// scratch.c: see scratch.h.
#include "wall/scratch.h"

#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

// ---- there and gone

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

const char* scratch_place(void) {
    const char* base = getenv("TMPDIR");
    return base && base[0] == '/' ? base : "/tmp";
}

char* scratch_make(void) {
    snprintf(made, sizeof made, "%s/grade.XXXXXX", scratch_place());
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

// ---- what is in it

static const char list[] = "grader/make/scratch.txt";

// Writes the pattern with LESSON and BUILD replaced.
static void fill_in(const char* pattern, const char* lesson, char* to, size_t size) {
    size_t used = 0;
    while (*pattern && used + 1 < size) {
        const char* word = !strncmp(pattern, "LESSON", 6)  ? lesson
                           : !strncmp(pattern, "BUILD", 5) ? BUILD_FOLDER
                                                           : NULL;
        if (word) {
            used += (size_t)snprintf(to + used, size - used, "%s", word);
            pattern += word == lesson ? 6 : 5;
        } else {
            to[used++] = *pattern++;
        }
    }
    to[used < size ? used : size - 1] = '\0';
}

// Visits what a pattern matches. A pattern without a * names one file, which has to be there.
static int visit_matching(const char* pattern, const char* to, scratch_visit* visit, void* data) {
    glob_t files;
    int result = 0;
    if (!strchr(pattern, '*')) return visit(pattern, to, data);
    if (glob(pattern, 0, NULL, &files) != 0) return 0;
    for (size_t i = 0; i < files.gl_pathc && result == 0; i++)
        result = visit(files.gl_pathv[i], to, data);
    globfree(&files);
    return result;
}

int scratch_each(const char* lesson, bool gpu, scratch_visit* visit, void* data) {
    size_t size;
    char *text = file_read(list, 1 << 20, &size), *rest;
    int result = text ? visit(list, "", data) : -1;
    for (char* line = text ? strtok_r(text, "\n", &rest) : NULL; line && result == 0;
         line = strtok_r(NULL, "\n", &rest)) {
        char word[3][128], pattern[512];
        int words = sscanf(line, "%127s %127s %127s", word[0], word[1], word[2]);
        if (words < 2 || line[0] == '#') continue;
        if (words == 3 && !gpu) continue;
        fill_in(word[words - 1], lesson, pattern, sizeof pattern);
        result = visit_matching(pattern, word[words - 2], visit, data);
    }
    free(text);
    return result;
}

// The first lesson whose kernels may include this header: its first line says "// from lesson 14:
// ...". 0 for a file without such a line, -1 for one that cannot be read.
static int first_lesson(const char* path) {
    char line[64];
    int lesson = 0;
    FILE* file = fopen(path, "r");
    if (!file) return -1;
    if (fgets(line, sizeof line, file)) sscanf(line, "// from lesson %d:", &lesson);
    fclose(file);
    return lesson;
}

struct destination {
    const char* work;
    int lesson;
    char names[8192];  // options of the compiler: a header has the name that the student knows
};

static void keep_name(struct destination* d, const char* from, const char* to) {
    size_t used = strlen(d->names);
    if (strcmp(to, "include/") == 0)
        snprintf(d->names + used, sizeof d->names - used, "-ffile-prefix-map=%s%s=%s\n", to,
                 strrchr(from, '/') + 1, from);
}

// For an earlier lesson than a header's first one, an #error takes its place.
static int copy(const char* from, const char* to, void* data) {
    struct destination* d = data;
    char path[PATH_MAX], refusal[512];
    const char* name = strrchr(from, '/') + 1;
    bool folder = *to && to[strlen(to) - 1] == '/';
    if (!*to) return 0;
    snprintf(path, sizeof path, "%s/%s%s", d->work, to, folder ? name : "");
    int first = first_lesson(from);
    if (first < 0) return -1;
    keep_name(d, from, to);
    if (first <= d->lesson) return file_copy(from, path, access(from, X_OK) == 0 ? 0755 : 0644);
    snprintf(refusal, sizeof refusal, "#error %s is there from lesson %d on\n", name, first);
    return file_write(path, refusal, strlen(refusal), 0644);
}

int scratch_fill(const char* work, const char* lesson, bool gpu, const char* shown,
                 const char* source, size_t size) {
    const char* const folders[] = {"out", "include", "include/cpu", "include/cpu/cudev",
                                   "lib", NULL};
    char path[PATH_MAX];
    if (chmod(work, 0755) != 0) return -1;
    for (int i = 0; folders[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", work, folders[i]);
        if (mkdir(path, 0777) != 0 || chmod(path, i == 0 ? 0777 : 0755) != 0) return -1;
    }
    snprintf(path, sizeof path, "%s/%s", work, shown);
    if (file_make_parents(path) != 0 || file_write(path, source, size, 0644) != 0) return -1;
    struct destination destination = {.work = work, .lesson = atoi(lesson)};
    if (scratch_each(lesson, gpu, copy, &destination) != 0) return -1;
    snprintf(path, sizeof path, "%s/lib/names", work);
    return file_write(path, destination.names, strlen(destination.names), 0644);
}
