// reader.c: `class archive`, the program that reads a student's archive. It runs behind the wall
// (archive.c), because libarchive's decoders get bytes that strangers chose. The archive is never
// unpacked: its paths, links and devices have no effect. See class.h.
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "class/told.h"
#include "wall/arena.h"

// A few kilobytes can hold gigabytes: an archive with more than this is no homework. At most
// DEEPEST archives lie in each other, of MOST_INNER bytes; MOST_TAKEN bytes may be asked for.
enum {
    MOST_BYTES = 256 << 20,
    MOST_TAKEN = 32 << 20,
    MOST_ENTRIES = 20000,
    DEEPEST = 3,
    MOST_INNER = 64 << 20
};

// What is being read, with all archives in it.
struct reading {
    FILE* to;
    const char* const* asked;
    size_t limit, bytes, taken;
    int entries;
};

static bool tell(const struct reading* r, enum told kind, const char* name, int64_t time,
                 const void* data, size_t size) {
    struct told_head head = {
        .kind = kind, .name_size = (uint32_t)strlen(name), .size = (uint32_t)size, .time = time};
    return fwrite(&head, sizeof head, 1, r->to) == 1 &&
           fwrite(name, 1, head.name_size, r->to) == head.name_size &&
           (size == 0 || fwrite(data, 1, size, r->to) == size);
}

static bool too_much(const struct reading* r) {
    return r->entries > MOST_ENTRIES || r->bytes > MOST_BYTES || r->taken > MOST_TAKEN;
}

// Skips an entry, and counts its bytes. False if the archive is broken or too large.
static bool skip(struct archive* a, struct reading* r) {
    const void* block;
    size_t size;
    int64_t offset;
    int end;
    while ((end = archive_read_data_block(a, &block, &size, &offset)) == ARCHIVE_OK) {
        r->bytes += size;
        if (too_much(r)) return false;
    }
    return end == ARCHIVE_EOF;
}

// Reads an entry of fewer than `limit` bytes. *size is limit if it has more. The caller frees the
// data; NULL if the archive is broken.
static char* read_entry(struct archive* a, struct reading* r, size_t limit, size_t* size) {
    size_t room = 0;
    char* data = NULL;
    la_ssize_t n = 0;
    *size = 0;
    do {
        if (room - *size < 4096) {
            room = 2 * room + (1 << 16) < limit ? 2 * room + (1 << 16) : limit;
            char* grown = realloc(data, room + 1);
            if (!grown) break;
            data = grown;
        }
        n = archive_read_data(a, data + *size, room - *size);
        if (n > 0) *size += (size_t)n;
    } while (n > 0 && *size < limit);
    r->bytes += *size;
    if (n >= 0 && !too_much(r)) return data;
    free(data);
    return NULL;
}

static enum like is_asked(const struct reading* r, const char* name) {
    enum like like = r->asked[0] ? LIKE_NOT : LIKE_NAME;
    for (const char* const* a = r->asked; *a; a++) {
        const enum like now = file_may_be(name, *a);
        like = now > like ? now : like;
    }
    return like;
}

// The name, UTF-8 where the archive says so, else the bytes that it has.
static const char* name_of(struct archive_entry* e) {
    const char* name = archive_entry_pathname(e);
    if (!name) name = archive_entry_pathname_utf8(e);
    return name && strlen(name) < TOLD_NAME / 2 ? name : NULL;
}

static struct archive* new_archive(void) {
    struct archive* a = archive_read_new();
    if (!a) return NULL;
    // No other filters: libarchive starts programs for some of them.
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_gnutar(a);
    return a;
}

static bool tell_entries(struct reading* r, struct archive* a, const char* prefix, int64_t time,
                         int depth);

// Reads the archive that this entry is, told as a folder of its name.
static bool tell_inner(struct reading* r, struct archive* a, const char* path, int64_t time,
                       int depth) {
    size_t size, entries = (size_t)r->entries;
    char inside[TOLD_NAME + 2];
    char* data = read_entry(a, r, MOST_INNER, &size);
    if (!data) return false;
    struct archive* inner = size < MOST_INNER ? new_archive() : NULL;
    snprintf(inside, sizeof inside, "%s/", path);
    bool whole = inner && archive_read_open_memory(inner, data, size) == ARCHIVE_OK &&
                 tell_entries(r, inner, inside, time, depth + 1) && (size_t)r->entries > entries;
    if (inner) archive_read_free(inner);
    free(data);
    if (too_much(r)) return false;
    return whole || tell(r, TOLD_INNER, path, time, NULL, 0);
}

