// cache.c: programs that were built before. See cache.h.
#include "wall/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "wall/wall.h"

enum { LARGEST_FILE = 256 << 20, MEMFD_EXEC = 0x10 };

// ---- the key

int cache_hash_file(SHA2_CTX* hash, const char* path, const char* name) {
    size_t size;
    char* data = file_read(path, LARGEST_FILE, &size);
    if (!data) return -1;
    SHA256Update(hash, (const uint8_t*)name, strlen(name) + 1);
    SHA256Update(hash, (const uint8_t*)&size, sizeof size);
    SHA256Update(hash, (const uint8_t*)data, size);
    free(data);
    return 0;
}

static int by_name(const FTSENT** a, const FTSENT** b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int hash_folder(SHA2_CTX* hash, const char* folder) {
    char* const paths[] = {(char*)folder, NULL};
    FTS* walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!walk) return -1;
    int result = 0;
    for (FTSENT* e; result == 0 && (e = fts_read(walk));)
        if (e->fts_info == FTS_F)
            result = cache_hash_file(hash, e->fts_path, e->fts_path + strlen(folder));
    fts_close(walk);
    return result;
}

// The compiler that the scratch folder's shell runs by this name, the first in WALL_PATH, by its
// size and time.
static void hash_compiler(SHA2_CTX* hash, const char* name) {
    static const char folders[] = WALL_PATH;
    int64_t identity[2] = {0};
    for (const char* p = folders; *p; p += *p == ':') {
        size_t n = strcspn(p, ":");
        char candidate[PATH_MAX];
        struct stat st;
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)n, p, name);
        p += n;
        if (access(candidate, X_OK) != 0 || stat(candidate, &st) != 0) continue;
        identity[0] = st.st_size;
        identity[1] = st.st_mtime;
        break;
    }
    SHA256Update(hash, (const uint8_t*)identity, sizeof identity);
}

int cache_key(const char* work, const char* more, char hex[65]) {
    SHA2_CTX hash;
    glob_t files;
    SHA256Init(&hash);
    int result = hash_folder(&hash, work);
    if (glob("grader/wall/inspect*.[ch]", 0, NULL, &files) != 0) return -1;
    for (size_t i = 0; i < files.gl_pathc && result == 0; i++)
        result = cache_hash_file(&hash, files.gl_pathv[i], files.gl_pathv[i]);
    globfree(&files);
    hash_compiler(&hash, "g++");
    hash_compiler(&hash, "nvcc");
    SHA256Update(&hash, (const uint8_t*)more, strlen(more));
    SHA256End(&hash, hex);
    return result;
}

// ---- what is kept: KEY.program, KEY.watched, KEY.log, KEY.unset if a variable has no value, and
// KEY.no_return, with its place, if a function returns none; KEY.program is written last

static void name_entry(char path[160], const char* key, const char* part) {
    snprintf(path, 160, "build/cache/%s.%s", key, part);
}

int cache_load_program(const char* path) {
    size_t size;
    char* data = file_read(path, LARGEST_FILE, &size);
    if (!data) return -1;
    // Hardened kernels make a memfd executable only when asked; older ones do not know the flag.
    int fd = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING | MEMFD_EXEC);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // Nobody who runs it may change it for the next case.
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (fd >= 0 && (file_write_all(fd, data, size) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0)) {
        close(fd);
        fd = -1;
    }
    free(data);
    return fd;
}

bool cache_fetch(const char* key, struct cache_entry* entry) {
    char path[160];
    size_t size;
    name_entry(path, key, "log");
    entry->log = file_read(path, WALL_OUTPUT, &size);
    name_entry(path, key, "program");
    entry->program = entry->log ? cache_load_program(path) : -1;
    if (entry->program >= 0) utimensat(AT_FDCWD, path, NULL, 0);  // it is in use
    name_entry(path, key, "watched");
    entry->watched = entry->program < 0 ? -1 : cache_load_program(path);
    name_entry(path, key, "unset");
    entry->unset = access(path, F_OK) == 0;
    name_entry(path, key, "no_return");
    entry->no_return = file_read(path, WALL_OUTPUT, &size);
    if (entry->watched >= 0) return true;
    if (entry->program >= 0) close(entry->program);
    free(entry->log), free(entry->no_return);
    *entry = (struct cache_entry){.program = -1, .watched = -1};
    return false;
}

// ---- what is forgotten

struct kept {
    char* name;  // of KEY.program, owned by the glob
    struct timespec used;
    int64_t bytes;  // with KEY.watched
};

static int older_first(const void* a, const void* b) {
    const struct timespec *x = &((const struct kept*)a)->used, *y = &((const struct kept*)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void forget(const struct kept* entry) {
    static const char* const parts[] = {"program", "watched", "log", "unset", "no_return"};
    char key[65], path[160];
    snprintf(key, sizeof key, "%.64s", strrchr(entry->name, '/') + 1);
    key[strcspn(key, ".")] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        name_entry(path, key, parts[i]);
        unlink(path);
    }
}

static int64_t limit(void) {
    const char* asked = getenv("COURSE_CACHE_MB");
    int64_t megabytes = asked ? strtoll(asked, NULL, 10) : 0;
    return (megabytes > 0 ? megabytes : 1024) << 20;
}

static void prune(void) {
    glob_t files;
    int64_t bytes = 0;
    if (glob("build/cache/*.program", 0, NULL, &files) != 0) return;
    struct kept* kept = calloc(files.gl_pathc, sizeof *kept);
    for (size_t i = 0; kept && i < files.gl_pathc; i++) {
        struct stat st = {0};
        kept[i].name = files.gl_pathv[i];
        if (stat(kept[i].name, &st) != 0) continue;
        kept[i].used = st.st_mtim;
        kept[i].bytes = 2 * st.st_size;  // the watched program is about as large
        bytes += kept[i].bytes;
    }
    if (kept && bytes > limit()) {
        qsort(kept, files.gl_pathc, sizeof *kept, older_first);
        // Down to three quarters, so that not every store has to look again.
        for (size_t i = 0; i < files.gl_pathc && bytes > limit() / 4 * 3; i++) {
            forget(&kept[i]);
            bytes -= kept[i].bytes;
        }
    }
    free(kept);
    globfree(&files);
}

// A part that is a text; none if it is NULL.
static bool store_text(const char* key, const char* part, const char* text) {
    char path[160];
    name_entry(path, key, part);
    return !text || file_write(path, text, strlen(text), 0600) == 0;
}

void cache_store(const char* key, const char* out, const struct cache_entry* entry) {
    char path[160], built[PATH_MAX];
    mkdir("build/cache", 0700);
    if (!store_text(key, "log", entry->log) ||
        !store_text(key, "unset", entry->unset ? "" : NULL) ||
        !store_text(key, "no_return", entry->no_return))
        return;
    name_entry(path, key, "watched");
    snprintf(built, sizeof built, "%s/watched", out);
    bool whole = file_copy(built, path, 0600) == 0;
    name_entry(path, key, "program");
    snprintf(built, sizeof built, "%s/program", out);
    whole = whole && file_copy(built, path, 0600) == 0;
    if (!whole) unlink(path);
    prune();
}
