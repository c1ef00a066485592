// collect.c: makes rows of what was handed in. See class.h.
//
// Names come from strangers. They become the names of rows and, encoded, names of our files;
// nothing is ever written to a path of theirs. Only regular files of at most SIZE_LIMIT bytes are
// read, and no link is followed.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "class/class.h"

enum { DEEPEST = 6, MOST_ENTRIES = 20000 };

struct row* class_row_of_id(const struct class* class, const char* id) {
    for (int i = 0; i < class->rows; i++)
        if (!strcmp(class->row[i].id, id)) return &class->row[i];
    return NULL;
}

// Is the text the id of this row, or its name as it was handed in or as it is shown?
static bool is_called(const struct row* row, const char* text) {
    char id[ID_SIZE];
    name_to_id(text, strlen(text), id);
    return !strcmp(row->id, text) || !strcmp(row->id, id) || !strcmp(row->name, text);
}

static int count_called(const struct class* class, const char* text) {
    int count = 0;
    for (int i = 0; i < class->rows; i++) count += is_called(&class->row[i], text);
    return count;
}

// A text that names no other row.
static const char* own_name(const struct class* class, const struct row* row) {
    return count_called(class, row->id) > 1 ? row->name : row->id;
}

// One student's id may be what another one is called: "a b" has the id a%20b, and "a%20b" is a name
// as well. Whom an instructor means cannot be guessed.
struct row* class_row(const struct class* class, const char* text) {
    struct row* found = NULL;
    for (int i = 0; i < class->rows; i++) {
        struct row* row = &class->row[i];
        if (!is_called(row, text)) continue;
        if (found)
            class_refuse("\"%s\" may be two students: \"%s\", whose id is %s, and \"%s\", whose id "
                         "is %s. Write \"%s\" for the one, \"%s\" for the other.",
                         text, found->name, found->id, row->name, row->id, own_name(class, found),
                         own_name(class, row));
        found = row;
    }
    return found;
}

// The row of that name; a new one if there is none.
static struct row* row_of(struct class* class, const char* name, size_t size) {
    char id[ID_SIZE];
    name_to_id(name, size, id);
    struct row* known = class_row_of_id(class, id);
    if (known) return known;
    struct row* grown = realloc(class->row, (size_t)(class->rows + 1) * sizeof *grown);
    if (!grown) class_refuse("no memory for %d rows", class->rows + 1);
    class->row = grown;
    struct row* row = &class->row[class->rows++];
    memset(row, 0, sizeof *row);
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->name, sizeof row->name, "%.*s", (int)(size < ID_SIZE ? size : ID_SIZE - 1), name);
    plain_line(row->name);
    return row;
}

// ---- one file

// A student may hand in twice, as a folder and as an archive, say. The first in the order of the
// names counts.
static bool is_second(struct cell* cell) {
    if (cell->state != CELL_TAKEN) return false;
    snprintf(cell->why, sizeof cell->why, "handed in more than once; the first counts");
    return true;
}

static void refuse(struct cell* cell, const char* why) {
    if (is_second(cell)) return;
    cell->state = CELL_REFUSED;
    snprintf(cell->why, sizeof cell->why, "%s", why);
}

static void take(struct class* class, struct row* row, int lesson, const void* data, size_t size) {
    struct cell* cell = &row->cell[lesson];
    if (is_second(cell)) return;
    if (size == 0) {
        refuse(cell, "an empty file");
        return;
    }
    SHA256Data(data, size, cell->submission);
    const char* path = taken_path(class, row->id, &class->lesson[lesson]);
    size_t old_size;
    char* old = file_read(path, SIZE_LIMIT, &old_size);
    bool same = old && old_size == size && memcmp(old, data, size) == 0;
    free(old);
    if (!same) class_write(path, data, size);
    cell->state = CELL_TAKEN;
    cell->why[0] = '\0';
}

// Takes the open file, which may be anything, and closes it.
static void take_file(struct class* class, struct row* row, int lesson, int fd) {
    struct cell* cell = &row->cell[lesson];
    struct stat st;
    char* data = NULL;
    if (fd < 0) {
        refuse(cell, errno == ELOOP ? "a symbolic link" : strerror(errno));
    } else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        refuse(cell, "not a regular file");
    } else if (st.st_size > SIZE_LIMIT) {
        refuse(cell, "larger than 1 MiB");
    } else if ((data = malloc((size_t)st.st_size + 1))) {
        ssize_t n, size = 0;
        while (size < st.st_size && (n = read(fd, data + size, (size_t)(st.st_size - size))) > 0)
            size += n;
        take(class, row, lesson, data, (size_t)size);
    }
    free(data);
    if (fd >= 0) close(fd);
}