static bool tell_entry(struct reading* r, struct archive* a, struct archive_entry* e,
                       const char* prefix, int64_t time, int depth) {
    char path[TOLD_NAME];
    const char* name = name_of(e);
    if (!time && archive_entry_mtime_is_set(e)) time = (int64_t)archive_entry_mtime(e);
    if (snprintf(path, sizeof path, "%s%s", prefix, name ? name : "?") >= (int)sizeof path)
        name = NULL;
    if (archive_entry_filetype(e) == S_IFDIR) return skip(a, r);
    if (archive_entry_filetype(e) != S_IFREG || archive_entry_hardlink(e) || !name)
        return tell(r, name ? TOLD_SPECIAL : TOLD_NAMELESS, path, time, NULL, 0) && skip(a, r);
    if (archive_entry_is_encrypted(e)) return tell(r, TOLD_LOCKED, path, time, NULL, 0);
    bool inner = path[without_ending(path, archive_endings)];
    if (inner && depth < DEEPEST) return tell_inner(r, a, path, time, depth);
    if (inner) return tell(r, TOLD_DEEP, path, time, NULL, 0) && skip(a, r);
    // What has another name is told as long as there is room: a library's kernels are no homework.
    const enum like like = is_asked(r, path);
    const bool fills = archive_entry_size(e) >= (int64_t)r->limit || r->taken > MOST_TAKEN / 4;
    if (like == LIKE_NOT || (like == LIKE_KIND && fills))
        return tell(r, TOLD_OTHER, path, time, NULL, 0) && skip(a, r);
    if (archive_entry_size(e) >= (int64_t)r->limit)
        return tell(r, TOLD_LARGE, path, time, NULL, 0) && skip(a, r);
    size_t size;
    char* data = read_entry(a, r, r->limit, &size);
    if (!data) return false;
    bool fits = size < r->limit;
    r->taken += size;
    bool fine =
        !too_much(r) && tell(r, fits ? TOLD_FILE : TOLD_LARGE, path, time, data, fits ? size : 0);
    free(data);
    return fine;
}

// False if the archive cannot be read to its end. time: of all in it, if it is an archive in an
// archive; 0: each entry's own.
static bool tell_entries(struct reading* r, struct archive* a, const char* prefix, int64_t time,
                         int depth) {
    struct archive_entry* e;
    int end = ARCHIVE_FATAL;
    // At most one layer of compression: with more of them a few bytes become gigabytes.
    bool fine = archive_filter_count(a) <= 2;
    while (fine && (end = archive_read_next_header(a, &e)) >= ARCHIVE_WARN && end != ARCHIVE_EOF) {
        r->entries++;
        fine = !too_much(r) && tell_entry(r, a, e, prefix, time, depth);
    }
    return fine && end == ARCHIVE_EOF;
}

void archive_tell(int fd, size_t limit, const char* const* asked, FILE* to) {
    struct reading r = {.to = to, .asked = asked, .limit = limit};
    struct archive* a = new_archive();
    // Without it libarchive has no names that are UTF-8 by the archive's own word.
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "en_US.UTF-8");
    bool whole = a && archive_read_open_fd(a, fd, 1 << 16) == ARCHIVE_OK &&
                 tell_entries(&r, a, "", 0, 0) && r.entries > 0;
    tell(&r, whole ? TOLD_WHOLE : too_much(&r) ? TOLD_TOO_MUCH : TOLD_BROKEN, "", 0, NULL, 0);
    archive_read_free(a);
}

int archive_main(char** asked) {
    FILE* to = fopen(TOLD_FILE_NAME, "wex");
    if (!to) return 1;
    archive_tell(ARENA_FD, SIZE_LIMIT, (const char* const*)asked, to);
    return fclose(to) == 0 ? 0 : 1;
}
