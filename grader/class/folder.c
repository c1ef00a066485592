// folder.c: OUT, the folder of a class: who may enter it, its paths, its files. See class.h.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "class/class.h"

// ---- paths

const char* class_path(const struct class* class, const char* format, ...) {
    static char path[4][2048];
    static int next;
    char* p = path[next++ % 4];
    int n = snprintf(p, sizeof path[0], "%s/", class->out);
    va_list values;
    va_start(values, format);
    vsnprintf(p + n, sizeof path[0] - (size_t)n, format, values);
    va_end(values);
    return p;
}

const char* taken_path(const struct class* class, const char* id, const struct class_lesson* l) {
    return class_path(class, "submissions/%s/%s%s", id, l->name, file_ending(l->file));
}

char* class_read(const char* path, size_t* size) {
    size_t n;
    return file_read(path, 1 << 20, size ? size : &n);
}

void class_write(const char* path, const void* data, size_t size) {
    if (file_make_parents(path) != 0 || file_write(path, data, size, 0600) != 0)
        class_refuse("%s could not be written: %s", path, strerror(errno));
}

void class_write_json(const char* path, json_t* root) {
    char* text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(8)) : NULL;
    if (!text) class_refuse("%s: no memory for JSON", path);
    class_write(path, text, strlen(text));
    free(text);
    json_decref(root);
}

bool class_job(const struct class* class, int n, char id[ID_SIZE], char lesson[64]) {
    char line[JOB_SIZE] = "";
    FILE* jobs = fopen(class_path(class, "jobs"), "r");
    bool there = jobs != NULL;
    for (int i = 0; i <= n && there; i++) there = fgets(line, sizeof line, jobs);
    if (jobs) fclose(jobs);
    return there && job_read(line, id, lesson);
}

// One blank stands between them: an id may begin with others.
bool job_read(const char* line, char id[ID_SIZE], char lesson[64]) {
    return sscanf(line, "%63s%*1[ ]%399[^\n]", lesson, id) == 2;
}

static int remove_one(const char* path, const struct stat* st, int what, struct FTW* place) {
    (void)st, (void)what, (void)place;
    return remove(path);
}

// Is this the name of a file or folder that belongs to the row?
static bool is_of_row(const struct class* class, const struct row* row, const char* name,
                      bool folder) {
    static const char* const endings[] = {".txt", ".json", ".tap"};
    size_t n = strlen(row->id);
    if (strncmp(name, row->id, n) != 0) return false;
    if (folder) return !name[n];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (!strcmp(name + n, endings[i])) return true;
    for (int l = 0; l < class->lessons; l++) {
        size_t m = strlen(class->lesson[l].name);
        if (name[n] == '.' && !strncmp(name + n + 1, class->lesson[l].name, m) &&
            !strcmp(name + n + 1 + m, ".txt"))
            return true;
    }
    return false;
}

void class_forget(const struct class* class, const char* folder, bool folders) {
    DIR* d = opendir(class_path(class, "%s", folder));
    for (struct dirent* e; d && (e = readdir(d));) {
        bool known = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
        for (int i = 0; i < class->rows && !known; i++)
            known = is_of_row(class, &class->row[i], e->d_name, folders);
        if (!known)
            nftw(class_path(class, "%s/%s", folder, e->d_name), remove_one, 8,
                 FTW_DEPTH | FTW_PHYS);
    }
    if (d) closedir(d);
}

// ---- opening it

static bool is_inside(const char* path, const char* folder) {
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

// Is there something in the folder that no run has put there, and that no instructor prepares? Who
// may enter it is changed below: that is not done to a home or to /tmp.
static bool is_foreign(const char* path) {
    static const char tables[] = " weights.csv late_rules.csv late.csv overrides.csv who.csv ";
    bool foreign = false, lock = false;
    int written = 0;  // of what every run writes
    struct stat st;
    DIR* folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!folder) return true;
    for (struct dirent* e; (e = readdir(folder));) {
        char name[300];
        snprintf(name, sizeof name, " %s ", e->d_name);
        lock |= !strcmp(e->d_name, ".lock");
        written += !strcmp(e->d_name, "settings.json") || !strcmp(e->d_name, "jobs");
        foreign |= strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !strstr(tables, name);
    }
    closedir(folder);
    return foreign && !lock && written < 2;
}

void class_open(struct class* class) {
    static char whole[PATH_MAX];
    char from[PATH_MAX], parent[PATH_MAX];
    if (!realpath(class->submissions, from))
        class_refuse("SUBMISSIONS=%s: %s", class->submissions, strerror(errno));
    // This has to be known before anything is made or changed there.
    snprintf(parent, sizeof parent, "%s", class->out);
    for (char* slash; !realpath(parent, whole) && (slash = strrchr(parent, '/'));) *slash = '\0';
    if (!whole[0] && !realpath(".", whole)) class_refuse("OUT=%s: %s", class->out, strerror(errno));
    if (is_inside(whole, from))
        class_refuse("OUT=%s lies inside SUBMISSIONS; give another folder", class->out);
    if (mkdir(class->out, 0700) != 0) {
        if (errno != EEXIST) class_refuse("OUT=%s: %s", class->out, strerror(errno));
        if (is_foreign(class->out))
            class_refuse("OUT=%s is no folder of a class: give a new one, an empty one, or that of "
                         "an earlier run",
                         class->out);
    }
    if (chmod(class->out, 0700) != 0 || !realpath(class->out, whole))
        class_refuse("OUT=%s: %s", class->out, strerror(errno));
    if (is_inside(from, whole))
        class_refuse("SUBMISSIONS=%s lies inside OUT; keep what was handed in elsewhere",
                     class->submissions);
    // The path becomes part of commands for a shell.
    if (strpbrk(whole, "'\"\\\n"))
        class_refuse("OUT=%s: no quotes in its path, please", class->out);
    class->out = whole;
    int lock = open(class_path(class, ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
        class_refuse("OUT=%s: %s", class->out,
                     errno == EWOULDBLOCK ? "another run is working in it" : strerror(errno));
}
