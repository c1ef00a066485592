// scratch.c: see scratch.h.
#include "wall/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
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

// ---- what is in it

static int copy_into(const char* work, const char* from, const char* folder, int mode) {
    char to[PATH_MAX];
    const char* slash = strrchr(from, '/');
    snprintf(to, sizeof to, "%s/%s%s", work, folder, slash ? slash + 1 : from);
    return file_copy(from, to, mode);
}

static int copy_matching(const char* work, const char* pattern, const char* folder) {
    glob_t files;
    int result = 0;
    if (glob(pattern, 0, NULL, &files) != 0) return 0;
    for (size_t i = 0; i < files.gl_pathc && result == 0; i++)
        result = copy_into(work, files.gl_pathv[i], folder, 0644);
    globfree(&files);
    return result;
}

// A header of lessons/ says on its first line from which lesson on a kernel may include it:
// "// from lesson 14: tile.h: ...". An earlier lesson gets an #error in its place.
static int copy_teaching_header(const char* work, const char* path, int lesson) {
    char first[256] = "", to[PATH_MAX], refusal[256];
    int from;
    FILE* header = fopen(path, "r");
    if (!header) return -1;
    bool read = fgets(first, sizeof first, header) != NULL;
    fclose(header);
    if (!read || sscanf(first, "// from lesson %d: ", &from) != 1) {
        errno = EINVAL;  // it does not say: nobody gets it
        return -1;
    }
    if (lesson >= from) return copy_into(work, path, "include/", 0644);
    const char* name = strrchr(path, '/') + 1;
    snprintf(to, sizeof to, "%s/include/%s", work, name);
    snprintf(refusal, sizeof refusal, "#error %s is there from lesson %d on\n", name, from);
    return file_write(to, refusal, strlen(refusal), 0644);
}

static int copy_teaching_headers(const char* work, int lesson) {
    glob_t files;
    int result = 0;
    if (glob("lessons/*.h", 0, NULL, &files) != 0) return 0;
    for (size_t i = 0; i < files.gl_pathc && result == 0; i++)
        result = copy_teaching_header(work, files.gl_pathv[i], lesson);
    globfree(&files);
    return result;
}

// The runner and the lesson's call for one device, "cpu" or "cuda".
static int copy_runner(const char* work, const struct build_request* q, const char* device) {
    char from[512], to[PATH_MAX];
    snprintf(from, sizeof from, BUILD_FOLDER "/%s/librun.a", device);
    snprintf(to, sizeof to, "%s/lib/librun-%s.a", work, device);
    if (file_copy(from, to, 0644) != 0) return -1;
    snprintf(from, sizeof from, BUILD_FOLDER "/grader/%s/call-%s.o", q->lesson, device);
    snprintf(to, sizeof to, "%s/lib/call-%s.o", work, device);
    return file_copy(from, to, 0644);
}

int scratch_fill(const char* work, const struct build_request* q, const char* shown,
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
    char contract[512];
    snprintf(contract, sizeof contract, "lessons/%s/*.h", q->lesson);
    if (copy_teaching_headers(work, atoi(q->lesson)) != 0 ||
        copy_matching(work, contract, "include/") != 0 ||
        copy_matching(work, "grader/cpu/include/*.h", "include/cpu/") != 0 ||
        copy_matching(work, "grader/cpu/include/cudev/*.h", "include/cpu/cudev/") != 0 ||
        copy_into(work, BUILD_FOLDER "/cpu/rewrite", "lib/", 0755) != 0 ||
        copy_into(work, "grader/cpu/cxxflags", "lib/", 0644) != 0 ||
        copy_into(work, "grader/cpu/cxxflags-watched", "lib/", 0644) != 0 ||
        copy_into(work, "grader/wall/compile.sh", "lib/", 0644) != 0 ||
        copy_into(work, "grader/run/wrapped", "lib/", 0644) != 0 ||
        copy_into(work, "grader/run/gated", "lib/", 0644) != 0 ||
        copy_into(work, BUILD_FOLDER "/grader/run/border-cpu.o", "lib/", 0644) != 0 ||
        copy_into(work, BUILD_FOLDER "/libcpu.a", "lib/", 0644) != 0 ||
        copy_runner(work, q, "cpu") != 0)
        return -1;
    return q->gpu ? copy_runner(work, q, "cuda") : 0;
}
