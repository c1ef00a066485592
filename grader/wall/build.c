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

#include "wall/cache.h"
<<<<<<< HEAD
#include "wall/compile.h"
#include "wall/file.h"
=======
#include "base/file.h"
#include "wall/inspect.h"
>>>>>>> main
#include "wall/scratch.h"

enum { SOURCE_LIMIT = 1 << 20 };

<<<<<<< HEAD
=======
// What of the build's own text reaches the student, and how it ended.
enum { SCRIPT_REWRITE = 10, SCRIPT_COMPILE = 11, SCRIPT_TOOLS = 12, SCRIPT_LINK = 13 };

// The plain and the instrumented object are made side by side: two cores, no time lost. What the
// second compile says has been said by the first. Each is compiled from the very text that is
// inspected. Then C's functions that follow pointers or files are renamed to the runner's (run/gate.c),
// the student's variables become its own file's, whatever they are called;
// calls through pointers arrive in run/calls.S.
static const char compile_script[] =
    "lib/rewrite \"$1\" out/unit.cpp \"$1\" || exit 10\n"
    "include='-Iinclude -Iinclude/cpu'\n"
    "[ \"$(uname -m)\" != x86_64 ] || calls='-fcf-protection=none -mindirect-branch=thunk-extern'\n"
    "rename() { sed 's/.*/& gate_&/' lib/gated >out/renamed$2 && "
    "awk 'BEGIN { print \"none\" } $2 ~ /^[BDGRS]$/ { print $1 }' out/symbols$2 >out/variables$2 "
    "&& "
    "objcopy --redefine-syms=out/renamed$2 --localize-symbols=out/variables$2 out/$1.o; }\n"
    "{ watched=$(cat lib/cxxflags-watched); "
    "g++ $watched $include -E out/unit.cpp -o out/watched.ii && "
    "g++ ${watched%-include*} $calls -c out/watched.ii -o out/watched.o && "
    "nm -P out/watched.o >out/symbols-watched && rename watched -watched; } 2>/dev/null &\n"
    "plain=$(cat lib/cxxflags)\n"
    "g++ $plain $include -E -MD -MF out/deps out/unit.cpp -o out/unit.ii || exit 11\n"
    "g++ ${plain%-include*} $calls -S out/unit.ii -o out/unit.s || exit 11\n"
    "g++ -c out/unit.s -o out/unit.o && nm -P -l out/unit.o >out/symbols && "
    "readelf -SW out/unit.o >out/sections && rename unit && wait $! || exit 12\n"
    "cp include/cpu/cudev/watching.h out/watching\n"
    "cat include/cpu/cudev/[!w]*.h >out/device; nm -P lib/librun-*.a lib/call-*.o 2>/dev/null | "
    "awk '$2 ~ /[TDBRVW]/ { print $1 }' >out/runner; cp lib/gated out/gated\n"
    "link='g++ -static -no-pie -Wl,-z,relro,-z,now '$(cat lib/wrapped)\n"
    "$link -Wl,-u,cudev_write_profile out/watched.o lib/border-cpu.o lib/call-cpu.o "
    "lib/librun-cpu.a "
    "lib/libcpu.a -lpthread -lm -o out/watched || exit 13\n";
static const char cpu_link[] =
    "$link out/unit.o lib/border-cpu.o lib/call-cpu.o lib/librun-cpu.a lib/libcpu.a -lpthread -lm "
    "-o out/program || "
    "exit 13\n";
static const char gpu_link[] =
    "cuda=$(dirname \"$(dirname \"$(readlink -f \"$(command -v nvcc)\")\")\")\n"
    "nvcc -std=c++17 -O3 -lineinfo -arch=\"$2\" -Iinclude -c \"$1\" -o out/gpu.o || exit 11\n"
    "nm -P out/gpu.o >out/symbols-gpu\n"
    "g++ -no-pie $(cat lib/wrapped) out/gpu.o lib/call-cuda.o lib/librun-cuda.a -L\"$cuda/lib64\" "
    "-lcudart_static -lpthread -ldl -lrt -o out/program || exit 13\n";

>>>>>>> main
const char* lesson_function(const char* lesson) {
    const char* underscore = strchr(lesson, '_');
    return underscore ? underscore + 1 : lesson;
}

