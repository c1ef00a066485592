// archive.c: the files in an archive, read and never unpacked: its paths, links and devices have no
// effect here.
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

#include "class/class.h"

// A few kilobytes can hold gigabytes: an archive with more than this is no homework.
enum { MOST_BYTES = 256 << 20, MOST_ENTRIES = 20000 };

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

bool archive_each(const char* path, size_t limit,
                  void (*take)(void* to, const char* name, const void* data, size_t size), void* to,
                  char why[WHY_SIZE]) {
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
        fine = archive_read_open_filename(a, path, 1 << 16) == ARCHIVE_OK;
    }
    struct archive_entry* e;
    // At most one layer of compression: with more of them a few bytes become gigabytes.
    fine = fine && archive_filter_count(a) <= 2;
    while (fine && (r = archive_read_next_header(a, &e)) >= ARCHIVE_WARN && r != ARCHIVE_EOF) {
        const char* name = archive_entry_pathname(e);
        bool regular = archive_entry_filetype(e) == S_IFREG && !archive_entry_hardlink(e);
        fine = ++entries <= MOST_ENTRIES;
        bool large = archive_entry_size(e) > (int64_t)limit;
        if (!name || !regular || large) {
            if (name && archive_entry_filetype(e) != S_IFDIR)
                take(to, name, NULL, regular ? limit : 0);
            fine = fine && skip(a, &bytes);
            continue;
        }
        la_ssize_t size = 0, n = 0;
        while ((size_t)size < limit &&
               (n = archive_read_data(a, data + size, limit - (size_t)size)) > 0)
            size += n;
        bytes += (size_t)size;
        if (n < 0 || bytes > MOST_BYTES) {
            fine = false;
        } else {
            take(to, name, (size_t)size < limit ? data : NULL, (size_t)size);
        }
    }
    bool whole = fine && r == ARCHIVE_EOF && entries > 0;
    if (!whole)
        snprintf(why, WHY_SIZE, "%s",
                 entries > MOST_ENTRIES || bytes > MOST_BYTES ? "an archive that is far too large"
                                                              : "no archive, or a broken one");
    free(data);
    archive_read_free(a);
    return whole;
}
