// file.c: whole files and scratch directories. See file.h.
#include "wall/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char* file_read(const char* path, size_t limit, size_t* size) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    struct stat st;
    int error = 0;
    char* data = NULL;
    size_t have = 0;
    if (fstat(fd, &st) != 0)
        error = errno;
    else if (S_ISDIR(st.st_mode))
        error = EISDIR;
    else if (!S_ISREG(st.st_mode))
        error = EINVAL;
    else if ((size_t)st.st_size > limit)
        error = EFBIG;
    else if (!(data = malloc((size_t)st.st_size + 1)))
        error = ENOMEM;
    while (!error && have < (size_t)st.st_size) {
        ssize_t n = read(fd, data + have, (size_t)st.st_size - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) error = errno;
        if (n <= 0) break;
        have += (size_t)n;
    }
    close(fd);
    if (error) {
        free(data);
        errno = error;
        return NULL;
    }
    data[have] = '\0';
    *size = have;
    return data;
}

static int write_all(int fd, const char* data, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int file_write(const char* path, const void* data, size_t size, int mode) {
    char* temporary;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0) return -1;
    int fd = mkostemp(temporary, O_CLOEXEC);
    int result = fd < 0 ? -1 : write_all(fd, data, size);
    if (fd >= 0) {
        if (fchmod(fd, (mode_t)mode) != 0) result = -1;
        if (close(fd) != 0) result = -1;
        if (result == 0) result = rename(temporary, path);
        if (result != 0) {
            int error = errno;
            unlink(temporary);
            errno = error;
        }
    }
    free(temporary);
    return result;
}

int file_copy(const char* from, const char* to, int mode) {
    size_t size;
    char* data = file_read(from, (size_t)1 << 30, &size);
    if (!data) return -1;
    int result = file_write(to, data, size, mode);
    free(data);
    return result;
}

int file_make_parents(const char* path) {
    char* copy = strdup(path);
    if (!copy) return -1;
    int result = 0;
    for (char* slash = strchr(copy + 1, '/'); slash && result == 0;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) != 0 && errno != EEXIST) result = -1;
        *slash = '/';
    }
    free(copy);
    return result;
}

// One scratch directory at a time is enough for a grade; the signal handler and atexit need its name.
static char scratch[4096];
static pid_t scratch_owner;

static int remove_entry(const char* path, const struct stat* st, int type, struct FTW* ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_scratch(void) {
    if (!scratch[0] || scratch_owner != getpid()) return;
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    scratch[0] = '\0';
}

static void remove_and_die(int signal_number) {
    // nftw allocates: not promised to be safe here, but the process is ending and nothing else runs
    // while a scratch directory exists (only waits for the compiler).
    remove_scratch();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

char* file_scratch(void) {
    const char* base = getenv("TMPDIR");
    if (!base || base[0] != '/') base = "/tmp";
    snprintf(scratch, sizeof scratch, "%s/grade.XXXXXX", base);
    if (!mkdtemp(scratch)) {
        scratch[0] = '\0';
        return NULL;
    }
    scratch_owner = getpid();
    static int registered;
    if (!registered) {
        registered = 1;
        atexit(remove_scratch);
        signal(SIGINT, remove_and_die);
        signal(SIGTERM, remove_and_die);
        signal(SIGHUP, remove_and_die);
    }
    return strdup(scratch);
}

void file_scratch_remove(char* path) {
    remove_scratch();
    free(path);
}
