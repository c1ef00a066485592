// archive.c: the files in a student's archive, as the program behind the wall tells them
// (reader.c). What it says is believed no more than the archive: whoever takes over the reader gets
// nothing but another file of the same student into the class. See class.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class/told.h"
#include "wall/cache.h"
#include "wall/scratch.h"
#include "wall/wall.h"

enum { SECONDS = 20, MEMORY_MB = 512, MOST_TOLD = 256 << 20 };

static const char broken[] = "no archive, or a broken one";
static const char too_large[] = "an archive that is far too large";

bool told_each(const char* told, size_t size, told_take take, void* to, char why[WHY_SIZE]) {
    snprintf(why, WHY_SIZE, "%s", broken);
    for (size_t at = 0; size - at >= sizeof(struct told_head);) {
        struct told_head head;
        char name[TOLD_NAME];
        memcpy(&head, told + at, sizeof head);
        at += sizeof head;
        if (head.name_size >= TOLD_NAME || head.size >= SIZE_LIMIT) return false;
        if (size - at < (size_t)head.name_size + head.size) return false;
        memcpy(name, told + at, head.name_size);
        name[head.name_size] = '\0';
        at += head.name_size;
        if (head.kind == TOLD_WHOLE) return true;
        if (head.kind == TOLD_TOO_MUCH) snprintf(why, WHY_SIZE, "%s", too_large);
        if (head.kind > TOLD_WHOLE) return false;
        take(to, (enum told)head.kind, name, head.time, told + at, head.size);
        at += head.size;
    }
    return false;
}

// Reads what the program left in its folder, which may be anything. The caller frees it; NULL if it
// is no file.
static char* read_told(const char* work, size_t* size) {
    struct stat st;
    int folder = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(folder, TOLD_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char* told = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_TOLD &&
        (told = malloc((size_t)st.st_size + 1))) {
        ssize_t n;
        for (*size = 0; *size < (size_t)st.st_size &&
                        (n = read(fd, told + *size, (size_t)st.st_size - *size)) > 0;)
            *size += (size_t)n;
    }
    if (fd >= 0) close(fd);
    if (folder >= 0) close(folder);
    return told;
}

bool archive_each(const struct class* class, int fd, told_take take, void* to, char why[WHY_SIZE]) {
    static int program = -1;
    const char* argv[LESSONS + 4] = {"class", "archive", METADATA_FILE};
    for (int l = 0; l < class->lessons; l++) argv[3 + l] = class->lesson[l].file;
    char* work = scratch_make();
    if (program < 0) program = cache_load_program("/proc/self/exe");
    if (!work || program < 0)
        class_refuse("no folder or no memory to read an archive: %s", strerror(errno));
    struct wall_job job = {.argv = argv,
                           .program = program,
                           .arena = fd,
                           .work = work,
                           .seconds = SECONDS,
                           .memory = (size_t)MEMORY_MB << 20};
    struct wall_result r = wall_run((enum wall_level)wall_level_from_name(class->isolation), &job);
    if (r.end == WALL_FAILED)
        class_refuse("the program that reads archives cannot be started: %s", strerror(r.code));
    size_t size = 0;
    char* told = read_told(work, &size);
    bool whole = told && told_each(told, size, take, to, why);
    if (!told) snprintf(why, WHY_SIZE, "%s", broken);
    if (r.end == WALL_TIMEOUT || r.end == WALL_MEMORY) snprintf(why, WHY_SIZE, "%s", too_large);
    free(told);
    free(r.output);
    scratch_remove(work);
    return whole && r.end == WALL_EXITED && r.code == 0;
}