static int open_file(int folder, const char* name) {
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// ---- a folder, an archive

// The best place in a hand-in for each lesson's file.
struct places {
    struct class* class;
    struct row* row;
    int rank[LESSONS];     // 0: none
    bool before[LESSONS];  // another hand-in had it
    char path[LESSONS][1024];
    int entries;
};

// How likely this path is the one that the student means; 0 if it is not the file of this lesson.
// The folder with the lesson's name counts most, then a place outside of solutions/ and saved/,
// then few folders above the file.
static int rank_of(const struct class_lesson* l, const char* path) {
    const char* slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, l->file) != 0 || strstr(path, "__MACOSX/")) return 0;
    int depth = 0;
    for (const char* p = path; *p; p++) depth += *p == '/';
    char place[160];
    snprintf(place, sizeof place, "%s/%s", l->name, l->file);
    size_t n = strlen(path), m = strlen(place);
    bool own = n >= m && !strcmp(path + n - m, place) && (n == m || path[n - m - 1] == '/');
    bool other = strstr(path, "solutions/") || strstr(path, "saved/");
    return (own ? 200 : 100) - (other ? 90 : 0) + (depth < 9 ? 9 - depth : 0);
}

static void walk(struct places* p, int folder, const char* prefix, int depth) {
    DIR* d = depth > DEEPEST ? NULL : fdopendir(folder);
    if (!d) {
        close(folder);
        return;
    }
    for (struct dirent* e; (e = readdir(d)) && p->entries++ < MOST_ENTRIES;) {
        char path[1024];
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, ".git"))
            continue;
        if (snprintf(path, sizeof path, "%s%s", prefix, e->d_name) >= (int)sizeof path) continue;
        if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            int fd = openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            strncat(path, "/", sizeof path - strlen(path) - 1);
            if (fd >= 0) walk(p, fd, path, depth + 1);
            continue;
        }
        for (int l = 0; l < p->class->lessons; l++) {
            int rank = rank_of(&p->class->lesson[l], path);
            bool better = rank > p->rank[l] ||
                          (rank > 0 && rank == p->rank[l] && strcmp(path, p->path[l]) < 0);
            if (!better) continue;
            p->rank[l] = rank;
            memcpy(p->path[l], path, sizeof path);
        }
    }
    closedir(d);
}

static void take_folder(struct class* class, struct row* row, int folder) {
    struct places* p = calloc(1, sizeof *p);
    int again = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (!p || again < 0) class_refuse("no memory for a folder");
    p->class = class;
    p->row = row;
    walk(p, again, "", 0);
    for (int l = 0; l < class->lessons; l++)
        if (p->rank[l] > 0) take_file(class, row, l, open_file(folder, p->path[l]));
    free(p);
    close(folder);
}

// In an archive a better place may come later: the file there replaces the one taken before.
static void take_entry(void* to, const char* name, const void* data, size_t size) {
    struct places* p = to;
    for (int l = 0; l < p->class->lessons; l++) {
        struct cell* cell = &p->row->cell[l];
        int rank = rank_of(&p->class->lesson[l], name);
        if (rank == 0 || (p->before[l] && is_second(cell))) continue;
        if (rank < p->rank[l] || (rank == p->rank[l] && strcmp(name, p->path[l]) >= 0)) continue;
        if (!data) {
            const char* why = size > 0 ? "larger than 1 MiB" : "not a regular file";
            if (cell->state == CELL_TAKEN)
                snprintf(cell->why, sizeof cell->why, "beside it another, %s", why);
            else
                refuse(cell, why);
            continue;
        }
        p->rank[l] = rank;
        snprintf(p->path[l], sizeof p->path[l], "%s", name);
        cell->state = CELL_MISSING;
        take(p->class, p->row, l, data, size);
    }
}

// Takes the open archive, and closes it.
static void take_archive(struct class* class, struct row* row, int fd) {
    struct places* p = calloc(1, sizeof *p);
    char why[WHY_SIZE] = "";
    if (!p) class_refuse("no memory for an archive");
    p->class = class;
    p->row = row;
    for (int l = 0; l < class->lessons; l++) p->before[l] = row->cell[l].state == CELL_TAKEN;
    bool whole = archive_each(class, fd, take_entry, p, why);
    close(fd);
    for (int l = 0; l < class->lessons && !whole; l++) {
        struct cell* cell = &row->cell[l];
        if (cell->state == CELL_TAKEN && !p->before[l])
            snprintf(cell->why, sizeof cell->why, "from an archive that cannot be read to its end");
        else
            refuse(cell, why);
    }
    free(p);
}

// ---- SUBMISSIONS

static const char* const archives[] = {".zip", ".tar.gz", ".tgz",     ".tar.xz",
                                       ".txz", ".tar",    ".tar.bz2", NULL};

// The length of the name without its ending; the whole length if it has none of these.
static size_t without_ending(const char* name, const char* const* endings) {
    size_t n = strlen(name);
    for (int i = 0; endings[i]; i++) {
        size_t m = strlen(endings[i]);
        if (n > m && strcasecmp(name + n - m, endings[i]) == 0) return n - m;
    }
    return n;
}

