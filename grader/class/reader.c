// reader.c: `class archive`, the program that reads a student's archive. It runs behind the wall
// (archive.c), because libarchive's decoders get bytes that strangers chose. The archive is never
// unpacked: its paths, links and devices have no effect. See class.h.
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"
#include "wall/arena.h"

// A few kilobytes can hold gigabytes: an archive with more than this is no homework.
enum { MOST_BYTES = 256 << 20, MOST_ENTRIES = 20000 };

static bool tell(FILE* to, enum told kind, const char* name, const void* data, size_t size) {
    struct told_head head = {
        .kind = kind, .name_size = (uint32_t)strlen(name), .size = (uint32_t)size};
    return fwrite(&head, sizeof head, 1, to) == 1 &&
           fwrite(name, 1, head.name_size, to) == head.name_size &&
           (size == 0 || fwrite(data, 1, size, to) == size);
}

// Skips an entry, and counts its bytes. False if the archive is broken or too large.
static bool skip(struct archive* a, size_t* bytes) {
    const void* block;
    size_t size;
    int64_t offset;
    int r;
    while ((r = archive_read_data_block(a, &block, &size, &offset)) == ARCHIVE_OK)
        if ((*bytes += size) > MOST_BYTES) return false;
    return r == ARCHIVE_EOF;
}

static bool is_asked(const char* name, const char* const* asked) {
    const char* slash = strrchr(name, '/');
    bool found = !asked[0];
    for (; *asked; asked++) found |= !strcmp(slash ? slash + 1 : name, *asked);
    return found && strlen(name) < TOLD_NAME;
}

void archive_tell(int fd, size_t limit, const char* const* asked, FILE* to) {
    struct archive* a = archive_read_new();
    char* data = malloc(limit);
    size_t bytes = 0;
    int entries = 0, r = ARCHIVE_FATAL;
    bool fine = a && data;
    if (fine) {
        // No other filters: libarchive starts programs for some of them.
        archive_read_support_filter_gzip(a);
        archive_read_support_filter_bzip2(a);
        archive_read_support_filter_xz(a);
        archive_read_support_format_zip(a);
        archive_read_support_format_tar(a);
        archive_read_support_format_gnutar(a);
        fine = archive_read_open_fd(a, fd, 1 << 16) == ARCHIVE_OK;
    }
    struct archive_entry* e;
    // At most one layer of compression: with more of them a few bytes become gigabytes.
    fine = fine && archive_filter_count(a) <= 2;
    while (fine && (r = archive_read_next_header(a, &e)) >= ARCHIVE_WARN && r != ARCHIVE_EOF) {
        const char* name = archive_entry_pathname(e);
        bool regular = archive_entry_filetype(e) == S_IFREG && !archive_entry_hardlink(e);
        bool large = archive_entry_size(e) > (int64_t)limit;
        fine = ++entries <= MOST_ENTRIES;
        if (!name || !is_asked(name, asked) || !regular || large) {
            if (name && is_asked(name, asked) && archive_entry_filetype(e) != S_IFDIR)
                fine = fine && tell(to, regular ? TOLD_LARGE : TOLD_SPECIAL, name, NULL, 0);
            fine = fine && skip(a, &bytes);
            continue;
        }
        la_ssize_t size = 0, n = 0;
        while ((size_t)size < limit &&
               (n = archive_read_data(a, data + size, limit - (size_t)size)) > 0)
            size += n;
        bytes += (size_t)size;
        bool fits = (size_t)size < limit;
        fine = n >= 0 && bytes <= MOST_BYTES &&
               tell(to, fits ? TOLD_FILE : TOLD_LARGE, name, data, fits ? (size_t)size : 0);
    }
    bool whole = fine && r == ARCHIVE_EOF && entries > 0;
    bool most = entries > MOST_ENTRIES || bytes > MOST_BYTES;
    tell(to, whole ? TOLD_WHOLE : most ? TOLD_TOO_MUCH : TOLD_BROKEN, "", NULL, 0);
    free(data);
    archive_read_free(a);
}

int archive_main(char** asked) {
    FILE* to = fopen(TOLD_FILE_NAME, "wex");
    if (!to) return 1;
    archive_tell(ARENA_FD, SIZE_LIMIT, (const char* const*)asked, to);
    return fclose(to) == 0 ? 0 : 1;
}