<<<<<<< HEAD
=======
// ---- hashes

static int hash_file(SHA2_CTX* hash, const char* path) {
    size_t size;
    char* data = file_read(path, (size_t)64 << 20, &size);
    if (!data) return -1;
    SHA256Update(hash, (const uint8_t*)path, strlen(path) + 1);
    SHA256Update(hash, (const uint8_t*)&size, sizeof size);
    SHA256Update(hash, (const uint8_t*)data, size);
    free(data);
    return 0;
}

int build_fingerprint(const char* lesson, char hex[65]) {
    const char* const rooms[] = {"grader/base/*.[ch]",
                                 "grader/check/*.[ch]",
                                 "grader/wall/*.[ch]",
                                 "grader/run/*.[chS]",
                                 "grader/run/wrapped",
                                 "grader/run/gated",
                                 "grader/cpu/device/*.[ch]",
                                 "grader/cpu/rewrite/*.[ch]",
                                 "grader/cpu/watch/*.[ch]",
                                 "grader/cpu/cxxflags*",
                                 "grader/cpu/include/*.h",
                                 "grader/cpu/include/*/*.h",
                                 "grader/attention/*.[ch]",
                                 "grader/formula/*.[ch]",
                                 "grader/report/*.[ch]",  // the sum of the points
                                 "grader/[0-9]*/*.h",     // lessons share cases
                                 "lessons/*.h",
                                 NULL};
    char pattern[512];
    glob_t files = {0};
    for (int i = 0; rooms[i]; i++) glob(rooms[i], i ? GLOB_APPEND : 0, NULL, &files);
    // With tiles.h, which make tune rewrites: a kernel that includes it is another with other tiles.
    snprintf(pattern, sizeof pattern, "lessons/%s/*.h", lesson);
    glob(pattern, GLOB_APPEND, NULL, &files);
    static const char* const own[] = {"check.c", "forward.c", "call.c"};  // bench.c grades nothing
    for (int i = 0; i < 3; i++) {
        snprintf(pattern, sizeof pattern, "grader/%s/%s", lesson, own[i]);
        glob(pattern, GLOB_APPEND, NULL, &files);
    }
    SHA2_CTX hash;
    SHA256Init(&hash);
    int result = 0;
    for (size_t i = 0; i < files.gl_pathc && result == 0; i++)
        result = hash_file(&hash, files.gl_pathv[i]);
    globfree(&files);
    SHA256End(&hash, hex);
    return result;
}

// ---- the scratch directory

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

// Everything a compile needs and nothing else. 0 or -1 with errno.
static int fill_scratch(const char* work, const struct build_request* q, const char* shown,
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
    if (copy_matching(work, "lessons/*.h", "include/") != 0 ||
        copy_matching(work, contract, "include/") != 0 ||
        copy_matching(work, "grader/cpu/include/*.h", "include/cpu/") != 0 ||
        copy_matching(work, "grader/cpu/include/cudev/*.h", "include/cpu/cudev/") != 0 ||
        copy_into(work, BUILD_FOLDER "/cpu/rewrite", "lib/", 0755) != 0 ||
        copy_into(work, "grader/cpu/cxxflags", "lib/", 0644) != 0 ||
        copy_into(work, "grader/cpu/cxxflags-watched", "lib/", 0644) != 0 ||
        copy_into(work, "grader/run/wrapped", "lib/", 0644) != 0 ||
        copy_into(work, "grader/run/gated", "lib/", 0644) != 0 ||
        copy_into(work, BUILD_FOLDER "/grader/run/border-cpu.o", "lib/", 0644) != 0 ||
        copy_into(work, BUILD_FOLDER "/libcpu.a", "lib/", 0644) != 0 ||
        copy_runner(work, q, "cpu") != 0)
        return -1;
    return q->gpu ? copy_runner(work, q, "cuda") : 0;
}

>>>>>>> main
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

// True if b is now what was built before.
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
    char* work = file_scratch();
    int result = -1;
    if (work && (!build_has_kernel(lesson) || fill_scratch(work, &q, "none", "", 0) == 0))
        result = cache_key(work, "", hex);
    if (work) file_scratch_remove(work);
    return result;
}
