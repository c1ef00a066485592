// file.h: whole files, for the trusted side.
#ifndef FILE_H
#define FILE_H

#include <stddef.h>

// Where make puts what it builds, seen from the repository's root: build/debug with BUILD=debug.
#ifndef BUILD_FOLDER
#define BUILD_FOLDER "build"
#endif

// Reads a regular file of at most `limit` bytes; the result ends with a NUL that *size does not
// count, and is the caller's to free. NULL with errno: EISDIR, EFBIG, EINVAL (not a regular
// file)...
char* file_read(const char* path, size_t limit, size_t* size);

// Writes a file whole, or leaves the old one: a temporary beside it, then rename. 0 or -1.
int file_write(const char* path, const void* data, size_t size, int mode);

// Writes all of the data to a descriptor. 0, or -1 with errno.
int file_write_all(int fd, const char* data, size_t size);

// Copies `from` to `to`. 0 or -1 with errno.
int file_copy(const char* from, const char* to, int mode);

// Creates every directory on the way to `path` (not the last component). 0 or -1.
int file_make_parents(const char* path);

#endif
