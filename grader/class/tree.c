// tree.c: all that was handed in, as one list of entries: SUBMISSIONS with the archives in it, read
// like folders. See class.h.
//
// Names come from strangers: nothing is ever written to a path of theirs. Only regular files of at
// most SIZE_LIMIT bytes are read, and no link is followed.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class/told.h"

// Of one folder in SUBMISSIONS.
enum { DEEPEST = 12, MOST_ENTRIES = 20000, MOST_TAKEN = 64 << 20 };

#define unread "a %s archive cannot be read here; a .zip can"
static const char special[] = "not a regular file", large[] = "larger than 1 MiB";

struct tree_walk {
    struct class* class;
    int entries;  // of this folder
    size_t taken;
    bool git;  // a clone: its files have the time of cloning
};

static struct entry* add(struct class* class, enum entry_kind kind, const char* path) {
    if (class->entries % 256 == 0) {
        struct entry* grown = realloc(class->entry, (size_t)(class->entries + 256) * sizeof *grown);
        if (!grown) class_refuse("no memory for what was handed in");
        class->entry = grown;
    }
    struct entry* e = &class->entry[class->entries++];
    *e = (struct entry){.kind = kind, .path = strdup(path)};
    if (!e->path) class_refuse("no memory for what was handed in");
    return e;
}

static void add_bad(struct class* class, const char* path, int64_t time, const char* format, ...) {
    struct entry* e = add(class, ENTRY_BAD, path);
    va_list values;
    va_start(values, format);
    vsnprintf(e->why, sizeof e->why, format, values);
    va_end(values);
    e->time = time;
}

static enum like may_be(const struct class* class, const char* path) {
    enum like like = strcmp(base_name(path), METADATA_FILE) ? LIKE_NOT : LIKE_NAME;
    for (int l = 0; l < class->lessons; l++) {
        const enum like now = file_may_be(path, class->lesson[l].file);
        like = now > like ? now : like;
    }
    return like;
}

// ---- an archive

struct opened {
    struct tree_walk* walk;
    const char* prefix;   // "" or the archive's path and '/'
    const char* charset;  // of names that are no UTF-8
    int64_t time;         // the archive's; 0: those of its entries count
};

// The path in an archive without what leads nowhere or out of it: "/x", "./x", "../x", "d\x".
// True if there was a "..".
static bool clean_path(char* path) {
    bool climbs = false;
    char* to = path;
    bool windows = !strchr(path, '/');
    for (char* p = path; windows && *p; p++)
        if (*p == '\\') *p = '/';
    for (const char* from = path; *from;) {
        size_t n = strcspn(from, "/");
        const bool up = n == 2 && !strncmp(from, "..", 2);
        climbs |= up;
        if (n > 0 && !up && (n != 1 || from[0] != '.')) {
            if (to > path) *to++ = '/';
            memmove(to, from, n);
            to += n;
        }
        from += n + (from[n] == '/');
    }
    *to = '\0';
    return climbs;
}

static void take_told(void* to, enum told kind, const char* name, int64_t time, const void* data,
                      size_t size) {
    static const char* const why[] = {[TOLD_LARGE] = large,
                                      [TOLD_SPECIAL] = special,
                                      [TOLD_LOCKED] = "it is locked with a password",
                                      [TOLD_INNER] = "no archive, or a broken one",
                                      [TOLD_NAMELESS] = "a name that cannot be read",
                                      [TOLD_DEEP] = "an archive in too many others"};
    struct opened* o = to;
    struct class* class = o->walk->class;
    char path[2 * TOLD_NAME];
    char* utf8 = name_utf8(name, strlen(name), o->charset);
    const bool climbs = clean_path(utf8);
    snprintf(path, sizeof path, "%s%s", o->prefix, utf8);
    free(utf8);
    if (!path[strlen(o->prefix)]) return;
    const int first = class->entries;
    const bool closed = path[without_ending(path, closed_endings)];
    if (kind == TOLD_OTHER && closed) {
        add_bad(class, path, o->time ? o->time : time, unread, file_ending(path));
        class->entry[class->entries - 1].inner_time = time;
    } else if (kind == TOLD_FILE || kind == TOLD_OTHER) {
        bool wanted = kind == TOLD_FILE && may_be(class, path + strlen(o->prefix)) != LIKE_NOT;
        struct entry* e = add(class, wanted ? ENTRY_FILE : ENTRY_OTHER, path);
        if (wanted && !(e->data = malloc(size + 1))) class_refuse("no memory for a file");
        if (wanted) memcpy(e->data, data, size);
        e->size = size;
        e->time = o->time ? o->time : time;
        e->inner_time = time;
    } else {
        add_bad(class, path, o->time ? o->time : time, "%s", why[kind]);
        class->entry[class->entries - 1].inner_time = time;
    }
    class->entry[first].climbs = climbs;
}

