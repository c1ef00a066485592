// told.h: what the reader of archives tells (reader.c), and who asks it (archive.c). See class.h.
#ifndef CLASS_TOLD_H
#define CLASS_TOLD_H

#include "class/class.h"

// ---- reader.c

// What the reader tells of an archive, in the file TOLD_FILE_NAME of its folder: a head for each
// file, its name, and its `size` bytes if it is TOLD_FILE; at the end a head that says whether the
// archive was read to its end. An archive in it is told as a folder of its name.
enum told {
    TOLD_FILE,
    TOLD_OTHER,     // a file that is not asked for
    TOLD_LARGE,     // not less than SIZE_LIMIT
    TOLD_SPECIAL,   // a link, a device
    TOLD_LOCKED,    // with a password
    TOLD_INNER,     // an archive that cannot be read to its end
    TOLD_NAMELESS,  // its name cannot be read
    TOLD_DEEP,      // an archive, in more others than are opened
    TOLD_WHOLE,     // the end
    TOLD_BROKEN,    // the end, and not the archive's
    TOLD_TOO_MUCH   // likewise: too many files, or too much in them
};
struct told_head {
    uint32_t kind, name_size, size;
    int64_t time;  // seconds since 1970; 0: unknown
};
#define TOLD_FILE_NAME "told"
typedef void (*told_take)(void* to, enum told kind, const char* name, int64_t time,
                          const void* data, size_t size);

// Tells the archive that fd has open: of its files that may be one of those asked (file_may_be();
// ends with NULL; without one all), those with less than `limit` bytes whole.
void archive_tell(int fd, size_t limit, const char* const* asked, FILE* to);

// `class archive NAME...`: the archive is descriptor ARENA_FD. Returns the exit status.
int archive_main(char** asked);

// ---- archive.c

// Has the archive that fd has open read behind the wall, and calls take() for every file in it:
// name is as the archive has it. data belongs to the archive, and has size bytes if kind is
// TOLD_FILE, else none. Returns false, with the reason in why, if this is no such archive, is
// broken, or takes too much time or memory.
bool archive_each(const struct class* class, int fd, told_take take, void* to, char why[WHY_SIZE]);

// The same of what the reader has told.
bool told_each(const char* told, size_t size, told_take take, void* to, char why[WHY_SIZE]);

#endif
