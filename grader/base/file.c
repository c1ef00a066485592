// file.c: whole files. See file.h.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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

int file_write_all(int fd, const char* data, size_t size) {
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
    int result = fd < 0 ? -1 : file_write_all(fd, data, size);
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