static void open_archive(struct tree_walk* w, int fd, const char* path, int64_t time) {
    char why[WHY_SIZE] = "", prefix[TOLD_NAME];
    int place = w->class->entries;
    bool zip = has_ending(path, ".zip");
    snprintf(prefix, sizeof prefix, "%s%s", path, path[0] ? "/" : "");
    add(w->class, ENTRY_ARCHIVE, path)->time = time;
    struct opened o = {.walk = w,
                       .prefix = prefix,
                       .charset = zip || !path[0] ? "ibm-437" : "windows-1252",
                       .time = path[0] ? time : 0};
    if (!archive_each(w->class, fd, take_told, &o, why))
        snprintf(w->class->entry[place].why, sizeof w->class->entry[place].why, "%.150s", why);
}

// ---- a folder

static int open_file(int folder, const char* name) {
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Adds the open file, and closes it.
static void add_file(struct tree_walk* w, int fd, const char* path) {
    const enum like like = may_be(w->class, path);
    struct stat st;
    struct class* class = w->class;
    if (fd < 0 || fstat(fd, &st) != 0) {
        add_bad(class, path, 0, "%s", strerror(errno));
    } else if (path[without_ending(path, archive_endings)]) {
        open_archive(w, fd, path, st.st_mtime);
    } else if (path[without_ending(path, closed_endings)]) {
        add_bad(class, path, st.st_mtime, unread, file_ending(path));
    } else if (like == LIKE_NOT ||
               (like == LIKE_KIND && (st.st_size > SIZE_LIMIT || w->taken > MOST_TAKEN / 4))) {
        add(class, ENTRY_OTHER, path)->time = w->git ? 0 : st.st_mtime;
    } else if (st.st_size > SIZE_LIMIT) {
        add_bad(class, path, st.st_mtime, large);
    } else if ((w->taken += (size_t)st.st_size) > MOST_TAKEN) {
        add_bad(class, path, st.st_mtime, "too much beside it");
    } else {
        struct entry* e = add(class, ENTRY_FILE, path);
        ssize_t n, size = 0;
        if (!(e->data = malloc((size_t)st.st_size + 1))) class_refuse("no memory for a file");
        while (size < st.st_size && (n = read(fd, e->data + size, (size_t)(st.st_size - size))) > 0)
            size += n;
        e->size = (size_t)size;
        e->time = w->git ? 0 : st.st_mtime;
    }
    if (fd >= 0) close(fd);
}

static int visible(const struct dirent* e) {
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

// Adds what lies in the open folder, which it closes, in the order of the names.
static void walk(struct tree_walk* w, int folder, const char* prefix, int depth) {
    struct dirent** name = NULL;
    struct stat st;
    int n = scandirat(folder, ".", &name, visible, alphasort);
    bool git = w->git || (depth > 0 && fstatat(folder, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0);
    for (int i = 0; i < n; i++) {
        char path[TOLD_NAME];
        if (depth == 0) w->entries = 0, w->taken = 0;
        w->git = git;
        char* utf8 = name_utf8(name[i]->d_name, strlen(name[i]->d_name), "windows-1252");
        bool fits = snprintf(path, sizeof path, "%s%s", prefix, utf8) < (int)sizeof path - 2;
        free(utf8);
        if (!fits || !strcmp(name[i]->d_name, ".git")) continue;
        if (w->entries++ == MOST_ENTRIES) add_bad(w->class, path, 0, "too many files beside it");
        if (w->entries > MOST_ENTRIES) continue;
        if (fstatat(folder, name[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            add_bad(w->class, path, 0, "%s", strerror(errno));
        } else if (S_ISDIR(st.st_mode)) {
            int fd =
                openat(folder, name[i]->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (fd < 0 || depth == DEEPEST) {
                add_bad(w->class, path, 0, "%s",
                        fd < 0 ? strerror(errno) : "too many folders deep");
                if (fd >= 0) close(fd);
                continue;
            }
            add(w->class, ENTRY_FOLDER, path);
            strcat(path, "/");
            walk(w, fd, path, depth + 1);
        } else if (S_ISLNK(st.st_mode)) {
            add_bad(w->class, path, 0, "a symbolic link");
        } else if (!S_ISREG(st.st_mode)) {
            add_bad(w->class, path, 0, special);
        } else {
            add_file(w, open_file(folder, name[i]->d_name), path);
        }
    }
    for (int i = 0; i < n; i++) free(name[i]);
    free(name);
    close(folder);
}

void tree_read(struct class* class) {
    struct tree_walk w = {.class = class};
    int fd = open(class->submissions, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        class_refuse("SUBMISSIONS=%s: %s", class->submissions, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        walk(&w, fd, "", 0);
    } else {
        open_archive(&w, fd, "", st.st_mtime);
        close(fd);
        if (class->entry[0].why[0])
            class_refuse("SUBMISSIONS=%s: %s", class->submissions, class->entry[0].why);
    }
    if (class->entries == 0) class_refuse("SUBMISSIONS=%s: nothing is in it", class->submissions);
}

void tree_free(struct class* class) {
    for (int i = 0; i < class->entries; i++) {
        free(class->entry[i].path);
        free(class->entry[i].data);
    }
    free(class->entry);
    class->entry = NULL;
    class->entries = 0;
}