// The name's first n bytes may end in one of _ - . and the lesson's name, with or without its
// number. Returns how many bytes stand before that; 0 if they do not end so.
static size_t before_lesson(const char* name, size_t n, const char* lesson) {
    const char* const names[] = {lesson, strchr(lesson, '_') + 1};
    for (int i = 0; i < 2; i++) {
        size_t m = strlen(names[i]) + 1;
        if (n > m && !strncmp(name + n - m + 1, names[i], m - 1) && strchr("_-.", name[n - m]))
            return n - m;
    }
    return 0;
}

// The lesson of a file in a flat folder: ada_17_gqa.cu, ada-gqa.cu or, if the run has one lesson,
// ada.cu. -1 if it has no lesson; -2 if the run does not have its lesson. *size becomes the length
// of the student's name in it.
static int flat_lesson(const struct class* class, const char* name, size_t* size) {
    for (int l = 0; l < class->lessons; l++) {
        const char* const endings[] = {file_ending(class->lesson[l].file), NULL};
        size_t n = without_ending(name, endings);
        if (name[n] && (*size = before_lesson(name, n, class->lesson[l].name)) > 0) return l;
    }
    *size = strlen(name);
    if (class->lessons > 1) return -1;
    // carl.cu is of the one lesson; carl_12_flash_forward.cu names its own.
    for (int i = 0; i < class->known_lessons; i++)
        if (before_lesson(name, strcspn(name, "."), class->known_lesson[i]) > 0) return -2;
    const char* const endings[] = {file_ending(class->lesson[0].file), NULL};
    size_t n = without_ending(name, endings);
    if (!name[n]) return -1;
    *size = n;
    return 0;
}

static void take_one(struct class* class, int folder, const char* name) {
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
    size_t size = strlen(name);
    int lesson = -1;
    if (S_ISDIR(st.st_mode)) {
        struct row* row = row_of(class, name, size);
        int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) take_folder(class, row, fd);
        for (int l = 0; l < class->lessons && fd < 0; l++) refuse(&row->cell[l], strerror(errno));
    } else if ((lesson = flat_lesson(class, name, &size)) == -2) {
        text_say(stderr, "%s/%s is of a lesson that this run does not grade", class->submissions,
                 name);
    } else if (lesson >= 0) {
        struct row* row = row_of(class, name, size);
        take_file(class, row, lesson, open_file(folder, name));
    } else {
        size = without_ending(name, archives);
        struct row* row = row_of(class, name, size);
        int fd = S_ISREG(st.st_mode) && name[size] ? open_file(folder, name) : -1;
        if (fd >= 0)
            take_archive(class, row, fd);
        else
            for (int l = 0; l < class->lessons; l++)
                refuse(&row->cell[l], S_ISLNK(st.st_mode)    ? "a symbolic link"
                                      : !S_ISREG(st.st_mode) ? "not a regular file"
                                      : name[size]           ? "an archive that cannot be opened"
                                                   : "neither a folder, nor an archive, nor a "
                                                     "lesson's file");
    }
}

static int visible(const struct dirent* e) {
    return e->d_name[0] != '.';
}

static void read_roster(struct class* class) {
    struct table t;
    if (!class->roster) return;
    if (!table_read(class->roster, &t))
        class_refuse("ROSTER=%s: %s", class->roster, strerror(errno));
    int student = table_column(&t, "student"), email = table_column(&t, "email");
    if (student < 0) student = table_column(&t, "id");
    if (student < 0)
        class_refuse("ROSTER=%s: its first line must name the columns, one of them `student`",
                     class->roster);
    for (int i = 1; i < t.records; i++) {
        const char* name = t.record[i][student];
        if (!name[0]) continue;
        struct row* row = row_of(class, name, strlen(name));
        row->on_roster = true;
        if (email >= 0) snprintf(row->email, sizeof row->email, "%s", t.record[i][email]);
        plain_line(row->email);
    }
    class->has_roster = true;
    table_free(&t);
}

static int by_id(const void* a, const void* b) {
    return strcmp(((const struct row*)a)->id, ((const struct row*)b)->id);
}

void collect(struct class* class) {
    struct dirent** entry;
    read_roster(class);
    int folder = open(class->submissions, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = folder < 0 ? -1 : scandir(class->submissions, &entry, visible, alphasort);
    if (n < 0) class_refuse("SUBMISSIONS=%s: %s", class->submissions, strerror(errno));
    for (int i = 0; i < n; i++) {
        take_one(class, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    close(folder);
    if (class->rows == 0) class_refuse("SUBMISSIONS=%s: nothing is in it", class->submissions);
    qsort(class->row, (size_t) class->rows, sizeof *class->row, by_id);
    // A file that was withdrawn must not be graded, and similar.sh must not compare it.
    class_forget(class, "submissions", true);
    for (int i = 0; i < class->rows; i++)
        for (int l = 0; l < class->lessons; l++)
            if (class->row[i].cell[l].state != CELL_TAKEN)
                unlink(taken_path(class, class->row[i].id, &class->lesson[l]));
}
